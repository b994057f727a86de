package cloudapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/hashicorp/go-retryablehttp"
)

// RetryPolicy says how often and after what delays failed attempts of a call
// are repeated. Zero fields stand for the defaults.
//
// What is repeated at all depends on the operation. One that may be sent twice
// is, after the statuses 408, 429, 500, 502, 503 and 504, failures of the
// connection, timeouts of an attempt, and replies that were cut off. One that
// creates something is only after 429 and 503, which say that the server did
// nothing, and if no connection came about. Other failures of it are final,
// and match [ErrOutcomeUnknown] where it may have been carried out.
type RetryPolicy struct {
	// MaxAttempts is the number of times that a request is sent at most, the
	// first included. The default is 4; 1 is no retry.
	MaxAttempts int

	// The delay before the n-th retry is random, between 0 and MinDelay
	// doubled n-1 times, but at most MaxDelay. The defaults are 500 ms and
	// 30 s.
	MinDelay, MaxDelay time.Duration

	// MaxRetryAfter bounds the delay that a server may ask for in a
	// Retry-After header. The default is 60 s.
	MaxRetryAfter time.Duration
}

func (p RetryPolicy) withDefaults() RetryPolicy {
	if p.MaxAttempts == 0 {
		p.MaxAttempts = 4
	}
	if p.MinDelay == 0 {
		p.MinDelay = 500 * time.Millisecond
	}
	if p.MaxDelay == 0 {
		p.MaxDelay = 30 * time.Second
	}
	if p.MaxRetryAfter == 0 {
		p.MaxRetryAfter = 60 * time.Second
	}
	return p
}

// delay returns the pause after the given number of attempts.
func (p RetryPolicy) delay(attempts int, retryAfter time.Duration) time.Duration {
	if retryAfter > 0 {
		return min(retryAfter, p.MaxRetryAfter)
	}
	ceiling := p.MaxDelay
	if shift := attempts - 1; shift < 62 && p.MinDelay <= ceiling>>shift {
		ceiling = p.MinDelay << shift
	}
	return rand.N(ceiling)
}

// call is one operation under way, from its arguments to its result.
//
// One attempt takes in all that belongs to it, reading and decoding the reply
// included, so that a reply that is cut off is a failed attempt like a
// connection that breaks. Its outcome is in the call; see [newDriver].
type call struct {
	client *Client
	op     *Operation

	path       string // as it is sent
	unescaped  string // the same path if its escaping matters, as in calls of Do; or ""
	query      string
	body       []byte // nil: the request has none
	secrets    []string
	repeatable bool
	result     accepter

	// What net/http and retryablehttp need, kept here to be allocated once.
	ctx      callContext
	url      url.URL
	request  retryablehttp.Request
	response http.Response

	attempts int           // requests that were handed to the transport
	again    bool          // whether there is to be a further attempt
	pause    time.Duration // before it
	stopped  error         // why there is none although one is due

	// Of the last attempt:
	err     error
	unsent  error // why it came to nothing before the transport; err is then that of the attempt before
	started time.Time
	sent    bool // whether it may have reached the server
	status  int  // 0: no answer
}

// accepter is what a reply is handed to. It keeps what the operation returns,
// or says what is wrong with the reply.
type accepter interface{ accept(reply) error }

// acceptFunc is a function as an accepter.
type acceptFunc func(reply) error

func (f acceptFunc) accept(r reply) error { return f(r) }

// reply is a complete answer with a status below 300.
type reply struct {
	status int
	header http.Header
	body   []byte // not to be kept: the buffer is used again

	// endless: nothing but the end of the connection ended the body, so that
	// it cannot be told from one that was cut off.
	endless bool
}

// newCall prepares an operation: the path from its arguments and the body from
// the request, which is nil for operations without one.
func (c *Client) newCall(op *Operation, request any, args []string) (*call, error) {
	path, byID, err := op.path(c.config.project, args)
	if err != nil {
		return nil, err
	}
	cl := &call{client: c, op: op, path: path, repeatable: op.retry == safe}
	if r, ok := request.(renamer); ok && r.renames() && !byID {
		// The old name is gone after the first time.
		cl.repeatable = false
	}
	if request != nil {
		if err := cl.encodeBody(request); err != nil {
			return nil, err
		}
	}
	return cl, nil
}

// renamer is a request that changes the name by which its resource may be
// addressed.
type renamer interface{ renames() bool }

