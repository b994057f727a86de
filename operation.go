package cloudapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"

	"github.com/google/go-querystring/query"
)

// Operation is one row of the contract: what a method of a service sends. Get
// it in a middleware or a log handler with [OperationFromContext]: its fields
// have few values, which makes them good labels for metrics and traces.
type Operation struct {
	// Name is the service and the method, such as "VMs.Get". The list of a
	// location has a name of its own, such as "VMs.ListInLocation".
	Name string

	// Method is the HTTP method.
	Method string

	// Route is the path with the contract's names in place of values, such as
	// "/project/{project_id}/location/{location}/vm/{vm_reference}".
	Route string

	retry retryClass
}

// retryClass tells what may be sent again after a failure that leaves open
// whether the server acted.
type retryClass uint8

const (
	// safe: sending it twice does what sending it once does.
	safe retryClass = iota

	// create: a repetition would make a second object, act twice, or fail on
	// the trace of the first. It is sent again only if the server did nothing.
	create
)

// Beginnings of the routes.
const (
	projectRoute  = "/project/{project_id}"
	locationRoute = projectRoute + "/location/{location}"
)

// OperationFromContext returns the operation that a request belongs to, given
// the request's context. It is false for a context that is not the SDK's.
func OperationFromContext(ctx context.Context) (Operation, bool) {
	op, ok := ctx.Value(operationKey{}).(*Operation)
	if !ok {
		return Operation{}, false
	}
	return *op, true
}

type operationKey struct{}

// A pathParam is the rule for a placeholder of the route templates.
type pathParam struct {
	// kinds are those whose IDs may stand in it.
	kinds kindSet

	// idOnly is set where nothing but such an ID may stand, and not for a
	// reference, which may as well be a name.
	idOnly bool
}

// param returns the rule for a placeholder of the route.
func (op *Operation) param(name string) pathParam {
	switch name {
	case "project_id":
		return pathParam{kinds: kindSet(KindProject), idOnly: true}
	case "object_id":
		return pathParam{kinds: kindSet(KindFirewall + KindKubernetesCluster + KindLoadBalancer + KindPostgres + KindPrivateSubnet + KindVM), idOnly: true}
	case "firewall_rule_id":
		// The contract has one name for two kinds.
		if strings.Contains(op.Route, "/postgres/") {
			return pathParam{kinds: kindSet(KindPostgresFirewallRule), idOnly: true}
		}
		return pathParam{kinds: kindSet(KindFirewallRule), idOnly: true}
	case "inference_api_key_id":
		return pathParam{kinds: kindSet(KindInferenceAPIKey), idOnly: true}
	case "metric_destination_id":
		return pathParam{kinds: kindSet(KindPostgresMetricDestination), idOnly: true}
	case "private_subnet_id":
		return pathParam{kinds: kindSet(KindPrivateSubnet), idOnly: true}

	case "firewall_reference":
		return pathParam{kinds: kindSet(KindFirewall)}
	case "kubernetes_cluster_reference":
		return pathParam{kinds: kindSet(KindKubernetesCluster)}
	case "kubernetes_nodepool_reference":
		return pathParam{kinds: kindSet(KindKubernetesNodePool)}
	case "load_balancer_reference":
		return pathParam{kinds: kindSet(KindLoadBalancer)}
	case "postgres_database_reference":
		return pathParam{kinds: kindSet(KindPostgres)}
	case "private_subnet_reference":
		return pathParam{kinds: kindSet(KindPrivateSubnet)}
	case "ssh_public_key_reference":
		return pathParam{kinds: kindSet(KindSSHPublicKey)}
	case "vm_init_script_reference":
		return pathParam{kinds: kindSet(KindVMInitScript)}
	case "vm_reference":
		return pathParam{kinds: kindSet(KindVM)}

	default: // location, private_location_name: always a name
		return pathParam{}
	}
}

// check returns why the value cannot stand in the path, or "".
func (p pathParam) check(value string) string {
	if !p.idOnly {
		return checkSegment(value)
	}
	if p.kinds.hasID(value) {
		return ""
	}
	return fmt.Sprintf("must be an ID: %s and %d characters of %s", p.kinds, idLength-idUpperStart, idAlphabet)
}

const maxSegment = 255

// checkSegment returns why s cannot be a path segment, or "". What it lets
// through needs no percent-encoding, which the server would not decode, and
// cannot reach another resource than the one that the route means.
func checkSegment(s string) string {
	switch {
	case s == "":
		return "must not be empty"
	case s == "." || s == "..":
		return "must not be a relative path"
	case len(s) > maxSegment:
		return fmt.Sprintf("has %d characters, at most %d are possible", len(s), maxSegment)
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', 'A' <= c && c <= 'Z',
			c == '-', c == '.', c == '_', c == '~':
		default:
			return "may only contain letters, digits, and the characters - . _ ~"
		}
	}
	return ""
}

// referrer is a request that names other resources by their IDs.
type referrer interface {
	// checkIDs returns what is wrong with one of the IDs, or nil.
	checkIDs() *ArgumentError
}

