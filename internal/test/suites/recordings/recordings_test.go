// Package recordings_test decodes recorded responses of real servers with the
// SDK.
package recordings_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi/internal/test/apitables"
	"github.com/cloudapi-sdk/cloudapi/internal/test/recordings"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

type recording struct{ recordings.Exchange }

func (r *recording) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %d: %s", r.Story, r.Seq, r.key()))
}

func (r *recording) key() string { return r.Request.Method + " " + r.Request.Path }

func (r *recording) transport() *stub.Recorder {
	return &stub.Recorder{Answer: func(*http.Request) (*http.Response, error) {
		resp := stub.Respond(r.Response.Status, r.Response.Body)
		resp.Header = http.Header{}
		for name, value := range r.Response.Headers {
			resp.Header.Set(name, value)
		}
		return resp, nil
	}}
}

// version is the contract or a version of the service, with its recordings.
type version struct {
	name  string
	files []string

	// beyondQuota are the recorded operations that the server refused because of a
	// quota.
	beyondQuota []string

	// operations are the operations that this version added, except those that were
	// off. The recordings contain no successful request of those in unrecorded: it failed, or the
	// server doesn't have the operation.
	operations []apitables.Row
	unrecorded []string
}

func versions() []version {
	return []version{
		{
			name:        "contract",
			files:       recordings.Contract(),
			beyondQuota: []string{"createPostgresDatabase", "createProject", "createVM", "resizeKubernetesNodepool"},
			operations:  apitables.Contract(),
			unrecorded: []string{
				"POST /project/{project_id}/firewall",
				"POST /project/{project_id}/location/{location}/firewall/{firewall_reference}/firewall-rule/{firewall_rule_id}",
				"GET /project/{project_id}/vm-init-script",
				"POST /project/{project_id}/vm-init-script",
				"GET /project/{project_id}/vm-init-script/{vm_init_script_reference}",
				"POST /project/{project_id}/vm-init-script/{vm_init_script_reference}",
				"DELETE /project/{project_id}/vm-init-script/{vm_init_script_reference}",
			},
		},
		{
			name:        "service",
			files:       recordings.Service(),
			beyondQuota: []string{"createKubernetesNodepool", "createVM", "resizeKubernetesNodepool"},
			operations:  slices.DeleteFunc(apitables.Service(), func(r apitables.Row) bool { return !r.ServiceOnly || r.Switchable() }),
		},
	}
}

func eachVersion(t *testing.T, test func(*testing.T, version, []recording)) {
	t.Helper()
	for _, v := range versions() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			var all []recording
			for _, name := range v.files {
				exchanges := stub.Must(recordings.Read(name))(t)
				for _, x := range exchanges {
					// The replacement of a private key should look like one.
					x.Response.Body = strings.ReplaceAll(x.Response.Body, "KEY-----\n<placeholder>\n", "KEY-----\nAAAA\n")
					all = append(all, recording{x})
				}
			}
			test(t, v, all)
		})
	}
}
