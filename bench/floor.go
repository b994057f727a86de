package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
)

// floorClient makes hand-written calls.
type floorClient struct {
	base string
	http *http.Client
}

func newFloor(base string, transport http.RoundTripper) floorClient {
	return floorClient{base, &http.Client{Transport: transport}}
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// errStatus is an error of the API, with its envelope.
type errStatus[E any] struct{ envelope E }

func (*errStatus[E]) Error() string { return "an error of the API" }

// send makes a call whose response is a T, or an E if it failed.
func send[T, E any](ctx context.Context, f floorClient, method, path string, in any) (*T, error) {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, f.base+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("User-Agent", "floor/1")
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := f.http.Do(req)
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
		e := new(errStatus[E])
		if err := json.Unmarshal(buf.Bytes(), &e.envelope); err != nil {
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

// errComplete says that a list does not have all its items.
var errComplete = errors.New("the list is not complete")

// counted checks the number of items of a list.
func counted(got, want int, err error) error {
	if err == nil && got != want {
		return errComplete
	}
	return err
}
