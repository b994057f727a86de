package families_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

func TestOtherFamilies(t *testing.T) {
	missing := cloudapitest.NewID(cloudapi.KindGitHubCacheEntry).String()
	run(t, map[string]func(*testing.T){
		"projects": script(`
			GET . -> "credit":0.0,"discount":0}
			GET /. -> "credit":0.0,"discount":0}
			POST /. {"name":"pjaaaaaaaaaaaaaaaaaaaaaaaa"} -> 400 name cannot be exactly 26 numbers/lowercase characters starting with pj
			POST /. {"name":"a\u0000"} -> 400 string parameter contains null byte
			DELETE /pj164pbm96ba3grq6vbsvjb3ax -> 404
			DELETE /pj8r0dvyb26y6ma6y7n1sw0nzz ->
			DELETE . ->
			GET . -> 404`, contractOnly),
		"a project, by default": script(`
			GET . -> "name":"main","credit":0.0,"discount":0}`),
		"a project, in the service": script(`
			GET . -> "name":"main"}`, serviceOnly),
		"SSH keys": script(`
			POST ssh-public-key {"name":"a","public_key":"# laptop\nssh-ed25519 AAAA\r\n\n#\nssh-ed25519 BBBB"} ->
			POST ssh-public-key {"name":"b","public_key":"  # laptop\nssh-ed25519 AAAA"} -> 400 public_key invalid SSH public key format
			POST ssh-public-key {"name":"b","public_key":"\ufeff# laptop\nssh-ed25519 AAAA"} -> 400 public_key invalid SSH public key format
			POST ssh-public-key {"name":"b","public_key":"# laptop\rssh-ed25519 AAAA"} -> 400 public_key
			POST ssh-public-key {"name":"b","public_key":"ssh-ed25519 AAAA\rssh-ed25519 BBBB"} -> 400 public_key invalid SSH public key format
			POST ssh-public-key {"name":"b","public_key":"# laptop"} -> 400 must contain at least one valid SSH public key
			POST ssh-public-key/a {"public_key":"\t# laptop\nssh-ed25519 AAAA"} -> 400 public_key invalid SSH public key format
			POST L/vm/a {"public_key":"  # laptop\nssh-ed25519 AAAA"} -> 400 public_key invalid SSH public key format
			POST L/vm/a {"public_key":"\ufeff# laptop\nssh-ed25519 AAAA"} -> 400 public_key invalid SSH public key format
			POST L/vm/a {"public_key":"# laptop\nssh-ed25519 AAAA\r\n"} ->`),
		"parameters": script(`
			GET vm?page_size=a -> 400 expected integer, but received String: \"a\"
			GET private-location?page_size=a -> "count":0
			GET vm?page_size[]=1 -> 400 expected integer, but received Array: [\"1\"]
			GET ssh-public-key?page_size[]=1&page_size[]=2 -> 400 received Array: [\"1\", \"2\"]
			GET firewall?page_size%5B%5D=1 -> 400 BadRequest
			GET L/vm/none?start_after[]=x -> 400 expected string, but received Array: [\"x\"]
			GET firewall?start_after=a -> 400 a is not a valid ID
			GET firewall?order_column=cidr -> 400 Supported ordering columns: id, name
			GET L/vm/A -> 400 Parameter \"A\" does not match
			GET location/nowhere/vm/a -> 404 Available locations: eu-central-h1, eu-north-h1, us-east-a2
			GET location/hetzner-ai/vm -> "count":0
			GET location/latitude-ai/vm/a -> 404 ResourceNotFound
			DELETE location/eu-central-a1/vm/a ->
			POST location/eu-central-a1/vm/a {"public_key":"ssh-ed25519 AAAA"} -> 404 InvalidLocation
			POST L/firewall/a ->
			POST L/firewall/{fw a} -> 404 ResourceNotFound
			POST L/firewall/b ->
			POST L/firewall/b/rename {"name":"a"} -> 400 project_id and location_id and name is already taken
			POST L/firewall/b/rename {"name":"B"} -> 400 Validation failed for following fields: name
			POST L/firewall/b/rename {"name":" "} -> 400 empty string provided for parameter name
			POST L/firewall/b/rename {"name":"fw164pbm96ba3grq6vbsvjb3ax"} -> 400 name cannot be exactly 26
			POST L/firewall/b/rename {"name":"b"} ->
			POST L/firewall/c ->
			GET firewall?page_size=2&order_column=name -> "name":"a" & "name":"b" & !"name":"c" & "count":3
			GET firewall?page_size=2&order_column=name&start_after=b -> "name":"c" & !"name":"b"
			GET firewall?page_size=0&order_column=name -> "name":"c"
			GET firewall?x=%zz -> 400 BadRequest`, contractOnly, cloudapitest.Lenient()),
		"capped pages": script(`
			POST L/firewall/a ->
			POST L/firewall/b ->
			POST L/firewall/c ->
			GET firewall?page_size=1000&order_column=name -> "name":"a" & "name":"b" & !"name":"c" & "count":3
			GET firewall?page_size=1000&order_column=name&start_after=b -> "name":"c" & !"name":"b" & "count":3`, cloudapitest.WithPageCap(2)),
		"tokens": script(`
			token patient
			GET firewall -> 401 MissingCredentials
			token pat-other
			GET firewall -> 401 InvalidCredentials`),
		"inference keys": script(`
			a = POST inference-api-key {} -> "key":"
			POST inference-api-key {} -> !$a
			token pat-other
			GET inference-api-key -> {"items":[]}
			GET inference-api-key/$a -> 404
			POST inference-api-key {} -> 403
			DELETE inference-api-key/$a ->
			allow InferenceApiKey:view
			GET inference-api-key/$a -> "key":"
			DELETE inference-api-key/$a -> 403
			allow InferenceApiKey:*
			DELETE inference-api-key/$a ->
			DELETE inference-api-key/$a ->
			GET inference-api-key -> !$a & "key":"
			DELETE inference-api-key/ak164pbm96ba3grq6vbsvjb3ax -> 404`, cloudapitest.WithTokenAccess("pat-other", cloudapitest.AccessNone)),
		"cache entries": script(`
			i = GET github -> "name":"acme"
			e = GET github/$i/repository/app/cache -> "key":"go-mod-1"
			DELETE github/$i/repository/app/cache/go-mod-1 -> 404
			DELETE github/$i/repository/app/cache/`+missing+` ->
			state $e uploading
			GET github/$i/repository/app/cache/$e -> "size":null
			DELETE github/$i/repository/app/cache/$e ->
			GET github/$i/repository/app/cache/$e -> 404
			GET github/$i/repository -> "name":"docs"`, serviceOnly),
	})
}

