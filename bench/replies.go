package main

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/cloudapi-sdk/cloudapi/internal/test/byhand"
)

const (
	token     = "pat-aktesttesttesttesttesttest-0123456789abcdefghijklmnopqrstuv"
	project   = "pjahbwgme82j3qbwnsn4b3w1e9"
	inProcess = "https://api.example.com"

	pageSize   = 1000
	listLength = 10_000
)

type replies struct {
	vm, created, missing string
	page                 func(first, n, total int) string
	first                func(query map[string][]string) int // the index of the first item that a request asks for
	metrics              func() string
}

var ourReplies = replies{
	vm:      byhand.VM,
	created: byhand.VM,
	missing: byhand.NotFound,
	page:    byhand.VMs,
	first: func(query map[string][]string) int {
		if after := query["start_after"]; len(after) > 0 && after[0] != "" {
			last, _ := strconv.Atoi(strings.TrimPrefix(after[0], "vm"))
			return last + 1
		}
		return 0
	},
	metrics: func() string { return byhand.Metrics(20) },
}

type list struct {
	replies *replies
	pages   map[int]string // by the index of the first item
}

func (l *list) RoundTrip(req *http.Request) (*http.Response, error) {
	first := l.replies.first(req.URL.Query())
	if l.pages[first] == "" {
		l.pages[first] = l.replies.page(first, min(pageSize, listLength-first), listLength)
	}
	return byhand.Respond(req, http.StatusOK, l.pages[first])
}

var errIncomplete = errors.New("the list isn't complete")

func complete(n int, err error) error {
	if err == nil && n != listLength {
		return errIncomplete
	}
	return err
}

// sized replaces the ~ in a response with padding, so that the response has the
// given length.
func sized(reply string, length int) string {
	missing := length - (len(reply) - len("~"))
	if missing < 0 {
		panic(fmt.Sprintf("a reply of %d bytes for one of %d", len(reply), length))
	}
	return strings.Replace(reply, "~", strings.Repeat("x", missing), 1)
}