// checkID checks the ID in a field of a request. It holds it to the rule for
// references in paths and no stricter one: the contract says of these fields
// only that they are strings, and the server's refusal of what is not an ID of
// the right kind names the field, and does no harm.
func checkID(field, id string) *ArgumentError {
	if reason := checkSegment(id); reason != "" {
		return &ArgumentError{Name: field, Value: withoutToken(id), Reason: reason}
	}
	return nil
}

// checkOptionalID is [checkID] for a field that may be left out.
func checkOptionalID(field, id string) *ArgumentError {
	if id == "" {
		return nil
	}
	return checkID(field, id)
}

// path fills the route's placeholders with args, in order. A route with one
// more placeholder than there are args takes the bound project for the first.
//
// byID reports whether the last placeholder was filled with an ID, which goes
// on naming the same resource whatever happens to its name.
func (op *Operation) path(project string, args []string) (path string, byID bool, err error) {
	bound := strings.Count(op.Route, "{") == len(args)+1
	if bound && project == "" {
		return "", false, fmt.Errorf("cloudapi: %s: %w", op.Name, ErrNoProject)
	}
	var b strings.Builder
	size := len(op.Route) + len(project)
	for _, arg := range args {
		size += len(arg)
	}
	b.Grow(size)
	for rest := op.Route; ; {
		literal, placeholder, found := strings.Cut(rest, "{")
		b.WriteString(literal)
		if !found {
			break
		}
		var name, value string
		name, rest, _ = strings.Cut(placeholder, "}")
		if bound {
			value, bound = project, false
		} else {
			value, args = args[0], args[1:]
		}
		param := op.param(name)
		if reason := param.check(value); reason != "" {
			return "", false, &ArgumentError{Operation: op.Name, Name: name, Value: withoutToken(value), Reason: reason}
		}
		byID = param.kinds.hasID(value)
		b.WriteString(value)
	}
	return b.String(), byID, nil
}

// record is what the reply of an operation is decoded into: a pointer to one
// of the record structs.
type record[T any] interface {
	*T

	// missing returns the name of a field that every complete record has and
	// this one has not, or "".
	missing() string
}

// fetch performs an operation that answers with a record and has no body.
func fetch[T any, P record[T]](ctx context.Context, c *Client, op *Operation, args ...string) (*T, error) {
	return send[T, P](ctx, c, op, nil, args...)
}

// send performs an operation that answers with a record. The request is its
// JSON body.
func send[T any, P record[T]](ctx context.Context, c *Client, op *Operation, request any, args ...string) (*T, error) {
	cl, err := c.newCall(op, request, args)
	if err != nil {
		return nil, err
	}
	return receive[T, P](ctx, cl)
}

// receive performs a call that answers with a record.
func receive[T any, P record[T]](ctx context.Context, cl *call) (*T, error) {
	result := new(recordResult[T, P])
	if err := cl.do(ctx, result); err != nil {
		return nil, err
	}
	return &result.record, nil
}

// recordResult accepts a record.
type recordResult[T any, P record[T]] struct{ record T }

func (result *recordResult[T, P]) accept(r reply) error {
	result.record = *new(T) // an earlier attempt may have filled a part of it
	if err := r.records(&result.record); err != nil {
		return err
	}
	if field := P(&result.record).missing(); field != "" {
		return fmt.Errorf("it has no %s", field)
	}
	return nil
}

// minObjectSize is less than the JSON of an object takes on average in what the
// contract has, of which empty series of metrics have the smallest.
const minObjectSize = 12

// records decodes the reply into records. A reply that is full of empty objects
// is refused, since each would take a hundred times the memory of its JSON.
func (r reply) records(v any) error {
	most := 100 + len(r.body)/minObjectSize
	if bytes.Count(r.body, []byte("{")) > most { // or there is a script in it
		if objects := countObjects(r.body); objects > most {
			return fmt.Errorf("it has %d objects in %d bytes", objects, len(r.body))
		}
	}
	return r.json(v)
}

// countObjects counts the objects in JSON, and not the braces in its strings.
func countObjects(data []byte) (n int) {
	inString := false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			inString = !inString
		case c == '\\' && inString:
			i++
		case c == '{' && !inString:
			n++
		}
	}
	return n
}

// download performs an operation that answers with a file.
func download(ctx context.Context, c *Client, op *Operation, format fileFormat, args ...string) (*File, error) {
	cl, err := c.newCall(op, nil, args)
	if err != nil {
		return nil, err
	}
	var file *File
	err = cl.do(ctx, acceptFunc(func(r reply) (err error) {
		file, err = r.file(format)
		return err
	}))
	if err != nil {
		return nil, err
	}
	return file, nil
}

// remove performs an operation that answers with 204 and nothing else.
func remove(ctx context.Context, c *Client, op *Operation, args ...string) error {
	cl, err := c.newCall(op, nil, args)
	if err != nil {
		return err
	}
	return cl.do(ctx, acceptFunc(func(r reply) error {
		if r.status != http.StatusNoContent {
			return fmt.Errorf("the status should be %d", http.StatusNoContent)
		}
		return nil
	}))
}

