package ensure_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestEnsurePrivateLink: an update sends only the lists that differ. A list that the
// request doesn't set stays.
func TestEnsurePrivateLink(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := sdktest.NewPrivateLinks(t, cloudapitest.FeaturePrivateLinkServices)
		const root, role, vpce = "arn:aws:iam::123456789012:root", "arn:aws:iam::123456789012:role/reports", "vpce-0123456789abcdef0"
		type request = cloudapi.PrivateLinkServiceCreateRequest
		type aws = cloudapi.PrivateLinkServiceAWSCreateRequest
		endpoints := func(description string) []cloudapi.PrivateLinkServiceVPCEndpoint {
			return []cloudapi.PrivateLinkServiceVPCEndpoint{{VPCEndpointID: vpce, Description: description}}
		}
		full := request{PrivateSubnetID: p.Subnet.ID, Ports: []int{6000, 7000}, TargetPorts: []int{5432, 6432},
			AWS: aws{AllowedPrincipals: []string{root, role}, AllowedVPCEndpoints: endpoints("a"), SupportedRegions: []string{"us-west-2", "us-east-1"}}}
		otherTargets, fewer := full, full
		otherTargets.TargetPorts = []int{6432, 5432}
		fewer.AWS.AllowedPrincipals = []string{root}
		var updates []string
		runSteps(t, p.Server, func(request *request, opts *cloudapi.EnsureOptions) (cloudapi.EnsureOutcome, error) {
			outcome, err := outcomeOf(p.Client.PrivateLinkServices.Ensure(t.Context(), "own", "link", request, opts))
			for _, r := range p.Server.Requests() {
				if r.Method == http.MethodPatch {
					updates = append(updates, string(r.Body))
				}
			}
			return outcome, err
		},
			step[*request]{&full, false, "created", "PrivateLinkServices.Create"},
			step[*request]{nil, true, "unchanged", ""},
			step[*request]{&request{PrivateSubnetID: p.Subnet.ID, TargetPorts: []int{6432}}, true, "unchanged", ""}, // the server ignores them
			step[*request]{&otherTargets, true, "ports is [{6000 5432} {7000 6432}], wanted [{6000 6432} {7000 5432}] (which no update can change)", ""},
			step[*request]{&fewer, true, "updated", "PrivateLinkServices.Update"},
			step[*request]{&request{PrivateSubnetID: p.Subnet.ID, AWS: aws{AllowedVPCEndpoints: endpoints("b")}}, true, "updated", "PrivateLinkServices.Update"},
			step[*request]{&request{PrivateSubnetID: p.Subnet.ID, AWS: aws{SupportedRegions: []string{}}}, true, "updated", "PrivateLinkServices.Update"},
			step[*request]{&request{PrivateSubnetID: p.Subnet.ID, AWS: aws{AllowedPrincipals: []string{root}, AllowedVPCEndpoints: endpoints("b"), SupportedRegions: []string{}}}, true, "unchanged", ""},
		)
		want := `{"aws":{"allowed_principals":["` + root + `"]}} {"aws":{"allowed_vpc_endpoints":[{"vpc_endpoint_id":"` + vpce + `","description":"b"}]}} {"aws":{"supported_regions":[]}}`
		if got := strings.Join(updates, " "); got != want {
			t.Errorf("the updates are %s, want %s", got, want)
		}
	})
}

