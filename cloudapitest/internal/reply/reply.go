// Package reply builds the responses of the API: records, files, and errors in
// the real server's words.
package reply

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Reply is a response before it is written. A handler returns a Reply only to
// set headers or a status; see [New] for what else it can return.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
}

// NoContent is the result of a deletion.
type NoContent struct{}

// File is a result that isn't JSON.
type File struct {
	ContentType, Name string
	Content           []byte
	Extended          bool // repeats a Name with a hyphen in the form "filename*="
}

// New returns the response to a request. If failure isn't nil, the response is
// this error. Otherwise it's the result of the handler: a Reply unchanged, a
// [File] or [NoContent] as a response without JSON, and anything else as JSON.
func New(result any, failure *Error) Reply {
	if failure != nil {
		return failure.reply()
	}
	switch v := result.(type) {
	case Reply:
		return v
	case NoContent:
		return Reply{Status: http.StatusNoContent, Header: http.Header{}}
	case File:
		return Reply{http.StatusOK, http.Header{
			"Content-Type":        {v.ContentType},
			"Content-Disposition": {v.disposition()},
		}, v.Content}
	}
	return JSON(http.StatusOK, result)
}

func (f File) disposition() string {
	d := fmt.Sprintf("attachment; filename=%q", f.Name)
	if f.Extended && strings.Contains(f.Name, "-") {
		d += "; filename*=UTF-8''" + strings.ReplaceAll(f.Name, "-", "%2D")
	}
	return d
}

// JSON returns a response with a value in JSON.
func JSON(status int, v any) Reply {
	return Reply{status, http.Header{"Content-Type": {"application/json"}}, Encode(v)}
}

// Encode returns a value in JSON. Like the real server, it doesn't escape HTML.
func Encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // only a mistake in the test server makes a record impossible to encode
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func (r Reply) Write(w http.ResponseWriter) {
	r.writeHeader(w)
	w.Write(r.Body) // an error means that the client has disconnected
}

// WriteTruncated announces the whole body, but sends only its first n bytes.
func (r Reply) WriteTruncated(w http.ResponseWriter, n int) {
	r.writeHeader(w)
	w.Write(r.Body[:min(n, len(r.Body))])
	http.NewResponseController(w).Flush()
}

func (r Reply) writeHeader(w http.ResponseWriter) {
	h := w.Header()
	for name, values := range r.Header {
		h[name] = values
	}
	h.Set("Content-Length", strconv.Itoa(len(r.Body))) // net/http omits it from a 204
	w.WriteHeader(r.Status)
}
