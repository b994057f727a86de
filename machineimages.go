package cloudapi

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"
)

// MachineImagesService manages machine images: copies of a VM's disk, to create
// VMs from. An image has versions, one of which is the latest.
// [VMCreateRequest.BootImage] names a version. † Only the service has these.
type MachineImagesService service

// MachineImage is a machine image.
type MachineImage struct {
	ID            string    `json:"id"`             // prefix m1
	Name          string    `json:"name"`           // unique in its project and location
	Location      string    `json:"location"`       // such as "eu-central-h1"
	Arch          string    `json:"arch"`           // a constant such as [MachineImageArchX64]
	LatestVersion string    `json:"latest_version"` // "" until a version is ready
	CreatedAt     time.Time `json:"created_at"`
}

func (m *MachineImage) Resource() Resource {
	return Resource{Kind: KindMachineImage, ID: m.ID, Location: m.Location, Name: m.Name}
}

// Values of [MachineImage.Arch]. † Only the service has these.
const (
	MachineImageArchX64   = "x64"
	MachineImageArchARM64 = "arm64"
)

// MachineImageCreateRequest is the body of [MachineImagesService.Create].
type MachineImageCreateRequest struct {
	// VMID is the ID of a stopped VM in the image's location. The VM has one disk,
	// which is encrypted and has at most 40 GiB. Required.
	VMID string `json:"vm" id:"vm"`

	// Version names the first version: up to 64 letters, digits, dots, hyphens and
	// underscores, beginning with a letter or digit. The default is the time in
	// UTC, such as "20261122033026"; ListVersions returns it.
	Version string `json:"version,omitzero"`

	DestroySource bool `json:"destroy_source,omitzero"` // whether the server deletes the VM once the version is ready
}

// MachineImageUpdateRequest is the body of [MachineImagesService.Update].
type MachineImageUpdateRequest struct {
	LatestVersion string `json:"latest_version"` // required; the version must be ready
}

const machineImageRoute = locationRoute + "/machine-image/{machine_image_reference}"

var (
	opMachineImagesList           = Operation{"MachineImages.List", "GET", projectRoute + "/machine-image", idempotent | serviceOnly}
	opMachineImagesListInLocation = Operation{"MachineImages.ListInLocation", "GET", locationRoute + "/machine-image", idempotent | serviceOnly}
	opMachineImagesGet            = Operation{"MachineImages.Get", "GET", machineImageRoute, idempotent | serviceOnly}
	opMachineImagesCreate         = Operation{"MachineImages.Create", "POST", machineImageRoute, once | serviceOnly}
	opMachineImagesUpdate         = Operation{"MachineImages.Update", "PATCH", machineImageRoute, idempotent | serviceOnly}
	opMachineImagesDelete         = Operation{"MachineImages.Delete", "DELETE", machineImageRoute, idempotent | serviceOnly}
	opMachineImagesRename         = Operation{"MachineImages.Rename", "POST", machineImageRoute + "/rename", idempotent | serviceOnly}

	listMachineImages  = listRoutes{project: &opMachineImagesList, location: &opMachineImagesListInLocation}
	machineImageFamily = family[MachineImage]{lists: &listMachineImages, get: &opMachineImagesGet, del: &opMachineImagesDelete, pauses: &waitQuick}
)

// List returns one page of the machine images.
func (s *MachineImagesService) List(ctx context.Context, opts *ListOptions) (*Page[MachineImage], error) {
	return list[MachineImage](ctx, s.conn, &listMachineImages, opts)
}

// All iterates over the machine images.
func (s *MachineImagesService) All(ctx context.Context, opts *ListOptions) iter.Seq2[*MachineImage, error] {
	return all[MachineImage](ctx, s.conn, &listMachineImages, opts)
}

// Watch yields the machine images and then their changes; see [WatchOptions].
// It doesn't see changes of versions, except of LatestVersion.
func (s *MachineImagesService) Watch(ctx context.Context, opts *WatchOptions, known ...*MachineImage) iter.Seq2[Event[MachineImage], error] {
	return machineImageFamily.watch(ctx, s.conn, opts, known)
}

// Get returns a machine image.
func (s *MachineImagesService) Get(ctx context.Context, location, image string) (*MachineImage, error) {
	return perform[MachineImage](ctx, s.conn, &opMachineImagesGet, location, image)
}

// Create creates a machine image; [MachineImagesService.WaitVersion] waits for
// its first version, which becomes the latest. Until then, the copied VM can't
// be started or deleted. Create returns [ErrInvalidRequest] if the VM can't be
// copied, and [ErrQuotaExceeded] for too many versions.
func (s *MachineImagesService) Create(ctx context.Context, location, name string, request *MachineImageCreateRequest) (*MachineImage, error) {
	return send[MachineImage](ctx, s.conn, &opMachineImagesCreate, request, location, name)
}

