package main

import (
	"context"
	"errors"
	"net/http"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/floor"
	"github.com/go-resty/resty/v2"
	"github.com/hashicorp/go-retryablehttp"
)

var errResty = errors.New("an error of the API")

func openResty(base string, transport http.RoundTripper) (*calls, error) {
	client := resty.New().SetBaseURL(base).SetAuthToken(token)
	if transport != nil {
		client.SetTransport(transport)
	}
	return &calls{
		vm: func(ctx context.Context) error {
			return keep(restySend[cloudapi.VM](ctx, client, "GET", vmPath, nil))
		},
		database: func(ctx context.Context) error {
			return keep(restySend[cloudapi.Postgres](ctx, client, "GET", pgPath, nil))
		},
		create: func(ctx context.Context) error {
			return keep(restySend[cloudapi.VM](ctx, client, "POST", vmPath, &vmRequest))
		},
	}, nil
}

func restySend[T any](ctx context.Context, client *resty.Client, method, path string, in any) (*T, error) {
	result := new(T)
	request := client.R().SetContext(ctx).SetHeader("Accept", "application/json").SetResult(result).SetError(&floor.Envelope{})
	if in != nil {
		request.SetBody(in)
	}
	resp, err := request.Execute(method, path)
	if err != nil {
		return nil, err
	}
	if resp.IsError() {
		return nil, errResty
	}
	return result, nil
}

// openRetryable is the floor with go-retryablehttp and its defaults.
func openRetryable(base string, transport http.RoundTripper) (*calls, error) {
	client := retryablehttp.NewClient()
	client.Logger = nil
	if transport != nil {
		client.HTTPClient.Transport = transport
	}
	c := floorCalls(floor.Client{Base: base, Token: token, HTTP: client.StandardClient()})
	c.metrics = nil // it would show nothing more
	return c, nil
}
