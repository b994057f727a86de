// Package byhand calls the API with only net/http and encoding/json, like
// careful hand-written code, for comparison with the SDK. It also contains the
// responses for the comparison, and an in-memory transport for them.
package byhand

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"
)

// Client makes hand-written calls.
type Client struct {
	Base, Token string
	HTTP        *http.Client
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// Error is an error response of an API. Envelope is its decoded body.
type Error[E any] struct{ Envelope E }

func (*Error[E]) Error() string { return "an error of the API" }

// Envelope is the body of an error response of the SDK's API.
type Envelope struct {
	Error struct {
		Code    int    `json:"code"`
		Type    string `json:"type"`
		Message string `json:"message"`
		Details any    `json:"details"`
	} `json:"error"`
}

// Send makes a call, and decodes the response into a T. If the status is 300 or
// above, it decodes the response into an E, and returns that in an [*Error].
func Send[T, E any](ctx context.Context, c Client, method, path string, in any) (*T, error) {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.Base+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Authorization", "Bearer "+c.Token)
	req.Header.Set("User-Agent", "byhand/1")
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	buf := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(buf)
	buf.Reset()
	if _, err := buf.ReadFrom(resp.Body); err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		e := new(Error[E])
		if err := json.Unmarshal(buf.Bytes(), &e.Envelope); err != nil {
			return nil, err
		}
		return nil, e
	}
	v := new(T)
	if err := json.Unmarshal(buf.Bytes(), v); err != nil {
		return nil, err
	}
	return v, nil
}
