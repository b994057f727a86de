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
	Array [2]int            `json:"array"`
	Any   any               `json:"any"`
	Plain float64
	Drop  string `json:"-"`
	embedded
}

type embedded struct {
	Inner []int `json:"inner"`
}

// pairs is a slice with its own decoder that may get an array in parts.
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

func decoder() Decoder {
	return Decoder{Memory: math.MaxInt64, Divisible: reflect.TypeFor[pairs]()}
}

// checked is a context that calls a function when it is looked at.
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

// checkPieces compares the decoding in pieces of every size with encoding/json.
func checkPieces(t *testing.T, text string) {
	t.Helper()
	for _, target := range []any{record{}, []record{}, []*record{}, map[string]any{}, *new(any), "", []string{}, [2]any{}, struct{}{}} {
		typ := reflect.TypeOf(&target).Elem()
		if target != nil {
			typ = reflect.TypeOf(target)
		}
		want := reflect.New(typ)
		wantErr := json.Unmarshal([]byte(text), want.Interface())
		for size := 5; size < min(len(text), 100); size++ { // a pair is not divided
			got := reflect.New(typ)
			d := decoder()
			err := d.decode(t.Context(), []byte(text), got.Interface(), size)
			switch {
			case (err == nil) != (wantErr == nil):
				t.Fatalf("%q into %v in pieces of %d: %v, want %v", text, typ, size, err, wantErr)
			case err == nil && !reflect.DeepEqual(got.Interface(), want.Interface()):
				t.Fatalf("%q into %v in pieces of %d:\n%+v, want\n%+v", text, typ, size, got.Elem(), want.Elem())
			case err != nil && !got.Elem().IsZero() && size > 0 && size < len(text):
				t.Fatalf("%q into %v in pieces of %d: %v, which left %+v", text, typ, size, err, got.Elem())
			}
			if cut := json.NewDecoder(strings.NewReader(text)).Decode(new(json.RawMessage)); errors.Is(cut, io.ErrUnexpectedEOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				var typeError *json.UnmarshalTypeError
				if !errors.As(err, &typeError) { // of a piece before the end
					t.Fatalf("%q into %v in pieces of %d: %v, want %v", text, typ, size, err, cut)
				}
			}
		}
	}
}

func TestPieces(t *testing.T) {
	t.Parallel()
	for _, text := range texts {
		checkPieces(t, text)
	}
}

func FuzzPieces(f *testing.F) {
	for _, text := range texts {
		f.Add(text)
	}
	f.Fuzz(checkPieces)
}

// TestContext: decoding ends as soon as the context has ended, whatever the JSON is.
func TestContext(t *testing.T) {
	t.Parallel()
	const size = 1 << 18
	fill := func(begin, unit, end string) string {
		return begin + strings.Repeat(unit+",", size/len(unit)) + unit + end
	}
	for name, text := range map[string]string{
		"members":           fill(`{`, `"":1`, `}`),
		"known members":     fill(`{`, `"id":"a"`, `}`),
		"items":             fill(`{"items":[`, `{}`, `]}`),
		"unknown items":     fill(`{"x":[`, `{}`, `]}`),
		"unknown members":   fill(`{"x":{`, `"":1`, `}}`),
		"named":             fill(`{"named":{`, `"a":{}`, `}}`),
		"pairs":             fill(`{"pairs":[`, `[1,2]`, `]}`),
		"any":               fill(`{"any":[`, `[]`, `]}`),
		"raw":               fill(`{"raw":[`, `[]`, `]}`),
		"large items":       fill(`{"items":[`, fill(`{"ids":[`, `"a"`, `]}`), `]}`),
		"a time in a large": fill(`{"items":[`, `{"time":1}`, `]}`),
	} {
		for allowed := range 3 {
			errEnded, checks := errors.New("ended"), 0
			d := decoder()
			d.OtherForms = true
			ctx := checked(func() error {
				if checks++; checks > allowed {
					return errEnded
				}
				return nil
			})
			var v record
			if err := d.Decode(ctx, []byte(text), &v); err != errEnded || checks != allowed+1 {
				t.Errorf("%s: %v after %d checks, want the error of check %d", name, err, checks, allowed+1)
			}
		}
		// Between two checks there is no more than a piece, or two levels.
		checks := 0
		d := decoder()
		ctx := checked(func() error { checks++; return nil })
		var v any
		if err := d.Decode(ctx, []byte(text), &v); err != nil || checks < len(text)/PieceSize/2 {
			t.Errorf("%s: %d checks for %d bytes, %v", name, checks, len(text), err)
		}
	}
}

