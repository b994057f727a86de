package cloudapi

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/pace"
)

// clock returns a read function that takes some time. Its value is the time at
// which it began.
func clock(duration time.Duration) func(context.Context) (time.Time, error) {
	return func(ctx context.Context) (time.Time, error) {
		began := time.Now()
		return began, pace.Sleep(ctx, duration)
	}
}

// TestRoundsAreFresh: without a pause, a value is never older than the call
// that asks for it, even if a reading is in progress. There is one reading at a
// time, and those who need a value meanwhile share the next.
func TestRoundsAreFresh(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRounds[time.Time](nil)
		const callers = 50
		var reading, readings atomic.Int32
		read := func(ctx context.Context) (time.Time, error) {
			readings.Add(1)
			if reading.Add(1) > 1 {
				t.Error("there are two readings at a time")
			}
			defer reading.Add(-1)
			return clock(10 * time.Millisecond)(ctx)
		}
		var running sync.WaitGroup
		for i := range callers {
			running.Go(func() {
				pause := time.Duration(i) * time.Millisecond
				for range 5 {
					if err := pace.Sleep(t.Context(), pause); err != nil {
						t.Error(err)
					}
					asked := time.Now()
					round, err := r.await(t.Context(), 0, nil, read)
					if err != nil || round.err != nil || round.value.Before(asked) {
						t.Errorf("asked at %v, it is %+v, %v", asked, round, err)
					}
				}
			})
		}
		running.Wait()
		if n := readings.Load(); n > 60 {
			t.Errorf("%d calls took %d readings", 5*callers, n)
		}
	})
}

// TestRoundsWithPauses: callers with different pauses share the readings of the
// fastest. Nobody reads before the end of its pause, and two never read at a
// time.
func TestRoundsWithPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRounds[time.Time](nil)
		var reading atomic.Int32
		var running sync.WaitGroup
		for i := range 20 {
			running.Go(func() {
				pause := time.Duration(1+i%4) * time.Second
				for range 20 {
					asked := time.Now()
					round, err := r.await(t.Context(), pause, nil, func(ctx context.Context) (time.Time, error) {
						if reading.Add(1) > 1 || time.Since(asked) < pause {
							t.Errorf("a reading begins after %v of %v, %d are in progress", time.Since(asked), pause, reading.Load())
						}
						defer reading.Add(-1)
						return clock(300 * time.Millisecond)(ctx)
					})
					if took := time.Since(asked); err != nil || took > pause+600*time.Millisecond || time.Since(round.value) != 300*time.Millisecond {
						t.Errorf("with a pause of %v it took %v: %+v, %v", pause, took, round, err)
					}
				}
			})
		}
		running.Wait()
	})
}

// TestRoundsArePaced: the pauses between readings are kept, and all that ask
// during a pause share the reading after it.
func TestRoundsArePaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRounds[time.Time](&pace.Pauses{First: 10 * time.Second})
		first, err := r.await(t.Context(), 0, nil, clock(time.Second))
		if err != nil {
			t.Fatal(err)
		}
		end := time.Now()
		var running sync.WaitGroup
		values := make([]time.Time, 5)
		for i := range values {
			running.Go(func() {
				pause := time.Duration(i) * time.Second
				if err := pace.Sleep(t.Context(), pause); err != nil {
					t.Error(err)
				}
				round, err := r.await(t.Context(), 0, nil, clock(time.Second))
				if err != nil {
					t.Error(err)
					return
				}
				values[i] = round.value
			})
		}
		running.Wait()
		for i, value := range values {
			if pause := value.Sub(end); value != values[0] || pause < 8*time.Second || pause > 12*time.Second {
				t.Errorf("the value %d is from %v after the first reading, at %v", i, pause, first.value)
			}
		}
	})
}

// TestRoundsOutliveTheirLeader: if a reading is given up, because the context
// of its leader has ended or because it panics, the others make another one
// when it is due. They never take the value of the first. An error of the
// reading itself is for all.
func TestRoundsOutliveTheirLeader(t *testing.T) {
	t.Parallel()
	failure := errors.New("the list failed")
	for name, tt := range map[string]struct {
		read    func(context.Context) (time.Time, error) // the leader's
		paces   *pace.Pauses
		limit   time.Duration // of the leader
		want    error
		elapsed time.Duration // until the others have a value
	}{
		"its context ends":          {clock(time.Hour), nil, 3 * time.Second, nil, 6 * time.Second},
		"its context ends unpaced":  {clock(time.Second), &pace.Pauses{First: 20 * time.Second}, 3 * time.Second, nil, 0},
		"it panics":                 {func(context.Context) (time.Time, error) { panic(failure) }, nil, time.Hour, nil, 6 * time.Second},
		"it fails":                  {func(context.Context) (time.Time, error) { return time.Time{}, failure }, nil, time.Hour, failure, 0},
		"it fails as if it was cut": {func(context.Context) (time.Time, error) { return time.Time{}, context.Canceled }, nil, time.Hour, context.Canceled, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRounds[time.Time](tt.paces)
				if tt.paces != nil {
					if _, err := r.await(t.Context(), 0, nil, clock(0)); err != nil {
						t.Fatal(err)
					}
				}
				start := time.Now()
				var running sync.WaitGroup
				running.Go(func() {
					defer func() { _ = recover() }()
					ctx, cancel := context.WithTimeout(t.Context(), tt.limit)
					defer cancel()
					_, _ = r.await(ctx, 0, nil, func(ctx context.Context) (time.Time, error) {
						if err := pace.Sleep(ctx, time.Second); err != nil { // while the others come
							return time.Time{}, err
						}
						return tt.read(ctx)
					})
				})
				synctest.Wait()
				for range 5 {
					running.Go(func() {
						round, err := r.await(t.Context(), 5*time.Second, nil, clock(time.Second))
						if err != nil || !errors.Is(round.err, tt.want) || (round.value.IsZero() == (tt.want == nil)) {
							t.Errorf("it is %+v, %v", round, err)
						}
						if took := time.Since(start); tt.elapsed != 0 && took != tt.elapsed {
							t.Errorf("it took %v, want %v", took, tt.elapsed)
						}
					})
				}
				running.Wait()
			})
		})
	}
}

// TestRoundsHaveOneLeader: when a reading is given up, one of those that are due
// makes the next, and those that become due meanwhile wait for it.
func TestRoundsHaveOneLeader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRounds[time.Time](nil)
		start := time.Now()
		var readings atomic.Int32
		var running sync.WaitGroup
		running.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			_, _ = r.await(ctx, 0, nil, clock(time.Hour))
		})
		synctest.Wait()
		for i := range 30 {
			running.Go(func() {
				pause := time.Duration(2+2*(i%3)) * time.Second // 2 s is due at the end of the first, and 4 s during the second
				round, err := r.await(t.Context(), pause, nil, func(ctx context.Context) (time.Time, error) {
					readings.Add(1)
					return clock(2 * time.Second)(ctx)
				})
				if err != nil || round.value.Sub(start) != 3*time.Second {
					t.Errorf("it is %+v, %v", round, err)
				}
			})
		}
		running.Wait()
		if n := readings.Load(); n != 1 {
			t.Errorf("%d readings, want 1", n)
		}
	})
}
