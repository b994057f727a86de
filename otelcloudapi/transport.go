package otelcloudapi

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

type transport struct {
	*reporter
	next http.RoundTripper
}

// RoundTrip reports an attempt, which ends when its response has been read or
// closed.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	begin := time.Now()
	name, labels := describe(req)
	ctx, span := t.tracer.Start(req.Context(), name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(labels...))
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		if before := c.attempts.Add(1) - 1; before > 0 {
			span.SetAttributes(semconv.HTTPRequestResendCount(int(before)))
		}
	}
	if t.url {
		span.SetAttributes(semconv.URLFull(withoutQuery(req.URL)))
	}
	req = req.WithContext(ctx)
	if t.propagator != nil {
		req.Header = req.Header.Clone()
		t.propagator.Inject(ctx, propagation.HeaderCarrier(req.Header))
	}

	returned := false
	defer func() {
		if !returned { // the transport panicked
			span.SetStatus(codes.Error, "")
			span.End()
		}
	}()
	resp, err := t.next.RoundTrip(req)
	returned = true
	end := func(err error) {
		results := outcome(resp, err)
		for _, result := range results {
			if result.Key == semconv.ErrorTypeKey {
				span.SetStatus(codes.Error, "")
			}
		}
		span.SetAttributes(results...)
		span.End()
		t.attempts.RecordSet(ctx, time.Since(begin).Seconds(), attribute.NewSet(slices.Concat(labels, results)...))
	}
	if err != nil || resp == nil || resp.Body == nil {
		end(err)
		return resp, err
	}
	resp.Body = &body{ReadCloser: resp.Body, end: end}
	return resp, nil
}

type body struct {
	io.ReadCloser
	once sync.Once
	end  func(error)
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch err {
	case nil:
	case io.EOF:
		b.once.Do(func() { b.end(nil) })
	default:
		b.once.Do(func() { b.end(err) })
	}
	return n, err
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.once.Do(func() { b.end(nil) })
	return err
}

// describe returns the name of an attempt's span, and the low-cardinality
// attributes that are known before the request is sent.
func describe(req *http.Request) (name string, labels []attribute.KeyValue) {
	method, name := semconv.HTTPRequestMethodKey.String(req.Method), req.Method
	if !slices.Contains(knownMethods, req.Method) {
		method, name = semconv.HTTPRequestMethodOther, "HTTP"
	}
	labels = []attribute.KeyValue{method, semconv.ServerAddress(req.URL.Hostname()), semconv.ServerPort(port(req.URL))}
	if op, ok := cloudapi.OperationFromContext(req.Context()); ok && op.Route != "" {
		labels = append(labels, semconv.URLTemplate(op.Route))
		name += " " + op.Route
	}
	return name, labels
}

// outcome returns the attributes that are known after the attempt.
func outcome(resp *http.Response, err error) (results []attribute.KeyValue) {
	if resp != nil {
		results = append(results, semconv.HTTPResponseStatusCode(resp.StatusCode))
		if resp.ProtoMajor > 0 {
			results = append(results, semconv.NetworkProtocolVersion(protocolVersion(resp)))
		}
	}
	switch {
	case err != nil:
		results = append(results, errorType(err))
	case resp != nil && resp.StatusCode >= 400:
		results = append(results, semconv.ErrorTypeKey.String(strconv.Itoa(resp.StatusCode)))
	}
	return results
}

// knownMethods are the methods that the conventions name.
var knownMethods = []string{"GET", "POST", "PATCH", "DELETE", "PUT", "HEAD", "OPTIONS", "QUERY", "CONNECT", "TRACE"}

func port(u *url.URL) int {
	if n, err := strconv.Atoi(u.Port()); err == nil {
		return n
	}
	if u.Scheme == "http" {
		return 80
	}
	return 443
}

func protocolVersion(resp *http.Response) string {
	if resp.ProtoMajor >= 2 {
		return strconv.Itoa(resp.ProtoMajor)
	}
	return strconv.Itoa(resp.ProtoMajor) + "." + strconv.Itoa(resp.ProtoMinor)
}

// withoutQuery returns a URL without its user information, query and fragment.
func withoutQuery(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}
