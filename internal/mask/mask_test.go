package mask

import (
	"encoding/json"
	"html"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

func TestSecrets(t *testing.T) {
	t.Parallel()
	const password = `pass"word<é>` + "\n" + `of the database`
	quoted, _ := json.Marshal(password)
	twice, _ := json.Marshal(string(quoted))
	secrets := New([]string{"", "short", "sixsix", "gateway", "gateway-key", "a/slash", password})
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{"nothing of the kind", "nothing of the kind"},
		{`a backslash \ and \n`, `a backslash \ and \n`},
		{"a short value", "a short value"},
		{"of sixsix", "of [redacted]"},
		{"gateway and gateway-key", "[redacted] and [redacted]"},
		{"gateway-key-2", "[redacted]-2"},
		{"it is " + password + ".", "it is [redacted]."},
		{`{"a":` + string(quoted) + `}`, `{"a":"[redacted]"}`},
		{`{"a":"pass\"word<é>\nof the database"}`, `{"a":"[redacted]"}`},
		{`{"a":` + string(twice) + `}`, "[redacted]"},
		{"<p>" + html.EscapeString(password), "<p>[redacted]"},
		{"?a=" + url.QueryEscape(password) + "&b=" + url.PathEscape(password), "?a=[redacted]&b=[redacted]"},
		{`a\/slash`, "[redacted]"},
		{"before " + stub.EscapeAll("gateway"), "[redacted]"},
		{"gateway " + stub.EscapeAll("gateway"), "[redacted]"},
	} {
		if got := secrets.Mask(tt.in); got != tt.want {
			t.Errorf("Mask(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
	if got := Secrets(nil).Mask("gateway"); got != "gateway" {
		t.Errorf("without secrets: %q", got)
	}
}

// TestNothingToMask: a text without secrets costs no memory.
func TestNothingToMask(t *testing.T) {
	// Not parallel: other tests would also be counted.
	secrets := New([]string{"pat-0123456789", `pass"word`})
	if n := testing.AllocsPerRun(10, func() { secrets.Mask(`{"name":["is already taken"]}`) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestMemory: a text with many escapes takes hardly more memory than its size.
func TestMemory(t *testing.T) {
	// Not parallel: other tests would also be counted.
	for name, text := range map[string]string{
		"backslashes":    strings.Repeat(`\\`, 1<<19),
		"nested escapes": `\` + strings.Repeat("u005c", 1<<18),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		New([]string{"gateway"}).Mask(text)
		runtime.ReadMemStats(&after)
		if factor := (after.TotalAlloc - before.TotalAlloc) / uint64(len(text)); factor > 10 {
			t.Errorf("%s: %d bytes of memory for each byte", name, factor)
		}
	}
}

func TestUnusualSpellings(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`\u0067ateway\u002Dkey`:                  Redacted,
		`"\u0067ateway\-key"`:                    `"\u0067ateway\-key"`, // no JSON
		`gateway\u0000key`:                       `gateway\u0000key`,
		`\ud834\udd1egateway-k\u0065y \ud834 \u`: Redacted,
		`\\u0067ateway-key`:                      `\\u0067ateway-key`, // JSON in JSON: no program shows its strings decoded
		`cut \u0067ateway-key \`:                 Redacted,
	} {
		if got := New([]string{"gateway-key"}).Mask(in); got != want {
			t.Errorf("Mask(%q) = %q, want %q", in, got, want)
		}
	}
}
