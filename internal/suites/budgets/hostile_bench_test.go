package budgets_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/floor"
)

// BenchmarkHostile decodes responses that take a long time. It reports by how
// much a call outlives its context, which ends in the middle.
func BenchmarkHostile(b *testing.B) {
	const mib = 1 << 20
	fill := func(prefix, unit, suffix string, size int) string {
		return prefix + strings.Repeat(unit+",", size/(len(unit)+1)) + unit + suffix
	}
	bodies := []struct{ name, body string }{
		{"20 MiB of members", fill("{", `"":1`, "}", 20*mib)},
		{"60 MiB of members", fill("{", `"":1`, "}", 60*mib)},
		{"60 MiB of brackets", strings.Repeat("[", 60*mib)},
		{"60 MiB of empty items", fill(`{"items":[`, `{}`, `]}`, 60*mib)},
		{"60 MiB of unknown arrays", fill(`{"x":[`, `[]`, `]}`, 60*mib)},
		{"60 MiB of VMs", fill(`{"items":[`, floor.VM, `]}`, 60*mib)},
		{"60 MiB of one text", `{"id":"` + strings.Repeat("x", 60*mib) + `"}`},
		{"60 MiB of escapes", `{"id":"` + strings.Repeat(`\u0001`, 10*mib) + `"}`},
		{"60 MiB of texts", fill(`{"x":[`, `"`+strings.Repeat("x", mib)+`"`, `]}`, 60*mib)},
		{"60 MiB of bad times", fill(`{"items":[`, `{"id":"vmy9n10s8q164j473ra7pj9nqz","created_at":1}`, `]}`, 60*mib)},
	}
	calls := []struct {
		name string
		call func(context.Context, *cloudapi.Client) error
	}{
		{"Get", func(ctx context.Context, c *cloudapi.Client) error {
			_, err := c.VMs.Get(ctx, "eu-central-h1", "web-1")
			return err
		}},
		{"List", func(ctx context.Context, c *cloudapi.Client) error {
			_, err := c.VMs.List(ctx, nil)
			return err
		}},
		{"Do", func(ctx context.Context, c *cloudapi.Client) error {
			var out any
			return c.Do(ctx, "GET", []string{"x"}, nil, nil, &out)
		}},
	}
	for _, status := range []int{http.StatusOK, http.StatusBadRequest} {
		for _, body := range bodies {
			client, _ := clients(b, floor.Fixed{Status: status, Body: body.body})
			for _, call := range calls {
				if status != http.StatusOK && call.name != "Get" {
					continue
				}
				b.Run(http.StatusText(status)+"/"+body.name+"/"+call.name, func(b *testing.B) {
					late := time.Duration(0)
					for b.Loop() {
						ctx, cancel := context.WithTimeout(b.Context(), 100*time.Millisecond)
						start := time.Now()
						err := call.call(ctx, client)
						took := time.Since(start)
						if ctx.Err() != nil && err == nil {
							b.Errorf("it succeeded after %v", took)
						}
						cancel()
						late = max(late, took-100*time.Millisecond)
					}
					b.ReportMetric(float64(late.Milliseconds()), "ms-late")
				})
			}
		}
	}
}
