package families

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

func machineImageOperations() []api.Operation {
	const (
		all      = api.ProjectRoute + "/machine-image"
		local    = api.LocationRoute + "/machine-image"
		one      = local + "/{machine_image_reference}"
		versions = one + "/version"
		label    = versions + "/{version}"
	)
	var (
		source      = schema.Closed(schema.Required("vm", schema.Text), schema.Optional("destroy_source", schema.Boolean))
		firstSource = schema.Closed(append(source.Fields, schema.Optional("version", schema.Text))...)
		latest      = schema.Closed(schema.Required("latest_version", schema.Text))
	)
	return api.AllOnly(version.Service,
		api.GET("MachineImages.List", all, api.List(cloudapi.KindMachineImage, (*machineImage).record)).Paged(api.PagedDeclared),
		api.GET("MachineImages.ListInLocation", local, api.List(cloudapi.KindMachineImage, (*machineImage).record)).Paged(api.PagedDeclared),
		api.GET("MachineImages.Get", one, api.Show(findMachineImage, (*machineImage).record)),
		api.POST("MachineImages.Create", one, firstSource, createMachineImage),
		api.PATCH("MachineImages.Update", one, latest, api.On(findMachineImage, (*machineImage).setLatest)),
		api.DELETE("MachineImages.Delete", one, api.Delete(findMachineImage, (*machineImage).delete)),
		api.POST("MachineImages.Rename", one+"/rename", nameOnly, api.Renames(cloudapi.KindMachineImage, findMachineImage, (*machineImage).record)),
		api.GET("MachineImages.ListVersions", versions, api.On(findMachineImage, (*machineImage).listVersions)).Paged(api.PagedUndeclared),
		api.POST("MachineImages.CreateVersion", label, source, api.On(findMachineImage, (*machineImage).createVersion)).Needs("MachineImage:edit"),
		api.DELETE("MachineImages.DeleteVersion", label, api.On(findMachineImage, (*machineImage).deleteVersion)).Needs("MachineImage:edit"),
	)
}

type machineImage struct {
	api.Object
	created time.Time
	latest  *machineImageVersion // call latestVersion instead of reading this field
}

// The Name of a machineImageVersion is its label, such as "v1".
type machineImageVersion struct {
	api.Object
	image   *machineImage
	storage int // GiB
	created time.Time
	stored  time.Time // end of the creation
	offered bool      // whether the version has become the latest; see keepLatest
}

type machineImageRecord struct {
	ID            string    `json:"id"`
	Name          string    `json:"name"`
	Location      string    `json:"location"`
	Arch          string    `json:"arch"`
	LatestVersion *string   `json:"latest_version"`
	CreatedAt     timestamp `json:"created_at"`
}

type machineImageVersionRecord struct {
	ID             string    `json:"id"`
	Version        string    `json:"version"`
	State          string    `json:"state"`
	ActualSizeMiB  *int      `json:"actual_size_mib"`
	ArchiveSizeMiB *int      `json:"archive_size_mib"`
	CreatedAt      timestamp `json:"created_at"`
	Latest         bool      `json:"latest"`
}

type timestamp time.Time

func (m timestamp) MarshalText() ([]byte, error) {
	return time.Time(m).UTC().AppendFormat(nil, "2006-01-02T15:04:05+00:00"), nil
}

func (m *timestamp) UnmarshalText(text []byte) error { return (*time.Time)(m).UnmarshalText(text) }

func (m *machineImage) record(at *api.Moment) machineImageRecord {
	r := machineImageRecord{ID: m.ID, Name: m.Name, Location: m.Location.Name, Arch: "x64", CreatedAt: timestamp(m.created)}
	if v := m.latestVersion(at); v != nil {
		r.LatestVersion = &v.Name
	}
	return r
}

func (v *machineImageVersion) record(at *api.Moment) machineImageVersionRecord {
	r := machineImageVersionRecord{
		ID: v.ID, Version: v.Name, State: v.state(at), CreatedAt: timestamp(v.created), Latest: v.image.latestVersion(at) == v,
	}
	if v.Forced == "" && !at.Now.Before(v.stored) {
		actual := v.storage * 1024
		r.ActualSizeMiB, r.ArchiveSizeMiB = &actual, new(actual/8+3)
	}
	return r
}

type machineImageCopy struct {
	machineImageRecord
	Versions []machineImageVersionRecord `json:"versions"`
}

