package cloudapi

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"text/template"
)

// The secrets that must not show. None is a part of another text.
const (
	secretHeader   = "hunter2-gateway-Lm4Kp9Wd"
	secretPassword = "hunter2-database-Xq7Zr2Ty"
	secretRotating = "hunter2-rotating-Vb3Nc8Hs"
)

// shows returns which of the secrets are in a text, also in hexadecimal or as
// a list of bytes, which some verbs of fmt print.
func shows(text string) (found []string) {
	for _, secret := range []string{testToken, secretHeader, secretPassword, secretRotating} {
		core := secret[len(secret)-8:]
		for _, form := range []string{core, fmt.Sprintf("%x", core), fmt.Sprintf("%X", core), fmt.Sprintf("% x", core),
			strings.Trim(fmt.Sprint([]byte(core)), "[]")} {
			if strings.Contains(text, form) {
				found = append(found, form)
			}
		}
	}
	return found
}

// TestShowsFindsSecrets keeps the tests below from proving nothing.
func TestShowsFindsSecrets(t *testing.T) {
	t.Parallel()
	type plain struct{ s string }
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d"} {
		var v any = plain{secretPassword}
		if verb == "%d" {
			v = []byte(secretPassword)
		}
		if text := fmt.Sprintf(verb, v); len(shows(text)) == 0 {
			t.Errorf("%s is not recognized in %s", verb, text)
		}
	}
}

// secretHolders are values with secrets at many places.
func secretHolders(t *testing.T) map[string]any {
	t.Helper()
	type exported struct{ S Secret }
	type unexported struct{ s Secret }
	type deep struct {
		Exported   *exported
		unexported *unexported
		Slice      []Secret
		Map        map[string]Secret
		Any        any
		array      [1]exported
		Opt        Opt[Secret]
	}
	s := NewSecret(secretPassword)
	var network recorder
	options := []Option{WithToken(testToken), WithHeader("X-Key", secretHeader), WithProject(testProject)}
	client := network.client(t, options...)
	copied := *client
	return map[string]any{
		"secret":         s,
		"pointer":        &s,
		"pointers":       new(&s),
		"exported":       exported{s},
		"unexported":     unexported{s},
		"pointer to one": &unexported{s},
		"slice":          []Secret{s, s},
		"slice of any":   []any{s, &s, unexported{s}},
		"map":            map[string]Secret{"k": s},
		"map of structs": map[string]unexported{"k": {s}},
		"array":          [2]Secret{s, s},
		"deep":           deep{&exported{s}, &unexported{s}, []Secret{s}, map[string]Secret{"k": s}, &s, [1]exported{{s}}, Value(s)},
		"error":          fmt.Errorf("password %v of %+v", s, exported{s}),
		"request":        &secretRequest{"x", s},
		"client":         client,
		"client's copy":  copied,
		"client in one":  struct{ c *Client }{client},
		"service":        client.VMs,
		"service's copy": *client.VMs,
		"configuration":  client.config,
		"header":         client.config.headers,
		"options":        options,
	}
}

func TestSecretsInFmt(t *testing.T) {
	t.Parallel()
	printed := 0
	for name, v := range secretHolders(t) {
		for verb := 'A'; verb <= 'z'; verb++ {
			for _, flags := range []string{"", "+", "#", "+#", " ", "0", "-", "# ", "200.200"} {
				format := "%" + flags + string(verb)
				text := fmt.Sprintf(format, v)
				if found := shows(text); len(found) > 0 {
					t.Errorf("%s with %s shows %q: %s", name, format, found, text)
				}
				printed++
			}
		}
		if text := fmt.Sprint(v) + fmt.Sprintln(v) + string(fmt.Append(nil, v)); len(shows(text)) > 0 {
			t.Errorf("%s printed is %s", name, text)
		}
		if text := fmt.Errorf("%w", fmt.Errorf("%v", v)).Error(); len(shows(text)) > 0 {
			t.Errorf("%s in an error is %s", name, text)
		}
	}
	if printed == 0 {
		t.Error("nothing was printed")
	}
}

