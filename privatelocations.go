package cloudapi

import (
	"context"
	"iter"
)

// PrivateLocationsService works with private locations: regions of another
// provider in which resources are made with your own credentials.
//
// The reference is the name that was given to the private location,
// [PrivateLocation.UIName], and not its ID.
type PrivateLocationsService service

// PrivateLocation is a region of another provider.
type PrivateLocation struct {
	ID string `json:"id"` // prefix 10; no operation takes it

	// Name is the provider's name of the region, one of the ProviderLocation
	// constants. It need not be unique, and is not the reference of the private
	// location.
	Name string `json:"name"`

	// UIName is the name that was given to the private location, unique in its
	// project. It is the reference of the private location, and the location of
	// the resources in it.
	UIName string `json:"ui_name"`

	Provider string `json:"provider"` // such as "aws"
	Path     string `json:"path"`     // path within the project: "/private-location/" and UIName
}

func (l *PrivateLocation) lacks() string               { return lacksID(l.ID) }
func (l *PrivateLocation) cursor(column string) string { return idOrName(column, l.ID, l.Name) }
func (l *PrivateLocation) identity() Resource {
	return Resource{Kind: KindPrivateLocation, ID: l.ID, Name: l.UIName}
}

// Values of [PrivateLocationCreateRequest.ProviderLocationName].
const (
	ProviderLocationUSWest2      = "us-west-2"
	ProviderLocationUSEast1      = "us-east-1"
	ProviderLocationUSEast2      = "us-east-2"
	ProviderLocationAPSoutheast2 = "ap-southeast-2"
	ProviderLocationEUWest1      = "eu-west-1"
)

// PrivateLocationCreateRequest is the body of [PrivateLocationsService.Create].
// All fields are required.
type PrivateLocationCreateRequest struct {
	// Name is the name of the private location: 1 to 63 lower-case letters,
	// digits and hyphens, with no hyphen at either end. The real server accepts
	// the name of a public location, but then cannot tell the two apart: do not
	// use one.
	Name string `json:"name"`

	// ProviderLocationName is the region, one of the ProviderLocation
	// constants.
	ProviderLocationName string `json:"provider_location_name"`

	// AccessKey and SecretKey are the credentials for the provider. The real
	// server does not check them until it needs them.
	AccessKey Secret `json:"access_key"`
	SecretKey Secret `json:"secret_key"`
}

func (r *PrivateLocationCreateRequest) newName() string {
	if r == nil {
		return ""
	}
	return r.Name
}

func (r *PrivateLocationCreateRequest) secrets() []Secret {
	return []Secret{r.AccessKey, r.SecretKey}
}

func (r *PrivateLocationCreateRequest) unmasked() any {
	return map[string]string{
		"name":                   r.Name,
		"provider_location_name": r.ProviderLocationName,
		"access_key":             r.AccessKey.Reveal(),
		"secret_key":             r.SecretKey.Reveal(),
	}
}

const privateLocationRoute = projectRoute + "/private-location/{private_location_name}"

var (
	opPrivateLocationsList   = Operation{"PrivateLocations.List", "GET", projectRoute + "/private-location", idempotent}
	opPrivateLocationsCreate = Operation{"PrivateLocations.Create", "POST", projectRoute + "/private-location", once}
	opPrivateLocationsGet    = Operation{"PrivateLocations.Get", "GET", privateLocationRoute, idempotent}
	opPrivateLocationsRename = Operation{"PrivateLocations.Rename", "POST", privateLocationRoute, idempotent}
	opPrivateLocationsDelete = Operation{"PrivateLocations.Delete", "DELETE", privateLocationRoute, idempotent}

	listPrivateLocations = listRoutes{project: &opPrivateLocationsList}

	privateLocationFamily = family[PrivateLocation, *PrivateLocation]{lists: &listPrivateLocations, get: &opPrivateLocationsGet, del: &opPrivateLocationsDelete, pauses: waitQuick, lingers: true}
)

// List returns one page of the project's private locations. The order by name
// is by [PrivateLocation.Name], the region.
func (s *PrivateLocationsService) List(ctx context.Context, opts *ListOptions) (*Page[PrivateLocation], error) {
	return list[PrivateLocation](ctx, s.conn, &listPrivateLocations, opts)
}

