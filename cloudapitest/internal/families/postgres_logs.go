package families

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/ruby"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

func postgresLogOperations() []api.Operation {
	return []api.Operation{
		api.GET("Postgres.Logs", postgresDatabase+"/logs", api.On(findPostgres, (*postgres).showLogs)).Takes(append(schema.Texts("start", "end"),
			schema.Optional("stream_name", schema.OneOf("postgres", "pgbouncer", "upgrade")),
			schema.Optional("severity_level", schema.OneOf("DEBUG", "INFO", "WARN", "ERROR", "FATAL")),
			schema.Optional("server_role", schema.OneOf(primaryRole, standbyRole)),
			schema.Optional("query_pattern", schema.Text),
			schema.Optional("max_log_lines", schema.Integer),
			schema.Optional("pagination_key", schema.Like(logKeyForm)))...).Since(version.August2026),
	}
}

type postgresLogs struct {
	Logs          []postgresLogLine `json:"logs"`
	PaginationKey string            `json:"pagination_key,omitempty"`
}

type postgresLogLine struct {
	Timestamp string            `json:"timestamp"`
	Stream    string            `json:"stream_name"`
	Severity  string            `json:"severity_level"`
	Message   string            `json:"message"`
	Server    string            `json:"server_ubid"`
	Role      string            `json:"server_role"`
	Context   map[string]string `json:"context,omitempty"`
}

// logFilter selects log lines.
type logFilter struct {
	stream, severity, role string // "" for all
	pattern                string // part of the message
	start, end             time.Time
	before                 logPlace // only lines before this place
	limit                  int
}

// logPlace is a position in the log, as in a pagination key.
type logPlace struct {
	second int64
	server int // index among the servers with a line at that time
}

var logKeyForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// time returns the time of the line. No two servers write at the same time.
func (p logPlace) time() time.Time {
	return time.Unix(p.second, 0).Add(time.Duration(p.server) * 137 * time.Millisecond)
}

// key returns the pagination key, in the form of a UUID.
func (p logPlace) key() string {
	return fmt.Sprintf("%08x-0000-7000-8000-%012x", p.second, p.server)
}

// showLogs returns the newest lines of a range, sorted from old to new, and the
// key of the page before if there are more.
func (p *postgres) showLogs(c *api.Call) (any, error) {
	f := logFilterOf(c)
	if err := f.setRange(c); err != nil {
		return nil, err
	}
	return p.logLines(c.Now, f), nil
}

// logFilterOf returns the filter of the query, without the range.
func logFilterOf(c *api.Call) logFilter {
	const first = 50
	asked := func(name string) string {
		value, _ := api.Last(c.Query, name)
		return value
	}
	f := logFilter{
		stream:   asked("stream_name"),
		severity: asked("severity_level"),
		role:     asked("server_role"),
		pattern:  asked("query_pattern"),
		before:   logPlace{second: 1<<63 - 1},
		limit:    first,
	}
	if n, _ := ruby.Integer(asked("max_log_lines")); n > 0 {
		f.limit = int(n)
	}
	if key := asked("pagination_key"); key != "" {
		second, _ := strconv.ParseInt(key[:8], 16, 64) // the form was checked
		server, _ := strconv.ParseInt(key[24:], 16, 64)
		f.before = logPlace{second, int(server)}
	}
	return f
}

// setRange reads the range from the query, and does the checks that aren't in
// the API description.
func (f *logFilter) setRange(c *api.Call) (err error) {
	const longest, oldest, most, pattern = 24 * time.Hour, 7 * 24 * time.Hour, 500, 200
	if f.start, f.end, err = queryRange(c); err != nil {
		return err
	}
	switch {
	case !f.end.After(f.start):
		return reply.InvalidRequest("End time must be after start time")
	case f.start.Before(c.Now.Add(-oldest)):
		return reply.InvalidRequest("Cannot query logs older than 7 days")
	case f.end.Sub(f.start) > longest:
		return reply.InvalidRequest("Maximum time range for log queries is 24 hours")
	case f.limit > most:
		return reply.InvalidRequest("Maximum limit is 500")
	case len([]rune(f.pattern)) > pattern:
		return reply.InvalidRequest("query_pattern must be less than 200 chars")
	}
	return nil
}

// logInterval is the number of seconds between two lines of a server.
const logInterval = 10

// logLines returns the lines that match a filter. Each server writes one every
// few seconds while the database runs. Lines depend only on the time.
func (p *postgres) logLines(now time.Time, f logFilter) postgresLogs {
	logs := postgresLogs{Logs: []postgresLogLine{}}
	servers := p.servers(now)
	from, to := p.running, f.end
	if p.backup.Before(from) {
		from = p.backup // as if it had run since then
	}
	from = latest(f.start, from)
	if to.After(now) {
		to = now
	}
	var oldest logPlace
	newest := min(to.Unix(), f.before.second)
	for second := newest - newest%logInterval; second >= max(0, from.Unix()); second -= logInterval {
		for i, server := range slices.Backward(servers) {
			place := logPlace{second, i}
			line := newLogLine(place, server)
			shown := second == f.before.second && i >= f.before.server
			if at := place.time(); shown || at.Before(from) || at.After(to) || !f.lets(line) {
				continue
			}
			if len(logs.Logs) == f.limit {
				logs.PaginationKey = oldest.key()
				slices.Reverse(logs.Logs)
				return logs
			}
			oldest = place
			logs.Logs = append(logs.Logs, line)
		}
	}
	slices.Reverse(logs.Logs)
	return logs
}

func (f logFilter) lets(line postgresLogLine) bool {
	return (f.stream == "" || f.stream == line.Stream) &&
		(f.severity == "" || f.severity == line.Severity) &&
		(f.role == "" || f.role == line.Role) &&
		strings.Contains(line.Message, f.pattern)
}

// newLogLine returns the line of a server at a place.
func newLogLine(place logPlace, server postgresServerRecord) postgresLogLine {
	n := place.second / logInterval
	line := postgresLogLine{
		Timestamp: place.time().UTC().Format("2006-01-02T15:04:05.000000000Z"),
		Stream:    "postgres", Server: server.ID, Role: server.Role,
	}
	switch n % 6 {
	case 0:
		line.Severity, line.Message = "INFO", fmt.Sprintf("checkpoint complete: wrote %d buffers", n%100)
	case 1:
		line.Severity, line.Message = "WARN", "checkpoints are occurring too frequently"
	case 2:
		line.Severity, line.Message = "DEBUG", `autovacuum: processing database "postgres"`
	case 3:
		line.Severity, line.Message = "ERROR", fmt.Sprintf(`relation "t%d" does not exist at character 15`, n%100)
		line.Context = map[string]string{
			"remote_host_port": fmt.Sprintf("10.0.0.%d:%d", n%100, 51000+n%100),
			"dbname":           "postgres", "pid": strconv.FormatInt(4000+n%100, 10), "user": postgresUser,
		}
	case 4:
		line.Stream, line.Severity = "pgbouncer", "INFO"
		line.Message = fmt.Sprintf("stats: %d xacts/s, 100%% of pool", n%10)
	default:
		line.Severity, line.Message = "INFO", "connection received"
	}
	return line
}
