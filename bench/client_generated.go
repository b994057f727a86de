package main

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/bench/internal/oapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/byhand"
)

var (
	errGenerated     = errors.New("an error of the API")
	generatedRequest = oapi.VMCreate{
		PublicKey: publicKey, BootImage: new("ubuntu-noble"), Size: new("standard-2"), StorageSize: new(40), EnableIp4: new(true), UnixUser: new("ubi"),
	}
)

func checkGenerated[T any](reply *T, failure *oapi.Error) (*T, error) {
	switch {
	case failure != nil:
		return nil, errGenerated
	case reply == nil:
		return nil, errors.New("no response")
	}
	return reply, nil
}

func openGenerated(base string, transport http.RoundTripper) (*calls, error) {
	client, err := oapi.NewClientWithResponses(base,
		oapi.WithHTTPClient(&http.Client{Transport: transport}),
		oapi.WithRequestEditorFn(func(_ context.Context, req *http.Request) error {
			req.Header.Set("Authorization", "Bearer "+token)
			return nil
		}))
	if err != nil {
		return nil, err
	}
	return &calls{
		vm: func(ctx context.Context) error {
			reply, err := client.GetVMWithResponse(ctx, project, location, vmName)
			if err != nil {
				return err
			}
			return consume(checkGenerated(reply.JSON200, reply.JSONDefault))
		},
		create: func(ctx context.Context) error {
			reply, err := client.CreateVMWithResponse(ctx, project, location, vmName, generatedRequest)
			if err != nil {
				return err
			}
			return consume(checkGenerated(reply.JSON200, reply.JSONDefault))
		},
		list: func(ctx context.Context) error {
			n := 0
			params := &oapi.ListVMsParams{PageSize: new(pageSize)}
			for {
				reply, err := client.ListVMsWithResponse(ctx, project, params)
				if err != nil {
					return err
				}
				page, err := checkGenerated(reply.JSON200, reply.JSONDefault)
				if err != nil {
					return err
				}
				for i := range page.Items {
					params.StartAfter = &page.Items[i].Id
				}
				if n += len(page.Items); n >= page.Count || len(page.Items) == 0 {
					return complete(n, nil)
				}
			}
		},
		metrics: func(ctx context.Context) error {
			reply, err := client.GetPostgresMetricsWithResponse(ctx, project, location, pgName)
			if err != nil {
				return err
			}
			metrics, err := checkGenerated(reply.JSON200, reply.JSONDefault)
			if err != nil {
				return err
			}
			return consume(generatedSamples(metrics))
		},
	}, nil
}

// generatedSamples converts the generated union type, whose numbers are
// float32, to times and floats.
func generatedSamples(metrics *oapi.Metrics) (*[][]cloudapi.MetricSample, error) {
	all := [][]cloudapi.MetricSample{}
	for _, metric := range metrics.Metrics {
		for _, series := range metric.Series {
			samples := make([]cloudapi.MetricSample, len(series.Values))
			for i, pair := range series.Values {
				seconds, err := pair[0].AsPair0()
				if err != nil {
					return nil, err
				}
				text, err := pair[1].AsPair1()
				if err != nil {
					return nil, err
				}
				value, err := strconv.ParseFloat(text, 64)
				if err != nil {
					return nil, err
				}
				samples[i] = cloudapi.MetricSample{Time: time.Unix(int64(seconds), 0).UTC(), Value: value}
			}
			all = append(all, samples)
		}
	}
	return &all, nil
}

func openGeneratedByHand(base string, transport http.RoundTripper) (*calls, error) {
	f := newByHand(base, transport)
	c := callsByHand(f)
	c.vm = func(ctx context.Context) error {
		return consume(byhand.Send[oapi.VM, oapi.Error](ctx, f, "GET", vmPath, nil))
	}
	c.create = func(ctx context.Context) error {
		return consume(byhand.Send[oapi.VM, oapi.Error](ctx, f, "POST", vmPath, &generatedRequest))
	}
	c.list = func(ctx context.Context) error {
		n, after := 0, ""
		for {
			page, err := byhand.Send[oapi.VMPage, oapi.Error](ctx, f, "GET", projectPath+"/vm?page_size="+strconv.Itoa(pageSize)+"&start_after="+after, nil)
			if err != nil {
				return err
			}
			for i := range page.Items {
				after = page.Items[i].Id
			}
			if n += len(page.Items); n >= page.Count || len(page.Items) == 0 {
				return complete(n, nil)
			}
		}
	}
	return c, nil
}
