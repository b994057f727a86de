package waits_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

func vmIn(state string) string {
	return `{"id":"` + stub.VMID + `","name":"web-1","state":"` + state + `"}`
}

// TestWaitPollsImmediatelyAndThenSlower: a wait polls immediately, and then
// after pauses that grow by half. Zero and negative options mean the defaults.
func TestWaitPollsImmediatelyAndThenSlower(t *testing.T) {
	t.Parallel()
	const s = time.Second
	byDefault := []time.Duration{s, 3 * s / 2, 9 * s / 4, 27 * s / 8, 5 * s}
	for _, tt := range []struct {
		name string
		opts *cloudapi.WaitOptions
		want []time.Duration // without the random part; the last one is repeated
	}{
		{"default", nil, byDefault},
		{"zero options", &cloudapi.WaitOptions{}, byDefault},
		{"negative", &cloudapi.WaitOptions{Interval: -s, MaxInterval: -1}, byDefault},
		{"first only", &cloudapi.WaitOptions{Interval: 30 * s}, []time.Duration{30 * s}},
		{"first above the longest", &cloudapi.WaitOptions{Interval: 10 * s, MaxInterval: s}, []time.Duration{10 * s}},
		{"longest only", &cloudapi.WaitOptions{MaxInterval: 2 * s}, []time.Duration{s, 3 * s / 2, 2 * s}},
		{"tiny", &cloudapi.WaitOptions{Interval: 1, MaxInterval: 1}, []time.Duration{1}},
	} {
		synctest.Test(t, func(t *testing.T) {
			times := []time.Time{time.Now()}
			_, err := cloudapi.Wait(t.Context(), func(context.Context) (*cloudapi.VM, error) {
				times = append(times, time.Now())
				return new(cloudapi.VM), nil
			}, func(*cloudapi.VM) (bool, error) { return len(times) == 20, nil }, tt.opts)
			if err != nil || !times[1].Equal(times[0]) {
				t.Fatalf("%s: the first poll came after %v: %v", tt.name, times[1].Sub(times[0]), err)
			}
			for i := range times[2:] {
				pause, nominal := times[i+2].Sub(times[i+1]), tt.want[min(i, len(tt.want)-1)]
				if pause < nominal*4/5 || pause > nominal*6/5+1 {
					t.Errorf("%s: pause %d is %v, want %v within a fifth", tt.name, i, pause, nominal)
				}
			}
		})
	}
}

