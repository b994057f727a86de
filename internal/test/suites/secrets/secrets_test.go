// Package secrets_test looks for secrets in everything that a program may
// print.
package secrets_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// The secrets that must not be shown. None of them is part of any other text.
const (
	secretHeader   = "hunter2-gateway-Lm4Kp9Wd"
	secretPassword = "hunter2-database-Xq7Zr2Ty"
	secretRotating = "hunter2-rotating-Vb3Nc8Hs"
)

// shows returns the secrets in a text. It also finds them in hexadecimal or as
// a list of bytes, as some verbs of fmt print them.
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

// TestShowsFindsSecrets checks that shows finds secrets in all forms.
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

// secretHolders returns values that contain secrets in different ways.
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
		"deep":           deep{&exported{s}, &unexported{s}, []cloudapi.Secret{s}, map[string]cloudapi.Secret{"k": s}, &s, [1]exported{{s}}},
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

// TestSecretsInPanics: no secrets are shown if a program panics with a value
// that has them, which the runtime prints without package fmt.
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
