package families_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
)

const here = "eu-central-h1"

// inBubble runs a test in a bubble, with a client of a new server.
func inBubble(t *testing.T, test func(*testing.T, *cloudapitest.Server, *cloudapi.Client), opts ...cloudapitest.Option) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t, opts...)
		test(t, srv, srv.Client())
	})
}

// must returns the result of a call that is expected to succeed.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// refused checks that the error is the server's and contains the text.
func refused(t *testing.T, err error, text string) {
	t.Helper()
	if _, ok := errors.AsType[*cloudapi.Error](err); !ok || !strings.Contains(err.Error(), text) {
		t.Errorf("%v, want a refusal with %q", err, text)
	}
}