// wirer is a request whose JSON is not the one that a program may print: it
// holds secrets.
type wirer interface {
	wire() any
	secretValues() []Secret
}

// encodeBody sets the body, which is {} for a nil request.
func (cl *call) encodeBody(request any) error {
	if v := reflect.ValueOf(request); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		request = struct{}{}
	}
	if r, ok := request.(referrer); ok {
		if err := r.checkIDs(); err != nil {
			err.Operation = cl.op.Name
			return err
		}
	}
	if w, ok := request.(wirer); ok {
		for _, secret := range w.secretValues() {
			cl.secrets = append(cl.secrets, secret.Reveal())
		}
		request = w.wire()
	}
	body, err := json.Marshal(request)
	if err != nil {
		return &ArgumentError{Operation: cl.op.Name, Name: "request", Reason: "cannot be encoded: " + err.Error()}
	}
	if losesText(request, body) {
		return &ArgumentError{Operation: cl.op.Name, Name: "request", Reason: "holds text that is not UTF-8, which would be sent changed"}
	}
	if bytes.Contains(body, maskedJSON) {
		return &ArgumentError{Operation: cl.op.Name, Name: "request",
			Reason: "holds a Secret, which would be sent masked: use what Reveal returns"}
	}
	cl.body = body
	return nil
}

// losesText reports whether a string of the request was not UTF-8, for which
// its encoding has U+FFFD, so that something else would be sent.
func losesText(request any, encoded []byte) bool {
	replaced := bytes.Contains(encoded, []byte(`\ufffd`)) || bytes.Contains(encoded, []byte("\uFFFD"))
	return replaced && hasInvalidText(reflect.ValueOf(request))
}

// hasInvalidText looks for strings that are not UTF-8 in what encoding/json
// looks at: not in what encodes itself, but for an Opt.
func hasInvalidText(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return !utf8.ValidString(v.String())
	case reflect.Pointer, reflect.Interface:
		return !v.IsNil() && hasInvalidText(v.Elem())
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if hasInvalidText(v.Index(i)) {
				return true
			}
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			if hasInvalidText(entries.Key()) || hasInvalidText(entries.Value()) {
				return true
			}
		}
	case reflect.Struct:
		_, optional := reflect.Zero(v.Type()).Interface().(interface{ IsNull() bool })
		if v.Type().Implements(reflect.TypeFor[json.Marshaler]()) && !optional {
			return false
		}
		for i := range v.NumField() {
			if hasInvalidText(v.Field(i)) {
				return true
			}
		}
	}
	return false
}

// maskedJSON is what a Secret is in JSON.
var maskedJSON = []byte(`"` + redacted + `"`)

// do sends the request until an attempt succeeds or none is left. The error is
// nil only if the reply was accepted.
func (cl *call) do(ctx context.Context, result accepter) error {
	if ctx == nil {
		return noContext(cl.op.Name)
	}
	cl.result = result
	return cl.observed(ctx, cl.client.config.observers)
}

// observed makes the attempts while the observers, the first one outermost,
// look on.
func (cl *call) observed(ctx context.Context, observers []Observer) (err error) {
	if len(observers) == 0 {
		return cl.run(ctx)
	}
	inner, finish := observers[0](ctx, *cl.op)
	if inner == nil {
		inner = ctx
	}
	if finish != nil {
		err = errNotReturned
		defer func() { finish(err) }()
	}
	return cl.observed(inner, observers[1:])
}

// errNotReturned is the result of a call for its observers if something in it,
// such as a middleware, panics.
var errNotReturned = errors.New("the call did not return")

// run makes the attempts.
func (cl *call) run(ctx context.Context) error {
	cl.ctx = callContext{ctx, cl}
	cl.request.Request = cl.newRequest()
	_, err := cl.client.driver.Do(&cl.request)
	if err == nil && cl.err == nil {
		return nil
	}
	if cl.again && cl.stopped == nil {
		cl.stopped = contextError(ctx) // it ended during the pause between attempts
	}
	return cl.failed(err)
}

// callContext is the context of a call's requests.
type callContext struct {
	context.Context
	call *call
}

func (c *callContext) Value(key any) any {
	if key == (operationKey{}) {
		return c.call.op
	}
	return c.Context.Value(key)
}

// callOf returns the call that a context of the driver's belongs to.
func callOf(ctx context.Context) *call { return ctx.(*callContext).call }

