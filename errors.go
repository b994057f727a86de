package cloudapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/call"
	"github.com/cloudapi-sdk/cloudapi/internal/envelope"
	"github.com/cloudapi-sdk/cloudapi/internal/exchange"
	"github.com/cloudapi-sdk/cloudapi/internal/pace"
	"github.com/cloudapi-sdk/cloudapi/internal/plain"
)

// The text of each error that a function returns begins with the prefix
// "cloudapi: ", and contains it only once. So the sentinels below, which are
// wrapped, don't have the prefix. [unprefixed] removes the prefix from an error
// that is wrapped.

// Errors of the server, by status. Test for them with [errors.Is]; [errors.As]
// returns the [*Error] with the details.
var (
	ErrInvalidRequest = errors.New("invalid request") // 400 or 422; see Error.FieldErrors
	ErrUnauthorized   = errors.New("unauthorized")    // 401: the token is missing or invalid
	ErrForbidden      = errors.New("forbidden")       // 403: the token doesn't permit this

	// ErrNotFound reports a 404 of the API: the resource, its location or its
	// project doesn't exist or isn't visible. Searches such as [Client.Resolve]
	// return it without an [*Error]. A 404 without the API's envelope, such as a
	// gateway's page, doesn't match: it's an [*Error] with no Type.
	ErrNotFound = errors.New("not found")

	// ErrLocationNotFound reports a location that the project doesn't have. It
	// also matches ErrNotFound. Error.Locations lists those that it has.
	ErrLocationNotFound = errors.New("location not found")

	// ErrMaybeUnsupported reports a 404 of an operation that only the service (†)
	// or only the contract (‡) has: either the resource or the operation doesn't
	// exist. It also matches ErrNotFound, so test for this first. A server that
	// has [PostgresService.Capabilities] has all operations with a †, but those
	// for private link services can be off.
	ErrMaybeUnsupported = errors.New("operation may be unsupported")

	ErrConflict = errors.New("conflict") // 409: other resources depend on the one to be deleted

	// ErrAlreadyExists reports that a name, or another value that must be unique,
	// is taken, perhaps by a resource of another kind: creating a VM can conflict
	// with a default subnet or firewall that another call creates. The server's
	// error, usually a 400, also matches ErrInvalidRequest; a [*DriftError] doesn't.
	ErrAlreadyExists = errors.New("already exists")

	// ErrQuotaExceeded reports that the request exceeds a quota: the vCPUs of a
	// project (for each of VMs, databases and clusters), its versions of machine
	// images, or the projects of an account. It also matches ErrInvalidRequest;
	// see Error.Quota.
	ErrQuotaExceeded = errors.New("quota exceeded")

	ErrBillingRequired = errors.New("billing information required") // the project has none; also matches ErrInvalidRequest
	ErrRateLimited     = errors.New("rate limited")                 // 429; see Error.RetryAfter
	ErrServer          = errors.New("server error")                 // any 5xx
)

// Errors of the SDK itself.
var (
	ErrInvalidArgument = errors.New("invalid argument") // every ArgumentError matches it

	ErrNoProject = errors.New("no project: bind the client to one with WithProject or InProject, or with FromEnv and CLOUDAPI_PROJECT")

	ErrInvalidResponse  = errors.New("invalid response")               // every DecodeError matches it
	ErrResponseTooLarge = exchange.ErrTooLarge                         // larger than WithResponseLimit allows
	ErrLogsExpired      = errors.New("log entries are no longer kept") // see FollowOptions.Progress

	// ErrPaginationStalled reports a list that can't be read to its end: the
	// server doesn't get past a page, or its Count exceeds the items it sends.
	ErrPaginationStalled = errors.New("pagination stalled")

	// ErrOutcomeUnknown reports a failed request that may have taken effect: it
	// isn't idempotent, or the server refused a retry, perhaps because an earlier
	// attempt had taken effect. [Confirm] or [ConfirmChange] finds out.
	ErrOutcomeUnknown = errors.New("outcome unknown")

	ErrUnchanged   = errors.New("the resource doesn't show the change") // see ConfirmChange
	ErrRetryBudget = call.ErrBudget                                     // a retry wasn't sent; see RetryPolicy.Budget
	ErrAmbiguous   = errors.New("ambiguous reference")                  // the reference matches more than one resource
	ErrWaitFailed  = errors.New("the state can no longer be reached")   // for example because the resource is being deleted
	ErrNoCapacity  = errors.New("no host has capacity")                 // see WaitOptions.FailWithoutCapacity
)

