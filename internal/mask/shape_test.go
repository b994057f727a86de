package mask

import "testing"

func TestShape(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		``:                            ``,
		`{}`:                          `{}`,
		`{"a":"b","c" : 1,"d":null}`:  `{"a":"…","c" : 1,"d":null}`,
		`{"a\"b":"c\"d\\","e":["f"]}`: `{"a\"b":"…","e":["…"]}`,
		`["a","b"]`:                   `["…","…"]`,
		`{"a":"cut`:                   `{"a":"…`,
		`{"a":"cut\`:                  `{"a":"…`,
		`{"cut`:                       `{"…`,
		`"a"`:                         `"…"`,
	} {
		if got := Shape(in); got != want {
			t.Errorf("Shape(%s) = %s, want %s", in, got, want)
		}
	}
}
