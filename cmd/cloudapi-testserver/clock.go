package main

import (
	"errors"
	"sync"
	"time"
)

// A clock begins with the present time, and can run faster or be moved forward.
type clock struct {
	mu    sync.Mutex
	read  time.Time // the real time when the clock was last read
	shown time.Time // the clock's time when it was last read
	speed float64
}

func newClock() *clock {
	now := time.Now()
	return &clock{read: now, shown: now, speed: 1}
}

// Now returns the time that the clock shows.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now()
}

func (c *clock) now() time.Time {
	real := time.Now()
	c.shown = c.shown.Add(time.Duration(float64(real.Sub(c.read)) * c.speed))
	c.read = real
	return c.shown
}

func (c *clock) change(advance time.Duration, speed *float64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	shown := c.now().Add(advance)
	switch {
	case advance < 0:
		return errors.New("advance is negative, but the clock can't go back")
	case shown.Year() > 9999:
		return errors.New("advance leads to a time after the year 9999")
	case speed != nil && !(*speed >= 0 && *speed <= 10_000):
		return errors.New("speed must be from 0 to 10000")
	}
	if c.shown = shown; speed != nil {
		c.speed = *speed
	}
	return nil
}

// restart resets the clock's speed, but not its time.
func (c *clock) restart() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now()
	c.speed = 1
}
