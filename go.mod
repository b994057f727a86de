module github.com/cloudapi-sdk/cloudapi

go 1.26.0