// TestContractAndService sends the same requests to servers of the contract and
// to today's service. What the contract leaves open is as in October 2025.
func TestContractAndService(t *testing.T) {
	var subnets strings.Builder
	for i := range 11 {
		fmt.Fprintf(&subnets, "POST L/private-subnet/n%02d ->\n", i)
	}
	const (
		balancer = `"algorithm":"hash_based","dst_port":80,"src_port":80,"health_check_protocol":"tcp","private_subnet_id":"{ps net}"`
		connect  = `
			POST L/private-subnet/a ->
			POST location/us-east-a2/private-subnet/b ->
			POST L/private-subnet/a/connect {"connected-subnet-id":"{ps b}"} ->`
		number = `
			POST L/postgres/db {"size":"standard-2","storage_size":64} ->
			POST L/postgres/db/config {"pg_config":{"max_connections":200},"pgbouncer_config":{}} ->`
		create = `
			POST L/kubernetes-cluster/my-apps {"version":"%s","worker_size":"standard-2"} ->
			GET L/kubernetes-cluster/my-apps/kubeconfig ->`
		remove = `
			POST L/private-subnet/net ->
			DELETE L/private-subnet/net ->
			GET L/private-subnet/net -> "state":`
	)
	pages, kubeconfig := subnets.String(), `
			wait 1h
			GET L/kubernetes-cluster/my-apps/kubeconfig -> kind: Config & `
	run(t, map[string]func(*testing.T){
		"pages of the contract": script(pages+`
			GET private-subnet?order_column=name -> "n09" & !"n10" & "count":11
			GET private-subnet?order_column=name&page_size=0 -> "n09" & !"n10"
			GET private-subnet?order_column=name&page_size=11 -> "n10"
			GET private-subnet?order_column=name&start_after=n09 -> "n10"
			GET firewall -> "n09-default" & "n10-default"`, contractOnly),
		"pages of the service": script(pages+`GET private-subnet -> "n09" & "n10" & "count":11`, serviceOnly),
		"short pages":          script(pages+`GET private-subnet?order_column=name -> "n01" & !"n02" & "count":11`, contractOnly, cloudapitest.WithPageCap(2)),
		"a stack of the contract": script(`POST L/private-subnet/net ->
			POST L/load-balancer/a {`+balancer+`} -> "stack":"dual"
			POST L/load-balancer/b {`+balancer+`,"stack":"ipv6"} -> "stack":"ipv6"
			POST L/load-balancer/c {`+balancer+`,"stack":" "} -> 400 empty string provided for parameter stack`, contractOnly),
		"a stack of the service": script(`POST L/private-subnet/net ->
			POST L/load-balancer/a {` + balancer + `} -> 400 missing parameter for stack`),
		"connecting in the contract": script(connect+`
			POST L/private-subnet/a/disconnect/{ps b} ->
			POST L/private-subnet/a/connect {"connected-subnet-id":"{ps a}"} -> 400 subnet_id_1 and subnet_id_2 is invalid`, contractOnly),
		"connecting in the service": script(connect+` 400 Subnet to be connected not found`, serviceOnly),
		"numbers in the contract": script(number+` 400 expected string, but received Integer: 200
			PATCH L/postgres/db/config {"pg_config":{"max_connections":200}} -> 400
			PATCH L/postgres/db/config {"pg_config":{"max_connections":"200"}} -> "max_connections":"200"
			PATCH L/postgres/db/config {"pg_config":{"max_connections":null}} -> !max_connections`, contractOnly),
		"numbers in the service": script(number+` "max_connections":200
			PATCH L/postgres/db/config {"pg_config":{"max_connections":200}} -> 400`, serviceOnly),
		"a kubeconfig of the contract": script(fmt.Sprintf(create, "v1.34")+` 500 UnexceptedError`+kubeconfig+
			`text/plainattachment; filename="my-apps-kubeconfig.yaml" & !UTF-8`, contractOnly),
		"a kubeconfig of the service": script(fmt.Sprintf(create, "v1.37")+` 422 not available yet`+kubeconfig+
			`text/yamlattachment; filename="my-apps-kubeconfig.yaml"; filename*=UTF-8''my%2Dapps%2Dkubeconfig.yaml`, serviceOnly),
		"a deletion in the contract": script(remove+`"available"`, contractOnly),
		"a deletion in the service":  script(remove+`"deleting"`, serviceOnly),
	})
}

