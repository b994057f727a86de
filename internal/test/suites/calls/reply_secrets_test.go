package calls_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/memnet"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestSecretsInResponses: no secret is shown, although some errors of the server
// repeat the request. Only the API's own errors are quoted if the request has a
// secret.
func TestSecretsInResponses(t *testing.T) {
	t.Parallel()
	const password = `pass"word<é>` + "\n" + `of the database`
	quoted := string(stub.JSON(password))
	for _, tt := range []struct {
		name   string
		status int
		body   string
		want   string // text of the error, which must not contain the secret
	}{
		{"message", 400, `{"error":{"code":400,"type":"T","message":"{\"password\": ` + stub.Token + `}","details":null}}`, `{"password": [redacted]}`},
		{"type", 401, `{"error":{"code":401,"type":"` + stub.Token + `","message":"m","details":null}}`, "[redacted]"},
		{"details", 400, `{"error":{"code":400,"type":"T","message":"m","details":{"password":` + quoted + `,"x":["a","` + stub.Token + `"]}}}`, "password: [redacted]; x: a; x: [redacted]"},
		{"password", 400, `{"error":{"code":400,"type":"T","message":` + quoted + `,"details":null}}`, "[redacted]"},
		{"details, spelt differently", 400, `{"error":{"code":400,"type":"T","message":"m","details":{"password":"pass\"word<é>\nof the database"}}}`, "password: [redacted]"},
		{"password in JSON in JSON", 400, `{"error":{"code":400,"type":"T","message":` + string(stub.JSON(quoted)) + `,"details":null}}`, `"[redacted]"`},
		{"details, with a slash escaped", 400, `{"error":{"code":400,"type":"T","message":"m","details":{"x":["gateway\/key"]}}}`, "400 T: m"},
		{"details, all escaped", 400, `{"error":{"code":400,"type":"T","message":"m","details":{"x":["` + stub.EscapeAll(password) + `"]}}}`, "400 T: m"},
		{"no envelope, all escaped", 400, `{"errors":["` + stub.EscapeAll(stub.Token) + `"]}`, "400 Bad Request: \"[redacted]\""},
		{"page", 502, "<h1>" + stub.Token + " gateway-key</h1>", "<h1>[redacted] [redacted]</h1>"},
		{"where an excerpt ends", 502, "<" + strings.Repeat("-", 170) + stub.Token + ">", strings.Repeat("-", 170) + "[redacted]>"},
		{"header and credentials", 400, `{"error":"gateway-key and dXNlcjpwYXNz of Basic dXNlcjpwYXNz"}`, "[redacted] and [redacted] of [redacted]"},
		{"part of another", 400, `{"error":"gateway-key-2 and gateway-key"}`, "[redacted] and [redacted]"},
		{"word of a header", 400, `{"error":"a gate of the department"}`, "of the department"},
		{"short values", 400, `{"error":"port 1 of acme"}`, "port 1 of acme"},
		{"response that isn't a record", 200, `{"id":"of the database"}x`, `{\"id\":\"…\"}x`},
		{"page that is no record", 200, "<" + strings.Repeat("-", 170) + stub.Token + ">", strings.Repeat("-", 170) + "[redacted]>"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			network := replying(tt.status, "application/json", tt.body)
			client := sdktest.Recorded(t, network, cloudapi.WithHeader("X-Key", " gateway-key\t"), cloudapi.WithHeader("X-Key-2", "gateway-key-2"), cloudapi.WithHeader("X-Key-3", "gateway/key"), cloudapi.WithHeader("X-Tenant", "acme"), cloudapi.WithHeader("X-Port", "1"), cloudapi.WithHeader("X-Team", "blue department"),
				cloudapi.WithHeader("Proxy-Authorization", stub.Token))
			if strings.Contains(tt.name, "credentials") {
				var err error
				if client, err = client.With(cloudapi.WithHeader("Authorization", "Basic dXNlcjpwYXNz")); err != nil {
					t.Fatal(err)
				}
			}
			_, err := client.Postgres.ResetSuperuserPassword(t.Context(), "eu-central-h1", "pg-1", cloudapi.NewSecret(password))
			if sent := network.Take(); len(sent) != 1 || sent[0].Body != `{"password":`+quoted+`}` {
				t.Fatalf("sent %+v", sent)
			}
			shown := fmt.Sprintf("%v %+v %#v", err, err, err)
			if !strings.Contains(tt.body, `"type"`) {
				if strings.Contains(err.Error(), tt.want) {
					t.Errorf("the error of a request with a secret is %q", err)
				}
				_, err = client.VMs.Get(t.Context(), "eu-central-h1", "web-1")
				shown += fmt.Sprintf("%v %+v %#v", err, err, err)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %q, want %q", err, tt.want)
			}
			if e, ok := errors.AsType[*cloudapi.Error](err); ok {
				shown += fmt.Sprintf("%s %v %q", e.Details, e.FieldErrors(), stub.JSON(e))
			}
			for _, secret := range []string{stub.Token[:20], "word<", "of the database", "gateway", "dXNlcjpwYXNz"} {
				if strings.Contains(shown, secret) {
					t.Errorf("%q shows in %s", secret, shown)
				}
			}
		})
	}
}

