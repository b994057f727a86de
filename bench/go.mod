module github.com/cloudapi-sdk/cloudapi/bench

go 1.26.0

replace github.com/cloudapi-sdk/cloudapi => ..

require (
	github.com/cloudapi-sdk/cloudapi v0.0.0-00010101000000-000000000000
	github.com/hashicorp/go-retryablehttp v0.7.8
)

require (
	github.com/google/go-cmp v0.7.0 // indirect
	github.com/google/go-querystring v1.2.0 // indirect
	github.com/hashicorp/go-cleanhttp v0.5.2 // indirect
	github.com/mattn/go-colorable v0.1.14 // indirect
	golang.org/x/sys v0.47.0 // indirect
)
