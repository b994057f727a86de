package cloudapitest

import "testing"

func TestCIDRs(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"10.0.0.0/8":            "10.0.0.0/8",
		"10.1.2.3/16":           "10.1.0.0/16",
		"192.168.1.1":           "192.168.1.1/32",
		"0.0.0.0":               "0.0.0.0/32",
		"0.0.0.0/0":             "0.0.0.0/0",
		"010.0.0.1":             "10.0.0.1/32",
		" 10.0.0.0/8 ":          "10.0.0.0/8",
		"10.1.2.3 255.255.0.0":  "10.1.0.0/16",
		"10.1.2.3 255.0.255.0":  "",
		"10.1.2.3 16":           "",
		"10.0.0.300/8":          "",
		"10.0.0/8":              "",
		"10.0.0.0/33":           "",
		"10.0.0.0/":             "",
		"10.0.0.0/+8":           "",
		"fd00::/8":              "fd00::/8",
		"fd00::1/64":            "fd00::/64",
		"fd00::1":               "fd00::/64",
		"::":                    "::/128",
		"::/0":                  "::/0",
		"FD00:0:0:1::/64":       "fd00:0:0:1::/64",
		"fd00::/129":            "",
		"fe80::1%eth0/64":       "",
		"::ffff:10.0.0.0/104":   "",
		"::ffff:a00:0/104":      "",
		"fd00:: ffff:ffff::":    "",
		"banana":                "",
		"":                      "",
		"10.0.0.0/8 10.0.0.0/8": "",
	} {
		p, err := parseCIDR(in)
		if got := p.String(); want != "" && (err != nil || got != want) {
			t.Errorf("%q is %s, %v, want %s", in, got, err, want)
		}
		if want == "" && err == nil {
			t.Errorf("%q is %s, want an error", in, p)
		}
	}
}

func TestPortRanges(t *testing.T) {
	t.Parallel()
	const fields = "Validation failed for following fields: port_range"
	for in, want := range map[string]string{
		"80":                     "80..80",
		"0080":                   "80..80",
		"80..8080":               "80..8080",
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
		if e, ok := err.(*apiError); ok {
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
