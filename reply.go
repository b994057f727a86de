package cloudapi

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/internal/call"
	"github.com/cloudapi-sdk/cloudapi/internal/jsonform"
	"github.com/cloudapi-sdk/cloudapi/internal/reveal"
)

// noContent accepts a 204. Of any other response it reads only an excerpt.
type noContent struct{}

func (noContent) Decode(r call.Response) (any, error) {
	if r.Status != http.StatusNoContent {
		return nil, fmt.Errorf("the status should be %d", http.StatusNoContent)
	}
	return nil, nil
}

// oneRecord accepts the record that the call asks for.
type oneRecord[T any, P record[T]] struct{ about *subject }

func (d oneRecord[T, P]) Decode(r call.Response) (any, error) {
	record := new(T)
	if err := decodeRecords(r, record); err != nil {
		return nil, err
	}
	if field := P(record).lacks(); field != "" {
		return nil, fmt.Errorf("it has no %s", field)
	}
	if _, field := firstOther(d.about, []*T{record}); field != "" {
		return nil, fmt.Errorf("it is about another resource: it has another %s", field)
	}
	return record, nil
}

// decodeRecords decodes a response into records, even if fields have another
// form.
func decodeRecords(r call.Response, v any) error {
	if err := decodeJSON(r, v, true); err != nil {
		return err
	}
	if hasMask(r.Body) && slices.Contains(reveal.Secrets(v), redacted) {
		return errMasked
	}
	return nil
}

var errMasked = errors.New(`a secret in it is "` + redacted + `", as in the JSON of the SDK's records: a mock sends cloudapitest.Encode of a record`)

// decodeInto decodes a response into v.
func decodeInto(r call.Response, v any) error { return decodeJSON(r, v, false) }

func decodeJSON(r call.Response, v any, otherForms bool) error {
	if r.Status == http.StatusNoContent || firstByte(r.Body) == 0 {
		return errors.New("it is empty")
	}
	if contentType := r.Header.Get("Content-Type"); contentType != "" && contentType != "application/json" {
		mediaType, _, err := mime.ParseMediaType(contentType)
		if err != nil || mediaType != "application/json" && !strings.HasSuffix(mediaType, "+json") {
			return errors.New("it is not declared as JSON")
		}
	}
	decoder := jsonform.Decoder{
		Memory:     freeMemory + 2*min(r.Limit, math.MaxInt64/4),
		OtherForms: otherForms,
	}
	return decoder.Decode(r.Body, v)
}

// freeMemory is the memory that any response may take when it is decoded.
const freeMemory = 16 << 20

// firstByte returns the first byte that isn't white space, or 0. It doesn't
// search a flood of white space.
func firstByte(data []byte) byte {
	text := bytes.TrimLeft(data[:min(len(data), call.MaxSearched)], " \t\r\n")
	if len(text) == 0 {
		return 0
	}
	return text[0]
}

// isArray reports whether JSON is an array.
func isArray(data []byte) bool { return firstByte(data) == '[' }
