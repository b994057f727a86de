package waits_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// vmIn returns a VM's record in a state.
func vmIn(state string) string {
	return `{"id":"` + stub.VMID + `","name":"web-1","state":"` + state + `"}`
}

func TestWaitPollsImmediatelyAndThenSlower(t *testing.T) {
	t.Parallel()
	s := func(seconds ...float64) (pauses []time.Duration) {
		for _, sec := range seconds {
			pauses = append(pauses, time.Duration(sec*float64(time.Second)))
		}
		return pauses
	}
	for _, tt := range []struct {
		name string
		opts *cloudapi.WaitOptions
		want []time.Duration // without the random part; the last one is repeated
	}{
		{"default", nil, s(1, 1.5, 2.25, 3.375, 5)},
		{"slow", &cloudapi.WaitOptions{Interval: 5 * time.Second, MaxInterval: 15 * time.Second}, s(5, 7.5, 11.25, 15)},
		{"zero options", &cloudapi.WaitOptions{}, s(1, 1.5, 2.25, 3.375, 5)},
		{"negative", &cloudapi.WaitOptions{Interval: -time.Second, MaxInterval: -1}, s(1, 1.5, 2.25, 3.375, 5)},
		{"first only", &cloudapi.WaitOptions{Interval: 30 * time.Second}, s(30)},
		{"first above the longest", &cloudapi.WaitOptions{Interval: 10 * time.Second, MaxInterval: time.Second}, s(10)},
		{"longest only", &cloudapi.WaitOptions{MaxInterval: 2 * time.Second}, s(1, 1.5, 2)},
		{"tiny", &cloudapi.WaitOptions{Interval: 1, MaxInterval: 1}, []time.Duration{1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const polls = 200
				var times []time.Time
				start := time.Now()
				_, err := cloudapi.Wait(t.Context(), func(context.Context) (*cloudapi.VM, error) {
					times = append(times, time.Now())
					return new(cloudapi.VM), nil
				}, func(*cloudapi.VM) (bool, error) { return len(times) == polls, nil }, tt.opts)
				if err != nil || !times[0].Equal(start) {
					t.Fatalf("the first poll came after %v: %v", times[0].Sub(start), err)
				}
				least, most := 2.0, 0.0
				for i := 1; i < polls; i++ {
					pause, nominal := times[i].Sub(times[i-1]), tt.want[min(i, len(tt.want))-1]
					if pause < nominal*4/5 || pause > nominal*6/5+1 {
						t.Fatalf("pause %d is %v, want %v within a fifth", i, pause, nominal)
					}
					least, most = min(least, float64(pause)/float64(nominal)), max(most, float64(pause)/float64(nominal))
				}
				if tt.name != "tiny" && (least > 0.85 || most < 1.15) {
					t.Errorf("the pauses are %v to %v of what they would be without chance", least, most)
				}
			})
		})
	}
}

