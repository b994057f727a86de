package cloudapi

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"
)

// AuditLogService reads a project's audit log. † Only the service has these.
type AuditLogService service

// AuditLogEntry is one action.
type AuditLogEntry struct {
	At          time.Time `json:"at"`           // precise to the second
	Action      string    `json:"action"`       // an ID prefix and a verb, such as "vm/create" or "pg/destroy"
	SubjectID   string    `json:"subject_id"`   // the account that did it
	SubjectName string    `json:"subject_name"` // "" if the account is no longer a member of the project
	ObjectIDs   []string  `json:"object_ids"`   // what the action changed or involved, such as a firewall and its subnet
}

func (e *AuditLogEntry) lacks() string { return missing("action", e.Action == "") }

// AuditLogOptions select entries, which must match all options that are set. The
// server keeps entries for three months.
type AuditLogOptions struct {
	Action        string    `url:"action,omitempty"`                  // such as "vm/create", or only "vm" or "create"
	Subject       string    `url:"subject,omitempty"`                 // the ID of an account, or the name or e-mail address of a member
	Object        string    `url:"object,omitempty"`                  // the ID of an object
	End           time.Time `url:"end,omitempty" layout:"2006-01-02"` // the last day, in UTC, of the three months to list; default today
	PageSize      int       `url:"limit,omitempty"`                   // default and maximum 1000
	PaginationKey string    `url:"pagination_key,omitempty"`          // Page.Next of a page with the same options
}

// inUTC returns the options with End in UTC: the server's days are UTC days.
func (o *AuditLogOptions) inUTC() AuditLogOptions {
	options := orZero(o)
	options.End = options.End.UTC()
	return options
}

var opAuditLogList = Operation{"AuditLog.List", "GET", projectRoute + "/audit-log", idempotent | serviceOnly}

// List returns one page of the project's audit log, the newest entries first.
// It returns [ErrForbidden] if the token may not see the log.
func (s *AuditLogService) List(ctx context.Context, opts *AuditLogOptions) (*Page[AuditLogEntry], error) {
	o := opts.inUTC()
	return listByKey[AuditLogEntry](ctx, s.conn, &opAuditLogList, o, o.PageSize)
}

// All iterates over the entries of List. The default End is the day on which
// the iteration begins, by this machine's clock.
func (s *AuditLogService) All(ctx context.Context, opts *AuditLogOptions) iter.Seq2[*AuditLogEntry, error] {
	start := opts.inUTC()
	return func(yield func(*AuditLogEntry, error) bool) {
		o := start
		if o.End.IsZero() {
			o.End = time.Now().UTC()
		}
		var oldest time.Time // the time of the oldest entry so far
		pages := follow(opAuditLogList.Name, o.PaginationKey, func(ctx context.Context, key string) (*Page[AuditLogEntry], error) {
			o.PaginationKey = key
			page, err := s.List(ctx, &o)
			if err != nil || len(page.Items) == 0 {
				return page, err
			}
			// A server that ignores the key sends the first page again and again.
			isNewer := func(e *AuditLogEntry) bool { return e.At.After(oldest) }
			if !oldest.IsZero() && page.Next != "" && slices.ContainsFunc(page.Items, isNewer) {
				return nil, fmt.Errorf("cloudapi: %s: %w: a page starts the list over", opAuditLogList.Name, ErrPaginationStalled)
			}
			oldest = page.Items[len(page.Items)-1].At
			return page, nil
		})
		items(ctx, s.conn, pages)(yield)
	}
}