// Ensure creates a machine image unless one with the name exists. It compares
// only version: an image matches if it has that version, in any state. An
// update adds the version; [MachineImagesService.WaitVersion] waits for it.
func (s *MachineImagesService) Ensure(ctx context.Context, location, name string, request *MachineImageCreateRequest, opts *EnsureOptions) (image *MachineImage, outcome EnsureOutcome, err error) {
	return machineImageFamily.ensure(ctx, s.conn, location, name, ensureSpec[MachineImage]{
		request: request,
		create:  func(ctx context.Context) (*MachineImage, error) { return s.Create(ctx, location, name, request) },
		compare: func(ctx context.Context, image *MachineImage) (c comparison, err error) {
			if request == nil || request.Version == "" {
				return c, nil
			}
			labels := []string{}
			for v, err := range s.AllVersions(ctx, image.Location, image.ID, nil) {
				if err != nil {
					return c, err
				}
				c.skip("version", v.Version == "")
				labels = append(labels, v.Version)
			}
			if !slices.Contains(labels, request.Version) {
				c.drift = drift{{Field: "version", Wanted: request.Version, Found: labels, Remedy: RemedyUpdate}}
			}
			return c, nil
		},
		update: func(ctx context.Context, image *MachineImage, _ drift) (*MachineImage, error) {
			version := &MachineImageVersionCreateRequest{VMID: request.VMID, DestroySource: request.DestroySource}
			_, err := s.CreateVersion(ctx, image.Location, image.ID, request.Version, version)
			return image, err
		},
	}, opts)
}

// Compare returns no differences, and the fields that it can't compare: a record
// shows only its latest version. [MachineImagesService.AllVersions] lists all.
func (r *MachineImageCreateRequest) Compare(image *MachineImage) (differences []Drift, uncompared []string) {
	if r == nil {
		return nil, nil
	}
	var c comparison
	c.skip("version", r.Version != "" && r.Version != image.LatestVersion)
	c.skip("vm", r.VMID != "")
	c.skip("destroy_source", r.DestroySource)
	return c.result()
}

// Update chooses which version is the latest. It returns [ErrInvalidRequest] if
// the version doesn't exist or isn't ready.
func (s *MachineImagesService) Update(ctx context.Context, location, image string, request *MachineImageUpdateRequest) (*MachineImage, error) {
	return send[MachineImage](ctx, s.conn, &opMachineImagesUpdate, request, location, image)
}

// Delete deletes a machine image. It returns [ErrInvalidRequest] if the image
// has versions, even if they're being deleted;
// [MachineImagesService.DeleteVersion] deletes them.
func (s *MachineImagesService) Delete(ctx context.Context, location, image string) error {
	return remove(ctx, s.conn, &opMachineImagesDelete, location, image)
}

// Rename renames a machine image; the VMs created from it show the old name.
func (s *MachineImagesService) Rename(ctx context.Context, location, image, newName string) (*MachineImage, error) {
	return send[MachineImage](ctx, s.conn, &opMachineImagesRename, renameRequest{newName}, location, image)
}

// MachineImageVersion is a version of a machine image. Methods take its name.
type MachineImageVersion struct {
	ID             string    `json:"id"`               // prefix mv
	Version        string    `json:"version"`          // its name, unique in its image
	State          string    `json:"state"`            // a constant such as [MachineImageVersionStateReady], or another value; "" if the version has no data, so that it can't be deleted
	ActualSizeMiB  int       `json:"actual_size_mib"`  // of the disk; 0 until the version is ready
	ArchiveSizeMiB int       `json:"archive_size_mib"` // of the stored data, which is billed; 0 until the version is ready
	CreatedAt      time.Time `json:"created_at"`
	Latest         bool      `json:"latest"` // whether it's the latest version of its image
}

func (v *MachineImageVersion) cursor(string) string { return v.ID }

func (v *MachineImageVersion) Resource() Resource {
	return Resource{Kind: KindMachineImageVersion, ID: v.ID, Name: v.Version}
}
func (v *MachineImageVersion) stateText() string { return v.State }

// Known values of [MachineImageVersion.State]. † Only the service has these.
const (
	MachineImageVersionStateCreating   = "creating"
	MachineImageVersionStateReady      = "ready"
	MachineImageVersionStateFailed     = "failed"     // until it's deleted
	MachineImageVersionStateDestroying = "destroying" // until it's gone
)

var imageVersionPhases = map[string]Phase{
	MachineImageVersionStateCreating:   PhasePending,
	MachineImageVersionStateReady:      PhaseUsable,
	MachineImageVersionStateDestroying: PhaseDeleting,
	MachineImageVersionStateFailed:     PhaseFailed,
	"":                                 PhaseFailed, // a version without data
}

// Phase returns the phase of a version of a machine image. A version without
// data, whose State is "", is [PhaseFailed].
func (v *MachineImageVersion) Phase() Phase {
	return cmp.Or(imageVersionPhases[v.State], PhasePending)
}

// MachineImageVersionCreateRequest is the body of
// [MachineImagesService.CreateVersion].
type MachineImageVersionCreateRequest struct {
	VMID          string `json:"vm" id:"vm"`              // as in MachineImageCreateRequest; must have the image's Arch; required
	DestroySource bool   `json:"destroy_source,omitzero"` // as in MachineImageCreateRequest
}

