package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// A change is what a scenario or a request to the control address asks for. In
// JSON it's an object with one member, whose name is a key of [changes].
type change interface {
	// apply applies the change, or returns an error and changes nothing.
	apply(*server) error
}

var changes = map[string]func() change{
	"billing":         func() change { return new(billing) },
	"clock":           func() change { return new(clockChange) },
	"cluster_service": func() change { return new(clusterService) },
	"delays":          func() change { return new(delays) },
	"fail":            func() change { return new(failure) },
	"features":        func() change { return new(features) },
	"log_line":        func() change { return new(logLine) },
	"permissions":     func() change { return new(permissions) },
	"quota":           func() change { return new(quota) },
	"serial_log":      func() change { return new(serialLog) },
	"state":           func() change { return new(state) },
	"vms":             func() change { return new(vms) },
}

type step struct {
	name string
	change
}

// parseScenario reads a scenario: a change, or a list of them.
func parseScenario(text []byte) ([]step, error) {
	if !bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("[")) {
		s, err := parseStep(text)
		return []step{s}, err
	}
	var all []json.RawMessage
	if err := decode(text, &all); err != nil {
		return nil, err
	}
	steps := make([]step, len(all))
	for i, one := range all {
		var err error
		if steps[i], err = parseStep(one); err != nil {
			return nil, fmt.Errorf("change %d: %w", i+1, err)
		}
	}
	return steps, nil
}

func parseStep(text []byte) (step, error) {
	var members map[string]json.RawMessage
	if err := decode(text, &members); err != nil {
		return step{}, err
	}
	names := memberNames(text)
	if len(names) != 1 {
		return step{}, fmt.Errorf("a change has one member, but this one has %d: %q", len(names), names)
	}
	name := names[0]
	empty := changes[name]
	if empty == nil {
		return step{}, fmt.Errorf("there is no change %q; there are %s", name, strings.Join(slices.Sorted(maps.Keys(changes)), ", "))
	}
	s := step{name, empty()}
	if err := decode(members[name], s.change); err != nil {
		return step{}, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// memberNames returns the sorted names of the members of a JSON object,
// including duplicates.
func memberNames(object []byte) (names []string) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	decoder.Token() // the brace
	for decoder.More() {
		name, _ := decoder.Token()
		names = append(names, fmt.Sprint(name))
		decoder.Decode(new(json.RawMessage))
	}
	slices.Sort(names)
	return names
}

func decode(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if err == nil && bytes.Equal(bytes.TrimSpace(text), []byte("null")) {
		err = errors.New("it is null")
	}
	if err == nil {
		if _, end := decoder.Token(); end != io.EOF {
			err = errors.New("there is something after the JSON")
		}
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		where := "it"
		if wrong.Field != "" {
			where = wrong.Field
		}
		return fmt.Errorf("%s can't be a JSON %s", where, wrong.Value)
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errors.New("the JSON is incomplete")
	}
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// A duration is a string in JSON, such as "1m30s".
type duration time.Duration

func (d *duration) UnmarshalText(text []byte) error {
	parsed, err := parseTime(string(text))
	if err != nil {
		return fmt.Errorf("%q: %w", text, err)
	}
	*d = duration(parsed)
	return nil
}

func (d duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

func parseTime(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, errors.New("a time needs a unit, such as 2s")
	}
	return d, nil
}
