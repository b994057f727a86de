package families

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

func auditLogOperations() []api.Operation {
	return api.AllOnly(version.Service,
		api.GET("AuditLog.List", api.ProjectRoute+"/audit-log", listAuditLog).Needs("Project:auditlog").Guarded().Takes(append(
			schema.Texts("action", "end"),
			schema.Optional("limit", schema.Number),
			schema.Optional("object", schema.Text),
			schema.Optional("pagination_key", schema.Text),
			schema.Optional("subject", schema.Text))...),
	)
}

type auditLogRecord struct {
	At          string   `json:"at"`
	Action      string   `json:"action"`
	SubjectID   string   `json:"subject_id"`
	SubjectName string   `json:"subject_name"`
	ObjectIDs   []string `json:"object_ids"`
}

type auditLogPage struct {
	PaginationKey string           `json:"pagination_key,omitempty"`
	Items         []auditLogRecord `json:"items"`
}

func recordLogEntry(e api.LogEntry) auditLogRecord {
	return auditLogRecord{e.At.UTC().Format(time.RFC3339), action(e), e.Account.ID, e.Account.Name, append([]string{}, e.Objects...)}
}

func action(e api.LogEntry) string { return string(e.Kind) + "/" + e.Verb }

// listAuditLog returns no entries for an invalid filter, but ignores an invalid
// pagination key.
func listAuditLog(c *api.Call) (any, error) {
	const most = 1000
	limit := most
	text, _ := api.Last(c.Query, "limit")
	if n, _ := strconv.Atoi(text); n > 0 {
		limit = min(n, most)
	}
	page := auditLogPage{Items: []auditLogRecord{}}
	lets := auditLogFilter(c)
	for _, e := range slices.Backward(c.Project.Entries()) {
		switch {
		case !lets(e):
		case len(page.Items) == limit:
			page.PaginationKey = fmt.Sprintf("%d.%06d/%s", e.At.Unix(), e.At.Nanosecond()/1000, e.ID)
			return page, nil
		default:
			page.Items = append(page.Items, recordLogEntry(e))
		}
	}
	return page, nil
}

func auditLogFilter(c *api.Call) func(api.LogEntry) bool {
	asked := func(name string) string {
		text, _ := api.Last(c.Query, name)
		return strings.TrimSpace(text)
	}
	from, until, ok := auditLogRange(c.Now, asked("end"))
	at, id, goesOn := parseKey(asked("pagination_key"))
	if goesOn {
		until = at
	}
	return func(e api.LogEntry) bool {
		return ok && !e.At.Before(from) && !e.At.After(until) &&
			!(goesOn && e.At.Equal(at) && e.ID.UUID() < id.UUID()) &&
			hasAction(e, asked("action")) && isBy(e, asked("subject")) && isAbout(e, asked("object"))
	}
}

// auditLogRange returns the three months that end with a day, by default today.
// It reports false if the day is invalid, or more than three months from
// today.
func auditLogRange(now time.Time, day string) (from, until time.Time, ok bool) {
	const months = 3
	today := midnight(now)
	end := today
	if day != "" {
		if end, ok = parseDate(day); !ok {
			return from, until, false
		}
		end = midnight(end)
	}
	from, until = addMonths(end, -months).AddDate(0, 0, 1), end.AddDate(0, 0, 1).Add(-1)
	return from, until, !end.Before(addMonths(today, -months)) && !end.After(addMonths(today, months))
}

// parseKey returns the time and the ID of the entry with which the key's page
// begins.
func parseKey(key string) (at time.Time, id cloudapi.ID, ok bool) {
	moment, text, _ := strings.Cut(key, "/")
	seconds, fraction, _ := strings.Cut(moment, ".")
	s, errS := strconv.ParseInt(seconds, 10, 64)
	us, errUS := strconv.ParseInt(fraction, 10, 64)
	id, err := cloudapi.ParseID(text)
	return time.Unix(s, us*1000), id, errors.Join(errS, errUS, err) == nil
}

// hasAction reports whether an entry has the action in the query: a kind and a
// verb, such as "vm/create", or only one of them.
func hasAction(e api.LogEntry, asked string) bool {
	kind, verb, both := strings.Cut(asked, "/")
	switch {
	case asked == "":
		return true
	case both && verb != "":
		return action(e) == asked
	}
	return kind == string(e.Kind) || kind == e.Verb
}

func isBy(e api.LogEntry, asked string) bool {
	return asked == "" || slices.Contains([]string{e.Account.ID, e.Account.Name, e.Account.Email}, asked)
}

func isAbout(e api.LogEntry, asked string) bool {
	id, err := cloudapi.ParseID(asked)
	return asked == "" || err == nil && slices.Contains(e.Objects, id.String())
}
