// Package otelcloudapi reports the calls of package cloudapi to OpenTelemetry.
//
//	client, err := cloudapi.NewClient(cloudapi.FromEnv(), otelcloudapi.Instrument())
//
// A call is a span of kind internal, named after its operation, such as
// "VMs.Create". Each attempt is a child span of kind client that follows the
// semantic conventions for HTTP clients, named after the method and the route
// template. Retries have http.request.resend_count. There are two histograms,
// in seconds:
//
//   - http.client.request.duration: one attempt, until its response is read.
//   - cloudapi.client.operation.duration: one call with its attempts and the
//     delays between them.
//
// Spans have few names, and attributes few values, such as the template of a
// path or the kind of an error. They contain no tokens, bodies, headers, names
// of resources, or messages of the server. Only [WithURL] adds URLs.
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

const scope = "github.com/cloudapi-sdk/cloudapi/otelcloudapi"

// Attributes of the span and the histogram of a call. After a failed call, both
// also have error.type: a status such as "404", or "timeout", "canceled",
// "connection_closed", "invalid_response", or the name of a Go type.
const (
	// OperationKey is the operation's name, such as "VMs.Create".
	OperationKey = attribute.Key("cloudapi.operation")

	// AttemptsKey is the number of attempts. Only the span has it.
	AttemptsKey = attribute.Key("cloudapi.attempts")

	// OutcomeUnknownKey is true on the span of a failed call that the server may
	// have executed: its error matches cloudapi.ErrOutcomeUnknown.
	OutcomeUnknownKey = attribute.Key("cloudapi.outcome_unknown")
)

// Option is an option of [Instrument].
type Option func(*config)

type config struct {
	tracers    trace.TracerProvider
	meters     metric.MeterProvider
	propagator propagation.TextMapPropagator
	url        bool
}

// WithTracerProvider sets the provider for spans; nil restores the default, the
// global provider.
func WithTracerProvider(provider trace.TracerProvider) Option {
	return func(c *config) { c.tracers = provider }
}

// WithMeterProvider sets the provider for metrics; nil restores the default, the
// global provider.
func WithMeterProvider(provider metric.MeterProvider) Option {
	return func(c *config) { c.meters = provider }
}

// WithPropagator sends the trace context to the server, in the propagator's
// headers. By default, the trace context isn't sent: the server usually belongs
// to somebody else, and baggage may be private.
func WithPropagator(propagator propagation.TextMapPropagator) Option {
	return func(c *config) { c.propagator = propagator }
}

// WithURL adds the attribute url.full to the spans of attempts: the URL with
// the names and IDs in its path, but without its query.
func WithURL() Option {
	return func(c *config) { c.url = true }
}

// Instrument returns an option that makes a client report its calls.
func Instrument(opts ...Option) cloudapi.Option {
	var cfg config
	for _, opt := range opts {
		if opt != nil {
			opt(&cfg)
		}
	}
	if cfg.tracers == nil {
		cfg.tracers = otel.GetTracerProvider()
	}
	if cfg.meters == nil {
		cfg.meters = otel.GetMeterProvider()
	}
	r, err := newReporter(cfg)
	if err != nil {
		otel.Handle(err) // an instrument that couldn't be created does nothing
	}
	return combine(cloudapi.WithObserver(r.observe), cloudapi.WithMiddleware(r.wrap))
}

// C is a type that only package cloudapi can name.
func combine[C any](first, second func(C) error) func(C) error {
	return func(c C) error {
		if err := first(c); err != nil {
			return err
		}
		return second(c)
	}
}

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

// call is the state that the attempts of a call share through their context.
// It's atomic: an attempt that a middleware has abandoned may still be in
// progress when the next attempt begins.
type call struct{ attempts atomic.Int32 }

type callKey struct{}

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

func (r *reporter) wrap(next http.RoundTripper) http.RoundTripper {
	return &transport{reporter: r, next: next}
}
