package families

import (
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

// postgresTerms contains the differences between the versions of the API in
// databases, but not the operations and fields that only one version has.
type postgresTerms struct {
	flavors, versions []string // the default comes first
	shared            string   // prefix of the names of sizes with shared CPUs

	ruleKind   cloudapi.Kind
	rulePorts  []portRange // a network that may connect gets a rule for each of these
	ruleUnique string      // the columns in the error message for a duplicate rule

	// explicit is true for the servers of 2026. There, the state of a database
	// shows restores and restarts, and its record has the storage size from the
	// start. A replica can't be changed, but it gets each new password of its
	// parent. Once promoted, it's independent, though its record keeps the parent.
	explicit bool

	domain   string // of hosts, without the top-level domain
	sslQuery string // of connection strings

	noCertificates error // the error of a request for certificates that don't exist yet
}

func postgresTermsOf(at *api.Moment) postgresTerms {
	if at.Config.Version == version.Contract {
		return postgresTerms{
			flavors: []string{"standard", "paradedb"}, versions: []string{"17", "16"}, shared: "burstable",
			ruleKind: cloudapi.KindPostgresFirewallRule, rulePorts: []portRange{everyPort}, ruleUnique: "postgres_resource_id and cidr",
			domain: "postgres", sslQuery: "sslmode=require",
			noCertificates: reply.NotFound(),
		}
	}
	return postgresTerms{
		flavors: []string{"standard"}, versions: []string{"18", "17", "16"}, shared: "hobby",
		ruleKind: cloudapi.KindFirewallRule, rulePorts: []portRange{{5432, 5432}, {6432, 6432}}, ruleUnique: uniqueRule,
		explicit: true,
		domain:   "pg", sslQuery: "sslmode=require&channel_binding=require",
		noCertificates: reply.NoCertificates(),
	}
}

// lantern is a flavor without the latest version of PostgreSQL.
const lantern = "lantern"

func postgresFlavors(c *api.Call) []string {
	flavors := postgresTermsOf(c.Moment).flavors
	if hasFeature(c.Moment, c.Project, FeatureLantern) {
		flavors = append(slices.Clip(flavors), lantern)
	}
	return flavors
}

func (t postgresTerms) versionsOf(flavor string) []string {
	if flavor == lantern {
		return t.versions[1:]
	}
	return t.versions
}

// sizeName returns the name that records have for a requested size. The service
// accepts burstable-1 for hobby-1.
func (t postgresTerms) sizeName(requested string) string {
	if number, ok := strings.CutPrefix(requested, "burstable-"); ok {
		return t.shared + "-" + number
	}
	return requested
}
