// Package cloudapitest is an in-memory server of the API, for tests of programs
// that use package cloudapi.
//
//	func TestDeploy(t *testing.T) {
//		srv := cloudapitest.New(t)
//		client := srv.Client() // speaks to the server over in-memory connections
//		…
//	}
//
// The server keeps state as the service does. Objects have IDs and names, and
// are created, renamed and deleted. It refuses what the service refuses, with
// the same status, error type, message and details. Objects change their states
// over time; [WithDelays] sets the times.
//
// The server is strict. A request that a correct client never sends, such as
// one with an unknown path, body field or query parameter, gets the response of
// the service, and also fails the test. [Lenient] turns that off.
//
// [Server.Fail] scripts faults: error responses, lost responses, delays. A
// scripted fault that no request meets fails the test. [Server.ClearFaults] ends
// all of them, and [Server.Reset] everything. [Server.SetState] sets
// the state of an object, [Server.SetPermissions] changes the permissions of a
// token, [Server.AddVMs] adds many VMs at once, and [Server.Requests] returns
// the requests that arrived.
//
// The server uses the clock of package time, unless [WithClock] gives it
// another one, and its in-memory connections block only on channels. So inside a bubble of testing/synctest it uses the
// clock of the bubble, and a wait of minutes takes no real time. Make the
// server inside the bubble. Outside of a bubble the delays of [DefaultDelays]
// are real seconds.
//
// As with the service, IDs are random and lists are sorted by ID, so a test
// must not rely on the order in which it created objects. A token has no
// permission in a project that it creates. The default quota is small.
//
// The server behaves as Ubicloud's public service did in August 2026, or in
// October 2025 with [WithAPI], as far as that was recorded or measured. By
// default it also has the registered init scripts of the contract, which no
// version of the service has, and writes their first use to the test's log. The
// differences are:
//
//   - A JSON body that is not an object (null, an array, a string) gets a 400. The
//     service answers with an empty 500.
//   - Requests are executed one after the other, except during [BeforeCount].
//     Errors of concurrent requests do not occur, such as the 500 of the
//     service for a GET of a VM at the moment of its deletion, or its 403 for a
//     deletion that falls into another one.
//   - All servers of a new database with standbys are there from the beginning.
//     Those of the service come one after the other, and during
//     [cloudapi.PostgresService.Recycle] there is one more for a while.
//   - The quota is that of the server, not of each project.
//   - Of several invalid parameters in a path the error names another one than
//     the service, and some messages of errors have other words.
//   - The 60th VM of a subnet is a 500. The response of the service was not
//     recorded. The default quota does not allow that many.
//   - GPUs are always refused. A VM gets its addresses, and in October 2025 its
//     storage, when its state becomes "running".
//   - The nodes of clusters have standard, burstable or premium sizes, not
//     those of other providers. All nodes that a request asks for appear right
//     after the response, and become ready together. A draining node has the
//     state "running" until it is gone.
//   - Only the common settings of Postgres are known, and others are refused;
//     the service knows about 180 more. Several invalid settings are reported
//     in the order of their names. Metrics are invented, and always available.
//   - Only the common formats are accepted for the target time of a restore.
//     The service also accepts formats such as "2:00" and "2026-W47".
//   - A database is never "unavailable", and a healthy one never "creating",
//     unless [Server.SetState] says so.
//   - Files look like certificates and kubeconfigs, but their keys do not work.
//   - Registered init scripts follow the contract, as no version of the service
//     has them. With [October2025] or [August2026] they are refused.
//   - The audit log contains the actions of requests to this server, and at
//     least the last 10,000 entries of each project.
//   - The subnet, the firewall and the load balancers of a cluster can be seen
//     in August 2026 only. That for its Services is there only if it has one,
//     which [Server.SetClusterService] says, or with [WithPortlessBalancers].
//   - There are no databases in the public locations of AWS. An upgrade never fails. Logs and backups are invented, and always
//     available. A lantern database has no settings of its own. Of the settings
//     that a read replica shares with its parent only max_connections is
//     checked.
//   - An image version fails only if [Server.SetState] says so, and is deleted
//     even if VMs use it. A VM that is copied with destroy_source has the state
//     "deleting" from the start.
//   - The GitHub installation "acme" always exists, with the repositories
//     "app", which has a cache entry, and "docs". Inference endpoints are three
//     examples.
package cloudapitest
