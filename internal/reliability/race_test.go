//go:build race

package reliability

// With the race detector everything is some ten times slower, so that tests
// which are there for their number run a part of it.
const raceDetector = true
