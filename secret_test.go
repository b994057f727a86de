package cloudapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

func TestSecret(t *testing.T) {
	t.Parallel()
	const password = "hunter2"
	s, empty := cloudapi.NewSecret(password), cloudapi.NewSecret("")
	if s.Reveal() != password || empty.Reveal() != "" || (cloudapi.Secret{}).Reveal() != "" {
		t.Errorf("Reveal = %q, %q", s.Reveal(), empty.Reveal())
	}
	if s.IsZero() || !empty.IsZero() || !(cloudapi.Secret{}).IsZero() {
		t.Error("IsZero is wrong")
	}
	if !s.Equal(cloudapi.NewSecret(password)) || s.Equal(empty) || !empty.Equal(cloudapi.Secret{}) {
		t.Error("Equal is wrong")
	}
	type holder struct {
		S cloudapi.Secret `json:"s,omitzero"`
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
	if a, b := string(stub.JSON(holder{s})), string(stub.JSON(holder{empty})); a != `{"s":"[redacted]"}` || b != `{}` {
		t.Errorf("in JSON they are %s and %s", a, b)
	}
}

func TestSecretIsRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{`{"s":"a\u00e9\n"}`: "aé\n", `{"s":""}`: "", `{"s":null}`: "", `{}`: ""} {
		var v struct {
			S cloudapi.Secret `json:"s"`
		}
		if err := json.Unmarshal([]byte(text), &v); err != nil || v.S.Reveal() != want || v.S.IsZero() != (want == "") {
			t.Errorf("%s is %q, %v", text, v.S.Reveal(), err)
		}
	}
	const password = "hunter2"
	var s cloudapi.Secret
	if err := json.Unmarshal([]byte("12345678"), &s); err == nil || strings.Contains(err.Error(), "12345678") || !s.IsZero() {
		t.Errorf("a number is %q, %v", s.Reveal(), err)
	}
	if err := s.UnmarshalText([]byte(password)); err != nil || s.Reveal() != password {
		t.Errorf("UnmarshalText: %q, %v", s.Reveal(), err)
	}
}
