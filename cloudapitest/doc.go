// Package cloudapitest is a server of the API in memory, for tests of programs
// that use package cloudapi.
//
//	func TestDeploy(t *testing.T) {
//		srv := cloudapitest.New(t)
//		client := srv.Client() // speaks to the server over in-memory connections
//		…
//	}
//
// The server keeps state as the service does. Objects have IDs and names, and are
// created, renamed and deleted. What the service refuses is refused with the same
// status, error type, message and details. Objects pass through their states as
// time goes by; [WithDelays] says how long that takes.
//
// The server is strict. A request that a correct client never sends, such as one
// with an unknown path, body field or query parameter, is answered as the service
// would answer it, and also fails the test. [Lenient] turns that off.
//
// [Server.Fail] scripts failures: error replies, lost replies, delays. A scripted
// failure that no request meets fails the test. [Server.SetState] makes an object
// show a state, [Server.SetPermissions] changes what a token may do,
// [Server.AddVMs] adds many VMs at once, and [Server.Requests] returns the
// requests that arrived.
//
// The server takes the time from package time, and its in-memory connections wait
// on channels only. Inside a bubble of testing/synctest it therefore follows the
// bubble's time, and a wait of minutes is over at once. Make the server inside the
// bubble. Outside of one, the delays of [DefaultDelays] are real seconds.
//
// As with the service, IDs are random and lists are sorted by ID, so a test must
// not rely on the order in which it created objects. A token has no permission in
// a project that it creates. The default quota is small.
//
// The server behaves as Ubicloud's public service did in October 2025, or in August
// 2026 if [WithAPI] says so, as far as that was recorded or measured. It differs in
// the following points:
//
//   - A JSON body that is not an object (null, an array, a string) gets a 400. The
//     service answers with an empty 500.
//   - Requests are executed one after the other, except for what [BeforeCount]
//     allows. Errors of concurrent requests do not occur. With the service, GET of
//     a VM that is just being destroyed can be a 500.
//   - The 60th VM of a subnet is a 500. What the service does was not recorded. The
//     default quota does not allow that many.
//   - GPUs are always refused. A VM gets its addresses and its storage together
//     with the state "running".
//   - The nodes of clusters have standard, burstable or premium sizes, not those
//     of other providers. All nodes that a request asks for appear right after
//     the reply, and become ready together. A node that is drained shows the state
//     "running" until it is gone.
//   - Only the common settings of Postgres are known, and others are refused; the
//     service knows some 180 more. Several bad settings are reported in the order
//     of their names. Metrics are made up, and always available.
//   - The target time of a restore is understood in the common forms only. The
//     service also accepts forms such as "2:00" and "2026-W47".
//   - A database is never "unavailable", and a healthy one never "creating",
//     unless [Server.SetState] says so.
//   - Files look like certificates and kubeconfigs, but their keys do not work.
//   - Registered init scripts, which neither version of the service has, follow the
//     contract. August 2026 refuses them.
//   - The audit log knows what was done by requests to this server, and keeps the
//     last 10,000 entries of each project at least. Rules of databases have no
//     firewall in it.
//   - In August 2026 the private subnet and the firewall of a database cannot be
//     seen or deleted, and there are no databases in the public locations of AWS.
//     An upgrade never fails. Logs and backups are made up, and always available.
//     Only databases in private locations have credentials for backups. Days of
//     maintenance windows and the flavor "lantern" are refused. Of the settings
//     that a read replica shares with its parent only max_connections is checked.
//   - An image version fails only if [Server.SetState] says so, and its deletion
//     does not wait for VMs that use it. Versions have no quota. A VM that is
//     captured with destroy_source shows "deleting" from the start.
//   - The GitHub installation "acme" is there from the start, with the repositories
//     "app", which has a cache entry, and "docs". Inference endpoints are three
//     examples.
package cloudapitest
