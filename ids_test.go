package cloudapi

import (
	"errors"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/internal/ubid"
)

// TestParseID: ParseID returns the canonical ID for each spelling. Package ubid
// tests which texts are IDs.
func TestParseID(t *testing.T) {
	t.Parallel()
	for spelled, want := range map[string]struct {
		id   ID
		uuid string
	}{
		"vm064pbm96ba3grq6vbsvjb3ax": {"vm064pbm96ba3grq6vbsvjb3ax", "018965d1-265a-8774-862e-6daf3b92c6ae"},
		"VM064PBM96BA3GRQ6VBSVJB3AX": {"vm064pbm96ba3grq6vbsvjb3ax", "018965d1-265a-8774-862e-6daf3b92c6ae"},
		"lBo9fd2wvdjtih8h6h32k8re7m": {"1b09fd2wvdjt1h8h6h32k8re7m", ID("1b09fd2wvdjt1h8h6h32k8re7m").UUID()},
		"emam788072kd1mwb48sjn8g000": {"emam788072kd1mwb48sjn8g000", "550e8400-e29b-41d4-a716-446655440000"}, // of no known kind
	} {
		if got, err := ParseID(spelled); err != nil || got != want.id || got.Kind() != Kind(want.id[:2]) || got.UUID() != want.uuid || want.uuid == "" {
			t.Errorf("ParseID(%q) = %q, %s, %v, want %v", spelled, got, got.UUID(), err, want)
		}
	}
	for _, in := range []string{"", "123456", "vm164pbm96ba3grq6vbsvjb3ax", "vm064pbm96ba3grq6vbsvjb3axx", "vm064pbm96ba3grq6vbsvjb3é"} {
		id, err := ParseID(in)
		if e, ok := errors.AsType[*ArgumentError](err); id != "" || !ok || e.Value != in || !errors.Is(err, ErrInvalidArgument) || ID(in).UUID() != "" {
			t.Errorf("ParseID(%q) = %q, %v, with the UUID %q", in, id, err, ID(in).UUID())
		}
	}
}

func TestIsID(t *testing.T) {
	t.Parallel()
	const (
		vm          = "vm064pbm96ba3grq6vbsvjb3ax"
		wrongParity = "vm164pbm96ba3grq6vbsvjb3az"
	)
	for _, tt := range []struct {
		in    string
		kinds []Kind
		want  bool
	}{
		{vm, nil, true},
		{vm, []Kind{KindVM}, true},
		{vm, []Kind{KindPostgres}, false},
		{vm, []Kind{KindPostgres, KindVM}, true},
		{wrongParity, []Kind{KindVM}, true},
		{strings.ToUpper(vm), []Kind{KindVM}, false},
		{"vm064pbm96ba3grq6vbsvjb3al", []Kind{KindVM}, false},
		{"", []Kind{KindVM}, false},
		{"", nil, false},
		{"zz064pbm96ba3grq6vbsvjb3ax", nil, false},
		{"et00000000065g000008000000", []Kind{KindPostgresMetricDestination}, true},
		{"md00000000065g000008000000", []Kind{KindPostgresMetricDestination}, true},
		{"md00000000065g000008000000", []Kind{KindOther}, false},
	} {
		if got := IsID(tt.in, tt.kinds...); got != tt.want {
			t.Errorf("IsID(%q, %q) = %v, want %v", tt.in, tt.kinds, got, tt.want)
		}
	}
}

