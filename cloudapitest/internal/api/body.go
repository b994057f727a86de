package api

import (
	"encoding/json"
	"mime"
	"net/http"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
)

func (o *Operation) readBody(contentType string, raw []byte) (body schema.Fields, unknown []string, err error) {
	switch {
	case o.Method == http.MethodGet:
		return nil, nil, nil
	case o.Body.Type == "" && len(o.Body.AnyOf) == 0, o.bodyOptional && len(raw) == 0:
		if len(raw) > 0 && !isJSONObject(raw) {
			err = reply.NotJSONObject()
		}
		return nil, nil, err
	}
	if mediaType, _, _ := mime.ParseMediaType(contentType); mediaType != "application/json" {
		return nil, nil, reply.BadRequest(`"Content-Type" request header must be set to "application/json".`)
	}
	// The real server also accepts other spellings, such as "Application/JSON",
	// but then doesn't read the body.
	if len(raw) == 0 || !strings.HasPrefix(contentType, "application/json") {
		raw = []byte("{}")
	}
	if !isJSONObject(raw) {
		return nil, nil, reply.NotJSONObject()
	}
	unknown = o.Body.UnknownFields(raw)
	value, err := o.Body.Check(o.bodyPointer(), raw)
	if err != nil {
		return nil, unknown, err
	}
	return value.(map[string]any), unknown, nil
}

func isJSONObject(raw []byte) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(raw, &object) == nil && object != nil
}
