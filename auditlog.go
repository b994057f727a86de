package cloudapi

import (
	"context"
	"iter"
	"slices"
	"time"
)

// AuditLogService reads the log of all actions in a project.
type AuditLogService service

// AuditLogEntry is one action.
type AuditLogEntry struct {
	At time.Time `json:"at"` // to the second

	// Action is the ID prefix of a kind of object, and a verb, such as "vm/create"
	// or "pg/restore". Verbs are the names of operations in snake case, "destroy"
	// for a deletion, and verbs of the web console.
	Action string `json:"action"`

	SubjectID   string `json:"subject_id"`   // the account that did it
	SubjectName string `json:"subject_name"` // "" if the account is no longer a member of the project

	// ObjectIDs are the IDs of the objects that the action changed or involved,
	// such as a firewall and the subnet it was attached to.
	ObjectIDs []string `json:"object_ids"`
}

func (e *AuditLogEntry) lacks() string { return lacksField("action", e.Action) }

// AuditLogOptions select what [AuditLogService.List] and [AuditLogService.All]
// return. An entry must match all options that are set. A value that matches
// nothing, even an invalid one, leads to an empty list and no error.
type AuditLogOptions struct {
	// Action is a full action, a kind such as "vm", or a verb such as "create".
	Action string `url:"action,omitempty"`

	// Subject is the ID of an account, or the name or e-mail address of a member.
	Subject string `url:"subject,omitempty"`

	Object string `url:"object,omitempty"` // the ID of an object

	// End is the last day, in UTC. The list covers the three months up to End. The
	// default is today. The server keeps entries for three months.
	End time.Time `url:"end,omitempty" layout:"2006-01-02"`

	// PageSize is the number of entries in a page. The default and the maximum are
	// 1000.
	PageSize int `url:"limit,omitempty"`

	// PaginationKey is [Page.NextStartAfter] of the previous page. Use it with the
	// same options as for that page.
	PaginationKey string `url:"pagination_key,omitempty"`
}

// inUTC returns the options with End in UTC, in which the server counts days.
func (o *AuditLogOptions) inUTC() AuditLogOptions {
	options := orZero(o)
	options.End = options.End.UTC()
	return options
}

var opAuditLogList = Operation{"AuditLog.List", "GET", projectRoute + "/audit-log", idempotent | august2026}

// List returns one page of the project's audit log, the newest entries first.
// [Page.NextStartAfter] is the PaginationKey of the next page, or "" on the
// last page. It returns [ErrForbidden] if the token has no permission to see
// the log.
//
// Requires the August 2026 API.
func (s *AuditLogService) List(ctx context.Context, opts *AuditLogOptions) (*Page[AuditLogEntry], error) {
	o := opts.inUTC()
	return listByKey[AuditLogEntry](ctx, s.conn, &opAuditLogList, o, o.PageSize)
}

// All returns an iterator over the project's audit log, the newest entries
// first; see [AuditLogService.List]. The default End is the day on which the
// iteration begins, by the clock of this machine. It yields
// [ErrPaginationStalled] if the server repeats entries in place of the next
// page.
//
// Requires the August 2026 API.
func (s *AuditLogService) All(ctx context.Context, opts *AuditLogOptions) iter.Seq2[*AuditLogEntry, error] {
	start := opts.inUTC()
	hasNewer := func(page, previous []*AuditLogEntry) bool {
		last := previous[len(previous)-1]
		return slices.ContainsFunc(page, func(e *AuditLogEntry) bool { return e.At.After(last.At) })
	}
	return newestFirst(ctx, s.conn, &opAuditLogList, hasNewer, func(now time.Time) (string, func(context.Context, string) (*Page[AuditLogEntry], error)) {
		o := start
		if o.End.IsZero() {
			o.End = now
		}
		return o.PaginationKey, func(ctx context.Context, key string) (*Page[AuditLogEntry], error) {
			asked := o
			asked.PaginationKey = key
			return s.List(ctx, &asked)
		}
	})
}
