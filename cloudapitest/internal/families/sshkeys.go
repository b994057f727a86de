package families

import (
	"regexp"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
)

func sshPublicKeyOperations() []api.Operation {
	const (
		keys = api.ProjectRoute + "/ssh-public-key"
		key  = keys + "/{ssh_public_key_reference}"
	)
	create := schema.Closed(schema.Required("name", schema.Text), schema.Required("public_key", schema.Text)).Named("SshPublicKeyCreate")
	update := schema.AnyOf(
		schema.Closed(schema.Required("name", schema.Text), schema.Optional("public_key", schema.Text)),
		schema.Closed(schema.Required("public_key", schema.Text)),
	).Named("SshPublicKeyUpdate")
	return []api.Operation{
		api.GET("SSHPublicKeys.List", keys, listSSHPublicKeys).Paged(api.Unpaged).Needs("Project:edit").Guarded(),
		api.POST("SSHPublicKeys.Create", keys, create, createSSHPublicKey).Needs("Project:edit").Guarded(),
		api.GET("SSHPublicKeys.Get", key, api.Show(findSSHPublicKey, (*sshPublicKey).record)).Needs("Project:edit").Guarded(),
		api.POST("SSHPublicKeys.Update", key, update, api.On(findSSHPublicKey, (*sshPublicKey).update)).Needs("Project:edit").Guarded(),
		api.DELETE("SSHPublicKeys.Delete", key, api.Delete(findSSHPublicKey, (*sshPublicKey).delete)).Needs("Project:edit").Guarded(),
	}
}

type sshPublicKey struct {
	api.Object
	publicKey string
}

// sshPublicKeyRecord has no key in lists.
type sshPublicKeyRecord struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	PublicKey string `json:"public_key,omitempty"`
}

func (k *sshPublicKey) record(*api.Moment) sshPublicKeyRecord {
	return sshPublicKeyRecord{k.ID, k.Name, k.publicKey}
}

func findSSHPublicKey(c *api.Call) (*sshPublicKey, error) {
	return api.Find[*sshPublicKey](c, cloudapi.KindSSHPublicKey, "ssh_public_key_reference")
}

func listSSHPublicKeys(c *api.Call) (any, error) {
	keys := api.As[*sshPublicKey](api.Listed(cloudapi.KindSSHPublicKey)(c))
	slices.SortFunc(keys, api.ByName)
	return api.Items[sshPublicKeyRecord]{Items: api.Records(keys, func(k *sshPublicKey) sshPublicKeyRecord {
		return sshPublicKeyRecord{ID: k.ID, Name: k.Name}
	})}, nil
}

func createSSHPublicKey(c *api.Call) (any, error) {
	k := &sshPublicKey{c.NewObject(cloudapi.KindSSHPublicKey, c.Body.Text("name")), c.Body.Text("public_key")}
	if err := k.validate(c, nil); err != nil {
		return nil, err
	}
	c.State.Add(k)
	c.Log("create", k.ID)
	return k.record(c.Moment), nil
}

// update changes the fields that aren't blank.
func (k *sshPublicKey) update(c *api.Call) (any, error) {
	changed := *k
	changed.Name = c.Choice("name", k.Name)
	changed.publicKey = c.Choice("public_key", k.publicKey)
	if err := changed.validate(c, k); err != nil {
		return nil, err
	}
	c.State.Index.Rename(k, changed.Name)
	*k = changed
	c.Log("update", k.ID)
	return k.record(c.Moment), nil
}

func (k *sshPublicKey) delete(c *api.Call) error {
	c.Remove(k, 0, nil)
	c.Log("destroy", k.ID)
	return nil
}

// validate reports all problems of a key in one message. before is the stored
// key, or nil.
func (k *sshPublicKey) validate(c *api.Call, before api.Stored) error {
	return reply.InvalidRecord(api.TextProblems(c, cloudapi.KindSSHPublicKey, k.Name, before,
		"public_key", k.publicKey, authorizedKeysProblem(k.publicKey))...)
}

// keyLine matches optional options, which may contain quoted spaces, a word,
// and base64 text.
var keyLine = regexp.MustCompile(`^(?:(?:[^ "]|"[^"]*")+ +)?[^ ]+ +[A-Za-z0-9+/]+=*(?: .*)?$`)

// authorizedKeysProblem returns the problem of the text of an authorized_keys
// file, or "".
func authorizedKeysProblem(text string) string {
	found := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case !keyLine.MatchString(line):
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
