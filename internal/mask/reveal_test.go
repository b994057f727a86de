package mask

import (
	"encoding/json"
	"slices"
	"strings"
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

// within embeds itself.
type within struct {
	*within
	Key hidden
}

// bearer is a secret, with another text in JSON.
type bearer struct{ hidden }

func (b bearer) MarshalText() ([]byte, error) { return []byte("Bearer " + b.Reveal()), nil }

// Three structs that, embedded, send the field of the second: the SDK's own
// field has the name in its tag.
type (
	sends struct {
		X hidden `json:"Y"`
	}
	silent struct {
		X hidden `json:"-"`
	}
	untold struct{ Y hidden }
)

type (
	deep struct{ inner }
	flat struct {
		Key hidden `json:"key"`
	}
	Any  any
	Keys map[string]hidden
	word string
)

func (word) String() string { return "another" }

// own leaves out its first element.
type own []hidden

func (o own) MarshalJSON() ([]byte, error) { return json.Marshal([]hidden(o[1:])) }

type byText struct{ Key hidden }

func (*byText) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// TestReveal: the JSON of a value has its secrets, and nothing that the value's
// JSON leaves out. Numbers keep their digits. A secret stays masked where it isn't
// certain which one it is.
func TestReveal(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		value   any
		want    string
		secrets string // sorted
	}{
		{nil, `null`, ""},
		{hidden{"a"}, `"a"`, "a"},
		{(*hidden)(nil), `null`, ""},
		{[]hidden{{"a"}, {}}, `["a",""]`, "a"},
		{[2]any{1, &hidden{"b"}}, `[1,"b"]`, "b"},
		{map[string]any{"x": hidden{"c"}}, `{"x":"c"}`, "c"},
		{struct {
			inner
			Key string `json:"key"`
		}{inner{Key: hidden{"k"}}, "another"}, `{"key":"another"}`, ""},
		{struct {
			inner
			Key hidden `json:"key"`
		}{inner{Key: hidden{"old"}}, hidden{"new"}}, `{"key":"new"}`, "new"},
		{struct {
			Unsent hidden `json:"-"`
			Sent   hidden
		}{hidden{"u"}, hidden{"s"}}, `{"Sent":"s"}`, "s"},
		{&family{Name: "a", Children: []*family{{Key: hidden{"x"}}}}, `{"Children":[{"Children":null,"Key":"x","Name":""}],"Key":"","Name":"a"}`, "x"},
		{struct {
			deep
			flat
		}{deep{inner{Key: hidden{"d"}}}, flat{hidden{"f"}}}, `{"key":"f"}`, "f"},
		{struct {
			deep
			*flat
		}{deep{}, &flat{hidden{"f"}}}, `{"key":"f"}`, "f"},
		{struct {
			flat `json:"at"`
			deep
			Key hidden
		}{flat{hidden{"f"}}, deep{}, hidden{"k"}}, `{"Key":"k","at":{"key":"f"},"key":""}`, "f k"},
		{map[word]hidden{"w": {"m"}}, `{"w":"m"}`, "m"},
		{struct {
			Any
			Keys
		}{hidden{"a"}, Keys{"k": {"b"}}}, `{"Any":"a","Keys":{"k":"b"}}`, "a b"},
		{[]any{bearer{hidden{"s"}}, hidden{"t"}}, `["Bearer s","t"]`, "t"},
		{&within{Key: hidden{"w"}}, `{"Key":"w"}`, "w"},
		{[][2]hidden{{{"a"}, {"b"}}}, `[["a","b"]]`, "a b"},
		{outer{ID: 9007199254740993}, `{"ID":9007199254740993,"any":null,"key":"","map":null,"pointer":null}`, ""},
		{
			&outer{
				inner: inner{hidden{"k"}, hidden{"h"}}, Password: hidden{"p"}, Pointer: &hidden{"q"}, Map: map[string][]inner{"m": {{Key: hidden{"l"}}}},
				Any: inner{Key: hidden{"n"}}, At: time.Unix(0, 0).UTC(), Raw: json.RawMessage(`{"key":"[redacted]"}`),
			},
			`{"ID":0,"any":{"key":"n"},"at":"1970-01-01T00:00:00Z","key":"k","map":{"m":[{"key":"l"}]},"password":"p","pointer":"q","raw":{"key":"[redacted]"}}`,
			"k l n p q",
		},

		// What isn't certain:
		{struct {
			//lint:ignore SA5008 Go 1.26 sends this as Y, Go 1.27 as X
			Y hidden `json:"X's"`
			//lint:ignore SA5008 and this as X and Y
			X hidden `json:"Y's"`
		}{hidden{"1"}, hidden{"2"}}, `{"X":"[redacted]","Y":"[redacted]"}`, ""},
		{map[int]hidden{-7: {"i"}}, `{"-7":"[redacted]"}`, ""},
		{struct {
			First  hidden
			Second hidden `json:"First"`
		}{hidden{"1"}, hidden{"2"}}, `{"First":"[redacted]"}`, ""},
		{struct {
			silent
			sends
			untold
		}{silent{hidden{"1"}}, sends{hidden{"2"}}, untold{hidden{"3"}}}, `{"Y":"[redacted]"}`, ""},
		{struct {
			untold `json:"untold"`
			deep
		}{untold{hidden{"1"}}, deep{inner{Key: hidden{"2"}}}}, `{"key":"[redacted]","untold":{"Y":"1"}}`, "1"},
		{struct {
			Sent struct{ Y hidden } `json:"X"`
			untold
			silent
		}{struct{ Y hidden }{hidden{"1"}}, untold{hidden{"2"}}, silent{}}, `{"X":{"Y":"1"},"Y":"2"}`, "1 2"},
		{[]any{own{{"a"}, {"b"}}, &byText{Key: hidden{"c"}}}, `[["[redacted]"],"[redacted]"]`, ""},
		{struct{ Key byText }{byText{Key: hidden{"d"}}}, `{"Key":{"Key":"[redacted]"}}`, ""}, // MarshalText needs a pointer
	} {
		switch v := tt.value.(type) {
		case *family:
			v.Children[0].Parent = v
		case *within:
			v.within = v
		}
		text, err := json.Marshal(tt.value)
		if err != nil {
			t.Fatal(err)
		}
		tree, secrets := Reveal(tt.value, text)
		text, encodeErr := json.Marshal(tree)
		if err != nil || encodeErr != nil || string(text) != tt.want {
			t.Errorf("%T: %s, %v, %v, want %s", tt.value, text, err, encodeErr, tt.want)
		}
		slices.Sort(secrets)
		if got := strings.Join(secrets, " "); got != tt.secrets {
			t.Errorf("%T: the secrets are %q, want %q", tt.value, got, tt.secrets)
		}
	}
}
