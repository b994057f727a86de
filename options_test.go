package cloudapi_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

func sendOne(t *testing.T, opts ...cloudapi.Option) stub.Request {
	t.Helper()
	var network stub.Recorder
	_, err := sdktest.Recorded(t, &network, opts...).VMs.Get(t.Context(), "eu-central-h1", "web-1")
	sent := network.Take()
	if len(sent) != 1 {
		t.Fatalf("%d requests were sent: %v", len(sent), err)
	}
	return sent[0]
}

func TestWithHeader(t *testing.T) {
	t.Parallel()
	source := cloudapi.WithTokenSource(func(context.Context) (string, error) {
		t.Error("the token source was asked for nothing")
		return "", nil
	})
	for _, tt := range []struct {
		name   string
		opts   []cloudapi.Option
		header string
		want   []string
	}{
		{"added", []cloudapi.Option{cloudapi.WithHeader("x-tenant", "a b\té")}, "X-Tenant", []string{"a b\té"}},
		{"without the space around it, as net/http sends it", []cloudapi.Option{cloudapi.WithHeader("X-Tenant", " a b\t")}, "X-Tenant", []string{"a b"}},
		{"the later one holds", []cloudapi.Option{cloudapi.WithHeader("X-Tenant", "a"), cloudapi.WithHeader("x-tenant", "b")}, "X-Tenant", []string{"b"}},
		{"in place of the token", []cloudapi.Option{cloudapi.WithHeader("authorization", "Basic dXNlcg==")}, "Authorization", []string{"Basic dXNlcg=="}},
		{"in place of the token source", []cloudapi.Option{source, cloudapi.WithHeader("Authorization", "Basic dXNlcg==")}, "Authorization", []string{"Basic dXNlcg=="}},
	} {
		if got := sendOne(t, tt.opts...).Header[tt.header]; !slices.Equal(got, tt.want) {
			t.Errorf("%s: %s is %q, want %q", tt.name, tt.header, got, tt.want)
		}
	}
}

func TestBaseURL(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ address, baseURL, host, prefix string }{
		{"https://api.example.com", "https://api.example.com", "api.example.com", ""},
		{"https://api.example.com/", "https://api.example.com", "api.example.com", ""},
		{"HTTPS://api.example.com:8443/gateway/v1/", "https://api.example.com:8443/gateway/v1", "api.example.com:8443", "/gateway/v1"},
		{"http://[::1]:9393/api", "http://[::1]:9393/api", "[::1]:9393", "/api"},
	} {
		var network stub.Recorder
		client := sdktest.Recorded(t, &network, cloudapi.WithBaseURL(tt.address))
		if got := client.BaseURL(); got != tt.baseURL {
			t.Errorf("BaseURL of %s is %s", tt.address, got)
		}
		_, _ = client.Projects.List(t.Context(), nil)
		_ = client.Do(t.Context(), "GET", []string{"a b"}, nil, nil, nil)
		sent := network.Take()
		if len(sent) != 2 || sent[0].Host != tt.host || sent[0].Target != tt.prefix+"/project" || sent[1].Target != tt.prefix+"/a%20b" {
			t.Errorf("with %s this was sent: %+v", tt.address, sent)
		}
	}
}

