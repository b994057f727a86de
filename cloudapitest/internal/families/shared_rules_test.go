package families

import (
	"testing"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
)

func TestPortRanges(t *testing.T) {
	t.Parallel()
	const fields = "Validation failed for following fields: port_range"
	for in, want := range map[string]string{
		"80":                     "80..80",
		"0080":                   "80..80",
		"80..8080":               "80..8080",
		"80..80":                 "80..80",
		"0..65535":               "0..65535",
		"65536":                  "Port must be between 0 to 65535",
		"65536..65537":           "Start port must be between 0 to 65535",
		"1..65536":               "End port must be between 0 to 65535",
		"90..80":                 "Start port must be smaller than or equal to end port",
		"80-90":                  "Invalid port range",
		"80..":                   "Invalid port range",
		" 80":                    "Invalid port range",
		"":                       "Invalid port range",
		"9999999999999999999999": "Port must be between 0 to 65535",
	} {
		r, err := parsePortRange(in)
		got := r.String()
		if e, ok := err.(*reply.Error); ok {
			got = string(e.Details)
			want = `{"port_range":"` + want + `"}`
			if e.Message != fields {
				t.Errorf("%q: %s", in, e.Message)
			}
		}
		if got != want {
			t.Errorf("%q is %s, want %s", in, got, want)
		}
	}
}
