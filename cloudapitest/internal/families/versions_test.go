package families_test

import (
	"testing"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

// TestVersionsRefuseEachOthersFields sends fields to each version that only the
// other one has.
func TestVersionsRefuseEachOthersFields(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		version cloudapitest.API
		script  string
	}{
		{cloudapitest.Contract, `{"cidr":"10.0.0.0/8","protocol":"udp"}`},
		{cloudapitest.Service, `{"cidr":"10.0.0.0/8","rank":1}`},
	} {
		srv := cloudapitest.New(t, cloudapitest.WithAPI(tt.version), cloudapitest.Lenient())
		at := "/project/" + srv.ProjectID() + "/location/" + here + "/firewall/web"
		stub.Do(t, srv, "POST", at, "{}")
		if status, body := stub.Do(t, srv, "POST", at+"/firewall-rule", tt.script); status != 400 {
			t.Errorf("%s: %d %s", tt.version, status, body)
		}
	}
	srv := cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Service), cloudapitest.Lenient())
	if status, _ := stub.Do(t, srv, "POST", "/project/"+srv.ProjectID()+"/vm-init-script", `{"name":"setup","script":"x"}`); status != 404 {
		t.Errorf("an init script is registered: %d", status)
	}
}
