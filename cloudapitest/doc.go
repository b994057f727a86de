// Package cloudapitest is an in-memory server of the API, for testing programs
// that use package cloudapi.
//
//	func TestDeploy(t *testing.T) {
//		srv := cloudapitest.New(t)
//		client := srv.Client() // speaks to the server over in-memory connections
//		…
//	}
//
// The server keeps state like the real server. Objects have IDs and names, and
// are created, renamed and deleted. It refuses what the real server refuses,
// with the same status, error type, message and details. Objects change their
// states over time; [WithDelays] sets the times.
//
// The server is strict: a request that a correct client never sends, for
// example with an unknown path, body field or query parameter, gets the real
// server's response and also fails the test. [Lenient] turns that off.
//
// [Server.Fail] scripts faults: error responses, lost responses, delays. A
// scripted fault that no request meets fails the test. [Server.ClearFaults]
// removes all faults, and [Server.Reset] everything. [Server.SetState] sets the
// state of an object, [Server.SetPermissions] changes the permissions of a
// token, [Server.AddVMs] adds many VMs, and [Server.Requests] returns the
// requests that the server received. [WithSnapshot] makes the server begin with
// a copy of a real project, and [Server.Changes] returns what has changed in it.
//
// The server uses package time's clock, unless [WithClock] sets another, and
// its in-memory connections block only on channels. In a testing/synctest
// bubble it therefore uses the bubble's clock, and a wait of minutes takes no
// real time. Create the server inside the bubble. Outside a bubble,
// [DefaultDelays] are real seconds.
//
// As on the real server, IDs are random and lists are sorted by ID, so a test
// must not rely on the order in which it created objects. A token has no
// permission in a project that it creates. The default quota is small.
//
// The server behaves as Ubicloud's public service does today, as far as that
// was recorded or measured or is documented. By default it also has the
// operations and fields that only the contract, OpenAPI description 0.1.0, has,
// such as registered init scripts and the list of projects. It logs the first
// use of each to the test, since the real service refuses it. [WithAPI] selects
// either the service or the contract.
//
// The server differs from the real one as follows:
//
//   - A JSON body that isn't an object (null, an array, a string) gets a 400.
//     The real server responds with a 500 and no body. It also ignores comments
//     in JSON, reads the body of a GET, and responds to a lone surrogate in a text or
//     to an empty name in a path with another 400 or 404.
//   - The server executes one request at a time, except during [BeforeCount].
//     So there are no errors caused by concurrent requests, such as the real
//     server's 500 for a GET of a VM at the moment of its deletion, or its 403
//     for one of two concurrent deletions of a resource.
//   - All servers of a new database with standbys exist immediately. In the
//     real API they appear one after another, and during
//     [cloudapi.PostgresService.Recycle] there is one more for a while.
//   - There is one quota for the whole server, not one per project. There are
//     no members, roles or tags, so only tokens have permissions.
//   - If several parameters of a path are invalid, the error may name a
//     different one than the real server's. Some error messages are worded
//     differently, mostly those about a body of the wrong form. A body with a
//     null byte is refused before the object is looked for. Some odd spellings
//     that the real server accepts are refused, such as "0x10" for a number.
//   - The 60th VM of a subnet gets a 500. The real server's response isn't
//     known. The default quota doesn't allow that many.
//   - GPUs are always refused. A VM gets its addresses and, with [Contract], its
//     storage when its state becomes "running".
//   - Cluster nodes can have standard, burstable or premium sizes, but not the
//     sizes of other providers. All nodes that a request asks for appear right
//     after the response, and become ready together. A draining node has the
//     state "running" until it's gone.
//   - Only common Postgres settings are accepted: the same ones in all versions
//     of PostgreSQL and with [Contract]. The real server accepts about 180 more.
//     A number is refused for a setting that is a size, a duration or a
//     boolean; the real server may respond with a 500. If several settings are
//     invalid, the error has them in the order of their names. Responses
//     contain only some of the defaults. Metrics are invented, and always
//     available.
//   - The target time of a restore must be in RFC 3339, except that its zone is
//     optional. The real server also accepts formats such as "2:00" and
//     "2026-W47".
//   - A database is never "unavailable", and never "creating" again once it
//     runs, unless [Server.SetState] says so.
//   - Certificates and kubeconfigs look real, but their keys don't work.
//   - The audit log contains only the actions of requests to this server. It
//     keeps at least the last 10,000 entries of each project.
//   - The subnet, firewall and load balancers of a cluster aren't visible with
//     [Contract]. The load balancer for Services exists only with
//     [WithPortlessBalancers], or once [Server.SetClusterService] has given the
//     cluster a Service.
//   - There are no databases in the public locations of AWS. An upgrade never
//     fails. Backups are invented, and so are logs, except for lines from
//     [Server.AddLogLine]. Both are always available. A lantern database
//     accepts the same settings as any other. Of the settings that a read
//     replica shares with its parent, only max_connections is checked.
//   - An image version fails only if [Server.SetState] says so. A request can
//     delete it even if VMs use it. After a request to delete the latest
//     version, another one is the latest immediately, and not some seconds
//     later. A VM that is copied with destroy_source has the state "deleting"
//     immediately.
//   - Private link services exist only with [FeaturePrivateLinkServices], and only
//     in private locations. How the real server refuses to delete a subnet that
//     has one isn't known; this one responds with a 409. All regions of AWS are
//     enabled. Some texts of refusals, DNS names and the addresses of targets are
//     invented.
//   - The GitHub installation "acme" always exists, with the repositories
//     "app", which has a cache entry, and "docs". There are three example
//     inference endpoints.
package cloudapitest
