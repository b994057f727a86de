package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the folder of the SDK.
const root = "../../.."

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, name, text string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestDifferences changes the description of a service in one place, and
// compares it with an SDK that has all of the unchanged one.
func TestDifferences(t *testing.T) {
	t.Parallel()
	s, err := readSDK("testdata/sdk")
	if err != nil {
		t.Fatal(err)
	}
	const kite = "/project/{project_id}/kite/{kite_reference}"
	text := read(t, "testdata/openapi.yml")
	for name, test := range map[string]struct {
		old, new string
		want     []string
	}{
		"nothing": {},
		"operation": {kite + "/plan:\n", kite + "/plans:\n", []string{
			"operation GET " + kite + "/plan: only in the SDK, as Kites.Plan",
			"operation GET " + kite + "/plans: missing",
		}},
		"placeholder": {"reference}/plan:", "name}/plan:", []string{
			"operation GET /project/{project_id}/kite/{kite_name}/plan: the SDK's route is " + kite + "/plan",
		}},
		"deprecated": {"summary: Rename a kite\n", "deprecated: true\n      summary: Rename a kite\n", []string{
			"operation POST " + kite + "/rename: deprecated",
		}},
		"only in the contract": {kite + "/rename:\n", kite + "/land:\n", []string{
			"operation POST " + kite + "/land: the SDK says that only the contract has Kites.Land",
			"operation POST " + kite + "/rename: only in the SDK, as Kites.Rename",
			"request Kites.Land.name: missing; it is required, string",
		}},
		"parameter": {"- {name: page_size,", "- {name: sort, required: true, in: query, schema: {type: string}}\n        - {name: page_size,", []string{
			"parameter Kites.List.sort: missing; it is required, string",
		}},
		"type of a parameter": {"in: query, schema: {type: integer}", "in: query, schema: {type: boolean}", []string{
			"parameter Kites.List.page_size: boolean, but the SDK has integer",
		}},
		"required parameter": {"{name: page_size,", "{name: page_size, required: true,", []string{
			"parameter Kites.List.page_size: required, but the SDK leaves it out if it is zero",
		}},
		"other parameter": {"{name: page_size,", "{name: size,", []string{
			"parameter Kites.List.size: missing; it is optional, integer",
			"parameter ListOptions.page_size: only in the SDK",
		}},
		"field of a request": {"wind: {", "kind: {type: array, items: {type: integer}}\n                wind: {", []string{
			"request KiteCreateRequest.kind: missing; it is optional, array of integer",
		}},
		"type in a request": {"height: {type: integer}\n", "height: {type: string}\n", []string{
			"request KiteCreateRequest.height: string, but the SDK has integer",
		}},
		"required in a request": {"required: [color]", "required: [color, height]", []string{
			"request KiteCreateRequest.height: required, but the SDK leaves it out if it is zero",
		}},
		"optional in a request": {"              required: [color]\n", "", []string{
			"request KiteCreateRequest.color: optional, but the SDK always sends it",
		}},
		"null in a request": {"height: {type: integer}\n", "height: {type: integer, nullable: true}\n", []string{
			"request KiteCreateRequest.height: may be null, which the SDK cannot send",
		}},
		"argument": {"properties: {name: {type: string}}", "properties: {name: {type: string}, force: {type: boolean}}", []string{
			"request Kites.Rename.force: missing; it is optional, boolean",
		}},
		"type of an argument": {"properties: {name: {type: string}}", "properties: {name: {type: integer}}", []string{
			"request Kites.Rename.name: integer, but the SDK has string",
		}},
		"no longer in a request": {"                wind: {type: string}\n", "", []string{
			"request KiteCreateRequest.wind: only in the SDK",
		}},
		"field of a record": {"        name: {type: string}\n", "        name: {type: string}\n        wing: {type: string, nullable: true}\n", []string{
			"record Kite.wing: missing; it is optional, string or null",
		}},
		"field of a detailed record": {"password: {type: string}", "password: {type: string}\n                  key: {type: string}", []string{
			"record Kite.key: missing; it is optional, string",
		}},
		"field within a record": {"properties: {length: {type: number}}", "properties: {length: {type: number}, knots: {type: integer}}", []string{
			"record KiteString.knots: missing; it is optional, integer",
		}},
		"type in a record": {"created_at: {type: string, format: date-time}", "created_at: {type: integer}", []string{
			"record Kite.created_at: integer, but the SDK has string",
		}},
		"type in a map": {"additionalProperties: {type: string}", "additionalProperties: {type: object, properties: {a: {type: string}}}", []string{
			"record Kite.labels: object in it, but the SDK has string",
		}},
		"union in a map": {"additionalProperties: {type: string}", "additionalProperties: {oneOf: [{type: string}, {type: number}]}", []string{
			"record Kite.labels: number or string in it, but the SDK has string",
		}},
		"null in a record": {"{length: {type: number}}", "{length: {type: number, nullable: true}}", []string{
			"record KiteString.length: may be missing or null, which the SDK reads as 0",
		}},
		"no longer in a record": {"                  password: {type: string}\n", "", []string{
			"record Kite.password: only in the SDK",
		}},
		"enumeration": {"        color: {type: string, enum: [red, blue]}\n        height", "        color: {type: string, enum: [red, flying, green, blue, black]}\n        height", []string{
			"record Kite.color: may be green, black, which the SDK does not name",
		}},
		"list": {"count: {type: integer}", "total: {type: integer}", []string{
			"response of Kites.List: a list with total, which the SDK does not have",
		}},
		"name of a list": {"                  items:\n                    type: array", "                  kites:\n                    type: array", []string{
			"response of Kites.List: its items are called kites",
		}},
		"file": {"application/pdf: {}", "application/json: {schema: {type: object}}", []string{
			"response of Kites.Plan: JSON, but the SDK returns a file",
		}},
		"no response": {"application/pdf: {}", "{}", []string{
			"response of Kites.Plan: its status is 200",
			"response of Kites.Plan: nothing, but the SDK returns File",
		}},
		"status": {"'204': {description: Gone}", "'202': {description: Going}", []string{
			"response of Kites.Delete: its status is 202",
		}},
		"second status": {"        '200':\n          $ref: '#/components/responses/KiteDetailed'\n    post", "        '200':\n          $ref: '#/components/responses/KiteDetailed'\n        '202':\n          $ref: '#/components/responses/KiteDetailed'\n    post", []string{
			"response of Kites.Get: its status is 200 or 202",
		}},
		"response": {"'204': {description: Gone}", "'200': {$ref: '#/components/responses/KiteDetailed'}", []string{
			"response of Kites.Delete: object, but the SDK returns nothing",
		}},
		"field of an error": {"message: {type: string}", "message: {type: string}\n                  hint: {type: string}", []string{
			"error hint: missing; string",
		}},
		"type of an error": {"message: {type: string}\n                  type: {type: string}", "message: {type: string}\n                  type: {type: string, enum: [flying, Stormy]}", []string{
			"error type Stormy: the SDK does not name it",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changed := strings.Replace(text, test.old, test.new, 1)
			if test.old != "" && changed == text {
				t.Fatalf("the description does not have %q", test.old)
			}
			operations, err := readDescription([]byte(changed))
			if err != nil {
				t.Fatal(err)
			}
			if got := slices.Sorted(maps.Keys(compare(s, operations))); !slices.Equal(got, test.want) {
				t.Errorf("the differences are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

// TestStatus: the program fails only if a difference is not intended, or an
// intended one has gone.
func TestStatus(t *testing.T) {
	t.Parallel()
	text := read(t, "testdata/openapi.yml")
	extended := strings.Replace(text, "        name: {type: string}\n", "        name: {type: string}\n        wing: {type: string}\n", 1)
	const finding = "record Kite.wing: missing; it is optional, string"
	none := write(t, "known.txt", "# nothing is intended\n")
	wing := write(t, "known.txt", "# ours have none\n# as yet\n"+finding+"\n")
	for name, test := range map[string]struct {
		args   []string
		stdin  string
		status int
		want   string
	}{
		"the same":     {[]string{"-known", none, "-"}, text, 0, "6 operations in the description, 7 in the SDK\n"},
		"new":          {[]string{"-known", none, "-"}, extended, 1, "\nnew (1)\n  " + finding + "\n"},
		"intended":     {[]string{"-known", wing, "-"}, extended, 0, "\nintended (1)\n  " + finding + "  # ours have none as yet\n"},
		"gone":         {[]string{"-known", wing, "-"}, text, 1, "\nin the list of what is intended, but no longer so (1)\n  " + finding + "\n"},
		"no reason":    {[]string{"-known", write(t, "known.txt", "# a\n\n"+finding+"\n"), "-"}, text, 2, "no reason for: " + finding},
		"no file":      {[]string{"nowhere.yml"}, "", 2, "nowhere.yml"},
		"no arguments": {nil, "", 2, "usage: specdiff"},
		"two files":    {[]string{"a", "b"}, "", 2, "usage: specdiff"},
		"no flag":      {[]string{"-nothing", "-"}, "", 2, "-nothing"},
		"not YAML":     {[]string{"-"}, "{", 2, "specdiff: -: "},
		"empty":        {[]string{"-"}, "openapi: 3.0.3\npaths: {}\n", 2, "it describes no operation"},
		"no SDK":       {[]string{"-dir", "testdata", "-"}, text, 2, "specdiff: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			args := append([]string{"-dir", "testdata/sdk"}, test.args...)
			if status := run(args, strings.NewReader(test.stdin), &out, &out); status != test.status || !strings.Contains(out.String(), test.want) {
				t.Errorf("status %d and\n%s\nwant %d and\n%s", status, &out, test.status, test.want)
			}
		})
	}
}

// TestRealSDK reads the SDK's source. All operations in the tables are found,
// with their methods; those that the files describe agree with it; and the list
// of what is intended has reasons, and names types and fields that exist.
func TestRealSDK(t *testing.T) {
	t.Parallel()
	s, err := readSDK(root)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, table := range []string{"contract.txt", "service.txt"} {
		for line := range strings.Lines(read(t, filepath.Join(root, "internal/test/apitables", table))) {
			if fields := strings.Fields(line); fields[0] != "#" {
				want = append(want, fmt.Sprint(fields[0], " ", fields[1], fields[len(fields)-1] == "‡"))
			}
		}
	}
	for _, r := range s.operations {
		if r.call == nil {
			t.Errorf("%s has no method", r.name)
		}
		got = append(got, fmt.Sprint(r.String(), r.contractOnly))
	}
	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	isLink := func(r row) bool { return strings.Contains(r.route, "/private-link-service") }
	without := *s // the SDK before it had private link services
	without.operations = slices.DeleteFunc(slices.Clone(s.operations), isLink)
	var links []string
	for _, r := range s.operations {
		if isLink(r) {
			links = append(links, "operation "+r.String()+": missing")
		}
	}
	slices.Sort(links)
	if len(links) != 8 {
		t.Errorf("the operations of private link services are %q", links)
	}
	for _, test := range []struct {
		file string
		sdk  *sdk
		want []string
	}{
		{"few.yml", s, []string{
			"operation DELETE /project/{project_id}/location/{location}/vm/{vm_reference}/restart: missing",
			"response of VMs.SerialLog: its status is 200 or 202",
		}},
		{"privatelinks.yml", &without, links},
		{"privatelinks.yml", s, nil},
	} {
		operations, err := readDescription([]byte(read(t, filepath.Join("testdata", test.file))))
		if err != nil {
			t.Fatal(err)
		}
		findings := compare(test.sdk, operations)
		maps.DeleteFunc(findings, func(finding string, _ bool) bool {
			return strings.Contains(finding, ": only in the SDK, as ") || strings.HasPrefix(finding, "parameter ListOptions.")
		})
		if got := slices.Sorted(maps.Keys(findings)); !slices.Equal(got, test.want) {
			t.Errorf("the differences from %s are\n%s\nwant\n%s", test.file, strings.Join(got, "\n"), strings.Join(test.want, "\n"))
		}
	}

	reasons, err := readKnown(intended)
	if err != nil || len(reasons) == 0 {
		t.Errorf("%d intended differences, %v", len(reasons), err)
	}
	named := regexp.MustCompile(`^(?:record|request) (\w+)\.(\w+): (missing;)?`)
	for finding := range reasons {
		m := named.FindStringSubmatch(finding)
		if m == nil {
			continue
		}
		obj := s.types.Scope().Lookup(m[1])
		if obj == nil && s.services[m[1]] == nil {
			t.Errorf("%s: the SDK has no %s", finding, m[1])
		} else if obj != nil && s.fields(obj.Type(), "json")[m[2]].typ == nil != (m[3] != "") {
			t.Errorf("%s: the SDK says otherwise", finding)
		}
	}
}
