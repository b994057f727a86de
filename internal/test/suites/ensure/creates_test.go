package ensure_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/apitables"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// createCase is a create that has no Ensure, in the function Ensure with what
// docs/retries.md says that find looks for.
type createCase struct {
	operation string
	unique    bool // whether the server refuses a second one
	prepare   func(*testing.T) (*cloudapitest.Server, *createWorld)
	ensure    func(context.Context, *cloudapi.Client, *createWorld, *cloudapi.EnsureOptions) (cloudapi.EnsureOutcome, error)
	count     func(*testing.T, *cloudapi.Client, *createWorld) int // how many there are; nil if the server stores none
}

type createFunc[T any] = func(context.Context, *cloudapi.Client, *createWorld) (T, error)

// newCreateCase returns a case that ends with a new element of a list, if the
// server stores what it creates. is reports whether an element is the one.
func newCreateCase[T any](operation string, unique bool, prepare func(*testing.T) (*cloudapitest.Server, *createWorld),
	list createFunc[[]*T], is func(*createWorld, *T) bool, create createFunc[*T]) createCase {
	found := func(ctx context.Context, client *cloudapi.Client, w *createWorld) ([]*T, error) {
		if list == nil {
			return nil, nil
		}
		all, err := list(ctx, client, w)
		return slices.DeleteFunc(all, func(element *T) bool { return !is(w, element) }), err
	}
	c := createCase{operation: operation, unique: unique, prepare: prepare}
	c.ensure = func(ctx context.Context, client *cloudapi.Client, w *createWorld, opts *cloudapi.EnsureOptions) (cloudapi.EnsureOutcome, error) {
		record, outcome, err := cloudapi.Ensure(ctx, func(ctx context.Context) (*T, error) {
			elements, err := found(ctx, client, w)
			if err == nil && len(elements) == 0 {
				err = cloudapi.ErrNotFound
			}
			if err != nil {
				return nil, err
			}
			return elements[0], nil
		}, func(ctx context.Context) (*T, error) { return create(ctx, client, w) }, opts)
		if (record == nil) == (err == nil) || (outcome == "") == (err == nil) {
			return "", fmt.Errorf("Ensure returned %v, %q and %w", record, outcome, err)
		}
		return outcome, err
	}
	if list != nil {
		c.count = func(t *testing.T, client *cloudapi.Client, w *createWorld) int {
			t.Helper()
			return len(stub.Must(found(t.Context(), client, w))(t))
		}
	}
	return c
}

// within returns a list of what a record has.
func within[R, T any](get createFunc[*R], elements func(*R) []T) createFunc[[]*T] {
	return func(ctx context.Context, client *cloudapi.Client, w *createWorld) (list []*T, err error) {
		record, err := get(ctx, client, w)
		if err != nil {
			return nil, err
		}
		for _, element := range elements(record) {
			list = append(list, &element)
		}
		return list, nil
	}
}

// lastOf returns the last element of what a create returns.
func lastOf[R, T any](create createFunc[*R], elements func(*R) []T) createFunc[*T] {
	return func(ctx context.Context, client *cloudapi.Client, w *createWorld) (*T, error) {
		list, err := within(create, elements)(ctx, client, w)
		if err != nil {
			return nil, err
		}
		return list[len(list)-1], nil
	}
}

// createWorld has what is needed for a create.
type createWorld struct {
	location string
	vm       *cloudapi.VM    // stopped, with an image "golden" of it
	before   map[string]bool // IDs
}

