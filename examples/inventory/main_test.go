package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/examples/demo/demotest"
)

func TestMain(m *testing.M) { demotest.Isolate(m) }

func TestTable(t *testing.T) {
	t.Parallel()
	stdout, _ := demotest.Runs(t, run, nil, "bastion-1", "80, 443 from anywhere", "replica of orders", "1+3 nodes")
	if !regexp.MustCompile(`(?m)^inference API key +ak[0-9a-z]{24} *$`).MatchString(stdout) {
		t.Errorf("no ID of the inference API key in\n%s", stdout)
	}
}

// TestHostileNames: the table shows what the server sent without letting it
// write lines or change the terminal; CSV, which programs read, has it as it is.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	const name = "x\x1b]0;owned\a\x1b[2J\nfake line"
	inv := &inventory{VMs: []*cloudapi.VM{{Name: name, Subnet: name, State: "running\r"}}}
	var table, csv strings.Builder
	if err := errors.Join(writeTable(&table, inv), writeCSV(&csv, inv)); err != nil {
		t.Fatal(err)
	}
	if strings.Count(table.String(), "\n") != 2 || strings.ContainsAny(table.String(), "\x1b\a\r") || strings.Count(table.String(), `x\x1b]0;owned\a\x1b[2J\nfake line`) != 2 {
		t.Errorf("%q", table.String())
	}
	if !strings.Contains(csv.String(), `"`+name+`"`) {
		t.Errorf("%q", csv.String())
	}
}

// TestReplicaWithoutParent: a replica stays one when its parent is gone.
func TestReplicaWithoutParent(t *testing.T) {
	t.Parallel()
	for parent, want := range map[string]string{"/location/eu-central-h1/postgres/orders": "replica of orders", "": "replica of a deleted database"} {
		table := rows(&inventory{Postgres: []*cloudapi.Postgres{{ReadReplica: true, Parent: parent}}})
		if details := table[1][slices.Index(table[0], "DETAILS")]; !strings.HasSuffix(details, ", "+want) {
			t.Errorf("the details for parent %q are %q, want %q at the end", parent, details, want)
		}
	}
}

func TestCSV(t *testing.T) {
	t.Parallel()
	out, _ := demotest.Runs(t, run, []string{"-o", "csv"})
	rows := demotest.Must(csv.NewReader(strings.NewReader(out)).ReadAll())(t)
	kinds := map[string]int{}
	for _, row := range rows[1:] {
		kinds[row[0]]++
		if id := row[len(row)-1]; !cloudapi.IsID(id) {
			t.Errorf("%q is not an ID", id)
		}
	}
	if kinds["VM"] != 13 || kinds["Postgres database"] != 2 || len(kinds) != 10 {
		t.Errorf("rows by kind: %v", kinds)
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	out, _ := demotest.Runs(t, run, []string{"-o", "json"}, "[redacted]")
	var inv inventory
	if err := json.Unmarshal([]byte(out), &inv); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, vm := range inv.VMs {
		if vm.Subnet == "" || vm.PrivateIPv4 == "" {
			t.Errorf("VM %s lacks fields that lists don't have", vm.Name)
		}
		names = append(names, vm.Name)
	}
	if got := strings.Join(names[:4], " "); got != "api-1 api-2 api-3 api-4" {
		t.Errorf("the first VMs are %s", got)
	}
	if strings.Contains(out, "postgres://") {
		t.Error("a secret is printed")
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "project.html")
	demotest.Runs(t, run, []string{"--html", file})
	page := string(demotest.Must(os.ReadFile(file))(t))
	for _, want := range []string{"3 subnets · 4 firewalls · ", "load balancer www</b> port 443 → 8080", `gate open"><b>public-web</b> 80, 443 from anywhere`,
		"subnet batch <", "Postgres orders-reports <small>version 17 · replica of orders<", "Kubernetes staging <", `<li class="stopped"`} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in the page", want)
		}
	}
	if n := strings.Count(page, "<li "); n != 13+4+2 { // VMs, nodes, databases
		t.Errorf("%d tiles", n)
	}
	if strings.Contains(page, "postgres://") {
		t.Error("a secret is in the page")
	}
}