// TestWaits: each case has the responses to the polls of a wait, and how the
// wait ends. The suite failures tests what each failure does to a wait.
func TestWaits(t *testing.T) {
	t.Parallel()
	const location, name = "eu-central-h1", "web-1"
	running, deleted := sdktest.Do("VMs.WaitRunning", location, name), sdktest.Do("VMs.WaitDeleted", location, name)
	subnetDeleted := sdktest.Do("PrivateSubnets.WaitDeleted", location, "net-1")
	tolerating := func(n int) sdktest.Call {
		return sdktest.Do("VMs.WaitRunning", location, name, &cloudapi.WaitOptions{Tolerance: n})
	}
	const (
		other      = `{"id":"vm00000000021g000000000001","name":"web-1","state":"running"}`
		subnet     = `{"id":"ps00000000021g000000000001","name":"net-1","state":"available"}`
		noLocation = stub.BadNotFound(`{"error":{"code":404,"type":"InvalidLocation","message":"m","details":{"location":"l"}}}`)
		project    = `{"id":"` + stub.Project + `","name":"p"}`
		page       = "<html>Back soon</html>"
	)
	creating, deleting, isRunning := vmIn("creating"), vmIn("deleting"), vmIn("running")
	for _, tt := range []struct {
		name    string
		wait    sdktest.Call
		replies []any // the last one is repeated
		polls   int   // with the requests of a proof
		err     error
		state   string // in the error
	}{
		{"running already", running, []any{isRunning}, 1, nil, ""},
		{"created", running, []any{creating, creating, isRunning}, 3, nil, ""},
		{"no room at first", running, []any{vmIn("waiting for capacity"), vmIn("no capacity available"), creating, isRunning}, 4, nil, ""},
		{"restarted", running, []any{vmIn("restarting"), vmIn("rebooting"), vmIn("starting"), vmIn("stopped"), isRunning}, 5, nil, ""},
		{"states of a later server", running, []any{vmIn("imploding"), vmIn(""), vmIn("RUNNING"), isRunning}, 4, nil, ""},
		{"gone meanwhile", running, []any{creating, 404}, 2, cloudapi.ErrNotFound, "creating"},
		{"stopped by the provider", running, []any{creating, vmIn("stopped by admin"), isRunning}, 2, cloudapi.ErrWaitFailed, "stopped by admin"},
		{"deleted meanwhile", running, []any{creating, deleting, isRunning}, 2, cloudapi.ErrWaitFailed, "deleting"},

		{"five in a row", running, []any{500, 500, 500, 500, 500, isRunning}, 6, nil, ""},
		{"six in a row", running, []any{500, 500, 500, 500, 500, 502, isRunning}, 6, cloudapi.ErrServer, ""},
		{"five, a success, and five", running, []any{500, 500, 500, 500, 500, creating, 500, 500, 500, 500, 500, isRunning}, 12, nil, ""},
		{"as many as it is told", tolerating(2), []any{500, 500, isRunning}, 3, nil, ""},
		{"no more than it is told", tolerating(2), []any{500, 500, 500, isRunning}, 3, cloudapi.ErrServer, ""},
		{"none if it is told so", tolerating(-1), []any{500, isRunning}, 1, cloudapi.ErrServer, ""},
		{"a gateway's page", running, []any{creating, page, page, isRunning}, 4, nil, ""},
		{"a gateway's 404", running, []any{creating, stub.BadNotFound("no such backend"), isRunning}, 3, nil, ""},
		{"a record of another VM", running, []any{`{"id":"` + stub.VMID + `","name":"web-2","state":"running"}`, isRunning}, 2, nil, ""},

		{"gone already", deleted, []any{404, project}, 2, nil, ""},
		{"gone at last", deleted, []any{isRunning, deleting, deleting, 404}, 4, nil, ""},
		{"forbidden for a moment", deleted, []any{deleting, 403, 404}, 3, nil, ""},
		{"forbidden at first", deleted, []any{403, 403, 404, project}, 4, nil, ""},
		{"broken for a moment", deleted, []any{deleting, 500, 404}, 3, nil, ""},
		{"its name is taken over", deleted, []any{deleting, deleting, other}, 3, nil, ""},
		{"its name is taken over behind a failure", deleted, []any{deleting, 500, other}, 3, nil, ""},
		{"a 404 that is cut off", deleted, []any{deleting, stub.BadNotFound(`{"error":{"co`), 404}, 3, nil, ""},
		{"no such location", deleted, []any{noLocation}, 1, cloudapi.ErrNotFound, ""},
		{"a subnet, which shows no deletion", subnetDeleted, []any{subnet, subnet, 404}, 3, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				network := stub.Polled(tt.replies...)
				result, err := tt.wait.On(t.Context(), sdktest.Recorded(t, network))
				vm, _ := result.(*cloudapi.VM)
				if n := len(network.Take()); n != tt.polls || !errors.Is(err, tt.err) || err != nil && vm != nil || vm != nil && vm.State != "running" {
					t.Errorf("%v, %v after %d polls, want %v after %d", vm, err, n, tt.err, tt.polls)
				}
				if tt.err == nil {
					return
				}
				e, ok := errors.AsType[*cloudapi.WaitError](err)
				if !ok || e.Polls != tt.polls || e.State != tt.state || (e.Record == nil) != (tt.state == "") || tt.state != "" && e.Record.(*cloudapi.VM).State != tt.state {
					t.Errorf("the error is %+v", err)
				}
			})
		})
	}
}

