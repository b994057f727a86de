package families

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

func vmOperations() []api.Operation {
	const (
		all   = api.ProjectRoute + "/vm"
		local = api.LocationRoute + "/vm"
		one   = local + "/{vm_reference}"
	)
	create := schema.Closed(
		schema.Required("public_key", schema.Text),
		schema.Optional("boot_image", schema.Text),
		schema.Optional("enable_ip4", schema.Boolean),
		schema.Optional("gpu", schema.Text),
		schema.Optional("init_script", schema.Text),
		schema.Optional("init_script_args", schema.Text).Only(version.Contract),
		schema.Optional("private_subnet_id", schema.Text),
		schema.Optional("size", schema.Text),
		schema.Optional("storage_size", schema.Integer),
		schema.Optional("unix_user", schema.Text),
	)
	window := schema.Closed(schema.Required("maintenance_window_start_at", schema.Integer.OrNull()))
	return []api.Operation{
		api.GET("VMs.List", all, api.List(cloudapi.KindVM, (*vm).record)).Paged(api.PagedDeclared),
		api.GET("VMs.ListInLocation", local, api.List(cloudapi.KindVM, (*vm).record)).Paged(api.PagedDeclared),
		api.GET("VMs.Get", one, api.Show(findVM, (*vm).details)),
		api.POST("VMs.Create", one, create, createVM),
		api.DELETE("VMs.Delete", one, api.Delete(findVM, (*vm).delete)),
		api.POST("VMs.Rename", one+"/rename", nameOnly, api.Renames(cloudapi.KindVM, findVM, (*vm).record)),
		api.POST("VMs.Restart", one+"/restart", api.NoBody, api.On(findVM, (*vm).restartAlways)).Only(version.Contract),
		api.POST("VMs.Restart", one+"/restart", api.NoBody, api.On(findVM, (*vm).restart)).Only(version.Service),
		api.POST("VMs.Start", one+"/start", api.NoBody, api.On(findVM, (*vm).start)).Only(version.Service),
		api.POST("VMs.Stop", one+"/stop", api.NoBody, api.On(findVM, (*vm).stop)).Only(version.Service),
		api.GET("VMs.SerialLog", one+"/serial-log", api.On(findVM, (*vm).showSerialLog)).
			Takes(schema.Optional("refresh", schema.Boolean)).Only(version.Service),
		api.POST("VMs.SetMaintenanceWindow", one+"/set-maintenance-window", window, api.On(findVM, (*vm).setWindow)).Only(version.Service),
	}
}

type vm struct {
	api.Object
	size       vmSize
	storage    int // GiB
	image      string
	unixUser   string
	ip4Enabled bool
	ip4, ip6   netip.Addr
	subnet     *privateSubnet
	nic        *nic
	placed     time.Time // end of the creation
	power      power
	capture    *machineImageVersion // the last image version that was captured from the VM, or nil
	ordered    time.Time            // for a cluster's node: when the node was requested
	window     *int                 // the hour (UTC) at which the maintenance window opens, or nil

	log         serialLog
	serialText  *string // the text of the serial log, or nil if it's the one of a healthy VM
	serialFails bool
}

// add adds the VM, which already has its addresses, to its subnet.
func (v *vm) add(at *api.Moment) {
	at.State.Add(v)
	v.subnet.vms = append(v.subnet.vms, v)
}

type vmSize struct {
	name, family string
	vcpus        int
	storage      [2]int // GiB; the first one is the default
}

var vmSizes = []vmSize{
	{"standard-2", "standard", 2, [2]int{40, 80}},
	{"standard-4", "standard", 4, [2]int{80, 160}},
	{"standard-8", "standard", 8, [2]int{160, 320}},
	{"standard-16", "standard", 16, [2]int{320, 640}},
	{"standard-30", "standard", 30, [2]int{600, 1200}},
	{"standard-60", "standard", 60, [2]int{1200, 2400}},
	{"burstable-1", "burstable", 1, [2]int{10, 20}},
	{"burstable-2", "burstable", 2, [2]int{20, 40}},
}

