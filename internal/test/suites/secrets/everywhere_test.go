package secrets_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
	"github.com/cloudapi-sdk/cloudapi/teardown"
)

// exported returns the names of the types that the package exports, and of the
// functions that return an Option.
func exported(t *testing.T) (types, options []string) {
	t.Helper()
	for name, text := range sdktest.Source(t) {
		file := stub.Must(parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution))(t)
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, ok := spec.(*ast.TypeSpec); ok && s.Name.IsExported() && !s.Assign.IsValid() {
						types = append(types, s.Name.Name)
					}
				}
			case *ast.FuncDecl:
				results := d.Type.Results
				if d.Recv == nil && d.Name.IsExported() && results != nil && len(results.List) == 1 && identifier(results.List[0].Type) == "Option" {
					options = append(options, d.Name.Name)
				}
			}
		}
	}
	return types, options
}

// reach adds a type and the types within it to found, by name. For types of
// other packages the name includes the package.
func reach(t reflect.Type, found map[string]reflect.Type) {
	name, _, _ := strings.Cut(t.Name(), "[")
	if t.PkgPath() != reflect.TypeFor[cloudapi.Client]().PkgPath() {
		name = t.String() // includes the package, unless the type is unnamed
	}
	if t.Name() != "" {
		if found[name] != nil {
			return
		}
		found[name] = t
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		reach(t.Elem(), found)
	case reflect.Map:
		reach(t.Key(), found)
		reach(t.Elem(), found)
	case reflect.Struct:
		for i := range t.NumField() {
			reach(t.Field(i).Type, found)
		}
	}
}

// beyondReach returns the cases in which a File can't hide its content, which a
// Secret always does. fmt doesn't call a File's methods for the verbs p and w.
// It also doesn't call them in an unexported field of another struct, in which
// only the verb v prints a *File as an address.
func beyondReach(name, way string) (butVerbs string, altogether bool) {
	inField := slices.Contains([]string{"struct", "to struct", "deep"}, way)
	switch {
	case !strings.HasSuffix(name, "File"):
		return "", false
	case inField:
		return strings.Replace(verbs, "v", "", 1), name == "File"
	}
	return "pw", false
}

const verbs = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// nested returns a value in the forms in which a program may print it.
func nested(v any) map[string]any {
	type inner struct{ V, v any }
	return map[string]any{
		"itself":    v,
		"pointer":   &v,
		"struct":    inner{v, v},
		"to struct": &inner{v, v},
		"slice":     []any{v, &v},
		"map":       map[string]any{"k": v, "l": &v},
		"deep":      []any{map[string]any{"k": []inner{{v, &v}}}},
		"error":     fmt.Errorf("failed for %v and %+v: %w", v, v, errors.New("x")),
	}
}

// printed returns a value as it's shown by all verbs of fmt except butVerbs,
// both handlers of slog, JSON, XML, and a recovered panic.
func printed(v any, butVerbs string) string {
	var out bytes.Buffer
	for _, verb := range verbs {
		if strings.ContainsRune(butVerbs, verb) {
			continue
		}
		for _, flags := range []string{"", "+", "#"} {
			fmt.Fprintf(&out, "%"+flags+string(verb)+"\n", v)
		}
	}
	everything := &slog.HandlerOptions{Level: slog.LevelDebug, AddSource: true}
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, everything), slog.NewJSONHandler(&out, everything)} {
		slog.New(handler).With("v", v).WithGroup("g").Debug("m", slog.Any("w", v), slog.Group("h", "v", v))
	}
	if b, err := jsonOf(v); err == nil {
		out.Write(b)
	}
	if b, err := xml.Marshal(v); err == nil {
		out.Write(b)
	}
	func() {
		defer func() { fmt.Fprint(&out, recover()) }()
		panic(v)
	}()
	return out.String()
}

// printedOddly returns a value as it's shown with rare flags of fmt and by a
// template.
func printedOddly(v any) string {
	var out bytes.Buffer
	for _, flags := range []string{"+#", " ", "0", "-", "# ", "200.200"} {
		for _, verb := range verbs {
			fmt.Fprintf(&out, "%"+flags+string(verb)+"\n", v)
		}
	}
	_ = template.Must(template.New("").Parse("{{.}} {{printf `%v %q` . .}}")).Execute(&out, v)
	return out.String()
}

