//go:build !race

package reliability

const raceDetector = false