// All returns the project's private locations, page by page.
func (s *PrivateLocationsService) All(ctx context.Context, opts *ListOptions) iter.Seq2[*PrivateLocation, error] {
	return all[PrivateLocation](ctx, s.conn, &listPrivateLocations, opts)
}

// Watch yields the project's private locations, and then their changes, until
// the context ends.
func (s *PrivateLocationsService) Watch(ctx context.Context, opts *WatchOptions) iter.Seq2[Event[PrivateLocation], error] {
	return privateLocationFamily.watch(ctx, s.conn, opts)
}

// Create makes a private location, at once. If the name is taken the error is
// [ErrAlreadyExists]. If the response is lost it is [ErrOutcomeUnknown]: look
// the name up with Get.
func (s *PrivateLocationsService) Create(ctx context.Context, request *PrivateLocationCreateRequest) (*PrivateLocation, error) {
	return send[PrivateLocation](ctx, s.conn, &opPrivateLocationsCreate, request)
}

// Get returns a private location, given its UIName, or [ErrNotFound] if it does
// not exist.
func (s *PrivateLocationsService) Get(ctx context.Context, name string) (*PrivateLocation, error) {
	return fetch[PrivateLocation](ctx, s.conn, &opPrivateLocationsGet, name)
}

// Rename gives a private location another UIName, at once. The location of all
// resources in it changes, too. If the name is taken the error is
// [ErrAlreadyExists]. Since the old name is then gone, the call is not retried
// after a lost response, which is [ErrOutcomeUnknown].
func (s *PrivateLocationsService) Rename(ctx context.Context, name, newName string) (*PrivateLocation, error) {
	return send[PrivateLocation](ctx, s.conn, &opPrivateLocationsRename, renameRequest{newName}, name)
}

// Ensure creates a private location unless there is one of that name; see
// [EnsureOptions]. The name must not be an ID. Ensure compares the
// provider_location_name; no record shows the credentials. It cannot update
// anything.
func (s *PrivateLocationsService) Ensure(ctx context.Context, request *PrivateLocationCreateRequest, opts *EnsureOptions) (privateLocation *PrivateLocation, outcome EnsureOutcome, err error) {
	return s.ensurer(request).ensure(ctx, "PrivateLocations.Ensure", opts)
}

// ensurer returns what Ensure needs to know about private locations.
func (s *PrivateLocationsService) ensurer(request *PrivateLocationCreateRequest) ensureSpec[PrivateLocation] {
	if request == nil {
		return ensureSpec[PrivateLocation]{invalid: &ArgumentError{Name: "request", Reason: "must not be nil"}}
	}
	return ensureSpec[PrivateLocation]{
		location: "",
		name:     request.Name,
		pauses:   privateLocationFamily.pauses,
		find:     func(ctx context.Context) (*PrivateLocation, error) { return s.Get(ctx, request.Name) },
		create:   func(ctx context.Context) (*PrivateLocation, error) { return s.Create(ctx, request) },
		compare: func(_ context.Context, l *PrivateLocation) (d drift, err error) {
			wants(&d, "provider_location_name", request.ProviderLocationName, l.Name)
			return d, nil
		},
	}
}

// Delete deletes a private location, given its UIName. A server of October 2025
// deletes it at once, one of August 2026 soon after the response;
// [PrivateLocationsService.WaitDeleted] waits for the end with both. If it has
// databases the error is [ErrConflict]; if it has other resources the real
// server answers [ErrServer]. The real server also answers ErrServer while it
// keeps backups of deleted databases, at least 10 days: until then the location
// cannot be deleted. Deleting one that does not exist is not an error.
//
// There is no delete by ID. A delete is retried after a lost response, and
// could then delete another location with the same name: do not reuse a name
// before the delete has returned.
func (s *PrivateLocationsService) Delete(ctx context.Context, name string) error {
	return remove(ctx, s.conn, &opPrivateLocationsDelete, name)
}

// WaitDeleted waits until a deleted private location, given by its UIName, is
// gone. Its name is free then. Call Delete first: the record does not show a
// deletion, so without one WaitDeleted waits until the context ends. The error
// is a [*WaitError].
func (s *PrivateLocationsService) WaitDeleted(ctx context.Context, name string, opts ...WaitOption) error {
	return privateLocationFamily.waitDeleted(ctx, s.conn, "", name, opts)
}
