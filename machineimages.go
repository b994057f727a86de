package cloudapi

import (
	"context"
	"iter"
	"slices"
	"time"
)

// MachineImagesService works with machine images: copies of the disk of a VM
// from which other VMs can be created. An image has versions, one of which is
// the latest. [VMCreateRequest.BootImage] names the image and the version.
//
// A reference is the ID (prefix m1) or the name. All operations are of August
// 2026; a server of October 2025 answers [ErrNotFound].
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
func (m *MachineImage) identity() Resource {
	return Resource{Kind: KindMachineImage, ID: m.ID, Location: m.Location, Name: m.Name}
}

// Values of [MachineImage.Arch].
const (
	MachineImageArchX64   = "x64"
	MachineImageArchARM64 = "arm64"
)

// MachineImageCreateRequest is the body of [MachineImagesService.Create].
type MachineImageCreateRequest struct {
	// VM is the ID of the VM to copy; a name is [ErrInvalidRequest]. Required.
	// The VM must be stopped and in the image's location, and have a single
	// disk, encrypted and of at most 40 GiB.
	VM string `json:"vm"`

	// Version names the first version: up to 64 letters, digits, dots, hyphens
	// and underscores, beginning with a letter or digit. The default, which
	// ListVersions returns, is the time in UTC, such as "20261122033026".
	Version string `json:"version,omitzero"`

	// DestroySource makes the server delete the VM when the version is ready.
	DestroySource bool `json:"destroy_source,omitzero"`
}

func (r MachineImageCreateRequest) checkIDs() *ArgumentError { return checkID("vm", r.VM) }

// MachineImageUpdateRequest is the body of [MachineImagesService.Update].
type MachineImageUpdateRequest struct {
	LatestVersion string `json:"latest_version"` // required; the version must be ready
}

const machineImageRoute = locationRoute + "/machine-image/{machine_image_reference}"

var (
	opMachineImagesList           = Operation{"MachineImages.List", "GET", projectRoute + "/machine-image", idempotent | august2026}
	opMachineImagesListInLocation = Operation{"MachineImages.ListInLocation", "GET", locationRoute + "/machine-image", idempotent | august2026}
	opMachineImagesGet            = Operation{"MachineImages.Get", "GET", machineImageRoute, idempotent | august2026}
	opMachineImagesCreate         = Operation{"MachineImages.Create", "POST", machineImageRoute, once | august2026}
	opMachineImagesUpdate         = Operation{"MachineImages.Update", "PATCH", machineImageRoute, idempotent | august2026}
	opMachineImagesDelete         = Operation{"MachineImages.Delete", "DELETE", machineImageRoute, idempotent | august2026}
	opMachineImagesRename         = Operation{"MachineImages.Rename", "POST", machineImageRoute + "/rename", idempotent | august2026}

	listMachineImages  = listRoutes{project: &opMachineImagesList, location: &opMachineImagesListInLocation}
	machineImageFamily = family[MachineImage, *MachineImage]{lists: &listMachineImages, get: &opMachineImagesGet, del: &opMachineImagesDelete, pauses: waitQuick}
)

// List returns one page of the project's machine images, or of those in
// [ListOptions.Location].
//
// Requires the August 2026 API.
func (s *MachineImagesService) List(ctx context.Context, opts *ListOptions) (*Page[MachineImage], error) {
	return list[MachineImage](ctx, s.conn, &listMachineImages, opts)
}

// All returns the project's machine images, or those in [ListOptions.Location],
// page by page.
//
// Requires the August 2026 API.
func (s *MachineImagesService) All(ctx context.Context, opts *ListOptions) iter.Seq2[*MachineImage, error] {
	return all[MachineImage](ctx, s.conn, &listMachineImages, opts)
}

// Watch yields the project's machine images, or those in
// [WatchOptions.Location], and then their changes, until the context ends. Of
// the versions, records show only which one is the latest.
func (s *MachineImagesService) Watch(ctx context.Context, opts *WatchOptions) iter.Seq2[Event[MachineImage], error] {
	return machineImageFamily.watch(ctx, s.conn, opts)
}

// Get returns a machine image, or [ErrNotFound] if it does not exist.
//
// Requires the August 2026 API.
func (s *MachineImagesService) Get(ctx context.Context, location, image string) (*MachineImage, error) {
	return fetch[MachineImage](ctx, s.conn, &opMachineImagesGet, location, image)
}

// Create makes a machine image with the given name, at once, and starts to make
// its first version, which becomes the latest;
// [MachineImagesService.WaitVersion] waits for it. Until then the VM can be
// neither started nor deleted.
//
// If the name is taken the error is [ErrAlreadyExists]. If the VM is not
// stopped, or cannot be copied for another reason, it is [ErrInvalidRequest].
// If the project has too many versions it is [ErrQuotaExceeded]. If the
// response is lost it is [ErrOutcomeUnknown]: look the name up with Get.
//
// Requires the August 2026 API.
func (s *MachineImagesService) Create(ctx context.Context, location, name string, request *MachineImageCreateRequest) (*MachineImage, error) {
	return send[MachineImage](ctx, s.conn, &opMachineImagesCreate, request, location, name)
}

// Ensure creates a machine image unless there is one of that name; see
// [EnsureOptions]. The name must not be an ID. Ensure checks that the image has
// the version, in whatever state. Update makes the version from the VM;
// [MachineImagesService.WaitVersion] waits for it.
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

// Update makes another version the latest one, at once. If the version does not
// exist or is not ready the error is [ErrInvalidRequest].
//
// Requires the August 2026 API.
func (s *MachineImagesService) Update(ctx context.Context, location, image string, request *MachineImageUpdateRequest) (*MachineImage, error) {
	return send[MachineImage](ctx, s.conn, &opMachineImagesUpdate, request, location, image)
}

// Delete deletes a machine image without versions, at once. If it has versions,
// even ones that are being deleted, the error is [ErrInvalidRequest]: delete
// them first with [MachineImagesService.DeleteVersion]. Deleting an image that
// does not exist is not an error. Pass the ID: a delete is retried after a lost
// response, and by name it could delete another image that has taken the name
// meanwhile.
//
// Requires the August 2026 API.
func (s *MachineImagesService) Delete(ctx context.Context, location, image string) error {
	return remove(ctx, s.conn, &opMachineImagesDelete, location, image)
}

// Rename gives a machine image another name; VMs that were created from it show
// the old one. If the name is taken the error is [ErrAlreadyExists]. Pass the
// ID: only then is the call idempotent.
//
// Requires the August 2026 API.
func (s *MachineImagesService) Rename(ctx context.Context, location, image, newName string) (*MachineImage, error) {
	return send[MachineImage](ctx, s.conn, &opMachineImagesRename, renameRequest{newName}, location, image)
}
