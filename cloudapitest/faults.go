package cloudapitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
)

// Match selects the requests that a script of faults applies to. A request must
// meet all conditions that are set. The zero value matches every request.
type Match struct {
	// Operation is the name of an operation in the SDK, such as "Projects.Get",
	// or its method and route template, such as "GET /project/{project_id}".
	// The server's API must have it; see [WithAPI]. Listing the resources
	// of one location is an operation of its own, such as "VMs.ListInLocation".
	// The All and Wait… methods aren't operations, but use operations.
	Operation string
	// Method is an HTTP method, and Route a route template.
	Method, Route string
	// Path is the escaped path of the request.
	Path string
	// Nth is the number, counted from the call to [Server.Fail], of the matching
	// request that gets the script's first fault. Both 0 and 1 mean the first.
	Nth int
	// Func, if not nil, is called last, and reports whether the request matches.
	// It must not call methods of the server.
	Func func(Request) bool
}

func (m Match) fits(r Request) bool {
	return (m.Operation == "" || m.Operation == r.Name || m.Operation == r.Operation) &&
		(m.Method == "" || m.Method == r.Method) &&
		(m.Route == "" || m.Route == r.Route) &&
		(m.Path == "" || m.Path == r.Path) &&
		(m.Func == nil || m.Func(r))
}

// Fault is a fault for one request. [Reply], [DropBefore], [DropAfter],
// [Truncate], [Delay], [BeforeCount] and [Handle] return faults.
type Fault struct {
	kind      faultKind
	delay     time.Duration
	reply     reply.Reply      // the response, for replyInstead
	limit     int              // number of bytes, for truncate
	handler   http.HandlerFunc // for custom
	between   func()           // for beforeCount
	lasts     time.Duration    // the duration given to For, or negative if it was invalid; 0 if For was not called
	repeating bool
	optional  bool
}

type faultKind int

const (
	noFault faultKind = iota
	replyInstead
	dropBefore
	dropAfter
	truncate
	beforeCount
	custom
)

// Reply responds with the status, header and body, and doesn't execute the
// request. The status is at least 200; use [Handle] to send an informational
// response first. The header may be nil. The content type is JSON if the header
// has no Content-Type and the body is JSON.
func Reply(status int, header http.Header, body string) Fault {
	header = header.Clone()
	if _, declared := header["Content-Type"]; !declared && json.Valid([]byte(body)) {
		if header == nil {
			header = http.Header{}
		}
		header["Content-Type"] = []string{"application/json"}
	}
	return Fault{kind: replyInstead, reply: reply.Reply{Status: status, Header: header, Body: []byte(body)}}
}

// DropBefore closes the connection without executing the request.
func DropBefore() Fault { return Fault{kind: dropBefore} }

// DropAfter executes the request and closes the connection without a response.
func DropAfter() Fault { return Fault{kind: dropAfter} }

// Truncate executes the request, and closes the connection after the first n
// bytes of the response body. The test fails if the body isn't longer than n
// bytes, unless the fault comes from [Fault.Optional], [Fault.Repeating] or
// [Fault.For].
func Truncate(n int) Fault { return Fault{kind: truncate, limit: n} }

// Delay waits for d, and then executes the request.
func Delay(d time.Duration) Fault { return Fault{delay: d} }

// BeforeCount executes a request for a page of a list in two steps, as the real
// server does: it reads the items of the page, calls f, and then counts all
// items. f may send requests to the server, which change the count but not the
// page. The test fails if the response isn't such a page, unless the fault
// comes from [Fault.Optional], [Fault.Repeating] or [Fault.For].
func BeforeCount(f func()) Fault { return Fault{kind: beforeCount, between: f} }

// Handle calls f to respond to the request, and doesn't execute it. A panic in
// f, other than [http.ErrAbortHandler], fails the test.
func Handle(f func(http.ResponseWriter, *http.Request)) Fault {
	return Fault{kind: custom, handler: f}
}

// After returns the fault, delayed by d.
func (f Fault) After(d time.Duration) Fault {
	f.delay = d
	return f
}

// canMiss reports whether the test passes even if the fault has no effect.
func (f Fault) canMiss() bool { return f.optional || f.repeating || f.lasts > 0 }

// Optional returns a fault that doesn't fail the test if no request meets it,
// or if it has no effect.
func (f Fault) Optional() Fault {
	f.optional = true
	return f
}

// Repeating returns a fault that applies to all further matching requests, if
// any. It must be the last fault of a script.
func (f Fault) Repeating() Fault {
	f.repeating = true
	return f
}

// For returns a fault that applies to all further matching requests, if any,
// until d has passed since the first of these requests. After that the next
// fault of the script applies. It simulates an outage. The server's clock
// measures d; see [WithClock].
func (f Fault) For(d time.Duration) Fault {
	if f.lasts = d; d <= 0 {
		f.lasts = -1
	}
	return f
}