// TestSecretsInEveryType fills every exported type, including the types of the
// methods' arguments and results, and prints it in every way.
func TestSecretsInEveryType(t *testing.T) {
	t.Parallel()
	found := map[string]reflect.Type{}
	for _, m := range sdktest.Methods(t) {
		for _, typ := range m.Types() {
			reach(typ, found)
		}
	}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[cloudapi.Client](), reflect.TypeFor[cloudapi.Operation](), reflect.TypeFor[cloudapi.RetryPolicy](), reflect.TypeFor[cloudapi.Limiter](),
		reflect.TypeFor[cloudapi.Option](), reflect.TypeFor[cloudapi.WaitOptions](), reflect.TypeFor[cloudapi.Progress](), reflect.TypeFor[cloudapi.ID](), reflect.TypeFor[cloudapi.Kind](),
		reflect.TypeFor[cloudapi.Error](), reflect.TypeFor[cloudapi.TransportError](), reflect.TypeFor[cloudapi.DecodeError](), reflect.TypeFor[cloudapi.ArgumentError](), reflect.TypeFor[cloudapi.WaitError](),
		reflect.TypeFor[cloudapi.Resource](), reflect.TypeFor[cloudapi.EnsureOptions](), reflect.TypeFor[cloudapi.EnsureOutcome](), reflect.TypeFor[cloudapi.DriftError](),
		reflect.TypeFor[cloudapi.UnlistedError](), reflect.TypeFor[cloudapi.WaitAllOptions](), reflect.TypeFor[cloudapi.PortRange](), reflect.TypeFor[cloudapi.PostgresConnectionOptions](), reflect.TypeFor[cloudapi.Exchange](), reflect.TypeFor[cloudapi.Phase](), reflect.TypeFor[cloudapi.Quota](),
		reflect.TypeFor[cloudapi.Plan](), reflect.TypeFor[cloudapi.PlannedChange](),
	} {
		reach(typ, found)
	}
	types, _ := exported(t)
	for _, name := range types {
		if found[name] == nil && name != "Record" { // Record is a constraint
			t.Errorf("the type %s was not found: it is not reached from any method or from the list above", name)
		}
	}
	values := secretHolders(t)
	for name, typ := range found {
		if ast.IsExported(name) && typ.Kind() == reflect.Struct && name != "Client" && !strings.HasSuffix(name, "Service") {
			values[name] = sdktest.Fill(typ, secretPassword).Interface()
			values["pointer to "+name] = sdktest.Fill(reflect.PointerTo(typ), secretPassword).Interface()
		}
	}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[teardown.Options](), reflect.TypeFor[teardown.Plan](), reflect.TypeFor[teardown.Error](), reflect.TypeFor[teardown.Failure](),
	} {
		values["teardown."+typ.Name()] = sdktest.Fill(typ, secretPassword).Interface()
		values["pointer to teardown."+typ.Name()] = sdktest.Fill(reflect.PointerTo(typ), secretPassword).Interface()
	}
	held := 0
	for name, v := range values {
		walkStrings(reflect.ValueOf(v), "", map[pointerID]bool{}, func(_, text string) { held += len(shows(text)) })
		for way, n := range nested(v) {
			butVerbs, altogether := beyondReach(name, way)
			if altogether {
				continue
			}
			text := printed(n, butVerbs)
			if way == "itself" && butVerbs == "" {
				text += printedOddly(n)
			}
			if hits := shows(text); len(hits) > 0 {
				i := strings.Index(text, hits[0])
				t.Errorf("%s as %s shows %q: …%s…", name, way, hits, text[max(0, i-80):min(len(text), i+80)])
			}
		}
	}
	if held == 0 {
		t.Error("no value holds a secret")
	}
	t.Logf("%d types, %d values, %d secrets in them", len(types), len(values), held)
}

func jsonOf(v any) (b []byte, err error) {
	defer func() {
		if r := recover(); r != nil { // a cycle, or a type without JSON
			err = fmt.Errorf("%v", r)
		}
	}()
	return stub.JSON(v), nil
}