// Error is a response with a status of 300 or above, from the API or a gateway.
// The envelope is the JSON object in which the API sends an error. Error wraps
// the reason why the SDK didn't retry, such as [ErrRetryBudget].
type Error struct {
	StatusCode int             // the HTTP status
	Code       int             // the envelope's code; the status if there is none
	Type       string          // the server's name for the kind of error, such as "InvalidRequest"; may be ""
	Message    string          // the server's text, for people
	Details    json.RawMessage // the envelope's details, as sent; see FieldErrors
	Operation  string          // the operation's name, such as "VMs.Create"
	Method     string          // the HTTP method
	Host       string          // the host of the base URL, with its port if it names one
	Path       string          // the path as it is sent
	Attempts   int             // how often the request was sent
	RequestID  string          // the X-Request-Id of the response, if any; Ubicloud's service sends none
	RetryAfter time.Duration   // the delay of the Retry-After header, or 0
	Body       string          // the beginning of the response body, unless that is the contract's envelope

	traits  traits
	pause   time.Duration // RetryAfter, but at most the client's MaxRetryAfter; 0 if a program has created the error
	outcome call.Outcome
}

func (e *Error) Error() string {
	var b strings.Builder
	writeCall(&b, e.Operation, e.Method, e.Path, e.Host)
	kind := e.Type
	if kind == "" && e.Message == "" {
		kind = http.StatusText(e.StatusCode)
	}
	b.WriteString(strings.TrimSpace(fmt.Sprintf("%d %s", e.StatusCode, plain.OneLine(kind))))
	if e.Message != "" {
		b.WriteString(": " + plain.OneLine(e.Message))
	} else if e.Body != "" {
		fmt.Fprintf(&b, ": %q", e.Body)
	}
	if fields := envelope.FieldText(e.Details); fields != "" {
		b.WriteString(" (" + plain.OneLine(fields) + ")")
	}
	text := b.String()
	b.Reset()
	if hint := e.hint(); hint != "" {
		b.WriteString("; " + hint)
	}
	writeEnd(&b, e.Operation, &e.outcome, e.Attempts, e.RequestID)
	if b.Len() > 0 {
		text = strings.TrimSuffix(text, ".") // of the server's message
	}
	return text + b.String()
}

// hint returns what the SDK can add to the server's message, or "".
func (e *Error) hint() string {
	switch {
	case e.isMaybeUnsupported() && e.traits&contractOnly != 0:
		return "the operation is only in the contract: Ubicloud's service doesn't have it"
	case e.isMaybeUnsupported() && e.traits&switchable != 0:
		return "the operation is off by default, and the project may not have it"
	case e.isMaybeUnsupported():
		return "the operation isn't in the contract, and the server may lack it"
	}
	return ""
}

// isMaybeUnsupported reports whether the 404 may mean that the operation, and
// not the resource, doesn't exist.
func (e *Error) isMaybeUnsupported() bool {
	return e.StatusCode == http.StatusNotFound &&
		(e.Type == "ResourceNotFound" && e.traits&(serviceOnly|contractOnly) != 0 || e.Type == "NotFound" && e.traits&switchable != 0)
}

// FieldErrors returns the messages in the details by field, or nil if there are
// none: some errors name the field only in Message. The keys are fields of the
// request, and also "body" and "billing_info".
func (e *Error) FieldErrors() map[string][]string {
	if fields := envelope.Fields(e.Details); len(fields) > 0 {
		return fields
	}
	return nil
}

// Locations returns the locations of the project, which the server lists in an
// error that matches [ErrLocationNotFound], or nil.
func (e *Error) Locations() []string { return e.content().Locations() }

