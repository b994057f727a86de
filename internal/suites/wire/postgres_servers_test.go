package wire_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/sdktest"
	"github.com/cloudapi-sdk/cloudapi/internal/stub"
)

func postgresServerCases() []wireCase {
	const (
		target = postgresPath + "/orders-db/servers"
		reply  = `{"items":[{"id":"pvdcnv0pp6wj4jnx1dytre5yj4","role":"primary","state":"running","synchronization_status":"ready",` +
			`"vm_size":"standard-2","fallback_active":true}],"count":1}`
	)
	items := []*cloudapi.PostgresServer{{ID: "pvdcnv0pp6wj4jnx1dytre5yj4", Role: "primary", State: "running", SynchronizationStatus: "ready",
		VMSize: "standard-2", FallbackActive: true}}
	return []wireCase{
		{
			name: "list servers", method: "GET", target: target, reply: reply, want: &cloudapi.Page[cloudapi.PostgresServer]{Items: items, Count: new(1)},
			call: calls("Postgres.ListServers", "eu-central-h1", "orders-db"),
		},
		{
			name: "all servers", method: "GET", target: target, reply: reply, want: items,
			call: calls("Postgres.AllServers", "eu-central-h1", "orders-db"),
		},
		{
			name: "recycle", method: "POST", target: postgresPath + "/orders-db/recycle", reply: testPgFull, want: testPostgresFull(),
			call: calls("Postgres.Recycle", "eu-central-h1", "orders-db"),
		},
	}
}

// pollingTwo runs a wait whose polls request a database and a second object,
// and returns its error. If the second response is "", it's a server error; if
// it contains an error, it's a 400. All polls must be needed.
func pollingTwo(t *testing.T, second string, polls [][2]string, wait func(context.Context, *cloudapi.PostgresService) (*cloudapi.Postgres, error)) (db *cloudapi.Postgres, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		poll := -1
		client := sdktest.Client(t, stub.RoundTripper(func(req *http.Request) (*http.Response, error) {
			path := req.URL.RequestURI()
			if path == postgresPath+"/orders-db" {
				poll++
			} else if path != postgresPath+"/orders-db"+second {
				t.Errorf("asked for %s", path)
			}
			switch {
			case poll >= len(polls):
				t.Fatalf("poll %d, after the one that should have been the last", poll)
			case path == postgresPath+"/orders-db":
				return stub.Respond(200, polls[poll][0]), nil
			case polls[poll][1] == "":
				return stub.Respond(500, stub.Envelope(500)), nil
			case strings.HasPrefix(polls[poll][1], `{"error"`):
				return stub.Respond(400, polls[poll][1]), nil
			}
			return stub.Respond(200, polls[poll][1]), nil
		}), cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1}))
		db, err = wait(t.Context(), client.Postgres)
		if poll+1 != len(polls) {
			t.Errorf("%d polls, want %d", poll+1, len(polls))
		}
	})
	return db, err
}

// TestPostgresServerWaits follows the recorded replacement of a primary, and a
// change of the ha_type.
func TestPostgresServerWaits(t *testing.T) {
	t.Parallel()
	const (
		a, b  = "pvqc6200000000000000000000", "pv3jqr00000000000000000000"
		one   = `{"id":"` + testPgID + `","state":"running","target_server_count":1}`
		two   = `{"id":"` + testPgID + `","state":"running","target_server_count":2}`
		going = `{"id":"` + testPgID + `","state":"deleting","target_server_count":1}`
	)
	servers := func(lines ...string) string {
		var items []string
		for _, line := range lines {
			f := strings.Fields(line)
			items = append(items, fmt.Sprintf(`{"id":%q,"role":%q,"state":%q,"synchronization_status":%q}`, f[0], f[1], f[2], f[3]))
		}
		return `{"items":[` + strings.Join(items, ",") + `]}`
	}
	old := servers(a + " primary running ready")
	replacement := [][2]string{
		{one, old},
		{one, servers(a+" primary running ready", b+" standby creating catching_up")},
		{one, servers(a+" primary running ready", b+" standby running ready")},
		{one, servers(a+" primary running ready", b+" standby failing_over ready")},
		{one, ""},
		{one, servers(a+" primary unavailable ready", b+" standby failing_over ready")},
		{one, servers(a+" standby deleting ready", b+" primary running ready")},
		{one, servers(b + " primary running ready")},
	}
	recycled := func(ctx context.Context, s *cloudapi.PostgresService) (*cloudapi.Postgres, error) {
		return s.WaitRecycled(ctx, "eu-central-h1", "orders-db", a, nil)
	}
	settled := func(ctx context.Context, s *cloudapi.PostgresService) (*cloudapi.Postgres, error) {
		return s.WaitServers(ctx, "eu-central-h1", "orders-db", nil)
	}
	for name, tt := range map[string]struct {
		wait  func(context.Context, *cloudapi.PostgresService) (*cloudapi.Postgres, error)
		polls [][2]string
		err   error
	}{
		"recycled": {recycled, replacement, nil},
		"more servers": {settled, [][2]string{
			{two, old},
			{two, servers(a+" primary running ready", b+" standby updating catching_up")},
			{two, servers(a+" primary running ready", b+" standby running catching_up")},
			{two, servers(a+" primary running ready", b+" standby running ready")},
		}, nil},
		"a replica, whose primary follows": {settled, [][2]string{{one, servers(a + " primary running catching_up")}}, nil},
		"deleted meanwhile":                {recycled, [][2]string{{one, old}, {going, old}}, cloudapi.ErrWaitFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, err := pollingTwo(t, "/servers", tt.polls, tt.wait)
			if !errors.Is(err, tt.err) || (err == nil) != (db != nil && db.ID == testPgID) {
				t.Errorf("the wait returned %v, %v", db, err)
			}
		})
	}
}

// TestResolvePostgresServer finds the database of a server, such as one that a
// log line names. Other databases may be invisible, or may just have been
// deleted.
func TestResolvePostgresServer(t *testing.T) {
	t.Parallel()
	const serverID = "pvdcnv0pp6wj4jnx1dytre5yj4"
	network := stub.Recorder{Answer: func(req *http.Request) (*http.Response, error) {
		switch req.URL.Path {
		case projectPath + "/postgres":
			return stub.Respond(200, `{"items":[{"id":"`+testReplicaID+`","name":"gone","location":"eu-central-h1"},{`+testPgShort+`}],"count":2}`), nil
		case postgresPath + "/" + testPgID + "/servers":
			return stub.Respond(200, `{"items":[{"id":"pv00000000000000000000000z"},{"id":"`+serverID+`","role":"standby"}],"count":2}`), nil
		}
		return stub.Respond(404, stub.Envelope(404)), nil
	}}
	client := sdktest.Recorded(t, &network)
	found, err := client.Resolve(t.Context(), serverID)
	if err != nil || found.Kind != cloudapi.KindPostgresServer || found.ID != serverID || found.Parent == nil || found.Parent.ID != testPgID {
		t.Errorf("the server is %v, %v", found, err)
	}
	server, err := cloudapi.Lookup[cloudapi.PostgresServer](t.Context(), client, serverID)
	if err != nil || server.Role != cloudapi.PostgresServerRoleStandby {
		t.Errorf("the server is %+v, %v", server, err)
	}
	if found, err := client.Resolve(t.Context(), "pvjey6g253fa4n1dbgbsps0nk8"); !errors.Is(err, cloudapi.ErrNotFound) {
		t.Errorf("another server is %v, %v", found, err)
	}
}