func TestPlainHTTP(t *testing.T) {
	t.Parallel()
	token, header := cloudapi.WithToken(stub.Token), cloudapi.WithHeader("X-Key", stub.Token)
	source := cloudapi.WithTokenSource(func(context.Context) (string, error) { return stub.Token, nil })
	for _, tt := range []struct {
		address string
		opts    []cloudapi.Option
		ok      bool
	}{
		{"http://api.example.com", []cloudapi.Option{token}, false},
		{"http://api.example.com", []cloudapi.Option{source}, false},
		{"http://api.example.com", []cloudapi.Option{header}, false},
		{"http://localhost.example.com", []cloudapi.Option{token}, false},
		{"http://127.0.0.1.example.com", []cloudapi.Option{token}, false},
		{"http://10.0.0.1", []cloudapi.Option{token}, false},
		{"http://api.example.com", nil, true},
		{"http://api.example.com", []cloudapi.Option{token, cloudapi.WithInsecureHTTP(true)}, true},
		{"http://localhost:8080", []cloudapi.Option{token}, true},
		{"http://LOCALHOST:8080", []cloudapi.Option{token}, true},
		{"http://api.localhost", []cloudapi.Option{token}, true},
		{"http://127.8.9.10:80", []cloudapi.Option{token}, true},
		{"http://[::1]:80", []cloudapi.Option{token}, true},
		{"https://api.example.com", []cloudapi.Option{token}, true},
	} {
		_, err := cloudapi.NewClient(append([]cloudapi.Option{cloudapi.WithBaseURL(tt.address)}, tt.opts...)...)
		if (err == nil) != tt.ok || err != nil && !errors.Is(err, cloudapi.ErrInvalidArgument) {
			t.Errorf("%s with %d options: %v", tt.address, len(tt.opts), err)
		}
	}
	client := stub.Must(cloudapi.NewClient(cloudapi.WithBaseURL("http://api.example.com")))(t)
	if _, err := client.With(token); !errors.Is(err, cloudapi.ErrInvalidArgument) {
		t.Errorf("With adds a token to plain http: %v", err)
	}
}

