package sdktest

import (
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// PrivateLinks is a project with what private link services need: a private
// location "own", and a running database "db" in its subnet "net".
type PrivateLinks struct {
	Server   *cloudapitest.Server
	Client   *cloudapi.Client
	Subnet   *cloudapi.PrivateSubnet
	Postgres *cloudapi.Postgres
}

// NewPrivateLinks creates the project on a server of the service.
func NewPrivateLinks(t *testing.T, features ...cloudapitest.Feature) *PrivateLinks {
	t.Helper()
	p := &PrivateLinks{Server: cloudapitest.New(t, cloudapitest.WithAPI(cloudapitest.Service), cloudapitest.WithLog(failingLog{t}))}
	p.Server.SetFeatures(p.Server.ProjectID(), features...)
	p.Client = p.Server.Client()
	ctx, c := t.Context(), p.Client
	stub.Must(c.PrivateLocations.Create(ctx, "own", &cloudapi.PrivateLocationCreateRequest{ProviderLocationName: cloudapi.PrivateLocationProviderLocationNameUSWest2,
		AccessKey: cloudapi.NewSecret("access"), SecretKey: cloudapi.NewSecret("secret")}))(t)
	stub.Must(c.Postgres.Create(ctx, "own", "db", &cloudapi.PostgresCreateRequest{Size: "m8gd.large", StorageSize: 118, PrivateSubnetName: "net"}))(t)
	p.Postgres = stub.Must(c.Postgres.WaitRunning(ctx, "own", "db", nil))(t)
	p.Subnet = stub.Must(c.PrivateSubnets.Get(ctx, "own", "net"))(t)
	return p
}

// failingLog is a server's log whose lines fail the test.
type failingLog struct{ t *testing.T }

func (l failingLog) Write(line []byte) (int, error) {
	l.t.Errorf("the server logs %s", line)
	return len(line), nil
}
