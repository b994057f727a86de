package sdktest

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

// TestLosses checks that the comparison finds losses.
func TestLosses(t *testing.T) {
	t.Parallel()
	type inner struct {
		A *int            `json:"a"`
		T time.Time       `json:"t"`
		S cloudapi.Secret `json:"s"`
	}
	type outer struct {
		ID    string   `json:"id"`
		F     float64  `json:"f"`
		B     bool     `json:"b"`
		Inner []*inner `json:"inner"`
	}
	for body, want := range map[string][]string{
		`{"id":"x","f":0.5,"b":true,"inner":[{"a":0,"t":"2026-01-02T03:04:05+00:00","s":"secret"}]}`: nil,
		`{"id":null,"f":null,"b":null,"inner":null}`:                                                 nil,
		`{"id":"x","inner":[{"a":null,"t":null,"s":null}]}`:                                          nil,
		`{"id":"x","new":null}`:           {".new is lost"},
		`{"id":"x","inner":[{"b":1}]}`:    {".inner[0].b is lost"},
		`{"id":"x","inner":[{"S":"s1"}]}`: {".inner[0].S is lost", ".inner[0].s is s1, and wasn't sent"},
	} {
		var v outer
		if err := json.Unmarshal([]byte(body), &v); err != nil {
			t.Fatal(err)
		}
		if got := Losses(t, body, &v); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
	for _, tt := range []struct{ sent, decoded any }{
		{"a", "b"}, {"a", nil}, {1.0, 2.0}, {true, false}, {nil, "x"}, {nil, 1.0}, {nil, []any{1.0}}, {nil, map[string]any{"a": 1.0}}, {map[string]any{}, map[string]any{"a": 1.0}},
		{[]any{"a"}, []any{}}, {[]any{"a"}, nil}, {[]any{"a"}, []any{"b"}}, {map[string]any{"a": 1.0}, nil}, {map[string]any{"a": 1.0}, map[string]any{"a": 2.0}},
		{"2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z"},
	} {
		if len(compare("", tt.sent, tt.decoded)) == 0 {
			t.Errorf("%v is taken for %v", tt.decoded, tt.sent)
		}
	}
}
