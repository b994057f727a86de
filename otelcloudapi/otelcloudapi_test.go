package otelcloudapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
	"github.com/cloudapi-sdk/cloudapi/otelcloudapi"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

const (
	location  = "eu-central-h1"
	listRoute = "/project/{project_id}/vm"
	vmRoute   = "/project/{project_id}/location/{location}/vm/{vm_reference}"
)

// telemetry keeps what is reported.
type telemetry struct {
	spans   *tracetest.SpanRecorder
	tracers *sdktrace.TracerProvider
	metrics *metric.ManualReader
	meters  *metric.MeterProvider
}

func newTelemetry() *telemetry {
	spans, metrics := tracetest.NewSpanRecorder(), metric.NewManualReader()
	return &telemetry{
		spans: spans, tracers: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)),
		metrics: metrics, meters: metric.NewMeterProvider(metric.WithReader(metrics)),
	}
}

func (tel *telemetry) instrument(opts ...otelcloudapi.Option) cloudapi.Option {
	return otelcloudapi.Instrument(append(opts,
		otelcloudapi.WithTracerProvider(tel.tracers), otelcloudapi.WithMeterProvider(tel.meters))...)
}

// tree returns the ended spans, each with its attributes, below its parent.
func (tel *telemetry) tree() string {
	var b strings.Builder
	ended := tel.spans.Ended()
	var write func(parent trace.SpanID, indent string)
	write = func(parent trace.SpanID, indent string) {
		for _, span := range ended {
			if span.Parent().SpanID() != parent {
				continue
			}
			fmt.Fprintf(&b, "%s%s %s%s\n", indent, span.SpanKind(), span.Name(), texts(span.Attributes()))
			if failed := span.Status().Code == codes.Error; failed != hasError(span.Attributes()) {
				fmt.Fprintf(&b, "%s  its status is %v\n", indent, span.Status())
			}
			write(span.SpanContext().SpanID(), indent+"  ")
		}
	}
	write(trace.SpanID{}, "")
	return b.String()
}

func hasError(attributes []attribute.KeyValue) bool {
	return slices.ContainsFunc(attributes, func(a attribute.KeyValue) bool { return a.Key == "error.type" })
}