// Quota has the numbers of an error that matches [ErrQuotaExceeded]: vCPUs, or
// the versions of a project's machine images.
type Quota struct {
	Requested int // the vCPUs that the request adds, or the versions that there would be
	Used      int // the vCPUs in use, also of what is being deleted; -1 for versions
	Maximum   int // the limit
}

// Quota returns the numbers of an exceeded quota. It returns nil for any other
// error, and if the server's text, such as that for projects, has no numbers.
func (e *Error) Quota() *Quota {
	if !e.Is(ErrQuotaExceeded) {
		return nil
	}
	requested, used, maximum, ok := e.content().Quota()
	if !ok {
		return nil
	}
	return &Quota{requested, used, maximum}
}

// Equal reports whether all parts of two errors are equal, for tests with go-cmp.
func (e *Error) Equal(other *Error) bool { return reflect.DeepEqual(e, other) }

func (e *Error) Is(target error) bool {
	switch target {
	case ErrInvalidRequest:
		return e.StatusCode == http.StatusBadRequest || e.StatusCode == http.StatusUnprocessableEntity
	case ErrUnauthorized:
		return e.StatusCode == http.StatusUnauthorized
	case ErrForbidden:
		return e.StatusCode == http.StatusForbidden
	case ErrNotFound:
		return e.StatusCode == http.StatusNotFound && e.isOwn()
	case ErrLocationNotFound:
		return e.StatusCode == http.StatusNotFound && e.Type == "InvalidLocation"
	case ErrMaybeUnsupported:
		return e.isMaybeUnsupported()
	case ErrConflict:
		return e.StatusCode == http.StatusConflict
	case ErrAlreadyExists:
		return e.content().SaysTaken(e.StatusCode)
	case ErrQuotaExceeded:
		return e.content().SaysQuota(e.StatusCode)
	case ErrBillingRequired:
		return e.StatusCode == http.StatusBadRequest && len(e.FieldErrors()["billing_info"]) > 0
	case ErrRateLimited:
		return e.StatusCode == http.StatusTooManyRequests
	case ErrServer:
		return e.StatusCode >= 500
	}
	return outcomeMatches(&e.outcome, target)
}

func (e *Error) content() *envelope.Error {
	return &envelope.Error{Code: e.Code, Type: e.Type, Message: e.Message, Details: e.Details}
}

// isOwn reports whether the response comes from the API, and not from a gateway
// or a proxy: it has the contract's envelope, with a type.
func (e *Error) isOwn() bool { return e.Type != "" }

// isBusy reports whether the server refused a change of a cluster because another
// change of it is in progress. A resize has no other reason for a 422; an upgrade
// that isn't possible does. An invalid value or an exceeded quota is a 400.
func isBusy(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.StatusCode == http.StatusUnprocessableEntity && e.Method != http.MethodGet && strings.HasPrefix(e.Operation, "Kubernetes.") &&
		e.isOwn() && len(e.FieldErrors()) == 0
}

func (e *Error) Unwrap() error { return e.outcome.NotRetried }

// TransportError says that a request got no complete response: connecting
// failed, the connection broke, an attempt took longer than [WithTimeout], or
// the context ended. If the timeout or the context cut the last attempt, it
// also wraps the failure of an earlier attempt. It matches [ErrOutcomeUnknown]
// if the server may have executed a request that isn't idempotent. If a cause's
// text contains a credential, errors.As finds no cause.
type TransportError struct {
	Operation string // the operation's name, such as "VMs.Create"
	Method    string // the HTTP method
	Host      string // the host of the base URL, with its port if it names one
	Path      string // the path as it is sent
	Attempts  int    // how often the SDK tried to send the request
	RequestID string // as in [Error]; "" unless the response broke off
	Err       error  // the cause

	previous error // the failure of an earlier attempt, if the context or the timeout cut the last one; or nil
	outcome  call.Outcome
}