// everyParent has a database with backups, and a cluster, a firewall and a
// machine image. Nothing is changing.
func everyParent(t *testing.T) (*cloudapitest.Server, *createWorld) {
	t.Helper()
	srv := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Service))
	srv.SetFeatures(srv.ProjectID(), cloudapitest.FeatureBackupDownloads)
	c, ctx, w := srv.Client(), t.Context(), &createWorld{location: sdktest.Somewhere}
	stub.Must(c.Postgres.Create(ctx, w.location, "db", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}))(t)
	stub.Must(c.Kubernetes.Create(ctx, w.location, "apps", &cloudapi.KubernetesClusterCreateRequest{Version: "v1.36", WorkerSize: "standard-2"}))(t)
	stub.Must(c.Firewalls.Create(ctx, w.location, "edge", nil))(t)
	stub.Must(c.VMs.Create(ctx, w.location, "source", &cloudapi.VMCreateRequest{PublicKey: stub.PublicKey, Size: "standard-2"}))(t)
	stub.Must(c.VMs.WaitRunning(ctx, w.location, "source", nil))(t)
	stub.Must(c.VMs.Stop(ctx, w.location, "source"))(t)
	w.vm = stub.Must(c.VMs.WaitStopped(ctx, w.location, "source", nil))(t)
	stub.Must(c.MachineImages.Create(ctx, w.location, "golden", &cloudapi.MachineImageCreateRequest{VMID: w.vm.ID, Version: "v1"}))(t)
	stub.Elapse(2 * time.Hour)
	w.list(t, c)
	return srv, w
}

// list remembers the keys, as a program does before it creates another.
func (w *createWorld) list(t *testing.T, c *cloudapi.Client) {
	w.before = map[string]bool{}
	for _, key := range stub.Must(cloudapi.Collect(c.InferenceAPIKeys.All(t.Context(), nil)))(t) {
		w.before[key.ID] = true
	}
}

func withPrivateLinks(t *testing.T) (*cloudapitest.Server, *createWorld) {
	p := sdktest.NewPrivateLinks(t, cloudapitest.FeaturePrivateLinkServices)
	return p.Server, &createWorld{location: "own"}
}

func ofContract(t *testing.T) (*cloudapitest.Server, *createWorld) {
	srv := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Contract))
	w := &createWorld{before: map[string]bool{}}
	for _, project := range stub.Must(cloudapi.Collect(srv.Client().Projects.All(t.Context(), nil)))(t) {
		w.before[project.ID] = true
	}
	return srv, w
}