// TestEnsurePrivateLinkConverges: the server stores lists in a form of its own,
// without the region of the service, which nothing shows until AWS has created it.
func TestEnsurePrivateLinkConverges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := sdktest.NewPrivateLinks(t, cloudapitest.FeaturePrivateLinkServices)
		ctx, links := t.Context(), p.Client.PrivateLinkServices
		request := &cloudapi.PrivateLinkServiceCreateRequest{
			PrivateSubnetID: p.Subnet.ID, Ports: []int{7000, 6000}, TargetPorts: []int{6432, 5432},
			AWS: cloudapi.PrivateLinkServiceAWSCreateRequest{
				AllowedPrincipals: []string{" *", "*", "arn:aws:iam::123456789012:root "},
				AllowedVPCEndpoints: []cloudapi.PrivateLinkServiceVPCEndpoint{
					{VPCEndpointID: "vpce-0123456789abcdef1"}, {VPCEndpointID: " vpce-0123456789abcdef0", Description: " a "}, {VPCEndpointID: " "},
				},
				SupportedRegions: []string{"us-west-2", "us-east-2", "us-east-1", "us-east-1"}, // the location is us-west-2
			},
		}
		ensure := func(want cloudapi.EnsureOutcome) {
			t.Helper()
			link, outcome, err := links.Ensure(ctx, "own", "link", request, &cloudapi.EnsureOptions{Update: true})
			if err != nil || outcome != want {
				t.Errorf("%v, %v, want %v", outcome, err, want)
			}
			if differences, uncompared := request.Compare(link); len(differences) > 0 {
				t.Errorf("differences %v, uncompared %q", differences, uncompared)
			}
		}
		ensure(cloudapi.EnsureCreated)
		ensure(cloudapi.EnsureUnchanged)
		stub.Must(links.WaitAvailable(ctx, "own", "link", nil))(t)
		ensure(cloudapi.EnsureUnchanged)
		request.AWS.SupportedRegions = append(request.AWS.SupportedRegions, "eu-west-1")
		ensure(cloudapi.EnsureUpdated)
		ensure(cloudapi.EnsureUnchanged)
		if link := stub.Must(links.Get(ctx, "own", "link"))(t); link.State != cloudapi.PrivateLinkServiceStateCreating || len(link.AWS.SupportedRegions) != 3 {
			t.Errorf("it is %s in %q", link.State, link.AWS.SupportedRegions)
		}
		request.AWS.SupportedRegions = []string{}
		ensure(cloudapi.EnsureUpdated)
	})
}

// TestEnsurePrivateLinkRefuses: what Ensure compares must be an ID, and the
// record must be complete. A taken name is settled by a lookup.
func TestEnsurePrivateLinkRefuses(t *testing.T) {
	t.Parallel()
	request := &cloudapi.PrivateLinkServiceCreateRequest{PrivateSubnetID: "ps6336kqkb6j4qf8813xfx1bw0", PostgresResourceID: "db"}
	_, _, err := sdktest.SendingNothing(t).PrivateLinkServices.Ensure(t.Context(), "own", "link", request, nil)
	if e, ok := errors.AsType[*cloudapi.ArgumentError](err); !ok || e.Name != "postgres_resource_id" {
		t.Error(err)
	}
	listed := sdktest.Answering(t, 200, "application/json", `{"id":"pn51bmpwp2fj3gdzs3zh3bxtxv","name":"link","location":"own"}`)
	_, _, err = listed.PrivateLinkServices.Ensure(t.Context(), "own", "link", &cloudapi.PrivateLinkServiceCreateRequest{PrivateSubnetID: request.PrivateSubnetID}, nil)
	if !errors.Is(err, cloudapi.ErrInvalidResponse) {
		t.Error(err)
	}
	synctest.Test(t, func(t *testing.T) {
		p := sdktest.NewPrivateLinks(t, cloudapitest.FeaturePrivateLinkServices)
		request := &cloudapi.PrivateLinkServiceCreateRequest{PrivateSubnetID: p.Subnet.ID}
		p.Server.Fail(cloudapitest.Match{Operation: "PrivateLinkServices.Create"}, cloudapitest.DropAfter())
		_, outcome, err := p.Client.PrivateLinkServices.Ensure(t.Context(), "own", "link", request, nil)
		if outcome != cloudapi.EnsureFound || err != nil {
			t.Errorf("after a lost response: %v, %v", outcome, err)
		}
		for _, name := range []string{"link", "a' already exists in location 'b"} {
			_, err = p.Client.Postgres.CreatePrivateLinkService(t.Context(), "own", "db", name, nil)
			if errors.Is(err, cloudapi.ErrAlreadyExists) != (name == "link") || !errors.Is(err, cloudapi.ErrInvalidRequest) {
				t.Errorf("%s: %v", name, err)
			}
		}
		stub.Must(0, p.Client.PrivateLinkServices.Delete(t.Context(), "own", "link"))(t)
		link, outcome, err := p.Client.PrivateLinkServices.Ensure(t.Context(), "own", "link", request, nil)
		if outcome != cloudapi.EnsureCreated || err != nil || link.State != cloudapi.PrivateLinkServiceStateCreating {
			t.Errorf("after a deletion: %+v, %v, %v", link, outcome, err)
		}
	})
}
