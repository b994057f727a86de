package families

import (
	"slices"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/schema"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

func privateLocationOperations() []api.Operation {
	const (
		all = api.ProjectRoute + "/private-location"
		one = all + "/{private_location_name}"
	)
	create := schema.Closed(
		schema.Required("name", schema.Text),
		schema.Required("provider_location_name", schema.OneOf("us-west-2", "us-east-1", "us-east-2", "ap-southeast-2", "eu-west-1")),
		schema.Required("access_key", schema.Text),
		schema.Required("secret_key", schema.Text),
	)
	return []api.Operation{
		api.GET("PrivateLocations.List", all, listPrivateLocations).Paged(api.PagedUndeclared).Guarded(),
		api.POST("PrivateLocations.Create", all, create, createPrivateLocation).Guarded(),
		api.GET("PrivateLocations.Get", one, api.Show(findPrivateLocation, (*privateLocation).record)),
		api.POST("PrivateLocations.Rename", one, nameOnly, api.On(findPrivateLocation, (*privateLocation).rename)),
		api.DELETE("PrivateLocations.Delete", one, api.Delete(findPrivateLocation, (*privateLocation).delete)),
	}
}

// privateLocation is a private location as a resource. Its record has the
// location's name in the field "ui_name", and the region in the field "name".
type privateLocation struct {
	api.Object
	location *api.Location
}

type privateLocationRecord struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	UIName   string `json:"ui_name"`
	Provider string `json:"provider"`
	Path     string `json:"path"`
}

func (l *privateLocation) record(*api.Moment) privateLocationRecord {
	return privateLocationRecord{l.ID, l.location.Region, l.Name, "aws", "/private-location/" + l.Name}
}

func (r *privateLocationRecord) load(l *loader) error {
	o, err := l.object(r.ID, r.UIName)
	if err != nil {
		return err
	}
	location := &api.Location{Name: r.UIName, Owner: l.Project, Region: r.Name}
	l.State.Add(&privateLocation{o, location})
	l.State.Locations = append(l.State.Locations, location)
	return nil
}

func findPrivateLocation(c *api.Call) (*privateLocation, error) {
	l, ok := api.FindByName[*privateLocation](c, cloudapi.KindPrivateLocation, c.Params["private_location_name"])
	return l, c.Admit(l, ok)
}

func listPrivateLocations(c *api.Call) (any, error) {
	region := func(l *privateLocation) string { return l.location.Region }
	return api.Paginate(c, api.Listed(cloudapi.KindPrivateLocation), region, (*privateLocation).record)
}

// createPrivateLocation doesn't check the credentials.
func createPrivateLocation(c *api.Call) (any, error) {
	for _, name := range []string{"name", "access_key", "secret_key"} {
		if _, err := c.Body.NonEmpty(name); err != nil {
			return nil, err
		}
	}
	name, err := c.NewName()
	if err != nil {
		return nil, err
	}
	l := &privateLocation{
		Object:   c.NewObject(cloudapi.KindPrivateLocation, name),
		location: &api.Location{Name: name, Owner: c.Project, Region: c.Body.Text("provider_location_name")},
	}
	if err := l.checkName(c, name); err != nil {
		return nil, err
	}
	c.State.Add(l)
	c.State.Locations = append(c.State.Locations, l.location)
	c.Log("create", l.ID)
	return l.record(c.Moment), nil
}

// checkName checks that no other private location has the name. A public
// location can have the same name.
func (l *privateLocation) checkName(c *api.Call, name string) error {
	if o, ok := api.FindByName[*privateLocation](c, cloudapi.KindPrivateLocation, name); ok && o != l {
		return reply.InvalidRecord(reply.Taken("project_id and display_name"), reply.Taken("project_id and ui_name"))
	}
	return nil
}

// rename also changes the paths of all resources in the location.
func (l *privateLocation) rename(c *api.Call) (any, error) {
	name, err := c.NewName()
	if err == nil {
		err = l.checkName(c, name)
	}
	if err != nil {
		return nil, err
	}
	c.State.Index.Rename(l, name)
	l.location.Name = name
	c.Log("update", l.ID)
	return l.record(c.Moment), nil
}

// delete refuses a location with databases. A location can also have other
// resources, or backups of a deleted database. The contract's delete then
// fails; the service's delete succeeds, but the location remains until they're
// gone.
func (l *privateLocation) delete(c *api.Call) error {
	var delay time.Duration
	switch service := c.Config.Version == version.Service; {
	case slices.Contains(c.State.Index.KindsIn(l.location), cloudapi.KindPostgres):
		return reply.Dependency("Private location '%s' has some resources, first, delete them.", l.Name)
	case service:
		delay = c.Delays(&l.Object).Delete
	case l.Blocked(c.Moment):
		return reply.Unexpected()
	}
	c.Log("destroy", l.ID)
	c.Remove(l, delay)
	return nil
}

// Blocked reports whether the location has resources or backups.
func (l *privateLocation) Blocked(at *api.Moment) bool {
	return len(at.State.Index.KindsIn(l.location)) > 0 || at.Now.Before(l.location.InUse)
}

// Gone removes the location from the locations of new resources.
func (l *privateLocation) Gone(at *api.Moment) {
	at.State.Locations = slices.DeleteFunc(at.State.Locations, func(other *api.Location) bool { return other == l.location })
}
