package cloudapitest

import (
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
)

func TestNewID(t *testing.T) {
	t.Parallel()
	seen := map[cloudapi.ID]bool{}
	for range 50 {
		id := NewID(cloudapi.KindLoadBalancer)
		if seen[id] {
			t.Fatalf("NewID returned %q twice", id)
		}
		seen[id] = true
		if parsed, err := cloudapi.ParseID(id.String()); err != nil || parsed != id || id.Kind() != cloudapi.KindLoadBalancer {
			t.Fatalf("NewID returned %q of kind %q, which parses as %q, %v", id, id.Kind(), parsed, err)
		}
		if uuid := id.UUID(); uuid[14] != '8' || !strings.Contains("89ab", uuid[19:20]) {
			t.Fatalf("the UUID of %q is %q, want version 8 and variant 2", id, uuid)
		}
	}
}

func TestNewIDPanicsOnBadKind(t *testing.T) {
	t.Parallel()
	defer func() {
		if got, want := recover(), `cloudapitest: NewID: "vu" cannot be the prefix of an ID`; got != want {
			t.Errorf("NewID panicked with %v, want %q", got, want)
		}
	}()
	NewID("vu")
}
