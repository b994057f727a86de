package cloudapi

import (
	"context"
	"log/slog"
	"time"
)

// log writes one line about the attempt.
func (cl *call) log(ctx context.Context) {
	logger := cl.conn.config.logger
	if logger == nil {
		return
	}
	level, message, attempt, err := slog.LevelDebug, "cloudapi: request", cl.attempts, cl.err
	if err != nil {
		level, message = slog.LevelWarn, "cloudapi: request failed"
		if IsGone(err) {
			level = slog.LevelInfo // a wait for a deletion expects it
		}
	}
	if cl.notPrepared != nil {
		level, message, attempt, err = slog.LevelWarn, "cloudapi: request not sent", attempt+1, cl.notPrepared
	}
	if !logger.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 8)
	attrs = append(attrs,
		slog.String("operation", cl.op.Name),
		slog.String("method", cl.op.Method),
		slog.String("route", cl.op.Route),
		slog.Int("attempt", attempt),
	)
	if cl.notPrepared == nil {
		attrs = append(attrs, slog.Duration("duration", time.Since(cl.started)))
		if cl.status != 0 {
			attrs = append(attrs, slog.Int("status", cl.status))
		}
	}
	switch e := err.(type) {
	case nil:
	case *Error:
		bodiless := *e
		bodiless.Body = ""
		attrs = append(attrs, slog.String("error", bodiless.Error()))
	case *DecodeError:
		bodiless := *e
		bodiless.Body = ""
		attrs = append(attrs, slog.String("error", bodiless.Error()))
	default:
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	if cl.retrying {
		attrs = append(attrs, slog.Duration("retry_in", cl.loop.RetryWaitMin))
	}
	logger.LogAttrs(ctx, level, message, attrs...)
}