// TestSecretsInEveryOption creates a client with secrets in each option. They
// don't occur in the log, in the printed client, options and error, or in what
// a middleware or observer gets, except the request itself.
func TestSecretsInEveryOption(t *testing.T) {
	t.Setenv(cloudapi.EnvToken, stub.Token)
	t.Setenv(cloudapi.EnvBaseURL, "https://api.example.com")
	t.Setenv(cloudapi.EnvProject, stub.Project)
	var log, seen bytes.Buffer
	var network stub.Recorder
	network.Answer = stub.Always(500, string(stub.JSON(map[string]any{"error": map[string]any{
		"code": 500, "type": "T", "message": secretHeader + secretRotating, "details": map[string]string{"a": secretPassword}}})))
	options := map[string]cloudapi.Option{
		"FromEnv":           cloudapi.FromEnv(),
		"WithBaseURL":       cloudapi.WithBaseURL("https://api.example.com"),
		"WithToken":         cloudapi.WithToken(stub.Token),
		"WithTokenSource":   cloudapi.WithTokenSource(func(context.Context) (string, error) { return secretRotating, nil }),
		"WithProject":       cloudapi.WithProject(stub.Project),
		"WithTransport":     cloudapi.WithTransport(func(*http.Transport) {}),
		"WithHTTPClient":    cloudapi.WithHTTPClient(&http.Client{Transport: &network}),
		"WithHeader":        cloudapi.WithHeader("X-Key", secretHeader),
		"WithUserAgent":     cloudapi.WithUserAgent("test/1"),
		"WithTimeout":       cloudapi.WithTimeout(time.Second),
		"WithRetry":         cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 2, MinDelay: 1, MaxDelay: 1}),
		"WithLimiter":       cloudapi.WithLimiter(noLimit{}),
		"WithResponseLimit": cloudapi.WithResponseLimit(1 << 20),
		"WithPrefetch":      cloudapi.WithPrefetch(1),
		"WithSharedWaits":   cloudapi.WithSharedWaits(),
		"WithInsecureHTTP":  cloudapi.WithInsecureHTTP(true),
		"WithLogger":        cloudapi.WithLogger(slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug - 100}))),
		"WithMiddleware": cloudapi.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
			return stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
				op, _ := cloudapi.OperationFromContext(req.Context())
				resp, err := next.RoundTrip(req)
				seen.WriteString(printed(op, "") + printed(req.Context(), "") + printed(req.URL, "") + printed(err, ""))
				return resp, err
			})
		}),
		"WithObserver": cloudapi.WithObserver(func(ctx context.Context, op cloudapi.Operation) (context.Context, func(error)) {
			seen.WriteString(printed(op, "") + printed(ctx, ""))
			return ctx, func(err error) { seen.WriteString(printed(err, "")) }
		}),
	}
	_, names := exported(t)
	for _, name := range names {
		if options[name] == nil {
			t.Errorf("the map above has no %s: add it, with a secret if it takes one", name)
		}
	}
	in := slices.Sorted(maps.Keys(options)) // WithTokenSource comes after WithToken
	var all []cloudapi.Option
	for _, name := range in {
		all = append(all, options[name])
	}
	all = append(all, options["WithHTTPClient"]) // replaces the transport of WithTransport
	client, err := cloudapi.NewClient(all...)
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Postgres.CreateMetricDestination(t.Context(), "eu-central-h1", "pg-1",
		&cloudapi.PostgresMetricDestinationCreateRequest{URL: "https://example.com", Username: "u", Password: cloudapi.NewSecret(secretPassword)})
	if err == nil || len(network.Take()) != 1 {
		t.Fatalf("the call ended with %v", err)
	}
	if log.Len() == 0 || seen.Len() == 0 {
		t.Error("nothing was logged, or nothing was seen by the middleware and the observer")
	}
	for name, text := range map[string]string{
		"log": log.String(), "middleware or the observer": seen.String(), "error": printed(err, ""), "client": printed(client, ""), "options": printed(all, ""),
	} {
		if hits := shows(text); len(hits) > 0 {
			i := strings.Index(text, hits[0])
			t.Errorf("the %s shows %q: …%s…", name, hits, text[max(0, i-80):min(len(text), i+80)])
		}
	}
}

type noLimit struct{}

func (noLimit) Wait(context.Context) error { return nil }

// identifier returns the name in an expression that is a name or a pointer to
// one, or "".
func identifier(e ast.Expr) string {
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	if ident, ok := e.(*ast.Ident); ok {
		return ident.Name
	}
	return ""
}

// TestContexts: the contexts with which the SDK calls a program's functions
// show no secrets, not even secrets of an earlier attempt.
func TestContexts(t *testing.T) {
	t.Parallel()
	var shown strings.Builder
	show := func(ctx context.Context) { fmt.Fprintf(&shown, "%v %+v %#v %s\n", ctx, ctx, ctx, ctx) }
	client := stub.Must(cloudapi.NewClient(
		cloudapi.WithProject(stub.Project),
		cloudapi.WithRetry(cloudapi.RetryPolicy{MinDelay: 1}),
		cloudapi.WithLimiter(stub.Limiter(func(ctx context.Context) error {
			show(ctx)
			return nil
		})),
		cloudapi.WithTokenSource(func(ctx context.Context) (string, error) {
			show(ctx)
			return stub.Token, nil
		}),
		cloudapi.WithHTTPClient(&http.Client{Transport: stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
			show(req.Context())
			return stub.Respond(http.StatusBadGateway, ""), nil
		})}),
	))(t)
	if _, err := client.VMs.Get(t.Context(), "eu-central-h1", "web-1"); !errors.Is(err, cloudapi.ErrServer) {
		t.Fatal(err)
	}
	if text := shown.String(); !strings.Contains(text, "context.") || strings.Contains(text, stub.Token) {
		t.Errorf("a context shows %.5000s", text)
	}
}
