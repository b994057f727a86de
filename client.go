package cloudapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

// Version is the version of this SDK.
const Version = "0.1.0"

// Client speaks to one API address with one set of credentials. It cannot be
// changed after [NewClient] and is safe for concurrent use; make one and share
// it, so that its connections are shared.
type Client struct {
	config config
	driver *retryablehttp.Client
	next   http.RoundTripper // the transport inside the middlewares

	// newHeader returns a new map of the headers of every request. It is a
	// function so that printing a Client never shows the credentials.
	newHeader func() http.Header

	Projects         *ProjectsService
	Firewalls        *FirewallsService
	InferenceAPIKeys *InferenceAPIKeysService
	Kubernetes       *KubernetesService
	LoadBalancers    *LoadBalancersService
	Postgres         *PostgresService
	PrivateLocations *PrivateLocationsService
	PrivateSubnets   *PrivateSubnetsService
	SSHPublicKeys    *SSHPublicKeysService
	VMInitScripts    *VMInitScriptsService
	VMs              *VMsService
}

// service is what every service is: the operations of one resource family on
// a client.
type service struct{ client *Client }

// NewClient returns a client with the options. [WithBaseURL] is required, and
// for nearly everything a token ([WithToken], [WithTokenSource]) and a project
// ([WithProject]) are as well; [FromEnv] gives all three.
//
// All options are checked here; an [*ArgumentError] says which is wrong.
// Nothing is sent.
func NewClient(opts ...Option) (*Client, error) {
	return newClient(defaultConfig(), opts)
}

// With returns a copy of the client with changed settings, which uses the same
// connections. It is how a few calls get another timeout or retry policy:
//
//	patient, err := client.With(cloudapi.WithTimeout(5 * time.Minute))
func (c *Client) With(opts ...Option) (*Client, error) {
	return newClient(c.config, opts)
}

// InProject returns a copy of the client that is bound to the project with the
// given ID and uses the same connections. What is not a project's ID is
// reported by the operations, as an [*ArgumentError].
func (c *Client) InProject(id string) *Client {
	clone := *c
	clone.config.project = id
	clone.bindServices()
	return &clone
}

// Project returns the ID of the project that the client is bound to, or "".
func (c *Client) Project() string { return c.config.project }

// BaseURL returns the address of the API.
func (c *Client) BaseURL() string { return c.config.baseURL.String() }

