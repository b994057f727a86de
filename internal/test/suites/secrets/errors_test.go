package secrets_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// failures returns an error of every kind. What has caused each of them
// contains secrets.
func failures(t *testing.T, logger *slog.Logger) map[string]error {
	t.Helper()
	echo := string(stub.JSON("Bearer " + stub.Token + " " + secretHeader + " " + secretPassword + " " + secretRotating))
	broken := errors.New("connection reset")
	answers := map[string]func(*http.Request) (*http.Response, error){
		"error":           stub.Always(400, `{"error":{"code":400,"type":`+echo+`,"message":`+echo+`,"details":{"a":`+echo+`,`+echo+`:["x"]}}}`),
		"odd error":       stub.Always(400, `{"error":`+echo+`}`),
		"page":            stub.Always(502, "<h1>"+echo),
		"text":            stub.Always(500, echo),
		"record":          stub.Always(200, `{"connection_string":`+echo+`,"a":[`+echo+`,{"b":`+echo+`}]}`),
		"broken record":   stub.Always(200, `{"connection_string":`+echo[:len(echo)-9]),
		"page for record": stub.Always(200, "<h1>"+echo),
		"file":            stub.Always(200, "password: "+echo),
		"no content":      stub.Always(204, ""),
		"redirect": func(*http.Request) (*http.Response, error) {
			resp := stub.Respond(302, "")
			resp.Header.Set("Location", "https://user:"+secretPassword+"@example.com/"+stub.Token)
			return resp, nil
		},
		"broken": func(*http.Request) (*http.Response, error) { return nil, broken },
	}
	failed := map[string]error{}
	for name, answer := range answers {
		network := stub.Recorder{Answer: answer}
		client := sdktest.Recorded(t, &network, cloudapi.WithHeader("X-Key", secretHeader), cloudapi.WithLogger(logger),
			cloudapi.WithTokenSource(func(context.Context) (string, error) { return secretRotating, nil }), cloudapi.WithHeader("X-Token", stub.Token))
		call := func(ctx context.Context) (*cloudapi.Postgres, error) {
			return client.Postgres.CreateMetricDestination(ctx, "eu-central-h1", "pg-1",
				&cloudapi.PostgresMetricDestinationCreateRequest{URL: "https://example.com", Username: "x", Password: cloudapi.NewSecret(secretPassword)})
		}
		_, failed[name] = call(t.Context())
		_, failed["wait for "+name] = cloudapi.Wait(t.Context(), call, nil, &cloudapi.WaitOptions{Tolerance: -1})
		client = client.InProject(stub.Token)
		_, failed["argument"] = call(t.Context())
	}
	_, failed["option"] = cloudapi.NewClient(cloudapi.WithBaseURL("http://example.com"), cloudapi.WithToken(stub.Token))
	client := sdktest.SendingNothing(t)
	_, failed["ID"] = cloudapi.ParseID(stub.Token)
	_, failed["range"] = cloudapi.ParseCIDR(stub.Token)
	_, failed["ports"] = cloudapi.ParsePortRange(stub.Token)
	_, failed["rules"] = client.Firewalls.SetRules(t.Context(), "eu-central-h1", "edge", []cloudapi.FirewallRuleCreateRequest{{CIDR: stub.Token + "/24"}})
	_, failed["list"] = client.SSHPublicKeys.List(t.Context(), &cloudapi.ListOptions{StartAfter: stub.Token})
	_, failed["wait"] = client.LoadBalancers.WaitVMDetached(t.Context(), "eu-central-h1", "web-lb", stub.Token, nil)
	for name, err := range failed {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	return failed
}

func TestSecretsInErrors(t *testing.T) {
	t.Parallel()
	for name, err := range failures(t, nil) {
		text := fmt.Sprintf("%v %+v %#v %q %x", err, err, err, err, err)
		text += string(stub.JSON(err)) + string(stub.JSON(map[string]any{"e": err}))
		if found := shows(text); len(found) > 0 {
			t.Errorf("%s shows %q: %s", name, found, text)
		}
		texts := 0
		walk := func(path, text string) {
			texts++
			if found := shows(text); len(found) > 0 {
				t.Errorf("%s has %q at %s", name, found, path)
			}
		}
		walkStrings(reflect.ValueOf(err), reflect.TypeOf(err).String(), map[pointerID]bool{}, walk)
		if texts == 0 {
			t.Errorf("%s: no text was found in %T", name, err)
		}
	}
}

// TestSecretsInTheCauseOfAContext: no error shows the token although the
// context ends with a cause that does, at any point of a call.
func TestSecretsInTheCauseOfAContext(t *testing.T) {
	t.Parallel()
	cause := errors.New("no longer valid: " + stub.Token)
	for name, after := range map[string]time.Duration{"before": 0, "during the attempt": time.Second, "in the pause": 3 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			client := sdktest.Client(t, stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
				select {
				case <-req.Context().Done():
					return nil, req.Context().Err()
				case <-time.After(2 * time.Second):
				}
				resp := stub.Respond(429, stub.Envelope(429))
				resp.Header.Set("Retry-After", "5")
				return resp, nil
			}), cloudapi.WithLogger(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))))
			ctx, cancel := context.WithCancelCause(t.Context())
			if after == 0 {
				cancel(cause)
			}
			time.AfterFunc(after, func() { cancel(cause) })
			_, err := client.VMs.Get(ctx, "eu-central-h1", "web-1")
			text := fmt.Sprintf("%v %+v %#v %s", err, err, err, &out)
			if found := shows(text); len(found) > 0 || !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
				t.Errorf("%s shows %q: %s", name, found, text)
			}
		})
	}
}

