package families

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

func postgresLogOperations() []api.Operation {
	return []api.Operation{
		api.GET("Postgres.ListLogs", postgresDatabase+"/logs", api.On(findPostgres, (*postgres).showLogs)).Takes(append(schema.Texts("start", "end"),
			schema.Optional("stream_name", schema.OneOf("postgres", "pgbouncer", "upgrade")),
			schema.Optional("severity_level", schema.OneOf("DEBUG", "INFO", "WARN", "ERROR", "FATAL")),
			schema.Optional("server_role", schema.OneOf(primaryRole, standbyRole)),
			schema.Optional("query_pattern", schema.Text),
			schema.Optional("max_log_lines", schema.Integer),
			schema.Optional("pagination_key", schema.Like(logKeyForm)))...).Only(version.Service),
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

type logFilter struct {
	stream, severity, role string // "" matches any
	pattern                string // a text that the message must contain
	start, end             time.Time
	before                 logPosition // only lines before this position, unless it's zero
	limit                  int
}

// logPosition is a position in the log, as in a pagination key. Lines are in
// the order in which the service received them.
type logPosition struct {
	received time.Time
	number   int // orders the lines that were received at the same time
}

func (p logPosition) compare(q logPosition) int {
	return cmp.Or(p.received.Compare(q.received), cmp.Compare(p.number, q.number))
}

var logKeyForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

func (p logPosition) key() string {
	ns := p.received.Nanosecond()
	return fmt.Sprintf("%08x-%04x-%04x-7000-%012x", p.received.Unix(), ns>>16, ns&0xffff, p.number)
}

func parseLogKey(key string) logPosition {
	part := func(from, to int) int64 {
		n, _ := strconv.ParseInt(key[from:to], 16, 64) // the schema checks the key's form
		return n
	}
	return logPosition{time.Unix(part(0, 8), part(9, 13)<<16|part(14, 18)), int(part(24, 36))}
}

type loggedLine struct {
	position logPosition
	postgresLogLine
}

// showLogs returns the newest lines of a range of time, sorted from old to new.
// If the range has older lines, it also returns the key of their page.
func (p *postgres) showLogs(c *api.Call) (any, error) {
	f := logFilterOf(c)
	if err := f.setRange(c); err != nil {
		return nil, err
	}
	return p.logLines(c.Now, f), nil
}

// logFilterOf reads the query, except the range of time; see setRange.
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
		limit:    first,
	}
	if n, _ := strconv.Atoi(asked("max_log_lines")); n > 0 {
		f.limit = n
	}
	if key := asked("pagination_key"); key != "" {
		f.before = parseLogKey(key)
	}
	return f
}

// setRange reads the range of time from the query. It also checks the limits
// that the API description doesn't mention, such as a range of at most 24
// hours.
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

const logInterval = 10 // seconds between a server's generated lines

func (p *postgres) logLines(now time.Time, f logFilter) postgresLogs {
	logs := postgresLogs{Logs: []postgresLogLine{}}
	to, isFirst := f.end, f.before.received.IsZero()
	if to.After(now) {
		to = now
	}
	if !isFirst && to.After(f.before.received) {
		to = f.before.received
	}
	var oldest logPosition
	for line := range p.linesReceived(now, f.start, to) {
		if !f.lets(line.postgresLogLine) || !isFirst && line.position.compare(f.before) >= 0 {
			continue
		}
		if len(logs.Logs) == f.limit {
			logs.PaginationKey = oldest.key()
			break
		}
		oldest = line.position
		logs.Logs = append(logs.Logs, line.postgresLogLine)
	}
	slices.Reverse(logs.Logs)
	return logs
}

// linesReceived returns the lines that the service received in a range of time,
// the newest first. Some were added with AddLogLine. The others are generated:
// while the database runs, each server writes a line every 10 seconds.
func (p *postgres) linesReceived(now, from, to time.Time) iter.Seq[loggedLine] {
	runs := p.running
	if p.backup.Before(runs) {
		runs = p.backup // Delays.Backup is negative: the log begins with the backup
	}
	runs = latest(from, runs)
	servers := p.servers(now)
	added := slices.DeleteFunc(slices.Clone(p.lines), func(l loggedLine) bool {
		return l.position.received.Before(from) || l.position.received.After(to)
	})
	return func(yield func(loggedLine) bool) {
		yieldAdded := func(after logPosition) bool {
			for len(added) > 0 && added[len(added)-1].position.compare(after) > 0 {
				newest := added[len(added)-1]
				added = added[:len(added)-1]
				if !yield(newest) {
					return false
				}
			}
			return true
		}
		for second := to.Unix() - to.Unix()%logInterval; second >= max(0, runs.Unix()); second -= logInterval {
			for i, server := range slices.Backward(servers) {
				// No two servers write at the same time.
				position := logPosition{time.Unix(second, 0).Add(time.Duration(i) * 137 * time.Millisecond), i}
				if position.received.Before(runs) || position.received.After(to) {
					continue
				}
				if !yieldAdded(position) || !yield(loggedLine{position, generateLine(position, server)}) {
					return
				}
			}
		}
		yieldAdded(logPosition{})
	}
}

