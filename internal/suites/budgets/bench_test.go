// Package budgets_test measures the resources that the SDK takes, compared with
// a program without it, and limits them.
package budgets_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// The benchmarks and budgets compare the SDK with the floor: a careful program
// with only net/http and encoding/json. Responses come from memory. The module
// in bench measures more, and other SDKs.
//
//	go test -run '^$' -bench . -count 10

const benchVM = `{"id":"vmy9n10s8q164j473ra7pj9nqz","name":"web-1","state":"running","location":"eu-central-h1","size":"standard-2","unix_user":"ubi","storage_size_gib":40,"ip6":"2a01:db8:40:1ed3:aa7c::2","ip4_enabled":true,"ip4":"198.51.100.17","firewalls":[{"id":"fw8ww2xa7brt1qrn9hgzbc7efq","name":"edge-fw","description":"public entry","location":"eu-central-h1","firewall_rules":[{"id":"frhgen1ff6864nrqg8etdv647m","cidr":"0.0.0.0/0","port_range":"22..22"},{"id":"fr1mt9vv3br62k0a4z2xjkms5a","cidr":"::/0","port_range":"0..65535"}],"path":"/location/eu-central-h1/firewall/edge-fw"}],"private_ipv4":"10.23.41.69","private_ipv6":"fd4c:91aa:7be0:12d:8c62::2","subnet":"backend-net","gpu":null}`

const (
	benchBase = "https://api.example.com"
	benchPath = benchBase + "/project/" + stub.Project + "/location/eu-central-h1/vm/web-1"
)