func TestInvalidOptions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string // the option's name in the error
		option cloudapi.Option
		reason string
	}{
		{"base URL", cloudapi.WithBaseURL(""), "has no scheme: it must begin with https"},
		{"base URL", cloudapi.WithBaseURL("api.example.com"), `"api.example.com" has no scheme: it must begin with https`},
		{"base URL", cloudapi.WithBaseURL("user:" + stub.Token + "@example.com"), "base URL has no scheme"},
		{"base URL", cloudapi.WithBaseURL("ftp://api.example.com"), `"ftp://api.example.com" must begin`},
		{"base URL", cloudapi.WithBaseURL("https://"), "has no host"},
		{"base URL", cloudapi.WithBaseURL("https://:80"), "has no host"},
		{"base URL", cloudapi.WithBaseURL("https:/" + stub.Token + "@example.com"), "has no host"},
		{"base URL", cloudapi.WithBaseURL("https://user:" + stub.Token + "@example.com"), "must not have user information"},
		{"base URL", cloudapi.WithBaseURL("https://user:" + stub.Token + "@exa mple.com"), "cannot be parsed"},
		{"base URL", cloudapi.WithBaseURL("https://user:" + stub.Token + "@exa mple.com"), "base URL cannot be parsed: it has a space"},
		{"base URL", cloudapi.WithBaseURL("https://api.example.com:port"), `"https://api.example.com:port" cannot be parsed: its port isn't a number`},
		{"base URL", cloudapi.WithBaseURL("https://${HOST}"), `"https://${HOST}" cannot be parsed`},
		{"base URL", cloudapi.WithBaseURL("https://api.example.com:99999"), `"https://api.example.com:99999" has a port that isn't 1 to 65535`},
		{"base URL", cloudapi.WithBaseURL("https://api.example.com:0"), "has a port that isn't 1 to 65535"},
		{"base URL", cloudapi.WithBaseURL("https://api.example.com\r"), `"https://api.example.com\r" begins or ends with white space`},
		{"base URL", cloudapi.WithBaseURL("'https://u:hunter2@example.com'"), "base URL begins or ends with a quote"},
		{"base URL", cloudapi.WithBaseURL("https://u:hunter2?x@example.com"), "base URL cannot be parsed: its port isn't a number"},
		{"base URL", cloudapi.WithBaseURL("https://hunter2#x@example.com"), "base URL must not have a query or a fragment"},
		{"token", cloudapi.WithToken(`"` + stub.Token + `"`), "token begins or ends with a quote"},
		{"project", cloudapi.WithProject("'" + stub.Project + "'"), "begins or ends with a quote"},
		{"project", cloudapi.WithProject(stub.Project + "\n"), "begins or ends with white space"},
		{"base URL", cloudapi.WithBaseURL("https://u:hunter2@example.com"), "must not have user information"},
		{"base URL", cloudapi.WithBaseURL("https://example.com/?token=hunter2"), "must not have a query"},
		{"base URL", cloudapi.WithBaseURL("https://example.com/?"), "must not have a query"},
		{"base URL", cloudapi.WithBaseURL("https://example.com/#" + stub.Token), "must not have a query or a fragment"},
		{"base URL", cloudapi.WithBaseURL("https://example.com/a/../b"), "has a path whose segment must not be a relative path"},
		{"base URL", cloudapi.WithBaseURL("https://example.com/a//b"), "has a path whose segment must not be empty"},
		{"base URL", cloudapi.WithBaseURL("https://example.com/%2fb"), "has a path whose segment may only contain"},
		{"base URL", cloudapi.WithBaseURL("https://example.com/x:" + stub.Token + "@y"), "has a path whose segment may only contain"},
		{"base URL", cloudapi.WithBaseURL(stub.Token), "must begin with https"},
		{"token", cloudapi.WithToken(""), "must not be empty"},
		{"token", cloudapi.WithToken(stub.Token + "\n"), "position 64 of 64"},
		{"token", cloudapi.WithToken("Bearer " + stub.Token), "position 7 of 70"},
		{"token", cloudapi.WithToken(stub.Token + "é"), "outside ASCII"},
		{"token", cloudapi.WithToken("[redacted]"), "is the masked form of a Secret"},
		{"token source", cloudapi.WithTokenSource(nil), "must not be nil"},
		{"project", cloudapi.WithProject(""), "must be an ID: pj and 24 characters"},
		{"project", cloudapi.WithProject("my-project"), `"my-project" must be an ID: pj and 24 characters`},
		{"project", cloudapi.WithProject(stub.Token), "must be an ID: pj and 24 characters"},
		{"HTTP client", cloudapi.WithHTTPClient(retryablehttp.NewClient().StandardClient()), "use the HTTPClient of its Client, and WithRetry"},
		{"middleware", cloudapi.WithMiddleware(func(http.RoundTripper) http.RoundTripper { return nil }), "must not return nil"},
		{"middleware", cloudapi.WithMiddleware(func(http.RoundTripper) http.RoundTripper { return &retryablehttp.RoundTripper{} }), "would repeat creates"},
		{"header", cloudapi.WithHeader("", stub.Token), "is not a header name"},
		{"header", cloudapi.WithHeader(stub.Token+" ", "x"), "is not a header name"},
		{"header", cloudapi.WithHeader("X-Key", stub.Token+"\r\nX: y"), "control character"},
		{"header", cloudapi.WithHeader("X-Key", "\x7f"), "control character"},
		{"header", cloudapi.WithHeader("Authorization", "Bearer [redacted]"), "is the masked form of a Secret"},
		{"header", cloudapi.WithHeader("user-agent", stub.Token), "is set by the SDK"},
		{"header", cloudapi.WithHeader("te", stub.Token), "is set by the SDK"},
		{"header", cloudapi.WithHeader("idempotency-key", stub.Token), "retry a create"},
		{"header", cloudapi.WithHeader("x-idempotency-key", stub.Token), "retry a create"},
		{"user agent", cloudapi.WithUserAgent("é" + stub.Token), "printable ASCII"},
		{"user agent", cloudapi.WithUserAgent(stub.Token + "\n"), "printable ASCII"},
		{"user agent", cloudapi.WithUserAgent(stub.Token + "\x7f"), "printable ASCII"},
		{"timeout", cloudapi.WithTimeout(-1), "must not be negative"},
		{"retry policy", cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: -1}), "must not have negative values"},
		{"retry policy", cloudapi.WithRetry(cloudapi.RetryPolicy{MinDelay: -1}), "must not have negative values"},
		{"retry policy", cloudapi.WithRetry(cloudapi.RetryPolicy{MaxDelay: -1}), "must not have negative values"},
		{"retry policy", cloudapi.WithRetry(cloudapi.RetryPolicy{MaxRetryAfter: -1}), "must not have negative values"},
		{"retry policy", cloudapi.WithRetry(cloudapi.RetryPolicy{Budget: -1}), "must not have negative values"},
		{"response limit", cloudapi.WithResponseLimit(0), "must be positive"},
		{"prefetch", cloudapi.WithPrefetch(-1), "must be 0 to 100"},
		{"prefetch", cloudapi.WithPrefetch(101), "must be 0 to 100"},
	} {
		client, err := cloudapi.NewClient(cloudapi.WithBaseURL("https://api.example.com"), tt.option)
		argErr, ok := errors.AsType[*cloudapi.ArgumentError](err)
		if client != nil || !ok || !errors.Is(err, cloudapi.ErrInvalidArgument) || argErr.Name != tt.name || argErr.Operation != "" {
			t.Errorf("%s, %s: NewClient = %v, %#v", tt.name, tt.reason, client, err)
			continue
		}
		text := err.Error()
		if !strings.HasPrefix(text, "cloudapi: "+tt.name+" ") || !strings.Contains(text, tt.reason) || strings.Contains(text, "\n") {
			t.Errorf("%s: the error is %q, want %q", tt.name, text, tt.reason)
		}
		if shown := fmt.Sprintf("%#v", argErr); strings.Contains(shown, stub.Token[8:]) || strings.Contains(shown, "hunter2") {
			t.Errorf("%s, %s: the error shows a secret: %#v", tt.name, tt.reason, argErr)
		}
	}
	if c, err := cloudapi.NewClient(cloudapi.WithToken(stub.Token)); err != nil || c.BaseURL() != "https://api.ubicloud.com" {
		t.Errorf("without a base URL: %v, %v", c, err)
	}
	if _, err := cloudapi.NewClient(nil, cloudapi.WithBaseURL("https://api.example.com"), cloudapi.WithLogger(nil), cloudapi.WithLimiter(nil), nil); err != nil {
		t.Errorf("with nil for nothing: %v", err)
	}
}

