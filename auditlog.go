package cloudapi

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
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
	ObjectIDs   []string  `json:"object_ids"`   // first what the action created, changed or deleted, then what it involved, such as the subnet of a firewall; empty for a project
}

func (e *AuditLogEntry) lacks() string {
	return cmp.Or(missing("at", e.At.IsZero()), missing("action", e.Action == ""))
}

// hash identifies an entry. It leaves out the name of the account, which can
// change before the entry is read again.
func (e *AuditLogEntry) hash() string {
	return hashOf(fmt.Appendf(nil, "%d %q %q %q", e.At.Unix(), e.Action, e.SubjectID, e.ObjectIDs))
}

// AuditLogOptions select entries, which must match all options that are set.
type AuditLogOptions struct {
	Action  string `url:"action,omitempty"`  // such as "vm/create", or only "vm" or "create"
	Subject string `url:"subject,omitempty"` // the ID of an account, or the name or e-mail address of a member
	Object  string `url:"object,omitempty"`  // the ID of an object

	// Start leaves out the entries before a time, up to 174 days ago. The default,
	// and the limit for List, is the beginning of the three months up to End.
	Start time.Time `url:"-"`

	// End is the last day, in UTC, of the three months to list; default today. It
	// can be up to three months ago. If it's older, the server lists nothing.
	End time.Time `url:"end,omitempty" layout:"2006-01-02"`

	PageSize      int    `url:"limit,omitempty"`          // default and maximum 1000
	PaginationKey string `url:"pagination_key,omitempty"` // Page.Next of a page with the same options
}

// A response covers three months of whole days, which are at least 89, and the
// End can be three months ago. Another day can begin before a request arrives.
const (
	auditLogSpan = 87 * 24 * time.Hour
	auditLogKept = 88 * 24 * time.Hour
)

var opAuditLogList = Operation{"AuditLog.List", "GET", projectRoute + "/audit-log", idempotent | serviceOnly}

// List returns one page of the project's audit log, the newest entries first.
// It returns [ErrForbidden] if the token may not see the log.
func (s *AuditLogService) List(ctx context.Context, opts *AuditLogOptions) (*Page[AuditLogEntry], error) {
	return s.list(ctx, &opAuditLogList, orZero(opts))
}

func (s *AuditLogService) list(ctx context.Context, op *Operation, o AuditLogOptions) (*Page[AuditLogEntry], error) {
	o.End = o.End.UTC() // the server's days are UTC days
	page, err := listByKey[AuditLogEntry](ctx, s.conn, op, o, o.PageSize)
	if err != nil {
		return nil, err
	}
	start := o.Start.Truncate(time.Second) // as the server truncates the times of entries
	if n := slices.IndexFunc(page.Items, func(e *AuditLogEntry) bool { return e.At.Before(start) }); n >= 0 {
		page.Items, page.Next = page.Items[:n], ""
	}
	return page, nil
}

// pages returns the pages of List without the entries after a time, unless it's
// zero. If passed isn't nil, it's called with the time of each page's oldest
// entry and the key of the next page.
func (s *AuditLogService) pages(op *Operation, o AuditLogOptions, until time.Time, passed func(oldest time.Time, key string)) pageSeq[AuditLogEntry] {
	var oldest time.Time // the time of the oldest entry so far
	pages := pagesFrom(op.Name, o.PaginationKey, func(ctx context.Context, key string) (*Page[AuditLogEntry], error) {
		o.PaginationKey = key
		page, err := s.list(ctx, op, o)
		if err != nil || len(page.Items) == 0 {
			return page, err
		}
		// A server that ignores the key sends the first page again and again.
		isNewer := func(e *AuditLogEntry) bool { return e.At.After(oldest) }
		if !oldest.IsZero() && page.Next != "" && slices.ContainsFunc(page.Items, isNewer) {
			return nil, fmt.Errorf("cloudapi: %s: %w: a page starts the list over", op.Name, ErrPaginationStalled)
		}
		oldest = page.Items[len(page.Items)-1].At
		if passed != nil && page.Next != "" {
			passed(oldest, page.Next)
		}
		return page, nil
	})
	if until.IsZero() {
		return pages
	}
	return func(ctx context.Context) iter.Seq2[*Page[AuditLogEntry], error] {
		return func(yield func(*Page[AuditLogEntry], error) bool) {
			for page, err := range pages(ctx) {
				if err == nil {
					page.Items = slices.DeleteFunc(page.Items, func(e *AuditLogEntry) bool { return e.At.After(until) })
				}
				if !yield(page, err) {
					return
				}
			}
		}
	}
}

