// Package otelcloudapi reports the calls of package cloudapi to OpenTelemetry.
//
//	client, err := cloudapi.NewClient(cloudapi.FromEnv(), otelcloudapi.Instrument())
//
// A call is a span of kind internal that is named after its operation, such as
// "VMs.Create". Each of its attempts is a span of kind client within it that
// follows the semantic conventions for HTTP clients, named after the method and
// the route template. The second attempt and later ones have
// http.request.resend_count. Two histograms, in seconds:
//
//   - http.client.request.duration: one attempt, until its reply is read.
//   - cloudapi.client.operation.duration: one call with its attempts and the
//     pauses between them.
//
// Names and attributes have few values: of a path the template, of an error its
// kind. Neither tokens nor bodies, headers, names or messages of the server are
// in them, and of URLs only what [WithURL] adds.
package otelcloudapi

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/httpconv"
	"go.opentelemetry.io/otel/trace"
)

// scope is the name of the instrumentation.
const scope = "github.com/cloudapi-sdk/cloudapi/otelcloudapi"

// Attributes of the span and the histogram of a call, beside error.type. That
// is a status such as "404", or "timeout", "canceled", "connection_closed",
// "invalid_response", or the name of a Go type.
const (
	// OperationKey is the operation's name, such as "VMs.Create".
	OperationKey = attribute.Key("cloudapi.operation")

	// AttemptsKey is how often the request was sent. The span has it.
	AttemptsKey = attribute.Key("cloudapi.attempts")

	// OutcomeUnknownKey is true on the span of a call that may have been carried
	// out although it failed: its error is cloudapi.ErrOutcomeUnknown.
	OutcomeUnknownKey = attribute.Key("cloudapi.outcome_unknown")
)

// Option is a setting of [Instrument].
type Option func(*config)

type config struct {
	tracers    trace.TracerProvider
	meters     metric.MeterProvider
	propagator propagation.TextMapPropagator
	url        bool
}

// WithTracerProvider sets where spans go. The default is the global provider.
func WithTracerProvider(provider trace.TracerProvider) Option {
	return func(c *config) { c.tracers = provider }
}

// WithMeterProvider sets where metrics go. The default is the global provider.
func WithMeterProvider(provider metric.MeterProvider) Option {
	return func(c *config) { c.meters = provider }
}

// WithPropagator sends the trace's context to the server, in the headers that
// the propagator sets. The default is not to: the server is mostly somebody
// else's, and baggage may be none of its business.
func WithPropagator(propagator propagation.TextMapPropagator) Option {
	return func(c *config) { c.propagator = propagator }
}

// WithURL gives the spans of attempts the attribute url.full: the URL with the
// names and IDs in its path, but without its query.
func WithURL() Option {
	return func(c *config) { c.url = true }
}

// Instrument returns the option that makes a client report its calls.
func Instrument(opts ...Option) cloudapi.Option {
	cfg := config{tracers: otel.GetTracerProvider(), meters: otel.GetMeterProvider()}
	for _, opt := range opts {
		if opt != nil {
			opt(&cfg)
		}
	}
	r, err := newReporter(cfg)
	if err != nil {
		otel.Handle(err) // what could not be made does nothing
	}
	return both(cloudapi.WithObserver(r.observe), cloudapi.WithMiddleware(r.wrap))
}

// both makes one option of two. C is a type that only package cloudapi can name.
func both[C any](first, second func(C) error) func(C) error {
	return func(c C) error {
		if err := first(c); err != nil {
			return err
		}
		return second(c)
	}
}

// reporter is what all calls of a client report to.
type reporter struct {
	config
	tracer   trace.Tracer
	attempts httpconv.ClientRequestDuration
	calls    metric.Float64Histogram
}

func newReporter(cfg config) (*reporter, error) {
	r := &reporter{config: cfg, tracer: cfg.tracers.Tracer(scope,
		trace.WithInstrumentationVersion(cloudapi.Version), trace.WithSchemaURL(semconv.SchemaURL))}
	meter := cfg.meters.Meter(scope,
		metric.WithInstrumentationVersion(cloudapi.Version), metric.WithSchemaURL(semconv.SchemaURL))
	var errAttempts, errCalls error
	r.attempts, errAttempts = httpconv.NewClientRequestDuration(meter)
	r.calls, errCalls = meter.Float64Histogram("cloudapi.client.operation.duration",
		metric.WithUnit("s"),
		metric.WithDescription("Duration of calls, with all their attempts."),
		metric.WithExplicitBucketBoundaries(0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 120))
	return r, errors.Join(errAttempts, errCalls)
}

// call is what the attempts of a call know of it, in their context. One that a
// middleware has given up may still be under way when the next one begins.
type call struct{ attempts atomic.Int32 }

type callKey struct{}

// observe reports a call.
func (r *reporter) observe(ctx context.Context, op cloudapi.Operation) (context.Context, func(error)) {
	begin := time.Now()
	labels := []attribute.KeyValue{OperationKey.String(op.Name)}
	ctx, span := r.tracer.Start(ctx, op.Name, trace.WithAttributes(labels...))
	c := new(call)
	return context.WithValue(ctx, callKey{}, c), func(err error) {
		if err != nil {
			labels = append(labels, errorType(err))
			span.SetStatus(codes.Error, "")
			span.SetAttributes(errorType(err))
		}
		if errors.Is(err, cloudapi.ErrOutcomeUnknown) {
			span.SetAttributes(OutcomeUnknownKey.Bool(true))
		}
		span.SetAttributes(AttemptsKey.Int(int(c.attempts.Load())))
		span.End()
		r.calls.Record(ctx, time.Since(begin).Seconds(), metric.WithAttributes(labels...))
	}
}

// wrap returns a transport that reports attempts.
func (r *reporter) wrap(next http.RoundTripper) http.RoundTripper {
	return &transport{reporter: r, next: next}
}
