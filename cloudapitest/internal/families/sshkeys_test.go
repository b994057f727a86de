package families_test

import (
	"slices"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
)

func TestKeysAreListedByName(t *testing.T) {
	t.Parallel()
	keys := cloudapitest.New(t).Client().SSHPublicKeys
	want := []string{"a", "b", "c", "d", "e", "f"}
	for _, name := range slices.Backward(want) {
		must(keys.Create(t.Context(), &cloudapi.SSHPublicKeyCreateRequest{Name: name, PublicKey: "ssh-ed25519 AAAA"}))
	}
	var got []string
	for _, k := range must(keys.List(t.Context(), nil)).Items {
		got = append(got, k.Name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("listed as %q, want %q", got, want)
	}
}
