package families_test

import (
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
)

// TestPrivateLinkServices plays scripts in a project with a private location,
// which has a subnet, and a database in another subnet.
func TestPrivateLinkServices(t *testing.T) {
	const setUp = `
		POST private-location {"name":"mine","provider_location_name":"us-west-2","access_key":"a","secret_key":"s"} ->
		POST location/mine/private-subnet/net ->
		POST location/mine/postgres/db {"size":"m8gd.large","storage_size":118,"private_subnet_name":"db-net"} ->
		wait 1h
		`
	const (
		everybody = `"aws":{"allowed_principals":["*"]}`
		link      = "location/mine/private-link-service/link"
		ofDB      = "location/mine/postgres/db/private-link-service"
	)
	run(t, map[string]func(*testing.T){
		"off": linkScript(setUp + `
			GET private-link-service -> 404 ResourceNotFound
			GET location/mine/private-link-service -> 404 ResourceNotFound
			GET ` + link + ` -> 404 ResourceNotFound
			POST ` + link + ` {"private_subnet_id":"{ps net}",` + everybody + `} -> 404 ResourceNotFound
			PATCH ` + link + ` {} -> 404 ResourceNotFound
			DELETE ` + link + ` -> 404 ResourceNotFound
			GET ` + ofDB + ` -> 404 "NotFound","message":"private link services are not enabled for this project"
			POST ` + ofDB + ` {"name":"link",` + everybody + `} -> 404 private link services are not enabled for this project
			GET location/mine/postgres/none/private-link-service -> 404 ResourceNotFound
			DELETE location/mine/postgres/db ->
			DELETE location/mine/private-subnet/net ->`),
		"elsewhere": linkScript(`
			POST L/private-subnet/net ->
			GET private-link-service -> "items":[],"count":0
			GET L/private-link-service -> 404 ResourceNotFound
			POST L/private-link-service/link {"private_subnet_id":"{ps net}",`+everybody+`} -> 404 ResourceNotFound
			DELETE L/private-link-service/link -> 404 ResourceNotFound`, cloudapitest.FeaturePrivateLinkServices),
		"of a subnet": linkScript(setUp+`
			GET `+link+` -> 404
			POST `+link+` {"private_subnet_id":"{ps net}",`+everybody+`} -> "state":"creating" & "private_subnet":"net" & "postgres_resource":null & "ports":[{"port":5432,"target_port":5432},{"port":6432,"target_port":6432}] & "allowed_principals":["*"] & "ip_address_type":"ipv4" & "service_name":null
			wait 1h
			GET `+link+` -> "state":"available" & "service_name":"com.amazonaws.vpce.us-west-2.vpce-svc- & "supported_regions":[],"allowed_vpc_endpoints":[]
			GET location/mine/private-link-service/{pn link} -> same
			GET private-link-service -> "name":"link" & "count":1 & !aws
			GET location/mine/private-link-service?order_column=name&page_size=1 -> "name":"link" & !aws
			GET object-info/{pn link} -> 400
			PATCH `+link+` {} -> "allowed_principals":["*"]
			PATCH `+link+` {"aws":{"allowed_vpc_endpoints":[{"vpc_endpoint_id":"vpce-fedcba98765432100"},{"vpc_endpoint_id":" vpce-0123456789abcdef0","description":" d "},{"vpc_endpoint_id":" "}]}} -> "allowed_principals":["*"] & [{"vpc_endpoint_id":"vpce-0123456789abcdef0","description":"d"},{"vpc_endpoint_id":"vpce-fedcba98765432100","description":""}]
			GET `+link+` -> "state":"available"
			PATCH `+link+` {"aws":{"supported_regions":["us-west-2","us-east-2","us-east-1","us-east-2"]}} -> "state":"available" & "supported_regions":["us-east-1","us-east-2"]
			GET `+link+` -> "state":"creating" & "service_name":"com.amazonaws.vpce.us-west-2.vpce-svc-
			PATCH `+link+` {"aws":{"allowed_principals":[" *","arn:aws:iam::123456789012:root","* "]}} -> "allowed_principals":["*","arn:aws:iam::123456789012:root"]
			wait 1h
			PATCH `+link+` {"aws":{"supported_regions":["us-east-2","us-east-1"]}} ->
			GET `+link+` -> "state":"available" & "registered_target_ips":[]
			PATCH `+link+` {"aws":{"allowed_principals":[],"supported_regions":[]}} -> "allowed_principals":[] & "supported_regions":[] & "vpc_endpoint_id":"vpce-0123456789abcdef0"
			DELETE location/mine/private-subnet/net -> 409 DependencyError
			DELETE private-location/mine -> 409
			DELETE `+link+` ->
			GET `+link+` -> "state":"deleting"
			DELETE location/mine/private-subnet/net -> 409
			DELETE `+link+` ->
			wait 1h
			GET `+link+` -> 404
			DELETE `+link+` ->
			DELETE location/mine/private-subnet/net ->
			GET audit-log?action=pn -> "action":"pn/destroy" & "action":"pn/update" & "action":"pn/create"`, cloudapitest.FeaturePrivateLinkServices),
		"of a database": linkScript(setUp+`
			GET `+ofDB+` -> 404 ResourceNotFound
			POST `+ofDB+` {"name":"link",`+everybody+`,"ports":[7000,6000],"target_ports":[6432,5432],"ip_address_type":"dual"} -> "postgres_resource":"pg & "private_subnet":"db-net" & "ports":[{"port":6000,"target_port":5432},{"port":7000,"target_port":6432}] & "ip_address_type":"dual"
			GET `+ofDB+` -> "name":"link" & "registered_target_ips":[]
			GET location/mine/postgres/{pg db}/private-link-service -> same
			wait 1h
			GET `+link+` -> "registered_target_ips":["10.
			POST `+ofDB+` {"name":"more",`+everybody+`} -> 400 "postgres_resource_id":"PostgreSQL resource already has a private link service"
			POST location/mine/private-link-service/more {"private_subnet_id":"{ps db-net}","postgres_resource_id":"{pg db}",`+everybody+`} -> 400 already has a private link service
			DELETE location/mine/private-subnet/db-net -> 409
			DELETE location/mine/postgres/db ->
			GET `+link+` -> "state":"deleting"
			GET location/mine/postgres/db -> "state":"deleting"
			wait 1h
			GET `+link+` -> 404
			GET location/mine/postgres/db -> 404
			DELETE location/mine/private-subnet/db-net ->`, cloudapitest.FeaturePrivateLinkServices),
		"in a database's own subnet": linkScript(setUp+`
			other = POST location/mine/postgres/other {"size":"m8gd.large","storage_size":118} ->
			net = GET location/mine/private-subnet/$other-subnet ->
			POST `+link+` {"private_subnet_id":"$net",`+everybody+`} ->
			DELETE location/mine/postgres/other ->
			wait 1h
			GET location/mine/postgres/other -> 404
			GET location/mine/private-subnet/$net ->`, cloudapitest.FeaturePrivateLinkServices),
		"refusals": linkScript(setUp+`
			POST L/private-subnet/far ->
			POST `+link+` {} -> 400 BadRequest
			POST `+link+` {"private_subnet_id":"{ps net}","aws":{}} -> 400 BadRequest
			POST `+link+` {"private_subnet_id":"{ps far}",`+everybody+`} -> 400 "private_subnet_id"
			POST `+link+` {"private_subnet_id":"{ps net}","postgres_resource_id":"{pg db}",`+everybody+`} -> 400 "postgres_resource_id"
			POST `+link+` {"private_subnet_id":"{ps net}",`+everybody+`,"ports":[80]} -> 400 {"ports":"Each port needs a target port and at least one port is required"}
			POST `+link+` {"private_subnet_id":"{ps net}",`+everybody+`,"ports":[],"target_ports":[]} -> 400 at least one port is required
			POST `+link+` {"private_subnet_id":"{ps net}",`+everybody+`,"ports":[80],"target_ports":[65536]} -> 400 {"ports":"Port must be between 1 and 65535"}
			POST `+link+` {"private_subnet_id":"{ps net}",`+everybody+`,"ports":[80,80],"target_ports":[1,2]} -> 400 {"ports":"Ports must be unique"}
			POST `+link+` {"private_subnet_id":"{ps net}","aws":{"allowed_principals":["nope"]}} -> 400 "allowed_principals" & invalid: nope
			POST `+link+` {"private_subnet_id":"{ps net}","aws":{"allowed_principals":[""]}} -> 400 "allowed_principals"
			POST `+link+` {"private_subnet_id":"{ps net}","aws":{"allowed_principals":["arn:aws:iam::123:root"]}} -> 400 "allowed_principals"
			POST `+link+` {"private_subnet_id":"{ps net}","aws":{"allowed_principals":[],"supported_regions":["us-east-9"]}} -> 400 {"supported_regions":"Unknown AWS region selected"}
			POST `+link+` {"private_subnet_id":"{ps net}","aws":{"allowed_principals":[],"allowed_vpc_endpoints":[{"vpc_endpoint_id":"vpce-0"}]}} -> 400 "allowed_vpc_endpoints"
			POST `+link+` {"private_subnet_id":"{ps net}","aws":{"allowed_principals":[],"allowed_vpc_endpoints":[{"vpc_endpoint_id":"vpce-0123456789abcdef0"},{"vpc_endpoint_id":"vpce-0123456789abcdef0"}]}} -> 400 "allowed_vpc_endpoints"
			POST `+link+` {"private_subnet_id":"{ps net}","aws":{"allowed_principals":[],"allowed_vpc_endpoints":[{"vpc_endpoint_id":"vpce-0123456789abcdef0","description":"a\nb"}]}} -> 400 "allowed_vpc_endpoints"
			POST `+link+` {"private_subnet_id":"{ps net}",`+everybody+`,"ip_address_type":"ipx"} -> 400 BadRequest
			POST `+ofDB+` {"name":"-",`+everybody+`} -> 400 "name"
			POST `+link+` {"private_subnet_id":"{ps net}","aws":{"allowed_principals":[]},"target_ports":[80]} -> "ports":[{"port":5432,"target_port":5432},
			POST `+link+` {"private_subnet_id":"{ps net}",`+everybody+`} -> 400 {"name":"A private link service named 'link' already exists in location 'mine'"}
			POST `+ofDB+` {"name":"link",`+everybody+`} -> 400 A private link service named 'link' already exists in location 'mine'`, cloudapitest.FeaturePrivateLinkServices),
		"permissions": linkScript(setUp+`
			token pat-other
			POST `+link+` {"private_subnet_id":"{ps net}",`+everybody+`} -> 403
			allow PrivateLinkService:create
			POST `+link+` {"private_subnet_id":"{ps net}",`+everybody+`} -> 400 "private_subnet_id"
			allow PrivateLinkService:create PrivateSubnet:view Postgres:view
			POST `+link+` {"private_subnet_id":"{ps db-net}","postgres_resource_id":"{pg db}",`+everybody+`} -> 400 "postgres_resource_id"
			POST `+ofDB+` {"name":"link",`+everybody+`} -> 403
			allow Postgres:edit
			POST `+ofDB+` {"name":"link",`+everybody+`} -> 403
			allow PrivateLinkService:create Postgres:edit
			POST `+ofDB+` {"name":"link",`+everybody+`} ->
			GET private-link-service -> "count":0
			GET `+link+` -> 403
			allow Postgres:view
			GET `+ofDB+` -> 403
			allow Postgres:view PrivateLinkService:view
			GET `+ofDB+` ->
			GET private-link-service -> "count":1
			PATCH `+link+` {} -> 403
			DELETE `+link+` -> 403
			allow PrivateLinkService:edit
			PATCH `+link+` {} ->
			allow PrivateLinkService:delete
			DELETE `+link+` ->`, cloudapitest.FeaturePrivateLinkServices),
	})
}

// linkScript is [script] for a project with features.
func linkScript(text string, features ...cloudapitest.Feature) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			srv := cloudapitest.New(t, serviceOnly, cloudapitest.Lenient(), cloudapitest.WithTokenAccess("pat-other", cloudapitest.AccessNone))
			srv.SetFeatures(srv.ProjectID(), features...)
			play(t, srv, text)
		})
	}
}
