package families

import (
	"strings"

	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

// kubernetesTerms are the differences between the versions of the API for
// clusters, except for operations and fields, which know the version that
// alone has them.
type kubernetesTerms struct {
	versions []string // Kubernetes versions, the latest first

	unknownVersion func(asked string) error
	checkLocation  func(*api.Call) error

	kubeconfigType string
	noKubeconfig   error // until it exists
}

func kubernetesTermsOf(at *api.Moment) kubernetesTerms {
	if at.Config.Version == version.Contract {
		return kubernetesTerms{
			versions:       []string{"v1.34", "v1.33"},
			unknownVersion: func(string) error { return reply.Unexpected() },
			checkLocation:  func(*api.Call) error { return nil },
			kubeconfigType: "text/plain",
			noKubeconfig:   reply.Unexpected(),
		}
	}
	versions := []string{"v1.37", "v1.36"}
	return kubernetesTerms{
		versions: versions,
		unknownVersion: func(asked string) error {
			return reply.InvalidField("version", `Kubernetes version "%s" is not supported. Available versions: %s`,
				asked, strings.Join(versions, ", "))
		},
		checkLocation:  checkKubernetesLocation,
		kubeconfigType: "text/yaml",
		noKubeconfig:   reply.Unprocessable("Cluster is not ready, kubeconfig is not available yet"),
	}
}
