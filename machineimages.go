package cloudapi

import (
	"context"
	"iter"
	"slices"
	"time"
)

// MachineImagesService manages machine images: copies of the disk of a VM, from
// which other VMs can be created. An image has versions, one of which is the
// latest. [VMCreateRequest.BootImage] names an image and a version. An image is
// referred to by its ID (prefix m1) or its name.
//
// † Only the service has these.
type MachineImagesService service

// MachineImage is a machine image.
type MachineImage struct {
	ID            string    `json:"id"`             // prefix m1
	Name          string    `json:"name"`           // unique in its project and location
	Location      string    `json:"location"`       // such as "eu-central-h1"
	Arch          string    `json:"arch"`           // one of the MachineImageArch constants
	LatestVersion string    `json:"latest_version"` // "" until a version is ready
	CreatedAt     time.Time `json:"created_at"`
}

func (m *MachineImage) lacks() string               { return lacksID(m.ID) }
func (m *MachineImage) cursor(column string) string { return idOrName(column, m.ID, m.Name) }

// Resource identifies the image.
func (m *MachineImage) Resource() Resource {
	return Resource{Kind: KindMachineImage, ID: m.ID, Location: m.Location, Name: m.Name}
}

// Values of [MachineImage.Arch].
const (
	MachineImageArchX64   = "x64"
	MachineImageArchARM64 = "arm64"
)

// MachineImageCreateRequest is the body of [MachineImagesService.Create].
type MachineImageCreateRequest struct {
	// VM is the ID, not the name, of a stopped VM in the image's location with a
	// single disk, which is encrypted and has at most 40 GiB. Required.
	VM string `json:"vm"`

	// Version names the first version: up to 64 letters, digits, dots, hyphens and
	// underscores, beginning with a letter or digit. The default is the time in
	// UTC, such as "20261122033026"; ListVersions returns it.
	Version string `json:"version,omitzero"`

	DestroySource bool `json:"destroy_source,omitzero"` // whether the server deletes the VM once the version is ready
}

func (r MachineImageCreateRequest) checkIDs() *ArgumentError { return checkID("vm", r.VM) }

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
	machineImageFamily = family[MachineImage, *MachineImage]{lists: &listMachineImages, get: &opMachineImagesGet, del: &opMachineImagesDelete, pauses: &waitQuick}
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
// Of the versions, records show only which one is the latest.
func (s *MachineImagesService) Watch(ctx context.Context, opts *WatchOptions, known ...*MachineImage) iter.Seq2[Event[MachineImage], error] {
	return machineImageFamily.watch(ctx, s.conn, opts, known)
}

// Get returns a machine image.
func (s *MachineImagesService) Get(ctx context.Context, location, image string) (*MachineImage, error) {
	return fetch[MachineImage](ctx, s.conn, &opMachineImagesGet, location, image)
}

// Create creates a machine image; [MachineImagesService.WaitVersion] waits for
// its first version, which becomes the latest. Until then, the VM can't be
// started or deleted. Create returns [ErrInvalidRequest] if the VM isn't
// stopped or can't be copied, and [ErrQuotaExceeded] for too many versions.
func (s *MachineImagesService) Create(ctx context.Context, location, name string, request *MachineImageCreateRequest) (*MachineImage, error) {
	return send[MachineImage](ctx, s.conn, &opMachineImagesCreate, request, location, name)
}

// Ensure creates a machine image unless one with the name exists. It compares
// version: the image has it, in any state. It can create the version;
// [MachineImagesService.WaitVersion] waits. It doesn't compare vm and
// destroy_source, which no record shows.
func (s *MachineImagesService) Ensure(ctx context.Context, location, name string, request *MachineImageCreateRequest, opts *EnsureOptions) (image *MachineImage, outcome EnsureOutcome, err error) {
	return s.ensurer(location, name, request).ensure(ctx, "MachineImages.Ensure", opts)
}

// ensurer returns what Ensure needs to know about machine images.
func (s *MachineImagesService) ensurer(location, name string, request *MachineImageCreateRequest) ensureSpec[MachineImage] {
	return ensureSpec[MachineImage]{
		location: location,
		name:     name,
		pauses:   machineImageFamily.pauses,
		find:     func(ctx context.Context) (*MachineImage, error) { return s.Get(ctx, location, name) },
		create:   func(ctx context.Context) (*MachineImage, error) { return s.Create(ctx, location, name, request) },
		compare: func(ctx context.Context, image *MachineImage) (d drift, err error) {
			if request == nil || request.Version == "" {
				return nil, nil
			}
			labels := []string{}
			for v, err := range s.AllVersions(ctx, image.Location, image.ID, nil) {
				if err != nil {
					return nil, err
				}
				labels = append(labels, v.Version)
			}
			if !slices.Contains(labels, request.Version) {
				d = drift{{Field: "version", Wanted: request.Version, Found: labels, Updatable: true}}
			}
			return d, nil
		},
		update: func(ctx context.Context, image *MachineImage, _ drift) (*MachineImage, error) {
			version := &MachineImageVersionCreateRequest{VM: request.VM, DestroySource: request.DestroySource}
			_, err := s.CreateVersion(ctx, image.Location, image.ID, request.Version, version)
			return image, err
		},
	}
}

// Update makes another version the latest one. It returns [ErrInvalidRequest]
// if the version doesn't exist or isn't ready.
func (s *MachineImagesService) Update(ctx context.Context, location, image string, request *MachineImageUpdateRequest) (*MachineImage, error) {
	return send[MachineImage](ctx, s.conn, &opMachineImagesUpdate, request, location, image)
}

// Delete deletes a machine image without versions. It returns
// [ErrInvalidRequest] if the image has versions, even if they're being deleted;
// [MachineImagesService.DeleteVersion] deletes them.
func (s *MachineImagesService) Delete(ctx context.Context, location, image string) error {
	return remove(ctx, s.conn, &opMachineImagesDelete, location, image)
}

// Rename renames a machine image; the VMs created from it show the old name.
func (s *MachineImagesService) Rename(ctx context.Context, location, image, newName string) (*MachineImage, error) {
	return send[MachineImage](ctx, s.conn, &opMachineImagesRename, renameRequest{newName}, location, image)
}
