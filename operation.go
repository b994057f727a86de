package cloudapi

// Operation is one operation of the API; see [OperationFromContext]. Its fields
// have few values, which suits labels of metrics and traces.
type Operation struct {
	Name   string // such as "VMs.Get", "VMs.ListInLocation" for a list of a location, or "Do"
	Method string // the HTTP method
	Route  string // the path with placeholders, such as "/project/{project_id}/vm"; "" for Do

	traits traits
}

// traits are the properties of an operation, such as idempotent.
type traits uint8

const (
	// once: a retry would create a second object, act twice, or fail because of
	// the first attempt. The SDK retries only if the server certainly did nothing.
	once traits = 1 << iota

	// serviceOnly: the service has the operation, and the contract doesn't (†).
	serviceOnly

	// contractOnly: the contract has the operation, and the service doesn't (‡).
	contractOnly

	// switchable: the service has the operation only in projects for which the
	// feature is switched on.
	switchable

	// unproven: the service may lack the operation, so a 404 doesn't prove that a
	// resource is missing.
	unproven = contractOnly | switchable

	// idempotent: a retry has the same effect as the first attempt alone.
	idempotent traits = 0
)

// Beginnings of the routes.
const (
	projectRoute  = "/project/{project_id}"
	locationRoute = projectRoute + "/location/{location}"
)