// shown returns everything that fmt prints for an error and the errors that it
// wraps.
func shown(err error) string {
	text := fmt.Sprintf("%v %+v %#v %q\n", err, err, err, err)
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if cause := e.Unwrap(); cause != nil {
			text += shown(cause)
		}
	case interface{ Unwrap() []error }:
		for _, cause := range e.Unwrap() {
			text += shown(cause)
		}
	}
	return text
}

// TestSecretsInInvalidResponses: no secret is shown, although net/http quotes
// malformed responses.
func TestSecretsInInvalidResponses(t *testing.T) {
	t.Parallel()
	for _, reply := range []string{
		"Bearer " + stub.Token + "\r\n\r\n",
		"HTTP/1.1 200 OK\r\nAuthorization Bearer " + stub.Token + "\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: " + stub.Token + "\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: " + stub.Token + "\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Type: text/" + stub.Token + "\r\nContent-Length: 1\r\n\r\n<",
		"HTTP/1.1 " + stub.Token + " OK\r\n\r\n",
		stub.Token + " 200 OK\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: " + stub.Token + "\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n0\r\nX " + stub.Token + "\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Encoding: " + stub.Token + "\r\nContent-Length: 2\r\n\r\n<" + stub.Token,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + stub.Token + "\r\n", // net/http doesn't quote this one
	} {
		synctest.Test(t, func(t *testing.T) {
			p := sdktest.StartPeer(t, func(p *sdktest.Peer, conn net.Conn) {
				p.Read(conn)
				_, _ = io.WriteString(conn, reply)
			})
			var log bytes.Buffer
			client := p.Client(t, cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1}), cloudapi.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
			_, err := client.VMs.Get(t.Context(), "eu-central-h1", "web-1")
			quoted := !strings.Contains(reply, "chunked\r\n\r\n") && !strings.Contains(reply, "Content-Encoding")
			if text := fmt.Sprintf("%s %s %s", shown(err), stub.JSON(err), &log); err == nil || strings.Contains(text, stub.Token) || quoted && !strings.Contains(text, "[redacted]") {
				t.Errorf("after %q: %s", reply, text)
			}
		})
	}
}

