package cloudapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/exchange"
	"github.com/cloudapi-sdk/cloudapi/internal/jsonform"
	"github.com/cloudapi-sdk/cloudapi/internal/mask"
)

// decoder decodes the response of an operation, or returns what is wrong with
// it.
type decoder interface{ decode(reply) (any, error) }

// decoderFunc is a decoder that is a function. It keeps what it decodes.
type decoderFunc func(reply) error

func (f decoderFunc) decode(r reply) (any, error) { return nil, f(r) }

// reply is a complete response with a status below 300.
type reply struct {
	status int
	header http.Header
	body   []byte          // must not be kept: the buffer is reused
	limit  int64           // the limit of its size
	ctx    context.Context // decoding ends with it

	// unmarkedEnd: only the end of the connection marks the end of the body, so
	// that a truncated body cannot be recognized.
	unmarkedEnd bool
}

// maxErrorBody is larger than any envelope.
const maxErrorBody = 1 << 20

// receive reads the response and closes it. answer is the result of the call:
// nil, an [*Error] or a [*DecodeError], also for a truncated body. broken is the
// error of a connection that failed while the body was read, or of the context.
func (cl *call) receive(ctx context.Context, resp *http.Response) (answer, broken error) {
	if resp.Body == nil {
		resp.Body = http.NoBody
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 {
		return nil, fmt.Errorf("unexpected status %d", resp.StatusCode)
	}
	buf := exchange.NewBuffer()
	defer buf.Release()
	if resp.StatusCode >= 300 {
		// A truncated error body is better than none.
		err := buf.ReadAtMost(resp.Body, maxErrorBody)
		e := cl.serverError(resp, buf.Bytes())
		e.truncated = err != nil && !e.isOwn()
		return e, nil
	}
	var err error
	if _, empty := cl.decoder.(noContent); empty {
		err = buf.ReadAtMost(resp.Body, maxSearched)
	} else if err = buf.ReadBody(resp, cl.conn.config.maxResponse); err == exchange.ErrTooLarge {
		err = fmt.Errorf("%w of %d bytes", ErrResponseTooLarge, cl.conn.config.maxResponse)
	}
	switch {
	case err == nil:
		cl.result, err = cl.decoder.decode(reply{
			status: resp.StatusCode, header: resp.Header, body: buf.Bytes(), limit: cl.conn.config.maxResponse, ctx: ctx,
			unmarkedEnd: resp.Close && resp.ContentLength < 0 && len(resp.TransferEncoding) == 0 && !resp.Uncompressed,
		})
	case !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, ErrResponseTooLarge):
		return nil, err // the connection, not the response
	}
	switch {
	case ctx.Err() != nil && len(buf.Bytes()) > jsonform.PieceSize:
		return nil, ctx.Err() // a smaller response counts: decoding it took no time
	case err == nil:
		return nil, nil
	}
	contentType, _ := mask.Excerpt(cl.known().Hide(resp.Header.Get("Content-Type")), maxExcerpt)
	return &DecodeError{
		Operation:   cl.op.Name,
		Method:      cl.op.Method,
		Path:        cl.path,
		StatusCode:  resp.StatusCode,
		ContentType: contentType,
		Body:        cl.replyExcerpt(buf.Bytes()),
		Err:         cl.withoutSecrets(err),
		truncated:   errors.Is(err, io.ErrUnexpectedEOF),
	}, nil
}

// noContent accepts a 204. Of any other response it reads only an excerpt.
type noContent struct{}

func (noContent) decode(r reply) (any, error) {
	if r.status != http.StatusNoContent {
		return nil, fmt.Errorf("the status should be %d", http.StatusNoContent)
	}
	return nil, nil
}

// oneRecord accepts the record that the call asks for.
type oneRecord[T any, P record[T]] struct{ call *call }

