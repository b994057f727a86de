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

// printed reports whether the line with a key was printed.
func (s *state) printed(key string) bool {
	_, printed := s.Printed[key]
	return printed
}

// note records that the line with a key was printed.
func (s *state) note(key string, at time.Time) { s.Printed[key] = at }

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

// keys returns a key for each line, by which it is known when it comes again.
// Lines can be equal, for example if two connections fail at the same time: the
// second one has another key than the first.
func keys(lines []*cloudapi.PostgresLogEntry) []string {
	keys, equal := make([]string, len(lines)), map[string]int{}
	for i, line := range lines {
		text := fmt.Sprintf("%d %s %s %s %v", line.Timestamp.UnixNano(), line.ServerUBID, line.StreamName, line.Message, line.Context)
		equal[text]++
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", text, equal[text]))
		keys[i] = hex.EncodeToString(sum[:8])
	}
	return keys
}
