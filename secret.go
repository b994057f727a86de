package cloudapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/cloudapi-sdk/cloudapi/internal/mask"
)

// Secret is a string that shows "[redacted]" when it's printed, logged, or
// encoded as text or JSON, even deep inside other values. A request sends its
// content, and [Secret.Reveal] returns it. The zero value is empty.
type Secret struct {
	// value is a pointer because fmt doesn't call the methods of unexported
	// fields, and prints only the address of a pointer. nil means an empty secret.
	value *string

	// Two secrets with the same content have different pointers, so == would be
	// wrong. This field makes == a compile error. Use [Secret.Equal].
	_ [0]func()
}

const redacted = mask.Redacted

// hasMask reports whether a JSON text contains a masked secret. It first
// searches without the mask's quotes, since frequent quotes slow a search down.
func hasMask(text []byte) bool {
	return bytes.Contains(text, []byte(redacted)) && bytes.Contains(text, []byte(`"`+redacted+`"`))
}

// NewSecret returns s as a Secret.
func NewSecret(s string) Secret {
	if s == "" {
		return Secret{}
	}
	return Secret{value: &s}
}

// Reveal returns the content.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// IsZero reports whether the secret is empty.
func (s Secret) IsZero() bool { return s.value == nil }

// Equal reports whether two secrets have the same content.
func (s Secret) Equal(t Secret) bool { return s.Reveal() == t.Reveal() }

// String returns "[redacted]", or "" for the empty secret.
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return redacted
}

func (s Secret) Format(f fmt.State, verb rune) {
	if verb == 'v' && f.Flag('#') {
		fmt.Fprintf(f, "cloudapi.Secret(%q)", s.String())
		return
	}
	fmt.Fprint(f, s.String())
}

func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText sets the content to the text.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = NewSecret(string(text))
	return nil
}

// UnmarshalJSON sets the content to a JSON string; null is the empty secret.
func (s *Secret) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	*s = NewSecret(text)
	return nil
}
