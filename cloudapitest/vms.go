package cloudapitest

import (
	"encoding/binary"
	"math"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
)

func vmOperations() []operation {
	const (
		all   = projectRoute + "/vm"
		local = locationRoute + "/vm"
		one   = local + "/{vm_reference}"
	)
	create := closed(
		required("public_key", text),
		optional("boot_image", text),
		optional("enable_ip4", boolean),
		optional("gpu", text),
		optional("init_script", text),
		optional("init_script_args", text),
		optional("private_subnet_id", text),
		optional("size", text),
		optional("storage_size", integer),
		optional("unix_user", text),
	)
	return []operation{
		{name: "VMs.List", method: http.MethodGet, route: all, list: pagedDeclared, handle: listVMs},
		{name: "VMs.ListInLocation", method: http.MethodGet, route: local, list: pagedDeclared, handle: listVMs},
		{name: "VMs.Get", method: http.MethodGet, route: one, handle: getVM},
		{name: "VMs.Create", method: http.MethodPost, route: one, body: create, handle: createVM},
		{name: "VMs.Delete", method: http.MethodDelete, route: one, handle: deleteVM},
		{name: "VMs.Rename", method: http.MethodPost, route: one + "/rename", body: closed(required("name", text)), handle: renameVM},
		{name: "VMs.Restart", method: http.MethodPost, route: one + "/restart", handle: restartVM},
	}
}

type vm struct {
	object
	size       vmSize
	storage    int // GiB
	unixUser   string
	ip4Enabled bool
	ip4, ip6   netip.Addr
	subnet     *privateSubnet
	nic        *nic
	restarted  time.Time
}

// added and removed do nothing for the nodes of clusters, which have neither a
// project nor a subnet.
func (v *vm) added() {
	if v.project != nil {
		v.project.vcpus += v.size.vcpus
		v.subnet.vms = append(v.subnet.vms, v)
	}
}

func (v *vm) removed() {
	if v.project != nil {
		v.project.vcpus -= v.size.vcpus
		v.subnet.vms = slices.DeleteFunc(v.subnet.vms, func(other *vm) bool { return other == v })
	}
}

type vmSize struct {
	name, family string
	vcpus        int
	storage      [2]int // GiB; the first one is the default
}

var (
	vmSizes = []vmSize{
		{"standard-2", "standard", 2, [2]int{40, 80}},
		{"standard-4", "standard", 4, [2]int{80, 160}},
		{"standard-8", "standard", 8, [2]int{160, 320}},
		{"standard-16", "standard", 16, [2]int{320, 640}},
		{"standard-30", "standard", 30, [2]int{600, 1200}},
		{"standard-60", "standard", 60, [2]int{1200, 2400}},
		{"burstable-1", "burstable", 1, [2]int{10, 20}},
		{"burstable-2", "burstable", 2, [2]int{20, 40}},
	}
	bootImages = []string{"ubuntu-noble", "ubuntu-jammy", "debian-12", "almalinux-9"}
)

type vmRecord struct {
	ID             string      `json:"id"`
	Name           string      `json:"name"`
	State          string      `json:"state"`
	Location       string      `json:"location"`
	Size           string      `json:"size"`
	UnixUser       string      `json:"unix_user"`
	StorageSizeGiB int         `json:"storage_size_gib"`
	IP6            *netip.Addr `json:"ip6"`
	IP4Enabled     bool        `json:"ip4_enabled"`
	IP4            *netip.Addr `json:"ip4"`
}

type vmDetails struct {
	vmRecord
	Firewalls   []firewallRecord `json:"firewalls"`
	PrivateIPv4 netip.Addr       `json:"private_ipv4"`
	PrivateIPv6 netip.Addr       `json:"private_ipv6"`
	Subnet      string           `json:"subnet"`
	GPU         *string          `json:"gpu"` // null: no project may have any
}

// recordVM shows a VM's storage and public addresses once it has a host. In
// private locations it has its storage from the start.
func (c *call) recordVM(v *vm) vmRecord {
	r := vmRecord{
		ID:         v.id,
		Name:       v.name,
		State:      v.shown(c.vmState(v)),
		Location:   v.location.name,
		Size:       v.size.name,
		UnixUser:   v.unixUser,
		IP4Enabled: v.ip4Enabled,
	}
	placed := c.isPlaced(v)
	if placed || v.location.owner != nil {
		r.StorageSizeGiB = v.storage
	}
	if placed {
		r.IP6 = &v.ip6
	}
	if placed && v.ip4Enabled {
		r.IP4 = &v.ip4
	}
	return r
}

