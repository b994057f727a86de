package failures_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
	"github.com/cloudapi-sdk/cloudapi/teardown"
)

// polling has the settings of a function that polls.
type polling struct {
	interval time.Duration // 0 for the default
	report   func(cloudapi.Progress)
}

func (p polling) waits() *cloudapi.WaitOptions {
	return &cloudapi.WaitOptions{Interval: p.interval, MaxInterval: p.interval, Tolerance: 1000, Progress: p.report}
}

// pollers are functions that poll the resources of notYet until their context
// ends.
var pollers = map[string]func(context.Context, *cloudapi.Client, polling) error{
	"VMs.WaitRunning": func(ctx context.Context, c *cloudapi.Client, p polling) error {
		_, err := c.VMs.WaitRunning(ctx, sdktest.Somewhere, "web-1", p.waits())
		return err
	},
	"VMs.WaitDeleted": func(ctx context.Context, c *cloudapi.Client, p polling) error {
		return c.VMs.WaitDeleted(ctx, sdktest.Somewhere, "web-1", p.waits())
	},
	"Kubernetes.WaitNodePool": func(ctx context.Context, c *cloudapi.Client, p polling) error {
		_, err := c.Kubernetes.WaitNodePool(ctx, sdktest.Somewhere, "k8s", "workers", p.waits())
		return err
	},
	"MachineImages.WaitVersion": func(ctx context.Context, c *cloudapi.Client, p polling) error {
		_, err := c.MachineImages.WaitVersion(ctx, sdktest.Somewhere, "golden", "v1", p.waits())
		return err
	},
	"Client.WaitDeleted": func(ctx context.Context, c *cloudapi.Client, p polling) error {
		return c.WaitDeleted(ctx, cloudapi.Resource{Kind: cloudapi.KindPostgres, Location: sdktest.Somewhere, ID: "pg00000000021g000000000001"}, p.waits())
	},
	"Wait": func(ctx context.Context, c *cloudapi.Client, p polling) error {
		_, err := cloudapi.Wait(ctx, func(ctx context.Context) (*cloudapi.Firewall, error) {
			return c.Firewalls.Get(ctx, sdktest.Somewhere, "edge")
		},
			func(*cloudapi.Firewall) (bool, error) { return false, nil }, p.waits())
		return err
	},
	"WaitAll": func(ctx context.Context, c *cloudapi.Client, p polling) error {
		_, err := cloudapi.WaitAll(ctx, []string{"web-1", "web-2"}, func(ctx context.Context, name string) (*cloudapi.VM, error) {
			return c.VMs.WaitRunning(ctx, sdktest.Somewhere, name, p.waits())
		}, nil)
		return err
	},
	"VMs.Watch": func(ctx context.Context, c *cloudapi.Client, p polling) (last error) {
		for _, err := range c.VMs.Watch(ctx, &cloudapi.WatchOptions{Interval: p.interval, MaxInterval: p.interval, Progress: p.report}) {
			last = err
		}
		return last
	},
	"Postgres.FollowLogs": func(ctx context.Context, c *cloudapi.Client, p polling) error {
		_, err := cloudapi.Collect(c.Postgres.FollowLogs(ctx, sdktest.Somewhere, "orders",
			nil, &cloudapi.FollowOptions{Interval: p.interval, MaxInterval: p.interval, Progress: p.report}))
		return err
	},
	"AuditLog.Follow": func(ctx context.Context, c *cloudapi.Client, p polling) error {
		_, err := cloudapi.Collect(c.AuditLog.Follow(ctx, nil, &cloudapi.FollowOptions{Interval: p.interval, MaxInterval: p.interval, Progress: p.report}))
		return err
	},
	"VMs.Ensure": func(ctx context.Context, c *cloudapi.Client, p polling) error {
		_, _, err := c.VMs.Ensure(ctx, sdktest.Somewhere, "taken", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}, &cloudapi.EnsureOptions{Progress: p.report})
		return err
	},
	"Ensure": func(ctx context.Context, c *cloudapi.Client, p polling) error {
		_, _, err := functionEnsure(c)(ctx, sdktest.Somewhere, "taken", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}, &cloudapi.EnsureOptions{Progress: p.report})
		return err
	},
}

type ensureVM func(ctx context.Context, location, name string, request *cloudapi.VMCreateRequest, opts *cloudapi.EnsureOptions) (*cloudapi.VM, cloudapi.EnsureOutcome, error)

// functionEnsure is VMs.Ensure by the function Ensure, which compares nothing.
func functionEnsure(c *cloudapi.Client) ensureVM {
	return func(ctx context.Context, location, name string, request *cloudapi.VMCreateRequest, opts *cloudapi.EnsureOptions) (*cloudapi.VM, cloudapi.EnsureOutcome, error) {
		return cloudapi.Ensure(ctx, func(ctx context.Context) (*cloudapi.VM, error) { return c.VMs.Get(ctx, location, name) },
			func(ctx context.Context) (*cloudapi.VM, error) { return c.VMs.Create(ctx, location, name, request) }, opts)
	}
}

// ensures reports whether a poller is an Ensure.
func ensures(poller string) bool { return strings.HasSuffix(poller, "Ensure") }

