package mask

import (
	"encoding/json"
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
		{`a\/slash`, "[redacted]"},
		{"before " + stub.EscapeAll("gateway"), "[redacted]"},
		{"gateway " + stub.EscapeAll("gateway"), "[redacted]"},
	} {
		if got := secrets.Mask(tt.in); got != tt.want {
			t.Errorf("Hide(%q) = %q, want %q", tt.in, got, tt.want)
		}
		if got := secrets.occurIn(tt.in); got != (tt.in != tt.want) {
			t.Errorf("in(%q) = %v", tt.in, got)
		}
	}
	if got := Secrets(nil).Mask("gateway"); got != "gateway" {
		t.Errorf("without secrets: %q", got)
	}
}

// TestDeepNesting: a short text can contain thousands of levels of escapes.
// Mask doesn't examine all of them, so the text may contain a secret.
func TestDeepNesting(t *testing.T) {
	t.Parallel()
	text := `\` + strings.Repeat("u005c", 1000)
	if got := New([]string{"gateway"}).Mask(text); got != Redacted {
		t.Errorf("Hide returned %d bytes, want %q", len(got), Redacted)
	}
	if got := New(nil).Mask(text); got != text {
		t.Errorf("without secrets: %q", got)
	}
}

// TestMemory: a text with many escapes takes hardly more memory than its size
// for each level.
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
		if factor := (after.TotalAlloc - before.TotalAlloc) / uint64(len(text)); factor > 40 {
			t.Errorf("%s: %d bytes of memory for each byte", name, factor)
		}
	}
}

func TestUnescaped(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                      "",
		"plain é":               "plain é",
		`a\/b\"c\\d`:            `a/b"c\d`,
		`\b\f\n\r\t`:            "\b\f\n\r\t",
		`\u0070at\u002D\u002d`:  "pat--",
		`\ud834\udd1e`:          "𝄞",
		stub.EscapeAll("aé日𝄞"):  "aé日𝄞",
		`cut \`:                 "cut ",
		`cut \u`:                "cut u",
		`cut \u00`:              "cut u00",
		`no \u00zz`:             "no u00zz",
		`\ud834 \udd1e`:         "\uFFFD \uFFFD",
		`\udd1e\ud834`:          "\uFFFD\uFFFD",
		`\ud834\ud834\udd1e`:    "\uFFFD𝄞",
		`\ud834\u0061\x\\u0061`: "\uFFFDax\\u0061",
	} {
		if got := unescaped(in); got != want {
			t.Errorf("%q is unescaped as %q, want %q", in, got, want)
		}
	}
}
