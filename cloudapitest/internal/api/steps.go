package api

import "strings"

// Run runs the steps of an operation until one fails.
func (c *Call) Run(steps ...func(*Call) error) error {
	for _, step := range steps {
		if err := step(c); err != nil {
			return err
		}
	}
	return nil
}

// Choice returns a text of the body, or otherwise if it is blank.
func (c *Call) Choice(name, otherwise string) string {
	if s := c.Body.Text(name); strings.TrimSpace(s) != "" {
		return s
	}
	return otherwise
}

// SetText returns a step that reads a text from the body, which must not be
// blank.
func SetText(into *string, name string) func(*Call) error {
	return func(c *Call) (err error) {
		*into, err = c.Body.NonEmpty(name)
		return err
	}
}

// SetPositive returns a step that reads a positive number from the body.
func SetPositive(into *int, name string) func(*Call) error {
	return func(c *Call) (err error) {
		*into, err = c.Body.Positive(name)
		return err
	}
}