// texts returns attributes in order, without those that are always the same.
func texts(attributes []attribute.KeyValue) string {
	var parts []string
	for _, a := range attributes {
		switch a.Key {
		case "http.request.method", "server.address", "server.port", "url.template", "network.protocol.version", "cloudapi.operation":
		default:
			parts = append(parts, fmt.Sprintf(" %s=%s", a.Key, a.Value.String()))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, "")
}

// histograms returns the metrics, with their attributes and counts.
func (tel *telemetry) histograms(t *testing.T) map[string]uint64 {
	t.Helper()
	counts := map[string]uint64{}
	for name, histogram := range tel.collect(t) {
		for _, point := range histogram.DataPoints {
			counts[name+texts(point.Attributes.ToSlice())] += point.Count
		}
	}
	return counts
}

func (tel *telemetry) collect(t *testing.T) map[string]metricdata.Histogram[float64] {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := tel.metrics.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	histograms := map[string]metricdata.Histogram[float64]{}
	for _, s := range all.ScopeMetrics {
		for _, m := range s.Metrics {
			if m.Unit != "s" || m.Description == "" {
				t.Errorf("%s has the unit %q and the description %q", m.Name, m.Unit, m.Description)
			}
			histograms[m.Name] = m.Data.(metricdata.Histogram[float64])
		}
	}
	return histograms
}

// TestSpansAndMetrics makes calls that end in every way. Each span is counted in
// a metric.
func TestSpansAndMetrics(t *testing.T) {
	t.Parallel()
	get := func(ctx context.Context, c *cloudapi.Client) error {
		_, err := c.VMs.List(ctx, nil)
		return err
	}
	create := func(ctx context.Context, c *cloudapi.Client) error {
		_, err := c.PrivateSubnets.Create(ctx, location, "backend", nil)
		return err
	}
	const createSpan = "client POST /project/{project_id}/location/{location}/private-subnet/{private_subnet_reference}"
	unavailable := cloudapitest.Reply(http.StatusServiceUnavailable, nil, "")
	for _, tt := range []struct {
		name    string
		faults  []cloudapitest.Fault
		options []cloudapi.Option
		call    func(context.Context, *cloudapi.Client) error
		spans   []string
	}{{
		name:  "success",
		call:  get,
		spans: []string{"internal VMs.List cloudapi.attempts=1", "  client GET " + listRoute + " http.response.status_code=200"},
	}, {
		name:   "success after retries",
		faults: []cloudapitest.Fault{unavailable, cloudapitest.DropBefore()},
		call:   get,
		spans: []string{
			"internal VMs.List cloudapi.attempts=3",
			"  client GET " + listRoute + " error.type=503 http.response.status_code=503",
			"  client GET " + listRoute + " error.type=connection_closed http.request.resend_count=1",
			"  client GET " + listRoute + " http.request.resend_count=2 http.response.status_code=200",
		},
	}, {
		name: "not found",
		call: func(ctx context.Context, c *cloudapi.Client) error {
			_, err := c.VMs.Get(ctx, location, "nobody")
			return err
		},
		spans: []string{"internal VMs.Get cloudapi.attempts=1 error.type=404", "  client GET " + vmRoute + " error.type=404 http.response.status_code=404"},
	}, {
		name:   "create whose reply is lost",
		faults: []cloudapitest.Fault{cloudapitest.DropAfter()},
		call:   create,
		spans: []string{
			"internal PrivateSubnets.Create cloudapi.attempts=1 cloudapi.outcome_unknown=true error.type=connection_closed",
			"  " + createSpan + " error.type=connection_closed",
		},
	}, {
		name:   "reply that is cut off",
		faults: []cloudapitest.Fault{cloudapitest.Truncate(5)},
		call:   create,
		spans: []string{
			"internal PrivateSubnets.Create cloudapi.attempts=1 cloudapi.outcome_unknown=true error.type=invalid_response",
			"  " + createSpan + " error.type=connection_closed http.response.status_code=200",
		},
	}, {
		name:   "reply that is no JSON",
		faults: []cloudapitest.Fault{cloudapitest.Reply(http.StatusOK, http.Header{"Content-Type": {"text/html"}}, "<html>")},
		call:   get,
		spans:  []string{"internal VMs.List cloudapi.attempts=1 error.type=invalid_response", "  client GET " + listRoute + " http.response.status_code=200"},
	}, {
		name:    "attempt that takes too long",
		faults:  []cloudapitest.Fault{cloudapitest.Delay(time.Hour)},
		options: []cloudapi.Option{cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1})},
		call:    get,
		spans:   []string{"internal VMs.List cloudapi.attempts=1 error.type=timeout", "  client GET " + listRoute + " error.type=timeout"},
	}, {
		name:    "attempt that takes too long after a response",
		faults:  []cloudapitest.Fault{unavailable, cloudapitest.Delay(time.Hour)},
		options: []cloudapi.Option{cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 2})},
		call:    get,
		spans: []string{
			"internal VMs.List cloudapi.attempts=2 error.type=timeout",
			"  client GET " + listRoute + " error.type=503 http.response.status_code=503",
			"  client GET " + listRoute + " error.type=timeout http.request.resend_count=1",
		},
	}, {
		name: "call that is canceled before it begins",
		call: func(ctx context.Context, c *cloudapi.Client) error {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return get(ctx, c)
		},
		spans: []string{"internal VMs.List cloudapi.attempts=0 error.type=canceled"},
	}, {
		name: "endpoint without a method",
		call: func(ctx context.Context, c *cloudapi.Client) error {
			return errors.Join(
				c.Do(ctx, "GET", []string{"audit", "secret-segment"}, nil, nil, nil),
				c.Do(ctx, "PURGE", []string{"audit"}, nil, nil, nil))
		},
		spans: []string{
			"internal Do cloudapi.attempts=1 error.type=404", "  client GET error.type=404 http.response.status_code=404",
			"internal Do cloudapi.attempts=1 error.type=404", "  client HTTP error.type=404 http.response.status_code=404",
		},
	}, {
		name: "call that is refused",
		call: func(ctx context.Context, c *cloudapi.Client) error {
			_, err := c.VMs.Get(ctx, location, "..")
			return err
		},
	}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv, tel := cloudapitest.New(t, cloudapitest.Lenient()), newTelemetry()
				if tt.faults != nil {
					srv.Fail(cloudapitest.Match{}, tt.faults...)
				}
				client := srv.Client(append(tt.options, tel.instrument())...)
				_ = tt.call(t.Context(), client) // what it returns is what the spans say
				if got, want := tel.tree(), strings.Join(append(tt.spans, ""), "\n"); got != want {
					t.Errorf("the spans are\n%s, want\n%s", got, want)
				}
				metrics := map[string]uint64{}
				for _, span := range tt.spans {
					metrics[metricOf(span)]++
				}
				if got := tel.histograms(t); !maps.Equal(got, metrics) {
					t.Errorf("the metrics are\n%v, want\n%v", got, metrics)
				}
				srv.Close()
			})
		})
	}
}

