package cloudapi_test

import (
	"encoding/json"
	"fmt"
	"reflect"
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
	for text, want := range map[string]string{`{"s":"a\u00e9\n"}`: "aé\n", `{"s":""}`: "", `{"s":null}`: "", `{}`: "", `{"s":"[redacted]"}`: "", `{"s":"a [redacted]"}`: "a [redacted]"} {
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
	if err := s.UnmarshalText([]byte(fmt.Sprint(s))); err != nil || !s.IsZero() {
		t.Errorf("UnmarshalText of the masked text: %q, %v", s.Reveal(), err)
	}
}

// TestSealedSecret: reflection doesn't find the content of a Secret, also not with
// the help of another secret, but equal contents are equal for it.
func TestSealedSecret(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("hunter2 ", 1000)
	read := func(s cloudapi.Secret) string { return reflect.ValueOf(s).FieldByName("sealed").Elem().String() }
	for _, content := range []string{"hunter2", long} {
		s := cloudapi.NewSecret(content)
		sealed := read(s)
		if other := read(cloudapi.NewSecret(content + ".")); strings.Contains(other, sealed[len(sealed)-7:]) {
			t.Errorf("%.100q and %.100q are encrypted with the same stream", sealed, other)
		}
		if strings.Contains(sealed, "hunter") || strings.Contains(sealed, sealed[:7]+sealed[:7]) || s.Reveal() != content {
			t.Errorf("%d bytes are kept as %.100q, and revealed as %.100q", len(content), sealed, s.Reveal())
		}
		if again := cloudapi.NewSecret(content); !reflect.DeepEqual(&s, &again) || reflect.DeepEqual(s, cloudapi.NewSecret(content+".")) {
			t.Error("DeepEqual is wrong")
		}
	}
}
