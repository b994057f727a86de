package cloudapitest

import (
	"net/http"
	"slices"

	"github.com/cloudapi-sdk/cloudapi"
)

func privateLocationOperations() []operation {
	const (
		all = projectRoute + "/private-location"
		one = all + "/{private_location_name}"
	)
	create := closed(
		required("name", text),
		required("provider_location_name", oneOf("us-west-2", "us-east-1", "us-east-2", "ap-southeast-2", "eu-west-1")),
		required("access_key", text),
		required("secret_key", text),
	)
	return []operation{
		{name: "PrivateLocations.List", method: http.MethodGet, route: all, list: pagedUndeclared, guarded: true, handle: listPrivateLocations},
		{name: "PrivateLocations.Create", method: http.MethodPost, route: all, body: create, guarded: true, handle: createPrivateLocation},
		{name: "PrivateLocations.Get", method: http.MethodGet, route: one, handle: getPrivateLocation},
		{name: "PrivateLocations.Rename", method: http.MethodPost, route: one, body: closed(required("name", text)), handle: renamePrivateLocation},
		{name: "PrivateLocations.Delete", method: http.MethodDelete, route: one, handle: deletePrivateLocation},
	}
}

// privateLocation is a project's own location as a resource. Its name is also
// that of the location, but the record calls the region its name.
type privateLocation struct {
	object
	place *location
}

type privateLocationRecord struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	UIName   string `json:"ui_name"`
	Provider string `json:"provider"`
	Path     string `json:"path"`
}

func recordPrivateLocation(l *privateLocation) privateLocationRecord {
	return privateLocationRecord{l.id, l.place.region, l.name, "aws", "/private-location/" + l.name}
}

// findPrivateLocation finds by name only.
func findPrivateLocation(c *call) (*privateLocation, error) {
	l, ok := findByName[*privateLocation](c, cloudapi.KindPrivateLocation, c.params["private_location_name"])
	switch {
	case !ok:
		return nil, notFound()
	case !c.permitted():
		return nil, forbidden()
	}
	return l, nil
}

func listPrivateLocations(c *call) (any, error) {
	region := func(l *privateLocation) string { return l.place.region }
	return paginate(c, listed(c, cloudapi.KindPrivateLocation), region, recordPrivateLocation)
}

// createPrivateLocation does not care what the credentials are.
func createPrivateLocation(c *call) (any, error) {
	for _, name := range []string{"access_key", "secret_key"} {
		if _, err := c.body.nonEmpty(name); err != nil {
			return nil, err
		}
	}
	name, err := c.newName()
	if err != nil {
		return nil, err
	}
	l := &privateLocation{
		object: c.newObject(cloudapi.KindPrivateLocation, name),
		place:  &location{name: name, owner: c.project, region: c.body.text("provider_location_name")},
	}
	if err := l.checkName(c, name); err != nil {
		return nil, err
	}
	c.state.add(l)
	c.state.locations = append(c.state.locations, l.place)
	return recordPrivateLocation(l), nil
}

// checkName checks that the location may get the name. That of a public
// location is none of those taken.
func (l *privateLocation) checkName(c *call, name string) error {
	if o, ok := findByName[*privateLocation](c, cloudapi.KindPrivateLocation, name); ok && o != l {
		return alreadyTaken("project_id and display_name is already taken, project_id and ui_name")
	}
	return nil
}

func getPrivateLocation(c *call) (any, error) {
	l, err := findPrivateLocation(c)
	if err != nil {
		return nil, err
	}
	return recordPrivateLocation(l), nil
}

// renamePrivateLocation changes the paths of all that is in the location, too.
func renamePrivateLocation(c *call) (any, error) {
	l, err := findPrivateLocation(c)
	if err != nil {
		return nil, err
	}
	name, err := c.newName()
	if err == nil {
		err = l.checkName(c, name)
	}
	if err != nil {
		return nil, err
	}
	c.state.index.rename(l, name)
	l.place.name = name
	return recordPrivateLocation(l), nil
}

// deletePrivateLocation looks for databases only. Like the real server it fails
// if there is something else in the location.
func deletePrivateLocation(c *call) (any, error) {
	l, err := findPrivateLocation(c)
	if err != nil {
		return deletedOr(err)
	}
	for sc, s := range c.state.index {
		switch {
		case sc.location != l.place || len(s.created) == 0:
		case sc.kind == cloudapi.KindPostgres:
			return nil, dependency("Private location '%s' has some resources, first, delete them.", l.name)
		default:
			err = unexpected()
		}
	}
	if err != nil {
		return nil, err
	}
	c.remove(l, 0, nil)
	c.state.locations = slices.DeleteFunc(c.state.locations, func(place *location) bool { return place == l.place })
	return noContent{}, nil
}
