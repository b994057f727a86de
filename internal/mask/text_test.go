package mask

import (
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"":                       "",
		"web-1":                  "web-1",
		"My laptop_2.old":        "My laptop_2.old",
		"Büro":                   "Büro",
		"a\nkept":                `"a\nkept"`,
		"a\r\x1b[2Jb":            `"a\r\x1b[2Jb"`,
		"a\u202eb":               `"a\u202eb"`,
		"a\u2028b\u0085c":        `"a\u2028b\u0085c"`,
		"a\xffb":                 `"a\xffb"`,
		"a (vm1), needed by":     `"a (vm1), needed by"`,
		`a"b`:                    `"a\"b"`,
		"eu/web":                 `"eu/web"`,
		"a  b":                   `"a  b"`,
		" a":                     `" a"`,
		strings.Repeat("a", 101): `"` + strings.Repeat("a", 100) + `"…`,
	} {
		if got := Name(name); got != want {
			t.Errorf("%q is shown as %s, want %s", name, got, want)
		}
	}
}