func (r *machineImageCopy) load(l *loader) error {
	o, err := l.objectIn(r.Location, r.ID, r.Name)
	if err != nil {
		return err
	}
	m := &machineImage{Object: o, created: time.Time(r.CreatedAt)}
	l.State.Add(m)
	slices.SortStableFunc(r.Versions, func(a, b machineImageVersionRecord) int {
		return time.Time(a.CreatedAt).Compare(time.Time(b.CreatedAt))
	})
	for _, rv := range r.Versions {
		o, err := l.objectIn(r.Location, rv.ID, rv.Version)
		if err != nil {
			return err
		}
		v := &machineImageVersion{Object: o, image: m, created: time.Time(rv.CreatedAt), offered: rv.State != "creating"}
		if rv.ActualSizeMiB != nil {
			v.storage = *rv.ActualSizeMiB / 1024
		}
		if rv.State == "creating" {
			v.store(l.Moment, l.Now.Add(l.Delays(&v.Object).Create))
		}
		if rv.Latest {
			m.latest = v
		}
		l.State.Add(v)
		l.show(v, rv.State, "creating", "ready")
	}
	return nil
}

func (v *machineImageVersion) state(at *api.Moment) string {
	switch {
	case v.Deleting():
		return "destroying"
	case at.Now.Before(v.stored):
		return v.Shown("creating")
	}
	return v.Shown("ready")
}

// latestVersion returns the latest version. Each version becomes the latest
// once, when it is ready.
func (m *machineImage) latestVersion(at *api.Moment) *machineImageVersion {
	var newest *machineImageVersion
	for _, v := range m.versions(at) {
		if !v.offered && v.state(at) == "ready" && (newest == nil || !v.stored.Before(newest.stored)) {
			newest = v
		}
	}
	return cmp.Or(newest, m.latest)
}

// keepLatest stores which version is the latest, and which have been.
func (m *machineImage) keepLatest(at *api.Moment) {
	m.latest = m.latestVersion(at)
	for _, v := range m.versions(at) {
		v.offered = v.offered || v.state(at) == "ready"
	}
}

// store completes the version at the given time.
func (v *machineImageVersion) store(at *api.Moment, when time.Time) {
	v.stored = when
	at.Schedule(when, v.image.keepLatest)
}

// versions returns the versions of the image in the order of their creation.
func (m *machineImage) versions(at *api.Moment) []*machineImageVersion {
	return api.Where(at.State, cloudapi.KindMachineImageVersion, m.Project, func(v *machineImageVersion) bool { return v.image == m })
}

func (m *machineImage) version(at *api.Moment, label string) *machineImageVersion {
	for _, v := range m.versions(at) {
		if v.Name == label {
			return v
		}
	}
	return nil
}

func findMachineImage(c *api.Call) (*machineImage, error) {
	return api.Find[*machineImage](c, cloudapi.KindMachineImage, "machine_image_reference")
}

