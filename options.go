package cloudapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/textproto"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/call"
	"github.com/cloudapi-sdk/cloudapi/internal/exchange"
	"github.com/cloudapi-sdk/cloudapi/internal/sharedlist"
	"github.com/cloudapi-sdk/cloudapi/internal/validate"
)

// Option is a setting for [NewClient] and [Client.With]. Later options win. An
// option with a nil value restores the default, as if no such option had been
// given, so that [Client.With] can take it back. The exception is
// [WithTokenSource].
type Option func(*config) error

// config contains the settings of a client, and never changes. [Client.With]
// changes a copy, and clones a slice before appending to it.
type config struct {
	calls        call.Config // complete once all options are applied
	token        Secret
	tokenSource  func(context.Context) (string, error)
	project      string
	httpClient   *http.Client        // set by WithHTTPClient
	transport    *exchange.Transport // the SDK's own; nil before it's created, and if httpClient is set
	changes      []func(*http.Transport)
	middleware   []func(http.RoundTripper) http.RoundTripper // the outermost first
	observers    []Observer
	headers      []header
	application  string
	retry        RetryPolicy
	logger       *slog.Logger
	prefetch     int
	shared       *sharedlist.Scope // set by WithSharedWaits; or nil
	plan         *planDoors        // of a client that plans; or nil
	insecureHTTP bool
	fromEnv      bool // whether FromEnv was among the options
}

type header struct {
	name  string
	value Secret
}

func (c *config) hasCredentials() bool {
	return !c.token.IsZero() || c.tokenSource != nil || len(c.headers) > 0
}

func (c *config) hasHeader(name string) bool {
	return slices.ContainsFunc(c.headers, func(h header) bool { return h.name == name })
}

// Environment variables that [FromEnv] reads.
const (
	EnvBaseURL      = "CLOUDAPI_BASE_URL"
	EnvToken        = "CLOUDAPI_TOKEN"
	EnvProject      = "CLOUDAPI_PROJECT"
	EnvInsecureHTTP = "CLOUDAPI_INSECURE_HTTP" // "true" or "false", for WithInsecureHTTP
)

// DefaultBaseURL is the address of Ubicloud's service.
const DefaultBaseURL = "https://api.ubicloud.com"

const (
	defaultTimeout       = 60 * time.Second
	defaultResponseLimit = 64 << 20
)

func defaultConfig() config {
	return config{calls: call.Config{Timeout: defaultTimeout, MaxResponse: defaultResponseLimit}, retry: defaultRetry()}
}

// FromEnv sets the base URL, the token and the project from CLOUDAPI_BASE_URL,
// CLOUDAPI_TOKEN and CLOUDAPI_PROJECT, unless they're empty, and
// [WithInsecureHTTP] from CLOUDAPI_INSECURE_HTTP, "true" or "false". Calls that
// need a variable that is missing say so.
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
			{EnvInsecureHTTP, insecureHTTP},
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

// unset returns a clause for the text of ErrNoProject. It names the variables
// that FromEnv didn't find, but not EnvToken if the client has credentials.
func (c *config) unset() string {
	switch {
	case !c.fromEnv:
		return ""
	case c.hasCredentials():
		return "; not set in the environment: " + EnvProject
	}
	return "; not set in the environment: " + EnvToken + ", " + EnvProject
}

// WithBaseURL sets the address of the API; default [DefaultBaseURL]. It can
// have a path, but no user information, query or fragment.
func WithBaseURL(address string) Option {
	return func(c *config) error {
		u, shown, reason := validate.BaseURL(address)
		if reason != "" {
			return optionError("base URL", shown, reason)
		}
		c.calls.BaseURL = u
		return nil
	}
}

// WithToken sets the personal access token, which is sent as a bearer token.
func WithToken(token string) Option {
	return func(c *config) error {
		if reason := validate.Token(token); reason != "" {
			return optionError("token", "", reason)
		}
		c.token, c.tokenSource = NewSecret(token), nil
		return nil
	}
}