func TestFromEnv(t *testing.T) {
	var network stub.Recorder
	t.Setenv(cloudapi.EnvBaseURL, "https://env.example.com/api")
	t.Setenv(cloudapi.EnvToken, stub.Token)
	t.Setenv(cloudapi.EnvProject, stub.Project)
	client := stub.Must(cloudapi.NewClient(cloudapi.FromEnv(), cloudapi.WithHTTPClient(&http.Client{Transport: &network})))(t)
	_, _ = client.VMs.List(t.Context(), nil)
	sent := network.Take()
	if len(sent) != 1 || sent[0].Host != "env.example.com" || sent[0].Target != "/api/project/"+stub.Project+"/vm" ||
		sent[0].Header.Get("Authorization") != "Bearer "+stub.Token {
		t.Errorf("sent %+v", sent)
	}

	const other = "pj00000000021g000000000001"
	for _, tt := range []struct {
		name, variable, value string
		opts                  []cloudapi.Option
		baseURL, project      string
		err                   string
	}{
		{"an option after FromEnv holds", "", "", []cloudapi.Option{cloudapi.FromEnv(), cloudapi.WithProject(other)}, "https://env.example.com/api", other, ""},
		{"an empty variable changes nothing", cloudapi.EnvProject, "", []cloudapi.Option{cloudapi.WithProject(other), cloudapi.FromEnv()}, "https://env.example.com/api", other, ""},
		{"without a project", cloudapi.EnvProject, "", []cloudapi.Option{cloudapi.FromEnv()}, "https://env.example.com/api", "", ""},
		{"plain http", cloudapi.EnvBaseURL, "http://cloudapi.internal:8080", []cloudapi.Option{cloudapi.FromEnv()}, "", "",
			"use https, or WithInsecureHTTP(true) or CLOUDAPI_INSECURE_HTTP=true if the network is trusted"},
		{"allowed plain http", cloudapi.EnvInsecureHTTP, "true", []cloudapi.Option{cloudapi.FromEnv()}, "http://cloudapi.internal:8080", "", ""},
		{"which a client without FromEnv doesn't read", "", "", []cloudapi.Option{cloudapi.WithBaseURL("http://cloudapi.internal:8080"), cloudapi.WithToken(stub.Token)}, "", "", "cloudapi: base URL "},
		{"forbidden plain http", cloudapi.EnvInsecureHTTP, "false", []cloudapi.Option{cloudapi.FromEnv()}, "", "", "cloudapi: base URL "},
		{"1 for true", cloudapi.EnvInsecureHTTP, "1", []cloudapi.Option{cloudapi.FromEnv()}, "", "", "cloudapi: CLOUDAPI_INSECURE_HTTP "},
		{"TRUE for true", cloudapi.EnvInsecureHTTP, "TRUE", []cloudapi.Option{cloudapi.FromEnv()}, "", "", "cloudapi: CLOUDAPI_INSECURE_HTTP "},
		{"true behind a blank", cloudapi.EnvInsecureHTTP, " true", []cloudapi.Option{cloudapi.FromEnv()}, "", "", "cloudapi: CLOUDAPI_INSECURE_HTTP "},
		{"not set", cloudapi.EnvInsecureHTTP, "", []cloudapi.Option{cloudapi.FromEnv()}, "", "", "cloudapi: base URL "},
		{"a bad token", cloudapi.EnvToken, stub.Token + "\n", []cloudapi.Option{cloudapi.FromEnv()}, "", "", "cloudapi: CLOUDAPI_TOKEN has a character"},
		{"a quoted token", cloudapi.EnvToken, `"` + stub.Token + `"`, []cloudapi.Option{cloudapi.FromEnv()}, "", "", "cloudapi: CLOUDAPI_TOKEN begins or ends with a quote"},
		{"a quoted address", cloudapi.EnvBaseURL, `"https://api.example.com"`, []cloudapi.Option{cloudapi.FromEnv()}, "", "", `cloudapi: CLOUDAPI_BASE_URL "\"https://api.example.com\"" begins or ends with a quote`},
	} {
		if tt.variable != "" { // it stays set for the following rows
			t.Setenv(tt.variable, tt.value)
		}
		client, err := cloudapi.NewClient(tt.opts...)
		switch {
		case tt.err != "" && (!errors.Is(err, cloudapi.ErrInvalidArgument) || !strings.Contains(err.Error(), tt.err)):
			t.Errorf("%s: %v", tt.name, err)
		case tt.err == "" && (err != nil || client.BaseURL() != tt.baseURL || client.Project() != tt.project):
			t.Errorf("%s: %v, %v", tt.name, client, err)
		}
	}
}

