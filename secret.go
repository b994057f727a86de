package cloudapi

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"

	"github.com/cloudapi-sdk/cloudapi/internal/mask"
)

// Secret is a string that shows "[redacted]" when it's printed, logged, or
// encoded as text or JSON, even deep inside other values. A request sends its
// content, and [Secret.Reveal] returns it. The zero value is empty, and so is what
// is decoded from "[redacted]": a record that was stored as JSON has lost its
// secrets.
type Secret struct {
	// sealed is the content, which [seal] makes unreadable for what reads
	// unexported fields, such as the differences that test libraries print. Equal
	// contents are equal for [reflect.DeepEqual]. It's a pointer because fmt doesn't
	// call the methods of unexported fields, and prints only the address of a
	// pointer. nil means an empty secret.
	sealed *string

	// Two secrets with the same content have different pointers, so == would be
	// wrong. This field makes == a compile error. Use [Secret.Equal].
	_ [0]func()
}

const redacted = mask.Redacted

// sealKey is different in each process.
var sealKey = sync.OnceValue(func() (key [32]byte) {
	_, _ = rand.Read(key[:]) // can't fail
	return key
})

var sealCipher = sync.OnceValue(func() cipher.Block {
	key := sealKey()
	block, _ := aes.NewCipher(key[:]) // can't fail: the key has the right size
	return block
})

// seal encrypts a text for this process. Equal texts give equal results. Different
// texts have different streams, or two secrets of a record would decrypt each other.
func seal(text string) string {
	key := sealKey()
	tag := sha256.Sum256(append(key[:], text...))
	return string(tag[:aes.BlockSize]) + crypt(tag[:aes.BlockSize], text)
}

// unseal is the inverse of seal.
func unseal(sealed string) string {
	return crypt([]byte(sealed[:aes.BlockSize]), sealed[aes.BlockSize:])
}

// crypt encrypts or decrypts a text with the stream of a tag.
func crypt(tag []byte, text string) string {
	b := []byte(text)
	cipher.NewCTR(sealCipher(), tag).XORKeyStream(b, b)
	return string(b)
}

// NewSecret returns s as a Secret.
func NewSecret(s string) Secret {
	if s == "" {
		return Secret{}
	}
	return Secret{sealed: new(seal(s))}
}

// Reveal returns the content.
func (s Secret) Reveal() string {
	if s.sealed == nil {
		return ""
	}
	return unseal(*s.sealed)
}

// IsZero reports whether the secret is empty.
func (s Secret) IsZero() bool { return s.sealed == nil }

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

// UnmarshalText sets the content to the text, or to "" if the text is "[redacted]".
func (s *Secret) UnmarshalText(text []byte) error {
	*s = Secret{}
	if string(text) != redacted {
		*s = NewSecret(string(text))
	}
	return nil
}

// UnmarshalJSON is UnmarshalText of a JSON string; null is the empty secret.
func (s *Secret) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	return s.UnmarshalText([]byte(text))
}