func (d oneRecord[T, P]) decode(r reply) (any, error) {
	record := new(T)
	if err := r.records(record); err != nil {
		return nil, err
	}
	if field := P(record).missing(); field != "" {
		return nil, fmt.Errorf("it has no %s", field)
	}
	if _, field := firstOther(d.call, []*T{record}); field != "" {
		return nil, fmt.Errorf("it is about another resource: it has another %s", field)
	}
	return record, nil
}

// records decodes the response into records, also if fields come in another
// form.
func (r reply) records(v any) error { return r.decode(v, true) }

// into decodes the response into v.
func (r reply) into(v any) error { return r.decode(v, false) }

func (r reply) decode(v any, otherForms bool) error {
	if r.status == http.StatusNoContent || firstByte(r.body) == 0 {
		return errors.New("it is empty")
	}
	if contentType := r.header.Get("Content-Type"); contentType != "" && contentType != "application/json" {
		mediaType, _, err := mime.ParseMediaType(contentType)
		if err != nil || mediaType != "application/json" && !strings.HasSuffix(mediaType, "+json") {
			return errors.New("it is not declared as JSON")
		}
	}
	decoder := jsonform.Decoder{
		Memory:     freeMemory + 2*min(r.limit, math.MaxInt64/4),
		OtherForms: otherForms,
		Divisible:  reflect.TypeFor[Samples](),
	}
	return decoder.Decode(r.ctx, r.body, v)
}

// freeMemory is the memory that any response may take when it is decoded.
const freeMemory = 16 << 20

// firstByte returns the first byte that is not white space, or 0. It does not
// search a flood of white space.
func firstByte(data []byte) byte {
	text := bytes.TrimLeft(data[:min(len(data), maxSearched)], " \t\r\n")
	if len(text) == 0 {
		return 0
	}
	return text[0]
}

// isArray reports whether JSON is an array.
func isArray(data []byte) bool { return firstByte(data) == '[' }

// serverError makes the error of a status of 300 or above.
func (cl *call) serverError(resp *http.Response, body []byte) *Error {
	e := &Error{
		StatusCode: resp.StatusCode,
		Operation:  cl.op.Name,
		Method:     cl.op.Method,
		Path:       cl.path,
	}
	if after := resp.Header.Get("Retry-After"); after != "" {
		e.RetryAfter, e.hasRetryAfter = parseRetryAfter(after, time.Now())
	}
	secrets := cl.known()
	if !e.decodeEnvelope(body) {
		e.Body, _ = mask.Excerpt(secrets.Hide(string(body[:min(len(body), maxSearched)])), maxExcerpt)
	}
	if e.Code == 0 {
		e.Code = e.StatusCode
	}
	if e.StatusCode < 400 && e.Message == "" {
		e.Message = "redirects are not followed, check the base URL"
		base := cl.conn.config.baseURL
		if u, err := base.Parse(resp.Header.Get("Location")); err == nil && u.Host != "" && (u.Scheme != base.Scheme || u.Host != base.Host) {
			e.Message = "a redirect to " + u.Scheme + "://" + u.Host + " is not followed, check the base URL"
		}
	}
	e.Type, e.Message = secrets.Hide(e.Type), secrets.Hide(e.Message)
	if details := secrets.Hide(string(e.Details)); details != string(e.Details) {
		if e.Details = json.RawMessage(details); !json.Valid(e.Details) {
			e.Details = nil // masking has made it invalid JSON
		}
	}
	return e
}

// replyExcerpt returns the beginning of a response that could not be used. If
// it may be a record its values are masked.
func (cl *call) replyExcerpt(body []byte) string {
	text := strings.TrimSpace(string(body[:min(len(body), maxSearched)]))
	switch {
	case strings.HasPrefix(text, "{"), strings.HasPrefix(text, "["), strings.HasPrefix(text, `"`):
		text = mask.Shape(text)
	case !strings.HasPrefix(text, "<"):
		return "" // it may be a file that contains keys
	}
	text, _ = mask.Excerpt(cl.known().Hide(text), maxExcerpt)
	return text
}