// newDriver returns the loop of attempts for all calls of a client. It knows
// nothing of them: what it sees of an attempt is an empty response with the
// request in it, and what it asks for is answered by the call, which is in
// the request's context.
func newDriver(maxAttempts int) *retryablehttp.Client {
	var d struct { // to be allocated at once
		retryablehttp.Client
		inner http.Client
	}
	d.inner.Transport = attempter{}
	d.Client = retryablehttp.Client{
		HTTPClient: &d.inner,
		RetryMax:   maxAttempts - 1,
		CheckRetry: func(ctx context.Context, _ *http.Response, err error) (bool, error) {
			return callOf(ctx).checkRetry(ctx, err), nil
		},
		Backoff: func(_, _ time.Duration, _ int, resp *http.Response) time.Duration {
			return callOf(resp.Request.Context()).pause
		},
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	return &d.Client
}

// attempter is the driver's transport. It has no CloseIdleConnections, which
// the driver would call after one failure and to the harm of all other calls.
type attempter struct{}

// RoundTrip makes one attempt.
func (attempter) RoundTrip(req *http.Request) (*http.Response, error) {
	cl := callOf(req.Context())
	cl.try(req)
	cl.response.StatusCode, cl.response.Body, cl.response.Request = http.StatusOK, http.NoBody, req
	return &cl.response, nil
}

// noHeader is what requests have that only the driver sees. Nobody writes to it.
var noHeader = http.Header{}

// newRequest makes the request that the driver sees. It has neither headers
// nor a body: each attempt gets its own, so that nothing but the transport
// ever holds the credentials, and none is shared with an attempt that may
// still be under way.
func (cl *call) newRequest() *http.Request {
	base := cl.client.config.baseURL
	cl.url = url.URL{Scheme: base.Scheme, Host: base.Host, Path: base.Path + cl.path, RawQuery: cl.query}
	if cl.unescaped != "" {
		cl.url.Path, cl.url.RawPath = base.Path+cl.unescaped, cl.url.Path
	}
	req := &http.Request{
		Method:     cl.op.Method,
		URL:        &cl.url,
		Header:     noHeader,
		Proto:      "HTTP/1.1",
		ProtoMajor: 1,
		ProtoMinor: 1,
	}
	return req.WithContext(&cl.ctx)
}

// errNotSent marks failures of what comes before the network.
var errNotSent = errors.New("nothing was sent")

// try makes one attempt, if it may.
func (cl *call) try(req *http.Request) {
	header, err := cl.prepare(req.Context())
	if err != nil {
		err = cl.withoutSecrets(err) // a token source may tell what it has to renew
		cl.unsent, cl.stopped = err, err
		if cl.attempts == 0 {
			cl.err, cl.stopped = cl.transportError(fmt.Errorf("%w, %w", err, errNotSent)), nil
		}
		return
	}
	cl.attempts++
	cl.sent, cl.status = false, 0
	cl.started = time.Now()
	cl.err = cl.attempt(req, header)
}

// attempt sends a copy of the request and takes in the reply.
func (cl *call) attempt(req *http.Request, header http.Header) error {
	parent := req.Context()
	var tracker *connTracker // nil where it does not matter
	var ctx *attemptContext
	if cl.repeatable {
		ctx = &attemptContext{Context: parent}
	} else {
		tracker = new(connTracker)
		ctx = tracker.track(parent)
	}
	limit := cl.client.config.timeout
	if limit > 0 {
		ctx.deadline = cl.started.Add(limit)
	}
	defer ctx.stop()

	req = req.WithContext(ctx)
	req.Host = req.URL.Host // which the driver does without, and saves a copy of the URL
	req.Header = header
	if cl.body != nil {
		req.Body, _ = cl.newBody()
		req.GetBody = cl.newBody
		req.ContentLength = int64(len(cl.body))
	}
	resp, err := cl.client.next.RoundTrip(req)
	sent, vetoed := tracker.result()
	cl.sent = sent || resp != nil // by a way that the tracker does not see
	if err == nil && resp == nil {
		err = errors.New("the transport returned neither a response nor an error")
	}
	if err == nil {
		cl.status = resp.StatusCode
		var answer error
		if answer, err = cl.receive(resp); err == nil {
			return answer
		}
	}
	switch {
	case parent.Err() != nil:
		err = contextError(parent)
	case vetoed:
		err = errNotRepeated
	case ctx.Err() != nil:
		err = &timeoutError{limit}
	}
	return cl.transportError(err)
}

// attemptContext is the context of one attempt. Its timer is made when somebody
// first asks: a transport that answers from memory never does, and the timer
// would cost more than all else that a call adds to it.
type attemptContext struct {
	context.Context           // of the call
	deadline        time.Time // zero: none

	once   sync.Once
	timed  context.Context
	cancel context.CancelFunc
}

func (c *attemptContext) start() context.Context {
	c.once.Do(func() {
		if c.deadline.IsZero() {
			c.timed, c.cancel = context.WithCancel(c.Context)
		} else {
			c.timed, c.cancel = context.WithDeadline(c.Context, c.deadline)
		}
	})
	return c.timed
}

// stop ends the attempt. Who first asks after that sees the call's context.
func (c *attemptContext) stop() {
	c.once.Do(func() { c.timed, c.cancel = c.Context, func() {} })
	c.cancel()
}

func (c *attemptContext) Deadline() (time.Time, bool) { return c.start().Deadline() }
func (c *attemptContext) Done() <-chan struct{}       { return c.start().Done() }
func (c *attemptContext) Err() error                  { return c.start().Err() }
func (c *attemptContext) Value(key any) any           { return c.start().Value(key) }

// newBody returns a reader of the body. It is what GetBody wants.
func (cl *call) newBody() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(cl.body)), nil
}

