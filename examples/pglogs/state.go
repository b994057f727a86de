package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/cloudapi-sdk/cloudapi"
)

// state is what the program remembers for its next run.
type state struct {
	Database string             `json:"database"` // its location and name
	Marker   cloudapi.LogMarker `json:"marker"`   // the position after the last printed line

	file string
}

// loadState returns a state without a marker if there's no file.
func loadState(file, database string) (*state, error) {
	s := &state{Database: database, file: file}
	if file == "" {
		return s, nil
	}
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, nil
	case err != nil:
		return nil, err
	}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("%s isn't a state file: %w", file, err)
	}
	if s.Database != database {
		return nil, fmt.Errorf("%s is the state of another database, %s: see --state", file, s.Database)
	}
	return s, nil
}

// save writes the file atomically.
func (s *state) save() error {
	if s.file == "" {
		return nil
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return cloudapi.File{Content: append(text, '\n')}.Replace(s.file)
}
