package reveal

import (
	"encoding/json"
	"slices"
	"testing"
	"time"
)

type secret struct{ text string }

func (s secret) Reveal() string               { return s.text }
func (s secret) MarshalText() ([]byte, error) { return []byte("***"), nil }

type inner struct {
	Key    secret `json:"key"`
	hidden secret
}

type outer struct {
	inner
	ID       int64
	Password secret             `json:"password,omitzero"`
	Pointer  *secret            `json:"pointer"`
	Map      map[string][]inner `json:"map"`
	Any      any                `json:"any"`
	Numbers  map[int]secret     `json:"-"`
	At       time.Time          `json:"at,omitzero"`
	Raw      json.RawMessage    `json:"raw,omitzero"`
}

// TestTree: the JSON of a value has its secrets wherever they are, and nothing
// that the value's JSON leaves out. Numbers keep their digits.
func TestTree(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		value   any
		want    string
		secrets []string
	}{
		{nil, `null`, nil},
		{secret{"a"}, `"a"`, []string{"a"}},
		{(*secret)(nil), `null`, nil},
		{[]secret{{"a"}, {}}, `["a",""]`, []string{"a", ""}},
		{[2]any{1, &secret{"b"}}, `[1,"b"]`, []string{"b"}},
		{map[string]any{"x": secret{"c"}}, `{"x":"c"}`, []string{"c"}},
		{struct {
			inner
			Key string `json:"key"`
		}{inner{Key: secret{"k"}}, "another"}, `{"key":"another"}`, []string{"k"}},
		{outer{ID: 9007199254740993}, `{"ID":9007199254740993,"any":null,"key":"","map":null,"pointer":null}`, []string{"", ""}},
		{
			&outer{
				inner: inner{secret{"k"}, secret{"h"}}, Password: secret{"p"}, Pointer: &secret{"q"}, Map: map[string][]inner{"m": {{Key: secret{"l"}}}},
				Any: inner{Key: secret{"n"}}, At: time.Unix(0, 0).UTC(), Raw: json.RawMessage(`{"key":"***"}`),
			},
			`{"ID":0,"any":{"key":"n"},"at":"1970-01-01T00:00:00Z","key":"k","map":{"m":[{"key":"l"}]},"password":"p","pointer":"q","raw":{"key":"***"}}`,
			[]string{"k", "p", "q", "l", "n"},
		},
	} {
		tree, err := Tree(tt.value)
		text, encodeErr := json.Marshal(tree)
		if err != nil || encodeErr != nil || string(text) != tt.want {
			t.Errorf("%#v: %s, %v, %v, want %s", tt.value, text, err, encodeErr, tt.want)
		}
		if got := Secrets(tt.value); !slices.Equal(got, tt.secrets) {
			t.Errorf("%#v: the secrets are %q, want %q", tt.value, got, tt.secrets)
		}
	}
	if tree, err := Tree(map[string]any{"a": func() {}}); err == nil {
		t.Errorf("a function: %v", tree)
	}
}
