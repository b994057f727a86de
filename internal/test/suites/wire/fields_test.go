package wire_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/apitables"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestEveryFieldOfARequest: the test server knows each field of a request.
func TestEveryFieldOfARequest(t *testing.T) {
	t.Parallel()
	bodies, checked := newBodies(t), 0
	for _, m := range sdktest.Methods(t) {
		for _, arg := range m.Args {
			if request := arg.Type(); request.Kind() == reflect.Pointer && strings.HasSuffix(request.Elem().Name(), "Request") {
				checked++
				for _, key := range bodies.unknown(t, &m) {
					t.Errorf("%s: the test server refuses %q; add it to the schema in cloudapitest/internal/families", m.Name, key)
				}
			}
		}
	}
	if checked < 25 {
		t.Errorf("only %d requests were checked", checked)
	}
}

// bodies sends requests whose body has a single field to the test server.
type bodies struct {
	body              string
	network           stub.Recorder
	records           *cloudapi.Client
	service, contract *cloudapi.Client
}

func newBodies(t *testing.T) *bodies {
	b := &bodies{}
	b.records = sdktest.Recorded(t, &b.network)
	replaced := cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
		return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
			req.Body, req.ContentLength = io.NopCloser(strings.NewReader(b.body)), int64(len(b.body))
			return next.RoundTrip(req)
		})
	})
	b.service = cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Service), cloudapitest.Lenient()).Client(replaced)
	b.contract = cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Contract), cloudapitest.Lenient()).Client(replaced)
	return b
}

// unknown returns the fields of a method's body that no version of the test
// server knows.
func (b *bodies) unknown(t *testing.T, m *sdktest.Method) (unknown []string) {
	t.Helper()
	b.network.Take()
	_, _ = m.Call(t.Context(), b.records, m.Args)
	sent := b.network.Take()
	var fields map[string]any
	if err := json.Unmarshal([]byte(sent[0].Body), &fields); err != nil || len(fields) == 0 {
		t.Errorf("%s sends %s", m.Name, sent[0].Body)
	}
	refused := regexp.MustCompile(`unrecognized parameters: |isn't any of|does not match pattern \^pf`) // the rule's ID has the form of the service
	agreed := slices.ContainsFunc(apitables.Contract(), func(row apitables.Row) bool { return slices.Contains(row.Names, m.Operation.Name) })
	fields["bogus"] = "x" // no version knows this field
	for field, value := range fields {
		b.body = string(stub.Must(json.Marshal(map[string]any{field: value}))(t))
		_, err := m.Call(t.Context(), b.service, m.Args)
		knows := !errors.Is(err, cloudapi.ErrMaybeUnsupported) && (err == nil || !refused.MatchString(err.Error()))
		if !knows && agreed {
			_, err := m.Call(t.Context(), b.contract, m.Args)
			knows = err == nil || !refused.MatchString(err.Error())
		}
		switch {
		case field == "bogus" && knows:
			t.Errorf("%s: the test server accepts any field", m.Name)
		case field != "bogus" && !knows:
			unknown = append(unknown, field)
		}
	}
	return unknown
}