func (c *call) isPlaced(v *vm) bool { return !c.now.Before(v.created.Add(c.config.delays.Create)) }

// vmState is "restarting" even for a VM that is being created.
func (c *call) vmState(v *vm) string {
	switch {
	case c.now.Before(v.restarted.Add(c.config.delays.Restart)):
		return "restarting"
	case c.isPlaced(v):
		return "running"
	}
	return "creating"
}

func (c *call) vmDetails(v *vm) vmDetails {
	return vmDetails{
		vmRecord: c.recordVM(v),
		Firewalls: records(v.subnet.firewalls, func(f *firewall) firewallRecord {
			r := recordFirewall(f)
			r.Path = "/location/" + r.Location + "/firewall/" + r.Name
			return r
		}),
		PrivateIPv4: v.nic.ip4,
		PrivateIPv6: v.nic.ip6,
		Subnet:      v.subnet.name,
	}
}

func findVM(c *call) (*vm, error) { return find[*vm](c, cloudapi.KindVM, "vm_reference") }

func listVMs(c *call) (any, error) {
	return paginate(c, listed(c, cloudapi.KindVM), objectName, c.recordVM)
}

func getVM(c *call) (any, error) {
	v, err := findVM(c)
	if err != nil {
		return nil, err
	}
	return c.vmDetails(v), nil
}

// createVM takes any text for a public key that is not blank, as the real server
// does: what no registered key is called counts as a key itself.
func createVM(c *call) (any, error) {
	name, err := c.newReference(cloudapi.KindVM, "vm_reference")
	if err != nil {
		return nil, err
	}
	if _, err := c.body.nonEmpty("public_key"); err != nil {
		return nil, err
	}
	v := &vm{object: c.newObject(cloudapi.KindVM, name), ip4Enabled: c.body.flag("enable_ip4")}
	err = c.run(
		v.setBootImage, v.setSize, v.setStorage, v.setGPU, v.setSubnet, v.setInitScript,
		v.checkQuota, v.checkLocation, v.setUnixUser, v.checkName, v.connect,
	)
	if err != nil {
		return nil, err
	}
	c.state.add(v)
	return c.vmDetails(v), nil
}

// choice returns a text of the body, or else if that is blank.
func (c *call) choice(name, otherwise string) string {
	if s := c.body.text(name); strings.TrimSpace(s) != "" {
		return s
	}
	return otherwise
}

func (v *vm) setBootImage(c *call) error {
	if name := c.choice("boot_image", "ubuntu-jammy"); !slices.Contains(bootImages, name) {
		return invalidField("boot_image", "\"%s\" is not a valid boot image name. Available boot image names are: %s",
			name, rubyStrings(bootImages))
	}
	return nil
}

func (v *vm) setSize(c *call) error {
	name := c.choice("size", "standard-2")
	i := slices.IndexFunc(vmSizes, func(s vmSize) bool { return s.name == name })
	if i < 0 {
		names := records(vmSizes, func(s vmSize) string { return s.name })
		return invalidField("size", "\"%s\" is not a valid virtual machine size. Available sizes: %s", name, rubyStrings(names))
	}
	v.size = vmSizes[i]
	return nil
}

// setStorage takes a number that no size can be for one left out.
func (v *vm) setStorage(c *call) error {
	v.storage = c.body.number("storage_size")
	if v.storage < 1 || v.storage == math.MaxInt {
		v.storage = v.size.storage[0]
	}
	if !slices.Contains(v.size.storage[:], v.storage) {
		return invalidField("storage_size", "Storage size must be one of the following: %d, %d", v.size.storage[0], v.size.storage[1])
	}
	return nil
}

var gpuForm = regexp.MustCompile(`^0*([0-9]+):`)

// setGPU accepts none only: GPUs are for projects that the service has enabled
// them for.
func (v *vm) setGPU(c *call) error {
	m := gpuForm.FindStringSubmatch(c.choice("gpu", "0:"))
	switch {
	case m == nil:
		return invalidField("gpu", "gpu field must be in the format 'count:device_name'.")
	case m[1] == "0":
		return nil
	case !slices.Contains([]string{"1", "2", "4", "8"}, m[1]):
		return invalidField("gpu", "gpu count must be one of the following: 0, 1, 2, 4, 8")
	case v.size.family == "burstable":
		return invalidField("gpu", "gpu not available for burstable vms")
	}
	return invalidField("gpu", "gpu not available for this project")
}

func (v *vm) setSubnet(c *call) error {
	id := c.choice("private_subnet_id", "")
	if id == "" {
		return nil
	}
	s, ok := findByID[*privateSubnet](c, cloudapi.KindPrivateSubnet, id)
	if !ok || s.location != v.location {
		return invalidField("private_subnet_id",
			"Private subnet with the given id \"%s\" is not found in the location \"%s\"", id, v.location.name)
	}
	v.subnet = s
	return nil
}