// vmTerms contains the differences between the versions of the API in the
// creation of VMs.
type vmTerms struct {
	images        []string
	defaultImage  string
	machineImages bool
	storageFirst  bool   // whether records of a VM without a host contain the storage
	imageHint     string // for an unknown image: the end of the error message, after the list of images
}

func vmTermsOf(at *api.Moment) vmTerms {
	if at.Config.Version == version.Contract {
		return vmTerms{[]string{"ubuntu-noble", "ubuntu-jammy", "debian-12", "almalinux-9"}, "ubuntu-jammy", false, false, ""}
	}
	return vmTerms{
		[]string{"gpu-ubuntu-noble", "ubuntu-resolute", "ubuntu-noble", "ubuntu-jammy", "debian-13", "debian-12", "almalinux-10", "almalinux-9"},
		"ubuntu-noble", true, true, ", or you can use machine-image-name@version, machine-image-name@latest",
	}
}

type vmRecord struct {
	ID             string      `json:"id"`
	Name           string      `json:"name"`
	State          string      `json:"state"`
	Location       string      `json:"location"`
	Size           string      `json:"size"`
	UnixUser       string      `json:"unix_user"`
	StorageSizeGiB int         `json:"storage_size_gib"`
	BootImage      *string     `json:"boot_image,omitempty"` // not in the contract
	IPv6           *netip.Addr `json:"ip6"`
	IPv4Enabled    bool        `json:"ip4_enabled"`
	IPv4           *netip.Addr `json:"ip4"`
	Window         **int       `json:"maintenance_window_start_at,omitempty"` // not in the contract
}

type vmDetails struct {
	vmRecord
	Firewalls   []firewallRecord `json:"firewalls"`
	PrivateIPv4 netip.Addr       `json:"private_ipv4"`
	PrivateIPv6 netip.Addr       `json:"private_ipv6"`
	Subnet      string           `json:"subnet"`
	GPU         *string          `json:"gpu"` // null: GPUs aren't available
}

func (v *vm) record(at *api.Moment) vmRecord {
	r := vmRecord{
		ID:          v.ID,
		Name:        v.Name,
		State:       v.Shown(v.state(at)),
		Location:    v.Location.Name,
		Size:        v.size.name,
		UnixUser:    v.unixUser,
		BootImage:   api.InService(at, v.image),
		IPv4Enabled: v.ip4Enabled,
		Window:      api.InService(at, v.window),
	}
	placed := v.isPlaced(at)
	if placed || v.Location.Owner != nil || vmTermsOf(at).storageFirst {
		r.StorageSizeGiB = v.storage
	}
	if placed {
		r.IPv6 = &v.ip6
	}
	if placed && v.ip4Enabled {
		r.IPv4 = &v.ip4
	}
	return r
}

// load connects the VM with its NIC, which the record of its subnet has. If the
// token may not see the subnet, the VM gets one of its own.
func (r *vmRecord) load(l *loader) error {
	v, err := r.vm(l)
	if err != nil {
		return err
	}
	place, ok := l.nics[r.Location+"/"+r.Name]
	if !ok {
		hidden := &privateSubnet{net4: netip.MustParsePrefix("10.0.0.0/26"), net6: randomNet6()}
		place = nicPlace{hidden, 0, &nic{id: api.NewID(cloudapi.KindNIC).String(), name: r.Name + "-nic"}}
		place.nic.ip4, place.nic.ip6 = hidden.addresses(4)
		hidden.vms = make([]*vm, 1)
	}
	v.subnet, v.nic = place.subnet, place.nic
	v.subnet.vms[place.index] = v
	l.State.Add(v)
	l.show(v, r.State, "running", "creating", "starting", "stopping", "restarting", "stopped")
	return nil
}

