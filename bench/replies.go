package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	token     = "pat-aktesttesttesttesttesttest-0123456789abcdefghijklmnopqrstuv"
	project   = "pjahbwgme82j3qbwnsn4b3w1e9"
	inProcess = "https://api.example.com"
)

// replies are the response bodies of an API.
type replies struct {
	vm, created, missing string
	database             string // "" if it has none
	page                 func(first, n, total int) string
	first                func(query map[string][]string) int // index of the first item that a request asks for
	metrics              func() string
}

// memory gives the same response to every request, without a network.
type fixed struct {
	status int
	body   string
}

func (f fixed) RoundTrip(req *http.Request) (*http.Response, error) {
	return respond(req, f.status, f.body)
}

func respond(req *http.Request, status int, body string) (*http.Response, error) {
	if req.Body != nil {
		_, _ = io.Copy(io.Discard, req.Body)
		req.Body.Close()
	}
	return &http.Response{
		StatusCode:    status,
		Status:        strconv.Itoa(status) + " " + http.StatusText(status),
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        http.Header{"Content-Type": {"application/json"}},
		Body:          io.NopCloser(strings.NewReader(body)),
		ContentLength: int64(len(body)),
		Request:       req,
	}, nil
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
	return respond(req, http.StatusOK, l.cache[key])
}

// pause waits for d, if it is positive, or until the context ends.
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
	vm:       ourVM,
	created:  ourVM,
	missing:  `{"error":{"code":404,"type":"ResourceNotFound","message":"Sorry, we couldn’t find the resource you’re looking for.","details":null}}`,
	database: ourDatabase,
	page: func(first, n, total int) string {
		var b bytes.Buffer
		b.WriteString(`{"items":[`)
		for i := first; i < first+n; i++ {
			if i > first {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"id":"vm%024d","name":"web-%04d","state":"running","location":"eu-central-h1","size":"standard-2","unix_user":"ubi",`+
				`"storage_size_gib":40,"ip6":"2a01:db8:40:1ed3:aa7c::2","ip4_enabled":true,"ip4":"198.51.100.17"}`, i, i)
		}
		fmt.Fprintf(&b, `],"count":%d}`, total)
		return b.String()
	},
	first: func(query map[string][]string) int {
		if after := query["start_after"]; len(after) > 0 && after[0] != "" {
			last, _ := strconv.Atoi(strings.TrimPrefix(after[0], "vm"))
			return last + 1
		}
		return 0
	},
	metrics: func() string {
		const metrics, series, values = 20, 5, 2000
		var b bytes.Buffer
		b.WriteString(`{"metrics":[`)
		for m := range metrics {
			if m > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"key":"metric_%d","name":"Metric %d","description":"What is measured","unit":"%%","series":[`, m, m)
			for s := range series {
				if s > 0 {
					b.WriteByte(',')
				}
				fmt.Fprintf(&b, `{"labels":{"mode":"mode-%d"},"values":[`, s)
				for v := range values {
					if v > 0 {
						b.WriteByte(',')
					}
					fmt.Fprintf(&b, `[%d.%03d,"%.15f"]`, 1_759_512_000+15*v, v%1000, float64(v*(s+1))/7)
				}
				b.WriteString("]}")
			}
			b.WriteString("]}")
		}
		b.WriteString("]}")
		return b.String()
	},
}

const ourVM = `{"id":"vmy9n10s8q164j473ra7pj9nqz","name":"web-1","state":"running","location":"eu-central-h1","size":"standard-2","unix_user":"ubi","storage_size_gib":40,"ip6":"2a01:db8:40:1ed3:aa7c::2","ip4_enabled":true,"ip4":"198.51.100.17","firewalls":[{"id":"fw8ww2xa7brt1qrn9hgzbc7efq","name":"edge-fw","description":"public entry","location":"eu-central-h1","firewall_rules":[{"id":"frhgen1ff6864nrqg8etdv647m","cidr":"0.0.0.0/0","port_range":"22..22"},{"id":"fr1mt9vv3br62k0a4z2xjkms5a","cidr":"::/0","port_range":"0..65535"}],"path":"/location/eu-central-h1/firewall/edge-fw"}],"private_ipv4":"10.23.41.69","private_ipv6":"fd4c:91aa:7be0:12d:8c62::2","subnet":"backend-net","gpu":null}`

var (
	certificate = `-----BEGIN CERTIFICATE-----\n` + strings.Repeat(strings.Repeat("Ab3+", 16)+`\n`, 10) + `-----END CERTIFICATE-----\n`

	ourDatabase = `{"id":"pggk8wzevxhe1gh7zjzfx5jn70","name":"orders-db","state":"running","location":"eu-central-h1","vm_size":"standard-2","target_vm_size":"standard-2","storage_size_gib":64,"target_storage_size_gib":64,"version":"17","ha_type":"async","flavor":"standard","ca_certificates":"` + certificate + `","maintenance_window_start_at":3,"read_replica":false,"parent":null,"tags":[{"key":"team","value":"payments"}],"connection_string":"postgres://postgres:secret@orders-db.pg.example.com:5432/postgres?channel_binding=require","primary":true,"firewall_rules":[{"id":"pfkvg0ffxbpj5pkddz9xsn95pc","cidr":"203.0.113.0/24","description":"office"}],"metric_destinations":[],"read_replicas":[],"earliest_restore_time":"2025-10-01T02:15:09Z","latest_restore_time":"2025-10-03T17:40:00Z"}`
)

// sized pads the marked string of a response to make it as long as another.
func sized(reply string, length int) string {
	missing := length - (len(reply) - len("~"))
	if missing < 0 {
		panic(fmt.Sprintf("a reply of %d bytes for one of %d", len(reply), length))
	}
	return strings.Replace(reply, "~", strings.Repeat("x", missing), 1)
}