var versionForm = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$`)

func createMachineImage(c *api.Call) (any, error) {
	if name := c.Params["machine_image_reference"]; api.IDLikeNameProblems(cloudapi.KindMachineImage, name) != nil {
		return nil, reply.BadRequest("Parameter %q does not match pattern of names", name)
	}
	name, err := c.NewReference(cloudapi.KindMachineImage, "machine_image_reference")
	if err != nil {
		return nil, err
	}
	label := c.Choice("version", c.Now.UTC().Format("20060102150405"))
	m := &machineImage{Object: c.NewObject(cloudapi.KindMachineImage, name), created: c.Now}
	source, err := vmToCapture(c)
	if err != nil {
		return nil, err
	}
	if !versionForm.MatchString(label) {
		return nil, reply.InvalidRequest("version must start with a letter or number and may contain ASCII letters, numbers, dot, hyphen, and underscore (max 64 characters).")
	}
	if _, taken := api.FindByName[*machineImage](c, cloudapi.KindMachineImage, name); taken {
		return nil, reply.InvalidRequest("Machine image with this name already exists in this location")
	}
	v, err := m.capture(c, source, label)
	if err != nil {
		return nil, err
	}
	c.State.Add(m)
	c.Log("create", m.ID, v.ID)
	return m.record(c.Moment), nil
}

func (m *machineImage) createVersion(c *api.Call) (any, error) {
	source, err := vmToCapture(c)
	if err != nil {
		return nil, err
	}
	label := c.Params["version"]
	if m.version(c.Moment, label) != nil {
		return nil, reply.InvalidRequest("Version %s already exists for this machine image", label)
	}
	v, err := m.capture(c, source, label)
	if err != nil {
		return nil, err
	}
	c.Log("create", v.ID, m.ID)
	return v.record(c.Moment), nil
}

func vmToCapture(c *api.Call) (*vm, error) {
	id := c.Body.Text("vm")
	if !api.ValidID(id) {
		return nil, reply.InvalidRequest("Value provided not a valid id for parameter vm")
	}
	v, ok := api.FindByID[*vm](c, cloudapi.KindVM, id)
	switch {
	case !ok || v.Location != c.Location:
		return nil, reply.InvalidRequest("Source VM not found")
	case c.Body.Flag("destroy_source") && !c.AllowedOn(v, "Vm:delete"):
		return nil, reply.Forbidden()
	}
	return v, nil
}

const maxImage = 40 // GiB

func (m *machineImage) capture(c *api.Call, source *vm, label string) (*machineImageVersion, error) {
	stored := len(api.InProject[*machineImageVersion](c.State, cloudapi.KindMachineImageVersion, c.Project))
	switch most := c.Config.Quota.MachineImageVersions; {
	case stored >= most:
		return nil, reply.InvalidField("version", "Insufficient quota for machine image versions. Requested: %d, maximum allowed: %d", stored+1, most)
	case source.isBeingCaptured(c.Moment):
		return nil, reply.InvalidRequest("Another machine image version is already being captured from this source VM")
	case source.Shown(source.state(c.Moment)) != "stopped":
		return nil, reply.InvalidRequest("Source VM must be stopped")
	case source.storage > maxImage:
		return nil, reply.InvalidRequest("Source VM's storage is larger than %d GiB", maxImage)
	case c.Location.Name == "us-east-a2":
		return nil, reply.InvalidRequest("No machine image store configured for this location")
	}
	v := &machineImageVersion{Object: c.NewObject(cloudapi.KindMachineImageVersion, label), image: m, storage: source.storage, created: c.Now}
	delays := c.Delays(&v.Object)
	v.store(c.Moment, c.Now.Add(delays.Create))
	source.capture = v
	c.State.Add(v)
	if c.Body.Flag("destroy_source") {
		source.remove(c.Moment, delays.Create+delays.Delete)
	}
	return v, nil
}

func (v *vm) isBeingCaptured(at *api.Moment) bool {
	return v.capture != nil && v.capture.state(at) == "creating"
}

func (m *machineImage) setLatest(c *api.Call) (any, error) {
	label, err := c.Body.NonEmpty("latest_version")
	if err != nil {
		return nil, err
	}
	v := m.version(c.Moment, label)
	switch {
	case v == nil:
		return nil, reply.InvalidRequest("Version %s not found", label)
	case v.state(c.Moment) != "ready":
		return nil, reply.InvalidRequest("Version %s is not ready", label)
	}
	m.keepLatest(c.Moment)
	m.latest = v
	c.Log("update_latest_version", m.ID, v.ID)
	return m.record(c.Moment), nil
}

func (m *machineImage) delete(c *api.Call) error {
	if len(m.versions(c.Moment)) > 0 {
		return reply.InvalidRequest("Machine image still has versions; destroy them first")
	}
	c.Remove(m, 0)
	c.Log("destroy", m.ID)
	return nil
}

func (m *machineImage) listVersions(c *api.Call) (any, error) {
	list := api.Only(api.Every(cloudapi.KindMachineImageVersion), func(v *machineImageVersion) bool { return v.image == m })
	return api.Paginate(c, list, nil, (*machineImageVersion).record)
}

func (m *machineImage) deleteVersion(c *api.Call) (any, error) {
	v := m.version(c.Moment, c.Params["version"])
	if v == nil {
		return nil, reply.NoVersion()
	}
	m.keepLatest(c.Moment)
	c.Remove(v, c.Delays(&v.Object).Delete)
	if m.latest == v {
		m.latest = m.newestReady(c.Moment)
	}
	c.Log("destroy", v.ID, m.ID)
	return reply.NoContent{}, nil
}

func (m *machineImage) newestReady(at *api.Moment) *machineImageVersion {
	var newest *machineImageVersion
	for _, v := range m.versions(at) {
		if v.offered && !v.Deleting() {
			newest = v
		}
	}
	return newest
}

// imageInBody returns the version that a text such as "name@label" names, or
// nil for a text without an @.
func imageInBody(c *api.Call, text string) (*machineImageVersion, error) {
	name, label, ok := strings.Cut(text, "@")
	if !ok {
		return nil, nil
	}
	m, ok := api.FindByName[*machineImage](c, cloudapi.KindMachineImage, name)
	if !ok || !c.AllowedOn(m, "MachineImage:view") {
		return nil, reply.InvalidField("boot_image", "Selected machine image is not available")
	}
	v := m.version(c.Moment, label)
	if label == "latest" {
		v = m.latestVersion(c.Moment)
	}
	switch {
	case v == nil:
		return nil, reply.InvalidField("machine_image", "Version \"%s\" does not exist for machine image \"%s\"", label, name)
	case v.state(c.Moment) != "ready":
		return nil, reply.InvalidField("machine_image", "Machine image version \"%s\" does not have an active metal version", label)
	}
	return v, nil
}
