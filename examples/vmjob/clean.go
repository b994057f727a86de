package main

import (
	"context"
	"crypto/rand"
	"errors"
	"os/user"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi/examples/demo"
)

// cleanupTime is how long a job may take to delete its VM.
const cleanupTime = 10 * time.Minute

// A job's name contains its owner, and the time by which it and its cleanup are
// over.
var (
	ownerForm = regexp.MustCompile(`^[a-z0-9]{1,20}$`)
	nameForm  = regexp.MustCompile(`^job-([a-z0-9]{1,20})-([0-9]{8}-[0-9]{6})-[a-z0-9]{5}$`)
)

const timeForm = "20060102-150405"

func newName(owner string, end time.Time) string {
	return "job-" + owner + "-" + end.UTC().Format(timeForm) + "-" + strings.ToLower(rand.Text()[:5])
}

// isOver reports whether the name is of a job of the owner whose time is over.
func isOver(name, owner string, now time.Time) bool {
	parts := nameForm.FindStringSubmatch(name)
	if parts == nil || parts[1] != owner {
		return false
	}
	end, err := time.Parse(timeForm, parts[2])
	return err == nil && end.Before(now)
}

// clean deletes what the named jobs have left, or without names what all jobs of
// the owner have left whose time is over.
func (j *job) clean(ctx context.Context, owner string, names []string) error {
	for _, name := range names {
		if !nameForm.MatchString(name) {
			return demo.Usagef("%q isn't the name of a job", name)
		}
	}
	if err := j.client.CheckAccess(ctx); err != nil { // lists leave out what the token can't see
		return err
	}
	var old []*job
	for r, err := range j.client.Resources(ctx, nil, kinds...) {
		if err != nil {
			return err
		}
		known := slices.ContainsFunc(old, func(o *job) bool { return o.name == r.Name && o.location == r.Location })
		if !known && (slices.Contains(names, r.Name) || len(names) == 0 && isOver(r.Name, owner, j.start)) {
			old = append(old, &job{client: j.client, location: r.Location, name: r.Name, stderr: j.stderr, start: j.start})
		}
	}
	if len(old) == 0 {
		j.say("nothing is left")
	}
	var failures []error
	for _, o := range old {
		failures = append(failures, o.remove(ctx, false))
	}
	return errors.Join(failures...)
}

func defaultOwner() string {
	if current, err := user.Current(); err == nil && ownerForm.MatchString(current.Username) {
		return current.Username
	}
	return "nobody"
}
