package cloudapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
)

// Option is a setting for [NewClient] and [Client.With]. Of two that set the
// same thing the later one holds.
type Option func(*config) error

// config is what the options say. A client's config is never changed; With
// works on a copy, so its slices must be cloned before they grow.
type config struct {
	baseURL      *url.URL
	token        Secret
	tokenSource  func(context.Context) (string, error)
	project      string
	client       *Client           // whose config this is
	transport    http.RoundTripper // nil: one of the SDK, yet to be made
	changes      []func(*http.Transport)
	middleware   []http.RoundTripper // the outermost first, each above a layer
	observers    []Observer
	headers      []header
	application  string
	timeout      time.Duration
	retry        RetryPolicy
	budget       *retryBudget // of the client and all its copies
	limiter      Limiter
	logger       *slog.Logger
	maxResponse  int64
	prefetch     int
	insecureHTTP bool
	fromEnv      bool // whether FromEnv was among the options
}

type header struct {
	name  string
	value Secret
}

func (c *config) hasHeader(name string) bool {
	return slices.ContainsFunc(c.headers, func(h header) bool { return h.name == name })
}

// Environment variables that [FromEnv] reads.
const (
	EnvBaseURL = "CLOUDAPI_BASE_URL"
	EnvToken   = "CLOUDAPI_TOKEN"
	EnvProject = "CLOUDAPI_PROJECT"
)

const (
	defaultTimeout       = 60 * time.Second
	defaultResponseLimit = 64 << 20
)

func defaultConfig() config {
	return config{timeout: defaultTimeout, maxResponse: defaultResponseLimit, retry: defaultRetry()}
}

