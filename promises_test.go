package cloudapi

import (
	"context"
	"encoding/json"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/cloudapi-sdk/cloudapi/internal/exchange"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// BenchmarkPromises measures what the promises of a call cost: the part of the
// SDK that keeps a promise, and for some the same by hand, without the promise.
func BenchmarkPromises(b *testing.B) {
	const missing = `{"error":{"code":404,"type":"ResourceNotFound","message":"Sorry, we couldn’t find the resource you’re looking for.","details":null}}`
	ctx, args := context.Background(), []string{"eu-central-h1", "web-1"}
	memory := &http.Client{}
	loop := retryablehttp.Client{HTTPClient: memory, CheckRetry: func(context.Context, *http.Response, error) (bool, error) { return false, nil }}
	options := []Option{WithBaseURL(stub.BaseURL), WithToken(stub.Token), WithProject(stub.Project), WithHTTPClient(memory)}
	client, err := NewClient(options...)
	if err != nil {
		b.Fatal(err)
	}
	cl, err := client.newCall(&opVMsGet, nil, args)
	if err != nil {
		b.Fatal(err)
	}
	cl.ctx = callContext{ctx, cl}
	request := cl.newRequest()
	retried := &retryablehttp.Request{Request: request}
	response := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody}
	memory.Transport = stub.RoundTripper(func(*http.Request) (*http.Response, error) { return response, nil })

	attempt := func(begin func(context.Context, time.Time) *exchange.Attempt, use func(context.Context)) {
		a := begin(ctx, time.Now().Add(time.Minute))
		use(a)
		a.End()
	}
	unused := func(context.Context) {}
	asTransport := func(ctx context.Context) { // as net/http does
		_, cancel := context.WithCancelCause(ctx)
		cancel(nil)
	}
	for _, part := range []struct {
		name string
		do   func() any
	}{
		{"path", func() any { path, _, _ := opVMsGet.path(stub.Project, args); return path }},
		{"path by hand", func() any {
			req, _ := http.NewRequest("GET", stub.BaseURL+"/project/"+stub.Project+"/location/"+args[0]+"/vm/"+args[1], nil)
			return req
		}},
		{"headers", func() any { return client.newHeader(false) }},
		{"headers by hand", func() any {
			h := http.Header{}
			h.Set("Accept", "application/json")
			h.Set("User-Agent", userAgent)
			h.Set("Authorization", "Bearer "+stub.Token)
			return h.Clone() // as http.Client does
		}},
		{"request", func() any { return request.WithContext(ctx) }},
		{"retries", func() any { resp, _ := loop.Do(retried); return resp }},
		{"retries by hand", func() any { resp, _ := memory.Do(request); return resp }},
		{"time limit in memory", func() any { attempt(exchange.Begin, unused); return nil }},
		{"time limit on a network", func() any { attempt(exchange.Begin, asTransport); return nil }},
		{"time limit by hand", func() any {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			asTransport(ctx)
			cancel()
			return nil
		}},
		{"outcome of a create", func() any { attempt(exchange.BeginOnce, unused); return nil }},
		{"secrets", func() any { return cl.known().Hide(missing) }},
		{"error", func() any { e := new(Error); e.decodeEnvelope([]byte(missing)); return e }},
		{"error by hand", func() any {
			e := new(struct {
				Error struct {
					Code          int
					Type, Message string
					Details       any
				}
			})
			_ = json.Unmarshal([]byte(missing), e)
			return e
		}},
		{"client", func() any { c, _ := NewClient(options...); return c }},
	} {
		b.Run(part.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				runtime.KeepAlive(part.do())
			}
		})
	}
}
