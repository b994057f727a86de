package cloudapi

import (
	"encoding/json"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestSettingInAReusedVariable: nothing of an earlier value is left in a variable
// into which another is decoded.
func TestSettingInAReusedVariable(t *testing.T) {
	t.Parallel()
	setting := NewPostgresSetting(200)
	for _, want := range []string{`"32MB"`, `1.50`, `"1"`, `true`, `""`, `null`} {
		err := json.Unmarshal([]byte(want), &setting)
		if got := string(stub.Must(json.Marshal(setting))(t)); err != nil || got != want {
			t.Errorf("it is %s, %v, want %s", got, err, want)
		}
	}
	if setting != (PostgresSetting{}) {
		t.Errorf("null is %#v", setting)
	}
}