const machineImageVersionRoute = machineImageRoute + "/version/{version}"

var (
	opMachineImagesListVersions  = Operation{"MachineImages.ListVersions", "GET", machineImageRoute + "/version", idempotent | serviceOnly}
	opMachineImagesCreateVersion = Operation{"MachineImages.CreateVersion", "POST", machineImageVersionRoute, once | serviceOnly}
	opMachineImagesDeleteVersion = Operation{"MachineImages.DeleteVersion", "DELETE", machineImageVersionRoute, idempotent | serviceOnly}

	listMachineImageVersions = listRoutes{project: &opMachineImagesListVersions}
)

// ListVersions returns one page of an image's versions, ordered by ID.
func (s *MachineImagesService) ListVersions(ctx context.Context, location, image string, opts *ListOptions) (*Page[MachineImageVersion], error) {
	return list[MachineImageVersion](ctx, s.conn, &listMachineImageVersions, opts, location, image)
}

// AllVersions iterates over the versions of a machine image.
func (s *MachineImagesService) AllVersions(ctx context.Context, location, image string, opts *ListOptions) iter.Seq2[*MachineImageVersion, error] {
	return all[MachineImageVersion](ctx, s.conn, &listMachineImageVersions, opts, location, image)
}

// CreateVersion adds a version to a machine image;
// [MachineImagesService.WaitVersion] waits until it's ready and the latest.
// CreateVersion returns [ErrAlreadyExists] if the image has the version.
func (s *MachineImagesService) CreateVersion(ctx context.Context, location, image, version string, request *MachineImageVersionCreateRequest) (*MachineImageVersion, error) {
	return send[MachineImageVersion](ctx, s.conn, &opMachineImagesCreateVersion, request, location, image, version)
}

// DeleteVersion deletes a version; [MachineImagesService.WaitVersionDeleted]
// waits until it's gone. The server keeps the version while VMs use it.
// Deleting the latest makes the newest other ready version the latest. Unlike
// most deletions, DeleteVersion returns [ErrNotFound] for a missing version: if
// Error.Attempts is more than 1, an earlier attempt may have deleted it.
func (s *MachineImagesService) DeleteVersion(ctx context.Context, location, image, version string) error {
	return remove(ctx, s.conn, &opMachineImagesDeleteVersion, location, image, version)
}

// WaitVersion waits until a version is ready. 10 GiB take up to 4 minutes.
func (s *MachineImagesService) WaitVersion(ctx context.Context, location, image, version string, opts *WaitOptions) (*MachineImageVersion, error) {
	w := waiter[MachineImageVersion]{
		operation: "MachineImages.WaitVersion",
		resource:  qualify(location, image) + "@" + version,
		config:    waitSlow,
		get: func(ctx context.Context) (*MachineImageVersion, error) {
			versions, err := Collect(s.AllVersions(ctx, location, image, nil))
			if err != nil {
				return nil, err
			}
			i := slices.IndexFunc(versions, func(v *MachineImageVersion) bool { return v.Version == version })
			if i < 0 {
				return nil, fmt.Errorf("%w: the image has no version %q", ErrWaitFailed, version)
			}
			return versions[i], nil
		},
		done: func(v *MachineImageVersion) (bool, error) {
			switch v.State {
			case MachineImageVersionStateFailed:
				return false, fmt.Errorf("%w: it could not be made", ErrWaitFailed)
			case MachineImageVersionStateDestroying:
				return false, fmt.Errorf("%w: it is being deleted", ErrWaitFailed)
			}
			return v.State == MachineImageVersionStateReady, nil
		},
	}
	return w.run(ctx, opts)
}

// WaitVersionDeleted waits until a version or its image is gone.
func (s *MachineImagesService) WaitVersionDeleted(ctx context.Context, location, image, version string, opts *WaitOptions) error {
	if err := opMachineImagesDeleteVersion.checkArgs(s.conn.config.project, location, image, version); err != nil {
		return err
	}
	const operation = "MachineImages.WaitVersionDeleted"
	d := machineImageFamily.deletion(s.conn, operation, location, image)
	id := "" // of the version, once it's known: another may take the name
	w := waiter[[]*MachineImageVersion]{
		operation: operation,
		resource:  qualify(location, image),
		config:    waitSlow,
		gone:      true,
		get: func(ctx context.Context) (*[]*MachineImageVersion, error) {
			versions, err := Collect(s.AllVersions(ctx, location, image, nil))
			if err != nil {
				if _, err = d.prove(ctx, err); err == nil {
					err = errNotShown // the image exists, but its versions don't
				}
				return nil, err
			}
			d.seen = true
			return &versions, nil
		},
		done: func(versions *[]*MachineImageVersion) (bool, error) {
			for _, v := range *versions {
				if v.Version == version && (id == "" || v.ID == id) {
					id = v.ID
					return false, nil
				}
			}
			return true, nil
		},
		lacks: func(versions *[]*MachineImageVersion) string {
			return missing("version", slices.ContainsFunc(*versions, func(v *MachineImageVersion) bool { return v.Version == "" }))
		},
	}
	_, err := w.run(ctx, opts)
	return err
}