// TestWaitEndsWithoutPolls: a wait ends if a poll can't be sent, since the next
// one couldn't be sent either.
func TestWaitEndsWithoutPolls(t *testing.T) {
	t.Parallel()
	closed := errors.New("closed")
	network := stub.Polled(vmIn("creating"))
	limited := sdktest.Recorded(t, network, cloudapi.WithLimiter(stub.Limiter(func(context.Context) error { return closed })))
	for name, tt := range map[string]struct {
		client *cloudapi.Client
		want   error
	}{
		"limiter":    {limited, closed},
		"no project": {sdktest.Recorded(t, network).InProject(""), cloudapi.ErrNoProject},
		"argument":   {sdktest.Recorded(t, network).InProject("x"), cloudapi.ErrInvalidArgument},
	} {
		vm, err := tt.client.VMs.WaitRunning(t.Context(), "eu-central-h1", "web-1", nil)
		if e, ok := errors.AsType[*cloudapi.WaitError](err); vm != nil || !ok || !errors.Is(err, tt.want) || e.Polls != 1 {
			t.Errorf("%s: %v, %v", name, vm, err)
		}
	}
	if n := len(network.Take()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// TestWaitEndsWithTheContext: a wait ends with its context, during a pause or a
// poll. The error contains the last record.
func TestWaitEndsWithTheContext(t *testing.T) {
	t.Parallel()
	reason := errors.New("the operator lost patience")
	const limit = 10 * time.Second
	for name, tt := range map[string]struct {
		client    func(*testing.T) *cloudapi.Client
		reference string
		record    *cloudapi.VM // the last record
		text      string       // of the resource
	}{
		"by name": {func(t *testing.T) *cloudapi.Client { return sdktest.Recorded(t, stub.Polled(vmIn("creating"))) }, "web-1",
			&cloudapi.VM{ID: stub.VMID, Name: "web-1", State: "creating"}, "web-1"},
		"by ID": {func(t *testing.T) *cloudapi.Client { return sdktest.Recorded(t, stub.Polled(vmIn("creating"))) }, stub.VMID,
			&cloudapi.VM{ID: stub.VMID, Name: "web-1", State: "creating"}, "web-1 (" + stub.VMID + ")"},
		"without a record":  {func(t *testing.T) *cloudapi.Client { return sdktest.Recorded(t, stub.Polled(500)) }, "web-1", nil, "web-1"},
		"a poll that hangs": {func(t *testing.T) *cloudapi.Client { return sdktest.StartPeer(t, sdktest.Hangs).Client(t) }, "web-1", nil, "web-1"},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), limit, reason)
			defer cancel()
			start := time.Now()
			vm, err := tt.client(t).VMs.WaitRunning(ctx, "eu-central-h1", tt.reference, nil)
			e, ok := errors.AsType[*cloudapi.WaitError](err)
			if vm != nil || !ok || time.Since(start) != limit || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, reason) {
				t.Fatalf("%s, after %v: %v, %v", name, time.Since(start), vm, err)
			}
			want := cloudapi.WaitError{Operation: "VMs.WaitRunning", Resource: "eu-central-h1/" + tt.reference, Polls: e.Polls, Elapsed: limit, Err: e.Err}
			if tt.record != nil {
				want.Record, want.State = tt.record, tt.record.State
				text := fmt.Sprintf(`cloudapi: VMs.WaitRunning of eu-central-h1/%s ended after 10s and %d polls, last state "creating": `+
					`context deadline exceeded: the operator lost patience`, tt.text, e.Polls)
				if err.Error() != text || e.Polls < 3 || e.Polls > 6 {
					t.Errorf("%s: the error is %q, want %q, with 3 to 6 polls", name, err, text)
				}
			}
			_, inPoll := errors.AsType[*cloudapi.TransportError](err)
			if !reflect.DeepEqual(*e, want) || inPoll != (name == "a poll that hangs") {
				t.Errorf("%s: the error is %+v, want %+v", name, *e, want)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := sdktest.SendingNothing(t).VMs.WaitDeleted(ctx, "eu-central-h1", "web-1", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that ended before: %v", err)
	}
}

// TestWaitUsesRetries: the client retries each poll like any other call.
func TestWaitUsesRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := stub.Polled(503, 503, vmIn("running"))
		var progress []cloudapi.Progress
		_, err := sdktest.Recorded(t, network, cloudapi.WithRetry(cloudapi.RetryPolicy{})).VMs.WaitRunning(t.Context(), "eu-central-h1", "web-1",
			&cloudapi.WaitOptions{Progress: func(p cloudapi.Progress) { progress = append(progress, p) }})
		if err != nil || len(network.Take()) != 3 || len(progress) != 1 {
			t.Errorf("%d polls: %v", len(progress), err)
		}
	})
}

func TestWaitProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := stub.Polled(vmIn("creating"), 500, vmIn("deleting"), 404)
		var got []cloudapi.Progress
		start := time.Now()
		err := sdktest.Recorded(t, network).VMs.WaitDeleted(t.Context(), "eu-central-h1", "web-1", &cloudapi.WaitOptions{Progress: func(p cloudapi.Progress) {
			if p.Elapsed != time.Since(start) {
				t.Errorf("poll %d: %v have passed, not %v", p.Polls, time.Since(start), p.Elapsed)
			}
			got = append(got, p)
		}})
		if err != nil || len(got) != 4 {
			t.Fatalf("%d events: %v", len(got), err)
		}
		for i, p := range got {
			state, isErr, done := []string{"creating", "", "deleting", ""}[i], []error{nil, cloudapi.ErrServer, nil, nil}[i], []int{0, 0, 0, 1}[i]
			if p.Operation != "VMs.WaitDeleted" || p.Resource != "eu-central-h1/web-1" || p.Polls != i+1 || p.State != state ||
				p.Done != done || p.Total != 1 || !errors.Is(p.Err, isErr) {
				t.Errorf("event %d is %+v", i, p)
			}
			vm, _ := p.Record.(*cloudapi.VM)
			if (vm != nil) != (state != "") || vm != nil && vm.State != state || vm == nil && p.Record != nil {
				t.Errorf("the record of event %d is %#v", i, p.Record)
			}
		}
	})
}

func TestWaitRefusesToPanic(t *testing.T) {
	t.Parallel()
	nothing := func(context.Context) (*cloudapi.VM, error) { return nil, nil }
	running := func(*cloudapi.VM) (bool, error) { return true, nil }
	if _, err := cloudapi.Wait(t.Context(), nil, running, nil); !errors.Is(err, cloudapi.ErrInvalidArgument) {
		t.Errorf("without get: %v", err)
	}
	if _, err := cloudapi.Wait(t.Context(), nothing, nil, nil); !errors.Is(err, cloudapi.ErrInvalidArgument) {
		t.Errorf("without done: %v", err)
	}
	if vm, err := cloudapi.Wait(t.Context(), nothing, running, nil); vm != nil || err == nil {
		t.Errorf("get returns nothing: %v, %v", vm, err)
	}
	var none context.Context
	if vm, err := cloudapi.Wait(none, func(context.Context) (*cloudapi.VM, error) { return new(cloudapi.VM), nil }, running, nil); vm != nil || !errors.Is(err, cloudapi.ErrInvalidArgument) {
		t.Errorf("without a context: %v, %v", vm, err)
	}
	client := sdktest.Recorded(t, stub.Polled(vmIn("deleting")))
	if err := client.VMs.WaitDeleted(none, "eu-central-h1", "web-1", nil); !errors.Is(err, cloudapi.ErrInvalidArgument) {
		t.Errorf("without a context: %v", err)
	}
}

func TestWaitForYourOwnCondition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		noState := &cloudapi.ObjectInfo{Name: "x"}
		stop := errors.New("that will never do")
		info, err := cloudapi.Wait(t.Context(), func(context.Context) (*cloudapi.ObjectInfo, error) { return noState, nil },
			func(o *cloudapi.ObjectInfo) (bool, error) { return o == noState, nil }, nil)
		if info != noState || err != nil {
			t.Errorf("Wait = %v, %v", info, err)
		}
		info, err = cloudapi.Wait(t.Context(), func(context.Context) (*cloudapi.ObjectInfo, error) { return noState, nil },
			func(o *cloudapi.ObjectInfo) (bool, error) { return true, stop }, &cloudapi.WaitOptions{Progress: func(p cloudapi.Progress) {
				if p.Done != 0 {
					t.Error("a wait that fails is done")
				}
			}})
		e, ok := errors.AsType[*cloudapi.WaitError](err)
		if info != nil || !ok || !errors.Is(err, stop) || e.Record != nil || e.State != "" ||
			err.Error() != "cloudapi: Wait of the resource ended after 0s and 1 poll: that will never do" {
			t.Errorf("Wait = %v, %v", info, err)
		}
	})
}

