package cloudapitest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	const none, foreign, revoked = "pat-none", "pat-foreign", "pat-revoked"
	srv := New(t, WithTokenAccess(none, AccessNone), WithTokenAccess(foreign, AccessForeign), WithTokenAccess(revoked, AccessFull), WithTokenAccess(revoked, AccessRevoked))
	own, other := "/project/"+srv.ProjectID(), "/project/"+srv.OtherProjectID()
	tests := []struct {
		header, method, path string
		status               int
		errorType            string
	}{
		{"", "GET", own, 401, "MissingCredentials"},
		{"Basic " + srv.Token(), "GET", own, 401, "MissingCredentials"},
		{"Bearer " + srv.Token(), "GET", own, 200, ""},
		{"Bearer: " + srv.Token(), "GET", own, 200, ""},
		{"Bearer  " + srv.Token() + " ", "GET", own, 200, ""},
		{"bearer " + srv.Token(), "GET", own, 200, ""},
		{"Bearer " + srv.Token()[:30] + strings.ToLower(srv.Token()[30:]), "GET", own, 401, "InvalidCredentials"},
		{"Bearer " + revoked, "GET", own, 401, "InvalidCredentials"},
		{"Bearer " + none, "GET", own, 403, "Forbidden"},
		{"Bearer " + none, "GET", "/project", 200, ""},
		{"Bearer " + foreign, "GET", own, 404, "ResourceNotFound"},
		{"Bearer " + foreign, "GET", other, 200, ""},
		{"Bearer " + srv.Token(), "GET", other, 404, "ResourceNotFound"},
		{"Bearer " + srv.Token(), "DELETE", other, 204, ""},
		{"Bearer " + foreign, "GET", other, 200, ""}, // the project still exists
	}
	for _, tt := range tests {
		req, _ := http.NewRequestWithContext(t.Context(), tt.method, srv.URL()+tt.path, nil)
		if tt.header != "" {
			req.Header.Set("Authorization", tt.header)
		}
		resp := stub.Must(srv.HTTPClient().Do(req))(t)
		var e struct{ Error struct{ Type string } }
		_ = json.NewDecoder(resp.Body).Decode(&e) // a 204 has no body
		resp.Body.Close()
		if resp.StatusCode != tt.status || e.Error.Type != tt.errorType {
			t.Errorf("%q %s %s: %d %q, want %d %q", tt.header, tt.method, tt.path, resp.StatusCode, e.Error.Type, tt.status, tt.errorType)
		}
	}
}

func TestOptionsRefuseUnusableValues(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]Option{
		"token":     WithToken("secret"),
		"more":      WithTokenAccess("pat-a b", AccessFull),
		"project":   WithProjectID("pj1"),
		"kind":      WithProjectID(NewID(cloudapi.KindVM).String()),
		"name":      WithProjectName("no name"),
		"page":      WithPageCap(0),
		"log":       WithRequestLog(-1),
		"version":   WithAPI("2025-11"),
		"locations": WithLocations(),
		"twice":     WithLocations("a", "b", "a"),
		"slash":     WithLocations("a/b"),
		"access":    WithTokenAccess("pat-a", AccessRevoked+1),
		"no access": WithTokenAccess("pat-a", -1),
		"delays":    WithDelays(Delays{Detach: -1}),
		"clock":     WithClock(nil),
		"quota":     WithQuota(Quota{VM: 1, Projects: -1}),
	} {
		if _, err := newConfig([]Option{opt}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
