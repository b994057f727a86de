// Package reply makes the replies of the API: records, files, and errors in its
// words.
package reply

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// Reply is an answer before it is written. A handler that needs a header of its
// own returns one; see [New] for what else it may return.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
}

// NoContent is the result of a deletion.
type NoContent struct{}

// File is a result that is not JSON.
type File struct {
	ContentType, Name string
	Content           []byte
}

// New is the answer to a request: an error, or else a reply as it is, a
// file, nothing, or a record as JSON.
func New(result any, err error) Reply {
	if err != nil {
		return failure(err)
	}
	switch v := result.(type) {
	case Reply:
		return v
	case NoContent:
		return Reply{Status: http.StatusNoContent, Header: http.Header{}}
	case File:
		return Reply{http.StatusOK, http.Header{
			"Content-Type":        {v.ContentType},
			"Content-Disposition": {fmt.Sprintf("attachment; filename=%q", v.Name)},
		}, v.Content}
	}
	return JSON(http.StatusOK, result)
}

func JSON(status int, v any) Reply {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // a record that cannot be encoded is a mistake in this package
	}
	return Reply{status, http.Header{"Content-Type": {"application/json"}}, bytes.TrimSuffix(b.Bytes(), []byte("\n"))}
}

func (r Reply) Write(w http.ResponseWriter) {
	r.writeHeader(w)
	w.Write(r.Body) // an error means that the client is gone
}

// WriteTruncated promises the whole body and sends the first n bytes of it.
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
	h.Set("Content-Length", strconv.Itoa(len(r.Body))) // left out of a 204 by net/http
	w.WriteHeader(r.Status)
}