// WithTokenSource sets a function that the client calls for the token before
// each attempt. The function must be safe for concurrent use, and should cache
// the token. Its error fails the call; a wait or watch then polls again. Nil is
// an error: requests without a token would only fail later, each with a 401.
func WithTokenSource(source func(context.Context) (string, error)) Option {
	return func(c *config) error {
		if source == nil {
			return optionError("token source", "", "must not be nil")
		}
		c.token, c.tokenSource = Secret{}, source
		return nil
	}
}

// WithProject binds the client to the project with this ID, which all
// operations outside [ProjectsService] use. The console shows the ID in the
// project's settings, and in the address of each of the project's pages.
func WithProject(id string) Option {
	return func(c *config) error {
		if reason := validate.Pasted(id); reason != "" {
			return optionError("project", id, reason)
		}
		if err := projectRule.check("", "project", id); err != nil {
			return err
		}
		c.project = id
		return nil
	}
}

// WithTransport changes the SDK's transport, such as its certificates, proxy or
// dialer, before the first request. By default, the transport speaks HTTP/1.1
// (t.Protocols.SetHTTP2(true) adds HTTP/2), opens up to 64 connections, and
// takes the proxy from the environment, except for loopback names: it uses
// neither a proxy nor DNS for these. Its TLSClientConfig isn't nil. Don't
// register another transport for its schemes with RegisterProtocol, which may
// repeat creates: use [WithHTTPClient].
//
// In [Client.With], the client's changes also apply, and the copy has its own
// connections. Without WithTransport, a client uses [http.DefaultTransport] if
// the program has replaced it, for example with a mock.
func WithTransport(change func(*http.Transport)) Option {
	return func(c *config) error {
		if change == nil {
			return WithHTTPClient(nil)(c)
		}
		c.httpClient, c.transport, c.changes = nil, nil, append(slices.Clip(c.changes), change)
		return nil
	}
}

// WithHTTPClient sends each attempt through the HTTP client's current
// Transport, or [http.DefaultTransport] if that is nil. The HTTP client's
// Timeout limits one attempt; its redirect policy and cookies don't apply. The
// SDK doesn't close the transport's connections: each one that has died
// silently costs an attempt, or over HTTP/2 every attempt until the transport
// gives it up. Most programs should use [WithTransport], which keeps the SDK's
// defaults.
//
// The transport must not retry, or it would repeat creates: NewClient refuses
// the StandardClient of a go-retryablehttp client; pass its HTTPClient. If the
// transport isn't an [http.Transport], only its network errors are retried.
func WithHTTPClient(client *http.Client) Option {
	return func(c *config) error {
		if client == nil && c.httpClient != nil && c.calls.Timeout == c.httpClient.Timeout {
			c.calls.Timeout = defaultTimeout
		}
		c.httpClient, c.transport, c.changes = client, nil, nil
		if client != nil && client.Timeout > 0 {
			c.calls.Timeout = client.Timeout
		}
		return nil
	}
}

// WithMiddleware wraps the transport. A middleware sees every attempt;
// [OperationFromContext] returns the attempt's operation. The first middleware
// is the outermost. [Client.With] adds others inside, and calls every function
// again for its new client; nil removes all middlewares so far. A middleware must
// not send a request twice.
func WithMiddleware(middleware ...func(http.RoundTripper) http.RoundTripper) Option {
	return func(c *config) error {
		c.middleware = sinceNil(slices.Concat(c.middleware, middleware), func(m func(http.RoundTripper) http.RoundTripper) bool { return m == nil })
		return nil
	}
}

// Observer is called before the first attempt of a call. It returns a child of
// the call's context for all attempts, and a function that gets the call's
// error, even if the call panics. Both results may be nil.
type Observer func(ctx context.Context, op Operation) (context.Context, func(error))

