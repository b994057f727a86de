package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

// state records what was printed.
type state struct {
	Database string    `json:"database"` // its location and name
	Until    time.Time `json:"until"`    // all lines up to here were requested

	// Printed contains the printed lines that may come again, by their keys.
	Printed map[string]time.Time `json:"printed"`

	file string
}

// loadState loads a file, or returns a state that begins at a time if there is
// none.
func loadState(file, database string, since time.Time) (*state, error) {
	s := &state{Database: database, Until: since, Printed: map[string]time.Time{}, file: file}
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
		return nil, fmt.Errorf("%s is no state: %w", file, err)
	}
	if s.Database != database {
		return nil, fmt.Errorf("%s is the state of another database, %s: see --state", file, s.Database)
	}
	return s, nil
}

// printed reports whether a line was printed.
func (s *state) printed(line *cloudapi.PostgresLogEntry) bool {
	_, printed := s.Printed[key(line)]
	return printed
}

// note records that a line was printed.
func (s *state) note(line *cloudapi.PostgresLogEntry) { s.Printed[key(line)] = line.Timestamp }

// reach records that all lines up to a time were requested, and forgets those
// that cannot come again.
func (s *state) reach(until time.Time, overlap time.Duration) {
	s.Until = until
	for key, at := range s.Printed {
		if at.Before(until.Add(-overlap)) {
			delete(s.Printed, key)
		}
	}
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

// key returns a key that identifies a line.
func key(line *cloudapi.PostgresLogEntry) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %s %s", line.Timestamp.UnixNano(), line.ServerUBID, line.StreamName, line.Message))
	return hex.EncodeToString(sum[:8])
}