// metricOf returns the metric that counts what a span shows. It has the span's
// attributes that have few values.
func metricOf(span string) string {
	metric := "http.client.request.duration"
	if strings.HasPrefix(span, "internal ") {
		metric = "cloudapi.client.operation.duration"
	}
	for _, word := range strings.Fields(span) {
		if strings.HasPrefix(word, "error.type=") || strings.HasPrefix(word, "http.response.status_code=") {
			metric += " " + word
		}
	}
	return metric
}

// TestConventions checks the remaining conventions.
func TestConventions(t *testing.T) {
	t.Parallel()
	srv, tel := cloudapitest.New(t), newTelemetry()
	client := srv.Client(tel.instrument())
	stub.Must(client.VMs.List(t.Context(), nil))(t)
	spans := tel.spans.Ended()
	want := map[attribute.Key]string{
		"http.request.method": "GET", "server.address": "api.localhost", "server.port": "80",
		"url.template": listRoute, "http.response.status_code": "200", "network.protocol.version": "1.1",
	}
	if got := asMap(spans[0].Attributes()); !maps.Equal(got, want) {
		t.Errorf("the attempt has %v, want %v", got, want)
	}
	if got := asMap(spans[1].Attributes()); !maps.Equal(got, map[attribute.Key]string{"cloudapi.operation": "VMs.List", "cloudapi.attempts": "1"}) {
		t.Errorf("the call has %v", got)
	}
	if s := spans[0].InstrumentationScope(); s.Version != cloudapi.Version || !strings.HasPrefix(s.SchemaURL, "https://opentelemetry.io/schemas/") {
		t.Errorf("the scope is %+v", s)
	}
	histograms := tel.collect(t)
	attempts := histograms["http.client.request.duration"].DataPoints[0]
	if got := asMap(attempts.Attributes.ToSlice()); !maps.Equal(got, want) {
		t.Errorf("the attempt's duration has %v, want %v", got, want)
	}
	if want := []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}; !slices.Equal(attempts.Bounds, want) {
		t.Errorf("the buckets are %v", attempts.Bounds)
	}
	calls := histograms["cloudapi.client.operation.duration"].DataPoints[0]
	if got := asMap(calls.Attributes.ToSlice()); !maps.Equal(got, map[attribute.Key]string{"cloudapi.operation": "VMs.List"}) {
		t.Errorf("the call's duration has %v", got)
	}
	if attempts.Sum <= 0 || attempts.Sum > calls.Sum {
		t.Errorf("the attempt took %v, the call %v", attempts.Sum, calls.Sum)
	}
}

func asMap(attributes []attribute.KeyValue) map[attribute.Key]string {
	m := map[attribute.Key]string{}
	for _, a := range attributes {
		m[a.Key] = a.Value.String()
	}
	return m
}

// The duration of an attempt includes reading its response, and the duration of
// a call includes the delays between attempts.
func TestDurations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv, tel := cloudapitest.New(t), newTelemetry()
		srv.Fail(cloudapitest.Match{},
			cloudapitest.Reply(http.StatusServiceUnavailable, http.Header{"Retry-After": {"20"}}, "").After(2*time.Second),
			cloudapitest.Handle(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, `{"items":[`)
				_ = http.NewResponseController(w).Flush()
				<-time.After(3 * time.Second)
				fmt.Fprint(w, `],"count":0}`)
			}))
		stub.Must(srv.Client(tel.instrument()).VMs.List(t.Context(), nil))(t)
		histograms := tel.collect(t)
		var attempts float64
		for _, point := range histograms["http.client.request.duration"].DataPoints {
			attempts += point.Sum
		}
		if call := histograms["cloudapi.client.operation.duration"].DataPoints[0].Sum; attempts != 5 || call != 25 {
			t.Errorf("the attempts took %v s, want 5, and the call %v s, want 25", attempts, call)
		}
		srv.Close()
	})
}

