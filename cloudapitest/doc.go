// Package cloudapitest is a server of the API in memory, for tests of programs
// that use package cloudapi.
//
//	func TestDeploy(t *testing.T) {
//		srv := cloudapitest.New(t)
//		client := srv.Client() // speaks to the server over in-memory connections
//		…
//	}
//
// The server keeps state as the real service does: objects have IDs and names,
// are created, renamed and deleted, refuse what the service refuses, with the
// same status, error type, message and details, and pass through their states
// as time goes by. How long that takes is up to [WithDelays].
//
// It is strict: a request that a correct client never sends (an unknown path or
// method, an unknown body field or query parameter) is answered as the service
// would answer it and fails the test as well. [Lenient] turns that off.
//
// Failures that the service does not show on demand are scripted with
// [Server.Fail], and those that no request has met are reported when the test
// ends; [Server.SetState] shows an object in a state of your choice;
// [Server.AddVMs] adds many at once; [Server.Requests] is the log of what
// arrived.
//
// All time is that of package time and all in-memory connections are
// channels, so that inside a bubble of testing/synctest the server takes part in
// the bubble's time: a wait of minutes is over at once. A server for a bubble
// must be made in it. Outside of one, mind that the delays of [DefaultDelays]
// take the seconds that they say.
//
// As with the service, IDs are random and lists are in their order, so that a
// test must not rely on the order in which it created things; a project that a
// token creates is one that it may not use; and a default quota is soon full.
//
// What it shows is what Ubicloud's service showed in October 2025, as far as
// exchanges with it were recorded or measured. What the service does and this
// server does not:
//
//   - A JSON body that is no object (null, an array, a string) is an empty 500
//     there, and a 400 here.
//   - Requests are executed one at a time, but for what [BeforeCount] lets happen
//     within one, so none of the errors of concurrent requests occur. A VM that is
//     just being destroyed can answer GET with a 500 there.
//   - The 60th VM of a subnet, which a larger quota than the default permits, is
//     a 500. What the service does was not recorded. Use more subnets.
//   - GPUs are always refused. A VM gets its addresses and its storage together
//     with the state "running".
//   - The nodes of clusters have standard, burstable or premium sizes, not those
//     of other providers. All nodes that a request asks for appear right after
//     the reply, and join together.
//   - Of the settings of Postgres the common ones are known, and others refused;
//     the service knows some 180 more. Several bad settings are reported in the
//     order of their names. Metrics are made up, and always there.
//   - The time to which a database is to be restored can be written in the common
//     ways, not in all that the service understands, such as "2:00" or "2026-W47".
//   - A database is never "unavailable", and a healthy one never "creating",
//     unless [Server.SetState] says so.
//   - Files have the form of certificates and kubeconfigs, and no keys that work.
//   - Init scripts, which the service does not have, follow the contract.
package cloudapitest