// vm returns a VM without a subnet: of the project, or the node of a cluster.
func (r *vmRecord) vm(l *loader) (*vm, error) {
	o, err := l.objectIn(r.Location, r.ID, r.Name)
	if err != nil {
		return nil, err
	}
	v := &vm{Object: o, size: sizeNamed(r.Size), storage: r.StorageSizeGiB, unixUser: r.UnixUser, ip4Enabled: r.IPv4Enabled}
	if r.BootImage != nil {
		v.image = *r.BootImage
	}
	if r.Window != nil {
		v.window = *r.Window
	}
	if v.storage == 0 {
		v.storage = v.size.storage[0]
	}
	if r.IPv6 != nil {
		l.State.AtLeast(numberOf(*r.IPv6))
	}
	l.later = append(l.later, func() { // when the addresses of all records are known
		ip4, ip6 := publicAddresses(l.Moment)
		v.ip4, v.ip6 = *cmp.Or(r.IPv4, &ip4), *cmp.Or(r.IPv6, &ip6)
	})
	switch r.State {
	case "creating":
		v.placed = l.Now.Add(l.Delays(&v.Object).Create)
	case "starting", "restarting":
		v.turn(l.Moment, r.State, "")
	case "stopping":
		v.turn(l.Moment, r.State, "stopped")
	case "stopped":
		v.power.after = "stopped"
	}
	return v, nil
}

func (r *vmRecord) clean(c *cleaner) { c.mask(&r.IPv4, &r.IPv6) }

// sizeNamed returns a size without vCPUs if the server doesn't know the name.
func sizeNamed(name string) vmSize {
	i := slices.IndexFunc(nodeSizes, func(s vmSize) bool { return s.name == name })
	if i < 0 {
		return vmSize{name: name}
	}
	return nodeSizes[i]
}

func (v *vm) isPlaced(at *api.Moment) bool { return !at.Now.Before(v.placed) }

// state is never "creating" during a restart.
func (v *vm) state(at *api.Moment) string {
	if changed := v.power.state(at.Now); changed != "" {
		return changed
	}
	if v.isPlaced(at) {
		return "running"
	}
	return "creating"
}

func (v *vm) details(at *api.Moment) vmDetails {
	return vmDetails{
		vmRecord: v.record(at),
		Firewalls: api.Records(v.subnet.firewalls, func(f *firewall) firewallRecord {
			r := f.record(at)
			r.Path = "/location/" + r.Location + "/firewall/" + r.Name
			return r
		}),
		PrivateIPv4: v.nic.ip4,
		PrivateIPv6: v.nic.ip6,
		Subnet:      v.subnet.Name,
	}
}

func findVM(c *api.Call) (*vm, error) { return api.Find[*vm](c, cloudapi.KindVM, "vm_reference") }

func createVM(c *api.Call) (any, error) {
	name, err := newBilled(c, cloudapi.KindVM, "vm_reference")
	if err != nil {
		return nil, err
	}
	if _, err := c.Body.NonEmpty("public_key"); err != nil {
		return nil, err
	}
	v := &vm{Object: c.NewObject(cloudapi.KindVM, name), ip4Enabled: c.Body.Flag("enable_ip4")}
	v.placed = c.Now.Add(c.Delays(&v.Object).Create)
	err = c.Run(
		v.setBootImage, v.setSize, v.setStorage, v.checkMachineImage, v.setGPU, v.setSubnet, setInitScript,
		v.checkQuota, v.setUnixUser, v.checkLocation, v.validate, v.connect,
	)
	if err != nil {
		return nil, err
	}
	v.add(c.Moment)
	c.Log("create", v.ID)
	return v.details(c.Moment), nil
}

func (v *vm) setBootImage(c *api.Call) error {
	terms := vmTermsOf(c.Moment)
	v.image = c.Choice("boot_image", terms.defaultImage)
	if strings.Contains(v.image, "@") && terms.machineImages {
		return nil // see checkMachineImage
	}
	if !slices.Contains(terms.images, v.image) {
		return reply.InvalidField("boot_image", "\"%s\" is not a valid boot image name. Available boot image names are: %s%s",
			v.image, reply.List(terms.images), terms.imageHint)
	}
	return nil
}