func TestSecretsInSlog(t *testing.T) {
	t.Parallel()
	for name, v := range secretHolders(t) {
		var out bytes.Buffer
		everything := &slog.HandlerOptions{Level: slog.LevelDebug, AddSource: true}
		for _, handler := range []slog.Handler{slog.NewTextHandler(&out, everything), slog.NewJSONHandler(&out, everything)} {
			logger := slog.New(handler)
			logger.Debug("m", "v", v)
			logger.With("v", v).WithGroup("g").Error("m", slog.Any("v", []any{v}), slog.Group("h", "v", v))
		}
		if found := shows(out.String()); len(found) > 0 || out.Len() == 0 {
			t.Errorf("%s shows %q in\n%s", name, found, &out)
		}
	}
}

func TestSecretsInEncodings(t *testing.T) {
	t.Parallel()
	for name, v := range secretHolders(t) {
		asJSON, _ := json.Marshal(v)
		asXML, _ := xml.Marshal(v)
		var asText bytes.Buffer
		if err := template.Must(template.New("").Parse("{{.}} {{printf `%v %q` . .}}")).Execute(&asText, v); err != nil {
			t.Errorf("%s in a template: %v", name, err)
		}
		for _, text := range []string{string(asJSON), string(asXML), asText.String()} {
			if found := shows(text); len(found) > 0 {
				t.Errorf("%s shows %q in %s", name, found, text)
			}
		}
	}
}

// TestSecretsInPanics: the runtime prints the value of a panic itself.
func TestSecretsInPanics(t *testing.T) {
	t.Parallel()
	const variable = "CLOUDAPI_TEST_PANIC"
	if name := os.Getenv(variable); name != "" {
		panic(secretHolders(t)[name])
	}
	for _, name := range []string{"secret", "pointer", "exported", "error", "client", "configuration"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestSecretsInPanics$")
		cmd.Env = append(os.Environ(), variable+"="+name, "GOTRACEBACK=all")
		out, err := cmd.CombinedOutput()
		if err == nil || !bytes.Contains(out, []byte("panic: ")) {
			t.Fatalf("%s: there was no panic: %v\n%s", name, err, out)
		}
		if found := shows(string(out)); len(found) > 0 {
			t.Errorf("%s shows %q in\n%s", name, found, out)
		}
	}
}

