package cloudapitest

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
)

func sshPublicKeyOperations() []operation {
	const (
		keys = projectRoute + "/ssh-public-key"
		key  = keys + "/{ssh_public_key_reference}"
	)
	create := closed(required("name", text), required("public_key", text)).named("SshPublicKeyCreate")
	update := anyOf(
		closed(required("name", text), optional("public_key", text)),
		closed(required("public_key", text)),
	).named("SshPublicKeyUpdate")
	return []operation{
		{name: "SSHPublicKeys.List", method: http.MethodGet, route: keys, list: unpaged, guarded: true, handle: listSSHPublicKeys},
		{name: "SSHPublicKeys.Create", method: http.MethodPost, route: keys, body: create, guarded: true, handle: createSSHPublicKey},
		{name: "SSHPublicKeys.Get", method: http.MethodGet, route: key, guarded: true, handle: getSSHPublicKey},
		{name: "SSHPublicKeys.Update", method: http.MethodPost, route: key, body: update, guarded: true, handle: updateSSHPublicKey},
		{name: "SSHPublicKeys.Delete", method: http.MethodDelete, route: key, guarded: true, handle: deleteSSHPublicKey},
	}
}

type sshPublicKey struct {
	object
	publicKey string
}

// sshPublicKeyRecord is without the key in lists.
type sshPublicKeyRecord struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	PublicKey string `json:"public_key,omitempty"`
}

func recordSSHPublicKey(k *sshPublicKey) sshPublicKeyRecord {
	return sshPublicKeyRecord{k.id, k.name, k.publicKey}
}

func findSSHPublicKey(c *call) (*sshPublicKey, error) {
	return find[*sshPublicKey](c, cloudapi.KindSSHPublicKey, "ssh_public_key_reference")
}

func listSSHPublicKeys(c *call) (any, error) {
	keys := as[*sshPublicKey](listed(c, cloudapi.KindSSHPublicKey))
	slices.SortFunc(keys, byName)
	return items[sshPublicKeyRecord]{records(keys, func(k *sshPublicKey) sshPublicKeyRecord {
		return sshPublicKeyRecord{ID: k.id, Name: k.name}
	})}, nil
}

func createSSHPublicKey(c *call) (any, error) {
	k := &sshPublicKey{c.newObject(cloudapi.KindSSHPublicKey, c.body.text("name")), c.body.text("public_key")}
	if err := k.validate(c, nil); err != nil {
		return nil, err
	}
	c.state.add(k)
	return recordSSHPublicKey(k), nil
}

func getSSHPublicKey(c *call) (any, error) {
	k, err := findSSHPublicKey(c)
	if err != nil {
		return nil, err
	}
	return recordSSHPublicKey(k), nil
}

// updateSSHPublicKey leaves unchanged what is blank.
func updateSSHPublicKey(c *call) (any, error) {
	k, err := findSSHPublicKey(c)
	if err != nil {
		return nil, err
	}
	changed := *k
	if name, err := c.body.nonEmpty("name"); err == nil {
		changed.name = name
	}
	if key, err := c.body.nonEmpty("public_key"); err == nil {
		changed.publicKey = key
	}
	if err := changed.validate(c, k); err != nil {
		return nil, err
	}
	c.state.index.rename(k, changed.name)
	*k = changed
	return recordSSHPublicKey(k), nil
}

func deleteSSHPublicKey(c *call) (any, error) {
	k, err := findSSHPublicKey(c)
	if err != nil {
		return deletedOr(err)
	}
	c.remove(k, 0, nil)
	return noContent{}, nil
}

// validate reports all that is wrong with a key in one message. Before is the
// key as it is stored, or nil.
func (k *sshPublicKey) validate(c *call, before *sshPublicKey) error {
	problems := nameProblems(cloudapi.KindSSHPublicKey, k.name)
	if problem := authorizedKeysProblem(k.publicKey); problem != "" {
		problems = append(problems, "public_key "+problem)
	}
	if len(problems) > 0 {
		return invalidRequest("%s", strings.Join(problems, ", "))
	}
	if o, ok := findByName[*sshPublicKey](c, cloudapi.KindSSHPublicKey, k.name); ok && o != before {
		return alreadyTaken("project_id and name")
	}
	return nil
}

var authorizedKey = regexp.MustCompile(`^(?:\S+ +)?(?:ssh|ecdsa|sk)-[a-z0-9@.-]+ +[A-Za-z0-9+/]+={0,3}(?: .*)?$`)

// authorizedKeysProblem says what is wrong with the text of an authorized_keys
// file, "" if nothing is.
func authorizedKeysProblem(text string) string {
	if text == "" {
		return "is not present"
	}
	found := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case !authorizedKey.MatchString(line):
			return "invalid SSH public key format"
		default:
			found = true
		}
	}
	if !found {
		return "must contain at least one valid SSH public key"
	}
	return ""
}