// WithObserver adds observers, which must be safe for concurrent use. The first
// one is the outermost; nil takes back those before it. Each page of a list and
// each poll of a wait is a call. Observers don't see calls that return an
// [*ArgumentError].
func WithObserver(observers ...Observer) Option {
	return func(c *config) error {
		c.observers = sinceNil(slices.Concat(c.observers, observers), func(o Observer) bool { return o == nil })
		return nil
	}
}

// sinceNil returns the elements after the last nil, which takes back those
// before it.
func sinceNil[T any](list []T, isNil func(T) bool) []T {
	for i := range slices.Backward(list) {
		if isNil(list[i]) {
			return list[i+1:]
		}
	}
	return list
}

// WithHeader adds a header to every request, for gateways that require one. The
// value is a secret. An Authorization header replaces the token. Headers that
// the SDK or net/http sets are invalid, and so are Idempotency-Key and
// X-Idempotency-Key, with which net/http would repeat a create.
func WithHeader(name, value string) Option {
	return func(c *config) error {
		name, value = textproto.CanonicalMIMEHeaderKey(name), strings.Trim(value, " \t") // net/http sends no space around the value
		if reason := validate.Header(name, value); reason != "" {
			return optionError("header", name, reason)
		}
		c.headers = slices.DeleteFunc(slices.Clone(c.headers), func(h header) bool { return h.name == name })
		c.headers = append(c.headers, header{name, NewSecret(value)})
		return nil
	}
}

// WithUserAgent sets what follows the SDK's name in the User-Agent header, such as
// "backup-job/1.4". It replaces an earlier WithUserAgent.
func WithUserAgent(application string) Option {
	return func(c *config) error {
		if reason := validate.UserAgent(application); reason != "" {
			return optionError("user agent", application, reason)
		}
		c.application = application
		return nil
	}
}

// WithTimeout limits one attempt, from connecting to reading the response. The
// default is 60 seconds; 0 is no limit. If attempts took too long, the call's
// error matches [context.DeadlineExceeded], though the context hasn't ended.
func WithTimeout(d time.Duration) Option {
	return func(c *config) error {
		if d < 0 {
			return optionError("timeout", d.String(), "must not be negative")
		}
		c.calls.Timeout = d
		return nil
	}
}

// WithRetry sets the [RetryPolicy] of the client.
func WithRetry(policy RetryPolicy) Option {
	return func(c *config) error {
		if policy.MaxAttempts < 0 || policy.MinDelay < 0 || policy.MaxDelay < 0 || policy.MaxRetryAfter < 0 || policy.Budget < 0 {
			return optionError("retry policy", fmt.Sprintf("%+v", policy), "must not have negative values")
		}
		c.retry = policy
		return nil
	}
}

// RetryPolicy sets how often and after what delays a call is retried. Zero
// fields mean the defaults, or in [Client.With] the client's values.
//
// An idempotent request is retried after status 408, 429, 500, 502, 503 and
// 504, failed connections, timeouts of an attempt, and truncated responses. A
// request that creates something is retried only if it wasn't sent, or after a
// 429 or 503 that comes from the API itself or has a Retry-After.
type RetryPolicy struct {
	MaxAttempts int // including the first; default 4; 1 means no retry

	// The delay before the n-th retry is random, between 0 and MinDelay doubled
	// n-1 times, but at most MaxDelay. The defaults are 500 ms and 30 s.
	MinDelay, MaxDelay time.Duration

	MaxRetryAfter time.Duration // the longest delay accepted from a Retry-After header, also between polls; default 60 s

	// Budget limits the retries of all calls of a client while none succeeds;
	// default 100. A retry takes 1 from it, and gives 1 back if it succeeds. A
	// call that succeeds without a retry gives back 0.2. An error that isn't
	// retried, such as a 404 of the API, counts as success. When the budget is
	// used up, errors also match ErrRetryBudget. Copies of a client for the same
	// host share it.
	Budget int
}

func defaultRetry() RetryPolicy {
	return RetryPolicy{
		MaxAttempts:   4,
		MinDelay:      500 * time.Millisecond,
		MaxDelay:      30 * time.Second,
		MaxRetryAfter: 60 * time.Second,
		Budget:        100,
	}
}

