package wire_test

import (
	"errors"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
)

func TestSSHPublicKeysWire(t *testing.T) {
	t.Parallel()
	const (
		base  = projectPath + "/ssh-public-key"
		id    = "sk7dxatrt82p2ge102vk6b9tak"
		full  = `{"id":"` + id + `","name":"laptop","public_key":"ssh-ed25519 AAAA dev@laptop"}`
		short = `{"id":"` + id + `","name":"laptop"}`
	)
	record := &cloudapi.SSHPublicKey{ID: id, Name: "laptop", PublicKey: "ssh-ed25519 AAAA dev@laptop"}
	item := &cloudapi.SSHPublicKey{ID: id, Name: "laptop"}
	runWireCases(t, "SSHPublicKeys", []wireCase{
		{
			method: "GET", target: base, reply: `{"items":[` + short + `]}`,
			call: calls("SSHPublicKeys.List", nil),
			want: &cloudapi.Page[cloudapi.SSHPublicKey]{Items: []*cloudapi.SSHPublicKey{item}},
		},
		{
			name: "all", method: "GET", target: base, reply: `{"items":[` + short + `]}`,
			call: calls("SSHPublicKeys.All", nil),
			want: []*cloudapi.SSHPublicKey{item},
		},
		{
			name: "create", method: "POST", target: base, reply: full,
			body: `{"name":"laptop","public_key":"ssh-ed25519 AAAA dev@laptop"}`,
			call: calls("SSHPublicKeys.Create", &cloudapi.SSHPublicKeyCreateRequest{Name: "laptop", PublicKey: "ssh-ed25519 AAAA dev@laptop"}),
			want: record,
		},
		{
			method: "GET", target: base + "/" + id, reply: full,
			call: calls("SSHPublicKeys.Get", id),
			want: record,
		},
		{
			name: "update both by the ID", method: "POST", target: base + "/" + id, reply: full,
			body: `{"name":"laptop","public_key":"ssh-ed25519 AAAA dev@laptop"}`,
			call: calls("SSHPublicKeys.Update", id, &cloudapi.SSHPublicKeyUpdateRequest{Name: "laptop", PublicKey: "ssh-ed25519 AAAA dev@laptop"}),
			want: record,
		},
		{
			name: "update the name by the name", byName: true, method: "POST", target: base + "/desktop", body: `{"name":"laptop"}`, reply: full,
			call: calls("SSHPublicKeys.Update", "desktop", &cloudapi.SSHPublicKeyUpdateRequest{Name: "laptop"}),
			want: record,
		},
		{
			name: "update the key by the name", method: "POST", target: base + "/laptop", body: `{"public_key":"ssh-ed25519 AAAA dev@laptop"}`, reply: full,
			call: calls("SSHPublicKeys.Update", "laptop", &cloudapi.SSHPublicKeyUpdateRequest{PublicKey: "ssh-ed25519 AAAA dev@laptop"}),
			want: record,
		},
		{
			method: "DELETE", target: base + "/laptop",
			call: calls("SSHPublicKeys.Delete", "laptop"),
		},
	})
}

// A server may keep the old name if the new one is blank, and respond as to a
// change.
func TestEmptySSHPublicKeyUpdate(t *testing.T) {
	t.Parallel()
	client := sdktest.SendingNothing(t)
	for _, request := range []*cloudapi.SSHPublicKeyUpdateRequest{nil, {}, {Name: " \t"}} {
		key, err := client.SSHPublicKeys.Update(t.Context(), "laptop", request)
		if key != nil || !errors.Is(err, cloudapi.ErrInvalidArgument) {
			t.Errorf("Update with %+v = %v, %v", request, key, err)
		}
	}
}
