module github.com/cloudapi-sdk/cloudapi/examples

go 1.26.0

replace github.com/cloudapi-sdk/cloudapi => ../

require (
	github.com/cloudapi-sdk/cloudapi v0.1.0
	github.com/goccy/go-yaml v1.19.2
	github.com/guptarohit/asciigraph v0.10.0
	github.com/prometheus/client_golang v1.24.1
	github.com/prometheus/common v0.70.1
	golang.org/x/crypto v0.54.0
	golang.org/x/sync v0.24.0
)

require (
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/google/go-querystring v1.2.0 // indirect
	github.com/hashicorp/go-cleanhttp v0.5.2 // indirect
	github.com/hashicorp/go-retryablehttp v0.7.8 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/prometheus/client_model v0.6.2 // indirect
	github.com/prometheus/procfs v0.21.1 // indirect
	golang.org/x/sys v0.49.0 // indirect
	google.golang.org/protobuf v1.36.11 // indirect
)