// AddLogLine adds a line to the logs of a database, as if the service received
// it now. Empty fields get the values that most lines have.
func AddLogLine(at *api.Moment, id string, entry cloudapi.PostgresLogEntry) error {
	p, ok := at.State.ByID[id].(*postgres)
	if !ok || at.Config.Version == version.Contract {
		return fmt.Errorf("there is no database %q with logs", id)
	}
	servers := p.servers(at.Now)
	server := servers[max(0, slices.IndexFunc(servers, func(r postgresServerRecord) bool { return r.Role == primaryRole }))]
	if entry.ServerID != "" {
		i := slices.IndexFunc(servers, func(r postgresServerRecord) bool { return r.ID == entry.ServerID })
		if i < 0 {
			return fmt.Errorf("the database has no server %q", entry.ServerID)
		}
		server = servers[i]
	}
	written := cmp.Or(entry.Timestamp, at.Now).UTC()
	if year := written.Year(); year < 1 || year > 9999 {
		return fmt.Errorf("the timestamp is in the year %d, which its form can't express", year)
	}
	line := loggedLine{logPosition{at.Now, len(servers) + len(p.lines)}, postgresLogLine{
		Timestamp: logTimestamp(written),
		Stream:    cmp.Or(entry.StreamName, cloudapi.PostgresLogEntryStreamNamePostgres),
		Severity:  cmp.Or(entry.SeverityLevel, cloudapi.PostgresLogEntrySeverityLevelInfo),
		Message:   entry.Message,
		Server:    server.ID, Role: cmp.Or(entry.ServerRole, server.Role), Context: maps.Clone(entry.Context),
	}}
	for _, is := range []struct {
		what, value string
		among       []string
	}{
		{"stream", line.Stream, []string{cloudapi.PostgresLogEntryStreamNamePostgres, cloudapi.PostgresLogEntryStreamNamePgBouncer, cloudapi.PostgresLogEntryStreamNameUpgrade}},
		{"severity level", line.Severity, []string{cloudapi.PostgresLogEntrySeverityLevelDebug, cloudapi.PostgresLogEntrySeverityLevelInfo, cloudapi.PostgresLogEntrySeverityLevelWarn,
			cloudapi.PostgresLogEntrySeverityLevelError, cloudapi.PostgresLogEntrySeverityLevelFatal, cloudapi.PostgresLogEntrySeverityLevelUnspecified}},
		{"server role", line.Role, []string{primaryRole, standbyRole}},
	} {
		if !slices.Contains(is.among, is.value) {
			return fmt.Errorf("%q is no %s", is.value, is.what)
		}
	}
	if n := len(p.lines); n > 0 {
		line.position.received = latest(line.position.received, p.lines[n-1].position.received)
	}
	p.lines = append(p.lines, line)
	return nil
}

func logTimestamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000000000Z") }

func (f logFilter) lets(line postgresLogLine) bool {
	return (f.stream == "" || f.stream == line.Stream) &&
		(f.severity == "" || f.severity == line.Severity) &&
		(f.role == "" || f.role == line.Role) &&
		strings.Contains(line.Message, f.pattern)
}

// generatedLines are the lines that each server writes, one every logInterval
// seconds. After the last one, it begins again.
var generatedLines = []postgresLogLine{
	{Stream: "postgres", Severity: "INFO", Message: "checkpoint complete: wrote 17 buffers"},
	{Stream: "postgres", Severity: "WARN", Message: "checkpoints are occurring too frequently"},
	{Stream: "postgres", Severity: "DEBUG", Message: `autovacuum: processing database "postgres"`},
	{Stream: "postgres", Severity: "ERROR", Message: `relation "orders" does not exist at character 15`,
		Context: map[string]string{"remote_host_port": "10.0.0.7:51007", "dbname": "postgres", "pid": "4007", "user": superuser}},
	{Stream: "pgbouncer", Severity: "INFO", Message: "stats: 3 xacts/s, 100% of pool"},
	{Stream: "postgres", Severity: "INFO", Message: "connection received"},
}

func generateLine(position logPosition, server postgresServerRecord) postgresLogLine {
	line := generatedLines[position.received.Unix()/logInterval%int64(len(generatedLines))]
	line.Timestamp, line.Server, line.Role = logTimestamp(position.received), server.ID, server.Role
	return line
}
