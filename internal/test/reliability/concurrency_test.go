package reliability

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestConcurrency: 64 goroutines use one client and copies of it while one
// request in ten fails. They resolve unknown outcomes with Confirm. In the end
// the server has what they expect, each object once, and no goroutine is left.
func TestConcurrency(t *testing.T) {
	const workers, rounds = 64, 12
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t, cloudapitest.Lenient(), cloudapitest.WithDelays(cloudapitest.Delays{}))
		// net/http itself retries a GET if a reused connection breaks, which adds
		// more concurrency.
		transport := srv.HTTPClient().Transport.(*http.Transport).Clone()
		transport.DisableKeepAlives = false
		client := srv.Client(cloudapi.WithHTTPClient(&http.Client{Transport: transport}), cloudapi.WithTimeout(time.Minute))
		calm := disturb(srv, 0.1)
		var want []string
		var unknown atomic.Int32
		var running sync.WaitGroup
		for n := range workers {
			for round := 0; round < rounds; round += 2 {
				want = append(want, fmt.Sprintf("w%d-%d", n, round))
			}
			running.Go(func() {
				for round := range rounds {
					if err := step(t.Context(), client, srv.OtherProjectID(), n, round, &unknown); err != nil {
						t.Errorf("worker %d, round %d: %v", n, round, err)
					}
				}
			})
		}
		running.Wait()
		calm()
		var got []string
		for _, key := range stub.Must(cloudapi.Collect(client.SSHPublicKeys.All(t.Context(), nil)))(t) {
			got = append(got, key.Name)
		}
		slices.Sort(got)
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("the server has the keys %q, want %q", got, want)
		}
		transport.CloseIdleConnections()
		srv.Close()
		synctest.Wait()
		if left := goroutinesOfBubble() - withoutClient; left > 0 {
			t.Errorf("%d goroutines are left", left)
		}
		if unknown.Load() == 0 {
			t.Error("the faults did not reach the creates")
		}
	})
}

// step creates a key with a copy of the client, reads it, leaves a list early,
// looks for a project of another account, and deletes the key if the round is
// odd.
func step(ctx context.Context, client *cloudapi.Client, other string, n, round int, unknown *atomic.Int32) error {
	name := fmt.Sprintf("w%d-%d", n, round)
	client, err := client.With(cloudapi.WithUserAgent(name), cloudapi.WithPrefetch(round%3))
	if err != nil {
		return err
	}
	text := "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPlaceholderKeyForTestsOnlyxxxxxxxxxxxxxxxxxxx " + name
	if err := made(ctx, client, name, text, unknown); err != nil {
		return err
	}
	key, err := persist(func() (*cloudapi.SSHPublicKey, error) { return client.SSHPublicKeys.Get(ctx, name) })
	if err != nil || key.PublicKey != text {
		return fmt.Errorf("the key is %+v, %w", key, err)
	}
	items := n
	for key, err := range client.SSHPublicKeys.All(ctx, &cloudapi.ListOptions{PageSize: 1 + n%20}) {
		if items--; items < 0 || transient(err) {
			break
		}
		if err != nil || key.ID == "" {
			return fmt.Errorf("the list has %+v, %w", key, err)
		}
	}
	if _, err := persist(func() (any, error) { return client.InProject(other).SSHPublicKeys.List(ctx, nil) }); !errors.Is(err, cloudapi.ErrNotFound) {
		return fmt.Errorf("the list of another project ended with %w", err)
	}
	if round%2 > 0 {
		_, err = persist(func() (any, error) { return nil, client.SSHPublicKeys.Delete(ctx, name) })
	}
	return err
}

// mostTries is more attempts than the failing requests can make necessary.
const mostTries = 30

// made creates a key exactly once: if the outcome is unknown it looks, and if
// there's no key it tries again.
func made(ctx context.Context, client *cloudapi.Client, name, text string, unknown *atomic.Int32) error {
	for range mostTries {
		_, err := client.SSHPublicKeys.Create(ctx, name, &cloudapi.SSHPublicKeyCreateRequest{PublicKey: text})
		if errors.Is(err, cloudapi.ErrOutcomeUnknown) {
			unknown.Add(1)
			_, err = persist(func() (any, error) {
				return cloudapi.Confirm(ctx, err, func(ctx context.Context) (*cloudapi.SSHPublicKey, error) {
					return client.SSHPublicKeys.Get(ctx, name)
				}, func(*cloudapi.SSHPublicKey) bool { return true })
			})
			if errors.Is(err, cloudapi.ErrNotFound) {
				continue
			}
		}
		if !transient(err) {
			return err
		}
	}
	return errors.New("a create failed too often")
}

// persist repeats a call, in addition to the client's retries, until it ends as
// it would without the faults.
func persist[T any](call func() (T, error)) (value T, err error) {
	for range mostTries {
		if value, err = call(); !transient(err) {
			return value, err
		}
	}
	return value, fmt.Errorf("a call failed too often: %w", err)
}

// transient reports whether a failure was caused by the faults.
func transient(err error) bool {
	if errors.Is(err, cloudapi.ErrServer) || errors.Is(err, cloudapi.ErrRateLimited) {
		return true
	}
	if e, ok := errors.AsType[*cloudapi.Error](err); ok && e.StatusCode == http.StatusNotFound {
		return !errors.Is(err, cloudapi.ErrNotFound) // it is truncated, and might not be the API's
	}
	if _, ok := errors.AsType[*cloudapi.TransportError](err); ok {
		return !errors.Is(err, context.Canceled)
	}
	_, ok := errors.AsType[*cloudapi.DecodeError](err)
	return ok
}

// disturb fails a share of the requests, in different ways, until the returned
// function is called.
func disturb(srv *cloudapitest.Server, share float64) (calm func()) {
	var over atomic.Bool
	ways := []cloudapitest.Fault{
		cloudapitest.DropBefore(),
		cloudapitest.DropAfter(),
		cloudapitest.Truncate(0),
		cloudapitest.Truncate(25),
		cloudapitest.Reply(503, http.Header{"Content-Type": {asJSON}}, envelope(503)),
		cloudapitest.Reply(429, http.Header{"Content-Type": {asJSON}}, envelope(429)),
		cloudapitest.Reply(500, http.Header{"Content-Type": {asJSON}}, envelope(500)),
		cloudapitest.Reply(502, http.Header{"Content-Type": {"text/html"}}, "<html>"),
	}
	for _, fault := range ways {
		srv.Fail(cloudapitest.Match{Func: func(cloudapitest.Request) bool {
			return !over.Load() && rand.Float64() < share/float64(len(ways))
		}}, fault.Repeating())
	}
	return func() { over.Store(true) }
}