// prepare does what precedes each attempt, and returns its headers.
func (cl *call) prepare(ctx context.Context) (http.Header, error) {
	if ctx.Err() != nil {
		return nil, contextError(ctx)
	}
	cfg := &cl.client.config
	if cfg.limiter != nil {
		if err := cfg.limiter.Wait(ctx); err != nil {
			return nil, fmt.Errorf("rate limiter: %w", err)
		}
	}
	h := cl.client.newHeader()
	if cl.body != nil || cl.op.Method == http.MethodPost || cl.op.Method == http.MethodPatch {
		h["Content-Type"] = h["Accept"] // JSON both ways
	}
	if cfg.tokenSource == nil || cfg.hasHeader("Authorization") {
		return h, nil
	}
	token, err := cfg.tokenSource(ctx)
	if err == nil {
		err = checkToken(token)
	}
	if err != nil {
		return nil, fmt.Errorf("token source: %w", within{err})
	}
	cl.secrets = append(cl.secrets, token)
	h["Authorization"] = []string{"Bearer " + token}
	return h, nil
}

// connTracker follows an attempt of what must not be carried out twice: it
// finds out whether there was a connection, and stops net/http from sending the
// request on a second one. net/http calls the hooks before its RoundTrip
// returns, but another transport may not.
type connTracker struct {
	attemptContext
	trace httptrace.ClientTrace

	mu                         sync.Mutex
	wanted, got, wrote, vetoed bool
	conn                       net.Conn // that the request is on
}

// track returns the context of the attempt.
func (t *connTracker) track(parent context.Context) *attemptContext {
	t.trace.GetConn = func(string) { t.note(&t.wanted) }
	t.trace.GotConn = func(info httptrace.GotConnInfo) { t.gotConn(info.Conn) }
	t.trace.WroteHeaders = func() { t.note(&t.wrote) }
	t.Context = httptrace.WithClientTrace(parent, &t.trace)
	return &t.attemptContext
}

func (t *connTracker) note(event *bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*event = true
}

// gotConn vetoes a second connection of HTTP/2. There net/http takes a stream
// that is reset for a PROTOCOL_ERROR for one that was not looked at, like one
// that a GOAWAY leaves out, and sends the request again for as long as it may.
// A stream that was refused is repeated on the same connection. HTTP/1.1
// changes it only if nothing was written.
func (t *connTracker) gotConn(conn net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.got = true
	switch {
	case !t.wrote:
		t.conn = conn
	case conn != t.conn && isHTTP2(t.conn):
		t.vetoed = true
		t.start()
		t.cancel() // HTTP/2 looks at the context before it writes
	}
}

func isHTTP2(conn net.Conn) bool {
	c, ok := conn.(interface{ ConnectionState() tls.ConnectionState })
	return ok && c.ConnectionState().NegotiatedProtocol == "h2"
}

// errNotRepeated stands for what ended the first connection, which net/http
// does not tell.
var errNotRepeated = errors.New("the server gave up the connection or the stream, and the request was not sent again")

