package cloudapi

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// sendOne returns the request that a client with the options sends.
func sendOne(t *testing.T, opts ...Option) stub.Request {
	t.Helper()
	var network stub.Recorder
	_, err := recorded(t, &network, opts...).VMs.Get(t.Context(), "eu-central-h1", "web-1")
	sent := network.Take()
	if len(sent) != 1 {
		t.Fatalf("%d requests were sent: %v", len(sent), err)
	}
	return sent[0]
}

func TestUserAgent(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^cloudapi/\d+\.\d+\.\d+ \(go[^;()]+; [a-z0-9]+/[a-z0-9]+\)(.*)$`)
	for _, application := range []string{"", "backup-job/1.4", "a/1 (b; c)"} {
		got := sendOne(t, WithUserAgent(application)).Header.Get("User-Agent")
		parts := form.FindStringSubmatch(got)
		if parts == nil || strings.TrimPrefix(parts[1], " ") != application {
			t.Errorf("with the application %q it is %q", application, got)
		}
	}
}

func TestWithHeader(t *testing.T) {
	t.Parallel()
	source := WithTokenSource(func(context.Context) (string, error) {
		t.Error("the token source was asked for nothing")
		return "", nil
	})
	for _, tt := range []struct {
		name   string
		opts   []Option
		header string
		want   []string
	}{
		{"added", []Option{WithHeader("x-tenant", "acme")}, "X-Tenant", []string{"acme"}},
		{"the later one holds", []Option{WithHeader("X-Tenant", "a"), WithHeader("x-tenant", "b")}, "X-Tenant", []string{"b"}},
		{"in place of the token", []Option{WithHeader("authorization", "Basic dXNlcg==")}, "Authorization", []string{"Basic dXNlcg=="}},
		{"in place of the token source", []Option{source, WithHeader("Authorization", "Basic dXNlcg==")}, "Authorization", []string{"Basic dXNlcg=="}},
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
		client := recorded(t, &network, WithBaseURL(tt.address))
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
	token, header := WithToken(stub.Token), WithHeader("X-Key", stub.Token)
	source := WithTokenSource(func(context.Context) (string, error) { return stub.Token, nil })
	for _, tt := range []struct {
		address string
		opts    []Option
		ok      bool
	}{
		{"http://api.example.com", []Option{token}, false},
		{"http://api.example.com", []Option{source}, false},
		{"http://api.example.com", []Option{header}, false},
		{"http://localhost.example.com", []Option{token}, false},
		{"http://127.0.0.1.example.com", []Option{token}, false},
		{"http://10.0.0.1", []Option{token}, false},
		{"http://api.example.com", nil, true},
		{"http://api.example.com", []Option{token, WithInsecureHTTP()}, true},
		{"http://localhost:8080", []Option{token}, true},
		{"http://LOCALHOST:8080", []Option{token}, true},
		{"http://api.localhost", []Option{token}, true},
		{"http://127.8.9.10:80", []Option{token}, true},
		{"http://[::1]:80", []Option{token}, true},
		{"https://api.example.com", []Option{token}, true},
	} {
		_, err := NewClient(append([]Option{WithBaseURL(tt.address)}, tt.opts...)...)
		if (err == nil) != tt.ok || err != nil && !errors.Is(err, ErrInvalidArgument) {
			t.Errorf("%s with %d options: %v", tt.address, len(tt.opts), err)
		}
	}
	client := stub.Must(NewClient(WithBaseURL("http://api.example.com")))(t)
	if _, err := client.With(token); !errors.Is(err, ErrInvalidArgument) {
		t.Errorf("With adds a token to plain http: %v", err)
	}
}

func TestInvalidOptions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string // of the option in the error
		option Option
		reason string
	}{
		{"base URL", WithBaseURL(""), "has no scheme: it must begin with https"},
		{"base URL", WithBaseURL("api.example.com"), `"api.example.com" has no scheme: it must begin with https`},
		{"base URL", WithBaseURL("127.0.0.1:8080"), `"127.0.0.1:8080" has no scheme: it must begin with https:// or http://`},
		{"base URL", WithBaseURL("localhost:8080/api"), `"localhost:8080/api" has no scheme`},
		{"base URL", WithBaseURL("user:" + stub.Token + "@example.com"), "base URL has no scheme"},
		{"base URL", WithBaseURL("ftp://api.example.com"), `"ftp://api.example.com" must begin`},
		{"base URL", WithBaseURL("https://"), "has no host"},
		{"base URL", WithBaseURL("https://:443"), "has no host"},
		{"base URL", WithBaseURL("https:/" + stub.Token + "@example.com"), "has no host"},
		{"base URL", WithBaseURL("https://user:" + stub.Token + "@example.com"), "must not have user information"},
		{"base URL", WithBaseURL("https://user:" + stub.Token + "@exa mple.com"), "cannot be parsed"},
		{"base URL", WithBaseURL("https://example.com:port"), "cannot be parsed"},
		{"base URL", WithBaseURL("https://example.com/?token=" + stub.Token), "must not have a query"},
		{"base URL", WithBaseURL("https://example.com?"), "must not have a query"},
		{"base URL", WithBaseURL("https://example.com/#" + stub.Token), "must not have a query or a fragment"},
		{"base URL", WithBaseURL("https://example.com/a//b"), "has a path whose segment must not be empty"},
		{"base URL", WithBaseURL("https://example.com/a/../b"), "has a path whose segment must not be a relative path"},
		{"base URL", WithBaseURL("https://example.com/a%2Fb"), "has a path whose segment may only contain"},
		{"base URL", WithBaseURL("https://example.com/x:" + stub.Token + "@y"), "has a path whose segment may only contain"},
		{"base URL", WithBaseURL(stub.Token), "must begin with https"},
		{"token", WithToken(""), "must not be empty"},
		{"token", WithToken(stub.Token + "\n"), "position 64 of 64"},
		{"token", WithToken("Bearer " + stub.Token), "position 7 of 70"},
		{"token", WithToken(stub.Token + "é"), "outside ASCII"},
		{"token source", WithTokenSource(nil), "must not be nil"},
		{"project", WithProject(""), "must be an ID: pj and 24 characters"},
		{"project", WithProject("my-project"), `"my-project" must be an ID: pj and 24 characters`},
		{"project", WithProject(stub.VMID), "must be an ID: pj and 24 characters"},
		{"project", WithProject(stub.Token), "must be an ID: pj and 24 characters"},
		{"HTTP client", WithHTTPClient(nil), "must not be nil"},
		{"HTTP client", WithHTTPClient(retryablehttp.NewClient().StandardClient()), "use the HTTPClient of its Client, and WithRetry"},
		{"transport", WithTransport(nil), "must not be nil"},
		{"middleware", WithMiddleware(nil), "must not be nil"},
		{"middleware", WithMiddleware(func(http.RoundTripper) http.RoundTripper { return nil }), "must not return nil"},
		{"middleware", WithMiddleware(func(http.RoundTripper) http.RoundTripper { return &retryablehttp.RoundTripper{} }), "would repeat creates"},
		{"observer", WithObserver(nil), "must not be nil"},
		{"header", WithHeader("", stub.Token), "is not a header name"},
		{"header", WithHeader("X Key", stub.Token), "is not a header name"},
		{"header", WithHeader("X-Key:", stub.Token), "is not a header name"},
		{"header", WithHeader("X-Kéy", stub.Token), "is not a header name"},
		{"header", WithHeader(stub.Token+" ", "x"), "is not a header name"},
		{"header", WithHeader("X-Key", stub.Token+"\r\nX: y"), "control character"},
		{"header", WithHeader("X-Key", stub.Token+"\x7f"), "control character"},
		{"header", WithHeader("user-agent", stub.Token), "is set by the SDK"},
		{"header", WithHeader("content-type", stub.Token), "is set by the SDK"},
		{"header", WithHeader("Host", stub.Token), "is set by the SDK"},
		{"header", WithHeader("idempotency-key", stub.Token), "retry a create"},
		{"header", WithHeader("X-Idempotency-Key", stub.Token), "retry a create"},
		{"user agent", WithUserAgent("a\nb"), "printable ASCII"},
		{"user agent", WithUserAgent("é" + stub.Token), "printable ASCII"},
		{"timeout", WithTimeout(-1), "must not be negative"},
		{"retry policy", WithRetry(RetryPolicy{MaxAttempts: -1}), "must not have negative values"},
		{"retry policy", WithRetry(RetryPolicy{MinDelay: -1}), "must not have negative values"},
		{"retry policy", WithRetry(RetryPolicy{MaxDelay: -1}), "must not have negative values"},
		{"retry policy", WithRetry(RetryPolicy{MaxRetryAfter: -1}), "must not have negative values"},
		{"response limit", WithResponseLimit(0), "must be positive"},
		{"prefetch", WithPrefetch(-1), "must be 0 to 100"},
		{"prefetch", WithPrefetch(101), "must be 0 to 100"},
	} {
		client, err := NewClient(WithBaseURL("https://api.example.com"), tt.option)
		argErr, ok := errors.AsType[*ArgumentError](err)
		if client != nil || !ok || !errors.Is(err, ErrInvalidArgument) || argErr.Name != tt.name || argErr.Operation != "" {
			t.Errorf("%s, %s: NewClient = %v, %#v", tt.name, tt.reason, client, err)
			continue
		}
		text := err.Error()
		if !strings.HasPrefix(text, "cloudapi: "+tt.name+" ") || !strings.Contains(text, tt.reason) || strings.Contains(text, "\n") {
			t.Errorf("%s: the error is %q, want %q", tt.name, text, tt.reason)
		}
		if strings.Contains(fmt.Sprintf("%#v", argErr), stub.Token[8:]) {
			t.Errorf("%s, %s: the error shows the token: %#v", tt.name, tt.reason, argErr)
		}
	}
	if c, err := NewClient(WithToken(stub.Token)); err != nil || c.BaseURL() != "https://api.ubicloud.com" {
		t.Errorf("without a base URL: %v, %v", c, err)
	}
	if _, err := NewClient(nil, WithBaseURL("https://api.example.com"), WithLogger(nil), WithLimiter(nil), nil); err != nil {
		t.Errorf("with nil for nothing: %v", err)
	}
}