// createCases has all creates without an Ensure. The name of what they create
// is "new", if it has a name.
func createCases() []createCase {
	type (
		db      = cloudapi.Postgres
		metrics = cloudapi.PostgresMetricDestination
		logs    = cloudapi.PostgresLogDestination
		version = cloudapi.MachineImageVersion
		pool    = cloudapi.KubernetesNodePool
		cluster = cloudapi.KubernetesCluster
		rule    = cloudapi.FirewallRule
		dbRule  = cloudapi.PostgresFirewallRule
		link    = cloudapi.PrivateLinkService
		project = cloudapi.Project
		key     = cloudapi.InferenceAPIKey
		client  = cloudapi.Client
		world   = createWorld
	)
	database := func(ctx context.Context, c *client, w *world) (*db, error) {
		return c.Postgres.Get(ctx, w.location, "db")
	}
	databases := func(ctx context.Context, c *client, _ *world) ([]*db, error) {
		return cloudapi.Collect(c.Postgres.All(ctx, nil))
	}
	isNewDatabase := func(_ *world, d *db) bool { return d.Name == "new" }
	newRule := &cloudapi.FirewallRuleCreateRequest{CIDR: "10.0.0.0/8", PortRange: "22"}
	return []createCase{
		newCreateCase("Postgres.Restore", true, everyParent, databases, isNewDatabase, func(ctx context.Context, c *client, w *world) (*db, error) {
			return c.Postgres.Restore(ctx, w.location, "db", "new", &cloudapi.PostgresRestoreRequest{RestoreTarget: time.Now().Add(-10 * time.Minute)})
		}),
		newCreateCase("Postgres.CreateReadReplica", true, everyParent, databases, isNewDatabase, func(ctx context.Context, c *client, w *world) (*db, error) {
			return c.Postgres.CreateReadReplica(ctx, w.location, "db", "new", nil)
		}),
		newCreateCase("MachineImages.CreateVersion", true, everyParent, func(ctx context.Context, c *client, w *world) ([]*version, error) {
			return cloudapi.Collect(c.MachineImages.AllVersions(ctx, w.location, "golden", nil))
		}, func(_ *world, v *version) bool { return v.Version == "new" }, func(ctx context.Context, c *client, w *world) (*version, error) {
			return c.MachineImages.CreateVersion(ctx, w.location, "golden", "new", &cloudapi.MachineImageVersionCreateRequest{VMID: w.vm.ID})
		}),
		newCreateCase("Kubernetes.CreateNodePool", true, everyParent, within(func(ctx context.Context, c *client, w *world) (*cluster, error) {
			return c.Kubernetes.Get(ctx, w.location, "apps")
		}, func(k *cluster) []pool { return k.NodePools }), func(_ *world, p *pool) bool { return p.Name == "new" }, func(ctx context.Context, c *client, w *world) (*pool, error) {
			return c.Kubernetes.CreateNodePool(ctx, w.location, "apps", "new", &cloudapi.KubernetesNodePoolCreateRequest{NodeCount: 1, NodeSize: "standard-2"})
		}),
		newCreateCase("Firewalls.CreateRule", true, everyParent, within(func(ctx context.Context, c *client, w *world) (*cloudapi.Firewall, error) {
			return c.Firewalls.Get(ctx, w.location, "edge")
		}, func(f *cloudapi.Firewall) []rule { return f.FirewallRules }), func(_ *world, r *rule) bool { return newRule.Matches(r) }, func(ctx context.Context, c *client, w *world) (*rule, error) {
			return c.Firewalls.CreateRule(ctx, w.location, "edge", newRule)
		}),
		newCreateCase("Postgres.CreateFirewallRule", true, everyParent, within(database, func(d *db) []dbRule { return d.FirewallRules }),
			func(_ *world, r *dbRule) bool { return r.CIDR == "10.0.0.0/8" && r.Port == 5432 }, // another rule is for the connection pooler
			func(ctx context.Context, c *client, w *world) (*dbRule, error) {
				return c.Postgres.CreateFirewallRule(ctx, w.location, "db", &cloudapi.PostgresFirewallRuleCreateRequest{CIDR: "10.0.0.0/8"})
			}),
		newCreateCase("Postgres.CreateMetricDestination", false, everyParent, within(database, func(d *db) []metrics { return d.MetricDestinations }),
			func(_ *world, d *metrics) bool { return d.URL == "https://metrics.example.com" }, lastOf(func(ctx context.Context, c *client, w *world) (*db, error) {
				return c.Postgres.CreateMetricDestination(ctx, w.location, "db", &cloudapi.PostgresMetricDestinationCreateRequest{
					URL: "https://metrics.example.com", Username: "u", Password: cloudapi.NewSecret("p")})
			}, func(d *db) []metrics { return d.MetricDestinations })),
		newCreateCase("Postgres.CreateLogDestination", false, everyParent, within(database, func(d *db) []logs { return d.LogDestinations }),
			func(_ *world, d *logs) bool { return d.Name == "new" }, func(ctx context.Context, c *client, w *world) (*logs, error) {
				return c.Postgres.CreateLogDestination(ctx, w.location, "db", "new", &cloudapi.PostgresLogDestinationCreateRequest{
					Type: cloudapi.PostgresLogDestinationTypeOTLP, URL: "https://logs.example.com"})
			}),
		newCreateCase("Postgres.CreatePrivateLinkService", true, withPrivateLinks, func(ctx context.Context, c *client, w *world) ([]*link, error) {
			l, err := c.Postgres.PrivateLinkService(ctx, w.location, "db")
			return []*link{l}, err
		}, func(*world, *link) bool { return true }, func(ctx context.Context, c *client, w *world) (*link, error) {
			return c.Postgres.CreatePrivateLinkService(ctx, w.location, "db", "new", nil)
		}),
		newCreateCase("Firewalls.CreateInProject", true, ofContract, func(ctx context.Context, c *client, _ *world) ([]*cloudapi.Firewall, error) {
			return cloudapi.Collect(c.Firewalls.All(ctx, nil))
		}, func(_ *world, f *cloudapi.Firewall) bool { return f.Name == "new" }, func(ctx context.Context, c *client, _ *world) (*cloudapi.Firewall, error) {
			return c.Firewalls.CreateInProject(ctx, "new", nil)
		}),
		newCreateCase("InferenceAPIKeys.Create", false, everyParent, func(ctx context.Context, c *client, _ *world) ([]*key, error) {
			return cloudapi.Collect(c.InferenceAPIKeys.All(ctx, nil))
		}, func(w *world, k *key) bool { return !w.before[k.ID] }, func(ctx context.Context, c *client, _ *world) (*key, error) {
			return c.InferenceAPIKeys.Create(ctx)
		}),
		newCreateCase("Projects.Create", false, ofContract, func(ctx context.Context, c *client, _ *world) ([]*project, error) {
			return cloudapi.Collect(c.Projects.All(ctx, nil))
		}, func(w *world, p *project) bool { return !w.before[p.ID] }, func(ctx context.Context, c *client, _ *world) (*project, error) {
			return c.Projects.Create(ctx, "New")
		}),
		newCreateCase("Postgres.CreateBackupCredentials", false, everyParent, nil, nil, func(ctx context.Context, c *client, w *world) (*cloudapi.PostgresBackupCredentials, error) {
			return c.Postgres.CreateBackupCredentials(ctx, w.location, "db")
		}),
		newCreateCase("Postgres.CreateClientKeyPair", false, everyParent, nil, nil, func(ctx context.Context, c *client, w *world) (*cloudapi.File, error) {
			return c.Postgres.CreateClientKeyPair(ctx, w.location, "db", "app", 24*time.Hour)
		}),
	}
}