// TestCausesThatShowSecrets: a cause that would show a secret still matches
// with errors.Is, but errors.As doesn't find it.
func TestCausesThatShowSecrets(t *testing.T) {
	t.Parallel()
	for name, leak := range map[string]error{
		"text":       errors.New("malformed " + stub.Token),
		"type":       textproto.ProtocolError("malformed " + stub.Token),
		"field":      &echo{stub.Token},
		"incomplete": fmt.Errorf("malformed: %w", &echo{stub.Token}),
		"list":       echoes{stub.Token}, // can't be compared with ==
	} {
		network := stub.Recorder{Answer: func(*http.Request) (*http.Response, error) {
			return nil, fmt.Errorf("no route: %w, %w", leak, syscall.ECONNREFUSED)
		}}
		_, err := sdktest.Recorded(t, &network).VMs.Get(t.Context(), "eu-central-h1", "web-1")
		if text := shown(err); strings.Contains(text, stub.Token) || !strings.Contains(err.Error(), "no route") {
			t.Errorf("%s: %s", name, text)
		}
		if name != "list" && !errors.Is(err, leak) || !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%s: %v does not match", name, err)
		}
		if e, ok := errors.AsType[*echo](err); ok {
			t.Errorf("%s: the cause is %v", name, e)
		}
	}
	network := stub.Recorder{Answer: func(*http.Request) (*http.Response, error) { return nil, syscall.ECONNRESET }}
	_, err := sdktest.Recorded(t, &network).VMs.Get(t.Context(), "eu-central-h1", "web-1")
	if e, ok := errors.AsType[*cloudapi.TransportError](err); !ok || e.Err != error(syscall.ECONNRESET) {
		t.Errorf("an error without secrets becomes %#v", err)
	}
}

// echo is an error whose text doesn't show its field.
type echo struct{ field string }

func (*echo) Error() string { return "echo" }

func (e *echo) Format(s fmt.State, verb rune) {
	if s.Flag('+') {
		io.WriteString(s, e.field)
		return
	}
	io.WriteString(s, "echo")
}

type echoes []string

func (e echoes) Error() string { return strings.Join(e, " ") }

// TestSecretsOfProxies: no credentials are shown if a proxy repeats them.
func TestSecretsOfProxies(t *testing.T) {
	t.Parallel()
	const name, password = "proxy-user", "pass:word/of the proxy"
	secrets := []string{"another-secret", name, password, url.UserPassword(name, password).String(),
		base64.StdEncoding.EncodeToString([]byte(name + ":" + password))}
	said := strings.Join(secrets, " ")
	listener := memnet.Listen()
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		fmt.Fprintf(conn, "HTTP/1.1 407 %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", said, len(said), said)
		conn.Close()
	})}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	through := func(tr *http.Transport) {
		tr.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy.example.com", User: url.UserPassword(name, password)})
		tr.ProxyConnectHeader = http.Header{"Proxy-Authorization": {"Digest another-secret"}}
		tr.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return listener.Dial(ctx) }
	}
	foreign := new(http.Transport)
	through(foreign)
	for _, base := range []string{"https://api.example.com", "http://api.example.com"} {
		for transport, option := range map[string]cloudapi.Option{"own": cloudapi.WithTransport(through), "foreign": cloudapi.WithHTTPClient(&http.Client{Transport: foreign})} {
			client, err := cloudapi.NewClient(cloudapi.WithBaseURL(base), cloudapi.WithToken(stub.Token), cloudapi.WithProject(stub.Project), cloudapi.WithInsecureHTTP(true), option, cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1}))
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.VMs.Get(t.Context(), "eu-central-h1", "web-1")
			text := shown(err)
			for _, secret := range secrets {
				if err == nil || strings.Contains(text, secret) {
					t.Errorf("%s through the %s transport shows %q: %s", base, transport, secret, text)
				}
			}
		}
	}
}

// TestDetailsStayJSON: masking a secret that looks like a number leaves JSON.
func TestDetailsStayJSON(t *testing.T) {
	t.Parallel()
	network := replying(400, "application/json", `{"error":{"code":400,"type":"T","message":"m","details":{"pin":12345678}}}`)
	_, err := sdktest.Recorded(t, network, cloudapi.WithHeader("X-PIN", "12345678")).VMs.Get(t.Context(), "eu-central-h1", "web-1")
	e, ok := errors.AsType[*cloudapi.Error](err)
	if !ok || e.Details != nil || e.Type != "T" || e.Message != "m" {
		t.Errorf("the error is %#v", err)
	}
}