// TestPageEscapes: names come from the service, and can't add elements.
func TestPageEscapes(t *testing.T) {
	t.Parallel()
	var page strings.Builder
	inv := &inventory{Project: &cloudapi.Project{Name: "a <b> & c"}, Firewalls: []*cloudapi.Firewall{{Location: "l", Name: "<script>"}}}
	if err := writePage(&page, inv); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(page.String(), "a &lt;b&gt; &amp; c") || strings.Contains(page.String(), "<script>") {
		t.Error(page.String())
	}
}

func TestSorts(t *testing.T) {
	t.Parallel()
	inv := &inventory{}
	for _, name := range []string{"b/web-1", "a/web-10", "a/web-9", "a/web", "a/api-11"} {
		location, name, _ := strings.Cut(name, "/")
		inv.VMs = append(inv.VMs, &cloudapi.VM{Location: location, Name: name})
	}
	inv.sort()
	var names []string
	for _, vm := range inv.VMs {
		names = append(names, vm.Location+"/"+vm.Name)
	}
	if got, want := strings.Join(names, " "), "a/api-11 a/web a/web-9 a/web-10 b/web-1"; got != want {
		t.Errorf("sorted: %s, want %s", got, want)
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	demotest.Refuses(t, run, "table, json or csv", "-o", "xml")
	demotest.Refuses(t, run, `unexpected argument "more"`, "more")
	demotest.Refuses(t, run, "directory", "--html", t.TempDir())
}

// TestRuleTexts: ports are sorted as numbers.
func TestRuleTexts(t *testing.T) {
	t.Parallel()
	texts := ruleTexts([]cloudapi.FirewallRule{
		{CIDR: "0.0.0.0/0", PortRange: "8000..8999"}, {CIDR: "10.0.0.0/8", PortRange: "0..65535"},
		{CIDR: "0.0.0.0/0", PortRange: "443..443"}, {CIDR: "::/0", PortRange: "80..80"}, {CIDR: "0.0.0.0/0", PortRange: "80..80"},
	})
	if got, want := strings.Join(texts, "; "), "all ports from 10.0.0.0/8; 80, 443, 8000–8999 from anywhere"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestWhatCannotBeRead: the program prints everything else, and names what is
// missing. It fails, so that nobody takes the list for complete.
func TestWhatCannotBeRead(t *testing.T) {
	server := cloudapitest.New(t, cloudapitest.WithDelays(cloudapitest.Delays{}), cloudapitest.WithPortlessBalancers(), cloudapitest.WithAPI(cloudapitest.Service), cloudapitest.Lenient())
	demotest.Use(t, server)
	client, ctx := server.Client(), t.Context()
	demotest.Must(client.Firewalls.Create(ctx, "eu-central-h1", "web", nil))(t)
	cluster := demotest.Must(client.Kubernetes.Create(ctx, "eu-central-h1", "fresh", &cloudapi.KubernetesClusterCreateRequest{Version: "v1.37", WorkerSize: "standard-2"}))(t)
	for _, name := range []string{"app-1", "app-2", "app-3"} {
		demotest.Must(client.VMs.Create(ctx, "eu-central-h1", name, &cloudapi.VMCreateRequest{PublicKey: "ssh-ed25519 AAAA"}))(t)
	}
	broken := [2]string{} // the paths of VMs
	for i, name := range []string{"app-2", "app-3"} {
		broken[i] = "/project/" + client.Project() + "/location/eu-central-h1/vm/" + demotest.Must(client.VMs.Get(ctx, "eu-central-h1", name))(t).ID
		server.Fail(cloudapitest.Match{Operation: "VMs.Get", Path: broken[i]}, cloudapitest.Reply(403, nil, "{}"))
	}
	server.Fail(cloudapitest.Match{Operation: "SSHPublicKeys.List"}, cloudapitest.Reply(403, nil, "{}"))

	var stdout, stderr strings.Builder
	err := run(ctx, nil, &stdout, &stderr)
	for _, want := range []string{cluster.ID + "-services", "SSHPublicKeys.List", broken[0], broken[1], "isn't complete"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %s in the error %v", want, err)
		}
	}
	for _, want := range []string{" web ", " fresh ", cluster.ID + "-apiserver", " app-1 "} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %s in\n%s", want, &stdout)
		}
	}
}
