package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi/internal/floor"
)

const (
	token     = "pat-aktesttesttesttesttesttest-0123456789abcdefghijklmnopqrstuv"
	project   = "pjahbwgme82j3qbwnsn4b3w1e9"
	inProcess = "https://api.example.com"
)

// replies are the response bodies of an API.
type replies struct {
	vm, created, missing string
	database             string // "" if the API has none
	page                 func(first, n, total int) string
	first                func(query map[string][]string) int // index of the first item that a request asks for
	metrics              func() string
}

// list serves a list page by page, after a delay.
type list struct {
	replies *replies
	total   int
	delay   time.Duration
	cache   map[[2]int]string // by first item and size
}

func newList(r *replies, total int, delay time.Duration) *list {
	return &list{replies: r, total: total, delay: delay, cache: map[[2]int]string{}}
}

func (l *list) RoundTrip(req *http.Request) (*http.Response, error) {
	query := req.URL.Query()
	size := defaultPage
	for _, name := range []string{"page_size", "per_page"} {
		if text := query.Get(name); text != "" {
			var err error
			if size, err = strconv.Atoi(text); err != nil {
				return nil, err
			}
		}
	}
	first := l.replies.first(query)
	key := [2]int{first, size}
	if l.cache[key] == "" {
		l.cache[key] = l.replies.page(first, min(size, l.total-first), l.total)
	}
	if err := pause(req.Context(), l.delay); err != nil {
		return nil, err
	}
	return floor.Respond(req, http.StatusOK, l.cache[key])
}

// pause waits for d, or until the context ends. It doesn't wait if d isn't
// positive.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

const (
	defaultPage = 10 // of the contract
	largePage   = 1000
	listLength  = 10_000
)

// our are the responses of the SDK's API.
var our = replies{
	vm:       floor.VM,
	created:  floor.VM,
	missing:  floor.NotFound,
	database: ourDatabase,
	page:     floor.VMs,
	first: func(query map[string][]string) int {
		if after := query["start_after"]; len(after) > 0 && after[0] != "" {
			last, _ := strconv.Atoi(strings.TrimPrefix(after[0], "vm"))
			return last + 1
		}
		return 0
	},
	metrics: func() string { return floor.Metrics(20) },
}

var (
	certificate = `-----BEGIN CERTIFICATE-----\n` + strings.Repeat(strings.Repeat("Ab3+", 16)+`\n`, 10) + `-----END CERTIFICATE-----\n`

	ourDatabase = `{"id":"pggk8wzevxhe1gh7zjzfx5jn70","name":"orders-db","state":"running","location":"eu-central-h1","vm_size":"standard-2","target_vm_size":"standard-2","storage_size_gib":64,"target_storage_size_gib":64,"version":"17","ha_type":"async","flavor":"standard","ca_certificates":"` + certificate + `","maintenance_window_start_at":3,"read_replica":false,"parent":null,"tags":[{"key":"team","value":"payments"}],"connection_string":"postgres://postgres:secret@orders-db.pg.example.com:5432/postgres?channel_binding=require","primary":true,"firewall_rules":[{"id":"pfkvg0ffxbpj5pkddz9xsn95pc","cidr":"203.0.113.0/24","description":"office"}],"metric_destinations":[],"read_replicas":[],"earliest_restore_time":"2025-10-01T02:15:09Z","latest_restore_time":"2025-10-03T17:40:00Z"}`
)

// sized pads the marked string of a response until the response is as long as
// another one.
func sized(reply string, length int) string {
	missing := length - (len(reply) - len("~"))
	if missing < 0 {
		panic(fmt.Sprintf("a reply of %d bytes for one of %d", len(reply), length))
	}
	return strings.Replace(reply, "~", strings.Repeat("x", missing), 1)
}
