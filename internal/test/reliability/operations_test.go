package reliability

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/apitables"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
)

const (
	token     = "pat-akreliabilityreliabil1234567-0123456789abcdefghijABCDEFGHIJ01"
	projectID = "pjahbwgme82j3qbwnsn4b3w1e9"
	location  = "eu-central-h1"
)

// kind is the kind of a successful response.
type kind string

const (
	record kind = "record"
	list   kind = "list"
	file   kind = "file"
	none   kind = "nothing" // a 204
)

// operation is one row of the contract, ready to be called.
type operation struct {
	name   string // such as "VMs.Get"
	method string
	kind   kind

	// creates means that the server must not execute the operation twice;
	// idempotentPosts in package apitables has the other POSTs.
	creates bool

	// reply is the body of a good response.
	reply string

	call func(context.Context, *cloudapi.Client) (any, error)
}

// Bodies of good responses. The record has all fields that any record requires,
// and the name that the requests use.
const (
	goodID     = "vmy9n10s8q164j473ra7pj9nqz"
	goodRecord = `{"id":"` + goodID + `","name":"x","type":"vm","location":"eu-central-h1","pg_config":{},"pgbouncer_config":{},"metrics":[],` +
		`"action":"vm/create","at":"2026-01-02T03:04:05Z","items":[],"key":"k","option_tree":{},"secret_access_key":"s","timestamp":"2026-01-02T03:04:05Z",` +
		`"upgrade_status":"running","status":"succeeded"}`
	goodList   = `{"items":[` + goodRecord + `],"count":1}`
	goodFile   = "-----BEGIN CERTIFICATE-----\nAAECAwQFBgcICQ==\n-----END CERTIFICATE-----\n"
	goodConfig = "---\napiVersion: v1\nkind: Config\nclusters: []\n"
	goodKey    = "-----BEGIN EC PRIVATE KEY-----\nAAECAwQFBgcICQ==\n-----END EC PRIVATE KEY-----\n"
)

// operations returns all rows of the tables of operations.
func operations(t *testing.T) (ops []operation) {
	t.Helper()
	methods := map[string]sdktest.Method{}
	for _, m := range sdktest.Methods(t) {
		methods[m.Name] = m
	}
	for _, row := range apitables.Rows() {
		ops = append(ops, newOperation(row, methods[row.Names[0]]))
	}
	return ops
}

func newOperation(row apitables.Row, m sdktest.Method) operation {
	op := operation{name: row.Operation(), method: row.Method, creates: row.Once(), kind: record, reply: goodRecord}
	types := m.Types()
	switch out := types[len(types)-2]; { // the last one is error
	case out.Kind() != reflect.Pointer:
		op.kind, op.reply = none, ""
	case out == reflect.TypeFor[*cloudapi.File]():
		op.kind, op.reply = file, goodFile
		switch m.Name {
		case "Postgres.CreateClientKeyPair":
			op.reply += goodKey
		case "Kubernetes.Kubeconfig":
			op.reply = goodConfig
		}
	case strings.HasPrefix(out.Elem().Name(), "Page[") && !slices.ContainsFunc(types, goesOnByKey):
		op.kind, op.reply = list, goodList
	}
	args := arguments(m.Args, row)
	if op.name != m.Name {
		args = m.WithLocation(location)
	}
	id := goodID
	for _, arg := range args[:min(len(m.Strings), len(args))] { // those in the path come first
		if arg.Kind() == reflect.String && cloudapi.IsID(arg.String()) {
			id = arg.String() // the last one is the record's
		}
	}
	op.reply = strings.ReplaceAll(op.reply, goodID, id)
	op.call = func(ctx context.Context, c *cloudapi.Client) (any, error) { return m.Call(ctx, c, args) }
	return op
}

// goesOnByKey reports whether options choose the next page with a key. Such a
// page has only one form, like a record.
func goesOnByKey(options reflect.Type) bool {
	if options.Kind() != reflect.Pointer || options.Elem().Kind() != reflect.Struct {
		return false
	}
	_, ok := options.Elem().FieldByName("PaginationKey")
	return ok
}

// arguments returns arguments with valid values for the placeholders of the
// route, and the name of the record in place of other texts but IDs.
func arguments(filled []reflect.Value, row apitables.Row) (args []reflect.Value) {
	var placeholders []string
	for segment := range strings.SplitSeq(row.Route, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok && (name != "project_id}" || row.Service() == "Projects") {
			placeholders = append(placeholders, strings.TrimSuffix(name, "}"))
		}
	}
	for _, arg := range filled {
		if arg.Kind() == reflect.String {
			text := arg.String()
			switch {
			case len(placeholders) > 0:
				text, placeholders = segmentFor(placeholders[0], text), placeholders[1:]
			case !cloudapi.IsID(text):
				text = "x"
			}
			arg = reflect.ValueOf(text)
		}
		args = append(args, arg)
	}
	return args
}

// segmentFor returns a valid value for a placeholder of a route: an ID, so that
// a rename may be repeated, or a name where only names may stand. filled is the
// argument that sdktest has chosen, which is an ID if no name is valid.
func segmentFor(placeholder, filled string) string {
	kind, ok := sdktest.References[placeholder]
	switch {
	case ok:
	case cloudapi.IsID(filled):
		kind = cloudapi.ID(filled).Kind()
	default:
		return location
	}
	return string(kind) + strings.Repeat("0", 24)
}