// notYet answers the requests of the pollers so that they continue.
func notYet(req *http.Request) (*http.Response, error) {
	switch name := path.Base(req.URL.Path); name {
	case "web-1", "web-2":
		return stub.Respond(200, `{"id":"vm000000000000000000000000","name":"`+name+`","state":"creating"}`), nil
	case "k8s":
		return stub.Respond(200, `{"id":"kc000000000000000000000000","name":"k8s","display_state":"creating","nodepools":[
			{"id":"kn000000000000000000000000","name":"workers","node_count":2,"vms":[]}]}`), nil
	case "version":
		return stub.Respond(200, `{"items":[{"version":"v1","state":"creating"}],"count":1}`), nil
	case "pg00000000021g000000000001":
		return stub.Respond(200, `{"id":"`+name+`","name":"orders","state":"deleting"}`), nil
	case "edge":
		return stub.Respond(200, `{"id":"fw000000000000000000000000","name":"edge"}`), nil
	case "vm":
		return stub.Respond(200, `{"items":[],"count":0}`), nil
	case "logs":
		return stub.Respond(200, `{"logs":[]}`), nil
	case "audit-log":
		return stub.Respond(200, `{"items":[]}`), nil
	case "taken":
		if req.Method == http.MethodPost {
			return stub.Respond(400, taken), nil
		}
	}
	return stub.Respond(404, stub.Envelope(404)), nil
}

// outage is a way in which every request fails, and the failure that an error
// at a deadline names and wraps.
type outage struct {
	answer  func(*http.Request) (*http.Response, error)
	retry   cloudapi.RetryPolicy
	isCause func(error) bool
	text    string
}

func outages() map[string]outage {
	hangs := func(req *http.Request) (*http.Response, error) {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	badGateway := func(err error) bool {
		e, ok := errors.AsType[*cloudapi.Error](err)
		return ok && e.StatusCode == 502
	}
	once := cloudapi.RetryPolicy{MaxAttempts: 1}
	return map[string]outage{
		"502 of a gateway":   {stub.Always(502, "<html>Bad Gateway</html>"), once, badGateway, "502 Bad Gateway"},
		"dropped connection": {func(*http.Request) (*http.Response, error) { return nil, io.EOF }, once, func(err error) bool { return errors.Is(err, io.EOF) }, "EOF"},
		"no response":        {hangs, once, func(err error) bool { _, ok := errors.AsType[*cloudapi.TransportError](err); return ok }, "no complete response within 4s"},
		"502 and then no response": {func() func(req *http.Request) (*http.Response, error) {
			var seen sync.Map
			return func(req *http.Request) (*http.Response, error) {
				if _, found := seen.LoadOrStore(req.Method+req.URL.Path, true); !found {
					return stub.Respond(502, "<html>Bad Gateway</html>"), nil
				}
				return hangs(req)
			}
		}(), cloudapi.RetryPolicy{MaxAttempts: 10}, badGateway, "502 Bad Gateway"},
	}
}

// TestDeadlines: at a deadline the error of each function that polls matches
// the context's error, names and wraps the failure of the last poll, and isn't
// transient.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	for name, poll := range pollers {
		for fault := range outages() {
			t.Run(name+"/"+fault, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					o := outages()[fault]
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
					defer cancel()
					err := poll(ctx, sdktest.Client(t, stub.RoundTripper(o.answer), cloudapi.WithRetry(o.retry), cloudapi.WithTimeout(4*time.Second)), polling{})
					if ensures(name) && ctx.Err() == nil {
						return // it ends with the first failure
					}
					checkDeadline(t, err, o)
				})
			})
		}
	}
}

func checkDeadline(t *testing.T, err error, o outage) {
	t.Helper()
	if !errors.Is(err, context.DeadlineExceeded) || !o.isCause(err) || !strings.Contains(err.Error(), o.text) || cloudapi.IsTransient(err) {
		t.Errorf("transient: %v, the cause: %v: %v", cloudapi.IsTransient(err), o.isCause(err), err)
	}
	if !strings.HasPrefix(err.Error(), "cloudapi: ") || strings.Contains(err.Error()[1:], "cloudapi: ") && !strings.Contains(err.Error(), "\n") {
		t.Errorf("the prefix: %v", err)
	}
}

// TestDeadlineOfATeardown: the same for a deletion that the server accepts, and
// then can't show.
func TestDeadlineOfATeardown(t *testing.T) {
	t.Parallel()
	for fault := range outages() {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := outages()[fault]
				srv := cloudapitest.New(t)
				vm := stub.Must(srv.Client().VMs.Create(t.Context(), sdktest.Somewhere, "web-1", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey}))(t)
				client := srv.Client(cloudapi.WithRetry(o.retry), cloudapi.WithTimeout(4*time.Second),
					cloudapi.WithHTTPClient(&http.Client{Transport: stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
						if path.Base(req.URL.Path) == vm.ID && req.Method == http.MethodGet {
							return o.answer(req)
						}
						return srv.RoundTripper().RoundTrip(req)
					})}))
				plan := stub.Must(teardown.NewPlan(t.Context(), client, nil))(t)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				e, ok := errors.AsType[*teardown.Error](plan.Run(ctx))
				if !ok {
					t.Fatal("the teardown succeeded")
				}
				for _, failure := range e.Failed {
					if failure.Resource.ID == vm.ID {
						checkDeadline(t, failure.Err, o)
					}
				}
			})
		})
	}
}
