package plain

import (
	"strings"
	"testing"
)

func TestExcerpt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   string
		max  int
		text string
		cut  bool
	}{
		{"", 3, "", false},
		{"abc", 3, "abc", false},
		{"abcd", 3, "abc", true},
		{"aéb", 3, "aé", true},
		{"aéb", 2, "a", true},
		{"日本", 2, "", true},
		{"日本", 5, "日", true},
		{"a\xffb", 9, "a\uFFFDb", false},
		{"\x80\x80\x80\x80", 2, "", true},
		{" a\tb\u0085c\n", 9, "a b c", false},
		{"a\u202eb\u2028c\u200bd", 20, "a b c d", false},
	} {
		if text, cut := Excerpt(tt.in, tt.max); text != tt.text || cut != tt.cut {
			t.Errorf("Excerpt(%q, %d) = %q, %v, want %q, %v", tt.in, tt.max, text, cut, tt.text, tt.cut)
		}
	}
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	if got := OneLine("a\r\nb\x00c"); got != "a  b c" {
		t.Errorf("two lines are %q", got)
	}
	whole := strings.Repeat("x", 500)
	if got := OneLine(whole); got != whole {
		t.Errorf("500 bytes are %q", got)
	}
	if got := OneLine(whole + "y"); got != whole+"…" {
		t.Errorf("501 bytes are %q", got)
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"":                          "",
		"web-1":                     "web-1",
		"My laptop_2.old":           "My laptop_2.old",
		"Büro":                      "Büro",
		"a\nkept":                   `"a\nkept"`,
		"a\r\x1b[2Jb":               `"a\r\x1b[2Jb"`,
		"a\u202eb":                  `"a\u202eb"`,
		"a\u2028b\u0085c":           `"a\u2028b\u0085c"`,
		"a\xffb":                    `"a\xffb"`,
		"a (vm1), needed by":        `"a (vm1), needed by"`,
		`a"b`:                       `"a\"b"`,
		"eu/web":                    `"eu/web"`,
		"a  b":                      `"a  b"`,
		" a":                        `" a"`,
		strings.Repeat("a", 101):    `"` + strings.Repeat("a", 100) + `"…`,
		strings.Repeat("\x80", 101): `""…`,
	} {
		if got := Name(name); got != want {
			t.Errorf("%q is shown as %s, want %s", name, got, want)
		}
	}
}