// TestReferenceRule: what each kind of rule accepts as an ID and as a name.
func TestReferenceRule(t *testing.T) {
	t.Parallel()
	const (
		vm       = "vm064pbm96ba3grq6vbsvjb3ax"
		mistyped = "vm164pbm96ba3grq6vbsvjb3az" // has the form of an ID
		looks    = "vmo64pbm96ba3grq6vbsvjb3ax" // the server reads the "o" as 0
		another  = "10wjr5d6zvxy1pnjrnt393515p"
		unknown  = "emam788072kd1mwb48sjn8g000"
		notID    = "must be an ID: vm and 24 characters of " + ubid.Alphabet
		badHalf  = "is mistyped: the parity of its first half is wrong"
	)
	var (
		reference = referenceRule{kinds: kinds{KindVM}}
		byName    = referenceRule{kinds: kinds{KindVM}, nameOnly: true}
	)
	for _, tt := range []struct {
		rule              referenceRule
		value, id, reason string
	}{
		{anyReference, "web-1", "", ""},
		{anyReference, vm, "", ""},
		{anyReference, "", "", "must not be empty"},
		{anyReference, "..", "", "must not be a relative path"},
		{anyReference, "a/b", "", "may only contain letters, digits, and the characters - . _ ~"},
		{optionalReference, "", "", ""},
		{optionalReference, ".", "", "must not be a relative path"},

		{reference, "web-1", "", ""},
		{reference, vm, vm, ""},
		{reference, mistyped, mistyped, ""},
		{reference, looks, vm, ""},
		{reference, strings.ToUpper(vm), "", ""},
		{reference, another, "", ""},
		{reference, unknown, "", ""},

		{idOf(KindVM), vm, vm, ""},
		{idOf(KindVM), mistyped, mistyped, ""},
		{idOf(KindVM), looks, "", notID},
		{idOf(KindVM), another, "", notID},
		{idOf(KindVM), "web-1", "", notID},
		{idOf(KindVM), "", "", notID},
		{byName, "mine", "", ""},
		{byName, vm, "", ""},
	} {
		id, reason := tt.rule.parse(tt.value)
		if id != tt.id || reason != tt.reason {
			t.Errorf("%+v of %q: %q, %q, want %q, %q", tt.rule, tt.value, id, reason, tt.id, tt.reason)
		}
		if err := tt.rule.check("VMs.Get", "vm", tt.value); (err != nil) != (reason != "") || err != nil && *err != (ArgumentError{"VMs.Get", "vm", tt.value, reason}) {
			t.Errorf("%+v of %q: %v", tt.rule, tt.value, err)
		}
	}
	for _, tt := range []struct {
		rule          referenceRule
		value, reason string
	}{
		{reference, "web-1", ""},
		{reference, vm, ""},
		{reference, looks, ""},
		{reference, mistyped, badHalf},
		{reference, "vm" + strings.Repeat("z", 24), badHalf},
		{reference, "10" + strings.Repeat("z", 24), ""}, // not an ID, but possibly a name
		{reference, another, "is the ID of another kind: private location"},
		{reference, unknown, ""},
		{reference, "..", "must not be a relative path"},
		{idOf(KindVM), mistyped, badHalf},
		{idOf(KindVM), "web-1", notID},
		{byName, mistyped, ""},
		{byName, vm, "must be a name, not an ID"},
		{byName, another, "must be a name, not an ID"},
	} {
		if err := tt.rule.checkCertain("VMs.Delete", "vm", tt.value); (err != nil) != (tt.reason != "") || err != nil && *err != (ArgumentError{"VMs.Delete", "vm", tt.value, tt.reason}) {
			t.Errorf("%+v of %q, for a deletion: %v, want %q", tt.rule, tt.value, err, tt.reason)
		}
	}
}

// newID returns a random ID of the kind. The tests of this package can't import
// cloudapitest, which has the same.
func newID(t *testing.T, kind Kind) string {
	t.Helper()
	value, ok := ubid.New(string(kind))
	if !ok {
		t.Fatalf("%q is no prefix", string(kind))
	}
	return value.String()
}

