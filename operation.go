package cloudapi

// Operation is one operation of the contract. A middleware or a log handler
// gets it with [OperationFromContext]. Its fields have few values, which makes
// them good labels for metrics and traces.
type Operation struct {
	// Name is the service and the method, such as "VMs.Get". A list of a
	// location has its own name, such as "VMs.ListInLocation".
	Name string

	// Method is the HTTP method.
	Method string

	// Route is the path with the contract's placeholders in place of values,
	// such as "/project/{project_id}/location/{location}/vm/{vm_reference}". It
	// is "" in calls of [Client.Do], whose Name is "Do".
	Route string

	retry retryClass
}

// retryClass says whether an operation may be retried after a failure that
// leaves open whether the server acted.
type retryClass uint8

const (
	// idempotent: a retry has the same effect as the first attempt alone.
	idempotent retryClass = iota

	// once: a retry would make a second object, act twice, or fail because of
	// the first attempt. It is made only if the server certainly did nothing.
	once
)

// Beginnings of the routes.
const (
	projectRoute  = "/project/{project_id}"
	locationRoute = projectRoute + "/location/{location}"
)