// TestWaitsOnIncompleteRecords: a wait doesn't succeed if the response lacks
// the field that the wait looks at.
func TestWaitsOnIncompleteRecords(t *testing.T) {
	t.Parallel()
	const location, name = "eu-central-h1", "web-1"
	const pg = `"read_replica":null,"target_vm_size":null,"target_version":null,"target_server_count":null`
	for _, tt := range []struct {
		wait sdktest.Call

		// lacks maps incomplete records to the field that the error names. The keys
		// are the fields of the record besides its ID, name, location and state. With
		// "" the wait needs only the state, which the record lacks, and continues.
		lacks map[string]string
	}{
		{sdktest.Do("LoadBalancers.WaitVMDetached", location, name, stub.VMID), map[string]string{`"vms":null`: "vms", `"vms":[null]`: "vms"}},
		{sdktest.Do("Kubernetes.WaitNodePoolDeleted", location, name, "np"), map[string]string{`"nodepools":null`: "nodepools", `"nodepools":[{"id":"kn"}]`: "name"}},
		{sdktest.Do("Kubernetes.WaitNodeRetired", location, name, "node"), map[string]string{`"nodepools":null`: "nodepools", `"nodepools":[{"id":"kn","name":"np","vms":null}]`: "vms", `"nodepools":[{"id":"kn","name":"np","vms":[{"id":"vm"}]}]`: "vms"}},
		{sdktest.Do("Kubernetes.WaitNodePool", location, name, "np"), map[string]string{`"nodepools":[{"id":"kn","name":"np"}]`: "node_count"}},
		{sdktest.Do("Kubernetes.WaitNodePoolUpgraded", location, name, &cloudapi.KubernetesNodePool{ID: "kn"}), map[string]string{`"display_state":"","nodepools":[{"id":"kn","name":"np","vms":[]}]`: "display_state"}},
		{sdktest.Do("Kubernetes.WaitRunning", location, name), map[string]string{`"display_state":null`: ""}},
		{sdktest.Do("Postgres.WaitPromoted", location, name), map[string]string{pg: "read_replica"}},
		{sdktest.Do("Postgres.WaitResized", location, name), map[string]string{pg: "target_vm_size", `"vm_size":"a","target_vm_size":"a"`: "target_storage_size_gib"}},
		{sdktest.Do("Postgres.WaitUpgraded", location, name), map[string]string{pg: "target_version", `"state":"creating"`: ""}},
		{sdktest.Do("Postgres.WaitServers", location, name), map[string]string{pg: "target_server_count"}},
		{sdktest.Do("Postgres.WaitRecycled", location, name, "pv00000000021g000000000001"), map[string]string{pg: "target_server_count"}},
		{sdktest.Do("Postgres.WaitRunning", location, name), map[string]string{`"state":null`: ""}},
		{sdktest.Do("VMs.WaitRunning", location, name), map[string]string{`"state":null`: ""}},
		{sdktest.Do("VMs.WaitStopped", location, name), map[string]string{`"state":null`: ""}},
		{sdktest.Do("VMs.WaitSerialLog", location, name), map[string]string{`"status":null`: ""}},
		{sdktest.Do("MachineImages.WaitVersion", location, name, "v1"), map[string]string{`"x":null`: ""}},
		{sdktest.Do("MachineImages.WaitVersionDeleted", location, name, "v1"), map[string]string{`"x":null`: "version"}},
	} {
		for fields, lacks := range tt.lacks {
			state := ""
			if lacks != "" {
				state = `,"state":"running","display_state":"running"`
			}
			for _, fields := range []string{state, state + "," + fields} {
				synctest.Test(t, func(t *testing.T) {
					client := sdktest.Client(t, stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
						switch path := req.URL.Path; {
						case strings.HasSuffix(path, "/upgrade"):
							return stub.Respond(400, stub.Envelope(400)), nil
						case strings.HasSuffix(path, "/servers"):
							return stub.Respond(200, `{"items":[]}`), nil
						case strings.HasSuffix(path, "/version"):
							return stub.Respond(200, `{"items":[{"id":"mv"}],"count":1}`), nil
						}
						return stub.Respond(200, `{"id":"x","name":"web-1","location":"eu-central-h1"`+fields+`}`), nil
					}))
					ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
					defer cancel()
					_, err := tt.wait.On(ctx, client)
					switch e, ok := errors.AsType[*cloudapi.WaitError](err); {
					case err == nil:
						t.Errorf("%s with %s succeeded", tt.wait.Name, fields)
					case lacks == "" && errors.Is(err, cloudapi.ErrInvalidResponse) && e.Polls == 1:
						t.Errorf("%s with %s didn't go on: %v", tt.wait.Name, fields, err)
					case len(fields) > len(state) && lacks != "" && (!ok || e.Err.Error() != "invalid response: the record has no "+lacks):
						t.Errorf("%s with %s: %v", tt.wait.Name, fields, err)
					}
				})
			}
		}
	}
}