func TestKinds(t *testing.T) {
	t.Parallel()
	for kind := range kindNames {
		if kind.String() == string(kind) {
			t.Errorf("kind %q has no name", kind)
		}
		id := newID(t, kind)
		parsed, err := ParseID(id)
		if err != nil || parsed.String() != id || parsed.Kind() != kind || !IsID(id, kind) {
			t.Errorf("ParseID(%q) = %q of kind %q, %v, want kind %q", id, parsed, parsed.Kind(), err, kind)
		}
	}
	if got, unknown := KindLoadBalancer.String(), Kind("zz"); got != "load balancer" || unknown.String() != "zz" || unknown.Known() {
		t.Errorf("the kinds are %q and %q", got, unknown)
	}
}

func TestParseReference(t *testing.T) {
	t.Parallel()
	const id = "vm064pbm96ba3grq6vbsvjb3ax"
	for s, want := range map[string]reference{
		id:                      {ID: id},
		"eu-central-h1/web-1":   {Location: "eu-central-h1", Name: "web-1"},
		"eu-central-h1/" + id:   {Location: "eu-central-h1", ID: id},
		"laptop":                {Name: "laptop"},
		strings.Repeat("W", 26): {Name: strings.Repeat("W", 26)},

		// This could be an ID, but also a name.
		"vmo64pbm96ba3grq6vbsvjb3ax":               {Name: "vmo64pbm96ba3grq6vbsvjb3ax"},
		"eu-central-h1/lbo9fd2wvdjtih8h6h32k8re7m": {Location: "eu-central-h1", Name: "lbo9fd2wvdjtih8h6h32k8re7m"},
		"Vmo64pbm96ba3grq6vbsvjb3ax":               {Name: "Vmo64pbm96ba3grq6vbsvjb3ax"},
	} {
		got, err := parseReference(s)
		if err != nil || got != want || got.String() != s {
			t.Errorf("parseReference(%q) = %#v, %v; as text %q", s, got, err, got)
		}
	}
	for s, want := range map[string]reference{
		strings.ToUpper(id):                    {ID: id},
		"eu-central-h1/" + strings.ToUpper(id): {ID: id, Location: "eu-central-h1"},
		"VMO64PBM96BA3GRQ6VBSVJB3AX":           {ID: "vm064pbm96ba3grq6vbsvjb3ax"},
	} {
		if got, err := parseReference(s); err != nil || got != want {
			t.Errorf("parseReference(%q) = %#v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "/", "a/", "/a", "a/b/c", "a b", ".", "..", "a/..", "../a", "a\x00", "ä"} {
		if got, err := parseReference(s); got != (reference{}) || !errors.Is(err, ErrInvalidArgument) {
			t.Errorf("parseReference(%q) = %#v, %v", s, got, err)
		}
	}
}

// TestMadeFor: what the server makes for a cluster or a database has the ID and a
// purpose as its name.
func TestMadeFor(t *testing.T) {
	t.Parallel()
	const cluster, database, vm = "kc275w6cj9pj3h380696wbvdw7", "pg275w6cj9pj3h380696wbvdw7", "vm275w6cj9pj3h380696wbvdw7"
	for r, want := range map[Resource]string{
		{Kind: KindPrivateSubnet, Name: cluster + "-subnet"}:      cluster,
		{Kind: KindPrivateSubnet, Name: database + "-subnet"}:     database,
		{Kind: KindFirewall, Name: database + "-firewall"}:        database,
		{Kind: KindLoadBalancer, Name: cluster + "-apiserver"}:    cluster,
		{Kind: KindLoadBalancer, Name: cluster + "-services"}:     cluster,
		{Kind: KindFirewall, Name: cluster + "-subnet"}:           "",
		{Kind: KindFirewall, Name: cluster}:                       "",
		{Kind: KindPrivateSubnet, Name: vm + "-subnet"}:           "",
		{Kind: KindPrivateSubnet, Name: "default-eu-central-h1"}:  "",
		{Kind: KindPrivateSubnet, Name: cluster + "-subnet-mine"}: "",
		{Kind: KindVM, Name: cluster + "-subnet"}:                 "",
	} {
		if got := r.MadeFor(); got != want {
			t.Errorf("%v: %q, want %q", r, got, want)
		}
	}
}
