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
)

const recordSize = 128

// sizes are what decoded values take, about: objects, and anything else.
type sizes struct{ object, value int64 }

// sizesOf returns the sizes for a target: records or, if it is an interface or a
// map, maps with one entry, and values in interfaces in arrays that have grown.
func sizesOf(t reflect.Type) sizes {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() == reflect.Interface || t.Kind() == reflect.Map {
		return sizes{384, 40}
	}
	return sizes{recordSize, 16}
}

// survey goes once over a text. It returns where the objects and arrays end that
// are not small, by where they begin, and what its values take. It refuses a text whose values would take
// too much memory, or of which one is too large.
func survey(ctx context.Context, data []byte, small int, memory int64, of sizes) (ends map[int]int, size int64, err error) {
	ends = map[int]int{}
	var open []int // where the objects and arrays begin that have not ended
	look, last := 0, 0
	for i := 0; i < len(data); i++ {
		if i >= look {
			if err := ctx.Err(); err != nil {
				return nil, 0, err
			}
			look = i + Small
		}
		switch data[i] {
		case '"':
			begin := i
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
			size += int64(i - begin)
			continue
		case '{':
			size += of.object
			open = append(open, i)
		case '[':
			size += of.value
			open = append(open, i)
		case ',':
			size += of.value
		case ':':
		case '}', ']':
			if len(open) == 0 {
				break
			}
			begin := open[len(open)-1]
			if open = open[:len(open)-1]; i-begin >= small {
				ends[begin] = i + 1
			}
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
	return ends, size, nil
}

func tooMuch(data []byte, memory int64) error {
	return fmt.Errorf("its %d bytes have so many values that they would take more than %d MiB of memory", len(data), memory>>20)
}