func TestSecretsInLogs(t *testing.T) {
	t.Parallel()
	for _, level := range []slog.Level{slog.LevelDebug - 100, slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		var out bytes.Buffer
		opts := &slog.HandlerOptions{Level: level}
		for _, handler := range []slog.Handler{slog.NewTextHandler(&out, opts), slog.NewJSONHandler(&out, opts)} {
			failures(t, slog.New(handler))
		}
		if found := shows(out.String()); len(found) > 0 {
			t.Errorf("at level %v %q show in\n%s", level, found, &out)
		}
		if logged := out.Len() > 0; logged != (level < slog.LevelError) {
			t.Errorf("at level %v %d bytes were logged", level, out.Len())
		}
	}
}

// pointerID identifies what a pointer points to.
type pointerID struct {
	address uintptr
	kind    reflect.Type
}

// walkStrings visits all texts that can be reached from a value, also through
// unexported fields.
func walkStrings(v reflect.Value, path string, seen map[pointerID]bool, visit func(path, text string)) {
	switch v.Kind() {
	case reflect.String:
		visit(path, v.String())
	case reflect.Pointer:
		at := pointerID{v.Pointer(), v.Type()}
		if v.IsNil() || seen[at] {
			return
		}
		seen[at] = true
		walkStrings(v.Elem(), path, seen, visit)
	case reflect.Interface:
		if !v.IsNil() {
			walkStrings(v.Elem(), path+"("+v.Elem().Type().String()+")", seen, visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			walkStrings(v.Field(i), path+"."+v.Type().Field(i).Name, seen, visit)
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 && v.Kind() == reflect.Slice {
			visit(path, string(v.Bytes()))
			return
		}
		for i := range v.Len() {
			walkStrings(v.Index(i), fmt.Sprintf("%s[%d]", path, i), seen, visit)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			walkStrings(k, path+"[key]", seen, visit)
			walkStrings(v.MapIndex(k), path+"[value]", seen, visit)
		}
	}
}

// TestSecretsInOwnRequests: Do sends all fields of a program's own request, with
// its secrets in clear, and no error shows them. It refuses a Secret that it
// would send masked.
func TestSecretsInOwnRequests(t *testing.T) {
	t.Parallel()
	location := cloudapi.PrivateLocationCreateRequest{AccessKey: cloudapi.NewSecret("access-key"), SecretKey: cloudapi.NewSecret(secretPassword)}
	destination := &cloudapi.PostgresMetricDestinationCreateRequest{URL: "https://example.com",
		Options: &cloudapi.PostgresMetricDestinationOptions{Headers: map[string]cloudapi.Secret{"X-Key": cloudapi.NewSecret(secretPassword)}}}
	for _, tt := range []struct {
		in   any
		want string
	}{
		{&struct {
			cloudapi.PrivateLocationCreateRequest
			Name      string `json:"name"`
			Dedicated bool   `json:"dedicated"`
		}{location, "mine", true},
			`{"access_key":"access-key","dedicated":true,"name":"mine","provider_location_name":"","secret_key":"` + secretPassword + `"}`},
		{struct {
			*cloudapi.PostgresMetricDestinationCreateRequest
			Interval int             `json:"interval"`
			Proxy    cloudapi.Secret `json:"proxy"`
		}{destination, 60, cloudapi.NewSecret("proxy-key")},
			`{"interval":60,"options":{"headers":{"X-Key":"` + secretPassword + `"}},"password":"","proxy":"proxy-key","url":"https://example.com","username":""}`},
		{map[string]any{"key": cloudapi.NewSecret(secretPassword)}, `{"key":"` + secretPassword + `"}`},
		{revealing{cloudapi.NewSecret(secretPassword)}, `{"key":"` + secretPassword + `"}`},
		{map[string]any{"in": []any{&revealing{cloudapi.NewSecret(secretPassword)}}}, `{"in":[{"key":"` + secretPassword + `"}]}`},
	} {
		network := &stub.Recorder{Answer: stub.Always(400, "no "+secretPassword)}
		err := sdktest.Recorded(t, network).Do(t.Context(), "POST", []string{"x"}, nil, tt.in, nil)
		if sent := network.Take(); len(sent) != 1 || sent[0].Body != tt.want {
			t.Errorf("sent %+v, want %s", sent, tt.want)
		}
		if err == nil || len(shows(err.Error())) > 0 {
			t.Errorf("error %v", err)
		}
	}
	for _, in := range []any{
		sealed{cloudapi.NewSecret(secretPassword)}, headers{{Name: "off"}, {"on", cloudapi.NewSecret(secretPassword)}}, map[int]cloudapi.Secret{1: cloudapi.NewSecret(secretPassword)},
		map[string]string{"url": fmt.Sprintf("postgres://app:%v@db.example.com", cloudapi.NewSecret(secretPassword))},
	} {
		err := sdktest.SendingNothing(t).Do(t.Context(), "POST", []string{"x"}, nil, in, nil)
		if e, ok := errors.AsType[*cloudapi.ArgumentError](err); !ok || e.Reason != "has a value that is the masked form of a Secret: use the result of Reveal" {
			t.Errorf("%T: a Secret that only its type can encode: %v", in, err)
		}
	}
}

// headers encodes itself, without the elements that are off: the position of an
// element doesn't say which Secret it has.
type headers []struct {
	Name  string
	Value cloudapi.Secret
}

func (h headers) MarshalJSON() ([]byte, error) {
	type plain headers
	return json.Marshal(slices.DeleteFunc(slices.Clone(plain(h)), func(e struct {
		Name  string
		Value cloudapi.Secret
	}) bool {
		return e.Name == "off"
	}))
}

// revealing encodes itself, with its secret in clear.
type revealing struct{ Key cloudapi.Secret }

func (r revealing) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"key": r.Key.Reveal()})
}

// sealed encodes a field that reflection can't read.
type sealed struct{ key cloudapi.Secret }

func (s sealed) MarshalJSON() ([]byte, error) { return json.Marshal(map[string]any{"key": s.key}) }
