package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/examples/internal/demo"
)

func TestMain(m *testing.M) {
	demo.Isolate()
	m.Run()
}

func runForTest(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if err := run(t.Context(), args, &stdout, &stderr); err != nil {
		t.Fatalf("%q: %v\n%s", args, err, stderr.String())
	}
	return stdout.String()
}

func TestTable(t *testing.T) {
	t.Parallel()
	out := runForTest(t)
	for _, want := range []string{"bastion-1", "80, 443 from anywhere", "replica of orders", "1+3 nodes", "inference API key"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// TestReplicaWithoutParent: a replica stays one when its parent is gone.
func TestReplicaWithoutParent(t *testing.T) {
	t.Parallel()
	for parent, want := range map[string]string{"/location/eu-central-h1/postgres/orders": "replica of orders", "": "replica of a deleted database"} {
		table := newTable(&inventory{Postgres: []*cloudapi.Postgres{{ReadReplica: true, Parent: parent}}})
		if details := table.Rows[0][slices.Index(table.Columns, "DETAILS")]; !strings.HasSuffix(details, ", "+want) {
			t.Errorf("the details for parent %q are %q, want %q at the end", parent, details, want)
		}
	}
}

func TestCSV(t *testing.T) {
	t.Parallel()
	rows, err := csv.NewReader(strings.NewReader(runForTest(t, "-o", "csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
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
	out := runForTest(t, "-o", "json")
	var inv inventory
	if err := json.Unmarshal([]byte(out), &inv); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, vm := range inv.VMs {
		if vm.Subnet == "" || vm.PrivateIPv4 == "" {
			t.Errorf("VM %s lacks what only its full form has", vm.Name)
		}
		names = append(names, vm.Name)
	}
	if got := strings.Join(names[:4], " "); got != "api-1 api-2 api-3 api-4" {
		t.Errorf("the first VMs are %s", got)
	}
	if !strings.Contains(out, "[redacted]") || strings.Contains(out, "postgres://") {
		t.Error("a secret is printed")
	}
}

func TestSVGFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "project.svg")
	runForTest(t, "--svg", file)
	picture, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"prefers-color-scheme: dark", ">3 subnets  ·  4 firewalls  ·", ">load balancer www<", ">public-web<", ">subnet batch<", ">orders-reports<", ">Kubernetes staging<", ">stopped<"} {
		if !strings.Contains(string(picture), want) {
			t.Errorf("no %s in the picture", want)
		}
	}
	checkPicture(t, picture, 13+4+2) // VMs, nodes, databases
}

func TestDrawManySizes(t *testing.T) {
	t.Parallel()
	for _, vms := range []int{0, 1, 2, 7, 60, 200} {
		picture := draw(project(vms))
		checkPicture(t, picture, vms)
		// For people who want to see it.
		if folder := os.Getenv("INVENTORY_PICTURES"); folder != "" {
			if err := os.WriteFile(filepath.Join(folder, fmt.Sprint("vms-", vms, ".svg")), picture, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// project is an inventory with VMs in one subnet, most behind a load balancer.
// Names are as long as possible, and contain what XML has to escape.
func project(vms int) *inventory {
	inv := &inventory{Project: &cloudapi.Project{Name: "a <b> & c"}}
	if vms == 0 {
		return inv
	}
	const location, long = "eu-central-h1", "a-name-that-is-as-long-as-the-longest-that-the-service-accepts"
	inv.PrivateSubnets = []*cloudapi.PrivateSubnet{{Name: long, Location: location, Net4: "10.0.0.0/26", Firewalls: []cloudapi.Firewall{
		{Name: long, FirewallRules: []cloudapi.FirewallRule{{CIDR: "0.0.0.0/0", PortRange: "0..65535"}, {CIDR: "2001:db8:1234:5678::/64", PortRange: "22..22"}}},
		{Name: "empty"},
	}}}
	lb := &cloudapi.LoadBalancer{Name: long, Location: location, Subnet: long, SrcPort: 65535, DstPort: 65535}
	inv.LoadBalancers = []*cloudapi.LoadBalancer{lb}
	for i := range vms {
		vm := &cloudapi.VM{ID: fmt.Sprint("vm", i), Name: long, Location: location, State: "running", Subnet: long, Size: "standard-60", PrivateIPv4: "100.100.100.100/32", IP4: "192.0.2.1"}
		inv.VMs = append(inv.VMs, vm)
		if i%3 > 0 {
			lb.VMs = append(lb.VMs, vm.ID)
		}
	}
	return inv
}

func TestDrawManySubnets(t *testing.T) {
	t.Parallel()
	inv := &inventory{Project: &cloudapi.Project{}}
	for i := range 30 {
		name := fmt.Sprint("net-", i)
		inv.PrivateSubnets = append(inv.PrivateSubnets, &cloudapi.PrivateSubnet{Name: name, Location: "l"})
		for range i % 5 {
			inv.VMs = append(inv.VMs, &cloudapi.VM{Name: "vm", Location: "l", Subnet: name})
		}
	}
	checkPicture(t, draw(inv), 60)
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

func TestDrawsEachDatabaseOnce(t *testing.T) {
	t.Parallel()
	db := func(id, name, location, parent string) *cloudapi.Postgres {
		return &cloudapi.Postgres{ID: id, Name: name, Location: location, Parent: parent, ReadReplica: parent != "", State: "running"}
	}
	picture := draw(&inventory{Project: &cloudapi.Project{}, Postgres: []*cloudapi.Postgres{
		db("1", "a", "l1", ""), db("2", "b", "l1", "/location/l1/postgres/a"), db("3", "c", "l1", "/location/l1/postgres/b"),
		db("4", "a", "l2", ""), db("5", "orphan", "l2", "/location/l1/postgres/a"), db("6", "loop", "l2", "/location/l2/postgres/loop"),
	}})
	checkPicture(t, picture, 6)
	for head, want := range map[string]int{">Postgres a<": 2, ">Postgres orphan<": 1, ">Postgres loop<": 1, ">Postgres ": 4} {
		if n := bytes.Count(picture, []byte(head)); n != want {
			t.Errorf("%d cards %s, want %d", n, head, want)
		}
	}
}

type rectangle struct{ x, y, w, h float64 }

func (a rectangle) overlaps(b rectangle) bool {
	return a.x < b.x+b.w && b.x < a.x+a.w && a.y < b.y+b.h && b.y < a.y+a.h
}

// checkPicture checks that a picture is XML, and has the given number of tiles,
// which don't overlap and are within the picture.
func checkPicture(t *testing.T, picture []byte, want int) {
	t.Helper()
	var whole rectangle
	var tiles []rectangle
	decoder := xml.NewDecoder(bytes.NewReader(picture))
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		element, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		value := func(name string) string {
			i := slices.IndexFunc(element.Attr, func(a xml.Attr) bool { return a.Name.Local == name })
			if i < 0 {
				return ""
			}
			return element.Attr[i].Value
		}
		number := func(name string) float64 {
			n, _ := strconv.ParseFloat(value(name), 64)
			return n
		}
		r := rectangle{number("x"), number("y"), number("width"), number("height")}
		switch {
		case element.Name.Local == "svg":
			whole = r
		case value("stroke") == tile.stroke:
			tiles = append(tiles, r)
		}
	}
	if len(tiles) != want {
		t.Errorf("%d tiles, want %d", len(tiles), want)
	}
	if whole.w > maxPanelW+2*margin {
		t.Errorf("the picture is %v wide", whole.w)
	}
	for i, a := range tiles {
		if a.x < 0 || a.y < 0 || a.x+a.w > whole.w || a.y+a.h > whole.h {
			t.Errorf("%v sticks out of %v", a, whole)
		}
		for _, b := range tiles[:i] {
			if a.overlaps(b) {
				t.Errorf("%v overlaps %v", a, b)
			}
		}
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"-o", "xml"}, "table, wide, json or csv"},
		{[]string{"--nonsense"}, "nonsense"},
		{[]string{"more"}, `unexpected argument "more"`},
		{[]string{"--svg", t.TempDir()}, "directory"},
	} {
		if err := run(t.Context(), test.args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: error %v, want %q", test.args, err, test.want)
		}
	}
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
	if got := onOpen.cut("80, 443, 8000–8999 from anywhere", 90); !strings.HasPrefix(got, "80, 443") || !strings.HasSuffix(got, "…") || onOpen.width(got) > 90 {
		t.Errorf("cut it is %s", got)
	}
}