// setInitScript checks that the script is registered. It has its own words for
// one that is not: the real server has no such scripts yet.
func (v *vm) setInitScript(c *call) error {
	ref := c.choice("init_script", "")
	if _, ok := findByID[stored](c, cloudapi.KindVMInitScript, ref); ok || ref == "" {
		return nil
	}
	if len(c.state.index.named(scope{cloudapi.KindVMInitScript, c.project, nil}, ref)) == 0 {
		return invalidField("init_script", "VM init script \"%s\" is not found", ref)
	}
	return nil
}

// checkQuota counts all VMs that are not gone yet.
func (v *vm) checkQuota(c *call) error {
	return checkVCPUs("size", v.size.vcpus, c.project.vcpus, c.config.quota.VM)
}

// checkVCPUs checks that requested vCPUs are within a quota. Field is the one that
// asks for them.
func checkVCPUs(field string, requested, used, allowed int) error {
	if used+requested <= allowed {
		return nil
	}
	return invalidField(field, "Insufficient quota for requested size. Requested vCPU count: %d, currently used vCPU count: %d, "+
		"maximum allowed vCPU count: %d, remaining vCPU count: %d", requested, used, allowed, allowed-used)
}

// vmRegions are those in which private locations offer VMs.
var vmRegions = []string{"us-east-1", "us-east-2"}

func (v *vm) checkLocation(*call) error {
	offered := v.size.family != "burstable" || v.location.name != "eu-north-h1"
	if v.location.owner != nil {
		offered = slices.Contains(vmRegions, v.location.region)
	}
	if !offered {
		return invalidField("location", "Resource family %s is not available in location %s", v.size.family, v.location.name)
	}
	return nil
}

var unixUserForm = regexp.MustCompile(`^[a-z_][a-z0-9_-]{0,31}$`)

func (v *vm) setUnixUser(c *call) error {
	v.unixUser = c.choice("unix_user", "ubi")
	if !unixUserForm.MatchString(v.unixUser) {
		return invalidField("user", "OS user name must only contain lowercase letters, numbers, hyphens and underscore "+
			"and cannot start with a number or hyphen. It also have max length of 32.")
	}
	return nil
}

func (v *vm) checkName(c *call) error {
	return checkName[*vm](c, cloudapi.KindVM, v.name, nil)
}

// connect gives the VM its addresses. A VM without a subnet gets the default
// one, which is created with the first of them.
func (v *vm) connect(c *call) (err error) {
	if v.subnet == nil {
		v.subnet, err = c.defaultSubnet()
	}
	if err == nil {
		v.nic, err = newNIC(v.subnet, v.name+"-nic")
	}
	v.ip4, v.ip6 = c.publicAddresses()
	return err
}

// defaultSubnet returns the subnet of VMs that are created without one.
func (c *call) defaultSubnet() (*privateSubnet, error) {
	name := "default-" + c.location.name
	if s, ok := findByName[*privateSubnet](c, cloudapi.KindPrivateSubnet, name); ok {
		return s, nil
	}
	return c.addPrivateSubnet(name, nil)
}

// publicAddresses returns addresses that no other VM has had, from the ranges
// for benchmarks and documentation.
func (c *call) publicAddresses() (ip4, ip6 netip.Addr) {
	c.state.addresses++
	b4, b6 := [4]byte{198, 18}, [16]byte{0x20, 0x01, 0x0d, 0xb8, 15: 2}
	binary.BigEndian.PutUint32(b4[:], binary.BigEndian.Uint32(b4[:])+c.state.addresses)
	binary.BigEndian.PutUint32(b6[4:], c.state.addresses)
	return netip.AddrFrom4(b4), netip.AddrFrom16(b6)
}

func deleteVM(c *call) (any, error) {
	v, err := findVM(c)
	if err != nil {
		return deletedOr(err)
	}
	if l := c.balancerOf(v); l != nil {
		l.detach(c, v)
	}
	c.remove(v, c.config.delays.Delete, nil)
	return noContent{}, nil
}

func renameVM(c *call) (any, error) {
	v, err := findVM(c)
	if err == nil {
		err = rename(c, cloudapi.KindVM, v)
	}
	if err != nil {
		return nil, err
	}
	return c.recordVM(v), nil
}

func restartVM(c *call) (any, error) {
	v, err := findVM(c)
	if err != nil {
		return nil, err
	}
	v.restarted = c.now
	return c.vmDetails(v), nil
}