func TestHTTPClientIsNotChanged(t *testing.T) {
	t.Parallel()
	var network stub.Recorder
	hc := &http.Client{Transport: &network, Timeout: 7 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error {
		t.Error("the redirect policy of the caller was asked")
		return nil
	}}
	before := fmt.Sprintf("%+v", hc)
	client := sdktest.Recorded(t, &network, cloudapi.WithTimeout(time.Hour), cloudapi.WithHTTPClient(hc))
	network.Answer = func(req *http.Request) (*http.Response, error) {
		if deadline, ok := req.Context().Deadline(); !ok || time.Until(deadline) > 7*time.Second {
			t.Errorf("the attempt may last until %v", deadline)
		}
		return stub.Respond(302, ""), nil
	}
	_, _ = client.VMs.Get(t.Context(), "eu-central-h1", "web-1")
	if after := fmt.Sprintf("%+v", hc); after != before {
		t.Errorf("the HTTP client was %s and is %s", before, after)
	}
}

// TestWithTransport: the caller's changes apply, and the other defaults stay.
// The client uses HTTP/2 only if a change says so.
func TestWithTransport(t *testing.T) {
	t.Parallel()
	protocols := make(chan string, 1)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		protocols <- req.Proto
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, stub.VM)
	}))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())

	stranger := stub.Must(cloudapi.NewClient(cloudapi.WithBaseURL(server.URL), cloudapi.WithToken(stub.Token), cloudapi.WithProject(stub.Project)))(t)
	defer stranger.CloseIdleConnections()
	client := stub.Must(stranger.With(cloudapi.WithTransport(func(t *http.Transport) { t.TLSClientConfig = &tls.Config{RootCAs: roots} })))(t)
	defer client.CloseIdleConnections()
	var changed *http.Transport
	proxied := stub.Must(client.With(cloudapi.WithTransport(func(t *http.Transport) { t.Proxy, changed = nil, t })))(t)
	defer proxied.CloseIdleConnections()
	if changed.TLSClientConfig == nil || changed.MaxConnsPerHost == 0 || changed.MaxResponseHeaderBytes == 0 {
		t.Errorf("the second change gets %+v", changed)
	}
	http2, err := client.With(cloudapi.WithTransport(func(t *http.Transport) { t.Protocols.SetHTTP2(true) }))
	if err != nil {
		t.Fatal(err)
	}
	defer http2.CloseIdleConnections()
	for c, protocol := range map[*cloudapi.Client]string{client: "HTTP/1.1", proxied: "HTTP/1.1", http2: "HTTP/2.0"} {
		if _, err := c.VMs.Get(t.Context(), "eu-central-h1", "web-1"); err != nil {
			t.Errorf("with the certificate: %v", err)
		} else if got := <-protocols; got != protocol {
			t.Errorf("the server got a request of %s, want %s", got, protocol)
		}
	}
	_, err = stranger.VMs.Get(t.Context(), "eu-central-h1", "web-1")
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); !ok {
		t.Errorf("the client that was not changed: %v", err)
	}
}

