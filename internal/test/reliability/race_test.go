//go:build race

package reliability

// The race detector takes memory of its own.
const raceDetector = true
