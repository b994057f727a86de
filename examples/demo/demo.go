// Package demo has what each example needs and none is about: how a program
// starts and ends, and a client for a real project or for a server inside the
// program.
package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest"
)

// PublicKey is a valid SSH public key whose private key nobody has.
const PublicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPlaceholderKeyForExamplesOnlyxxxxxxxxxxxxxxxx examples"

// variables name a real project. Without a base URL, the project is one of
// Ubicloud's service.
var variables = []string{cloudapi.EnvBaseURL, cloudapi.EnvToken, cloudapi.EnvProject}

// IsEmbedded reports whether none of the environment variables for a real
// project is set: [Connect] then starts a server inside the program. It returns
// an error if only some are set, or one is empty. A user who meant a real
// project must not see success with made-up resources.
func IsEmbedded() (bool, error) {
	var set, missing []string
	for _, variable := range variables {
		value, isSet := os.LookupEnv(variable)
		if isSet {
			set = append(set, variable)
		}
		if value == "" && (isSet || variable != cloudapi.EnvBaseURL) {
			missing = append(missing, variable)
		}
	}
	if len(set) > 0 && len(missing) > 0 {
		return false, fmt.Errorf("set %s for a real project, or unset %s for the embedded server",
			strings.Join(missing, " and "), strings.Join(set, " and "))
	}
	return len(set) == 0, nil
}

// Server configures the server that a program starts inside itself.
type Server struct {
	Delays cloudapitest.Delays
	Empty  bool // whether its project has no resources; otherwise, it has those of a small shop
}

// Connect returns a client for the project that the environment variables name.
// If [IsEmbedded], it starts a server inside the program instead, and says so.
// The returned function closes the server.
func Connect(ctx context.Context, stderr io.Writer, application string, s Server) (*cloudapi.Client, func(), error) {
	embedded, err := IsEmbedded()
	if err != nil {
		return nil, nil, err
	}
	if !embedded {
		client, err := cloudapi.NewClient(cloudapi.FromEnv(), cloudapi.WithUserAgent(application))
		return client, func() {}, err
	}
	project := "a made-up"
	if s.Empty {
		project = "an empty"
	}
	fmt.Fprintf(stderr, "Using an embedded server with %s project.\nSet %s and %s for a real one.\n",
		project, cloudapi.EnvToken, cloudapi.EnvProject)
	// The databases are as if a day old, so that they can be restored and have logs.
	server := cloudapitest.NewServer(
		cloudapitest.WithDelays(cloudapitest.Delays{Backup: -24 * time.Hour}),
		cloudapitest.WithQuota(cloudapitest.Quota{VM: 1000, Postgres: 1000, Kubernetes: 1000, MachineImageVersions: 1000, Projects: 10}),
		cloudapitest.WithRequestLog(0),
	)
	client := server.Client(cloudapi.WithUserAgent(application))
	if !s.Empty {
		if err := fill(ctx, server, client); err != nil {
			server.Close()
			return nil, nil, fmt.Errorf("fill the embedded server: %w", err)
		}
	}
	s.Delays.Backup = -24 * time.Hour
	server.SetDelays("", "", s.Delays)
	return client, server.Close, nil
}