// result reports whether the request may have reached the server, which is
// taken for true unless it is known that no connection was there to send it on,
// and whether a second connection was vetoed.
func (t *connTracker) result() (sent, vetoed bool) {
	if t == nil {
		return true, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.got || !t.wanted, t.vetoed
}

// unrepeated is the transport below the middlewares. With the headers that it
// spells in another way net/http would send any request again whose connection
// breaks, carried out or not. For a server the case of a name is all one.
type unrepeated struct{ http.RoundTripper }

func (t unrepeated) RoundTrip(req *http.Request) (*http.Response, error) {
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		values, found := req.Header[name]
		if !found {
			continue
		}
		req = req.WithContext(req.Context())
		req.Header = maps.Clone(req.Header)
		delete(req.Header, name)
		req.Header[strings.ToLower(name)] = values
	}
	return t.RoundTripper.RoundTrip(req)
}

// receive reads the response and closes it. answer is what it says: nil, an
// [*Error] or a [*DecodeError]. err is set if there is no complete one.
func (cl *call) receive(resp *http.Response) (answer, err error) {
	if resp.Body == nil {
		resp.Body = http.NoBody
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 {
		return nil, fmt.Errorf("unexpected status %d", resp.StatusCode)
	}
	buf := buffers.Get().(*bodyBuffer)
	defer buf.release()
	if resp.StatusCode >= 300 {
		// What can be read of an error is better than nothing.
		_ = buf.readAtMost(resp.Body, maxErrorBody)
		return cl.serverError(resp, buf.Bytes()), nil
	}
	err = buf.readBody(resp, cl.client.config.maxResponse)
	switch {
	case err == nil:
		endless := resp.Close && resp.ContentLength < 0 && len(resp.TransferEncoding) == 0 && !resp.Uncompressed
		err = cl.result.accept(reply{status: resp.StatusCode, header: resp.Header, body: buf.Bytes(), endless: endless})
	case !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, ErrResponseTooLarge):
		return nil, err // the connection, not the reply
	}
	if err == nil {
		return nil, nil
	}
	contentType, _ := excerpt(cl.redactor(false).hide(resp.Header.Get("Content-Type")), maxExcerpt)
	return &DecodeError{
		Operation:   cl.op.Name,
		Method:      cl.op.Method,
		Path:        cl.path,
		StatusCode:  resp.StatusCode,
		ContentType: contentType,
		Body:        cl.replyExcerpt(buf.Bytes()),
		Err:         cl.withoutSecrets(err),
		truncated:   errors.Is(err, io.ErrUnexpectedEOF),
	}, nil
}

const (
	// maxErrorBody is more than any envelope needs.
	maxErrorBody = 1 << 20

	// A buffer of up to this size is made at once for a reply that announces
	// it, and a larger one when as much has arrived, so that an announcement
	// alone does not cost memory.
	maxTrustedLength = 1 << 20

	// A larger one than this is made as it fills, however much is announced.
	maxAnnounced = defaultResponseLimit

	// Larger buffers are not kept.
	maxPooledBuffer = 4 << 20

	maxExcerpt = 200

	// Secrets are looked for in more than the excerpt, so that none is cut at
	// its end and then not recognized.
	maxSearched = 16 << 10

	// Shorter values are not masked in texts of the server: they protect
	// nothing, and occur in any text.
	minSecret = 6
)

// bodyBuffer is where a body is read into, and what bounds that.
type bodyBuffer struct {
	bytes.Buffer
	source io.LimitedReader
}

var buffers = sync.Pool{New: func() any { return new(bodyBuffer) }}

func (buf *bodyBuffer) release() {
	if buf.Cap() <= maxPooledBuffer {
		buf.Reset()
		buf.source.R = nil
		buffers.Put(buf)
	}
}

// readAtMost reads up to n bytes of a body.
func (buf *bodyBuffer) readAtMost(body io.Reader, n int64) error {
	buf.source = io.LimitedReader{R: body, N: n}
	_, err := buf.ReadFrom(&buf.source)
	return err
}

// readBody reads a body of at most limit bytes.
func (buf *bodyBuffer) readBody(resp *http.Response, limit int64) error {
	announced := resp.ContentLength
	if announced > limit {
		return tooLarge(limit)
	}
	bound := limit
	if bound < math.MaxInt64 {
		bound++
	}
	if announced > 0 {
		buf.Grow(int(min(announced, maxTrustedLength)) + bytes.MinRead)
	}
	if announced > maxTrustedLength {
		if err := buf.readAtMost(resp.Body, maxTrustedLength); err != nil || buf.Len() < maxTrustedLength {
			return err
		}
		buf.Grow(int(min(announced-maxTrustedLength, maxAnnounced)) + bytes.MinRead)
		bound -= maxTrustedLength
	}
	if err := buf.readAtMost(resp.Body, bound); err != nil {
		return err
	}
	if int64(buf.Len()) > limit {
		return tooLarge(limit)
	}
	return nil
}

