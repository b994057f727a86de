package wire_test

import "github.com/cloudapi-sdk/cloudapi"

func sshKeyCases() []wireCase {
	const (
		base = projectPath + "/ssh-public-key"
		id   = "sk7dxatrt82p2ge102vk6b9tak"
		item = `{"id":"` + id + `","name":"laptop"}`
		full = `{"id":"` + id + `","name":"laptop","public_key":"ssh-ed25519 AAAA dev@laptop"}`
		body = ` {"name":"laptop","public_key":"ssh-ed25519 AAAA dev@laptop"}`
	)
	return []wireCase{
		{do("SSHPublicKeys.List", nil), "GET " + base, `{"items":[` + item + `]}`},
		{do("SSHPublicKeys.All", nil), "GET " + base, `{"items":[` + item + `]}`},
		{do("SSHPublicKeys.Create", "laptop", &cloudapi.SSHPublicKeyCreateRequest{PublicKey: "ssh-ed25519 AAAA dev@laptop"}), "POST " + base + body, full},
		{do("SSHPublicKeys.Get", id), "GET " + base + "/" + id, full},
		{do("SSHPublicKeys.Update", id, &cloudapi.SSHPublicKeyUpdateRequest{Name: "laptop", PublicKey: "ssh-ed25519 AAAA dev@laptop"}),
			"POST " + base + "/" + id + body, full},
		{do("SSHPublicKeys.Update", "desktop", &cloudapi.SSHPublicKeyUpdateRequest{Name: "laptop"}), "POST " + base + `/desktop {"name":"laptop"}`, full},
		{do("SSHPublicKeys.Update", "laptop", &cloudapi.SSHPublicKeyUpdateRequest{PublicKey: "ssh-ed25519 A"}), "POST " + base + `/laptop {"public_key":"ssh-ed25519 A"}`, full},
		{do("SSHPublicKeys.Delete", "laptop"), "DELETE " + base + "/laptop", nil},
	}
}
