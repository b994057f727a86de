package logtail

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// start is when each log begins.
var start = time.Unix(1_000_000, 0).UTC()

// log is a log whose lines appear some time after their timestamps.
type log []line

type line struct {
	at   time.Time
	late time.Duration
	text string
}

// tail returns a Tail of the lines that appear before now, and counts its reads.
func (l log) tail(now *time.Time, reads *[]time.Duration) *Tail[line] {
	return &Tail[line]{
		Read: func(_ context.Context, from, to time.Time) (lines []line, err error) {
			*reads = append(*reads, to.Sub(from))
			for _, x := range l {
				if !x.at.Before(from) && !x.at.After(to) && !x.at.Add(x.late).After(*now) {
					lines = append(lines, x)
				}
			}
			return lines, nil
		},
		Key:     func(x line) Key { return KeyOf(x.at, x.text) },
		Place:   Place{From: start},
		Overlap: time.Minute,
		Span:    10 * time.Minute,
		MaxSpan: time.Hour,
		Few:     3,
		Many:    6,
	}
}

// TestTail: every line comes once, with late and equal ones, whether the reader
// continues or begins again from the text of the place after any line.
func TestTail(t *testing.T) {
	t.Parallel()
	var l log
	for i := range 200 {
		at := start.Add(time.Duration(i) * time.Minute)
		l = append(l, line{at, 0, fmt.Sprint(i)})
		switch i % 5 {
		case 1:
			l = append(l, line{at, 0, "twice"}, line{at, 0, "twice"})
		case 3:
			l = append(l, line{at, 50 * time.Second, fmt.Sprint("late ", i)})
		}
	}
	for _, every := range []int{0, 1, 3, 50} { // lines until it begins again
		now := start.Add(100 * time.Minute)
		var reads []time.Duration
		tail := l.tail(&now, &reads)
		got := map[string]int{}
		for count := 0; ; {
			restart := false
			caughtUp, err := tail.Next(t.Context(), now, func(x line, at Place) bool {
				got[x.at.String()+x.text]++
				count++
				restart = every > 0 && count%every == 0
				return !restart
			})
			if err != nil {
				t.Fatal(err)
			}
			if restart {
				place, ok := Parse(tail.Place.String())
				if !ok {
					t.Fatalf("%s is not a place", tail.Place)
				}
				tail = l.tail(&now, &reads)
				tail.Place = place
			}
			if caughtUp && !now.Before(start.Add(201*time.Minute)) {
				break
			} else if caughtUp {
				now = now.Add(37 * time.Second)
			}
		}
		want := map[string]int{}
		for _, x := range l {
			want[x.at.String()+x.text]++
		}
		for text, n := range want {
			if got[text] != n {
				t.Errorf("every %d: %q came %d times, want %d", every, text, got[text], n)
			}
		}
		if len(got) != len(want) {
			t.Errorf("every %d: %d different lines, want %d", every, len(got), len(want))
		}
	}
}

// TestSpans: ranges of few lines grow up to the longest one, and ranges of many
// shrink.
func TestSpans(t *testing.T) {
	t.Parallel()
	l := log{}
	for i := range 100 {
		l = append(l, line{start.Add(3*time.Hour + time.Duration(i)*time.Second), 0, fmt.Sprint(i)})
	}
	now := start.Add(6 * time.Hour)
	var reads []time.Duration
	tail := l.tail(&now, &reads)
	for caughtUp := false; !caughtUp; {
		caughtUp, _ = tail.Next(t.Context(), now, func(line, Place) bool { return true })
	}
	minutes := make([]int, len(reads))
	for i, span := range reads {
		minutes[i] = int(span.Minutes())
	}
	// Each range begins a minute before the end of the previous one.
	if want := []int{10, 20, 40, 60, 60, 30, 60, 60, 28}; !slices.Equal(minutes, want) {
		t.Errorf("ranges of %v minutes, want %v", minutes, want)
	}
}