// FromEnv takes the base URL, the token and the project from the environment
// variables CLOUDAPI_BASE_URL, CLOUDAPI_TOKEN and CLOUDAPI_PROJECT. A variable
// that is unset or empty changes nothing. What a client or a call then lacks is
// an error that names all variables that are missing.
func FromEnv() Option {
	return func(c *config) error {
		c.fromEnv = true
		for _, setting := range []struct {
			variable string
			option   func(string) Option
		}{
			{EnvBaseURL, WithBaseURL},
			{EnvToken, WithToken},
			{EnvProject, WithProject},
		} {
			value := os.Getenv(setting.variable)
			if value == "" {
				continue
			}
			err := setting.option(value)(c)
			if e, ok := errors.AsType[*ArgumentError](err); ok {
				e.Name = setting.variable
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// missing returns a clause that names the variables that FromEnv has not found
// and no other option has made up for.
func (c *config) missing() string {
	var names []string
	if c.baseURL == nil {
		names = append(names, EnvBaseURL)
	}
	if !c.hasCredentials() {
		names = append(names, EnvToken)
	}
	if c.project == "" {
		names = append(names, EnvProject)
	}
	if !c.fromEnv || len(names) == 0 {
		return ""
	}
	return "; not set in the environment: " + strings.Join(names, ", ")
}

// WithBaseURL sets the address of the API, such as "https://api.example.com".
// It is required. A path is kept as a prefix; user information, a query or a
// fragment is an error.
func WithBaseURL(address string) Option {
	return func(c *config) error {
		u, err := url.Parse(address)
		if err != nil {
			// The parser's error would repeat the address, which may hold a
			// password.
			return optionError("base URL", "", "cannot be parsed")
		}
		// What is safe to repeat: a slip may have put a password elsewhere.
		if end := strings.IndexAny(address, "?#"); end >= 0 {
			address = address[:end]
		}
		if strings.Contains(address, "@") {
			address = ""
		}
		switch {
		case u.User != nil:
			return optionError("base URL", address, "must not have user information")
		case u.Scheme != "http" && u.Scheme != "https":
			return optionError("base URL", address, "must begin with https:// or http://")
		case u.Hostname() == "":
			return optionError("base URL", address, "has no host")
		case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
			return optionError("base URL", address, "must not have a query or a fragment")
		}
		prefix := strings.Trim(u.EscapedPath(), "/")
		if prefix != "" {
			for segment := range strings.SplitSeq(prefix, "/") {
				if reason := checkSegment(segment); reason != "" {
					return optionError("base URL", address, "has a path whose segment "+reason)
				}
			}
			prefix = "/" + prefix
		}
		u.Path, u.RawPath = prefix, ""
		c.baseURL = u
		return nil
	}
}

// WithToken sets the personal access token, which is sent as a bearer token. The
// ones of Ubicloud are made in its console and begin with "pat-".
func WithToken(token string) Option {
	return func(c *config) error {
		if err := checkToken(token); err != nil {
			return err
		}
		c.token, c.tokenSource = NewSecret(token), nil
		return nil
	}
}

// WithTokenSource sets a function that is asked for the token before each
// attempt, for tokens that change while the program runs. It must be safe for
// concurrent use and should keep the token itself. An error of it ends the
// call and is wrapped in the call's error, which before a further attempt is
// that of the last one. Waits and Watch take it for a failure that may pass, like
// one of the connection.
func WithTokenSource(source func(context.Context) (string, error)) Option {
	return func(c *config) error {
		if source == nil {
			return optionError("token source", "", "must not be nil")
		}
		c.token, c.tokenSource = Secret{}, source
		return nil
	}
}

// checkToken never repeats the token in its error.
func checkToken(token string) error {
	if token == "" {
		return optionError("token", "", "must not be empty")
	}
	for i := range len(token) {
		if c := token[i]; c <= ' ' || c >= 0x7f {
			return optionError("token", "", fmt.Sprintf("has a character at position %d of %d that cannot be sent: "+
				"a space, a line break, or one outside ASCII", i+1, len(token)))
		}
	}
	return nil
}

// WithProject binds the client to the project with this ID, in which all
// operations but those of [ProjectsService] take place. See also
// [Client.InProject].
func WithProject(id string) Option {
	return func(c *config) error {
		if !IsID(id, KindProject) {
			return optionError("project", id, "must be a project's ID")
		}
		c.project = id
		return nil
	}
}

// WithTransport changes the transport of the SDK, which the function gets before
// the first request: its certificates, its proxy, its dialer. What it does not
// change stays as it is:
//
//   - up to 64 connections, for which further calls wait, and HTTP/2 where the
//     server speaks it;
//   - pings on HTTP/2, so that a connection that has died is given up;
//   - no proxy and no resolver for the names of loopback;
//   - at most 1 MiB of response headers.
//
// In [Client.With] it gives the copy a transport, and so connections, of its own,
// with the changes that the client's has as well. After [WithHTTPClient] it is
// the SDK's transport again.
func WithTransport(change func(*http.Transport)) Option {
	return func(c *config) error {
		if change == nil {
			return optionError("transport", "", "must not be nil")
		}
		c.transport, c.changes = nil, append(slices.Clip(c.changes), change)
		return nil
	}
}

// WithHTTPClient makes requests go through the transport of the given client,
// with its Timeout, if it has one, as the limit of one attempt. The client
// itself is not used or changed. Its redirect policy and its cookies do not
// apply: redirects are never followed, and the API has no cookies.
//
// Most programs are better off with [WithTransport], since a transport of their
// own lacks what that one has.
func WithHTTPClient(client *http.Client) Option {
	return func(c *config) error {
		if client == nil {
			return optionError("HTTP client", "", "must not be nil")
		}
		c.transport, c.changes = client.Transport, nil
		if c.transport == nil {
			c.transport = http.DefaultTransport
		}
		if client.Timeout > 0 {
			c.timeout = client.Timeout
		}
		return nil
	}
}

// WithMiddleware wraps the transport. A middleware sees every attempt after
// the SDK's own work on it and before the network; [OperationFromContext]
// tells it what the request is for. The first one given is the outermost.
//
// Each function is called once, when the option is applied, and what it returns
// serves all copies of the client: a breaker or a counter in it is theirs
// together. The middlewares that [Client.With] adds are below those that there
// are.
//
// A middleware must not send a request more than once. A header Idempotency-Key
// or X-Idempotency-Key that it adds is sent in lower case: net/http would send
// a request with it more than once.
func WithMiddleware(middleware ...func(http.RoundTripper) http.RoundTripper) Option {
	return func(c *config) error {
		for _, wrap := range middleware {
			if wrap == nil {
				return optionError("middleware", "", "must not be nil")
			}
			wrapped := wrap(&layer{client: c.client, depth: len(c.middleware) + 1})
			if wrapped == nil {
				return optionError("middleware", "", "must not return nil")
			}
			c.middleware = append(slices.Clip(c.middleware), wrapped)
		}
		return nil
	}
}

// Observer is told of a call: an operation with all its attempts and the pauses
// between them. It is called before the first attempt, with the call's context,
// and returns the context that the call goes on with, a child of the one it got,
// and a function that is called with the call's result, also if something in it
// panics. Either may be nil.
//
// It is what a middleware cannot be, since that sees one attempt: it can open a
// span in which those of the attempts lie.
type Observer func(ctx context.Context, op Operation) (context.Context, func(error))

// WithObserver adds observers of the client's calls, of which the first one
// given is the outermost. Each page of a list and each poll of a wait is a call
// of its own; what is refused as an [*ArgumentError] is none. They must be safe
// for concurrent use.
func WithObserver(observers ...Observer) Option {
	return func(c *config) error {
		if slices.ContainsFunc(observers, func(o Observer) bool { return o == nil }) {
			return optionError("observer", "", "must not be nil")
		}
		c.observers = slices.Concat(c.observers, observers)
		return nil
	}
}

// WithHeader adds a header to every request, for gateways that ask for one.
// The value is treated as a secret. An Authorization header takes the place of
// the token. Headers that the SDK or net/http sets itself are an error, and so
// are Idempotency-Key and X-Idempotency-Key: with one of them net/http repeats
// a request whose connection broke, whether or not it was carried out.
func WithHeader(name, value string) Option {
	return func(c *config) error {
		name = textproto.CanonicalMIMEHeaderKey(name)
		switch name {
		case "Accept", "Accept-Encoding", "Connection", "Content-Length", "Content-Type", "Host", "Te", "Trailer",
			"Transfer-Encoding", "Upgrade", "User-Agent":
			return optionError("header", name, "is set by the SDK")
		case "Idempotency-Key", "X-Idempotency-Key":
			return optionError("header", name, "would make net/http send a create again by itself")
		}
		if !validHeaderName(name) {
			return optionError("header", name, "is not a header name")
		}
		for i := range len(value) {
			if v := value[i]; v < ' ' && v != '\t' || v == 0x7f {
				return optionError("header", name, "has a value with a control character")
			}
		}
		c.headers = slices.DeleteFunc(slices.Clone(c.headers), func(h header) bool { return h.name == name })
		c.headers = append(c.headers, header{name, NewSecret(value)})
		return nil
	}
}

func validHeaderName(name string) bool {
	for i := range len(name) {
		c := name[i]
		letterOrDigit := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letterOrDigit && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return name != ""
}

// WithUserAgent adds the application's name and version, such as
// "backup-job/1.4", to the User-Agent header.
func WithUserAgent(application string) Option {
	return func(c *config) error {
		for i := range len(application) {
			if a := application[i]; a < ' ' || a >= 0x7f {
				return optionError("user agent", application, "must be printable ASCII")
			}
		}
		c.application = application
		return nil
	}
}

// WithTimeout bounds one attempt: connecting, sending, and reading the
// response. The default is 60 seconds; 0 is no limit. The context bounds the
// call as a whole, with its retries. The error of an attempt that took too long
// matches context.DeadlineExceeded too, as with net/http; ctx.Err tells whether
// it was the caller's context that ended.
func WithTimeout(d time.Duration) Option {
	return func(c *config) error {
		if d < 0 {
			return optionError("timeout", d.String(), "must not be negative")
		}
		c.timeout = d
		return nil
	}
}

// WithRetry sets how often and after what delays failed attempts are repeated.
// Zero fields of the policy stand for the defaults in [NewClient], and for what
// the client has in [Client.With].
func WithRetry(policy RetryPolicy) Option {
	return func(c *config) error {
		if policy.MaxAttempts < 0 || policy.MinDelay < 0 || policy.MaxDelay < 0 || policy.MaxRetryAfter < 0 || policy.Budget < 0 {
			return optionError("retry policy", fmt.Sprintf("%+v", policy), "must not have negative values")
		}
		c.retry = policy
		return nil
	}
}

// Limiter delays requests to a rate. A *rate.Limiter of golang.org/x/time/rate
// is one.
type Limiter interface {
	Wait(context.Context) error
}

// WithLimiter sets a limiter that is asked before each attempt. An error of it
// ends the call and is wrapped in the call's error, which before a further
// attempt is that of the last one.
func WithLimiter(limiter Limiter) Option {
	return func(c *config) error {
		c.limiter = limiter
		return nil
	}
}

// WithLogger sets a logger that gets one line for each attempt: at level Debug
// if it succeeded; at level Info if the server's answer is that the resource
// does not exist, which is what a wait for its deletion is after; otherwise at
// level Warn. Attributes are operation, method, route, status, attempt and
// duration, for a failure error, and retry_in if another attempt follows.
// Status and duration are absent if the limiter, the token source or the
// context kept the request from being sent. Bodies and headers are not logged.
func WithLogger(logger *slog.Logger) Option {
	return func(c *config) error {
		c.logger = logger
		return nil
	}
}

// WithResponseLimit sets the size in bytes, after decompression, beyond which a
// response is refused with [ErrResponseTooLarge]. The default is 64 MiB.
func WithResponseLimit(bytes int64) Option {
	return func(c *config) error {
		if bytes <= 0 {
			return optionError("response limit", fmt.Sprint(bytes), "must be positive")
		}
		c.maxResponse = bytes
		return nil
	}
}

// maxPrefetch is more pages than it can be of use to hold.
const maxPrefetch = 100

// WithPrefetch makes the All methods fetch up to that many pages ahead, at most
// 100, while the caller works on the items. The default is 0: a page is asked for when
// its first item is.
func WithPrefetch(pages int) Option {
	return func(c *config) error {
		if pages < 0 || pages > maxPrefetch {
			return optionError("prefetch", fmt.Sprint(pages), fmt.Sprintf("must be 0 to %d", maxPrefetch))
		}
		c.prefetch = pages
		return nil
	}
}

// WithInsecureHTTP permits to send credentials over plain http to hosts other
// than the loopback ones. Everybody on the way can read them.
func WithInsecureHTTP() Option {
	return func(c *config) error {
		c.insecureHTTP = true
		return nil
	}
}

func optionError(name, value, reason string) error {
	return &ArgumentError{Name: name, Value: withoutToken(value), Reason: reason}
}