func (e *TransportError) Error() string {
	var b strings.Builder
	cause, host := plain.OneLine(fmt.Sprint(e.Err)), e.Host
	if namesHost(cause, host) {
		host = "" // named once is enough
	}
	writeCall(&b, e.Operation, e.Method, e.Path, host)
	b.WriteString(cause)
	if e.previous != nil {
		b.WriteString("; an earlier attempt failed: " + e.previousText())
	}
	writeEnd(&b, e.Operation, &e.outcome, e.Attempts, e.RequestID)
	return b.String()
}

// namesHost reports whether the text of an error names a host. A host without a
// dot or a port, such as "server", may just be a word of the text.
func namesHost(text, host string) bool {
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(` ,>"`, r) }) // addresses have "->" between them
	return strings.ContainsAny(host, ".:") &&
		slices.ContainsFunc(words, func(word string) bool { return word == host || strings.HasPrefix(word, host+":") })
}

// previousText returns the text of the earlier failure without the call, which
// e names already.
func (e *TransportError) previousText() string {
	text := e.previous.Error()
	for _, host := range []string{e.Host, ""} {
		var b strings.Builder
		writeCall(&b, e.Operation, e.Method, e.Path, host)
		text = strings.TrimPrefix(text, b.String())
	}
	return text
}

// Equal reports whether all parts of two errors are equal, for tests with go-cmp.
func (e *TransportError) Equal(other *TransportError) bool { return reflect.DeepEqual(e, other) }

func (e *TransportError) Is(target error) bool {
	return outcomeMatches(&e.outcome, target)
}

func (e *TransportError) Unwrap() []error { return causes(e.Err, e.previous, e.outcome.NotRetried) }

// DecodeError says that the server reported success, but its response isn't
// what the contract promises: not JSON, truncated, empty, of another JSON type,
// without an ID, or of another resource. It matches [ErrInvalidResponse].
type DecodeError struct {
	Operation   string // the operation's name, such as "VMs.Get"
	Method      string // the HTTP method
	Host        string // the host of the base URL, with its port if it names one
	Path        string // the path as it is sent
	Attempts    int    // how often the request was sent
	RequestID   string // as in [Error]
	StatusCode  int    // the HTTP status
	ContentType string // the response's Content-Type
	Body        string // the beginning of the response, with string values masked
	Err         error  // what is wrong with the response

	outcome call.Outcome
}

func (e *DecodeError) Error() string {
	var b strings.Builder
	writeCall(&b, e.Operation, e.Method, e.Path, e.Host)
	fmt.Fprintf(&b, "status %d with an unusable response: %s", e.StatusCode, plain.OneLine(fmt.Sprint(e.Err)))
	if e.ContentType != "" {
		fmt.Fprintf(&b, " (%s)", plain.OneLine(e.ContentType))
	}
	if e.Body != "" {
		fmt.Fprintf(&b, ": %q", e.Body)
	}
	writeEnd(&b, e.Operation, &e.outcome, e.Attempts, e.RequestID)
	return b.String()
}

// Equal reports whether all parts of two errors are equal, for tests with go-cmp.
func (e *DecodeError) Equal(other *DecodeError) bool { return reflect.DeepEqual(e, other) }

func (e *DecodeError) Is(target error) bool {
	return target == ErrInvalidResponse || outcomeMatches(&e.outcome, target)
}

func (e *DecodeError) Unwrap() []error { return causes(e.Err, e.outcome.NotRetried) }

// ArgumentError says that an argument or an option is invalid, and nothing was
// sent. It matches [ErrInvalidArgument].
type ArgumentError struct {
	Operation string // the operation's name, or "" for an option or a function such as ParseCIDR
	Name      string // the contract's name of the parameter or field, or the name of the option
	Value     string // what was passed; never a secret
	Reason    string // what is wrong with the argument
}

func (e *ArgumentError) Error() string {
	var b strings.Builder
	b.WriteString("cloudapi: ")
	if e.Operation != "" {
		b.WriteString(e.Operation + ": ")
	}
	b.WriteString(e.Name)
	if value, cut := plain.Truncate(e.Value, 80); cut {
		fmt.Fprintf(&b, " %q…", value)
	} else if value != "" {
		fmt.Fprintf(&b, " %q", value)
	}
	b.WriteString(" " + e.Reason)
	return b.String()
}

