package exchange

import (
	"maps"
	"net/http"
	"strings"
)

// WithoutReplay returns a transport like next, for requests whose headers
// somebody else may have set. With the headers Idempotency-Key and
// X-Idempotency-Key, as it spells them, net/http would send any request again
// whose connection breaks, carried out or not. They are sent in lower case: for
// a server the case of a name is all one.
func WithoutReplay(next http.RoundTripper) http.RoundTripper { return withoutReplay{next} }

type withoutReplay struct{ http.RoundTripper }

func (t withoutReplay) RoundTrip(req *http.Request) (*http.Response, error) {
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		values, found := req.Header[name]
		if !found {
			continue
		}
		req = req.WithContext(req.Context())
		req.Header = maps.Clone(req.Header)
		delete(req.Header, name)
		req.Header[strings.ToLower(name)] = values
	}
	return t.RoundTripper.RoundTrip(req)
}
