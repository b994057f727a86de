package cloudapitest

import "slices"

// operation is one row of the API: what is sent where, and what answers it.
type operation struct {
	name   string // the SDK's, cloudapi.Operation.Name
	method string
	route  string // the contract's template of the path
	list   paging // for lists: what becomes of the page parameters
	query  []string
	body   schema // the zero value where the contract has no body
	bare   bool   // the body and its content type may be left out
	// guarded operations refuse a token without permissions before they look
	// at anything; the others do it for objects that exist.
	guarded bool
	handle  func(*call) (any, error)
}

// target is what the operation is called in the contract.
func (o *operation) target() string { return o.method + " " + o.route }

// operations returns the rows of all families, in the order of the contract.
func operations() []operation {
	return slices.Concat(
		projectOperations(),
		firewallOperations(),
		inferenceAPIKeyOperations(),
		kubernetesOperations(),
		loadBalancerOperations(),
		postgresOperations(),
		privateSubnetOperations(),
		vmOperations(),
		privateLocationOperations(),
		sshPublicKeyOperations(),
		vmInitScriptOperations(),
	)
}