func (e *ArgumentError) Is(target error) bool { return target == ErrInvalidArgument }

// argumentError returns an [ArgumentError] with a value. It leaves out a value
// that contains a personal access token, passed by mistake.
func argumentError(operation, name, value, reason string) *ArgumentError {
	if strings.Contains(value, "pat-") {
		value = ""
	}
	return &ArgumentError{Operation: operation, Name: name, Value: value, Reason: reason}
}

func noContext(operation string) error {
	return &ArgumentError{Operation: operation, Name: "ctx", Reason: "must not be nil"}
}

// noRequest is the error for a nil request of an operation for which an empty
// one means something.
func noRequest(op Operation) error {
	return &ArgumentError{Operation: op.Name, Name: "request", Reason: "must not be nil"}
}

func failed(op *Operation, host, path string, f *call.Failure) error {
	switch {
	case f.Status == 0:
		e := &TransportError{op.Name, op.Method, host, path, f.Attempts, f.RequestID, f.Cause, nil, f.Outcome}
		if f.Previous != nil {
			e.previous = failed(op, host, path, f.Previous)
		}
		return e
	case f.Status < 300:
		return &DecodeError{op.Name, op.Method, host, path, f.Attempts, f.RequestID, f.Status, f.ContentType, f.Body, f.Cause, f.Outcome}
	}
	return &Error{
		StatusCode: f.Status,
		Code:       cmp.Or(f.Envelope.Code, f.Status),
		Type:       f.Envelope.Type,
		Message:    f.Envelope.Message,
		Details:    f.Envelope.Details,
		Operation:  op.Name,
		Method:     op.Method,
		Host:       host,
		Path:       path,
		Attempts:   f.Attempts,
		RequestID:  f.RequestID,
		RetryAfter: f.RetryAfter,
		Body:       f.Body,
		traits:     op.traits,
		pause:      f.Pause,
		outcome:    f.Outcome,
	}
}

func writeCall(b *strings.Builder, operation, method, path, host string) {
	fmt.Fprintf(b, "cloudapi: %s: %s %s", operation, method, path)
	if host != "" {
		b.WriteString(" at " + host)
	}
	b.WriteString(": ")
}

// writeEnd writes the end of an error's text: the number of attempts, the
// request's ID, why the SDK didn't retry, and whether the outcome is unknown.
func writeEnd(b *strings.Builder, operation string, o *call.Outcome, attempts int, requestID string) {
	if attempts > 1 {
		fmt.Fprintf(b, " (after %d attempts)", attempts)
	}
	if requestID != "" {
		b.WriteString("; request ID " + plain.OneLine(requestID))
	}
	if o.NotRetried != nil {
		b.WriteString("; not retried: " + plain.OneLine(fmt.Sprint(o.NotRetried)))
	}
	switch {
	case o.Earlier:
		b.WriteString("; an earlier attempt may have taken effect: ConfirmChange finds out")
	case o.Unknown:
		b.WriteString("; the operation may have taken effect" + confirmation(operation))
	}
}

// confirmation returns what finds out whether an operation has taken effect, as
// the end of an error's text, or "" if nothing does.
func confirmation(operation string) string {
	switch _, method, _ := strings.Cut(operation, "."); {
	case method == "": // Do
		return ": Confirm or ConfirmChange finds out"
	case method == "Connect", method == "CreateClientKeyPair", method == "CreateBackupCredentials": // no record shows it
		return ""
	case strings.HasPrefix(method, "Create"), method == "Restore":
		return ": Confirm finds out"
	}
	return ": ConfirmChange finds out"
}

// unprefixed removes the prefix from the text of a wrapped error.
type unprefixed struct{ error }

func (u unprefixed) Error() string { return strings.TrimPrefix(fmt.Sprint(u.error), "cloudapi: ") }
func (u unprefixed) Unwrap() error { return u.error }

