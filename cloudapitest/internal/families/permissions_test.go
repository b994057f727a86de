package families_test

import (
	"testing"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
)

func TestPermissions(t *testing.T) {
	const setUp = `
		POST L/private-subnet/own ->
		POST L/private-subnet/net ->
		POST L/firewall/unused ->
		POST L/vm/web {"public_key":"ssh-ed25519 AAAA","private_subnet_id":"{ps net}"} ->
		POST L/postgres/db {"size":"standard-2","storage_size":64} ->
		wait 2h
		token pat-other
		`
	other := cloudapitest.WithTokenAccess("pat-other", cloudapitest.AccessNone)
	run(t, map[string]func(*testing.T){
		"of a project": script(setUp+`
			GET vm -> "count":0
			GET L/vm/web -> 403
			GET L/vm/none -> 404
			GET . -> 403
			allow Vm:view
			GET L/vm/{vm web} ->
			GET location/us-east-a2/vm/web -> 404
			GET location/us-east-a2/vm/{vm web} -> 404
			GET L/vm/{ps net} -> 404
			GET vm -> "count":1
			GET L/vm/web ->
			GET object-info/{vm web} ->
			POST L/vm/web/restart -> 403
			DELETE L/vm/web -> 403
			GET L/private-subnet/net -> 403
			allow Vm:*
			POST L/vm/web/restart ->
			POST L/vm/more {"public_key":"ssh-ed25519 AAAA","private_subnet_id":"{ps net}"} -> 400 is not found in the location
			allow Vm:create PrivateSubnet:view
			POST L/vm/more {"public_key":"ssh-ed25519 AAAA","private_subnet_id":"{ps net}"} ->
			POST L/firewall/more -> 403
			allow *:view
			GET private-location ->
			GET . ->
			GET ssh-public-key -> 403
			allow Project:edit
			GET ssh-public-key ->
			GET private-location -> 403
			allow Location:view
			GET private-location ->
			allow *:delete
			DELETE L/vm/web ->`, other),
		"of two objects": script(setUp+`
			allow Firewall:*
			POST L/firewall/own-default/detach-subnet {"private_subnet_id":"{ps own}"} -> 400
			DELETE L/firewall/own-default -> 403
			DELETE L/firewall/unused ->
			allow Firewall:view PrivateSubnet:view
			POST L/firewall/own-default/detach-subnet {"private_subnet_id":"{ps own}"} -> 400 "private_subnet_id"
			POST L/firewall/own-default/attach-subnet {"private_subnet_id":"{ps net}"} -> 400 "private_subnet_id"
			allow Firewall:edit PrivateSubnet:edit
			POST L/firewall/own-default/detach-subnet {"private_subnet_id":"{ps own}"} -> 403
			allow Firewall:view PrivateSubnet:edit
			POST L/firewall/own-default/detach-subnet {"private_subnet_id":"{ps own}"} ->
			POST L/firewall/own-default/attach-subnet {"private_subnet_id":"{ps net}"} ->
			allow Firewall:view PrivateSubnet:edit@{ps own}
			POST L/firewall/own-default/detach-subnet {"private_subnet_id":"{ps net}"} -> 400 "private_subnet_id"
			POST L/firewall/own-default/attach-subnet {"private_subnet_id":"{ps own}"} ->
			allow PrivateSubnet:view
			POST L/private-subnet/own/connect {"connected-subnet-id":"{ps net}"} -> 403
			allow PrivateSubnet:connect@{ps own}
			POST L/private-subnet/own/connect {"connected-subnet-id":"{ps net}"} -> 400
			allow PrivateSubnet:connect@{ps own} PrivateSubnet:connect@{ps net}
			POST L/private-subnet/own/connect {"connected-subnet-id":"{ps net}"} ->
			allow Postgres:create
			POST L/postgres/db/restore {"name":"copy","restore_target":"2000-01-01T01:00:00Z"} -> 403
			allow Postgres:view
			POST L/postgres/db/restore {"name":"copy","restore_target":"2000-01-01T01:00:00Z"} -> 403
			allow Postgres:view@{pg db} Postgres:create
			POST L/postgres/db/restore {"name":"copy","restore_target":"2000-01-01T01:00:00Z"} ->`, other),
		"of one object": script(setUp+`
			allow Firewall:view@{fw unused} Firewall:edit@{fw unused} *@{vm web}
			GET firewall -> "count":1 & "name":"unused"
			GET firewall?page_size=1&start_after={fw unused} -> "items":[],"count":1
			GET L/firewall/unused ->
			GET L/firewall/own-default -> 403
			POST L/firewall/unused/firewall-rule {"cidr":"10.0.0.0/8"} ->
			POST L/firewall/own-default/firewall-rule {"cidr":"10.0.0.0/8"} -> 403
			POST L/firewall/new -> 403
			POST L/vm/web/stop ->
			DELETE L/vm/web ->`, other),
	})
}

func TestBilling(t *testing.T) {
	t.Parallel()
	srv := cloudapitest.New(t)
	play(t, srv, `POST L/vm/before {"public_key":"ssh-ed25519 AAAA"} ->`)
	srv.SetBilling(srv.ProjectID(), false)
	play(t, srv, `
		POST L/vm/a {"public_key":"ssh-ed25519 AAAA"} -> 400 "billing_info"
		POST L/postgres/a {"size":"standard-2","storage_size":64} -> 400 "billing_info"
		POST L/kubernetes-cluster/a {"version":"v1.36","worker_size":"standard-2"} -> 400 "billing_info"
		POST L/firewall/a ->
		GET L/vm/before ->`)
	srv.SetBilling(srv.ProjectID(), true)
	play(t, srv, `POST L/vm/a {"public_key":"ssh-ed25519 AAAA"} ->`)
}
