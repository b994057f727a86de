package recordings_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
)

// TestRecordedErrors: every error of the real server becomes an *Error with its
// content.
func TestRecordedErrors(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, v version, all []recording) {
		envelopes, others := 0, 0
		var quotas []string
		for _, r := range all {
			if r.Response.Status < 300 {
				continue
			}
			err := sdktest.Recorded(t, r.transport()).Do(t.Context(), "GET", []string{"x"}, nil, nil, nil)
			if errors.Is(err, cloudapi.ErrQuotaExceeded) {
				quotas = append(quotas, r.Operation)
				r.checkQuota(t, err)
			}
			if errors.Is(err, cloudapi.ErrBillingRequired) {
				t.Errorf("%s is taken for a lack of billing information: %v", &r, err)
			}
			if r.checkError(t, err) {
				envelopes++
			} else {
				others++
			}
		}
		if slices.Sort(quotas); !slices.Equal(quotas, v.beyondQuota) {
			t.Errorf("a quota was exceeded by %v, want %v", quotas, v.beyondQuota)
		}
		if envelopes == 0 || others == 0 {
			t.Errorf("%d envelopes and %d other responses were found", envelopes, others)
		}
		t.Logf("%d errors with an envelope and %d without were read", envelopes, others)
	})
}

// checkQuota compares the numbers of an error with its text, which also has the
// difference of two of them.
func (r *recording) checkQuota(t *testing.T, err error) {
	t.Helper()
	e, _ := errors.AsType[*cloudapi.Error](err)
	quota := e.Quota()
	if r.Operation == "createProject" { // its text has only the limit
		if quota != nil {
			t.Errorf("%s: %+v", r, quota)
		}
		return
	}
	if quota == nil || quota.Requested <= quota.Maximum-quota.Used || !strings.Contains(err.Error(), fmt.Sprintf("Requested vCPU count: %d, currently used vCPU count: %d, "+
		"maximum allowed vCPU count: %d, remaining vCPU count: %d", quota.Requested, quota.Used, quota.Maximum, quota.Maximum-quota.Used)) {
		t.Errorf("%s: %+v: %v", r, quota, err)
	}
}

// checkError compares an error with its response, and reports whether the
// response has the API's envelope.
func (r *recording) checkError(t *testing.T, err error) (envelope bool) {
	t.Helper()
	e, ok := errors.AsType[*cloudapi.Error](err)
	if !ok {
		t.Errorf("%s is %T: %v", r, err, err)
		return false
	}
	var body struct {
		Error *struct {
			Code          int
			Type, Message string
			Details       json.RawMessage
		}
	}
	if json.Unmarshal([]byte(r.Response.Body), &body) != nil || body.Error == nil {
		if e.StatusCode != r.Response.Status || e.Code != r.Response.Status || e.Type != "" || e.Details != nil {
			t.Errorf("%s is %#v", r, e)
		}
		return false
	}
	if e.StatusCode != r.Response.Status || e.Code != body.Error.Code || e.Type != body.Error.Type || e.Message != body.Error.Message ||
		!bytes.Equal(e.Details, body.Error.Details) || e.Body != "" {
		t.Errorf("%s is %#v, want %s", r, e, r.Response.Body)
	}
	var details map[string]any
	if json.Unmarshal(e.Details, &details) == nil && len(e.FieldErrors()) != len(details) {
		t.Errorf("%s has the details %s, and the field errors %v", r, e.Details, e.FieldErrors())
	}
	return true
}
