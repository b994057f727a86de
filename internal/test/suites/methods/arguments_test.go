package methods_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/apitables"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestNoArgumentIsIgnored: another text, number or truth value as an argument
// changes what a method sends. internal/test/suites/wire checks fields of requests.
func TestNoArgumentIsIgnored(t *testing.T) {
	t.Parallel()
	var network stub.Recorder
	client := sdktest.Recorded(t, &network)
	checked := 0
	for _, m := range sdktest.Methods(t) {
		if _, name, _ := strings.Cut(m.Name, "."); apitables.Composite(name) {
			continue // it compares some arguments with responses
		}
		sent := func(args []reflect.Value) string {
			_, err := m.Call(t.Context(), client, args)
			requests := network.Take()
			if len(requests) != 1 {
				t.Fatalf("%s sends %d requests: %v", m.Name, len(requests), err)
			}
			return requests[0].Target + " " + requests[0].Body
		}
		for i, arg := range m.Args {
			other := reflect.New(arg.Type()).Elem()
			switch arg.Interface().(type) {
			case string:
				other.SetString(arg.String() + "-2")
				if id := cloudapi.ID(arg.String()); cloudapi.IsID(arg.String()) {
					other.SetString(cloudapitest.NewID(id.Kind()).String())
				}
			case int:
				other.SetInt(arg.Int() + 1)
			case bool:
				other.SetBool(!arg.Bool())
			case time.Duration:
				other.SetInt(int64(time.Hour))
			case *int:
				other.Set(reflect.ValueOf(new(2)))
			default:
				continue
			}
			checked++
			if sent(m.Args) == sent(m.With(i, other.Interface())) {
				t.Errorf("%s sends the same for %v and %v", m.Name, arg, other)
			}
		}
	}
	if checked < 200 {
		t.Errorf("only %d arguments were checked", checked)
	}
}
