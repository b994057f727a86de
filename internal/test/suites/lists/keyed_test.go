package lists_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// keyedList is a server of the two lists that continue with a key. Its entries
// have numbers, one per second; the highest is the newest.
type keyedList struct {
	entries int
	size    int // of a page

	ignores bool // whether it ignores every key, as the real server ignores invalid ones
	grows   int  // number of new entries before each request; lines come after the End of the first request
	late    int  // the same, for lines before that End
	gaps    bool // whether there are pages without entries
	rekeyed bool // whether the key of every page is new
	audit   bool // whether only the audit log is read
	queries []url.Values

	hidden int // number of lines after the End
}

const keyedEpoch = 1_790_000_000

func (l *keyedList) RoundTrip(req *http.Request) (*http.Response, error) {
	query := req.URL.Query()
	l.queries = append(l.queries, query)
	logs := strings.HasSuffix(req.URL.Path, "/logs")
	end := l.entries // index after the last entry of the page
	if logs {
		end -= l.hidden
	}
	if key := query.Get("pagination_key"); key != "" && !l.ignores {
		end, _ = strconv.Atoi(strings.TrimPrefix(key, "k/"))
	}
	l.entries += l.grows + l.late
	l.hidden += l.grows
	size, key := l.size, "k/%d"
	if l.gaps && len(l.queries)%2 == 0 {
		size, key = 0, "k/0%d" // a key in another form
	}
	if l.rekeyed {
		key += fmt.Sprintf("?%d", len(l.queries))
	}
	begin := max(0, end-size)
	var entries []string
	for i := begin; i < end; i++ {
		at := time.Unix(keyedEpoch+int64(i), 0).UTC().Format(time.RFC3339)
		if logs {
			entries = append(entries, fmt.Sprintf(`{"timestamp":%q,"message":"%d"}`, at, i))
		} else {
			entries = append(entries, fmt.Sprintf(`{"at":%q,"action":"%d"}`, at, i))
		}
	}
	field := "logs"
	if !logs {
		field = "items"
		slices.Reverse(entries)
	}
	more := ""
	if begin > 0 {
		more = fmt.Sprintf(`,"pagination_key":"`+key+`"`, begin)
	}
	return stub.Respond(200, fmt.Sprintf(`{%q:[%s]%s}`, field, strings.Join(entries, ","), more)), nil
}

// walkKeyed reads both lists and returns the numbers of their entries, which
// must be the same in both.
func walkKeyed(t *testing.T, list keyedList, opts ...cloudapi.Option) (numbers []int, err error) {
	t.Helper()
	number := func(text string) {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, n)
	}
	synctest.Test(t, func(t *testing.T) {
		logs, audits := list, list
		if !list.audit {
			for entry, e := range sdktest.Client(t, &logs, opts...).Postgres.AllLogs(t.Context(), "eu-central-h1", "orders-db",
				&cloudapi.PostgresLogsOptions{SeverityLevel: "ERROR"}) {
				if err = e; err == nil {
					number(entry.Message)
				}
			}
		}
		fromLogs, logsErr := numbers, err
		numbers, err = nil, nil
		for entry, e := range sdktest.Client(t, &audits, opts...).AuditLog.All(t.Context(), &cloudapi.AuditLogOptions{Action: "vm"}) {
			if err = e; err == nil {
				number(entry.Action)
			}
		}
		if !list.audit && !slices.Equal(fromLogs, numbers) || !list.audit && errors.Is(logsErr, cloudapi.ErrPaginationStalled) != errors.Is(err, cloudapi.ErrPaginationStalled) {
			t.Errorf("the logs are %v, %v; the audit log is %v, %v", fromLogs, logsErr, numbers, err)
		}
		for _, query := range logs.queries {
			// The bubble's clock begins at the start of 2000.
			start, _ := time.Parse(time.RFC3339, query.Get("start"))
			end, _ := time.Parse(time.RFC3339, query.Get("end"))
			if end.Sub(start) != 30*time.Minute || query.Get("end") != logs.queries[0].Get("end") || query.Get("severity_level") != "ERROR" {
				t.Errorf("the logs were asked for by %v", query)
			}
		}
		for _, query := range audits.queries {
			if query.Get("end") != "2000-01-01" || query.Get("action") != "vm" {
				t.Errorf("the audit log was asked for by %v", query)
			}
		}
	})
	return numbers, err
}

// newest returns n numbers in descending order, from end-1 on.
func newest(end, n int) (numbers []int) {
	for i := range n {
		numbers = append(numbers, end-1-i)
	}
	return numbers
}

