package jsonform

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

type record struct {
	ID    string            `json:"id"`
	Time  time.Time         `json:"time"`
	Next  *record           `json:"next"`
	Items []record          `json:"items"`
	Refs  []*record         `json:"refs"`
	IDs   []string          `json:"ids"`
	Named map[string]record `json:"named"`
	By    map[int]any       `json:"by"`
	Pairs pairs             `json:"pairs"`
	Raw   json.RawMessage   `json:"raw"`
	Texts map[string]string `json:"texts"`
	Array [2]int            `json:"array"`
	Any   any               `json:"any"`
	Plain float64
	Drop  string `json:"-"`
	embedded
}

type embedded struct {
	Inner []int `json:"inner"`
}

// Base is embedded by a pointer, which encoding/json sets.
type Base struct {
	IDs   []string `json:"ids"`
	Items []record `json:"items"`
}

// pairs is a slice with its own decoder.
type pairs []pair

type pair struct{ a, b int }

func (p *pair) UnmarshalJSON(data []byte) error {
	a, b, _ := bytes.Cut(bytes.Trim(data, "[]"), []byte(","))
	var errA, errB error
	p.a, errA = strconv.Atoi(string(a))
	p.b, errB = strconv.Atoi(string(b))
	return errors.Join(errA, errB)
}

func (p *pairs) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, (*[]pair)(p))
}

// anySize decodes texts of any size.
var anySize = Decoder{Memory: math.MaxInt64}

// checked is a context that calls a function whenever its end is checked.
type checked func() error

func (f checked) Err() error                    { return f() }
func (checked) Deadline() (_ time.Time, _ bool) { return }
func (checked) Done() <-chan struct{}           { return nil }
func (checked) Value(any) any                   { return nil }