func TestWaitTolerates(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		replies []any
		opts    *cloudapi.WaitOptions
		polls   int
		err     error // nil if the VM ends up running
	}{
		{"nothing", []any{vmIn("running")}, nil, 1, nil},
		{"502 and 503", []any{502, 503, vmIn("running")}, nil, 3, nil},
		{"five in a row", []any{500, 500, 500, 500, 500, vmIn("running")}, nil, 6, nil},
		{"six in a row", []any{500, 500, 500, 500, 500, 502, vmIn("running")}, nil, 6, cloudapi.ErrServer},
		{"five, a success, and five", []any{500, 500, 500, 500, 500, vmIn("creating"), 500, 500, 500, 500, 500, vmIn("running")}, nil, 12, nil},
		{"as many as it is told", []any{500, 500, vmIn("running")}, &cloudapi.WaitOptions{Tolerance: 2}, 3, nil},
		{"no more than it is told", []any{500, 500, 500, vmIn("running")}, &cloudapi.WaitOptions{Tolerance: 2}, 3, cloudapi.ErrServer},
		{"none if it is told so", []any{500, vmIn("running")}, &cloudapi.WaitOptions{Tolerance: -1}, 1, cloudapi.ErrServer},
		{"not 404", []any{vmIn("creating"), 404}, nil, 2, cloudapi.ErrNotFound},
		{"a gateway's page", []any{vmIn("creating"), "<html>Back soon</html>", "<html>Back soon</html>", vmIn("running")}, nil, 4, nil},
		{"a gateway's 404", []any{vmIn("creating"), stub.BadNotFound("no such backend"), vmIn("running")}, nil, 3, nil},
		{"a record of another VM", []any{`{"id":"` + stub.VMID + `","name":"web-2","state":"running"}`, vmIn("running")}, nil, 2, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				network := stub.Polled(tt.replies...)
				client := sdktest.Recorded(t, network)
				get := func(ctx context.Context) (*cloudapi.VM, error) { return client.VMs.Get(ctx, "eu-central-h1", "web-1") }
				vm, err := cloudapi.Wait(t.Context(), get, func(vm *cloudapi.VM) (bool, error) { return vm.State == "running", nil }, tt.opts)
				if n := len(network.Take()); n != tt.polls {
					t.Errorf("%d polls, want %d", n, tt.polls)
				}
				if tt.err == nil {
					if err != nil || vm == nil || vm.State != "running" {
						t.Errorf("Wait = %v, %v", vm, err)
					}
					return
				}
				if e, ok := errors.AsType[*cloudapi.WaitError](err); vm != nil || !ok || e.Polls != tt.polls || !errors.Is(err, tt.err) {
					t.Errorf("Wait = %v, %v", vm, err)
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

func TestWaitRunning(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		replies []any
		err     error
		state   string // in the error
	}{
		{"at once", []any{vmIn("running")}, nil, ""},
		{"created", []any{vmIn("creating"), vmIn("creating"), vmIn("running")}, nil, ""},
		{"no room at first", []any{vmIn("waiting for capacity"), vmIn("no capacity available"), vmIn("creating"), vmIn("running")}, nil, ""},
		{"restarted", []any{vmIn("restarting"), vmIn("rebooting"), vmIn("starting"), vmIn("stopped"), vmIn("running")}, nil, ""},
		{"states of a later server", []any{vmIn("imploding"), vmIn(""), vmIn("RUNNING"), vmIn("running")}, nil, ""},
		{"deleted", []any{vmIn("creating"), vmIn("deleting"), vmIn("running")}, cloudapi.ErrWaitFailed, "deleting"},
		{"gone", []any{vmIn("creating"), 404}, cloudapi.ErrNotFound, "creating"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				network := stub.Polled(tt.replies...)
				vm, err := sdktest.Recorded(t, network).VMs.WaitRunning(t.Context(), "eu-central-h1", "web-1", nil)
				polls := len(tt.replies)
				if tt.err == cloudapi.ErrWaitFailed {
					polls--
				}
				sent := network.Take()
				if len(sent) != polls || sent[0].Target != "/project/"+stub.Project+"/location/eu-central-h1/vm/web-1" {
					t.Errorf("%d polls, want %d, the first of %s", len(sent), polls, sent[0].Target)
				}
				if tt.err == nil {
					if err != nil || vm.State != "running" {
						t.Errorf("WaitRunning = %v, %v", vm, err)
					}
					return
				}
				e, ok := errors.AsType[*cloudapi.WaitError](err)
				if vm != nil || !ok || !errors.Is(err, tt.err) || e.State != tt.state || e.Record.(*cloudapi.VM).State != tt.state {
					t.Errorf("WaitRunning = %v, %v", vm, err)
				}
			})
		})
	}
}

func TestWaitDeleted(t *testing.T) {
	t.Parallel()
	other := `{"id":"vm00000000021g000000000001","name":"web-1","state":"running"}`
	noLocation := `{"error":{"code":404,"type":"InvalidLocation","message":"m","details":{"location":"l"}}}`
	for _, tt := range []struct {
		name    string
		replies []any
		polls   int
		err     error
	}{
		{"gone already", []any{404}, 1, nil},
		{"gone at last", []any{vmIn("running"), vmIn("deleting"), vmIn("deleting"), 404}, 4, nil},
		{"forbidden for a moment", []any{vmIn("deleting"), 403, 404}, 3, nil},
		{"forbidden at first", []any{403, 403, 404}, 3, nil},
		{"forbidden forever", []any{403}, 6, cloudapi.ErrForbidden},
		{"broken for a moment", []any{vmIn("deleting"), 500, 404}, 3, nil},
		{"its name is taken over", []any{vmIn("deleting"), vmIn("deleting"), other}, 3, nil},
		{"its name is taken over behind a failure", []any{vmIn("deleting"), 500, other}, 3, nil},
		{"a 404 that is cut off", []any{vmIn("deleting"), stub.BadNotFound(`{"error":{"co`), 404}, 3, nil},
		{"no such location", []any{noLocation}, 1, cloudapi.ErrNotFound},
		{"unauthorized", []any{vmIn("deleting"), 401}, 2, cloudapi.ErrUnauthorized},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				network := stub.Polled(tt.replies...)
				if tt.replies[0] == noLocation {
					network.Answer = stub.Always(404, noLocation)
				}
				client := sdktest.Recorded(t, network)
				err := client.VMs.WaitDeleted(t.Context(), "eu-central-h1", "web-1", nil)
				if n := len(network.Take()); n != tt.polls {
					t.Errorf("%d polls, want %d", n, tt.polls)
				}
				if _, ok := errors.AsType[*cloudapi.WaitError](err); !errors.Is(err, tt.err) || ok != (tt.err != nil) {
					t.Errorf("WaitDeleted: %v, want %v", err, tt.err)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		subnet := `{"id":"ps00000000021g000000000001","name":"net-1","state":"available"}`
		network := stub.Polled(subnet, subnet, 404)
		if err := sdktest.Recorded(t, network).PrivateSubnets.WaitDeleted(t.Context(), "eu-central-h1", "net-1", nil); err != nil || len(network.Take()) != 3 {
			t.Errorf("PrivateSubnets.WaitDeleted: %v", err)
		}
	})
}

