package cloudapi

import (
	"context"
	"iter"
	"time"
)

// AuditLogService reads what was done in a project, by whom and to what.
type AuditLogService service

// AuditLogEntry is one action.
type AuditLogEntry struct {
	At time.Time `json:"at"` // to the second

	// Action is the prefix of the IDs of what it was done to, and a verb, such as
	// "vm/create" or "pg/restore". Verbs are those of the operations in snake
	// case, with "destroy" for a deletion, and those of the web console.
	Action string `json:"action"`

	SubjectID   string `json:"subject_id"`   // of the account that did it
	SubjectName string `json:"subject_name"` // "" if it is not a member of the project any more

	// ObjectIDs are the IDs of what it was done to, and of what took part: a
	// firewall and the subnet that it was attached to for example.
	ObjectIDs []string `json:"object_ids"`
}

func (e *AuditLogEntry) missing() string { return missingField("action", e.Action) }

// AuditLogOptions select what [AuditLogService.List] and [AuditLogService.All]
// return. What is set must apply all at once. A value that nothing in the project
// has, or that cannot be one, gives an empty list and no error.
type AuditLogOptions struct {
	// Action is that of an entry as a whole, its kind such as "vm", or its verb
	// such as "create".
	Action string `url:"action,omitempty"`

	// Subject is the ID of an account, or the name or e-mail address of a member.
	Subject string `url:"subject,omitempty"`

	Object string `url:"object,omitempty"` // the ID of what it was done to

	// End is the last day, in UTC: entries are of the three months that end with
	// it. The default is today. Days more than three months ago have none.
	End time.Time `url:"end,omitempty" layout:"2006-01-02"`

	// Limit is the number of entries in a page, 1000 by default and at most.
	Limit int `url:"limit,omitempty"`

	// PaginationKey is [Page.NextStartAfter] of the page before, which came with
	// the same options.
	PaginationKey string `url:"pagination_key,omitempty"`
}

// inUTC returns the options with the day as the server counts days.
func (o *AuditLogOptions) inUTC() AuditLogOptions {
	if o == nil {
		return AuditLogOptions{}
	}
	options := *o
	options.End = options.End.UTC()
	return options
}

var opAuditLogList = Operation{"AuditLog.List", "GET", projectRoute + "/audit-log", safe}

// List returns one page of the project's audit log, the newest entries first.
// [Page.NextStartAfter] is the PaginationKey for the next one, or "" if there is
// none. It needs a permission of its own, and is [ErrForbidden] without it.
//
// It is an operation of August 2026; a server of October 2025 answers
// [ErrNotFound].
//
//cloudapi:operation GET /project/{project_id}/audit-log
func (s *AuditLogService) List(ctx context.Context, opts *AuditLogOptions) (*Page[AuditLogEntry], error) {
	return listByKey[AuditLogEntry](ctx, s.client, &opAuditLogList, opts.inUTC())
}

// All returns the project's audit log, the newest entries first, page by page;
// see [AuditLogService.List]. The day that the options leave open is today when
// it begins, by the clock of this machine. A server that does not go on behind a
// page is [ErrPaginationStalled].
//
// It is an operation of August 2026; a server of October 2025 answers
// [ErrNotFound].
//
//cloudapi:operation GET /project/{project_id}/audit-log
func (s *AuditLogService) All(ctx context.Context, opts *AuditLogOptions) iter.Seq2[*AuditLogEntry, error] {
	start := opts.inUTC()
	at := func(e *AuditLogEntry) time.Time { return e.At }
	return newestFirst(ctx, s.client, &opAuditLogList, at, func(now time.Time) (string, func(context.Context, string) (*Page[AuditLogEntry], error)) {
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