var texts = []string{
	`{"id":"a","time":"2026-01-02T03:04:05Z","next":{"id":"b","items":[{"id":"c"},{"id":"d","next":null}]},"Plain":1.5e3}`,
	` { "items" : [ {"id" : "a"} , {} , {"IDS":["x","y"]} ] , "refs":[null,{"id":"e"}] , "ids":[ ] } `,
	`{"named":{"a":{"id":"b"},"c\u0041":{"named":{"d":{"ids":["e"]}}}},"by":{"1":[1,{"x":[true,false,null]}],"-2":"t"}}`,
	`{"pairs":[[1,2],[3,4],[5,6]],"raw":{"x":[1,2,{"y":"z"}]},"array":[1,2,3],"inner":[1,2,3],"any":{"a":[{"b":{}},[[]],"\ud834\udd1e\"\\"]}}`,
	`{"\u0069d":"a","iD":"b","unknown":{"id":[[["deep"]]]},"":1,"":2,"PLAIN":3,"Drop":"x","-":"y"}`,
	`{"ids":["a","b"],"ids":["c"],"named":{"a":{"id":"1"}},"named":{"b":{"id":"2"}},"next":{"id":"1"},"next":{"ids":["2"]},"any":[1],"any":{"a":2}}`,
	`[{"id":"a"},{"id":"b","items":[{"id":"c"},{"id":"d"}]},null,{}]`,
	`[]`, `{}`, `null`, `[[],[[]],[[],[]]]`, `"text"`, `123`, `-0.5`, `true`, `[1,2,3]`, `{"a":1}`,
	`{"id":7}`, `{"next":[1,2,3]}`, `{"ids":{"a":"b"}}`, `{"time":"soon"}`, `{"items":[{"id":"a"},"b",{}]}`, `{"by":{"x":[1,2]}}`, `{"pairs":{"a":[1]}}`,
	`{"raw":[1,2,}`, `[1,2,]`, `[,1]`, `[1 2]`, `{"a" 1}`, `{"a":1,}`, `{a:1}`, `{"a":}`, `{"a":1 "b":2}`, `[1:2]`, `{"a":1:2}`, `[}`, `{]`, `[{]}`, `{"a":[}`,
	`[1]x`, `[1] [2]`, `{"a":"b\x"}`, "[\"a\x01\"]", "[\x01 1]", "[1,\x002]", `[01]`, `[1.]`, `[tru]`, `[nulll]`, `["a"b]`, `[1"a"]`, `<html>`, ``, ` `,
	`{"id":"a","items":[{"id":"b"}`, `{"id":"a","items":[{"id":`, `{"id":"a`, `{"id":"a\`, `[`, `[1`, `[1,`, `{"a"`, `{"a":`, `{"a":1`, `tru`, `[tru`,
}

// checkDivided compares, with encoding/json, the decoding of texts whose values
// are divided from every size on.
func checkDivided(t *testing.T, text string) {
	t.Helper()
	for _, target := range []any{record{}, []record{}, []*record{}, map[string]any{}, *new(any), "", []string{}, [2]any{}, struct{}{}, struct{ *Base }{}, map[string][]string{}} {
		typ := reflect.TypeOf(&target).Elem()
		if target != nil {
			typ = reflect.TypeOf(target)
		}
		want := reflect.New(typ)
		wantErr := json.Unmarshal([]byte(text), want.Interface())
		for small := range min(len(text), 100) {
			got, data := reflect.New(typ), []byte(text)
			err := anySize.decode(t.Context(), data, got.Interface(), small)
			switch {
			case string(data) != text:
				t.Fatalf("%q into %v, divided from %d on: it is %q afterwards", text, typ, small, data)
			case (err == nil) != (wantErr == nil):
				t.Fatalf("%q into %v, divided from %d on: %v, want %v", text, typ, small, err, wantErr)
			case err == nil && !reflect.DeepEqual(got.Interface(), want.Interface()):
				t.Fatalf("%q into %v, divided from %d on:\n%+v, want\n%+v", text, typ, small, got.Elem(), want.Elem())
			case err != nil && !got.Elem().IsZero():
				t.Fatalf("%q into %v, divided from %d on: %v, which left %+v", text, typ, small, err, got.Elem())
			}
			if cut := json.NewDecoder(strings.NewReader(text)).Decode(new(json.RawMessage)); errors.Is(cut, io.ErrUnexpectedEOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("%q into %v, divided from %d on: %v, want %v", text, typ, small, err, cut)
			}
		}
	}
}

func TestDivided(t *testing.T) {
	t.Parallel()
	for _, text := range texts {
		checkDivided(t, text)
	}
}

func FuzzDivided(f *testing.F) {
	for _, text := range texts {
		f.Add(text)
	}
	f.Fuzz(checkDivided)
}

// TestCuts: a survey divides a text into pieces that are small or a single
// member.
func TestCuts(t *testing.T) {
	t.Parallel()
	for _, text := range texts {
		for small := range min(len(text), 100) {
			spans, err := survey(t.Context(), []byte(text), small, math.MaxInt64, sizes{1, 1, 1})
			if err != nil || !json.Valid([]byte(text)) {
				continue
			}
			for begin, s := range spans {
				from, members := begin+1, 0
				for _, to := range append(s.cuts, s.end-1) {
					part := text[begin:begin+1] + text[from:to] + text[s.end-1:s.end]
					var items []json.RawMessage
					var object map[string]json.RawMessage
					var err error
					if text[begin] == '[' {
						err = json.Unmarshal([]byte(part), &items)
					} else {
						err = json.Unmarshal([]byte(part), &object)
					}
					n := len(items) + len(object)
					if members += n; err != nil || to-from > small && n > 1 {
						t.Errorf("%q, divided from %d on, has the part %q: %v", text, small, part, err)
					}
					from = to + 1
				}
				if len(s.cuts) >= members && members > 0 {
					t.Errorf("%q, divided from %d on: %d cuts between %d members", text, small, len(s.cuts), members)
				}
			}
		}
	}
}

// repeated returns about n bytes of a unit with commas in between.
func repeated(n int, begin, unit, end string) string {
	return begin + strings.Repeat(unit+",", n/(len(unit)+1)) + unit + end
}

// TestContext: decoding ends when the context has ended, whatever the JSON is.
// At most 64 KiB of it are decoded between two checks of the context.
func TestContext(t *testing.T) {
	t.Parallel()
	const size = 1 << 18
	for name, text := range map[string]string{
		"members":           repeated(size, `{`, `"":1`, `}`),
		"known members":     repeated(size, `{`, `"id":"a"`, `}`),
		"items":             repeated(size, `{"items":[`, `{}`, `]}`),
		"unknown items":     repeated(size, `{"x":[`, `{}`, `]}`),
		"unknown members":   repeated(size, `{"x":{`, `"":1`, `}}`),
		"named":             repeated(size, `{"named":{`, `"a":{}`, `}}`),
		"any":               repeated(size, `{"any":[`, `[]`, `]}`),
		"raw":               repeated(size, `{"raw":[`, `[]`, `]}`),
		"large items":       repeated(size, `{"items":[`, repeated(size/4, `{"ids":[`, `"a"`, `]}`), `]}`),
		"texts":             repeated(size, `{"texts":{`, `"a":"b"`, `}}`),
		"numbers for texts": repeated(size, `{"texts":{`, `"a":1`, `}}`),
		"a time in a large": repeated(size, `{"items":[`, `{"time":1}`, `]}`),
	} {
		looks := 0
		d := Decoder{Memory: math.MaxInt64, OtherForms: true}
		var v record
		if err := d.Decode(checked(func() error { looks++; return nil }), []byte(text), &v); err != nil || looks < 2*len(text)/(2*Small) {
			t.Errorf("%s: %d looks at the context for %d bytes, %v", name, looks, len(text), err)
		}
		errEnded := errors.New("ended")
		for allowed := 0; allowed < looks; allowed += max(1, looks/4) {
			now := 0
			v = record{}
			err := d.Decode(checked(func() error {
				if now++; now > allowed {
					return errEnded
				}
				return nil
			}), []byte(text), &v)
			if err != errEnded || now > allowed+2 || !reflect.DeepEqual(v, record{}) {
				t.Errorf("%s: %v after %d looks, of which look %d failed", name, err, now, allowed+1)
			}
		}
	}
}

// TestRefused: what is decoded as a whole is limited, and so is the depth.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a text":      `{"id":"` + strings.Repeat("x", maxWhole) + `"}`,
		"a key":       `{"` + strings.Repeat("x", maxWhole) + `":1}`,
		"a number":    `[` + strings.Repeat("1", maxWhole) + `,1]`,
		"white space": `[` + strings.Repeat(" ", maxWhole) + `1]`,
		"at the end":  `[1]` + strings.Repeat(" ", maxWhole),
		"an array":    `{"array":[` + strings.Repeat("1,", maxWhole/8) + `1]}`,
		"a map":       `{"by":{` + strings.Repeat(`"1":2,`, maxWhole/24) + `"1":2}}`,
		"pairs":       `{"pairs":[` + strings.Repeat("[1,2],", maxWhole/6) + `[1,2]]}`,
		"brackets":    strings.Repeat("[", maxWhole),
		"levels":      strings.Repeat(`{"a":[`, 1<<20),
	} {
		if err := anySize.Decode(t.Context(), []byte(text), new(record)); err != errTooLarge && err != errTooDeep {
			t.Errorf("%s: %v", name, err)
		}
	}
	long := strings.Repeat("x", maxWhole/2)
	var v record
	if err := anySize.Decode(t.Context(), []byte(`{"id":"`+long+`","unknown":"`+long+`","ids":["`+long+`"]}`), &v); err != nil || v.ID != long || v.IDs[0] != long {
		t.Errorf("long texts: %v", err)
	}
}

// TestMemory: decoded values take hardly more memory than allowed, however many
// there are.
func TestMemory(t *testing.T) {
	// Not parallel: other tests would also be counted.
	const memory = 4 << 20
	d := Decoder{Memory: memory, OtherForms: true}
	for name, tt := range map[string]struct {
		begin, unit, end string
		target           func() any
	}{
		"items":            {`{"items":[`, `{}`, `]}`, func() any { return new(record) }},
		"refs":             {`{"refs":[`, `{}`, `]}`, func() any { return new(record) }},
		"pairs":            {`{"raw":[`, `[1,2]`, `]}`, func() any { return new(record) }},
		"IDs":              {`{"ids":[`, `""`, `]}`, func() any { return new(record) }},
		"numbers":          {`[`, `1`, `]`, func() any { return new(any) }},
		"objects":          {`[`, `{"a":1}`, `]`, func() any { return new(any) }},
		"objects in maps":  {`{"":[`, `{"a":1}`, `]}`, func() any { return new(map[string]any) }},
		"empty objects":    {`[`, `{}`, `]`, func() any { return new(any) }},
		"arrays":           {`[`, `[]`, `]`, func() any { return new(any) }},
		"arrays of arrays": {`[`, `[[[[[]]]]]`, `]`, func() any { return new(any) }},
		"texts":            {`[`, `"` + strings.Repeat("x", 20) + `"`, `]`, func() any { return new(any) }},
		"IDs of records":   {`{"items":[`, `{"items":[` + strings.Repeat(`"",`, 1000) + `""]}`, `]}`, func() any { return new(record) }},
		"nulls":            {`{"items":[`, `{"refs":[` + strings.Repeat("null,", 1000) + `null],"items":[` + strings.Repeat("null,", 1000) + `null]}`, `]}`, func() any { return new(record) }},
		"members":          {`{`, `"%04x":1`, `}`, func() any { return new(any) }},
		"members of texts": {`{"texts":{`, `"%04x":""`, `}}`, func() any { return new(record) }},
		"small maps":       {`{"items":[`, `{"texts":{"a":"","b":"","c":"","d":"","e":"","f":"","g":"","h":"","i":"","j":"","k":"","l":"","m":"","n":"","o":""}}`, `]}`, func() any { return new(record) }},
	} {
		accepted, least, most := 0, 0, 8<<20
		var size uint64
		for range 12 { // the largest text that is accepted
			n := (least + most) / 2
			v := tt.target()
			text := []byte(repeated(n, tt.begin, tt.unit, tt.end))
			for i, rest := 0, text; strings.Contains(tt.unit, "%04x"); i++ {
				at := bytes.Index(rest, []byte("%04x"))
				if at < 0 {
					break
				}
				copy(rest[at:], fmt.Sprintf("%04x", i))
				rest = rest[at:]
			}
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			err := d.Decode(t.Context(), text, v)
			runtime.GC()
			runtime.ReadMemStats(&after)
			runtime.KeepAlive(v)
			runtime.KeepAlive(text)
			if err != nil {
				most = n
				continue
			}
			least, accepted, size = n, len(text), after.HeapAlloc-before.HeapAlloc
		}
		if size > memory*3/2 || accepted == 0 { // a slice of encoding/json may be a third too large
			t.Errorf("%s: %d bytes became %d", name, accepted, size)
		}
	}
}

// TestDividedForms: values in a divided text are converted as in a whole one.
func TestDividedForms(t *testing.T) {
	t.Parallel()
	const text = `{"id":"a","items":["b",{"id":"c","time":1},{"items":["d"]}],"ids":[{"id":"e"},"f"],"time":"soon","texts":{"a":"b\n","c":-1.50,"d":true,"e":null},"next":{"ids":[{"id":"g"}],"time":[1]}}`
	want := record{ID: "a", Items: []record{{ID: "b"}, {ID: "c"}, {Items: []record{{ID: "d"}}}}, IDs: []string{"e", "f"},
		Texts: map[string]string{"a": "b\n", "c": "-1.50", "d": "true", "e": ""}, Next: &record{IDs: []string{"g"}}}
	for small := range len(text) + 1 {
		var got record
		d := Decoder{Memory: math.MaxInt64, OtherForms: true}
		if err := d.decode(t.Context(), []byte(text), &got, small); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("divided from %d on: %+v, %v", small, got, err)
		}
	}
}

// BenchmarkDecode decodes a page, beside encoding/json.
func BenchmarkDecode(b *testing.B) {
	unit := `{"id":"vmy9n10s8q164j473ra7pj9nqz","time":"2026-01-02T03:04:05Z","ids":["a","b"],"unknown":{"x":1},"Plain":5}`
	text := []byte(repeated(200_000, `{"refs":[`, unit, `]}`))
	for name, decode := range map[string]func([]byte, any) error{
		"json":     json.Unmarshal,
		"jsonform": func(data []byte, v any) error { return anySize.Decode(b.Context(), data, v) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if err := decode(text, new(record)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