// workloads are what is measured.
var workloads = []struct {
	name  string
	reply canned
	floor func(context.Context, *http.Client) error
	sdk   func(context.Context, *cloudapi.Client) error

	// most is how many allocations the SDK may have for each one of the floor.
	most float64
}{
	{
		name:  "Get",
		reply: canned{http.StatusOK, benchVM},
		floor: func(ctx context.Context, hc *http.Client) error {
			_, err := floorCall[cloudapi.VM](ctx, hc, http.MethodGet, benchPath, nil)
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
		reply: canned{http.StatusOK, benchVM},
		floor: func(ctx context.Context, hc *http.Client) error {
			_, err := floorCall[cloudapi.VM](ctx, hc, http.MethodPost, benchPath, benchRequest)
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
		reply: canned{http.StatusNotFound, `{"error":{"code":404,"type":"ResourceNotFound","message":"Sorry, we couldn’t find the resource you’re looking for.","details":null}}`},
		floor: func(ctx context.Context, hc *http.Client) error {
			if _, err := floorCall[cloudapi.VM](ctx, hc, http.MethodGet, benchPath, nil); !errors.As(err, new(*floorError)) {
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
		reply: canned{http.StatusOK, benchPage(0, 1)},
		floor: func(ctx context.Context, hc *http.Client) error {
			page, err := floorCall[struct {
				Items []*cloudapi.VM
				Count int
			}](ctx, hc, http.MethodGet, benchBase+"/project/"+stub.Project+"/vm?page_size=1000", nil)
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
		most: 1.05, // the records are the same, whatever is around them
	},
	{
		name:  "Metrics",
		reply: canned{http.StatusOK, benchMetrics(1)},
		floor: func(ctx context.Context, hc *http.Client) error {
			_, err := floorMetrics(ctx, hc)
			return err
		},
		sdk: func(ctx context.Context, c *cloudapi.Client) error {
			_, err := c.Postgres.Metrics(ctx, "eu-central-h1", "orders-db", nil)
			return err
		},
		most: 0.05, // it has none for a sample
	},
}

func BenchmarkCall(b *testing.B) {
	for _, w := range workloads {
		client, floor := w.reply.clients(b)
		b.Run(w.name+"/floor", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := w.floor(b.Context(), floor); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(w.name+"/sdk", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := w.sdk(b.Context(), client); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkNewClient(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		canned{}.clients(b)
	}
}

var benchRequest = &cloudapi.VMCreateRequest{
	PublicKey: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHnDkYqBnZ0yE0T4l3dLPGm2oY9PSCN7fVqF3yX1aBcD me@example",
	BootImage: "ubuntu-noble", Size: "standard-2", StorageSize: 40, EnableIP4: new(true), UnixUser: "ubi",
}

// benchPage is a page of a list of VMs in their short form, with 1,000 items, or
// none behind the last page.
func benchPage(page, pages int) string {
	const size = 1000
	var b strings.Builder
	b.Grow(size * 256)
	b.WriteString(`{"items":[`)
	for i := page * size; i < min(page+1, pages)*size; i++ {
		if i > page*size {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, `{"id":"vm%024d","name":"web-%06d","state":"running","location":"eu-central-h1","size":"standard-2","unix_user":"ubi",`+
			`"storage_size_gib":40,"ip6":"2a01:db8:40:1ed3:aa7c::2","ip4_enabled":true,"ip4":"198.51.100.17"}`, i, i)
	}
	fmt.Fprintf(&b, `],"count":%d}`, pages*size)
	return b.String()
}

// benchMetrics is a reply with that many metrics, each with 10,000 samples.
func benchMetrics(metrics int) string {
	const series, samples = 5, 2000
	var b strings.Builder
	b.WriteString(`{"metrics":[`)
	for m := range metrics {
		if m > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, `{"key":"metric_%d","name":"Metric %d","description":"What is measured","unit":"%%","series":[`, m, m)
		for i := range series {
			if i > 0 {
				b.WriteString(",")
			}
			fmt.Fprintf(&b, `{"labels":{"mode":"mode-%d"},"values":[`, i)
			for j := range samples {
				if j > 0 {
					b.WriteString(",")
				}
				fmt.Fprintf(&b, `[%d.%03d,"%.15f"]`, 1_759_512_000+15*j, j%1000, float64(j*(i+1))/7)
			}
			b.WriteString("]}")
		}
		b.WriteString("]}")
	}
	b.WriteString("]}")
	return b.String()
}

// canned answers every request alike, from memory.
type canned struct {
	status int
	body   string
}

func (c canned) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		_, _ = io.Copy(io.Discard, req.Body)
		req.Body.Close()
	}
	resp := stub.Respond(c.status, c.body)
	resp.Request = req
	return resp, nil
}

// clients returns the SDK's client and the floor's on the replies.
func (c canned) clients(tb testing.TB) (*cloudapi.Client, *http.Client) {
	floor := &http.Client{Transport: c}
	client, err := cloudapi.NewClient(cloudapi.WithBaseURL(benchBase), cloudapi.WithToken(stub.Token), cloudapi.WithProject(stub.Project), cloudapi.WithHTTPClient(floor))
	if err != nil {
		tb.Fatal(err)
	}
	return client, floor
}

// floorError is the contract's envelope.
type floorError struct {
	Err struct {
		Code    int             `json:"code"`
		Type    string          `json:"type"`
		Message string          `json:"message"`
		Details json.RawMessage `json:"details"`
	} `json:"error"`
}

func (e *floorError) Error() string { return e.Err.Message }

var floorBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// floorCall is one call without the SDK.
func floorCall[T any](ctx context.Context, hc *http.Client, method, url string, in any) (*T, error) {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Authorization", "Bearer "+stub.Token)
	req.Header.Set("User-Agent", "floor")
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := hc.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	buf := floorBuffers.Get().(*bytes.Buffer)
	defer floorBuffers.Put(buf)
	buf.Reset()
	if _, err := buf.ReadFrom(resp.Body); err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		e := new(floorError)
		if err := json.Unmarshal(buf.Bytes(), e); err != nil {
			return nil, err
		}
		return nil, e
	}
	v := new(T)
	if err := json.Unmarshal(buf.Bytes(), v); err != nil {
		return nil, err
	}
	return v, nil
}

// floorMetrics gets metrics without a decoder of its own for the samples.
func floorMetrics(ctx context.Context, hc *http.Client) ([]cloudapi.Samples, error) {
	reply, err := floorCall[struct {
		Metrics []struct {
			Key, Name, Description, Unit string
			Series                       []struct {
				Labels map[string]string
				Values [][2]any
			}
		}
	}](ctx, hc, http.MethodGet, benchBase+"/project/"+stub.Project+"/location/eu-central-h1/postgres/orders-db/metrics", nil)
	if err != nil {
		return nil, err
	}
	var all []cloudapi.Samples
	for _, metric := range reply.Metrics {
		for _, series := range metric.Series {
			samples := make(cloudapi.Samples, len(series.Values))
			for i, pair := range series.Values {
				seconds, _ := pair[0].(float64)
				text, _ := pair[1].(string)
				value, err := strconv.ParseFloat(text, 64)
				if err != nil {
					return nil, err
				}
				samples[i] = cloudapi.Sample{Time: time.UnixMicro(int64(seconds * 1e6)).UTC(), Value: value}
			}
			all = append(all, samples)
		}
	}
	return all, nil
}