// TestTransportOfTheLastOption: the later one of WithTransport and
// WithHTTPClient applies.
func TestTransportOfTheLastOption(t *testing.T) {
	t.Parallel()
	var network stub.Recorder
	changes, closed := 0, errors.New("closed")
	change := cloudapi.WithTransport(func(t *http.Transport) {
		changes++
		t.DialContext = func(context.Context, string, string) (net.Conn, error) { return nil, closed }
	})
	client := stub.Must(cloudapi.NewClient(cloudapi.WithProject(stub.Project), change, cloudapi.WithHTTPClient(&http.Client{Transport: &network}),
		cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1})))(t)
	_, err := client.VMs.List(t.Context(), nil)
	if n := len(network.Take()); n != 1 || changes != 0 {
		t.Errorf("WithHTTPClient at last: %d requests, %d changes, %v", n, changes, err)
	}
	_, err = stub.Must(client.With(change, change))(t).VMs.List(t.Context(), nil)
	if n := len(network.Take()); n != 0 || changes != 2 || !errors.Is(err, closed) {
		t.Errorf("WithTransport at last: %d requests, %d changes, %v", n, changes, err)
	}
}

// TestFromEnvNamesWhatIsMissing: the error names all missing variables, but
// none that another option replaces.
func TestFromEnvNamesWhatIsMissing(t *testing.T) {
	for name, tt := range map[string]struct {
		set  map[string]string
		opts []cloudapi.Option
		want string // the end of the error
	}{
		"nothing set": {nil, nil, "not set in the environment: CLOUDAPI_TOKEN, CLOUDAPI_PROJECT"},
		"no project":  {map[string]string{cloudapi.EnvBaseURL: "https://api.example.com", cloudapi.EnvToken: stub.Token}, nil, "not set in the environment: CLOUDAPI_PROJECT"},
		"the token from elsewhere": {map[string]string{cloudapi.EnvBaseURL: "https://api.example.com"}, []cloudapi.Option{cloudapi.WithToken(stub.Token)},
			"not set in the environment: CLOUDAPI_PROJECT"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, variable := range []string{cloudapi.EnvBaseURL, cloudapi.EnvToken, cloudapi.EnvProject} {
				t.Setenv(variable, tt.set[variable])
			}
			client, err := cloudapi.NewClient(append([]cloudapi.Option{cloudapi.FromEnv()}, tt.opts...)...)
			if err == nil {
				_, err = client.VMs.List(t.Context(), nil)
				if !errors.Is(err, cloudapi.ErrNoProject) {
					t.Errorf("the error is %v, want ErrNoProject", err)
				}
			}
			if !strings.HasSuffix(fmt.Sprint(err), tt.want) {
				t.Errorf("the error is %v, want it to end with %q", err, tt.want)
			}
		})
	}
	client, err := cloudapi.NewClient()
	if err == nil {
		_, err = client.VMs.List(t.Context(), nil)
	}
	if !errors.Is(err, cloudapi.ErrNoProject) || strings.Contains(err.Error(), "not set") {
		t.Errorf("without FromEnv the error is %v", err)
	}
}
