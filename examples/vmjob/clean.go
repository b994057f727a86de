package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os/user"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
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

// endOf returns when the time of a job of the owner is over. It returns false if
// the name isn't of such a job.
func endOf(name, owner string) (end time.Time, ok bool) {
	parts := nameForm.FindStringSubmatch(name)
	if parts == nil || parts[1] != owner {
		return end, false
	}
	end, err := time.Parse(timeForm, parts[2])
	return end, err == nil
}

// clean deletes what the named jobs have left, or without names what all jobs of
// the owner have left whose time is over. It names the owner's other jobs.
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
	known := map[string]bool{} // the locations and names of jobs
	for r, err := range j.client.Resources(ctx, nil, kinds...) {
		if err != nil {
			return err
		}
		end, isOwn := endOf(r.Name, owner)
		reference := r.Location + "/" + r.Name
		switch {
		case known[reference]:
		case slices.Contains(names, r.Name), len(names) == 0 && isOwn && end.Before(j.start):
			old = append(old, &job{client: j.client, location: r.Location, name: r.Name, last: cloudapi.KindVM, stderr: j.stderr, start: j.start})
		case len(names) == 0 && isOwn:
			j.say("%s has time until %s; this deletes it now: vmjob --clean %[1]s", r.Name, end.Format("2006-01-02 15:04:05 MST"))
		}
		known[reference] = true
	}
	if len(names) == 0 && len(old) == 0 {
		j.say("nothing is left of jobs of %s whose time is over", owner)
	}
	var failures []error
	for _, name := range names {
		if !slices.ContainsFunc(old, func(o *job) bool { return o.name == name }) {
			failures = append(failures, fmt.Errorf("there's no job %s", name))
		}
	}
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