func TestTokenInThePlaceOfTheProjectIsNotShown(t *testing.T) {
	t.Parallel()
	var network stub.Recorder
	_, err := recorded(t, &network).InProject(stub.Token).VMs.List(t.Context(), nil)
	if !errors.Is(err, ErrInvalidArgument) || strings.Contains(fmt.Sprintf("%#v", err), stub.Token[8:]) {
		t.Errorf("the error is %#v", err)
	}
}

func TestFromEnv(t *testing.T) {
	var network stub.Recorder
	transport := WithHTTPClient(&http.Client{Transport: &network})
	t.Setenv(EnvBaseURL, "https://env.example.com/api")
	t.Setenv(EnvToken, stub.Token)
	t.Setenv(EnvProject, stub.Project)

	client, err := NewClient(FromEnv(), transport)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = client.VMs.List(t.Context(), nil)
	sent := network.Take()
	if len(sent) != 1 || sent[0].Host != "env.example.com" || sent[0].Target != "/api/project/"+stub.Project+"/vm" ||
		sent[0].Header.Get("Authorization") != "Bearer "+stub.Token {
		t.Errorf("sent %+v", sent)
	}

	client, err = NewClient(FromEnv(), WithProject("pj00000000021g000000000001"))
	if err != nil || client.Project() != "pj00000000021g000000000001" {
		t.Errorf("an option behind FromEnv does not hold: %v, %v", client, err)
	}

	t.Setenv(EnvProject, "")
	if client, err = NewClient(WithProject(stub.Project), FromEnv()); err != nil || client.Project() != stub.Project {
		t.Errorf("an empty variable changes something: %v, %v", client, err)
	}
	os.Unsetenv(EnvProject)
	if client, err = NewClient(FromEnv()); err != nil || client.Project() != "" {
		t.Errorf("without the variable the project is %v, %v", client, err)
	}

	t.Setenv(EnvBaseURL, "http://cloudapi.internal:8080")
	if _, err = NewClient(FromEnv()); err == nil || !strings.HasSuffix(err.Error(), "use https, or WithInsecureHTTP or CLOUDAPI_INSECURE_HTTP=true if the network is trusted") {
		t.Errorf("plain http is refused with %v", err)
	}
	t.Setenv(EnvInsecureHTTP, "true")
	if client, err = NewClient(FromEnv()); err != nil || client.BaseURL() != "http://cloudapi.internal:8080" {
		t.Errorf("plain http that the environment allows: %v, %v", client, err)
	}
	if _, err = NewClient(WithBaseURL("http://cloudapi.internal:8080"), WithToken(stub.Token)); err == nil {
		t.Error("the environment allows plain http to a client that does not read it")
	}
	for _, value := range []string{"false", "1", "yes", "TRUE", " true"} {
		t.Setenv(EnvInsecureHTTP, value)
		want := "cloudapi: CLOUDAPI_INSECURE_HTTP "
		if value == "false" {
			want = "cloudapi: base URL "
		}
		if _, err = NewClient(FromEnv()); !errors.Is(err, ErrInvalidArgument) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q is reported as %v", value, err)
		}
	}
	t.Setenv(EnvInsecureHTTP, "")

	t.Setenv(EnvToken, stub.Token+"\n")
	if _, err = NewClient(FromEnv()); !errors.Is(err, ErrInvalidArgument) || !strings.HasPrefix(err.Error(), "cloudapi: CLOUDAPI_TOKEN has a character") {
		t.Errorf("a bad token is reported as %v", err)
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
	client := recorded(t, &network, WithTimeout(time.Hour), WithHTTPClient(hc))
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

	stranger := stub.Must(NewClient(WithBaseURL(server.URL), WithToken(stub.Token), WithProject(stub.Project)))(t)
	defer stranger.CloseIdleConnections()
	client := stub.Must(stranger.With(WithTransport(func(t *http.Transport) { t.TLSClientConfig = &tls.Config{RootCAs: roots} })))(t)
	defer client.CloseIdleConnections()
	var changed *http.Transport
	proxied := stub.Must(client.With(WithTransport(func(t *http.Transport) { t.Proxy, changed = nil, t })))(t)
	defer proxied.CloseIdleConnections()
	if changed.TLSClientConfig == nil || changed.MaxConnsPerHost == 0 || changed.MaxResponseHeaderBytes == 0 {
		t.Errorf("the second change gets %+v", changed)
	}
	http2, err := client.With(WithTransport(func(t *http.Transport) { t.Protocols.SetHTTP2(true) }))
	if err != nil {
		t.Fatal(err)
	}
	defer http2.CloseIdleConnections()
	for c, protocol := range map[*Client]string{client: "HTTP/1.1", proxied: "HTTP/1.1", http2: "HTTP/2.0"} {
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

// TestTransportOfTheLastOption: of WithTransport and WithHTTPClient the later
// one applies.
func TestTransportOfTheLastOption(t *testing.T) {
	t.Parallel()
	var network stub.Recorder
	changes := 0
	change := WithTransport(func(*http.Transport) { changes++ })
	client, err := NewClient(WithBaseURL("https://api.example.com"), WithProject(stub.Project), change, WithHTTPClient(&http.Client{Transport: &network}))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = client.VMs.List(t.Context(), nil)
	if n := len(network.Take()); n != 1 || changes != 0 {
		t.Errorf("WithHTTPClient at last: %d requests, %d changes", n, changes)
	}
	if client, err = client.With(change, change); err != nil {
		t.Fatal(err)
	}
	if client.config.httpClient != nil || changes != 2 {
		t.Errorf("WithTransport at last: %v after %d changes", client.config.httpClient, changes)
	}
}

// TestWithLeavesTheOriginal: no setting of a client changes when a copy of it
// gets others.
func TestWithLeavesTheOriginal(t *testing.T) {
	t.Parallel()
	var first, second stub.Recorder
	client := recorded(t, &first, WithHeader("X-A", "1"))
	before := fmt.Sprintf("%+v", client.config)
	if _, err := client.With(
		WithBaseURL("https://other.example.com"), WithToken("other"), WithProject("pj00000000021g000000000001"),
		WithHTTPClient(&http.Client{Transport: &second, Timeout: time.Hour}), WithHeader("X-A", "2"), WithHeader("X-B", "3"),
		WithUserAgent("job/1"), WithPrefetch(3), WithResponseLimit(1), WithInsecureHTTP(),
	); err != nil {
		t.Fatal(err)
	}
	if after := fmt.Sprintf("%+v", client.config); after != before {
		t.Errorf("the configuration was\n%s and is\n%s", before, after)
	}
}

// TestFromEnvNamesWhatIsMissing: the error names all missing variables, but
// none that another option replaces.
func TestFromEnvNamesWhatIsMissing(t *testing.T) {
	for name, tt := range map[string]struct {
		set  map[string]string
		opts []Option
		want string // the end of the error
	}{
		"nothing set": {nil, nil, "not set in the environment: CLOUDAPI_TOKEN, CLOUDAPI_PROJECT"},
		"no project":  {map[string]string{EnvBaseURL: "https://api.example.com", EnvToken: stub.Token}, nil, "not set in the environment: CLOUDAPI_PROJECT"},
		"no token or project": {map[string]string{EnvBaseURL: "https://api.example.com"}, nil,
			"not set in the environment: CLOUDAPI_TOKEN, CLOUDAPI_PROJECT"},
		"the token from elsewhere": {map[string]string{EnvBaseURL: "https://api.example.com"}, []Option{WithToken(stub.Token)},
			"not set in the environment: CLOUDAPI_PROJECT"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, variable := range []string{EnvBaseURL, EnvToken, EnvProject} {
				t.Setenv(variable, tt.set[variable])
			}
			client, err := NewClient(append([]Option{FromEnv()}, tt.opts...)...)
			if err == nil {
				_, err = client.VMs.List(t.Context(), nil)
				if !errors.Is(err, ErrNoProject) {
					t.Errorf("the error is %v, want ErrNoProject", err)
				}
			}
			if !strings.HasSuffix(fmt.Sprint(err), tt.want) {
				t.Errorf("the error is %v, want it to end with %q", err, tt.want)
			}
		})
	}
	client, err := NewClient()
	if err == nil {
		_, err = client.VMs.List(t.Context(), nil)
	}
	if !errors.Is(err, ErrNoProject) || strings.Contains(err.Error(), "not set") {
		t.Errorf("without FromEnv the error is %v", err)
	}
}
