package cloudapi

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"
)

// MachineImageVersion is a version of a machine image. Methods take Version.
type MachineImageVersion struct {
	ID             string    `json:"id"`               // prefix mv
	Version        string    `json:"version"`          // its label, unique in its image
	State          string    `json:"state"`            // a MachineImageVersionState constant, or another; "" if nothing is stored
	ActualSizeMiB  int       `json:"actual_size_mib"`  // of the disk; 0 until it's ready
	ArchiveSizeMiB int       `json:"archive_size_mib"` // of the stored data, which is billed; 0 until it's ready
	CreatedAt      time.Time `json:"created_at"`
	Latest         bool      `json:"latest"` // whether it's the latest version of its image
}

func (v *MachineImageVersion) lacks() string        { return lacksID(v.ID) }
func (v *MachineImageVersion) cursor(string) string { return v.ID }

// Resource identifies the version.
func (v *MachineImageVersion) Resource() Resource {
	return Resource{Kind: KindMachineImageVersion, ID: v.ID, Name: v.Version}
}
func (v *MachineImageVersion) stateText() string { return v.State }

// Known values of [MachineImageVersion.State].
const (
	MachineImageVersionStateCreating   = "creating"
	MachineImageVersionStateReady      = "ready"
	MachineImageVersionStateFailed     = "failed"     // until it's deleted
	MachineImageVersionStateDestroying = "destroying" // until it's gone
)

// MachineImageVersionCreateRequest is the body of
// [MachineImagesService.CreateVersion].
type MachineImageVersionCreateRequest struct {
	VM            string `json:"vm"`                      // as in MachineImageCreateRequest, with the image's Arch; required
	DestroySource bool   `json:"destroy_source,omitzero"` // as in MachineImageCreateRequest
}

func (r MachineImageVersionCreateRequest) checkIDs() *ArgumentError { return checkID("vm", r.VM) }

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

// CreateVersion adds a version to a machine image, with a label as in
// [MachineImageCreateRequest]; [MachineImagesService.WaitVersion] waits until
// it's ready and the latest. It returns [ErrAlreadyExists] if the image has the
// label, and otherwise fails like [MachineImagesService.Create]. After
// [ErrOutcomeUnknown], AllVersions shows whether the image has the label.
func (s *MachineImagesService) CreateVersion(ctx context.Context, location, image, version string, request *MachineImageVersionCreateRequest) (*MachineImageVersion, error) {
	return send[MachineImageVersion](ctx, s.conn, &opMachineImagesCreateVersion, request, location, image, version)
}

// DeleteVersion deletes a version; [MachineImagesService.WaitVersionDeleted]
// waits until it's gone. The server keeps it while VMs use it. If it's the
// latest, the newest of the other ready versions becomes the latest. Unlike
// most deletions, it returns [ErrNotFound] if the version doesn't exist. If
// Error.Attempts is more than 1, an earlier attempt may have deleted it.
func (s *MachineImagesService) DeleteVersion(ctx context.Context, location, image, version string) error {
	return remove(ctx, s.conn, &opMachineImagesDeleteVersion, location, image, version)
}

// WaitVersion waits until a version is ready, and returns it. That takes up to
// 4 minutes for each 10 GiB. It also fails if the version has failed.
func (s *MachineImagesService) WaitVersion(ctx context.Context, location, image, version string, opts *WaitOptions) (*MachineImageVersion, error) {
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

// WaitVersionDeleted waits until a version or its image is gone. It returns an
// [*ArgumentError] for a label that DeleteVersion refuses, such as an ID.
func (s *MachineImagesService) WaitVersionDeleted(ctx context.Context, location, image, version string, opts *WaitOptions) error {
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
		lacks: func(versions *[]*MachineImageVersion) string {
			return unless(!slices.ContainsFunc(*versions, func(v *MachineImageVersion) bool { return v.Version == "" }), "version")
		},
	}
	_, err := w.run(ctx, opts)
	return err
}
