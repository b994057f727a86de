package cloudapi

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"
)

// MachineImageVersion is a version of a machine image.
type MachineImageVersion struct {
	ID      string `json:"id"`      // prefix mv
	Version string `json:"version"` // its label, unique in its image
	State   string `json:"state"`   // one of the MachineImageVersionState constants, or another; "" if nothing is stored

	ActualSizeMiB  int `json:"actual_size_mib"`  // size of the disk; 0 until the version is ready
	ArchiveSizeMiB int `json:"archive_size_mib"` // size of the stored data, which is billed; 0 until the version is ready

	CreatedAt time.Time `json:"created_at"`
	Latest    bool      `json:"latest"` // whether it is the latest version of its image
}

func (v *MachineImageVersion) lacks() string        { return lacksID(v.ID) }
func (v *MachineImageVersion) cursor(string) string { return v.ID }
func (v *MachineImageVersion) identity() Resource {
	return Resource{Kind: KindMachineImageVersion, ID: v.ID, Name: v.Version}
}
func (v *MachineImageVersion) stateText() string { return v.State }

// Known values of [MachineImageVersion.State].
const (
	MachineImageVersionStateCreating   = "creating"
	MachineImageVersionStateReady      = "ready"
	MachineImageVersionStateFailed     = "failed"     // until it is deleted
	MachineImageVersionStateDestroying = "destroying" // until it is gone
)

// MachineImageVersionCreateRequest is the body of
// [MachineImagesService.CreateVersion].
type MachineImageVersionCreateRequest struct {
	// VM is as in [MachineImageCreateRequest]; it must have the image's
	// architecture. Required.
	VM string `json:"vm"`

	// DestroySource makes the server delete the VM when the version is ready.
	DestroySource bool `json:"destroy_source,omitzero"`
}

func (r MachineImageVersionCreateRequest) checkIDs() *ArgumentError { return checkID("vm", r.VM) }

const machineImageVersionRoute = machineImageRoute + "/version/{version}"

var (
	opMachineImagesListVersions  = Operation{"MachineImages.ListVersions", "GET", machineImageRoute + "/version", idempotent | august2026}
	opMachineImagesCreateVersion = Operation{"MachineImages.CreateVersion", "POST", machineImageVersionRoute, once | august2026}
	opMachineImagesDeleteVersion = Operation{"MachineImages.DeleteVersion", "DELETE", machineImageVersionRoute, idempotent | august2026}

	listMachineImageVersions = listRoutes{project: &opMachineImagesListVersions}
)

// ListVersions returns one page of the versions of a machine image. The order
// is by ID only.
//
// Requires the August 2026 API.
func (s *MachineImagesService) ListVersions(ctx context.Context, location, image string, opts *ListOptions) (*Page[MachineImageVersion], error) {
	return list[MachineImageVersion](ctx, s.conn, &listMachineImageVersions, opts, location, image)
}

// AllVersions returns the versions of a machine image, page by page.
//
// Requires the August 2026 API.
func (s *MachineImagesService) AllVersions(ctx context.Context, location, image string, opts *ListOptions) iter.Seq2[*MachineImageVersion, error] {
	return all[MachineImageVersion](ctx, s.conn, &listMachineImageVersions, opts, location, image)
}

// CreateVersion starts to make another version of a machine image, with a label
// as in [MachineImageCreateRequest]. It becomes the latest when it is ready;
// [MachineImagesService.WaitVersion] waits for it. If the image already has the
// label the error is [ErrAlreadyExists]. If the response is lost it is
// [ErrOutcomeUnknown]: look for the label with AllVersions. Other errors are
// those of [MachineImagesService.Create].
//
// Requires the August 2026 API.
func (s *MachineImagesService) CreateVersion(ctx context.Context, location, image, version string, request *MachineImageVersionCreateRequest) (*MachineImageVersion, error) {
	return send[MachineImageVersion](ctx, s.conn, &opMachineImagesCreateVersion, request, location, image, version)
}

// DeleteVersion starts to delete a version, given by its label;
// [MachineImagesService.WaitVersionDeleted] waits for the end. The server does
// not delete the version while VMs use it. If it was the latest, the newest of
// the other ready versions becomes the latest. Unlike most deletes,
// DeleteVersion returns [ErrNotFound] if the version does not exist. After a
// lost response that can be the result of the call itself, since it is retried:
// [Error.Attempts] is then more than 1.
//
// Requires the August 2026 API.
func (s *MachineImagesService) DeleteVersion(ctx context.Context, location, image, version string) error {
	return remove(ctx, s.conn, &opMachineImagesDeleteVersion, location, image, version)
}

// WaitVersion waits until a version, given by its label, is ready, and returns
// it. That takes up to 4 minutes for each 10 GiB. It fails if the version
// failed, is being deleted, or does not exist. The error is a [*WaitError].
func (s *MachineImagesService) WaitVersion(ctx context.Context, location, image, version string, opts ...WaitOption) (*MachineImageVersion, error) {
	w := waiter[MachineImageVersion]{
		operation: "MachineImages.WaitVersion",
		resource:  place(location, image) + "@" + version,
		config:    waitSlow,
		fetch: func(ctx context.Context) (*MachineImageVersion, error) {
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

// WaitVersionDeleted waits until a deleted version, given by its label, or its
// image is gone. The error is a [*WaitError], or an [*ArgumentError] for a
// label that DeleteVersion refuses, such as an ID.
func (s *MachineImagesService) WaitVersionDeleted(ctx context.Context, location, image, version string, opts ...WaitOption) error {
	if err := opMachineImagesDeleteVersion.checkArgs(s.conn.config.project, location, image, version); err != nil {
		return err
	}
	w := waiter[[]*MachineImageVersion]{
		operation: "MachineImages.WaitVersionDeleted",
		resource:  place(location, image),
		config:    waitSlow,
		gone:      true,
		fetch: func(ctx context.Context) (*[]*MachineImageVersion, error) {
			versions, err := Collect(s.AllVersions(ctx, location, image, nil))
			return &versions, err
		},
		done: func(versions *[]*MachineImageVersion) (bool, error) {
			return !slices.ContainsFunc(*versions, func(v *MachineImageVersion) bool { return v.Version == version }), nil
		},
	}
	_, err := w.run(ctx, opts)
	return err
}
