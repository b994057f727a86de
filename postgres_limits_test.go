package cloudapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestEndlessEmptyPagesOfLogs: a server that always announces another page, but
// sends no lines, ends FollowLogs.
func TestEndlessEmptyPagesOfLogs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pages := 0
		client := stub.Must(NewClient(WithBaseURL(stub.BaseURL), WithToken(stub.Token), WithProject(stub.Project),
			WithHTTPClient(&http.Client{Transport: stub.RoundTripper(func(*http.Request) (*http.Response, error) {
				if pages++; pages == 100_000 {
					t.Fatal("it goes on for ever")
				}
				return stub.Respond(http.StatusOK, fmt.Sprintf(`{"logs":[],"pagination_key":"%d"}`, pages)), nil
			})})))(t)
		lines := 0
		for _, err := range client.Postgres.FollowLogs(t.Context(), "eu-central-h1", "db", &PostgresFollowLogsOptions{maxHeld: 50 * logEntrySize}) {
			if lines++; !errors.Is(err, ErrPaginationStalled) {
				t.Errorf("it yields %v", err)
			}
		}
		if lines != 1 || pages > 2000 {
			t.Errorf("it ends after %d pages with %d errors", pages, lines)
		}
	})
}

// TestSettingInAReusedVariable: nothing of a number is left in a variable into
// which a text is decoded.
func TestSettingInAReusedVariable(t *testing.T) {
	t.Parallel()
	setting := NewPostgresSetting(200)
	for _, want := range []string{`"32MB"`, `1.50`, `"1"`, `true`, `""`} {
		err := json.Unmarshal([]byte(want), &setting)
		if got := string(stub.Must(json.Marshal(setting))(t)); err != nil || got != want {
			t.Errorf("it is %s, %v, want %s", got, err, want)
		}
	}
	if err := json.Unmarshal([]byte("null"), &setting); err != nil || setting != NewPostgresSetting("") {
		t.Errorf("null is %#v, %v", setting, err)
	}
}
