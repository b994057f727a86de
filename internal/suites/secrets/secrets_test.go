// Package secrets_test looks for secrets in everything that a program may
// print.
package secrets_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"text/template"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
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
	for _, secret := range []string{stub.Token, secretHeader, secretPassword, secretRotating} {
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

// TestShowsFindsSecrets checks that the search finds secrets.
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
	type exported struct{ S cloudapi.Secret }
	type unexported struct{ s cloudapi.Secret }
	type deep struct {
		Exported   *exported
		unexported *unexported
		Slice      []cloudapi.Secret
		Map        map[string]cloudapi.Secret
		Any        any
		array      [1]exported
		Opt        cloudapi.Opt[cloudapi.Secret]
	}
	s := cloudapi.NewSecret(secretPassword)
	var network stub.Recorder
	options := []cloudapi.Option{cloudapi.WithToken(stub.Token), cloudapi.WithHeader("X-Key", secretHeader), cloudapi.WithProject(stub.Project)}
	client := sdktest.Recorded(t, &network, options...)
	copied := *client
	return map[string]any{
		"secret":         s,
		"pointer":        &s,
		"pointers":       new(&s),
		"exported":       exported{s},
		"unexported":     unexported{s},
		"pointer to one": &unexported{s},
		"slice":          []cloudapi.Secret{s, s},
		"slice of any":   []any{s, &s, unexported{s}},
		"map":            map[string]cloudapi.Secret{"k": s},
		"map of structs": map[string]unexported{"k": {s}},
		"array":          [2]cloudapi.Secret{s, s},
		"deep":           deep{&exported{s}, &unexported{s}, []cloudapi.Secret{s}, map[string]cloudapi.Secret{"k": s}, &s, [1]exported{{s}}, cloudapi.Value(s)},
		"error":          fmt.Errorf("password %v of %+v", s, exported{s}),
		"request":        &cloudapi.PostgresMetricDestinationCreateRequest{Password: s},
		"client":         client,
		"client's copy":  copied,
		"client in one":  struct{ c *cloudapi.Client }{client},
		"service":        client.VMs,
		"service's copy": *client.VMs,
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
	for _, name := range []string{"secret", "pointer", "exported", "error", "client", "service"} {
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