// TestKeyedLists: every entry comes once, the newest first, and each request
// has the same filters and bounds. This also holds for pages without entries,
// with prefetch, and if entries are added during the range.
func TestKeyedLists(t *testing.T) {
	t.Parallel()
	for name, list := range map[string]keyedList{
		"nothing":     {},
		"one page":    {entries: 3, size: 10},
		"a full page": {entries: 10, size: 10},
		"several":     {entries: 25, size: 10},
		"empty pages": {entries: 25, size: 10, gaps: true},
		"which grows": {entries: 25, size: 10, grows: 3},
		"one by one":  {entries: 7, size: 1},
	} {
		for _, ahead := range []int{0, 3} {
			t.Run(fmt.Sprintf("%s, %d ahead", name, ahead), func(t *testing.T) {
				t.Parallel()
				numbers, err := walkKeyed(t, list, cloudapi.WithPrefetch(ahead))
				if err != nil || !slices.Equal(numbers, newest(list.entries, list.entries)) {
					t.Errorf("%d entries: %v, %v", list.entries, numbers, err)
				}
			})
		}
	}
}

// TestKeyedListsThatRestart: the second page shows that a server ignores the
// key and starts again. In the audit log, whose entries are in order, that is
// noticed even if the page has new entries or another key. The entries of that
// page aren't yielded.
func TestKeyedListsThatRestart(t *testing.T) {
	t.Parallel()
	for name, list := range map[string]keyedList{
		"the same page":                  {},
		"the same page with another key": {rekeyed: true},
		"one new entry":                  {grows: 1},
		"one old entry":                  {grows: 9},
		"no old entry":                   {grows: 10},
		"a gap":                          {grows: 30},
		"one late line":                  {late: 1},
		"eight late lines":               {late: 8},
	} {
		list.entries, list.size, list.ignores, list.audit = 25, 10, true, name != "the same page"
		numbers, err := walkKeyed(t, list)
		if !errors.Is(err, cloudapi.ErrPaginationStalled) || !slices.Equal(numbers, newest(25, 10)) {
			t.Errorf("%s: the list is %v, %v", name, numbers, err)
		}
	}
}

// walkLines reads a log in pages of the given size. The lines are JSON, the
// last received first.
func walkLines(t *testing.T, lines []string, size int) []*cloudapi.PostgresLogEntry {
	t.Helper()
	network := stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
		begin, _ := strconv.Atoi(req.URL.Query().Get("pagination_key"))
		end := min(begin+size, len(lines))
		page := slices.Clone(lines[begin:end])
		slices.Reverse(page)
		more := ""
		if end < len(lines) {
			more = fmt.Sprintf(`,"pagination_key":"%d"`, end)
		}
		return stub.Respond(200, `{"logs":[`+strings.Join(page, ",")+`]`+more+`}`), nil
	})
	entries, err := cloudapi.Collect(sdktest.Client(t, network).Postgres.AllLogs(t.Context(), "eu-central-h1", "orders-db", nil))
	if err != nil {
		t.Errorf("pages of %d lines: %v", size, err)
	}
	return entries
}

// TestLogsOutOfOrder: lines come in the order in which the service received
// them, even if the timestamp of a line is newer than the previous one's.
func TestLogsOutOfOrder(t *testing.T) {
	t.Parallel()
	seconds := []int{3, 1, 2, 2, 0, 9, 1, 8} // in their order, the last received first
	var lines []string
	for i, second := range seconds {
		lines = append(lines, fmt.Sprintf(`{"timestamp":"2026-11-22T03:19:%02d.5Z","message":"%d"}`, second, i))
	}
	for size := 1; size <= len(lines); size++ {
		var found []int
		for _, entry := range walkLines(t, lines, size) {
			found = append(found, entry.Timestamp.Second())
		}
		if !slices.Equal(found, seconds) {
			t.Errorf("pages of %d lines have the seconds %v", size, found)
		}
	}
}

// TestEqualLogLines: all lines are yielded, although they have no ID and
// several are equal, also at the ends of pages.
func TestEqualLogLines(t *testing.T) {
	t.Parallel()
	for _, messages := range []string{"aaaaabacc", "ab", "aa", "aba", "abca", "abcdea", "abcab", "abcdeabf"} { // each letter is a line, the last received first
		var lines []string
		for _, message := range messages {
			lines = append(lines, fmt.Sprintf(`{"timestamp":"2026-11-22T03:19:00.5Z","message":"%c"}`, message))
		}
		for size := 1; size <= len(lines); size++ {
			found := ""
			for _, entry := range walkLines(t, lines, size) {
				found += entry.Message
			}
			if found != messages {
				t.Errorf("%s in pages of %d lines: %s", messages, size, found)
			}
		}
	}
}

// TestKeyedListsTwice: each range over a sequence has its own time range, which
// is fixed when it begins.
func TestKeyedListsTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		list := keyedList{entries: 2, size: 1}
		all := sdktest.Client(t, &list).Postgres.AllLogs(t.Context(), "eu-central-h1", "orders-db", nil)
		for range 2 {
			if entries, err := cloudapi.Collect(all); err != nil || len(entries) != 2 {
				t.Errorf("%d entries, %v", len(entries), err)
			}
			stub.Elapse(time.Hour)
		}
		var ends []string
		for _, query := range list.queries {
			ends = append(ends, query.Get("end"))
		}
		if want := []string{"2000-01-01T00:00:00Z", "2000-01-01T00:00:00Z", "2000-01-01T01:00:00Z", "2000-01-01T01:00:00Z"}; !slices.Equal(ends, want) {
			t.Errorf("the ends are %v", ends)
		}
	})
}