// Fail scripts faults for the matching requests: the first fault for the first
// request, the second for the next, and so on. The server executes later
// requests normally. There may be several scripts: a request gets its fault
// from the oldest matching script that has faults left.
//
// The test fails if no request can match, for example because the operation is
// unknown, or if a fault has no effect. It also fails if no request has met a
// fault by the end of the test, unless the fault comes from [Fault.Optional],
// [Fault.Repeating] or [Fault.For], or was cleared.
func (s *Server) Fail(match Match, faults ...Fault) *Script {
	script := &Script{scripts: &s.faults, match: match}
	if problem := s.scriptProblem(match, faults); problem != "" {
		s.complain("cloudapitest: Fail: %s", problem)
		return script
	}
	script.faults = slices.Clone(faults)
	if _, file, line, ok := runtime.Caller(1); ok {
		script.caller = fmt.Sprintf("%s:%d", filepath.Base(file), line)
	}
	s.faults.add(script)
	return script
}

// ClearFaults ends all scripts of faults. Faults that no request has met don't
// fail the test then.
func (s *Server) ClearFaults() { s.faults.clear() }

func (s *Server) scriptProblem(match Match, faults []Fault) string {
	fitsSome := func(m Match) bool {
		return slices.ContainsFunc(s.service.Operations, func(op api.Operation) bool { return m.fits(requestFor(&op)) })
	}
	switch {
	case match.Operation != "" && !fitsSome(Match{Operation: match.Operation}):
		return fmt.Sprintf("%s no operation %q; it is a name like VMs.Get or VMs.ListInLocation, or a method and a route template",
			s.config.thereIs(), match.Operation)
	case match.Route != "" && !fitsSome(Match{Route: match.Route}):
		return fmt.Sprintf("%s no route template %q", s.config.thereIs(), match.Route)
	case match.Method != strings.ToUpper(match.Method):
		return fmt.Sprintf("there is no method %q", match.Method)
	case match.Operation+match.Route != "" && !fitsSome(Match{Operation: match.Operation, Method: match.Method, Route: match.Route}):
		return "no operation has this name, method and route together"
	case match.Path != "" && match.Path[0] != '/' || strings.Contains(match.Path, "?"):
		return fmt.Sprintf("%q is not a path: it begins with a slash, and has no query", match.Path)
	case match.Nth < 0:
		return "Nth is negative"
	case len(faults) == 0:
		return "there are no faults"
	}
	for i, fault := range faults {
		switch {
		case fault.repeating && i < len(faults)-1:
			return "a fault follows a repeating one, so no request can meet it"
		case fault.lasts < 0:
			return "a fault lasts for no time"
		case fault.repeating && fault.lasts > 0:
			return "a fault is both repeating and for a time"
		case fault.kind == noFault && fault.delay <= 0:
			return "a fault does nothing"
		case fault.kind == replyInstead && (fault.reply.Status < 200 || fault.reply.Status > 999):
			return fmt.Sprintf("%d is not the status of a response", fault.reply.Status)
		case fault.kind == truncate && fault.limit < 0:
			return "a response can't be cut to fewer than 0 bytes"
		case fault.kind == custom && fault.handler == nil, fault.kind == beforeCount && fault.between == nil:
			return "a function is nil"
		}
	}
	return ""
}

type faultScripts struct {
	now     func() time.Time
	mu      sync.Mutex
	scripts []*Script
}

// Script is a script of faults, which [Server.Fail] returns.
type Script struct {
	scripts *faultScripts
	caller  string // the caller of Fail: file and line
	match   Match
	seen    int // number of matching requests before the last fault was met
	met     int
	faults  []Fault   // faults that are left
	until   time.Time // when the first fault ends; zero if no request has met it yet, or if it has no end
}

// Met returns the number of requests that have met a fault of the script.
func (s *Script) Met() int {
	s.scripts.mu.Lock()
	defer s.scripts.mu.Unlock()
	return s.met
}

// Left returns the number of faults that are left. A fault of [Fault.Repeating]
// is left until [Server.ClearFaults].
func (s *Script) Left() int {
	s.scripts.mu.Lock()
	defer s.scripts.mu.Unlock()
	s.expire(s.scripts.now())
	return len(s.faults)
}

func (s *Script) expire(now time.Time) {
	if !s.until.IsZero() && !now.Before(s.until) {
		s.faults, s.until = s.faults[1:], time.Time{}
	}
}

func (s *Script) next(r Request) (fault Fault, ok bool) {
	s.expire(r.Time)
	if len(s.faults) == 0 || !s.match.fits(r) {
		return Fault{}, false
	}
	if s.seen++; s.seen < s.match.Nth {
		return Fault{}, false
	}
	s.met++
	fault = s.faults[0]
	switch {
	case fault.lasts > 0 && s.until.IsZero():
		s.until = r.Time.Add(fault.lasts)
	case fault.lasts == 0 && !fault.repeating:
		s.faults = s.faults[1:]
	}
	return fault, true
}

func (f *faultScripts) add(script *Script) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.scripts = append(f.scripts, script)
}

func (f *faultScripts) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, script := range f.scripts {
		script.faults, script.until = nil, time.Time{}
	}
	f.scripts = nil
}

func (f *faultScripts) unmet() (reports []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, script := range f.scripts {
		left := 0
		for _, fault := range script.faults {
			if !fault.canMiss() {
				left++
			}
		}
		if left > 0 {
			reports = append(reports, fmt.Sprintf("no request has met %d of the faults of the script at %s; number of requests that matched it: %d",
				left, script.caller, script.seen))
		}
	}
	return reports
}

func (f *faultScripts) next(r Request) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, script := range f.scripts {
		if fault, ok := script.next(r); ok {
			return fault
		}
	}
	return Fault{}
}
