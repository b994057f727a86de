package otelcloudapi

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"

	"github.com/cloudapi-sdk/cloudapi"
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// errorType returns the error.type of a call or an attempt. It's never a
// message, which could contain anything.
func errorType(err error) attribute.KeyValue {
	var timeout net.Error
	_, noResponse := errors.AsType[*cloudapi.TransportError](err) // it can wrap an earlier response
	if e, ok := errors.AsType[*cloudapi.Error](err); ok && !noResponse {
		return semconv.ErrorTypeKey.String(strconv.Itoa(e.StatusCode))
	}
	switch {
	case errors.Is(err, cloudapi.ErrInvalidResponse) && !noResponse:
		return semconv.ErrorTypeKey.String("invalid_response")
	case errors.Is(err, context.Canceled):
		return semconv.ErrorTypeKey.String("canceled")
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return semconv.ErrorTypeKey.String("timeout")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return semconv.ErrorTypeKey.String("connection_closed")
	}
	if e, ok := errors.AsType[*cloudapi.TransportError](err); ok {
		err = e.Err
	}
	return semconv.ErrorType(err)
}