// setQuery encodes the url-tagged fields of a struct, or of a pointer to one
// that may be nil, as the query.
func (cl *call) setQuery(parameters any) error {
	values, err := query.Values(parameters)
	if err != nil {
		return &ArgumentError{Operation: cl.op.Name, Name: "query", Reason: "cannot be encoded: " + err.Error()}
	}
	cl.query = values.Encode()
	return nil
}

// missingID is what missing is for a record that is complete with its ID.
func missingID(id string) string {
	if id == "" {
		return "id"
	}
	return ""
}

// idOrName is what cursor is for a record that may be listed by name.
func idOrName(orderColumn, id, name string) string {
	if orderColumn == OrderByName {
		return name
	}
	return id
}

// renameRequest is the body of the rename operations.
type renameRequest struct {
	Name string `json:"name"`
}

func (renameRequest) renames() bool { return true }

// File is a file that the server sent. It may hold secrets, so printing,
// logging or encoding it shows all but its content.
//
// There is a limit to that, which a [Secret] does not have: fmt asks no method
// of a value in an unexported field of another struct, nor for the verbs %p and
// %w. It shows the content there, as it would of any type that os.WriteFile
// takes as it is.
type File struct {
	// Name is the server's name for the file, without folders: up to 128 ASCII
	// letters, digits, hyphens, underscores and dots, of which neither a dot
	// nor a hyphen is the first. It may be that of a file that exists.
	Name string

	// ContentType is the media type as the server declared it.
	ContentType string

	Content []byte
}

// String describes the file without its content.
func (f File) String() string {
	return fmt.Sprintf("cloudapi.File(%q, %q, %d bytes)", f.Name, f.ContentType, len(f.Content))
}

// Format prints the same for every verb.
func (f File) Format(s fmt.State, _ rune) { fmt.Fprint(s, f.String()) }

// LogValue returns what [File.String] does.
func (f File) LogValue() slog.Value { return slog.StringValue(f.String()) }

// MarshalJSON encodes what [File.String] returns.
func (f File) MarshalJSON() ([]byte, error) { return json.Marshal(f.String()) }

// fileFormat is what an operation expects of its file.
type fileFormat struct {
	name  string                     // if the server gives no name that can be used
	check func(content []byte) error // nil: the content does not show whether it is whole
}

// file makes a File of the reply. It refuses what a server or a proxy sends in
// place of a file: nothing, a page, an error in JSON.
func (r reply) file(format fileFormat) (*File, error) {
	contentType := r.header.Get("Content-Type")
	mediaType, _, _ := mime.ParseMediaType(contentType)
	trimmed := bytes.TrimSpace(r.body)
	switch {
	case len(trimmed) == 0:
		return nil, errors.New("it is empty")
	case mediaType == "text/html" || trimmed[0] == '<':
		return nil, errors.New("it is a page, not a file")
	case mediaType == "application/json" || strings.HasSuffix(mediaType, "+json") || isErrorObject(trimmed):
		return nil, errors.New("it is JSON, not a file")
	case r.status == http.StatusPartialContent:
		return nil, errors.New("it is a part of the file")
	case r.header.Get("Content-Encoding") != "":
		return nil, errors.New("its encoding was not asked for")
	}
	switch {
	case format.check != nil:
		if err := format.check(r.body); err != nil {
			return nil, err
		}
	case r.endless:
		return nil, errEndless
	}
	return &File{
		Name:        cmp.Or(fileName(r.header.Get("Content-Disposition")), format.name),
		ContentType: contentType,
		Content:     bytes.Clone(r.body),
	}, nil
}

var errEndless = fmt.Errorf("%w: it has no length, so it may be cut off", io.ErrUnexpectedEOF)

// isErrorObject reports whether a reply that is not declared as JSON is an
// error in JSON nevertheless.
func isErrorObject(body []byte) bool {
	var object struct {
		Error json.RawMessage `json:"error"`
	}
	return body[0] == '{' && json.Unmarshal(body, &object) == nil && object.Error != nil
}

// checkPEM refuses content without a PEM block, or with one that is not whole.
func checkPEM(content []byte) error {
	blocks := 0
	for rest := content; ; blocks++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
	}
	switch begun := bytes.Count(content, []byte("-----BEGIN ")); {
	case begun == 0:
		return errors.New("it is not PEM")
	case blocks < begun:
		return fmt.Errorf("%w in a PEM block", io.ErrUnexpectedEOF)
	}
	return nil
}

const maxFileName = 128

// fileName returns the file name in a Content-Disposition header, reduced to
// what is harmless as the name of a file in any folder, or "".
func fileName(disposition string) string {
	_, params, err := mime.ParseMediaType(disposition)
	if err != nil {
		return ""
	}
	name := params["filename"]
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.TrimLeft(name, ".-")
	name = strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, name)
	return name[:min(len(name), maxFileName)]
}
