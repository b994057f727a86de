package mask

import (
	"encoding/json"
	"slices"
	"testing"
	"time"
)

type hidden struct{ text string }

func (s hidden) Reveal() string               { return s.text }
func (s hidden) MarshalText() ([]byte, error) { return []byte("***"), nil }

type inner struct {
	Key    hidden `json:"key"`
	unread hidden
}

type outer struct {
	inner
	ID       int64
	Password hidden             `json:"password,omitzero"`
	Pointer  *hidden            `json:"pointer"`
	Map      map[string][]inner `json:"map"`
	Any      any                `json:"any"`
	Numbers  map[int]hidden     `json:"-"`
	At       time.Time          `json:"at,omitzero"`
	Raw      json.RawMessage    `json:"raw,omitzero"`
}

// family has a cycle that encoding/json doesn't see.
type family struct {
	Name     string
	Key      hidden
	Parent   *family `json:"-"`
	Children []*family
}

// link is in a ring, and encodes itself.
type link struct {
	Key  hidden `json:"-"`
	Next *link
	Own  map[string]any
}

func (*link) MarshalJSON() ([]byte, error) { return []byte(`"own"`), nil }

func ring(key string) *link {
	l := &link{Key: hidden{key}, Own: map[string]any{}}
	l.Next, l.Own["it"], l.Own["its"] = &link{Next: l}, l, []any{l.Own}
	return l
}

// lists can have slices of one array.
type lists struct{ First, All []hidden }

func (*lists) MarshalJSON() ([]byte, error) { return []byte(`"lists"`), nil }

func parts(first, second string) *lists {
	all := []hidden{{first}, {second}}
	return &lists{all[:1], all}
}

// own leaves out its first element.
type own []hidden

func (o own) MarshalJSON() ([]byte, error) { return json.Marshal([]hidden(o[1:])) }

type byText struct{ Key hidden }

func (*byText) MarshalText() ([]byte, error) { return []byte("***"), nil }

// TestReveal: the JSON of a value has its secrets wherever they are, and nothing
// that the value's JSON leaves out. Numbers keep their digits.
func TestReveal(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		value   any
		want    string
		secrets []string
	}{
		{nil, `null`, nil},
		{hidden{"a"}, `"a"`, []string{"a"}},
		{(*hidden)(nil), `null`, nil},
		{[]hidden{{"a"}, {}}, `["a",""]`, []string{"a", ""}},
		{[2]any{1, &hidden{"b"}}, `[1,"b"]`, []string{"b"}},
		{map[string]any{"x": hidden{"c"}}, `{"x":"c"}`, []string{"c"}},
		{struct {
			inner
			Key string `json:"key"`
		}{inner{Key: hidden{"k"}}, "another"}, `{"key":"another"}`, []string{"k"}},
		{struct {
			inner
			Key hidden `json:"key"`
		}{inner{Key: hidden{"old"}}, hidden{"new"}}, `{"key":"new"}`, []string{"new", "old"}},
		{struct {
			Unsent hidden `json:"-"`
			Sent   hidden
		}{hidden{"u"}, hidden{"s"}}, `{"Sent":"s"}`, []string{"s"}},
		{&family{Name: "a", Children: []*family{{Key: hidden{"x"}}}}, `{"Children":[{"Children":null,"Key":"x","Name":""}],"Key":"","Name":"a"}`, []string{"", "x"}},
		{ring("r"), `"own"`, []string{"r", "", "r"}},
		{parts("a", "b"), `"lists"`, []string{"a", "a", "b"}},
		{[][2]hidden{{{"a"}, {"b"}}}, `[["a","b"]]`, []string{"a", "b"}},
		{[]any{own{{"a"}, {"b"}}, &byText{Key: hidden{"c"}}}, `[["***"],"***"]`, []string{"a", "b", "c"}},
		{struct{ Key byText }{byText{Key: hidden{"d"}}}, `{"Key":{"Key":"d"}}`, []string{"d"}}, // MarshalText needs a pointer
		{outer{ID: 9007199254740993}, `{"ID":9007199254740993,"any":null,"key":"","map":null,"pointer":null}`, []string{"", ""}},
		{
			&outer{
				inner: inner{hidden{"k"}, hidden{"h"}}, Password: hidden{"p"}, Pointer: &hidden{"q"}, Map: map[string][]inner{"m": {{Key: hidden{"l"}}}},
				Any: inner{Key: hidden{"n"}}, At: time.Unix(0, 0).UTC(), Raw: json.RawMessage(`{"key":"***"}`),
			},
			`{"ID":0,"any":{"key":"n"},"at":"1970-01-01T00:00:00Z","key":"k","map":{"m":[{"key":"l"}]},"password":"p","pointer":"q","raw":{"key":"***"}}`,
			[]string{"p", "q", "l", "n", "k"},
		},
	} {
		if f, ok := tt.value.(*family); ok {
			f.Children[0].Parent = f
		}
		tree, err := Reveal(tt.value)
		text, encodeErr := json.Marshal(tree)
		if err != nil || encodeErr != nil || string(text) != tt.want {
			t.Errorf("%T: %s, %v, %v, want %s", tt.value, text, err, encodeErr, tt.want)
		}
		if got := SecretsIn(tt.value); !slices.Equal(got, tt.secrets) {
			t.Errorf("%T: the secrets are %q, want %q", tt.value, got, tt.secrets)
		}
	}
	if tree, err := Reveal(map[string]any{"a": func() {}}); err == nil {
		t.Errorf("a function: %v", tree)
	}
}