// loss is a way to lose a request: execute executes it.
type loss struct {
	name  string
	meets func(execute func() (*http.Response, error)) (*http.Response, error)
	late  bool // the server executes the request after the client has given up
}

func losses() []loss {
	later := func(after time.Duration) func(func() (*http.Response, error)) (*http.Response, error) {
		return func(execute func() (*http.Response, error)) (*http.Response, error) {
			time.AfterFunc(after, func() {
				if resp, err := execute(); err == nil {
					resp.Body.Close()
				}
			})
			return nil, io.ErrUnexpectedEOF
		}
	}
	executed := func(instead func(*http.Response) (*http.Response, error)) func(func() (*http.Response, error)) (*http.Response, error) {
		return func(execute func() (*http.Response, error)) (*http.Response, error) {
			resp, err := execute()
			if err != nil {
				return nil, err
			}
			defer resp.Body.Close()
			return instead(resp)
		}
	}
	return []loss{
		{"request", func(func() (*http.Response, error)) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }, false},
		{"502 instead", func(func() (*http.Response, error)) (*http.Response, error) { return stub.Respond(502, "<html>"), nil }, false},
		{"response", executed(func(*http.Response) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }), false},
		{"502 after execution", executed(func(*http.Response) (*http.Response, error) { return stub.Respond(502, "<html>"), nil }), false},
		{"half of the response", executed(func(resp *http.Response) (*http.Response, error) {
			body, err := io.ReadAll(resp.Body)
			resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body[:len(body)/2]), iotest.ErrReader(io.ErrUnexpectedEOF)))
			return resp, err
		}), false},
		{"response, and then the pause is long", later(100 * time.Millisecond), true},
		{"response, and then the pause is short", later(3 * time.Second), true},
	}
}

