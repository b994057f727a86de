package jsonform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
)

// maxDepth is how deep values may be nested, as in encoding/json.
const maxDepth = 10_000

var (
	errTooDeep  = errors.New("it is nested too deeply")
	errTooLarge = errors.New("a value in it is too large")
	errFollowed = errors.New("something follows a value")
)

// recordSize is the number of bytes that a small record takes.
const recordSize = 128

// An object with more members than fewMembers may become a map, in which each
// further member takes memberSize bytes besides its name and value.
const (
	fewMembers = 8
	memberSize = 80
)

// sizes are estimates of how many bytes a decoded value takes.
type sizes struct {
	object  int64
	value   int64 // of another kind
	element int64 // more, for an element of an array that may become a record
}

// sizesOf returns the sizes for a target. In an interface or a map, an object
// becomes a map, and other values become interfaces.
func sizesOf(t reflect.Type) sizes {
	largest := largestElement(t, map[reflect.Type]bool{})
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() == reflect.Interface || t.Kind() == reflect.Map {
		return sizes{384, 40, max(0, largest-40)}
	}
	return sizes{recordSize, 16, max(0, largest-16)}
}

// largestElement returns the size of the largest element of a slice that the
// values of a type contain. The size of a pointer includes what it points to.
func largestElement(t reflect.Type, seen map[reflect.Type]bool) (size int64) {
	if seen[t] {
		return 0
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Array:
		return largestElement(t.Elem(), seen)
	case reflect.Slice:
		element := t.Elem()
		for element.Kind() == reflect.Pointer {
			element = element.Elem()
		}
		return max(int64(element.Size()), largestElement(element, seen))
	case reflect.Struct:
		for f := range t.Fields() {
			if f.IsExported() || f.Anonymous {
				size = max(size, largestElement(f.Type, seen))
			}
		}
	}
	return size
}

// span is an object or array that isn't small.
type span struct {
	end     int
	members int // at most

	// cuts are commas between its members. The pieces between them are small, or
	// a single member.
	cuts []int
}

// divided is an object or array that hasn't ended.
type divided struct {
	span
	begin int
	from  int // after the last cut
	comma int // the last comma
}

// reach cuts at the last comma if the text since the last cut isn't small.
func (d *divided) reach(i, small int) {
	if i-d.from > small && d.comma >= d.from {
		d.cuts, d.from = append(d.cuts, d.comma), d.comma+1
	}
}

// survey walks over a text once. It returns the objects and arrays that aren't
// small, keyed by where they begin. It refuses a text whose values would take
// too much memory, or in which one value is too large.
func survey(ctx context.Context, data []byte, small int, memory int64, of sizes) (map[int]span, error) {
	spans, size := map[int]span{}, int64(0)
	var open []divided
	look, last := 0, 0
	for i := 0; i < len(data); i++ {
		if i >= look {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			look = i + Small
		}
		c := data[i]
		if (c == '"' || c == '{' || c == 'n') && len(open) > 0 && data[open[len(open)-1].begin] == '[' {
			size += of.element
		}
		switch c {
		case '"':
			begin, end := i, min(len(data), i+maxWhole+2)
			for i++; i < end && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
			if i >= end && end < len(data) {
				return nil, errTooLarge
			}
			size += int64(i - begin)
			continue
		case '{', '[':
			if size += of.value; c == '{' {
				size += of.object - of.value
			}
			open = append(open, divided{begin: i, from: i + 1, span: span{members: 1}})
		case ',':
			if len(open) == 0 {
				break
			}
			top := &open[len(open)-1]
			top.reach(i, small)
			top.comma = i
			size += of.value
			if top.members++; top.members > fewMembers && data[top.begin] == '{' {
				size += memberSize
			}
		case ':':
		case '}', ']':
			if len(open) == 0 {
				break
			}
			top := &open[len(open)-1]
			if top.end = i + 1; i-top.begin >= small {
				top.reach(i, small)
				spans[top.begin] = top.span
			}
			open = open[:len(open)-1]
		default:
			continue
		}
		if i-last > maxWhole {
			return nil, errTooLarge
		}
		last = i
		if len(open) > maxDepth {
			return nil, errTooDeep
		}
		if size > memory {
			return nil, tooMuch(data, memory)
		}
	}
	switch {
	case len(data)-last > maxWhole:
		return nil, errTooLarge
	case len(open) > 0:
		return nil, io.ErrUnexpectedEOF
	}
	return spans, nil
}

func tooMuch(data []byte, memory int64) error {
	return fmt.Errorf("its %d bytes have so many values that they would take more than %d MiB of memory", len(data), memory>>20)
}
