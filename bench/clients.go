package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/byhand"
	"github.com/hashicorp/go-retryablehttp"
)

const (
	token     = "pat-aktesttesttesttesttesttest-0123456789abcdefghijklmnopqrstuv"
	project   = "pjahbwgme82j3qbwnsn4b3w1e9"
	inProcess = "https://api.example.com"

	pageSize   = 1000
	listLength = 10_000

	location = "eu-central-h1"
	vmName   = "web-1"
	pgName   = "orders-db"

	projectPath = "/project/" + project
	vmPath      = projectPath + "/location/" + location + "/vm/" + vmName
	pgPath      = projectPath + "/location/" + location + "/postgres/" + pgName

	publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHnDkYqBnZ0yE0T4l3dLPGm2oY9PSCN7fVqF3yX1aBcD me@example"
)

var vmRequest = cloudapi.VMCreateRequest{
	PublicKey: publicKey, BootImage: "ubuntu-noble", Size: "standard-2", StorageSize: 40, EnableIPv4: new(true), UnixUser: "ubi",
}

func openSDK(base string, transport http.RoundTripper) (*calls, error) {
	opts := []cloudapi.Option{cloudapi.WithBaseURL(base), cloudapi.WithToken(token), cloudapi.WithProject(project)}
	if transport != nil {
		opts = append(opts, cloudapi.WithHTTPClient(&http.Client{Transport: transport}))
	}
	client, err := cloudapi.NewClient(opts...)
	if err != nil {
		return nil, err
	}
	return &calls{
		vm:     func(ctx context.Context) error { return consume(client.VMs.Get(ctx, location, vmName)) },
		create: func(ctx context.Context) error { return consume(client.VMs.Create(ctx, location, vmName, &vmRequest)) },
		list: func(ctx context.Context) error {
			n := 0
			for _, err := range client.VMs.All(ctx, nil) {
				if err != nil {
					return err
				}
				n++
			}
			return complete(n)
		},
		metrics: func(ctx context.Context) error { return consume(client.Postgres.Metrics(ctx, location, pgName, nil)) },
	}, nil
}

// isNotFound reports whether a client says that a VM is missing.
func isNotFound(err error) bool {
	_, byHand := errors.AsType[*byhand.Error[byhand.Envelope]](err)
	return byHand || errors.Is(err, cloudapi.ErrNotFound)
}

type ourPage struct {
	Items []*cloudapi.VM `json:"items"`
	Count int            `json:"count"`
}

func openByHand(base string, transport http.RoundTripper) (*calls, error) {
	return callsByHand(newByHand(base, transport)), nil
}

// openTimed gives the code by hand a timeout for each request, like the SDK's timeout
// for each attempt.
func openTimed(base string, transport http.RoundTripper) (*calls, error) {
	f := newByHand(base, transport)
	f.HTTP.Timeout = time.Minute
	c := callsByHand(f)
	c.metrics = nil // this call would measure only the decoding, and the code by hand decodes in the same way
	return c, nil
}

func openRetryable(base string, transport http.RoundTripper) (*calls, error) {
	client := retryablehttp.NewClient()
	client.Logger = nil
	if transport != nil {
		client.HTTPClient.Transport = transport
	}
	c := callsByHand(byhand.Client{Base: base, Token: token, HTTP: client.StandardClient()})
	c.metrics = nil // this call would measure only the decoding, and the code by hand decodes in the same way
	return c, nil
}

func newByHand(base string, transport http.RoundTripper) byhand.Client {
	return byhand.Client{Base: base, Token: token, HTTP: &http.Client{Transport: transport}}
}

func callsByHand(f byhand.Client) *calls {
	return &calls{
		vm: func(ctx context.Context) error {
			return consume(byhand.Send[cloudapi.VM, byhand.Envelope](ctx, f, "GET", vmPath, nil))
		},
		create: func(ctx context.Context) error {
			return consume(byhand.Send[cloudapi.VM, byhand.Envelope](ctx, f, "POST", vmPath, &vmRequest))
		},
		list:    func(ctx context.Context) error { return listByHand(ctx, f) },
		metrics: func(ctx context.Context) error { return consume(metricsByHand(ctx, f)) },
	}
}

func listByHand(ctx context.Context, f byhand.Client) error {
	n, after := 0, ""
	for {
		page, err := byhand.Send[ourPage, byhand.Envelope](ctx, f, "GET", projectPath+"/vm?page_size="+strconv.Itoa(pageSize)+"&start_after="+after, nil)
		if err != nil {
			return err
		}
		for _, vm := range page.Items {
			after = vm.ID
		}
		if n += len(page.Items); n >= page.Count || len(page.Items) == 0 {
			return complete(n)
		}
	}
}

func complete(n int) error {
	if n != listLength {
		return fmt.Errorf("a list of %d VMs has %d", listLength, n)
	}
	return nil
}

// handMetrics decodes a metrics response as fast as encoding/json allows, with
// an UnmarshalJSON for each series. An UnmarshalJSON for each sample takes
// longer, and so does decoding values of type any and converting them.
type handMetrics struct {
	Metrics []struct {
		Key, Name, Description, Unit string
		Series                       []struct {
			Labels map[string]string
			Values handSamples
		}
	} `json:"metrics"`
}

type handSamples []cloudapi.MetricSample

// UnmarshalJSON decodes pairs such as [1759512000.5,"0.42"] without spaces. Its
// input is valid JSON.
func (s *handSamples) UnmarshalJSON(data []byte) error {
	samples := make(handSamples, 0, bytes.Count(data, []byte("["))-1)
	for pair := range bytes.SplitSeq(bytes.Trim(data, "[]"), []byte("],[")) {
		number, text, _ := bytes.Cut(pair, []byte(","))
		seconds, err := strconv.ParseFloat(string(number), 64)
		if err != nil {
			return err
		}
		value, err := strconv.ParseFloat(string(bytes.Trim(text, `"`)), 64)
		if err != nil {
			return err
		}
		samples = append(samples, cloudapi.MetricSample{Time: time.UnixMicro(int64(seconds * 1e6)).UTC(), Value: value})
	}
	*s = samples
	return nil
}

func metricsByHand(ctx context.Context, f byhand.Client) (*handMetrics, error) {
	return byhand.Send[handMetrics, byhand.Envelope](ctx, f, "GET", pgPath+"/metrics", nil)
}