// failures makes an error of every kind, each with all secrets at hand.
func failures(t *testing.T, logger *slog.Logger) map[string]error {
	t.Helper()
	echo := string(mustJSON("Bearer " + testToken + " " + secretHeader + " " + secretPassword + " " + secretRotating))
	broken := errors.New("connection reset")
	answers := map[string]func(*http.Request) (*http.Response, error){
		"error":           always(400, `{"error":{"code":400,"type":`+echo+`,"message":`+echo+`,"details":{"a":`+echo+`,`+echo+`:["x"]}}}`),
		"odd error":       always(400, `{"error":`+echo+`}`),
		"page":            always(502, "<h1>"+echo),
		"text":            always(500, echo),
		"record":          always(200, `{"connection_string":`+echo+`,"a":[`+echo+`,{"b":`+echo+`}]}`),
		"broken record":   always(200, `{"connection_string":`+echo[:len(echo)-9]),
		"page for record": always(200, "<h1>"+echo),
		"file":            always(200, "password: "+echo),
		"no content":      always(204, ""),
		"redirect": func(*http.Request) (*http.Response, error) {
			resp := respond(302, "")
			resp.Header.Set("Location", "https://user:"+secretPassword+"@example.com/"+testToken)
			return resp, nil
		},
		"broken": func(*http.Request) (*http.Response, error) { return nil, broken },
	}
	op := Operation{"Postgres.ResetSuperuserPassword", "POST", projectRoute + "/x", create}
	failed := map[string]error{}
	for name, answer := range answers {
		network := recorder{answer: answer}
		client := network.client(t, WithHeader("X-Key", secretHeader), WithLogger(logger),
			WithTokenSource(func(context.Context) (string, error) { return secretRotating, nil }), WithHeader("X-Token", testToken))
		call := func(ctx context.Context) (*VM, error) {
			return send[VM](ctx, client, &op, &secretRequest{"x", NewSecret(secretPassword)})
		}
		_, failed[name] = call(t.Context())
		_, failed["wait for "+name] = Wait(t.Context(), call, nil, WaitTolerance(0))
		client = client.InProject(testToken)
		_, failed["argument"] = call(t.Context())
	}
	_, failed["option"] = NewClient(WithBaseURL("http://example.com"), WithToken(testToken))
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
		text += string(mustJSON(err)) + string(mustJSON(map[string]any{"e": err}))
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

// pointerID identifies what a pointer points to.
type pointerID struct {
	address uintptr
	kind    reflect.Type
}

// walkStrings visits all texts that can be reached from a value, whether
// exported or not.
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

func TestClientDescribesItself(t *testing.T) {
	t.Parallel()
	var network recorder
	client := network.client(t)
	const want = `cloudapi.Client(https://api.example.com, project "` + testProject + `")`
	for _, got := range []string{client.String(), fmt.Sprintf("%v", client), fmt.Sprintf("%#v", client), fmt.Sprintf("%d", client),
		fmt.Sprintf("%v", *client), fmt.Sprintf("%+v", *client), fmt.Sprint([]Client{*client})[1 : len(want)+1], client.LogValue().String()} {
		if got != want {
			t.Errorf("the client is %s, want %s", got, want)
		}
	}
	for _, v := range []any{client, *client} {
		var decoded string
		if err := json.Unmarshal(mustJSON(v), &decoded); err != nil || decoded != want {
			t.Errorf("its JSON is %s", mustJSON(v))
		}
	}
}

func TestSecret(t *testing.T) {
	t.Parallel()
	s, empty := NewSecret(secretPassword), NewSecret("")
	if s.Reveal() != secretPassword || empty.Reveal() != "" || (Secret{}).Reveal() != "" {
		t.Errorf("Reveal = %q, %q", s.Reveal(), empty.Reveal())
	}
	if s.IsZero() || !empty.IsZero() || !(Secret{}).IsZero() {
		t.Error("IsZero is wrong")
	}
	if !s.Equal(NewSecret(secretPassword)) || s.Equal(empty) || !empty.Equal(Secret{}) {
		t.Error("Equal is wrong")
	}
	type holder struct {
		S Secret `json:"s,omitzero"`
	}
	for _, tt := range []struct{ format, secret, empty string }{
		{"%v", "[redacted]", ""},
		{"%s", "[redacted]", ""},
		{"%d", "[redacted]", ""},
		{"%+v", "[redacted]", ""},
		{"%#v", `cloudapi.Secret("[redacted]")`, `cloudapi.Secret("")`},
	} {
		if a, b := fmt.Sprintf(tt.format, s), fmt.Sprintf(tt.format, empty); a != tt.secret || b != tt.empty {
			t.Errorf("%s prints %q and %q", tt.format, a, b)
		}
	}
	if a, b := string(mustJSON(holder{s})), string(mustJSON(holder{empty})); a != `{"s":"[redacted]"}` || b != `{}` {
		t.Errorf("in JSON they are %s and %s", a, b)
	}
}

func TestSecretIsRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{`{"s":"a\u00e9\n"}`: "aé\n", `{"s":""}`: "", `{"s":null}`: "", `{}`: ""} {
		var v struct {
			S Secret `json:"s"`
		}
		if err := json.Unmarshal([]byte(text), &v); err != nil || v.S.Reveal() != want || v.S.IsZero() != (want == "") {
			t.Errorf("%s is %q, %v", text, v.S.Reveal(), err)
		}
	}
	var s Secret
	if err := json.Unmarshal([]byte("12345678"), &s); err == nil || strings.Contains(err.Error(), "12345678") || !s.IsZero() {
		t.Errorf("a number is %q, %v", s.Reveal(), err)
	}
	if err := s.UnmarshalText([]byte(secretPassword)); err != nil || s.Reveal() != secretPassword {
		t.Errorf("UnmarshalText: %q, %v", s.Reveal(), err)
	}
}
