package wire_test

import (
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

func privateLocationCases() []wireCase {
	const (
		base = projectPath + "/private-location"
		own  = base + "/acme-aws-east"
		full = `{"id":"10d4d921hrsy5m9pc5f623tnyc","name":"us-east-1","ui_name":"acme-aws-east","provider":"aws","path":"/private-location/acme-aws-east"}`
	)
	return []wireCase{
		{do("PrivateLocations.List", nil), "GET " + base, list(full)},
		// The server sorts by the name in the record, which is the region.
		{do("PrivateLocations.List", &cloudapi.ListOptions{OrderColumn: cloudapi.OrderByName, PageSize: 1}), "GET " + base + "?order_column=name&page_size=1", list(full)},
		{do("PrivateLocations.All", nil), "GET " + base + "?page_size=1000", list(full)},
		{
			do("PrivateLocations.Create", "acme-aws-east", &cloudapi.PrivateLocationCreateRequest{
				ProviderLocationName: cloudapi.PrivateLocationProviderLocationNameUSEast1,
				AccessKey:            cloudapi.NewSecret("AKIAEXAMPLE"), SecretKey: cloudapi.NewSecret(`inven+ed/"secret`),
			}),
			"POST " + base + ` {"access_key":"AKIAEXAMPLE","name":"acme-aws-east","provider_location_name":"us-east-1","secret_key":"inven+ed/\"secret"}`,
			full,
		},
		{do("PrivateLocations.Get", "acme-aws-east"), "GET " + own, full},
		{do("PrivateLocations.Rename", "acme-aws", "acme-aws-east"), "POST " + base + `/acme-aws {"name":"acme-aws-east"}`, full},
		{do("PrivateLocations.Delete", "acme-aws-east"), "DELETE " + own, nil},
	}
}

func TestPrivateLocationWaits(t *testing.T) {
	t.Parallel()
	const (
		record = `{"id":"10rypbds80cj7mrjh6yre7xqe8","name":"us-west-2","ui_name":"mine"}`
		again  = `{"id":"10gvqwdeswre7m2ps1kfabv2x8","name":"us-west-2","ui_name":"mine"}`
	)
	deleted := do("PrivateLocations.WaitDeleted", "mine")
	runWaits(t, quick, projectPath+"/private-location/mine", []waitCase{
		{"deleted", deleted, polls{record, record, stub.Envelope(404)}, nil, ""},
		{"deleted and created again", deleted, polls{record, again}, nil, ""},
	})
	const list = `{"items":[` + record + `],"count":1}`
	runWaits(t, quick, projectPath+"/private-location?page_size=1000", []waitCase{
		{"by ID", do("PrivateLocations.WaitDeleted", "10rypbds80cj7mrjh6yre7xqe8"), polls{list, list, `{"items":[` + again + `],"count":1}`}, nil, ""},
	})
}
