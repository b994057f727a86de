package cloudapi

import (
	"context"
	"iter"
)

// PrivateLocationsService manages private locations: regions of another
// provider, in which the server creates resources with your own credentials.
// Methods take a location's name, [PrivateLocation.UIName], not its ID.
type PrivateLocationsService service

// PrivateLocation is a region of another provider.
type PrivateLocation struct {
	ID       string `json:"id"`       // prefix 10; no operation takes it
	Name     string `json:"name"`     // the region: a constant such as [PrivateLocationProviderLocationNameUSEast1]; need not be unique
	UIName   string `json:"ui_name"`  // the name you gave it, unique in its project
	Provider string `json:"provider"` // such as "aws"
	Path     string `json:"path"`     // path within the project: "/private-location/" and UIName
}

// cursor returns what the server sorts by, which is never UIName.
func (l *PrivateLocation) cursor(column string) string {
	if column == OrderByName {
		return l.Name
	}
	return l.ID
}

func (l *PrivateLocation) Resource() Resource {
	return Resource{Kind: KindPrivateLocation, ID: l.ID, Name: l.UIName}
}

// Values of [PrivateLocationCreateRequest.ProviderLocationName].
const (
	PrivateLocationProviderLocationNameUSWest2      = "us-west-2"
	PrivateLocationProviderLocationNameUSEast1      = "us-east-1"
	PrivateLocationProviderLocationNameUSEast2      = "us-east-2"
	PrivateLocationProviderLocationNameAPSoutheast2 = "ap-southeast-2"
	PrivateLocationProviderLocationNameEUWest1      = "eu-west-1"
)

// PrivateLocationCreateRequest is the body of [PrivateLocationsService.Create].
// All fields are required. The server doesn't check the credentials.
type PrivateLocationCreateRequest struct {
	ProviderLocationName string `json:"provider_location_name"` // the region: a constant such as [PrivateLocationProviderLocationNameUSEast1]
	AccessKey            Secret `json:"access_key"`
	SecretKey            Secret `json:"secret_key"`
}

// privateLocationBody is the body of a PrivateLocationCreateRequest.
type privateLocationBody struct {
	named
	PrivateLocationCreateRequest
}

const privateLocationRoute = projectRoute + "/private-location/{private_location_name}"

var (
	opPrivateLocationsList   = Operation{"PrivateLocations.List", "GET", projectRoute + "/private-location", idempotent}
	opPrivateLocationsCreate = Operation{"PrivateLocations.Create", "POST", projectRoute + "/private-location", once}
	opPrivateLocationsGet    = Operation{"PrivateLocations.Get", "GET", privateLocationRoute, idempotent}
	opPrivateLocationsRename = Operation{"PrivateLocations.Rename", "POST", privateLocationRoute, once}
	opPrivateLocationsDelete = Operation{"PrivateLocations.Delete", "DELETE", privateLocationRoute, idempotent}

	listPrivateLocations = listRoutes{project: &opPrivateLocationsList}

	privateLocationFamily = family[PrivateLocation]{lists: &listPrivateLocations, get: &opPrivateLocationsGet, del: &opPrivateLocationsDelete, pauses: &waitQuick}
)

// List returns one page of the private locations. An order by name uses
// [PrivateLocation.Name], the region.
func (s *PrivateLocationsService) List(ctx context.Context, opts *ListOptions) (*Page[PrivateLocation], error) {
	return list[PrivateLocation](ctx, s.conn, &listPrivateLocations, opts)
}

// All iterates over the private locations.
func (s *PrivateLocationsService) All(ctx context.Context, opts *ListOptions) iter.Seq2[*PrivateLocation, error] {
	return all[PrivateLocation](ctx, s.conn, &listPrivateLocations, opts)
}

// Watch yields the private locations and then their changes.
func (s *PrivateLocationsService) Watch(ctx context.Context, opts *WatchOptions, known ...*PrivateLocation) iter.Seq2[Event[PrivateLocation], error] {
	return privateLocationFamily.watch(ctx, s.conn, opts, known)
}

// Create creates a private location. The name is the UIName; the server also
// accepts the name of a public location, but don't use one.
func (s *PrivateLocationsService) Create(ctx context.Context, name string, request *PrivateLocationCreateRequest) (*PrivateLocation, error) {
	return send[PrivateLocation](ctx, s.conn, &opPrivateLocationsCreate, privateLocationBody{named{name}, orZero(request)})
}

// Get returns a private location.
func (s *PrivateLocationsService) Get(ctx context.Context, name string) (*PrivateLocation, error) {
	return perform[PrivateLocation](ctx, s.conn, &opPrivateLocationsGet, name)
}

// Rename changes the UIName of a private location, and so the location of all
// resources in it. After [ErrOutcomeUnknown], look for the new name.
func (s *PrivateLocationsService) Rename(ctx context.Context, name, newName string) (*PrivateLocation, error) {
	return send[PrivateLocation](ctx, s.conn, &opPrivateLocationsRename, renameRequest{newName}, name)
}

// Ensure creates a private location unless one with the name exists. It
// compares provider_location_name, but can't compare the credentials.
func (s *PrivateLocationsService) Ensure(ctx context.Context, name string, request *PrivateLocationCreateRequest, opts *EnsureOptions) (privateLocation *PrivateLocation, outcome EnsureOutcome, err error) {
	if request == nil {
		return nil, "", &ArgumentError{Operation: "PrivateLocations.Ensure", Name: "request", Reason: "must not be nil"}
	}
	return privateLocationFamily.ensure(ctx, s.conn, "", name, ensureSpec[PrivateLocation]{
		request: request,
		create:  func(ctx context.Context) (*PrivateLocation, error) { return s.Create(ctx, name, request) },
		compare: func(_ context.Context, l *PrivateLocation) (comparison, error) {
			return compared(request.Compare(l)), nil
		},
		unshown: []string{"access_key", "secret_key"},
	}, opts)
}

// Compare returns the difference between a private location and the request, in
// provider_location_name, which only a replacement removes. It can't compare the
// credentials.
func (r *PrivateLocationCreateRequest) Compare(l *PrivateLocation) (differences []Drift, uncompared []string) {
	if r == nil {
		return nil, nil
	}
	var c comparison
	wants(&c, "provider_location_name", r.ProviderLocationName, l.Name)
	c.skip("access_key", !r.AccessKey.IsZero())
	c.skip("secret_key", !r.SecretKey.IsZero())
	return c.result()
}

// Delete deletes a private location; see WaitDeleted. It returns [ErrConflict]
// if the private location has databases. Other resources, and backups, which the
// server keeps for at least 10 days, delay the deletion; with the contract, they
// make Delete return [ErrServer]. Don't reuse the name until Delete has
// returned: a retry could delete the new location.
func (s *PrivateLocationsService) Delete(ctx context.Context, name string) error {
	return remove(ctx, s.conn, &opPrivateLocationsDelete, name)
}

// WaitDeleted waits until a private location is gone and its name is free. That
// takes days if the private location has backups. With an ID, which other
// methods don't take, it waits for that one whatever its name is.
func (s *PrivateLocationsService) WaitDeleted(ctx context.Context, nameOrID string, opts *WaitOptions) error {
	return privateLocationFamily.waitDeleted(ctx, s.conn, "", nameOrID, opts)
}