// losing returns a copy of a client that loses the request with a number, from
// 1, and counts the requests.
func (l loss) losing(t *testing.T, client *cloudapi.Client, lost int, sent *int) *cloudapi.Client {
	t.Helper()
	return stub.Must(client.With(cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
		return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
			if *sent++; *sent != lost {
				return next.RoundTrip(req)
			}
			var body []byte
			if req.Body != nil {
				body, _ = io.ReadAll(req.Body)
			}
			copied := req.Clone(context.WithoutCancel(req.Context()))
			return l.meets(func() (*http.Response, error) {
				copied.Body = io.NopCloser(bytes.NewReader(body))
				return next.RoundTrip(copied)
			})
		})
	})))(t)
}

// TestEnsureCreates loses each request of each create without an Ensure in turn.
// Ensure ends with exactly one resource and no error. Where the server accepts a
// second resource, it may also create one if it executes a lost request late.
func TestEnsureCreates(t *testing.T) {
	t.Parallel()
	for _, c := range createCases() {
		for _, l := range losses() {
			t.Run(c.operation+"/"+l.name, func(t *testing.T) {
				t.Parallel()
				for n, lost := 1, true; lost; n++ {
					synctest.Test(t, func(t *testing.T) {
						srv, w := c.prepare(t)
						client, sent := srv.Client(), 0
						outcome, err := c.ensure(t.Context(), l.losing(t, client, n, &sent), w, nil)
						lost = sent >= n
						stub.Elapse(time.Minute)
						if err != nil || outcome != cloudapi.EnsureCreated && outcome != cloudapi.EnsureFound || outcome == cloudapi.EnsureFound && !lost {
							t.Errorf("request %d of %d: %q, %v", n, sent, outcome, err)
						}
						if c.count == nil {
							return
						}
						if n := c.count(t, client, w); n != 1 && (c.unique || !l.late || n != 2) {
							t.Errorf("request %d of %d: %d were created", n, sent, n)
						}
						if outcome, err := c.ensure(t.Context(), client, w, nil); outcome != cloudapi.EnsureUnchanged {
							t.Errorf("the next Ensure: %q, %v", outcome, err)
						}
					})
				}
			})
		}
	}
}

// TestEveryCreateIsInATable: each operation that must not be sent twice creates
// what an Ensure method creates, is a change in docs/retries.md, or is a case of
// createCases, which are the rows of another table there.
func TestEveryCreateIsInATable(t *testing.T) {
	t.Parallel()
	page := string(stub.Must(os.ReadFile(filepath.Join(sdktest.Root(t), "docs", "retries.md")))(t))
	_, creates, found := strings.Cut(page, "| Create | What `find` looks for |")
	creates, rest, ended := strings.Cut(creates, "\n\n")
	_, changes, both := strings.Cut(rest, "| Operation | What shows that the server executed it |")
	if !found || !ended || !both {
		t.Fatal("docs/retries.md has no tables of creates and changes")
	}
	var cases []string
	for _, c := range createCases() {
		cases = append(cases, c.operation)
	}
	for _, row := range apitables.Rows() {
		for _, name := range row.Names {
			if !apitables.Once(row.Method, name) {
				continue
			}
			service, method, _ := strings.Cut(name, ".")
			text, isCase := "`"+name+"`", slices.Contains(cases, name)
			isChange := strings.Contains(changes, text) || strings.HasPrefix(method, "Rename") && strings.Contains(changes, "`Rename`")
			hasEnsure := false
			if field, ok := reflect.TypeFor[cloudapi.Client]().FieldByName(service); ok && method == "Create" {
				_, hasEnsure = field.Type.MethodByName("Ensure")
			}
			if strings.Contains(creates, text) != isCase {
				t.Errorf("%s: a row of the table of creates: %v, tested: %v", name, !isCase, isCase)
			}
			if n := len(slices.DeleteFunc([]bool{isCase, isChange, hasEnsure}, func(is bool) bool { return !is })); n != 1 {
				t.Errorf("%s must be in one of: createCases and the table of creates in docs/retries.md (%v), the table of changes there (%v), the families with an Ensure (%v)",
					name, isCase, isChange, hasEnsure)
			}
		}
	}
}

