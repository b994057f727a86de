package mask

import (
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"
)

type hidden struct{ text string }

func (s hidden) Reveal() string { return s.text }
func (s hidden) MarshalText() ([]byte, error) {
	if s.text == "" {
		return nil, nil
	}
	return []byte(Redacted), nil
}

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
	l := &link{Key: hidden{key}, Own: map[string]any{"key": hidden{"in a map"}}}
	l.Next = &link{Next: l}
	return l
}

// chain returns n links. Only the first ones are visited.
func chain(n int) *link {
	first := &link{Key: hidden{"0"}}
	for l := first; n > 1; n-- {
		l.Next = &link{Key: hidden{"0"}}
		if l = l.Next; n == 2 {
			l.Key = hidden{"far"}
		}
	}
	return first
}

// above has a cycle that JSON leaves out.
type above struct {
	Key hidden
	Up  *above `json:",omitzero"`
}

func (*above) IsZero() bool { return true }

// within embeds itself.
type within struct {
	*within
	Key hidden
}

// nothing encodes itself, and embeds a nil pointer to a secret two levels deep.
type nothing struct{ indirect }

type indirect struct{ *hidden }

func (nothing) MarshalJSON() ([]byte, error) { return []byte(`"nothing"`), nil }

type (
	keys struct{ Tags []string }
	deep struct{ inner }
	flat struct {
		Key hidden `json:"key"`
	}
)

// bearer is a secret, with another text in JSON.
type bearer struct{ hidden }

func (b bearer) MarshalText() ([]byte, error) { return []byte("Bearer " + b.Reveal()), nil }

// bare encodes itself, and embeds a nil pointer to a secret, whose methods it has.
type bare struct {
	Part   struct{ Inside struct{ *hidden } } `json:"-"`
	Beside hidden
}

func (bare) MarshalJSON() ([]byte, error) { return []byte(`"own"`), nil }

type (
	Any    any
	Keys   map[string]hidden
	byWord struct{ text string }
	word   string
)

func (w byWord) MarshalText() ([]byte, error) { return []byte("word " + w.text), nil }
func (word) String() string                   { return "another" }

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