// TestNextEnds: an error leaves the place where it was. The end of the context
// after a line, or of the reader, leaves it after that line.
func TestNextEnds(t *testing.T) {
	t.Parallel()
	now := start.Add(time.Minute)
	l := log{{start, 0, "a"}, {start, 0, "b"}}
	var reads []time.Duration
	tail := l.tail(&now, &reads)
	read := tail.Read
	broken := errors.New("broken")
	tail.Read = func(context.Context, time.Time, time.Time) ([]line, error) { return nil, broken }
	if _, err := tail.Next(t.Context(), now, nil); err != broken || tail.Place.String() != (Place{From: start}).String() {
		t.Errorf("%v at %v", err, tail.Place)
	}
	tail.Read = read
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := tail.Next(ctx, now, func(line, Place) bool { cancel(); return true }); !errors.Is(err, context.Canceled) || len(tail.Place.Seen) != 1 {
		t.Errorf("%v at %v", err, tail.Place)
	}
	var rest []string
	if caughtUp, err := tail.Next(t.Context(), now, func(x line, _ Place) bool { rest = append(rest, x.text); return true }); err != nil || !caughtUp || !slices.Equal(rest, []string{"b"}) {
		t.Errorf("%q, %v, %v", rest, caughtUp, err)
	}
	tail.Place = Place{From: now.Add(time.Hour)}
	if caughtUp, err := tail.Next(t.Context(), now, nil); !caughtUp || err != nil || len(reads) != 2 {
		t.Errorf("a place in the future: %v, %v after %d reads", caughtUp, err, len(reads))
	}
}

// TestWrongTime: after a range that ends in the future, lines still come, and
// once.
func TestWrongTime(t *testing.T) {
	t.Parallel()
	l := log{{start, 0, "a"}, {start.Add(2 * time.Minute), 0, "b"}}
	now := start.Add(time.Minute)
	var reads []time.Duration
	tail := l.tail(&now, &reads)
	tail.Span = 2 * time.Hour
	var got []string
	for _, at := range []time.Time{now.Add(time.Hour), now, now.Add(time.Minute), now.Add(2 * time.Minute)} {
		if at.After(now) && len(reads) > 0 {
			now = at
		}
		if _, err := tail.Next(t.Context(), at, func(x line, _ Place) bool { got = append(got, x.text); return true }); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("the lines are %q", got)
	}
}

// TestPlace: the text of a place leads back to it. Other text is invalid, and so
// is the text of a place with a character changed, missing or cut off.
func TestPlace(t *testing.T) {
	t.Parallel()
	for _, p := range []Place{{}, {From: start, Until: start.Add(time.Minute)}, {From: start, Until: start, Seen: []Key{{1}, {}, {1}}}} {
		back, ok := Parse(p.String())
		if !ok || back.From != p.From || back.Until != p.Until || !slices.Equal(back.Seen, p.Seen) || back.IsZero() != p.IsZero() {
			t.Errorf("%s becomes %+v, %v", p, back, ok)
		}
	}
	whole := Place{From: start, Until: start.Add(1), Seen: []Key{{1}, {2}}}.String()
	texts := []string{"x", "1", "1....", whole + "\n"}
	for i := range whole {
		texts = append(texts, whole[:i]+"?"+whole[i+1:], whole[:i]+whole[i+1:])
		if i > 0 {
			texts = append(texts, whole[:i])
		}
	}
	for _, text := range texts {
		if p, ok := Parse(text); ok {
			t.Errorf("%q becomes %+v", text, p)
		}
	}
}

// TestKeys: what differs in its time or in a text has another key, and what
// differs in its time zone has not.
func TestKeys(t *testing.T) {
	t.Parallel()
	keys := map[Key]int{}
	for i, key := range []Key{
		KeyOf(start), KeyOf(start.Add(1)), KeyOf(start, ""), KeyOf(start, "ab", "c"), KeyOf(start, "a", "bc"), KeyOf(start, "abc"), KeyOf(start, "c", "ab"),
	} {
		if before, ok := keys[key]; ok {
			t.Errorf("%d has the key of %d", i, before)
		}
		keys[key] = i
	}
	if KeyOf(start, "a") != KeyOf(start.In(time.FixedZone("", 3600)), "a") {
		t.Error("the key depends on the time zone")
	}
}

// TestClock: the clock goes on from the last Date, or from this machine's time.
func TestClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c Clock
		if c.IsSet() {
			t.Error("it is set")
		}
		c.Set(http.Header{"Date": {start.Format(http.TimeFormat)}})
		<-time.After(time.Minute)
		if now := c.Now(); !c.IsSet() || !now.Equal(start.Add(time.Minute)) || now.Location() != time.UTC {
			t.Errorf("it is %v", now)
		}
		c.Set(http.Header{"Date": {"yesterday"}})
		if now := c.Now(); !now.Equal(time.Now()) {
			t.Errorf("without a Date it is %v", now)
		}
	})
}
