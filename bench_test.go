package cloudapi

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"testing"
)

// A stub answers every request with the same bytes, in process.
type stub struct{ body []byte }

func (s *stub) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		io.Copy(io.Discard, req.Body)
		req.Body.Close()
	}
	return &http.Response{
		StatusCode:    200,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        http.Header{"Content-Type": {"application/json"}},
		Body:          io.NopCloser(bytes.NewReader(s.body)),
		ContentLength: int64(len(s.body)),
		Request:       req,
	}, nil
}

const benchVM = `{"id":"vmy9n10s8q164j473ra7pj9nqz","name":"web-1","state":"running","location":"eu-central-h1","size":"standard-2","unix_user":"ubi","storage_size_gib":40,"ip6":"2a01:db8:40:1ed3:aa7c::2","ip4_enabled":true,"ip4":"198.51.100.17","firewalls":[{"id":"fw8ww2xa7brt1qrn9hgzbc7efq","name":"edge-fw","description":"public entry","location":"eu-central-h1","firewall_rules":[{"id":"frhgen1ff6864nrqg8etdv647m","cidr":"0.0.0.0/0","port_range":"22..22"},{"id":"fr1mt9vv3br62k0a4z2xjkms5a","cidr":"::/0","port_range":"0..65535"}],"path":"/location/eu-central-h1/firewall/edge-fw"}],"private_ipv4":"10.23.41.69","private_ipv6":"fd4c:91aa:7be0:12d:8c62::2","subnet":"backend-net","gpu":null}`

func BenchmarkGetVM(b *testing.B) {
	transport := &stub{[]byte(benchVM)}
	b.Run("floor", func(b *testing.B) {
		b.ReportAllocs()
		hc := &http.Client{Transport: transport}
		pool := sync.Pool{New: func() any { return new(bytes.Buffer) }}
		for b.Loop() {
			req, err := http.NewRequestWithContext(b.Context(), "GET", "https://api.example.com/project/"+testProject+"/location/eu-central-h1/vm/web-1", nil)
			if err != nil {
				b.Fatal(err)
			}
			req.Header.Set("Accept", "application/json")
			req.Header.Set("Authorization", "Bearer "+testToken)
			req.Header.Set("User-Agent", "floor")
			resp, err := hc.Do(req)
			if err != nil {
				b.Fatal(err)
			}
			buf := pool.Get().(*bytes.Buffer)
			buf.Reset()
			if _, err := buf.ReadFrom(resp.Body); err != nil {
				b.Fatal(err)
			}
			resp.Body.Close()
			var vm VM
			if err := json.Unmarshal(buf.Bytes(), &vm); err != nil {
				b.Fatal(err)
			}
			pool.Put(buf)
		}
	})
	b.Run("sdk", func(b *testing.B) {
		b.ReportAllocs()
		client, err := NewClient(WithBaseURL("https://api.example.com"), WithToken(testToken), WithProject(testProject), WithHTTPClient(&http.Client{Transport: transport}))
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := client.VMs.Get(b.Context(), "eu-central-h1", "web-1"); err != nil {
				b.Fatal(err)
			}
		}
	})
}
