package families_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestLogs reads generated and added lines, all at once and in pages of any
// size. They're sorted and selected by the time of their receipt, even if
// they're late or equal, and FollowLogs yields each once.
func TestLogs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := cloudapitest.New(t)
		play(t, srv, `
			POST L/postgres/db {"size":"standard-2","storage_size":64} ->
			wait 2h
			GET L/postgres/db/logs?start=1999-12-31T00:00:00Z -> 400 Maximum time range for log queries is 24 hours
			GET L/postgres/db/logs?max_log_lines=501 -> 400 Maximum limit is 500`)
		ctx, pg, db := t.Context(), srv.Client().Postgres, srv.IDs(cloudapi.KindPostgres, "db")[0]
		messages := func(o cloudapi.PostgresLogsOptions) (found []string) {
			for line, err := range pg.AllLogs(ctx, here, "db", &o) {
				found = append(found, stub.Must(line, err)(t).Message)
			}
			slices.Reverse(found)
			return found
		}
		ofAnHour := cloudapi.PostgresLogsOptions{Start: time.Now().Add(-time.Hour), PageSize: 500}
		if whole := messages(ofAnHour); len(whole) != 361 {
			t.Errorf("%d lines of an hour, want 361", len(whole))
		}
		ofAnHour.SeverityLevel, ofAnHour.PageSize = cloudapi.PostgresLogEntrySeverityLevelError, 7
		if errors := messages(ofAnHour); len(errors) != 60 {
			t.Errorf("%d errors of an hour, want 60", len(errors))
		}

		var followed []string
		follow := &cloudapi.FollowOptions{UntilNow: true}
		follow.Checkpoint = func(m cloudapi.LogMarker) { follow.Marker = m }
		check := func(want ...string) {
			t.Helper()
			for size := range 8 {
				if got := messages(cloudapi.PostgresLogsOptions{PageSize: size, QueryPattern: "test "}); !slices.Equal(got, want) {
					t.Errorf("in pages of %d the lines are %q, want %q", size, got, want)
				}
			}
			for line, err := range pg.FollowLogs(ctx, here, "db", &cloudapi.PostgresLogsOptions{QueryPattern: "test "}, follow) {
				followed = append(followed, stub.Must(line, err)(t).Message)
			}
			if !slices.Equal(followed, want) {
				t.Errorf("followed, the lines are %q, want %q", followed, want)
			}
		}
		for message := range strings.SplitSeq("test a,test b,test b,test b", ",") {
			srv.AddLogLine(db, cloudapi.PostgresLogEntry{Message: message})
		}
		stub.Elapse(time.Second) // a Date has whole seconds
		check("test a", "test b", "test b", "test b")

		stub.Elapse(25 * time.Second)
		from, server := time.Now(), stub.Must(pg.ListServers(ctx, here, "db"))(t).Items[0].ID
		full := cloudapi.PostgresLogEntry{
			Timestamp: from.Add(-40 * time.Second).UTC(), StreamName: cloudapi.PostgresLogEntryStreamNamePgBouncer, SeverityLevel: cloudapi.PostgresLogEntrySeverityLevelFatal,
			Message: "test late", ServerID: server, ServerRole: cloudapi.PostgresServerRoleStandby, Context: map[string]string{"user": "app"},
		}
		plain := cloudapi.PostgresLogEntry{
			Timestamp: from.UTC(), StreamName: "postgres", SeverityLevel: "INFO", Message: "test c", ServerID: server, ServerRole: "primary",
		}
		srv.AddLogLine(db, full)
		srv.AddLogLine(db, cloudapi.PostgresLogEntry{Message: plain.Message})
		stub.Elapse(time.Second)
		check("test a", "test b", "test b", "test b", "test late", "test c")
		got := stub.Must(pg.ListLogs(ctx, here, "db", &cloudapi.PostgresLogsOptions{Start: from, End: from.Add(time.Second), QueryPattern: "test "}))(t).Items
		if len(got) != 2 || !reflect.DeepEqual(*got[1], full) && !reflect.DeepEqual(*got[0], full) || !reflect.DeepEqual(*got[0], plain) && !reflect.DeepEqual(*got[1], plain) {
			t.Errorf("received since then: %+v", got)
		}
	})
}
