package wire_test

import (
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/sdktest"
)

const (
	linkFields = `"id":"pn51bmpwp2fj3gdzs3zh3bxtxv","name":"orders-link","location":"eu-central-h1","private_subnet":"backend",` +
		`"state":"available","postgres_resource":"` + pgID + `","ports":[{"port":5432,"target_port":5432},{"port":6432,"target_port":6432}],` +
		`"allowed_principals":["arn:aws:iam::123456789012:root","*"],"ip_address_type":"dual",` +
		`"private_dns_name":"orders.example.com","private_hostname":"orders-link.example.net"`
	linkFull = `{` + linkFields + `,"aws":{"service_name":"com.amazonaws.vpce.us-west-2.vpce-svc-0a1b2c3d4e5f60718","service_id":"vpce-svc-0a1b2c3d4e5f60718",` +
		`"supported_regions":["us-west-2","us-east-1"],"allowed_vpc_endpoints":[{"vpc_endpoint_id":"vpce-0123456789abcdef0","description":"reports"}],` +
		`"registered_target_ips":["10.23.41.69"],"private_dns_verification_state":"pendingVerification"}}`
	linkNew = `{"id":"pn51bmpwp2fj3gdzs3zh3bxtxv","name":"orders-link","location":"eu-central-h1","private_subnet":"backend","state":"creating",` +
		`"postgres_resource":null,"ports":[],"allowed_principals":[],"ip_address_type":"ipv4","private_dns_name":null,"private_hostname":null,` +
		`"aws":{"service_name":null,"service_id":null,"supported_regions":[],"allowed_vpc_endpoints":[],"registered_target_ips":[],"private_dns_verification_state":null}}`
)

func privateLinkServiceCases() []wireCase {
	const (
		all      = projectPath + "/private-link-service"
		base     = locationPath + "/private-link-service"
		link     = base + "/orders-link"
		ofOrders = orders + "/private-link-service"
		subnetID = "ps6336kqkb6j4qf8813xfx1bw0"
		lists    = `"aws":{"allowed_principals":["*"],"allowed_vpc_endpoints":[{"vpc_endpoint_id":"vpce-0","description":"d"},{"vpc_endpoint_id":"vpce-1"}],"supported_regions":["us-west-2"]}`
		ports    = `"ports":[5432,6432],"target_ports":[5433,6433],"ip_address_type":"dual"`
	)
	endpoints := []cloudapi.PrivateLinkServiceVPCEndpoint{{VPCEndpointID: "vpce-0", Description: "d"}, {VPCEndpointID: "vpce-1"}}
	aws := cloudapi.PrivateLinkServiceAWSCreateRequest{AllowedPrincipals: []string{"*"}, AllowedVPCEndpoints: endpoints, SupportedRegions: []string{"us-west-2"}}
	create := func(request *cloudapi.PrivateLinkServiceCreateRequest) sdktest.Call {
		return do("PrivateLinkServices.Create", location, "orders-link", request)
	}
	createFor := func(request *cloudapi.PostgresPrivateLinkServiceCreateRequest) sdktest.Call {
		return do("Postgres.CreatePrivateLinkService", location, "orders-db", "orders-link", request)
	}
	update := func(aws cloudapi.PrivateLinkServiceAWSUpdateRequest) sdktest.Call {
		return do("PrivateLinkServices.Update", location, "orders-link", &cloudapi.PrivateLinkServiceUpdateRequest{AWS: aws})
	}
	return []wireCase{
		{do("PrivateLinkServices.List", nil), "GET " + all, list(`{` + linkFields + `}`)},
		{do("PrivateLinkServices.List", &cloudapi.ListOptions{Location: location, OrderColumn: cloudapi.OrderByName, PageSize: 1, StartAfter: "a"}),
			"GET " + base + "?order_column=name&page_size=1&start_after=a", list(`{` + linkFields + `}`)},
		{do("PrivateLinkServices.All", nil), "GET " + all + "?page_size=1000", list(`{` + linkFields + `}`)},
		{do("PrivateLinkServices.Get", location, "orders-link"), "GET " + link, linkFull},
		{create(&cloudapi.PrivateLinkServiceCreateRequest{PrivateSubnetID: subnetID}),
			"POST " + link + ` {"private_subnet_id":"` + subnetID + `","aws":{"allowed_principals":[]}}`, linkNew},
		{create(&cloudapi.PrivateLinkServiceCreateRequest{
			PrivateSubnetID: subnetID, AWS: aws, PostgresResourceID: pgID,
			Ports: []int{5432, 6432}, TargetPorts: []int{5433, 6433}, IPAddressType: cloudapi.PrivateLinkServiceIPAddressTypeDual,
		}), "POST " + link + ` {"private_subnet_id":"` + subnetID + `",` + lists + `,"postgres_resource_id":"` + pgID + `",` + ports + `}`, linkFull},
		{do("PrivateLinkServices.Update", location, "orders-link", nil), "PATCH " + link + ` {}`, linkFull},
		{update(cloudapi.PrivateLinkServiceAWSUpdateRequest{}), "PATCH " + link + ` {}`, linkFull},
		{update(cloudapi.PrivateLinkServiceAWSUpdateRequest{AllowedPrincipals: []string{}}), "PATCH " + link + ` {"aws":{"allowed_principals":[]}}`, linkNew},
		{update(cloudapi.PrivateLinkServiceAWSUpdateRequest{AllowedVPCEndpoints: endpoints[:0]}), "PATCH " + link + ` {"aws":{"allowed_vpc_endpoints":[]}}`, linkNew},
		{update(cloudapi.PrivateLinkServiceAWSUpdateRequest{AllowedPrincipals: []string{"*"}, AllowedVPCEndpoints: endpoints, SupportedRegions: []string{"us-west-2"}}),
			"PATCH " + link + ` {` + lists + `}`, linkFull},
		{do("PrivateLinkServices.Delete", location, "orders-link"), "DELETE " + link, nil},
		{do("Postgres.PrivateLinkService", location, "orders-db"), "GET " + ofOrders, linkFull},
		{createFor(nil), "POST " + ofOrders + ` {"name":"orders-link","aws":{"allowed_principals":[]}}`, linkNew},
		{createFor(&cloudapi.PostgresPrivateLinkServiceCreateRequest{AWS: aws, Ports: []int{5432, 6432}, TargetPorts: []int{5433, 6433}, IPAddressType: "dual"}),
			"POST " + ofOrders + ` {"name":"orders-link",` + lists + `,` + ports + `}`, linkFull},
	}
}

func TestPrivateLinkServiceWaits(t *testing.T) {
	t.Parallel()
	const path = locationPath + "/private-link-service/orders-link"
	available := do("PrivateLinkServices.WaitAvailable", location, "orders-link")
	deleting := `{` + linkFields + `,"state":"deleting"}`
	runWaits(t, slow, path, []waitCase{
		{"available", available, polls{linkNew, linkNew, linkFull}, nil, ""},
		{"deleted instead", available, polls{linkNew, deleting}, cloudapi.ErrWaitFailed, ""},
	})
}
