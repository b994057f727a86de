package jsonform

import (
	"encoding/json"
	"maps"
	"testing"
)

// TestTexts: every scalar becomes a text, and anything else is an error.
func TestTexts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Texts{
		`{"a":"b\n","c":1.50,"d":true,"e":null}`: {"a": "b\n", "c": "1.50", "d": "true", "e": ""},
		`{}`:                                     {}, `null`: nil, `[]`: nil, `{"a":{}}`: nil, `{"a":[1]}`: nil, `{"a":`: nil, `"a"`: nil,
	} {
		var got struct{ T Texts }
		err := json.Unmarshal([]byte(`{"T":`+text+`}`), &got)
		if want != nil && (err != nil || got.T == nil || !maps.Equal(got.T, want)) || want == nil && (err == nil) != (text == "null") {
			t.Errorf("%s becomes %v, %v", text, got.T, err)
		}
	}
}
