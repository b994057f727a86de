package cloudapi

import (
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/cloudapi-sdk/cloudapi/internal/mask"
)

// Secret is a string that does not show itself: printed with any verb of fmt,
// logged with slog, or encoded as text or JSON it is "[redacted]", also deep
// inside other values. [Secret.Reveal] is the one way to its content.
//
// The zero value is the empty secret, which encodes as "".
type Secret struct {
	// value is behind a pointer because fmt prints unexported fields of
	// structs without asking their methods: all it finds is an address.
	value *string

	// Two secrets with the same content hold different pointers, so == would
	// mislead; this makes it an error to compile. Use [Secret.Equal].
	_ [0]func()
}

const redacted = mask.Redacted

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
func (s Secret) IsZero() bool { return s.value == nil || *s.value == "" }

// Equal reports whether two secrets have the same content.
func (s Secret) Equal(t Secret) bool { return s.Reveal() == t.Reveal() }

// String returns "[redacted]", or "" for the empty secret.
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return redacted
}

// GoString returns what the verb %#v prints.
func (s Secret) GoString() string { return fmt.Sprintf("cloudapi.Secret(%q)", s.String()) }

// Format prints the masked form for every verb.
func (s Secret) Format(f fmt.State, verb rune) {
	if verb == 'v' && f.Flag('#') {
		fmt.Fprint(f, s.GoString())
		return
	}
	fmt.Fprint(f, s.String())
}

// LogValue returns the masked form.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText returns the masked form. Requests that carry a secret do not go
// through it.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText keeps the text as the content.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = NewSecret(string(text))
	return nil
}

// UnmarshalJSON keeps a JSON string as the content; null is the empty secret.
func (s *Secret) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	*s = NewSecret(text)
	return nil
}