// Spans are children of the caller's span, including the spans for the pages of
// a list.
func TestCallersSpan(t *testing.T) {
	t.Parallel()
	srv, tel := cloudapitest.New(t, cloudapitest.WithPageCap(1)), newTelemetry()
	client := srv.Client(tel.instrument())
	for _, name := range []string{"a", "b"} {
		stub.Must(srv.Client().Firewalls.Create(t.Context(), location, name, nil))(t)
	}
	before := len(srv.Requests())
	ctx, span := tel.tracers.Tracer("program").Start(t.Context(), "inventory")
	stub.Must(cloudapi.Collect(client.Firewalls.All(ctx, nil)))(t)
	span.End()
	page := "  internal Firewalls.List cloudapi.attempts=1\n    client GET /project/{project_id}/firewall http.response.status_code=200\n"
	if got, want := tel.tree(), "internal inventory\n"+strings.Repeat(page, len(srv.Requests())-before); got != want {
		t.Errorf("the spans are\n%s, want\n%s", got, want)
	}
}

// Spans and metrics contain no private data: no token, bodies, headers,
// messages of the server or names.
func TestNothingPrivate(t *testing.T) {
	t.Parallel()
	for _, withURL := range []bool{false, true} {
		srv, tel := cloudapitest.New(t, cloudapitest.Lenient()), newTelemetry()
		instrument := tel.instrument()
		if withURL {
			instrument = tel.instrument(otelcloudapi.WithURL())
		}
		client := srv.Client(instrument, cloudapi.WithHeader("X-Key", "private-header"))
		srv.Fail(cloudapitest.Match{Nth: 4},
			cloudapitest.Reply(http.StatusBadRequest, nil, `{"error":{"code":400,"type":"private-type","message":"private-message","details":{"x":"private-detail"}}}`),
			cloudapitest.Reply(http.StatusFound, http.Header{"Location": {"https://private-host.example.com"}}, "private-body"))
		ctx := t.Context()
		db := stub.Must(client.Postgres.Create(ctx, location, "private-name", &cloudapi.PostgresCreateRequest{Size: "standard-2", StorageSize: 64}))(t)
		stub.Must(client.Postgres.CreateMetricDestination(ctx, location, "private-name", &cloudapi.PostgresMetricDestinationCreateRequest{
			URL: "https://private-target.example.com", Username: "private-user", Password: cloudapi.NewSecret("private-password")}))(t)
		stub.Must(client.VMs.List(ctx, &cloudapi.ListOptions{StartAfter: "private-cursor", OrderColumn: cloudapi.OrderByName}))(t)
		for range 2 {
			if _, err := client.Postgres.Get(ctx, location, "private-name"); err == nil {
				t.Fatal("the server was to refuse this")
			}
		}
		if err := client.Do(ctx, "GET", []string{"private-segment"}, map[string][]string{"q": {"private-query"}}, nil, nil); err == nil {
			t.Fatal("there is no such endpoint")
		}

		reported := stub.Must(json.Marshal(tracetest.SpanStubsFromReadOnlySpans(tel.spans.Ended())))(t)
		text := string(reported) + fmt.Sprintf("%+v", tel.collect(t))
		if !strings.Contains(text, "Postgres.CreateMetricDestination") || !strings.Contains(text, vmRoute[:len("/project/{project_id}")]) {
			t.Fatalf("this is not what was reported: %s", text)
		}
		full := "http://api.localhost/project/" + srv.ProjectID() + "/location/" + location + "/postgres/private-name"
		if strings.Contains(text, full) != withURL {
			t.Errorf("with URLs %t, the URL is there: %t", withURL, !withURL)
		}
		if withURL {
			text = strings.NewReplacer(full, "", "/private-segment", "").Replace(text)
		}
		for _, private := range []string{"private-", srv.Token(), db.ID, db.ConnectionString.Reveal()} {
			if private != "" && strings.Contains(text, private) {
				i := strings.Index(text, private)
				t.Errorf("with URLs %t, %q is reported: …%s…", withURL, private, text[max(0, i-100):min(len(text), i+100)])
			}
		}
	}
}

// The trace context is sent to the server only if requested, but other
// middlewares always see it. A nil option is skipped, as by package cloudapi.
func TestPropagation(t *testing.T) {
	t.Parallel()
	srv, tel := cloudapitest.New(t), newTelemetry()
	var seen []trace.SpanContext // by whatever follows the instrumentation
	for _, opts := range [][]otelcloudapi.Option{nil, {nil, otelcloudapi.WithPropagator(propagation.TraceContext{})}} {
		inner := cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
			return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
				seen = append(seen, trace.SpanContextFromContext(req.Context()))
				return next.RoundTrip(req)
			})
		})
		stub.Must(srv.Client(tel.instrument(opts...), inner).VMs.List(t.Context(), nil))(t)
	}
	requests := srv.Requests()
	if got := requests[0].Header.Get("Traceparent"); got != "" {
		t.Errorf("without a propagator the server got %q", got)
	}
	attempt := tel.spans.Ended()[2].SpanContext()
	if got, want := requests[1].Header.Get("Traceparent"), fmt.Sprintf("00-%s-%s-01", attempt.TraceID(), attempt.SpanID()); got != want {
		t.Errorf("the server got %q, want %q", got, want)
	}
	if len(seen) != 2 || !seen[1].Equal(attempt) {
		t.Errorf("a middleware is in the spans %v, want %v to be the second", seen, attempt)
	}
}