func tooLarge(limit int64) error { return fmt.Errorf("%w of %d bytes", ErrResponseTooLarge, limit) }

// serverError makes the error of a status of 300 or above.
func (cl *call) serverError(resp *http.Response, body []byte) *Error {
	e := &Error{
		StatusCode: resp.StatusCode,
		Operation:  cl.op.Name,
		Method:     cl.op.Method,
		Path:       cl.path,
	}
	if after := resp.Header.Get("Retry-After"); after != "" {
		e.RetryAfter = parseRetryAfter(after, time.Now())
	}
	secrets := cl.redactor(bytes.IndexByte(body, '\\') >= 0)
	if !e.decodeEnvelope(body) {
		e.Body, _ = excerpt(secrets.hide(string(body[:min(len(body), maxSearched)])), maxExcerpt)
	}
	if e.Code == 0 {
		e.Code = e.StatusCode
	}
	if e.StatusCode < 400 && e.Message == "" {
		e.Message = "redirects are not followed, check the base URL"
		base := cl.client.config.baseURL
		if u, err := base.Parse(resp.Header.Get("Location")); err == nil && u.Host != "" && (u.Scheme != base.Scheme || u.Host != base.Host) {
			e.Message = "a redirect to " + u.Scheme + "://" + u.Host + " is not followed, check the base URL"
		}
	}
	e.Type, e.Message = secrets.hide(e.Type), secrets.hide(e.Message)
	if secrets.in(string(e.Details)) {
		if e.Details = json.RawMessage(secrets.hide(string(e.Details))); !json.Valid(e.Details) {
			e.Details = nil // what was masked was no text
		}
	}
	return e
}

// redactor masks what the request holds of secrets in texts of the server,
// since some errors repeat the request. It is what a [strings.Replacer] takes:
// the secrets, as they are and as JSON spells them, of which there are two
// ways that are common, each with what stands for it.
type redactor []string

// redactor returns that of the call. What JSON spells in another way has a
// backslash, without which only the secrets as they are need to be looked for.
func (cl *call) redactor(backslash bool) redactor {
	cfg := &cl.client.config
	secrets := make([]string, 0, 8)
	secrets = append(secrets, cfg.token.Reveal())
	secrets = append(secrets, cl.secrets...)
	for _, header := range cfg.headers {
		value := header.value.Reveal()
		secrets = append(secrets, value)
		if _, credentials, found := strings.Cut(value, " "); found && header.name == "Authorization" {
			secrets = append(secrets, credentials)
		}
	}
	secrets = slices.DeleteFunc(secrets, func(s string) bool { return len(s) < minSecret })
	// The longest first, since one may be a part of another.
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	r := make(redactor, 0, 2*len(secrets))
	for _, secret := range secrets {
		r = append(r, secret, redacted)
		if backslash && strings.ContainsFunc(secret, differsInJSON) {
			r = append(r, jsonString(secret, true), redacted, jsonString(secret, false), redacted)
		}
	}
	return r
}

