//go:build !race

package budgets_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/byhand"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

const (
	vmPath      = "/project/" + stub.Project + "/location/eu-central-h1/vm/web-1"
	metricsPath = "/project/" + stub.Project + "/location/eu-central-h1/postgres/orders-db/metrics"
)

// workloads are the calls that are compared with the code by hand: a careful program
// with only net/http and encoding/json. Responses come from memory.
var workloads = []struct {
	name   string
	reply  byhand.Fixed
	byHand func(context.Context, byhand.Client) error
	sdk    func(context.Context, *cloudapi.Client) error

	// most is the maximum number of allocations of the SDK for each allocation
	// of the code by hand.
	most float64
}{
	{
		name:  "Get",
		reply: byhand.Fixed{Status: http.StatusOK, Body: byhand.VM},
		byHand: func(ctx context.Context, c byhand.Client) error {
			_, err := byhand.Send[cloudapi.VM, byhand.Envelope](ctx, c, http.MethodGet, vmPath, nil)
			return err
		},
		sdk: func(ctx context.Context, c *cloudapi.Client) error {
			_, err := c.VMs.Get(ctx, "eu-central-h1", "web-1")
			return err
		},
		most: 1.25,
	},
	{
		name:  "Create",
		reply: byhand.Fixed{Status: http.StatusOK, Body: byhand.VM},
		byHand: func(ctx context.Context, c byhand.Client) error {
			_, err := byhand.Send[cloudapi.VM, byhand.Envelope](ctx, c, http.MethodPost, vmPath, benchRequest)
			return err
		},
		sdk: func(ctx context.Context, c *cloudapi.Client) error {
			_, err := c.VMs.Create(ctx, "eu-central-h1", "web-1", benchRequest)
			return err
		},
		most: 1.25,
	},
	{
		name:  "NotFound",
		reply: byhand.Fixed{Status: http.StatusNotFound, Body: byhand.NotFound},
		byHand: func(ctx context.Context, c byhand.Client) error {
			if _, err := byhand.Send[cloudapi.VM, byhand.Envelope](ctx, c, http.MethodGet, vmPath, nil); !errors.As(err, new(*byhand.Error[byhand.Envelope])) {
				return errors.New("the error is lost")
			}
			return nil
		},
		sdk: func(ctx context.Context, c *cloudapi.Client) error {
			if _, err := c.VMs.Get(ctx, "eu-central-h1", "web-1"); !errors.Is(err, cloudapi.ErrNotFound) {
				return errors.New("the error is lost")
			}
			return nil
		},
		most: 1.25,
	},
	{
		name:  "List1000",
		reply: byhand.Fixed{Status: http.StatusOK, Body: vmsPage(0, 1)},
		byHand: func(ctx context.Context, c byhand.Client) error {
			page, err := byhand.Send[struct {
				Items []*cloudapi.VM
				Count int
			}, byhand.Envelope](ctx, c, http.MethodGet, "/project/"+stub.Project+"/vm?page_size=1000", nil)
			if err == nil && len(page.Items) != 1000 {
				return fmt.Errorf("%d items", len(page.Items))
			}
			return err
		},
		sdk: func(ctx context.Context, c *cloudapi.Client) error {
			page, err := c.VMs.List(ctx, &cloudapi.ListOptions{PageSize: 1000})
			if err == nil && len(page.Items) != 1000 {
				return fmt.Errorf("%d items", len(page.Items))
			}
			return err
		},
		most: 1.05, // the records are the same, and most of the cost
	},
	{
		name:  "Metrics",
		reply: byhand.Fixed{Status: http.StatusOK, Body: byhand.Metrics(1)},
		byHand: func(ctx context.Context, c byhand.Client) error {
			_, err := metricsByHand(ctx, c)
			return err
		},
		sdk: func(ctx context.Context, c *cloudapi.Client) error {
			_, err := c.Postgres.Metrics(ctx, "eu-central-h1", "orders-db", nil)
			return err
		},
		most: 0.05, // the SDK allocates nothing for a sample
	},
}

var benchRequest = &cloudapi.VMCreateRequest{
	PublicKey: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHnDkYqBnZ0yE0T4l3dLPGm2oY9PSCN7fVqF3yX1aBcD me@example",
	BootImage: "ubuntu-noble", Size: "standard-2", StorageSize: 40, EnableIPv4: new(true), UnixUser: "ubi",
}

// vmsPage is a page of a list of VMs. It has 1,000 items, or none after the
// last page.
func vmsPage(page, pages int) string {
	const size = 1000
	return byhand.VMs(page*size, max(0, min(page+1, pages)-page)*size, pages*size)
}

func clients(tb testing.TB, reply byhand.Fixed) (*cloudapi.Client, byhand.Client) {
	hc := &http.Client{Transport: reply}
	client, err := cloudapi.NewClient(cloudapi.WithBaseURL(stub.BaseURL), cloudapi.WithToken(stub.Token), cloudapi.WithProject(stub.Project), cloudapi.WithHTTPClient(hc))
	if err != nil {
		tb.Fatal(err)
	}
	return client, byhand.Client{Base: stub.BaseURL, Token: stub.Token, HTTP: hc}
}

func metricsByHand(ctx context.Context, c byhand.Client) ([]cloudapi.MetricSamples, error) {
	reply, err := byhand.Send[struct {
		Metrics []struct {
			Key, Name, Description, Unit string
			Series                       []struct {
				Labels map[string]string
				Values [][2]any
			}
		}
	}, byhand.Envelope](ctx, c, http.MethodGet, metricsPath, nil)
	if err != nil {
		return nil, err
	}
	var all []cloudapi.MetricSamples
	for _, metric := range reply.Metrics {
		for _, series := range metric.Series {
			samples := make(cloudapi.MetricSamples, len(series.Values))
			for i, pair := range series.Values {
				seconds, _ := pair[0].(float64)
				text, _ := pair[1].(string)
				value, err := strconv.ParseFloat(text, 64)
				if err != nil {
					return nil, err
				}
				samples[i] = cloudapi.MetricSample{Time: time.UnixMicro(int64(seconds * 1e6)).UTC(), Value: value}
			}
			all = append(all, samples)
		}
	}
	return all, nil
}