// TestAuditLog looks for the actions of a program in the audit log, in pages,
// with filters, and months later. Follow yields each once.
func TestAuditLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t, serviceOnly)
		play(t, srv, `
			POST L/firewall/web ->
			POST L/firewall/web/rename {"name":"front"} ->
			POST L/firewall/front/rename {"name":"front"} ->
			POST L/private-subnet/net ->
			POST L/firewall/front/attach-subnet {"private_subnet_id":"{ps net}"} ->
			DELETE L/firewall/none ->
			POST L/firewall/front/firewall-rule {"cidr":"net"} ->`)
		firewall, subnet := srv.IDs(cloudapi.KindFirewall, "front")[0], srv.IDs(cloudapi.KindPrivateSubnet, "net")[0]
		log := func(o cloudapi.AuditLogOptions) (actions []string) {
			for e, err := range srv.Client().AuditLog.All(t.Context(), &o) {
				entry := stub.Must(e, err)(t)
				if entry.Action == "fr/create" {
					entry.ObjectIDs = entry.ObjectIDs[1:] // without the rule
				}
				actions = append(actions, fmt.Sprint(entry.Action, entry.ObjectIDs))
			}
			return actions
		}
		rule, attached, created := "fr/create["+firewall+"]", fmt.Sprint("fw/associate", []string{firewall, subnet}), "ps/create["+subnet+"]"
		rename, first := "fw/rename["+firewall+"]", "fw/create["+firewall+"]"
		stub.Elapse(time.Hour)
		for _, tt := range []struct {
			options cloudapi.AuditLogOptions
			want    []string
		}{
			{cloudapi.AuditLogOptions{}, []string{rule, rule, attached, created, rename, first}},
			{cloudapi.AuditLogOptions{PageSize: 1}, []string{rule, rule, attached, created, rename, first}}, // two entries of the same time
			{cloudapi.AuditLogOptions{PageSize: 4}, []string{rule, rule, attached, created, rename, first}},
			{cloudapi.AuditLogOptions{Action: "fw", PageSize: 1}, []string{attached, rename, first}},
			{cloudapi.AuditLogOptions{Action: "create"}, []string{rule, rule, created, first}},
			{cloudapi.AuditLogOptions{Action: "fw/create"}, []string{first}},
			{cloudapi.AuditLogOptions{Object: subnet}, []string{attached, created}},
			{cloudapi.AuditLogOptions{Object: "net"}, nil},
			{cloudapi.AuditLogOptions{Subject: "own@example.com", Action: "fr"}, []string{rule, rule}},
			{cloudapi.AuditLogOptions{Subject: "foreign"}, nil},
			{cloudapi.AuditLogOptions{End: time.Now().AddDate(0, 0, -1)}, nil},
			{cloudapi.AuditLogOptions{End: time.Now().AddDate(0, 4, 0)}, nil},
		} {
			if got := log(tt.options); !slices.Equal(got, tt.want) {
				t.Errorf("%+v: %q\nwant %q", tt.options, got, tt.want)
			}
		}
		follow := &cloudapi.FollowOptions{UntilNow: true}
		follow.Marker.Start = time.Now().Add(-2 * time.Hour)
		follow.Checkpoint = func(m cloudapi.LogMarker) { follow.Marker = m }
		for _, want := range []int{1, 0, 1} {
			if got := stub.Must(cloudapi.Collect(srv.Client().AuditLog.Follow(t.Context(), &cloudapi.AuditLogOptions{Action: "ps"}, follow)))(t); len(got) != want {
				t.Errorf("followed, there are %d entries, want %d", len(got), want)
			}
			if want == 0 {
				stub.Elapse(time.Until(time.Date(2000, 3, 1, 12, 0, 0, 0, time.UTC)))
				play(t, srv, "POST L/private-subnet/net-2 ->")
				stub.Elapse(time.Second)
			}
		}
		stub.Elapse(time.Until(time.Date(2000, 5, 31, 12, 0, 0, 0, time.UTC)))
		if got := log(cloudapi.AuditLogOptions{}); len(got) != 1 {
			t.Errorf("on 31 May: %q, want the entry of 1 March", got)
		}
		stub.Elapse(24 * time.Hour)
		if got := log(cloudapi.AuditLogOptions{}); got != nil {
			t.Errorf("on 1 June: %q", got)
		}
		if got := log(cloudapi.AuditLogOptions{Action: "ps", Start: time.Now().AddDate(0, -4, 0)}); len(got) != 1 {
			t.Errorf("of four months: %q", got)
		}
		stub.Elapse(100 * 24 * time.Hour)
		if got := log(cloudapi.AuditLogOptions{}); got != nil {
			t.Errorf("after three months: %q", got)
		}
		srv.SetPermissions(srv.ProjectID(), srv.Token(), "Firewall:*")
		play(t, srv, "GET audit-log -> 403")
	})
}
