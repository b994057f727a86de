package cloudapi

import (
	"fmt"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/internal/stub"
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
	line("PostgresFollowLogsOptions.Marker.Start", "-"+logsSpan.String())
	line("PostgresFollowLogsOptions.Overlap", logsOverlap)
	if got := b.String(); got != string(want) {
		t.Errorf("testdata/defaults.txt should be\n%s\nIf the change is intended, name it in docs/CHANGELOG.md.", got)
	}
}