func (v *vm) setSize(c *api.Call) error {
	name := c.Choice("size", "standard-2")
	i := slices.IndexFunc(vmSizes, func(s vmSize) bool { return s.name == name })
	if i < 0 {
		names := api.Records(vmSizes, func(s vmSize) string { return s.name })
		return reply.InvalidField("size", "\"%s\" is not a valid virtual machine size. Available sizes: %s", name, reply.List(names))
	}
	v.size = vmSizes[i]
	return nil
}

func (v *vm) setStorage(c *api.Call) error {
	v.storage = c.Body.Number("storage_size")
	if v.storage < 1 {
		v.storage = v.size.storage[0]
	}
	if !slices.Contains(v.size.storage[:], v.storage) {
		return reply.InvalidField("storage_size", "Storage size must be one of the following: %d, %d", v.size.storage[0], v.size.storage[1])
	}
	return nil
}

func (v *vm) checkMachineImage(c *api.Call) error {
	image, err := imageInBody(c, v.image)
	if err == nil && image != nil && image.storage > v.storage {
		err = reply.InvalidField("storage_size", "Machine image \"%s\" requires at least %d GiB of storage", v.image, image.storage)
	}
	return err
}

var gpuForm = regexp.MustCompile(`^0*([0-9]+):`)

// setGPU refuses every GPU: the real server enables GPUs only for some
// projects.
func (v *vm) setGPU(c *api.Call) error {
	m := gpuForm.FindStringSubmatch(c.Choice("gpu", "0:"))
	switch {
	case m == nil:
		return reply.InvalidField("gpu", "gpu field must be in the format 'count:device_name'.")
	case m[1] == "0":
		return nil
	}
	return reply.InvalidField("gpu", "gpu not available for this project")
}

func (v *vm) setSubnet(c *api.Call) error {
	id := c.Choice("private_subnet_id", "")
	if id == "" {
		return nil
	}
	s, ok := api.FindByID[*privateSubnet](c, cloudapi.KindPrivateSubnet, id)
	if !ok || s.Location != v.Location {
		return reply.InvalidField("private_subnet_id",
			"Private subnet with the given id \"%s\" is not found in the location \"%s\"", id, v.Location.Name)
	}
	v.subnet = s
	return nil
}

// setInitScript checks init_script, which no response contains. In the contract
// it's the name or ID of a registered script; in the service it's the text of a
// script. A server with the operations of both versions expects a name or ID if
// the request has init_script_args.
func setInitScript(c *api.Call) error {
	if c.Config.Version == version.Contract || c.Config.Both && c.Body.Has("init_script_args") {
		return checkInitScriptReference(c)
	}
	if utf8.RuneCountInString(c.Body.Text("init_script")) > 2000 {
		return reply.InvalidRequest("init_script is longer than 2000 characters")
	}
	return nil
}

// checkInitScriptReference returns a made-up message for an unregistered
// script, since the real server has no registered scripts.
func checkInitScriptReference(c *api.Call) error {
	ref := c.Choice("init_script", "")
	if _, ok := api.FindByID[api.Stored](c, cloudapi.KindVMInitScript, ref); ok || ref == "" {
		return nil
	}
	if len(c.State.Index.Named(api.Scope{Kind: cloudapi.KindVMInitScript, Project: c.Project, Location: nil}, ref)) == 0 {
		return reply.InvalidField("init_script", "VM init script \"%s\" is not found", ref)
	}
	return nil
}

// checkQuota includes VMs that are being deleted. They use the quota until
// they're gone.
func (v *vm) checkQuota(c *api.Call) error {
	used := 0
	for _, o := range api.InProject[*vm](c.State, cloudapi.KindVM, c.Project) {
		used += o.size.vcpus
	}
	return checkVCPUs("size", v.size.vcpus, used, c.Config.Quota.VM)
}

// vmRegions are the regions in which private locations offer VMs.
var vmRegions = []string{"us-west-2", "us-east-1", "us-east-2"}

func (v *vm) checkLocation(*api.Call) error {
	offered := v.size.family != "burstable" || v.Location.Name != "eu-north-h1"
	if v.Location.Owner != nil {
		offered = v.size.family == "standard" && slices.Contains(vmRegions, v.Location.Region)
	}
	if !offered {
		return reply.InvalidField("location", "Resource family %s is not available in location %s", v.size.family, v.Location.Name)
	}
	return nil
}