// TestRefused: what cannot be divided is limited, and so is what surrounds it.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a text":   `{"id":"` + strings.Repeat("x", maxWhole) + `"}`,
		"a key":    `{"` + strings.Repeat("x", maxWhole) + `":1}`,
		"a number": `[` + strings.Repeat("1", PieceSize) + `,1]`,
		"an array": `{"array":[` + strings.Repeat("1,", maxWhole/2) + `1]}`,
		"brackets": strings.Repeat("[", maxWhole),
		"levels":   strings.Repeat(`{"a":[`, 1<<20),
	} {
		checks := 0
		d := decoder()
		ctx := checked(func() error { checks++; return nil })
		err := d.Decode(ctx, []byte(text), new(record))
		if err == nil || checks > maxWhole/PieceSize*2 {
			t.Errorf("%s: %v after %d checks", name, err, checks)
		}
	}
	long := strings.Repeat("x", maxWhole/2)
	var v record
	d := decoder()
	if err := d.Decode(t.Context(), []byte(`{"id":"`+long+`","unknown":"`+long+`","ids":["`+long+`"]}`), &v); err != nil || v.ID != long || v.IDs[0] != long {
		t.Errorf("long texts: %v", err)
	}
}

// TestMemory: decoding ends when the values take more memory than they may.
// What no field wants takes none.
func TestMemory(t *testing.T) {
	// Not parallel: other tests would be counted too.
	const size, most = 4 << 20, 8 << 20
	fill := func(begin, unit, end string) string {
		return begin + strings.Repeat(unit+",", size/(len(unit)+1)) + unit + end
	}
	var distinct strings.Builder
	for i := range size / 10 {
		fmt.Fprintf(&distinct, `"%x":{},`, i)
	}
	for name, tt := range map[string]struct {
		text    string
		refused bool
	}{
		"items":           {fill(`{"items":[`, `{}`, `]}`), true},
		"items in items":  {fill(`{"items":[`, `{"items":[{},{},{}]}`, `]}`), true},
		"refs":            {fill(`{"refs":[`, `{}`, `]}`), true},
		"numbers":         {fill(`{"any":[`, `1`, `]}`), true},
		"objects":         {fill(`{"any":[`, `{"a":1}`, `]}`), true},
		"arrays":          {fill(`{"any":[`, `[]`, `]}`), true},
		"names":           {`{"named":{` + distinct.String() + `"":{}}}`, true},
		"pairs":           {fill(`{"pairs":[`, `[1,2]`, `]}`), true},
		"IDs":             {fill(`{"ids":[`, `""`, `]}`), true},
		"long IDs":        {fill(`{"ids":[`, `"`+strings.Repeat("x", 100)+`"`, `]}`), false},
		"the same name":   {fill(`{"named":{`, `"a":{}`, `}}`), false},
		"unknown items":   {fill(`{"x":[`, `{}`, `]}`), false},
		"unknown members": {fill(`{"x":{`, `"":1`, `},"id":"a"}`), false},
		"members":         {fill(`{`, `"":1`, `}`), false},
	} {
		d := decoder()
		d.Memory = most
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := d.Decode(t.Context(), []byte(tt.text), new(record))
		runtime.ReadMemStats(&after)
		if (err != nil) != tt.refused || err != nil && !strings.Contains(err.Error(), " MiB of memory") {
			t.Errorf("%s: %v", name, err)
		}
		if got := after.TotalAlloc - before.TotalAlloc; tt.refused && name != "pairs" && got > most*3 { // whose decoder is wasteful
			t.Errorf("%s: %d MiB of memory were allocated", name, got>>20)
		}
	}
}

// TestFormsInPieces: values are converted in a piece as in the whole.
func TestFormsInPieces(t *testing.T) {
	t.Parallel()
	const text = `{"id":"a","items":["b",{"id":"c","time":1},{"items":["d"]}],"ids":[{"id":"e"},"f"],"time":"soon","next":{"ids":[{"id":"g"}]}}`
	want := record{ID: "a", Items: []record{{ID: "b"}, {ID: "c"}, {Items: []record{{ID: "d"}}}}, IDs: []string{"e", "f"}, Next: &record{IDs: []string{"g"}}}
	for size := range len(text) + 1 {
		d := decoder()
		d.OtherForms = true
		var got record
		err := d.decode(t.Context(), []byte(text), &got, size)
		if size >= 40 && (err != nil || !reflect.DeepEqual(got, want)) {
			t.Errorf("in pieces of %d: %+v, %v", size, got, err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	unit := `{"id":"vmy9n10s8q164j473ra7pj9nqz","time":"2026-01-02T03:04:05Z","ids":["a","b"],"unknown":{"x":1},"Plain":5}`
	text := []byte(`{"refs":[` + strings.Repeat(unit+",", 2000) + unit + `]}`)
	b.Run("json", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if err := json.Unmarshal(text, new(record)); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, size := range []int{4 << 10, 16 << 10, 32 << 10, 128 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			d := decoder()
			for b.Loop() {
				if err := d.decode(b.Context(), text, new(record), size); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