// CloseIdleConnections closes connections that are not in use. A client needs
// no closing; this is for programs that make many.
func (c *Client) CloseIdleConnections() {
	if t, ok := c.config.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

func newClient(from config, opts []Option) (*Client, error) {
	c := &Client{config: from}
	cfg := &c.config
	for _, opt := range opts {
		if opt == nil {
			continue
		}
		if err := opt(cfg); err != nil {
			return nil, err
		}
	}
	if cfg.baseURL == nil {
		return nil, optionError("base URL", "", "is required: use WithBaseURL, or FromEnv and "+EnvBaseURL)
	}
	if cfg.baseURL.Scheme == "http" && cfg.hasCredentials() && !cfg.insecureHTTP && !isLoopback(cfg.baseURL.Hostname()) {
		return nil, optionError("base URL", cfg.baseURL.String(),
			"would send the credentials unencrypted: use https, or WithInsecureHTTP if the network is trusted")
	}
	if cfg.transport == nil {
		cfg.transport = newTransport()
	}
	cfg.retry = cfg.retry.withDefaults()
	c.driver = newDriver(cfg.retry.MaxAttempts)
	c.newHeader = cfg.headerFunc()
	if c.next = cfg.transport; len(cfg.middleware) > 0 {
		c.next = unrepeated{c.next}
	}
	for _, wrap := range slices.Backward(cfg.middleware) {
		if c.next = wrap(c.next); c.next == nil {
			return nil, optionError("middleware", "", "must not return nil")
		}
	}
	c.bindServices()
	return c, nil
}

func (c *Client) bindServices() {
	s := &service{c}
	c.Projects = (*ProjectsService)(s)
	c.Firewalls = (*FirewallsService)(s)
	c.InferenceAPIKeys = (*InferenceAPIKeysService)(s)
	c.Kubernetes = (*KubernetesService)(s)
	c.LoadBalancers = (*LoadBalancersService)(s)
	c.Postgres = (*PostgresService)(s)
	c.PrivateLocations = (*PrivateLocationsService)(s)
	c.PrivateSubnets = (*PrivateSubnetsService)(s)
	c.SSHPublicKeys = (*SSHPublicKeysService)(s)
	c.VMInitScripts = (*VMInitScriptsService)(s)
	c.VMs = (*VMsService)(s)
}

func (cfg *config) hasCredentials() bool {
	return !cfg.token.IsZero() || cfg.tokenSource != nil || len(cfg.headers) > 0
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return isLocalhost(host) || ip != nil && ip.IsLoopback()
}

// isLocalhost reports names that RFC 6761 reserves for loopback.
func isLocalhost(host string) bool {
	host = strings.ToLower(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// headerFunc returns a function that makes the headers of a request.
func (cfg *config) headerFunc() func() http.Header {
	lines := make([]string, 0, 2*(3+len(cfg.headers))) // a name and a value each
	add := func(name, value string) { lines = append(lines, name, value) }
	add("Accept", "application/json")
	add("User-Agent", userAgent(cfg.application))
	if !cfg.token.IsZero() {
		add("Authorization", "Bearer "+cfg.token.Reveal())
	}
	for _, header := range cfg.headers {
		add(header.name, header.value.Reveal())
	}
	return func() http.Header {
		lines := lines
		if len(cfg.middleware) > 0 {
			lines = slices.Clone(lines) // one may write to them
		}
		h := make(http.Header, len(lines)/2+1) // and the Content-Type
		for i := 0; i < len(lines); i += 2 {
			h[lines[i]] = lines[i+1 : i+2 : i+2]
		}
		return h
	}
}

func userAgent(application string) string {
	ua := "cloudapi/" + Version + " (" + runtime.Version() + "; " + runtime.GOOS + "/" + runtime.GOARCH + ")"
	if application != "" {
		ua += " " + application
	}
	return ua
}

// maxConns is how many connections a client has at most, unless they are the
// caller's.
const maxConns = 64

// newTransport returns a transport for one host. It keeps its connections and
// bounds their number: net/http keeps two, and has every call that finds none
// free make another, even if one is free again before that is done. It is no
// copy of http.DefaultTransport, which a program may have replaced.
//
// What passes for loopback, so that credentials may go there unencrypted, is
// loopback: a name below .localhost is not looked up, and there is no proxy.
func newTransport() http.RoundTripper {
	dialer := net.Dialer{Timeout: 30 * time.Second}
	return &http.Transport{
		Proxy: func(req *http.Request) (*url.URL, error) {
			if isLoopback(req.URL.Hostname()) {
				return nil, nil
			}
			return http.ProxyFromEnvironment(req)
		},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if host, port, err := net.SplitHostPort(address); err == nil && isLocalhost(host) {
				address = net.JoinHostPort("localhost", port)
			}
			return dialer.DialContext(ctx, network, address)
		},
		TLSHandshakeTimeout: 15 * time.Second,
		ForceAttemptHTTP2:   true,
		MaxConnsPerHost:     maxConns,
		MaxIdleConnsPerHost: maxConns,
		IdleConnTimeout:     90 * time.Second,

		// The response limit is for bodies. 10 MiB would be the default.
		MaxResponseHeaderBytes: 1 << 20,
	}
}

// Do sends a request to any path of the API, for endpoints that have no method
// yet, with the authentication, retries, limits and errors of all others.
//
// The segments are the path below the base URL and are escaped one by one; an
// empty one, "." and ".." are an [*ArgumentError]. in is encoded as the JSON
// body; if it is nil there is none, or {} in a POST, PUT or PATCH. out is what
// the JSON reply is decoded into; with a *[]byte the reply is stored as it is,
// and with nil it is dropped.
//
// A POST is taken for something that must not be repeated, any other method
// for something that may be.
func (c *Client) Do(ctx context.Context, method string, segments []string, query url.Values, in, out any) error {
	method = strings.ToUpper(method)
	op := &Operation{Name: "Do", Method: method, retry: safe}
	if method == http.MethodPost {
		op.retry = create
	}
	if !validHeaderName(method) {
		return &ArgumentError{Operation: op.Name, Name: "method", Value: method, Reason: "is not an HTTP method"}
	}
	if len(segments) == 0 {
		return &ArgumentError{Operation: op.Name, Name: "segments", Reason: "must not be empty"}
	}
	if v := reflect.ValueOf(out); out != nil && (v.Kind() != reflect.Pointer || v.IsNil()) {
		return &ArgumentError{Operation: op.Name, Name: "out", Reason: "must be nil or a pointer to where the reply shall go"}
	}
	var path, escaped strings.Builder
	for _, segment := range segments {
		if segment == "" || segment == "." || segment == ".." {
			return &ArgumentError{Operation: op.Name, Name: "segments", Value: segment, Reason: "must not be empty or a relative path"}
		}
		path.WriteString("/" + segment)
		escaped.WriteString("/" + url.PathEscape(segment))
	}
	cl := &call{
		client:     c,
		op:         op,
		path:       escaped.String(),
		unescaped:  path.String(),
		query:      query.Encode(),
		repeatable: op.retry == safe,
	}
	if in != nil || method == http.MethodPost || method == http.MethodPatch || method == http.MethodPut {
		if err := cl.encodeBody(in); err != nil {
			return err
		}
	}
	return cl.do(ctx, acceptFunc(func(r reply) error {
		switch out := out.(type) {
		case nil:
			return nil
		case *[]byte:
			if r.endless {
				return errEndless
			}
			*out = slices.Clone(r.body)
			return nil
		default:
			return r.json(out)
		}
	}))
}

// String describes the client without its credentials.
func (c *Client) String() string {
	if c == nil || c.config.baseURL == nil {
		return "cloudapi.Client(not made by NewClient)"
	}
	return fmt.Sprintf("cloudapi.Client(%s, project %q)", c.BaseURL(), c.config.project)
}

// Format prints what [Client.String] returns, for every verb, and for a Client
// as well as for a pointer to one.
func (c Client) Format(f fmt.State, _ rune) { io.WriteString(f, c.String()) }

// LogValue returns what [Client.String] does.
func (c *Client) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalJSON encodes what [Client.String] returns.
func (c Client) MarshalJSON() ([]byte, error) { return json.Marshal(c.String()) }