func (*byText) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

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
		}{inner{Key: hidden{"k"}}, "another"}, `{"key":"another"}`, nil},
		{struct {
			inner
			Key hidden `json:"key"`
		}{inner{Key: hidden{"old"}}, hidden{"new"}}, `{"key":"new"}`, []string{"new"}},
		{struct {
			Unsent hidden `json:"-"`
			Sent   hidden
		}{hidden{"u"}, hidden{"s"}}, `{"Sent":"s"}`, []string{"s"}},
		{&family{Name: "a", Children: []*family{{Key: hidden{"x"}}}}, `{"Children":[{"Children":null,"Key":"x","Name":""}],"Key":"","Name":"a"}`, []string{"", "x"}},
		{ring("r"), `"own"`, []string{"r", ""}},
		{chain(1_000_000), `"own"`, []string{"0"}},
		{&above{Key: hidden{"k"}}, `{"Key":"k"}`, []string{"k"}},
		{map[int]hidden{-7: {"i"}}, `{"-7":"i"}`, []string{"i"}},
		{map[uint8]hidden{7: {"i"}}, `{"7":"i"}`, []string{"i"}},
		{map[byWord]hidden{{"w"}: {"m"}}, `{"word w":"m"}`, []string{"m"}},
		{map[word]hidden{"w": {"m"}}, `{"w":"m"}`, []string{"m"}},
		{struct {
			Any
			Keys
		}{hidden{"a"}, Keys{"k": {"b"}}}, `{"Any":"a","Keys":{"k":"b"}}`, []string{"a", "b"}},
		{struct {
			keys
			Tags []hidden
		}{keys{Tags: []string{"a", "b"}}, []hidden{{"t"}}}, `{"Tags":["t"]}`, []string{"t"}},
		{struct {
			deep
			flat
		}{deep{inner{Key: hidden{"d"}}}, flat{hidden{"f"}}}, `{"key":"f"}`, []string{"f"}},
		{struct {
			First  hidden
			Second hidden `json:"First"`
		}{hidden{"1"}, hidden{"2"}}, `{"First":"[redacted]"}`, nil}, // JSON has the second one; the mask is refused
		{struct {
			inner `json:"u"`
		}{inner{Key: hidden{"u"}}}, `{"u":{"key":"u"}}`, []string{"u"}},
		{[]any{bearer{hidden{"s"}}, hidden{"t"}}, `["Bearer s","t"]`, []string{"s", "t"}},
		{map[*byWord]hidden{nil: {"n"}}, `{"":"n"}`, []string{"n"}},
		{&within{Key: hidden{"w"}}, `{"Key":"w"}`, []string{"w"}},
		{bare{Beside: hidden{"b"}}, `"own"`, []string{"b"}},
		{nothing{}, `"nothing"`, nil},
		{parts("a", "b"), `"lists"`, []string{"a", "b"}},
		{[][2]hidden{{{"a"}, {"b"}}}, `[["a","b"]]`, []string{"a", "b"}},
		{[]any{own{{"a"}, {"b"}}, &byText{Key: hidden{"c"}}}, `[["[redacted]"],"[redacted]"]`, []string{"a", "b", "c"}},
		{struct{ Key byText }{byText{Key: hidden{"d"}}}, `{"Key":{"Key":"d"}}`, []string{"d"}}, // MarshalText needs a pointer
		{outer{ID: 9007199254740993}, `{"ID":9007199254740993,"any":null,"key":"","map":null,"pointer":null}`, []string{""}},
		{
			&outer{
				inner: inner{hidden{"k"}, hidden{"h"}}, Password: hidden{"p"}, Pointer: &hidden{"q"}, Map: map[string][]inner{"m": {{Key: hidden{"l"}}}},
				Any: inner{Key: hidden{"n"}}, At: time.Unix(0, 0).UTC(), Raw: json.RawMessage(`{"key":"[redacted]"}`),
			},
			`{"ID":0,"any":{"key":"n"},"at":"1970-01-01T00:00:00Z","key":"k","map":{"m":[{"key":"l"}]},"password":"p","pointer":"q","raw":{"key":"[redacted]"}}`,
			[]string{"p", "q", "l", "n", "k"},
		},
	} {
		switch v := tt.value.(type) {
		case *family:
			v.Children[0].Parent = v
		case *above:
			v.Up = v
		case *within:
			v.within = v
		}
		text, err := json.Marshal(tt.value)
		if err != nil {
			t.Fatal(err)
		}
		tree, got, err := Reveal(tt.value, text)
		text, encodeErr := json.Marshal(tree)
		if err != nil || encodeErr != nil || string(text) != tt.want {
			t.Errorf("%T: %s, %v, %v, want %s", tt.value, text, err, encodeErr, tt.want)
		}
		if !slices.Equal(got, tt.secrets) {
			t.Errorf("%T: the secrets are %q, want %q", tt.value, got, tt.secrets)
		}
	}
}

// guarded encodes itself, and guards a value that can be anything.
type guarded struct {
	mu     sync.Mutex
	Value  any
	Values []*int
}

func (g *guarded) MarshalJSON() ([]byte, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return json.Marshal(g.Value)
}

// TestRevealOfAGuardedType: Reveal doesn't read what a type may guard. The race
// detector checks that.
func TestRevealOfAGuardedType(t *testing.T) {
	t.Parallel()
	var g guarded
	var change sync.WaitGroup
	for i := range 2 {
		change.Go(func() {
			for range 1000 {
				g.mu.Lock()
				g.Value, g.Values = []any{i}, []*int{&i}
				g.mu.Unlock()
			}
		})
	}
	for range 1000 {
		if _, secrets, err := Reveal(map[string]any{"g": &g}, []byte(`{"g":[1]}`)); err != nil || secrets != nil {
			t.Fatalf("%q, %v", secrets, err)
		}
	}
	change.Wait()
}