// All iterates over the entries of List, or those since the Start. The default
// End is the day on which the iteration begins, by this machine's clock. If the
// Start is more than 174 days ago, All yields [ErrLogsExpired] after the entries
// of this time.
func (s *AuditLogService) All(ctx context.Context, opts *AuditLogOptions) iter.Seq2[*AuditLogEntry, error] {
	o := orZero(opts)
	return func(yield func(*AuditLogEntry, error) bool) {
		items(ctx, s.conn, s.allPages(o, time.Now().UTC()))(yield)
	}
}

// allPages returns the pages of All, which begins now. With a Start, it lists
// one span after another.
func (s *AuditLogService) allPages(o AuditLogOptions, now time.Time) pageSeq[AuditLogEntry] {
	if o.End.IsZero() {
		o.End = now
	}
	if o.Start.IsZero() {
		return s.pages(&opAuditLogList, o, time.Time{}, nil)
	}
	return func(ctx context.Context) iter.Seq2[*Page[AuditLogEntry], error] {
		return func(yield func(*Page[AuditLogEntry], error) bool) {
			start := later(o.Start, now.Add(-2*auditLogSpan))
			y, m, d := o.End.UTC().Date()
			until := time.Date(y, m, d, 23, 59, 59, 0, time.UTC)
			for span := o; ; span.PaginationKey = "" {
				span.Start = later(start, until.Add(-auditLogSpan))
				span.End = later(until, now.Add(-auditLogSpan))
				for page, err := range s.pages(&opAuditLogList, span, until, nil)(ctx) {
					if !yield(page, err) || err != nil {
						return
					}
				}
				if span.Start.Equal(start) {
					break
				}
				until = span.Start.Add(-time.Second)
			}
			if o.Start.Before(start) {
				yield(nil, fmt.Errorf("cloudapi: %s: %w: those from %s to %s", opAuditLogList.Name, ErrLogsExpired, o.Start.UTC().Format(time.RFC3339), start.Format(time.RFC3339)))
			}
		}
	}
}

// Follow yields the entries of the project's audit log, the oldest first: first
// those since the marker in the options, and then new ones, until the context
// ends. It yields each entry once, also if several are equal. Entries that
// appear late come later than newer ones.
//
// It continues after failures, recognizes entries and limits what it holds in
// memory as [PostgresService.FollowLogs] does, and has the same Checkpoint. It
// reports [ErrLogsExpired] for entries from before the UTC day 88 days ago, which
// All may still list, and continues with later ones. While it catches up, it
// sends about 3 requests for 1,000 entries.
//
// Experimental: see [LogMarker].
func (s *AuditLogService) Follow(ctx context.Context, filter *AuditLogOptions, opts *FollowOptions) iter.Seq2[*AuditLogEntry, error] {
	return s.follow(ctx, filter, opts, maxHeldLogs)
}

func (s *AuditLogService) follow(ctx context.Context, filter *AuditLogOptions, opts *FollowOptions, maxHeld int) iter.Seq2[*AuditLogEntry, error] {
	asked := orZero(filter)
	return func(yield func(*AuditLogEntry, error) bool) {
		f := follower[AuditLogEntry]{
			operation: "AuditLog.Follow", resource: s.conn.config.project, op: opAuditLogList, options: orZero(opts),
			hash: (*AuditLogEntry).hash, textSize: func(e *AuditLogEntry) int { return 32 * len(e.ObjectIDs) },
			oldest:   func(now time.Time) time.Time { return now.Truncate(24 * time.Hour).Add(-auditLogKept) },
			isSilent: true, maxSpan: auditLogSpan, span: auditLogSpan, maxHeld: maxHeld,
		}
		places := map[string]auditLogPlace{}
		f.pages = func(op *Operation, start, end time.Time) pageSeq[AuditLogEntry] {
			o := asked
			if o.Start = start; start.IsZero() {
				o.PageSize = 1
				return s.pages(op, o, end, nil)
			}
			if end.Before(f.now()) { // otherwise the range ends today
				o.End = end
			}
			// A page has up to 1,000 entries, and only the day of the newest one can be
			// chosen. So begin behind pages that have only newer entries.
			maps.DeleteFunc(places, func(_ string, p auditLogPlace) bool { return !p.oldest.After(start) })
			var nearest time.Time
			for key, p := range places {
				if p.oldest.After(end) && (nearest.IsZero() || p.oldest.Before(nearest)) {
					nearest, o.End, o.PaginationKey = p.oldest, p.end, key
				}
			}
			return s.pages(op, o, end, func(oldest time.Time, key string) { places[key] = auditLogPlace{o.End, oldest} })
		}
		err := notToFollow(f.operation, !asked.Start.IsZero() || !asked.End.IsZero(), asked.PageSize, asked.PaginationKey)
		if err == nil {
			err = f.run(ctx, yield)
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// auditLogPlace is the place of a pagination key: all entries that are older
// than the oldest one of the page before.
type auditLogPlace struct {
	end    time.Time // in the request for that page
	oldest time.Time
}