// TestEnsureEnds: Ensure ends when the context ends, when find fails, or if find
// never finds what create creates. If a create may have succeeded, the error
// says so. It looks directly before each create, after the pause.
func TestEnsureEnds(t *testing.T) {
	t.Parallel()
	lost := fmt.Errorf("a create: %w", cloudapi.ErrOutcomeUnknown)
	reason := errors.New("the operator lost patience")
	for name, tt := range map[string]struct {
		find, create []error // of the calls; the last also of all further ones; nil for a resource
		cancelAt     int     // the call, of either, during which the context ends; or 0
		want         []error
		creates      int
	}{
		"find fails":                           {[]error{cloudapi.ErrServer}, nil, 0, []error{cloudapi.ErrServer}, 0},
		"find fails after a lost create":       {[]error{cloudapi.ErrNotFound, cloudapi.ErrServer}, []error{lost}, 0, []error{cloudapi.ErrServer, cloudapi.ErrOutcomeUnknown}, 1},
		"find never finds":                     {[]error{cloudapi.ErrNotFound}, []error{lost}, 0, []error{cloudapi.ErrNotFound, cloudapi.ErrOutcomeUnknown}, 4},
		"find doesn't find the location":       {[]error{cloudapi.ErrLocationNotFound}, nil, 0, []error{cloudapi.ErrLocationNotFound}, 0},
		"create fails":                         {[]error{cloudapi.ErrNotFound}, []error{cloudapi.ErrForbidden}, 0, []error{cloudapi.ErrForbidden}, 1},
		"create fails after a lost one":        {[]error{cloudapi.ErrNotFound}, []error{lost, cloudapi.ErrForbidden}, 0, []error{cloudapi.ErrForbidden, cloudapi.ErrOutcomeUnknown}, 2},
		"create is refused":                    {[]error{cloudapi.ErrNotFound}, []error{cloudapi.ErrInvalidRequest}, 0, []error{cloudapi.ErrInvalidRequest}, 1},
		"canceled in find":                     {[]error{cloudapi.ErrNotFound}, nil, 1, []error{context.Canceled}, 0},
		"canceled in create":                   {[]error{cloudapi.ErrNotFound}, []error{lost}, 2, []error{context.Canceled, cloudapi.ErrOutcomeUnknown}, 1},
		"canceled in find after a lost create": {[]error{cloudapi.ErrNotFound}, []error{lost}, 3, []error{context.Canceled, cloudapi.ErrOutcomeUnknown}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				finds, creates := 0, 0
				var looked time.Time
				answer := func(ctx context.Context, n int, results []error) (*cloudapi.VM, error) {
					if finds+creates == tt.cancelAt {
						cancel(reason)
					}
					if ctx.Err() != nil {
						if creates > 0 && n == creates {
							return nil, fmt.Errorf("%w: %w", lost, ctx.Err())
						}
						return nil, ctx.Err()
					}
					if err := results[min(n, len(results))-1]; err != nil {
						return nil, err
					}
					return &cloudapi.VM{ID: stub.VMID}, nil
				}
				vm, outcome, err := cloudapi.Ensure(ctx, func(ctx context.Context) (*cloudapi.VM, error) {
					finds++
					looked = time.Now()
					return answer(ctx, finds, tt.find)
				}, func(ctx context.Context) (*cloudapi.VM, error) {
					creates++
					if ago := time.Since(looked); ago != 0 {
						t.Errorf("create %d follows a lookup of %v ago", creates, ago)
					}
					return answer(ctx, creates, tt.create)
				}, nil)
				if vm != nil || outcome != "" || creates != tt.creates {
					t.Errorf("%v, %q after %d creates", vm, outcome, creates)
				}
				for _, want := range tt.want {
					if !errors.Is(err, want) {
						t.Errorf("%v isn't %v", err, want)
					}
				}
				if errors.Is(err, cloudapi.ErrOutcomeUnknown) != slices.Contains(tt.want, cloudapi.ErrOutcomeUnknown) {
					t.Errorf("whether a create may have succeeded: %v", err)
				}
			})
		})
	}
}