// over returns p with its zero fields replaced by the fields of other.
func (p RetryPolicy) over(other RetryPolicy) RetryPolicy {
	return RetryPolicy{
		MaxAttempts:   cmp.Or(p.MaxAttempts, other.MaxAttempts),
		MinDelay:      cmp.Or(p.MinDelay, other.MinDelay),
		MaxDelay:      cmp.Or(p.MaxDelay, other.MaxDelay),
		MaxRetryAfter: cmp.Or(p.MaxRetryAfter, other.MaxRetryAfter),
		Budget:        cmp.Or(p.Budget, other.Budget),
	}
}

// Limiter limits requests, like a *rate.Limiter of golang.org/x/time.
type Limiter interface {
	Wait(context.Context) error
}

// WithLimiter makes attempts wait for a limiter. Its error fails the call.
func WithLimiter(limiter Limiter) Option {
	return func(c *config) error {
		c.calls.Limit = nil
		if limiter != nil {
			c.calls.Limit = limiter.Wait
		}
		return nil
	}
}

// WithLogger sets a logger that gets one line for each attempt. The level is
// Debug after a success, Info if the resource doesn't exist, and Warn
// otherwise. Every line has the attributes operation, method, host, route and
// attempt. A line has duration if the request was sent, status if there was a
// response, error after a failure, and retry_in before another attempt.
func WithLogger(logger *slog.Logger) Option {
	return func(c *config) error {
		c.logger = logger
		return nil
	}
}

// WithResponseLimit sets the maximum size of a response in bytes, after
// decompression; default 64 MiB. A larger one fails with [ErrResponseTooLarge].
func WithResponseLimit(bytes int64) Option {
	return func(c *config) error {
		if bytes <= 0 {
			return optionError("response limit", fmt.Sprint(bytes), "must be positive")
		}
		c.calls.MaxResponse = bytes
		return nil
	}
}

// maxPrefetch is larger than any useful number of pages.
const maxPrefetch = 100

// WithPrefetch sets how many pages All fetches ahead, 0 (the default) to 100.
func WithPrefetch(pages int) Option {
	return func(c *config) error {
		if pages < 0 || pages > maxPrefetch {
			return optionError("prefetch", fmt.Sprint(pages), fmt.Sprintf("must be 0 to %d", maxPrefetch))
		}
		c.prefetch = pages
		return nil
	}
}

// expectedCalls is how many calls a client with [WithSharedWaits] expects, so that
// the first of many waits read a list. It can't know how many follow.
const expectedCalls = 20

// WithSharedWaits lets the waits of a client that are in progress share lists,
// as the waits of one [WaitAll] do, although each has a context of its own. At
// the same time, calls of [Fetch] share the requests that prove that something
// is gone. Copies of the client by [Client.InProject] for one project share as
// one client. A wait that fails or is canceled doesn't affect the others. Shared
// requests have a context without values: don't use this option if a token
// source or a middleware needs values of a call's context.
func WithSharedWaits() Option {
	return func(c *config) error {
		c.shared = sharedlist.NewScope(context.Background(), expectedCalls, expectedCalls)
		return nil
	}
}

// WithInsecureHTTP sets whether the client may send credentials over plain http
// to hosts other than loopback; default false. Everybody on the network path can
// then read the credentials.
func WithInsecureHTTP(allowed bool) Option {
	return func(c *config) error {
		c.insecureHTTP = allowed
		return nil
	}
}

// insecureHTTP is [WithInsecureHTTP] for the text of an environment variable.
func insecureHTTP(allowed string) Option {
	return func(c *config) error {
		if allowed != "true" && allowed != "false" {
			return optionError("insecure HTTP", allowed, `must be "true" or "false"`)
		}
		return WithInsecureHTTP(allowed == "true")(c)
	}
}

func optionError(name, value, reason string) error {
	return argumentError("", name, value, reason)
}
