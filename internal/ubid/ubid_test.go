package ubid

import (
	"strings"
	"testing"
)

var vectors = []struct {
	id   string
	uuid string
}{
	{"vm00000000021g000000000001", "00000000-0000-8374-8000-000000000000"},
	{"vmzzzzzzzzzy7qzzzzzzzzzzzz", "ffffffff-ffff-8f74-bfff-ffffffffffff"},
	{"pj06d2pf2dbt2g4hmasw9nf6yz", "019a2b3c-4d5e-86d2-8123-456789abcdef"},
	{"1b28t5cy4tqj4kzpwqac7cn1j2", "12345678-9abc-882b-9fed-cba987654321"},
	{"pg1w7gy3rf1y1g000000000002", "0f0f0f0f-0f0f-82d0-8000-000000000001"},
	{"1nnf6yy0938p7nanananananam", "abcdef01-2345-8c35-aaaa-aaaaaaaaaaaa"},
	{"mdfzzzzzzzzy3p000000000001", "7fffffff-ffff-868d-b000-000000000000"},
	{"et00000000065g000008000000", "00000000-0001-89da-8000-000100000000"},
	{"sk06ctnk9r020g00000000002m", "0199aacd-3800-8333-8000-00000000002a"},
	{"kcg0000000023m000000000000", "80000000-0000-866c-a000-000000000000"},
	{"10saktg1sprp3mxefj1m3kppq2", "caa7a807-36c5-8420-a75c-f906839dad71"},
	{"103wgmgmrbrj0q48dzyw6fvt4z", "1f214853-0bc4-8020-b910-dffb867ef44f"},
	{"10w235104t7p1n09fb0bwfbz7z", "e0865080-9a3d-8020-a812-f5817c7afe7f"},
	{"102crmxx0tx24mkkz80554fg1s", "13314ef4-1ae8-8820-a4e7-f400a523e01c"},
	{"ttzzzzzzzz021gzzz0pj0v1ew0", "ffffffff-ff00-835a-87ff-f05a40d85dc0"},
	{"vm064pbm96ba3grq6vbsvjb3ax", "018965d1-265a-8774-862e-6daf3b92c6ae"},
	{"emam788072kd1mwb48sjn8g000", "550e8400-e29b-41d4-a716-446655440000"},
	{"pj000000000000000000000000", "00000000-0000-02d2-0000-000000000000"},
	// From a server that marks where it creates identifiers: variant bits 11.
	{"vm064pbm96ba3rrq6vbsvjb3aw", "018965d1-265a-8774-c62e-6daf3b92c6ae"},
	{"vmzzzzzzzzzy7zzzzzzzzzzzzy", "ffffffff-ffff-8f74-ffff-ffffffffffff"},
}

func TestVectors(t *testing.T) {
	t.Parallel()
	for _, v := range vectors {
		for _, spelled := range []string{v.id, strings.ToUpper(v.id), lookAlikes.Replace(v.id)} {
			value, err := Parse(spelled)
			if err != nil || value.String() != v.id || value.UUID() != v.uuid {
				t.Errorf("Parse(%q) = %v, %s, %v, want %s", spelled, value, value.UUID(), err, v.uuid)
			}
		}
		if !WellFormed(v.id) {
			t.Errorf("%q has not the form", v.id)
		}
	}
}

// lookAlikes replaces digits by letters that are read as these digits.
var lookAlikes = strings.NewReplacer("0", "o", "1", "l")

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"vm164pbm96ba3grq6vbsvjb3ax":  "is mistyped: the parity of its first half is wrong",
		"vm064pbm96ba3grq6vbsvjb3az":  "is mistyped: the parity of its second half is wrong",
		"vm164pbm96-a3grq6vbsvjb3ax":  "has a character at position 11 that no ID has",
		"vm064pbm96ba3grq6vbsvjb3au":  "has a character at position 26 that no ID has",
		"123456":                      "has 6 characters, an ID has 26",
		"":                            "has 0 characters, an ID has 26",
		"vm064pbm96ba3grq6vbsvjb3axx": "has 27 characters, an ID has 26",
		"vm064pbm96ba3grq6vbsvjb3é":   "has a character at position 25 that no ID has",
	} {
		if value, err := Parse(in); err == nil || err.Error() != want || value != (Value{}) {
			t.Errorf("Parse(%q) = %v, %v, want %q", in, value, err, want)
		}
	}
}

// TestOneBit: an identifier with one bit flipped is invalid.
func TestOneBit(t *testing.T) {
	t.Parallel()
	id := vectors[0].id
	for i := PrefixLength; i < Length; i++ {
		for bit := range 5 {
			b := []byte(id)
			b[i] = Alphabet[strings.IndexByte(Alphabet, b[i])^1<<bit]
			if value, err := Parse(string(b)); err == nil || !WellFormed(string(b)) {
				t.Errorf("%s, which is %s but for a bit, is %v", b, id, value)
			}
		}
	}
}

func TestWellFormed(t *testing.T) {
	t.Parallel()
	id := vectors[0].id
	for c := range 256 {
		s := id[:Length-1] + string([]byte{byte(c)})
		if got, want := WellFormed(s), strings.IndexByte(Alphabet, byte(c)) >= 0; got != want {
			t.Errorf("WellFormed(%q) = %v", s, got)
		}
	}
	for _, s := range []string{"", id[:Length-1], id + "0", strings.ToUpper(id), "\xff" + id[1:]} {
		if WellFormed(s) {
			t.Errorf("%q has the form", s)
		}
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	seen := map[Value]bool{}
	for range 100 {
		value, ok := New("0b")
		uuid := value.UUID()
		if !ok || seen[value] || value.String()[:PrefixLength] != "0b" || uuid[14] != '8' || !strings.Contains("89ab", uuid[19:20]) {
			t.Fatalf("New = %v, %v with the UUID %s", value, ok, uuid)
		}
		seen[value] = true
	}
	for _, prefix := range []string{"", "v", "vmx", "vu", "-m"} {
		if value, ok := New(prefix); ok {
			t.Errorf("New(%q) = %v", prefix, value)
		}
	}
}