const defaultUser = "ubi"

var unixUserForm = regexp.MustCompile(`^[a-z_][a-z0-9_-]{0,31}$`)

func (v *vm) setUnixUser(c *api.Call) error {
	v.unixUser = c.Choice("unix_user", defaultUser)
	if !unixUserForm.MatchString(v.unixUser) {
		return reply.InvalidField("user", "OS user name must only contain lowercase letters, numbers, hyphens and underscore "+
			"and cannot start with a number or hyphen. It also have max length of 32.")
	}
	return nil
}

func (v *vm) validate(c *api.Call) error {
	problems := api.NameProblems[*vm](c, cloudapi.KindVM, v.Name, nil)
	key := c.Body.Text("public_key")
	if len(c.State.Index.Named(api.Scope{Kind: cloudapi.KindSSHPublicKey, Project: c.Project}, key)) > 0 {
		return reply.InvalidRecord(problems...)
	}
	if problem := authorizedKeysProblem(key); problem != "" {
		problems = append(problems, "public_key "+problem)
	}
	return reply.InvalidRecord(problems...)
}

func (v *vm) connect(c *api.Call) (err error) {
	if v.subnet == nil {
		v.subnet, err = defaultSubnet(c)
	}
	if err == nil {
		v.nic, err = newNIC(v.subnet, v.Name+"-nic")
	}
	v.ip4, v.ip6 = publicAddresses(c.Moment)
	return err
}

func defaultSubnet(c *api.Call) (*privateSubnet, error) {
	name := "default-" + c.Location.Name
	if s, ok := api.FindByName[*privateSubnet](c, cloudapi.KindPrivateSubnet, name); ok {
		return s, nil
	}
	return addPrivateSubnet(c, name, nil)
}

// publicAddresses returns addresses that no other VM has had.
func publicAddresses(at *api.Moment) (ip4, ip6 netip.Addr) { return addressesOf(at.State.Next()) }

// addressesOf returns the nth addresses from the ranges reserved for benchmarks
// and documentation.
func addressesOf(n uint32) (ip4, ip6 netip.Addr) {
	b4, b6 := [4]byte{198, 18}, [16]byte{0x20, 0x01, 0x0d, 0xb8, 15: 2}
	binary.BigEndian.PutUint32(b4[:], binary.BigEndian.Uint32(b4[:])+n)
	binary.BigEndian.PutUint32(b6[4:], n)
	return netip.AddrFrom4(b4), netip.AddrFrom16(b6)
}

// numberOf returns the number that addressesOf has returned the address for, or
// 0.
func numberOf(ip6 netip.Addr) uint32 {
	b := ip6.As16()
	n := binary.BigEndian.Uint32(b[4:])
	if _, nth := addressesOf(n); ip6 != nth {
		return 0
	}
	return n
}

func (v *vm) setWindow(c *api.Call) (any, error) {
	hour, err := windowHour(c)
	if err != nil {
		return nil, err
	}
	v.window = hour
	c.Log("set_maintenance_window", v.ID)
	return v.details(c.Moment), nil
}

func (v *vm) delete(c *api.Call) error {
	if v.isBeingCaptured(c.Moment) {
		return reply.InvalidRequest("Cannot delete VM while it is being captured as a machine image version")
	}
	v.remove(c.Moment, c.Delays(&v.Object).Delete)
	c.Log("destroy", v.ID)
	return nil
}

func (v *vm) remove(at *api.Moment, after time.Duration) {
	if l := v.balancer(at); l != nil {
		l.detach(at, v)
	}
	at.Remove(v, after)
}

// Gone removes the VM from its subnet. A cluster's node is in none.
func (v *vm) Gone(*api.Moment) {
	if v.subnet != nil {
		v.subnet.vms = slices.DeleteFunc(v.subnet.vms, func(other *vm) bool { return other == v })
	}
}
