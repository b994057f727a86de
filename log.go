package cloudapi

import (
	"context"
	"log/slog"

	"github.com/cloudapi-sdk/cloudapi/internal/call"
)

// logAttempt writes one line about an attempt.
func logAttempt(ctx context.Context, request *call.Request, a *call.Attempt) {
	in := request.Owner.(*invocation)
	level, message, err := slog.LevelDebug, "cloudapi: request", a.NotSent
	switch {
	case err != nil:
		level, message = slog.LevelWarn, "cloudapi: request not sent"
	case a.Failure != nil:
		failure := *a.Failure
		failure.Body = ""
		err = failed(in.op, request.Path, &failure)
		level, message = slog.LevelWarn, "cloudapi: request failed"
		if isMissing(err) {
			level = slog.LevelInfo // a wait for a deletion expects it
		}
	}
	logger := in.conn.config.logger
	if !logger.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 8)
	attrs = append(attrs,
		slog.String("operation", in.op.Name),
		slog.String("method", in.op.Method),
		slog.String("route", in.op.Route),
		slog.Int("attempt", a.Number),
	)
	if a.NotSent == nil {
		attrs = append(attrs, slog.Duration("duration", a.Duration))
		if a.Status != 0 {
			attrs = append(attrs, slog.Int("status", a.Status))
		}
	}
	if err != nil {
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	if a.Retried {
		attrs = append(attrs, slog.Duration("retry_in", a.RetryIn))
	}
	logger.LogAttrs(ctx, level, message, attrs...)
}