func TestWaitEndsWithTheContext(t *testing.T) {
	t.Parallel()
	reason := errors.New("the operator lost patience")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Second, reason)
		defer cancel()
		network := stub.Polled(vmIn("creating"))
		start := time.Now()
		vm, err := sdktest.Recorded(t, network).VMs.WaitRunning(ctx, "eu-central-h1", "web-1", nil)
		took := time.Since(start)
		e, ok := errors.AsType[*cloudapi.WaitError](err)
		if vm != nil || !ok || took != 10*time.Second || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, reason) {
			t.Fatalf("after %v WaitRunning = %v, %v", took, vm, err)
		}
		want := cloudapi.WaitError{Operation: "VMs.WaitRunning", Resource: "eu-central-h1/web-1", Polls: len(network.Take()), Elapsed: took,
			State: "creating", Record: &cloudapi.VM{ID: stub.VMID, Name: "web-1", State: "creating"}, Err: e.Err}
		if !reflect.DeepEqual(*e, want) || e.Polls < 3 || e.Polls > 6 {
			t.Errorf("the error is %+v, want %+v", *e, want)
		}
		text := fmt.Sprintf(`cloudapi: VMs.WaitRunning of eu-central-h1/web-1 ended after 10s and %d polls, last state "creating": `+
			`context deadline exceeded: the operator lost patience`, e.Polls)
		if err.Error() != text {
			t.Errorf("the error is %q, want %q", err, text)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := sdktest.Recorded(t, stub.Polled(vmIn("creating"))).VMs.WaitRunning(ctx, "eu-central-h1", stub.VMID, nil)
		want := "cloudapi: VMs.WaitRunning of eu-central-h1/web-1 (" + stub.VMID + ") ended after 10s and "
		if e, ok := errors.AsType[*cloudapi.WaitError](err); !ok || !strings.HasPrefix(err.Error(), want) || e.Resource != "eu-central-h1/"+stub.VMID {
			t.Errorf("by ID: the error is %v, want %s…", err, want)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(1300*time.Millisecond, cancel)
		network := stub.Polled(500)
		start := time.Now()
		err := sdktest.Recorded(t, network).VMs.WaitDeleted(ctx, "eu-central-h1", "web-1", nil)
		e, ok := errors.AsType[*cloudapi.WaitError](err)
		if took := time.Since(start); !ok || took != 1300*time.Millisecond || !errors.Is(err, context.Canceled) || e.Record != nil || e.State != "" {
			t.Errorf("after %v WaitDeleted: %#v", took, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		p := sdktest.StartPeer(t, sdktest.Hangs)
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		start := time.Now()
		_, err := p.Client(t).VMs.WaitRunning(ctx, "eu-central-h1", "web-1", nil)
		if took := time.Since(start); took != 7*time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a poll that hangs, after %v: %v", took, err)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	network := stub.Polled(404)
	if err := sdktest.Recorded(t, network).VMs.WaitDeleted(ctx, "eu-central-h1", "web-1", nil); !errors.Is(err, context.Canceled) || len(network.Take()) != 0 {
		t.Errorf("with a context that ended before: %v", err)
	}
}

// TestWaitUsesRetries: each poll has the retries of the client.
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
		t.Errorf("without fetch: %v", err)
	}
	if _, err := cloudapi.Wait(t.Context(), nothing, nil, nil); !errors.Is(err, cloudapi.ErrInvalidArgument) {
		t.Errorf("without done: %v", err)
	}
	if vm, err := cloudapi.Wait(t.Context(), nothing, running, nil); vm != nil || err == nil {
		t.Errorf("fetch returns nothing: %v, %v", vm, err)
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
			func(o *cloudapi.ObjectInfo) (bool, error) { return true, stop }, nil)
		e, ok := errors.AsType[*cloudapi.WaitError](err)
		if info != nil || !ok || !errors.Is(err, stop) || e.Record != any(noState) || e.State != "" ||
			err.Error() != "cloudapi: Wait of the resource ended after 0s and 1 poll: that will never do" {
			t.Errorf("Wait = %v, %v", info, err)
		}
	})
}
