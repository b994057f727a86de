package cloudapi

import (
	"context"
	"fmt"
	"maps"
	"math"
	"net/http"
	"runtime"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/internal/call"
	"github.com/cloudapi-sdk/cloudapi/internal/exchange"
	"github.com/cloudapi-sdk/cloudapi/internal/validate"
)

// conn is what a client's calls share. Services, lists and waits need only this
// part of a [Client].
type conn struct{ config config }

// peers is the same for all copies of a client that send the same requests:
// those that [Client.InProject] returns for one project.
type peers struct {
	loop    *call.Loop
	project string
	plan    *planDoors
}

func (c *conn) peers() peers { return peers{c.config.calls.Loop, c.config.project, c.config.plan} }

// roundTripper returns the transport below the middlewares. It can differ
// between attempts: the program may replace the transport of its http.Client,
// or http.DefaultTransport.
func (cfg *config) roundTripper() http.RoundTripper {
	switch client := cfg.httpClient; {
	case client != nil && client.Transport != nil:
		return client.Transport
	case client == nil && (len(cfg.changes) > 0 || !exchange.IsDefaultReplaced()):
		return cfg.transport.Transport
	}
	return http.DefaultTransport
}

// prepareCalls derives the settings of each call from the client's settings.
func (c *conn) prepareCalls() {
	cfg := &c.config
	calls := &cfg.calls
	calls.Header, calls.Secrets = cfg.headerFunc(), cfg.secretsFunc()
	calls.MaxRetryAfter = cfg.retry.MaxRetryAfter
	calls.Retries = min(cfg.retry.Budget, math.MaxInt32) // more could overflow, since the budget counts fifths of a retry
	calls.Token = nil
	if source := cfg.tokenSource; source != nil && !cfg.hasHeader("Authorization") {
		calls.Token = func(ctx context.Context) (string, error) {
			token, err := source(ctx)
			if err != nil {
				return "", fmt.Errorf("%w: %w", call.ErrTokenSource, unprefixed{err})
			}
			if reason := validate.Token(token); reason != "" {
				return "", fmt.Errorf("token source: %w", unprefixed{optionError("token", "", reason)})
			}
			return token, nil
		}
	}
}

// secretsFunc returns a function that returns the credentials of the client and of
// the proxy, which the response to a request may repeat.
func (cfg *config) secretsFunc() func(*http.Request) []string {
	secrets := []string{cfg.token.Reveal()}
	for _, header := range cfg.headers {
		value := header.value.Reveal()
		secrets = append(secrets, value)
		if _, credentials, found := strings.Cut(value, " "); found && header.name == "Authorization" {
			secrets = append(secrets, credentials)
		}
	}
	return func(req *http.Request) []string {
		return append(exchange.ProxyCredentials(cfg.roundTripper(), req), secrets...)
	}
}

// headerFunc returns a function that returns the headers of a request with or
// without a body.
func (cfg *config) headerFunc() func(hasBody bool) http.Header {
	agent := userAgent
	if cfg.application != "" {
		agent += " " + cfg.application
	}
	values := []string{"application/json", agent, "Bearer " + cfg.token.Reveal()}
	header := http.Header{"Accept": values[:1:1], "User-Agent": values[1:2:2]}
	if !cfg.token.IsZero() {
		header["Authorization"] = values[2:]
	}
	for _, h := range cfg.headers {
		header[h.name] = []string{h.value.Reveal()}
	}
	clone := maps.Clone[http.Header]
	if len(cfg.middleware) > 0 {
		clone = http.Header.Clone // a middleware may write to the values
	}
	return func(hasBody bool) http.Header {
		h := clone(header)
		if hasBody {
			h["Content-Type"] = []string{"application/json"}
		}
		return h
	}
}

// Version is the version of this SDK.
const Version = "0.1.0"

// userAgent is the part of the User-Agent header that all programs share.
var userAgent = "cloudapi/" + Version + " (" + runtime.Version() + "; " + runtime.GOOS + "/" + runtime.GOARCH + ")"

// service is the underlying type of every service.
type service struct{ conn *conn }
