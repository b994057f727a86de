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

// sizes are estimates of how many bytes a decoded value takes: one for objects,
// and one for anything else.
type sizes struct{ object, value int64 }

// sizesOf returns the sizes for a target. In an interface or a map, an object
// becomes a map, and other values become interfaces.
func sizesOf(t reflect.Type) sizes {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() == reflect.Interface || t.Kind() == reflect.Map {
		return sizes{384, 40}
	}
	return sizes{recordSize, 16}
}

// span is an object or array that isn't small.
type span struct {
	end int

	// cuts are commas between its members. The pieces between them are small, or
	// a single member.
	cuts []int
}

// divided is an object or array that hasn't ended.
type divided struct {
	span
	begin   int
	from    int // after the last cut
	comma   int // the last comma
	members int // of an object, so far
}

// reach cuts at the last comma if the text since the last cut isn't small.
func (d *divided) reach(i, small int) {
	if i-d.from > small && d.comma >= d.from {
		d.cuts, d.from = append(d.cuts, d.comma), d.comma+1
	}
}

// survey walks over a text once. It returns the objects and arrays that aren't
// small, keyed by where they begin, and the size of the values. It refuses a
// text whose values would take too much memory, or in which one value is too
// large.
func survey(ctx context.Context, data []byte, small int, memory int64, of sizes) (spans map[int]span, size int64, err error) {
	spans = map[int]span{}
	var open []divided
	look, last := 0, 0
	for i := 0; i < len(data); i++ {
		if i >= look {
			if err := ctx.Err(); err != nil {
				return nil, 0, err
			}
			look = i + Small
		}
		switch c := data[i]; c {
		case '"':
			begin, end := i, min(len(data), i+maxWhole+2)
			for i++; i < end && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
			if i >= end && end < len(data) {
				return nil, 0, errTooLarge
			}
			size += int64(i - begin)
			continue
		case '{', '[':
			if size += of.value; c == '{' {
				size += of.object - of.value
			}
			open = append(open, divided{begin: i, from: i + 1})
		case ',':
			size += of.value
			if len(open) > 0 {
				top := &open[len(open)-1]
				top.reach(i, small)
				top.comma = i
			}
		case ':':
			if len(open) > 0 {
				top := &open[len(open)-1]
				if top.members++; top.members > fewMembers {
					size += memberSize
				}
			}
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
			return nil, 0, errTooLarge
		}
		last = i
		if len(open) > maxDepth {
			return nil, 0, errTooDeep
		}
		if size > memory {
			return nil, 0, tooMuch(data, memory)
		}
	}
	switch {
	case len(data)-last > maxWhole:
		return nil, 0, errTooLarge
	case len(open) > 0:
		return nil, 0, io.ErrUnexpectedEOF
	}
	return spans, size, nil
}

func tooMuch(data []byte, memory int64) error {
	return fmt.Errorf("its %d bytes have so many values that they would take more than %d MiB of memory", len(data), memory>>20)
}