func causes(errs ...error) []error {
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// These predicates classify failures, for waits, Ensure, Watch, Resolve and
// Confirm. [call.Class] says which failures may be retried.

// IsGone reports whether an error proves that a resource doesn't exist. What it
// proves depends on the call. An error of [Fetch], [Client.Fetch], or of
// [Client.Resolve], [Lookup] or [Client.DeleteExisting] with only the ID of a
// resource that is in a location, proves that the resource isn't in the client's
// project. An error of any other method, such as a Get, proves only that it
// isn't in the location and the project of the request: IsGone is then also true
// if the location is wrong, or if the project is gone or the token can't see it.
// No error proves that the VM of a Kubernetes cluster's node is gone: only the
// cluster's record has it.
//
// IsGone returns false for errors that match [ErrNotFound] but prove less: the
// location doesn't exist; the service may lack the operation (‡, or for private
// link services); or a search, such as [ProjectsService.ObjectInfo], found
// nothing among what the token can see. It also returns false for errors that
// match [ErrOutcomeUnknown]. On servers without the operations marked †, test
// for [ErrMaybeUnsupported] first.
func IsGone(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return isMissing(err) && !errors.Is(err, errNotShown) && !errors.Is(err, ErrOutcomeUnknown) &&
		!(ok && (e.traits&unproven != 0 || e.Operation == "Projects.ObjectInfo"))
}

// isMissing reports whether a resource doesn't exist, or the server hides it.
func isMissing(err error) bool {
	return errors.Is(err, ErrNotFound) && !errors.Is(err, ErrLocationNotFound)
}

// errNotShown is the error of a search that found nothing in the lists. It
// matches ErrNotFound, but the resource may exist.
var errNotShown = fmt.Errorf("%w among what the token can see", ErrNotFound)

// isPartial reports whether an error at the end of a list names the resources
// that are missing from the list. All other resources are in the list.
func isPartial(err error) bool {
	_, ok := errors.AsType[interface {
		error
		isPartial()
	}](err)
	return ok
}

// IsTransient reports whether the same call may succeed later: after a 5xx, 429
// or 408, without a response, or after an unusable response, such as a
// gateway's page with status 200. It returns false for [ErrResponseTooLarge], a
// certificate that isn't trusted, a server without TLS or one that refuses the
// handshake, a connection refused by a proxy, a load balancer that the server
// can't show, and errors of your own transport that aren't network errors. It
// also returns false once the context of the failed call, wait or loop has
// ended. Test for [ErrOutcomeUnknown] before you send a create again.
func IsTransient(err error) bool {
	return classOf(err) >= call.Unreadable && !errors.Is(err, pace.ErrEnded)
}

// classOf returns the class of a failure. An error that a program has created
// itself, for example in its tests, may have only some of its fields.
func classOf(err error) call.Class {
	if _, ok := errors.AsType[interface {
		error
		isLasting()
	}](err); ok {
		return call.Final
	}
	if e, ok := errors.AsType[*Error](err); ok {
		f := call.Failure{Status: max(e.StatusCode, 300), Outcome: e.outcome}
		f.Envelope.Type = e.Type
		return f.Class()
	}
	if e, ok := errors.AsType[*DecodeError](err); ok {
		return (&call.Failure{Status: http.StatusOK, Cause: e.Err, Outcome: e.outcome}).Class()
	}
	if e, ok := errors.AsType[*TransportError](err); ok {
		return (&call.Failure{Cause: e.Err}).Class()
	}
	return call.Final
}

// errMayHaveRun matches the failure of any request that changes something, even
// an idempotent one, if the server may have executed it.
var errMayHaveRun = errors.New("the server may have executed the request")

// outcomeMatches reports whether the outcome of a call matches target. It
// returns false unless target is ErrOutcomeUnknown, errMayHaveRun or ErrEnded.
func outcomeMatches(o *call.Outcome, target error) bool {
	return target == ErrOutcomeUnknown && o.Unknown || target == errMayHaveRun && o.MayHaveRun || target == pace.ErrEnded && o.Ended
}