// A transport that breaks its contract is reported like any other.
func TestTransportWithoutResponse(t *testing.T) {
	t.Parallel()
	tel := newTelemetry()
	broken := errors.New("the cable is cut")
	for _, answer := range []func(*http.Request) (*http.Response, error){
		func(*http.Request) (*http.Response, error) { return nil, broken },
		func(*http.Request) (*http.Response, error) { return nil, nil },
		func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 204}, nil },
	} {
		client := stub.Must(cloudapi.NewClient(cloudapi.WithBaseURL("https://api.example.com:8443"), cloudapi.WithToken("pat-x"),
			cloudapi.WithProject("pjahbwgme82j3qbwnsn4b3w1e9"), cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1}),
			cloudapi.WithHTTPClient(&http.Client{Transport: stub.RoundTripper(answer)}), tel.instrument()))(t)
		_ = client.VMs.Delete(t.Context(), location, "web-1")
	}
	want := "internal VMs.Delete cloudapi.attempts=1 error.type=*errors.errorString\n" +
		"  client DELETE " + vmRoute + " error.type=*errors.errorString\n" +
		"internal VMs.Delete cloudapi.attempts=1 error.type=*errors.errorString\n" +
		"  client DELETE " + vmRoute + "\n" +
		"internal VMs.Delete cloudapi.attempts=1\n" +
		"  client DELETE " + vmRoute + " http.response.status_code=204\n"
	if got := tel.tree(); got != want {
		t.Errorf("the spans are\n%s, want\n%s", got, want)
	}
	if got := asMap(tel.spans.Ended()[0].Attributes()); got["server.port"] != "8443" {
		t.Errorf("the attempt has %v", got)
	}
}

// TestNilProviders: nil means the global provider.
func TestNilProviders(t *testing.T) {
	t.Parallel()
	client := cloudapitest.New(t).Client(otelcloudapi.Instrument(otelcloudapi.WithTracerProvider(nil), otelcloudapi.WithMeterProvider(nil)))
	if _, err := client.VMs.List(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// TestPanickingTransport: the spans of a call whose transport panics end.
func TestPanickingTransport(t *testing.T) {
	t.Parallel()
	tel := newTelemetry()
	client := cloudapitest.New(t).Client(tel.instrument(), cloudapi.WithMiddleware(func(http.RoundTripper) http.RoundTripper {
		return stub.RoundTripper(func(*http.Request) (*http.Response, error) { panic("a bug") })
	}))
	func() {
		defer func() { recover() }()
		client.VMs.List(t.Context(), nil)
		t.Error("no panic")
	}()
	started, ended := len(tel.spans.Started()), len(tel.spans.Ended())
	if started != 2 || ended != 2 {
		t.Errorf("%d spans have begun, and %d have ended", started, ended)
	}
}

// TestTimeoutAfterAResponse: the last attempt is the reason of a call's failure,
// not an earlier response that the error wraps.
func TestTimeoutAfterAResponse(t *testing.T) {
	t.Parallel()
	for _, first := range []*http.Response{stub.Respond(503, stub.Envelope(503)), stub.Respond(200, `{"items":[`)} {
		synctest.Test(t, func(t *testing.T) {
			tel := newTelemetry()
			attempts := 0
			client := cloudapitest.New(t).Client(tel.instrument(), cloudapi.WithTimeout(time.Second), cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 2}),
				cloudapi.WithMiddleware(func(http.RoundTripper) http.RoundTripper {
					return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
						if attempts++; attempts == 1 {
							return first, nil
						}
						<-req.Context().Done()
						return nil, req.Context().Err()
					})
				}))
			if _, err := client.VMs.List(t.Context(), nil); err == nil {
				t.Error("no error")
			}
			ended := tel.spans.Ended()
			if call := ended[len(ended)-1]; !slices.Contains(call.Attributes(), attribute.String("error.type", "timeout")) {
				t.Errorf("after %d: %v", first.StatusCode, call.Attributes())
			}
		})
	}
}