// in reports whether there is anything to mask in the text.
func (r redactor) in(text string) bool {
	for i := 0; i < len(r); i += 2 {
		if strings.Contains(text, r[i]) {
			return true
		}
	}
	return strings.Contains(text, `\`) && r.in(unescaped(text))
}

// hide returns the text without what is to be masked. Of one that has it in yet
// another spelling nothing is left.
func (r redactor) hide(text string) string {
	if !r.in(text) {
		return text
	}
	if text = strings.NewReplacer(r...).Replace(text); r.in(text) {
		return redacted
	}
	return text
}

// unescaped returns JSON, or a part of it, with what its escapes stand for in
// their place.
func unescaped(s string) string {
	var units []uint16 // since one character may be escaped as two
	for s != "" {
		before, escape, _ := strings.Cut(s, `\`)
		units = append(units, utf16.Encode([]rune(before))...)
		if s = escape; s == "" {
			break
		}
		control := strings.IndexByte("bfnrt", s[0])
		code, err := strconv.ParseUint(s[1:min(len(s), 5)], 16, 16)
		switch {
		case s[0] == 'u' && len(s) >= 5 && err == nil:
			units, s = append(units, uint16(code)), s[5:]
		case control >= 0:
			units, s = append(units, uint16("\b\f\n\r\t"[control])), s[1:]
		case s[0] == '\\':
			units, s = append(units, '\\'), s[1:]
		}
	}
	return string(utf16.Decode(units))
}

// differsInJSON reports characters that JSON may spell in another way.
func differsInJSON(c rune) bool {
	return c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&'
}

// jsonString returns a text as it stands between the quotes of a JSON string.
func jsonString(s string, escapeHTML bool) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(escapeHTML)
	_ = encoder.Encode(s) // of a string, which cannot fail
	quoted := strings.TrimSpace(b.String())
	return quoted[1 : len(quoted)-1]
}

// replyExcerpt returns the beginning of a reply that could not be used. What
// may be a record is shown without its values.
func (cl *call) replyExcerpt(body []byte) string {
	text := strings.TrimSpace(string(body[:min(len(body), maxSearched)]))
	switch {
	case strings.HasPrefix(text, "{"), strings.HasPrefix(text, "["), strings.HasPrefix(text, `"`):
		text = maskStrings(text)
	case !strings.HasPrefix(text, "<"):
		return "" // it may be a file with keys in it
	}
	text, _ = excerpt(cl.redactor(strings.Contains(text, `\`)).hide(text), maxExcerpt)
	return text
}

// json decodes the reply into v.
func (r reply) json(v any) error {
	if r.status == http.StatusNoContent || len(bytes.TrimSpace(r.body)) == 0 {
		return errors.New("it is empty")
	}
	if contentType := r.header.Get("Content-Type"); contentType != "" && contentType != "application/json" {
		mediaType, _, err := mime.ParseMediaType(contentType)
		if err != nil || mediaType != "application/json" && !strings.HasSuffix(mediaType, "+json") {
			return errors.New("it is not declared as JSON")
		}
	}
	err := unmarshal(r.body, v)
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		var value json.RawMessage
		if cut := json.NewDecoder(bytes.NewReader(r.body)).Decode(&value); errors.Is(cut, io.ErrUnexpectedEOF) {
			return cut
		}
	}
	return err
}

// unmarshal is json.Unmarshal, or what v has in its place: something faster that
// gives the same. UnmarshalJSON could not be that, for encoding/json has been
// over all that it gets, twice.
func unmarshal(data []byte, v any) error {
	if u, ok := v.(interface{ unmarshal([]byte) error }); ok {
		return u.unmarshal(data)
	}
	return json.Unmarshal(data, v)
}

// checkRetry tells the driver whether there is a further attempt.
func (cl *call) checkRetry(ctx context.Context, err error) bool {
	if cl.err == nil && err != nil {
		cl.err = cl.transportError(err) // of the http.Client itself
	}
	cl.again = cl.next(ctx)
	cl.log(ctx)
	return cl.again
}

// next decides whether there is a further attempt, and after what pause.
func (cl *call) next(ctx context.Context) bool {
	if cl.err == nil || cl.unsent != nil || cl.attempts >= cl.client.config.retry.MaxAttempts || !cl.mayRetry() {
		return false
	}
	if ctx.Err() != nil {
		if !errors.Is(cl.err, ctx.Err()) {
			cl.stopped = contextError(ctx)
		}
		return false
	}
	var retryAfter time.Duration
	if e, ok := cl.err.(*Error); ok {
		retryAfter = e.RetryAfter
	}
	cl.pause = cl.client.config.retry.delay(cl.attempts, retryAfter)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= cl.pause {
		cl.stopped = fmt.Errorf("the next attempt is due in %v, after the context's deadline: %w",
			cl.pause.Round(time.Millisecond), context.DeadlineExceeded)
		return false
	}
	return true
}

// mayRetry tells whether repeating the last attempt can help and do no harm.
func (cl *call) mayRetry() bool {
	switch e := cl.err.(type) {
	case *Error:
		switch e.StatusCode {
		case http.StatusTooManyRequests, http.StatusServiceUnavailable:
			return true
		case http.StatusRequestTimeout, http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout:
			return cl.repeatable
		}
		return false
	case *DecodeError:
		return e.truncated && cl.repeatable
	case *TransportError:
		return (cl.repeatable || !cl.sent) && !isMisconfigured(e)
	}
	return false
}

// isMisconfigured reports failures that will be the same in a second.
func isMisconfigured(err error) bool {
	_, badCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, notTLS := errors.AsType[tls.RecordHeaderError](err)
	return badCertificate || notTLS
}

// failed returns the error of the call: that of the last attempt, with what
// the call as a whole adds to it. other is what retryablehttp reports, if
// there was no attempt at all.
func (cl *call) failed(other error) error {
	if cl.err == nil {
		cl.err = cl.transportError(other)
	}
	switch e := cl.err.(type) {
	case *Error:
		e.Attempts, e.stopped = cl.attempts, cl.stopped
		e.outcomeUnknown = !cl.repeatable && leavesOpen(e.StatusCode)
	case *DecodeError:
		e.Attempts, e.stopped = cl.attempts, cl.stopped
		e.outcomeUnknown = !cl.repeatable
	case *TransportError:
		e.Attempts, e.stopped = cl.attempts, cl.stopped
		e.outcomeUnknown = !cl.repeatable && cl.sent
	}
	return cl.err
}

// leavesOpen reports whether a status does not tell if the operation was
// carried out.
func leavesOpen(status int) bool {
	switch status {
	case http.StatusSeeOther, http.StatusRequestTimeout: // the first one leads to a result
		return true
	case http.StatusNotImplemented, http.StatusServiceUnavailable:
		return false
	}
	return status >= 500
}

func (cl *call) transportError(err error) *TransportError {
	return &TransportError{Operation: cl.op.Name, Method: cl.op.Method, Path: cl.path, Err: cl.withoutSecrets(err)}
}

// withoutSecrets returns the error, with another text if there are secrets in
// it: net/http quotes what it cannot read of a reply, which may repeat the request.
func (cl *call) withoutSecrets(err error) error {
	text := fmt.Sprint(err)
	if hidden := cl.redactor(strings.Contains(text, `\`)).hide(text); hidden != text {
		return &masked{hidden, err}
	}
	return err
}

// contextError returns why a context ended, so that both its error and a cause
// of the caller's can be found.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// noContext is what a nil context is answered with.
func noContext(operation string) error {
	return &ArgumentError{Operation: operation, Name: "ctx", Reason: "must not be nil"}
}

// timeoutError says that one attempt took too long.
type timeoutError struct{ limit time.Duration }

func (e *timeoutError) Error() string        { return fmt.Sprintf("no complete reply within %v", e.limit) }
func (e *timeoutError) Timeout() bool        { return true }
func (e *timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// parseRetryAfter reads both forms of the header: seconds and a date. What
// cannot be read, or lies in the past, is 0.
func parseRetryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if seconds, err := strconv.ParseUint(value, 10, 64); err == nil {
		return time.Duration(min(seconds, uint64(math.MaxInt64/time.Second))) * time.Second
	} else if errors.Is(err, strconv.ErrRange) {
		return math.MaxInt64
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(date.Sub(now), 0)
	}
	return 0
}

// log writes the attempt's line.
func (cl *call) log(ctx context.Context) {
	logger := cl.client.config.logger
	if logger == nil {
		return
	}
	level, message, attempt, err := slog.LevelDebug, "cloudapi: request", cl.attempts, cl.err
	if err != nil {
		level, message = slog.LevelWarn, "cloudapi: request failed"
		if isGone(err) {
			level = slog.LevelInfo // for some it is the answer that they wait for
		}
	}
	if cl.unsent != nil {
		level, message, attempt, err = slog.LevelWarn, "cloudapi: request not sent", attempt+1, cl.unsent
	}
	if !logger.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 8)
	attrs = append(attrs,
		slog.String("operation", cl.op.Name),
		slog.String("method", cl.op.Method),
		slog.String("route", cl.op.Route),
		slog.Int("attempt", attempt),
	)
	if cl.unsent == nil {
		attrs = append(attrs, slog.Duration("duration", time.Since(cl.started)))
		if cl.status != 0 {
			attrs = append(attrs, slog.Int("status", cl.status))
		}
	}
	switch e := err.(type) {
	case nil:
	case *Error:
		bodiless := *e
		bodiless.Body = ""
		attrs = append(attrs, slog.String("error", bodiless.Error()))
	case *DecodeError:
		bodiless := *e
		bodiless.Body = ""
		attrs = append(attrs, slog.String("error", bodiless.Error()))
	default:
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	if cl.again {
		attrs = append(attrs, slog.Duration("retry_in", cl.pause))
	}
	logger.LogAttrs(ctx, level, message, attrs...)
}
