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
	Raw   json.RawMessage   `json:"raw"`
	Texts map[string]string `json:"texts"`
	Sizes map[string]int    `json:"sizes"`
}

// TestDecode: without other forms, decoding is that of encoding/json. A text
// that ends too early is recognized.
func TestDecode(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"id":"a","time":"2026-01-02T03:04:05Z","next":{"id":"b","items":[{"id":"c"},{"id":"d","next":null}]}}`,
		` { "items" : [ {"id" : "a"} , {} ] , "ids":[ ] , "texts":{"a":"b"} } `, `[]`, `{}`, `null`, `7`, `[{"id":"a"},null]`,
		`{"id":7}`, `{"time":"soon"}`, `{"items":[{"id":"a"},"b"]}`, `[1,2,]`, `{"a" 1}`, `{a:1}`, `[}`, `[1]x`, `<html>`,
		`{"id":"a","items":[{"id":"b"}`, `{"id":"a","items":[{"id":`, `{"id":"a`, `{"id":"a\`, `[`, `[1`, `[1,`, `{"a"`, `{"a":`, `tru`, `[tru`,
	} {
		for _, target := range []any{record{}, []*record{}, map[string]any{}} {
			want, got := reflect.New(reflect.TypeOf(target)), reflect.New(reflect.TypeOf(target))
			wantErr := json.Unmarshal([]byte(text), want.Interface())
			err := Decoder{Memory: math.MaxInt64}.Decode([]byte(text), got.Interface())
			if (err == nil) != (wantErr == nil) || !reflect.DeepEqual(got.Interface(), want.Interface()) {
				t.Errorf("%q into %T: %+v, %v, want %+v, %v", text, target, got.Elem(), err, want.Elem(), wantErr)
			}
			cut := json.NewDecoder(strings.NewReader(text)).Decode(new(json.RawMessage))
			if errors.Is(cut, io.ErrUnexpectedEOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%q into %T: %v, want %v", text, target, err, cut)
			}
		}
	}
}

// repeated returns about n bytes of a unit with commas in between.
func repeated(n int, begin, unit, end string) string {
	return begin + strings.Repeat(unit+",", n/(len(unit)+1)) + unit + end
}

// common is a struct that others embed.
type common struct{ Items []record }

// TestMemory: the largest text that is accepted doesn't take much more memory
// than is allowed.
func TestMemory(t *testing.T) {
	// Not parallel: other tests would also be counted.
	const memory = 2 << 20
	d := Decoder{Memory: memory, OtherForms: true}
	for name, tt := range map[string]struct {
		begin, unit, end string
		target           func() any
	}{
		"items":           {`{"items":[`, `{}`, `]}`, func() any { return new(record) }},
		"refs":            {`{"refs":[`, `{}`, `]}`, func() any { return new(record) }},
		"nulls":           {`{"items":[`, `null`, `]}`, func() any { return new(record) }},
		"embedded nulls":  {`{"items":[`, `null`, `]}`, func() any { return new(struct{ common }) }},
		"texts as items":  {`{"items":[`, `""`, `]}`, func() any { return new(record) }},
		"IDs":             {`{"ids":[`, `""`, `]}`, func() any { return new(record) }},
		"numbers":         {`[`, `1`, `]`, func() any { return new(any) }},
		"objects":         {`[`, `{"a":1}`, `]`, func() any { return new(any) }},
		"objects in maps": {`{"":[`, `{"a":1}`, `]}`, func() any { return new(map[string]any) }},
		"arrays":          {`[`, `[]`, `]`, func() any { return new(any) }},
		"texts":           {`[`, `"x"`, `]`, func() any { return new(any) }},
	} {
		accepted, least, most := 0, 0, 4<<20
		var size uint64
		for range 12 {
			n := (least + most) / 2
			v, text := tt.target(), []byte(repeated(n, tt.begin, tt.unit, tt.end))
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			err := d.Decode(text, v)
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
		if size > 2*memory || accepted == 0 {
			t.Errorf("%s: %d bytes became %d", name, accepted, size)
		}
	}
	small := fmt.Sprintf("[%s1]", strings.Repeat("{},", 1000))
	if err := (Decoder{}).Decode([]byte(small), new(any)); err != nil {
		t.Errorf("a small text: %v", err)
	}
	large := new(struct { // exists once, unlike its values
		Name   [1 << 10]byte
		Values []float64
	})
	if err := d.Decode([]byte(repeated(20_000, `{"Values":[`, "1", "]}")), large); err != nil {
		t.Errorf("numbers in a large struct: %v", err)
	}
}

// TestForms: values in another form are converted, also in a large text.
func TestForms(t *testing.T) {
	t.Parallel()
	const text = `{"id":"a","items":["b",{"id":"c","time":1},{"items":["d"]}],"ids":[{"id":"e"},"f"],"time":"soon","texts":{"a":"b\n","c":-1.50,"d":true,"e":null},"next":{"ids":[{"id":"g"}],"time":[1]},"sizes":{"a":7}}`
	want := record{ID: "a", Items: []record{{ID: "b"}, {ID: "c"}, {Items: []record{{ID: "d"}}}}, IDs: []string{"e", "f"},
		Texts: map[string]string{"a": "b\n", "c": "-1.50", "d": "true", "e": ""}, Next: &record{IDs: []string{"g"}}, Sizes: map[string]int{"a": 7}}
	for _, padding := range []int{0, Small} {
		var got record
		d := Decoder{Memory: 1 << 20, OtherForms: true}
		padded := append(bytes.Repeat([]byte(" "), padding), text...)
		if err := d.Decode(padded, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("after %d bytes: %+v, %v", padding, got, err)
		}
	}
}
