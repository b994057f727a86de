package demo

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func sampleTable() *Table {
	t := &Table{Columns: []string{"KIND", "NAME", "DETAILS", "ID"}, Wide: []string{"ID"}}
	t.Add("VM", "web-1", "standard-2, subnet web, 10.189.21.196, 198.18.0.1", "vmjq121m8vt20gam5gvkdzazw4")
	t.Add("firewall", "public-web", "80, 443 from\nanywhere", "fw3bgc5twxgt5qqjz82413tr82")
	return t
}

func write(t *testing.T, args ...string) (string, error) {
	t.Helper()
	flags := NewFlags("show", "", io.Discard)
	table := sampleTable()
	output := flags.Output(table.Columns)
	flags.BoolFunc("records", "a table with records", func(string) error {
		table.Records = []string{"records"}
		return nil
	})
	if err := flags.Parse(args, 0); err != nil {
		return "", err
	}
	var b bytes.Buffer
	err := output.Write(&b, table)
	return b.String(), err
}

func TestTable(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ args, want string }{
		{"", "KIND      NAME        DETAILS\n" +
			"VM        web-1       standard-2, subnet web, 10.189.21.196, 198.18.0.1\n" +
			"firewall  public-web  80, 443 from anywhere\n"},
		{"--columns=id,name -no-header", "vmjq121m8vt20gam5gvkdzazw4  web-1\nfw3bgc5twxgt5qqjz82413tr82  public-web\n"},
		{"-o wide --columns=kind,id", "KIND      ID\nVM        vmjq121m8vt20gam5gvkdzazw4\nfirewall  fw3bgc5twxgt5qqjz82413tr82\n"},
		{"-o csv --no-header", "VM,web-1,\"standard-2, subnet web, 10.189.21.196, 198.18.0.1\",vmjq121m8vt20gam5gvkdzazw4\n" +
			"firewall,public-web,\"80, 443 from anywhere\",fw3bgc5twxgt5qqjz82413tr82\n"},
		{"-o json --columns=name,id", `[
  {
    "id": "vmjq121m8vt20gam5gvkdzazw4",
    "name": "web-1"
  },
  {
    "id": "fw3bgc5twxgt5qqjz82413tr82",
    "name": "public-web"
  }
]
`},
	} {
		if got, err := write(t, strings.Fields(test.args)...); err != nil || got != test.want {
			t.Errorf("%s: error %v,\n%s, want\n%s", test.args, err, got, test.want)
		}
	}
	var b bytes.Buffer
	if err := new(Output).writeText(&b, []string{"NAME"}, [][]string{{"\x1b[2Jweb"}}, 0); err != nil || b.String() != "NAME\n\\x1b[2Jweb\n" {
		t.Errorf("a name that a terminal would execute: %q, %v", &b, err)
	}
	for args, want := range map[string]string{"-o json": `["records"]`, "-o json --columns kind": `[{"kind":"VM"},{"kind":"firewall"}]`} {
		if got, err := write(t, strings.Fields(args+" -records")...); err != nil || strings.Join(strings.Fields(got), "") != want {
			t.Errorf("%s of a table with records: error %v, %s, want %s", args, err, got, want)
		}
	}
	if got, err := write(t, "-o", "wide"); err != nil || !strings.HasSuffix(strings.Split(got, "\n")[1], "vmjq121m8vt20gam5gvkdzazw4") {
		t.Errorf("wide: error %v\n%s", err, got)
	}
	for _, args := range [][]string{{"-o", "xml"}, {"--columns", "name,size"}} {
		if _, err := write(t, args...); !errors.As(err, new(*UsageError)) {
			t.Errorf("%q: error %v", args, err)
		}
	}
}

// TestTableIsNeverTooWide: lines never wrap in a terminal.
func TestTableIsNeverTooWide(t *testing.T) {
	t.Parallel()
	table := sampleTable()
	for limit := 20; limit <= 120; limit++ {
		var b bytes.Buffer
		if err := new(Output).writeText(&b, table.Columns, table.Rows, limit); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > limit {
				t.Errorf("%d characters in a terminal of %d: %s", n, limit, line)
			}
		}
		if complete := strings.Contains(b.String(), "198.18.0.1  vmjq121m8vt20gam5gvkdzazw4"); complete != (limit >= 99) {
			t.Errorf("in a terminal of %d:\n%s", limit, b.String())
		}
	}
}
