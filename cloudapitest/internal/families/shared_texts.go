package families

import (
	"regexp"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

// textFamily is a family whose resources are named texts without a location:
// SSH keys or init scripts.
type textFamily struct {
	kind      cloudapi.Kind
	name      string // in names of operations
	segment   string // in routes
	component string // name of the schema in messages
	field     string // name of the field with the text
	problem   func(text string) string
}

var sshPublicKeys = &textFamily{
	kind: cloudapi.KindSSHPublicKey, name: "SSHPublicKeys", segment: "ssh-public-key",
	component: "SshPublicKey", field: "public_key", problem: authorizedKeysProblem,
}

// Init scripts are only in the contract. They behave like SSH keys where the
// contract doesn't say otherwise.
var vmInitScripts = &textFamily{
	kind: cloudapi.KindVMInitScript, name: "VMInitScripts", segment: "vm-init-script",
	component: "VmInitScript", field: "script", problem: func(string) string { return "" },
}

type storedText struct {
	api.Object
	text   string
	family *textFamily
}

func textOperations() []api.Operation {
	return append(sshPublicKeys.operations(), api.AllOnly(version.Contract, vmInitScripts.operations()...)...)
}

func (f *textFamily) operations() []api.Operation {
	all := api.ProjectRoute + "/" + f.segment
	one := all + "/{" + f.param() + "}"
	create := schema.Closed(schema.Required("name", schema.Text), schema.Required(f.field, schema.Text)).Named(f.component + "Create")
	update := schema.AnyOf(
		schema.Closed(schema.Required("name", schema.Text), schema.Optional(f.field, schema.Text)),
		schema.Closed(schema.Required(f.field, schema.Text)),
	).Named(f.component + "Update")
	rows := []api.Operation{
		api.GET(f.name+".List", all, f.list).Paged(api.Unpaged),
		api.POST(f.name+".Create", all, create, f.create),
		api.GET(f.name+".Get", one, api.Show(f.find, (*storedText).record)),
		api.POST(f.name+".Update", one, update, api.On(f.find, (*storedText).update)),
		api.DELETE(f.name+".Delete", one, api.Delete(f.find, (*storedText).delete)),
	}
	for i := range rows {
		rows[i] = rows[i].Needs("Project:edit").Guarded()
	}
	return rows
}

func (f *textFamily) param() string { return strings.ReplaceAll(f.segment, "-", "_") + "_reference" }

func (f *textFamily) find(c *api.Call) (*storedText, error) {
	return api.Find[*storedText](c, f.kind, f.param())
}

func (s *storedText) record(*api.Moment) map[string]string {
	return map[string]string{"id": s.ID, "name": s.Name, s.family.field: s.text}
}

type sshPublicKeyCopy struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	PublicKey string `json:"public_key"`
}

func (r *sshPublicKeyCopy) load(l *loader) error {
	return sshPublicKeys.load(l, r.ID, r.Name, r.PublicKey)
}

type vmInitScriptCopy struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Script string `json:"script"`
}

func (r *vmInitScriptCopy) load(l *loader) error {
	return vmInitScripts.load(l, r.ID, r.Name, r.Script)
}

func (f *textFamily) load(l *loader, id, name, text string) error {
	o, err := l.object(id, name)
	if err == nil {
		l.State.Add(&storedText{o, text, f})
	}
	return err
}

func (f *textFamily) list(c *api.Call) (any, error) {
	all := api.As[*storedText](api.Listed(f.kind)(c))
	slices.SortFunc(all, api.ByName)
	return api.Items[map[string]string]{Items: api.Records(all, func(s *storedText) map[string]string {
		return map[string]string{"id": s.ID, "name": s.Name}
	})}, nil
}

func (f *textFamily) create(c *api.Call) (any, error) {
	s := &storedText{c.NewObject(f.kind, c.Body.Text("name")), c.Body.Text(f.field), f}
	if err := s.validate(c, s.Name, nil); err != nil {
		return nil, err
	}
	c.State.Add(s)
	c.Log("create", s.ID)
	return s.record(c.Moment), nil
}

// update ignores blank fields.
func (s *storedText) update(c *api.Call) (any, error) {
	name := c.Choice("name", s.Name)
	err := api.Change(s, func(changed *storedText) error {
		changed.text = c.Choice(s.family.field, s.text)
		return changed.validate(c, name, s)
	})
	if err != nil {
		return nil, err
	}
	c.State.Index.Rename(s, name)
	c.Log("update", s.ID)
	return s.record(c.Moment), nil
}

func (s *storedText) delete(c *api.Call) error {
	c.Remove(s, 0)
	c.Log("destroy", s.ID)
	return nil
}

// validate checks the text, which is about to get the name, and reports all
// problems in one message. stored is the text before an update, or nil.
func (s *storedText) validate(c *api.Call, name string, stored api.Stored) error {
	return reply.InvalidRecord(api.TextProblems(c, s.family.kind, name, stored, s.family.field, s.text, s.family.problem(s.text))...)
}

// keyLine matches a line of an authorized_keys file: options, if any, in which
// spaces are quoted; the type of the key; and the key in base64.
var keyLine = regexp.MustCompile(`^(?:(?:[^ "]|"[^"]*")+ +)?[^ ]+ +[A-Za-z0-9+/]+=*(?: .*)?$`)

// authorizedKeysProblem expects lines that end with "\n" or "\r\n". A comment
// begins in the first column.
func authorizedKeysProblem(text string) string {
	found := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		key, comment := strings.TrimSpace(line), strings.HasPrefix(line, "#")
		switch {
		case strings.Contains(line, "\r") || !comment && strings.HasPrefix(strings.TrimPrefix(key, "\ufeff"), "#"):
			return "invalid SSH public key format"
		case key == "" || comment:
		case !keyLine.MatchString(key):
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
