package cloudapi

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/internal/call"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

func TestConfirm(t *testing.T) {
	t.Parallel()
	unknown := error(&TransportError{Operation: "VMs.Create", Method: "POST", Path: "/x", Err: errors.New("connection reset"), outcome: call.Outcome{Unknown: true}})
	known := error(&Error{StatusCode: 400, Message: "bad"})
	wanted, other := &VM{ID: stub.VMID, Size: "standard-2"}, &VM{ID: stub.VMID, Size: "standard-4"}
	missing := error(&Error{StatusCode: 404, Type: "ResourceNotFound", Message: "gone"})
	sentinels := []error{ErrOutcomeUnknown, ErrAlreadyExists, ErrNotFound, ErrInvalidArgument, context.Canceled}
	for _, tt := range []struct {
		name    string
		err     error
		found   *VM
		findErr error
		lookups int
		want    *VM
		is      []error
		text    string
	}{
		{"it is there", unknown, wanted, nil, 1, wanted, nil, ""},
		{"another one is", unknown, other, nil, 1, nil, []error{ErrOutcomeUnknown, ErrAlreadyExists},
			unknown.Error() + "; looked up: already exists, but is a different resource"},
		{"none is", unknown, nil, missing, 1, nil, []error{ErrOutcomeUnknown, ErrNotFound},
			unknown.Error() + "; looked up: " + strings.TrimPrefix(missing.Error(), "cloudapi: ")},
		{"a list shows none", unknown, nil, ErrNotFound, 1, nil, []error{ErrOutcomeUnknown, ErrNotFound},
			unknown.Error() + "; looked up: not found"},
		{"it cannot be looked up", unknown, nil, context.Canceled, 1, nil, []error{ErrOutcomeUnknown, context.Canceled},
			unknown.Error() + "; looked up: context canceled"},
		{"nothing at all", unknown, nil, nil, 1, nil, []error{ErrOutcomeUnknown},
			unknown.Error() + "; looked up: find returned neither a record nor an error"},
		{"the outcome is known", known, wanted, nil, 0, nil, nil, known.Error()},
		{"there is no error", nil, wanted, nil, 0, nil, []error{ErrInvalidArgument}, "cloudapi: Confirm: unknown must be the error of a create"},
	} {
		lookups := 0
		got, err := Confirm(t.Context(), tt.err, func(context.Context) (*VM, error) {
			lookups++
			return tt.found, tt.findErr
		}, func(vm *VM) bool { return vm.Size == "standard-2" })
		if got != tt.want || lookups != tt.lookups || (err == nil) != (tt.want != nil) {
			t.Errorf("%s: %v, %v after %d lookups", tt.name, got, err, lookups)
			continue
		}
		if err != nil && err.Error() != tt.text {
			t.Errorf("%s: the error is %q, want %q", tt.name, err, tt.text)
		}
		for _, sentinel := range sentinels {
			if errors.Is(err, sentinel) != slices.Contains(tt.is, sentinel) {
				t.Errorf("%s: the error %v matches %v: %v", tt.name, err, sentinel, errors.Is(err, sentinel))
			}
		}
	}
	find := func(context.Context) (*VM, error) { return wanted, nil }
	if vm, err := Confirm(t.Context(), unknown, find, nil); vm != wanted || err != nil {
		t.Errorf("without same: %v, %v", vm, err)
	}
	if vm, err := Confirm(t.Context(), unknown, nil, func(*VM) bool { return true }); vm != nil || !errors.Is(err, ErrInvalidArgument) ||
		!errors.Is(err, ErrOutcomeUnknown) || !strings.HasPrefix(err.Error(), unknown.Error()) {
		t.Errorf("without find: %v", err)
	}
	if vm, err := Confirm(t.Context(), known, (func(context.Context) (*VM, error))(nil), nil); vm != nil || err != known {
		t.Errorf("with nothing but an error whose outcome is known: %v", err)
	}
}