// TestEnsureAfterADeletion: Ensure waits until what is being deleted is gone,
// whatever its state is called.
func TestEnsureAfterADeletion(t *testing.T) {
	t.Parallel()
	remove := map[string]func(context.Context, *cloudapi.Client, *createWorld) error{
		"Postgres.Restore": func(ctx context.Context, c *cloudapi.Client, w *createWorld) error {
			return c.Postgres.Delete(ctx, w.location, "new")
		},
		"MachineImages.CreateVersion": func(ctx context.Context, c *cloudapi.Client, w *createWorld) error {
			return c.MachineImages.DeleteVersion(ctx, w.location, "golden", "new")
		},
		"Postgres.CreatePrivateLinkService": func(ctx context.Context, c *cloudapi.Client, w *createWorld) error {
			return c.PrivateLinkServices.Delete(ctx, w.location, "new")
		},
	}
	for _, c := range createCases() {
		if remove[c.operation] == nil {
			continue
		}
		t.Run(c.operation, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv, w := c.prepare(t)
				client := srv.Client()
				stub.Must(c.ensure(t.Context(), client, w, nil))(t)
				stub.Elapse(2 * time.Hour)
				stub.Must(0, remove[c.operation](t.Context(), client, w))(t)
				waited := 0
				outcome, err := c.ensure(t.Context(), client, w, &cloudapi.EnsureOptions{Progress: func(p cloudapi.Progress) {
					if p.State == "deleting" && p.Err == nil {
						waited++
					}
				}})
				if outcome != cloudapi.EnsureCreated || waited == 0 || c.count(t, client, w) != 1 {
					t.Errorf("%q, %v after %d polls", outcome, err, waited)
				}
			})
		})
	}
}

// TestEnsureWithoutCreating: without a function or a result of one, Ensure
// returns an error.
func TestEnsureWithoutCreating(t *testing.T) {
	t.Parallel()
	none := func(context.Context) (*cloudapi.File, error) { return nil, cloudapi.ErrNotFound }
	never := func(context.Context) (*cloudapi.File, error) { t.Error("it was called"); return nil, nil }
	var ctx context.Context
	nothing := func(context.Context) (*cloudapi.File, error) { return nil, nil }
	for want, call := range map[string]func() (*cloudapi.File, cloudapi.EnsureOutcome, error){
		"cloudapi: Ensure: ctx must not be nil": func() (*cloudapi.File, cloudapi.EnsureOutcome, error) { return cloudapi.Ensure(ctx, never, never, nil) },
		"cloudapi: Ensure: find must not be nil": func() (*cloudapi.File, cloudapi.EnsureOutcome, error) {
			return cloudapi.Ensure(t.Context(), nil, never, nil)
		},
		"cloudapi: Ensure: create must not be nil": func() (*cloudapi.File, cloudapi.EnsureOutcome, error) {
			return cloudapi.Ensure(t.Context(), never, nil, nil)
		},
		"find returned neither a record nor an error": func() (*cloudapi.File, cloudapi.EnsureOutcome, error) {
			return cloudapi.Ensure(t.Context(), nothing, never, nil)
		},
		"create returned neither a record nor an error": func() (*cloudapi.File, cloudapi.EnsureOutcome, error) {
			return cloudapi.Ensure(t.Context(), none, nothing, nil)
		},
	} {
		if file, outcome, err := call(); file != nil || outcome != "" || err == nil || err.Error() != want {
			t.Errorf("%v, %q, %v; want %s", file, outcome, err, want)
		}
	}
}
