package families

import (
	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

func machineImageOperations() []api.Operation {
	const (
		all   = api.ProjectRoute + "/machine-image"
		local = api.LocationRoute + "/machine-image"
		one   = local + "/{machine_image_reference}"
	)
	return []api.Operation{
		api.GET("MachineImages.List", all, api.List(cloudapi.KindMachineImage, (*machineImage).record)).Paged(api.PagedDeclared).Since(version.August2026),
		api.GET("MachineImages.ListInLocation", local, api.List(cloudapi.KindMachineImage, (*machineImage).record)).Paged(api.PagedDeclared).Since(version.August2026),
		api.GET("MachineImages.Get", one, api.Show(findMachineImage, (*machineImage).record)).Since(version.August2026),
	}
}

type machineImage struct {
	api.Object
}

type machineImageRecord struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Location string `json:"location"`
}

func (m *machineImage) record(*api.Call) machineImageRecord {
	return machineImageRecord{m.ID, m.Name, m.Location.Name}
}

func findMachineImage(c *api.Call) (*machineImage, error) {
	return api.Find[*machineImage](c, cloudapi.KindMachineImage, "machine_image_reference")
}
