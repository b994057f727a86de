package main

import (
	"errors"
	"net/http"

	"github.com/cloudapi-sdk/cloudapi/internal/floor"
)

func newFloor(base string, transport http.RoundTripper) floor.Client {
	return floor.Client{Base: base, Token: token, HTTP: &http.Client{Transport: transport}}
}

// errComplete says that a list doesn't have all its items.
var errComplete = errors.New("the list isn't complete")

// counted checks the number of items of a list.
func counted(got, want int, err error) error {
	if err == nil && got != want {
		return errComplete
	}
	return err
}
