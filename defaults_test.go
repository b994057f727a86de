package cloudapi

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestDefaults compares the defaults with testdata/defaults.txt. A default that
// changes can break programs as a changed function can: change the file, and add
// a line to docs/CHANGELOG.md that names it.
func TestDefaults(t *testing.T) {
	t.Parallel()
	want := stub.Must(os.ReadFile("testdata/defaults.txt"))(t)
	var b strings.Builder
	line := func(name string, value any) { fmt.Fprintf(&b, "%s: %v\n", name, value) }
	config := defaultConfig()
	line("WithTimeout", config.calls.Timeout)
	line("WithResponseLimit", config.calls.MaxResponse)
	line("WithPrefetch", config.prefetch)
	line("WithInsecureHTTP", config.insecureHTTP)
	set := func(format string, settings reflect.Value) { // prints the fields that are set
		for field, value := range settings.Fields() {
			if field.IsExported() && !value.IsZero() {
				line(fmt.Sprintf(format, field.Name), value)
			}
		}
	}
	set("RetryPolicy.%s", reflect.ValueOf(config.retry))
	transport := stub.Must(NewClient(WithToken(stub.Token)))(t).config.roundTripper().(*http.Transport)
	set("WithTransport.HTTP2.%s", reflect.ValueOf(transport.HTTP2).Elem())
	transport.HTTP2, transport.Proxy, transport.OnProxyConnectResponse, transport.DialContext, transport.TLSClientConfig = nil, nil, nil, nil, nil
	set("WithTransport.%s", reflect.ValueOf(transport).Elem())
	line("ListOptions.PageSize of All", maxPageSize)
	set("WaitOptions.%s of VMs and networks", reflect.ValueOf(waitQuick))
	set("WaitOptions.%s of others", reflect.ValueOf(waitSlow))
	watch := new(WatchOptions).withDefaults()
	line("WatchOptions.Interval", watch.Interval)
	line("WatchOptions.MaxInterval", watch.MaxInterval)
	line("PostgresLogsOptions.PageSize of AllLogs", maxLogLines)
	line("PostgresLogsOptions.Start of AllLogs", "-"+logsSpan.String())
	line("FollowOptions.Marker.Start", "-"+logsSpan.String())
	line("FollowOptions.Overlap", logsOverlap)
	if got := b.String(); got != string(want) {
		t.Errorf("testdata/defaults.txt should be\n%s\nIf the change is intended, name it in docs/CHANGELOG.md.", got)
	}
}

// TestNilOptions: an option with a nil value takes back earlier ones.
func TestNilOptions(t *testing.T) {
	t.Parallel()
	observer := func(ctx context.Context, _ Operation) (context.Context, func(error)) { return ctx, nil }
	middleware := func(next http.RoundTripper) http.RoundTripper { return next }
	client := &http.Client{Timeout: time.Second}
	for name, options := range map[string][]Option{
		"WithHTTPClient":   {WithHTTPClient(client), WithHTTPClient(nil)},
		"WithInsecureHTTP": {WithInsecureHTTP(true), WithInsecureHTTP(false)},
		"WithLimiter":      {WithLimiter(noLimit{}), WithLimiter(nil)},
		"WithLogger":       {WithLogger(slog.Default()), WithLogger(nil)},
		"WithMiddleware":   {WithMiddleware(middleware, middleware), WithMiddleware(nil)},
		"WithObserver":     {WithObserver(observer), WithObserver(observer, nil)},
		"WithTransport":    {WithTransport(func(*http.Transport) {}), WithTransport(nil)},
		"both":             {WithHTTPClient(client), WithTransport(nil)},
	} {
		config := defaultConfig()
		for i, option := range options {
			if err := option(&config); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if isDefault := fmt.Sprintf("%+v", config) == fmt.Sprintf("%+v", defaultConfig()); isDefault != (i == len(options)-1) {
				t.Errorf("%s: after option %d it is %+v", name, i, config)
			}
		}
	}
	config := defaultConfig()
	if WithMiddleware(middleware, nil, middleware)(&config); len(config.middleware) != 1 {
		t.Errorf("%d middlewares are left after a nil and another one", len(config.middleware))
	}
}

type noLimit struct{}

func (noLimit) Wait(context.Context) error { return nil }
