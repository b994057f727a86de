package families

import (
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/api"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/reply"
	"github.com/cloudapi-sdk/cloudapi/cloudapitest/internal/version"
)

// postgresTerms are what versions of the service differ in with databases, apart
// from operations and fields, which say themselves where they are.
type postgresTerms struct {
	flavors, versions []string // the default comes first
	shared            string   // what the sizes with shared CPUs are called

	ruleKind   cloudapi.Kind
	rulePorts  []int  // a range has a rule for each
	ruleUnique string // the service's words for what no two rules have in common

	// The state of a database says that it restores or restarts, the record has
	// its storage from the start, a replica is none as soon as it is to be
	// promoted, but keeps its parent, and replicas cannot be changed.
	explicit bool

	domain   string // of hosts, without the top level
	sslQuery string // of connection strings

	noCertificates error // before there are any
}

var (
	untilOctober2025 = version.Span{}.Until(version.October2025)
	sinceAugust2026  = version.Span{}.Since(version.August2026)
)

func postgresTermsOf(c *api.Call) postgresTerms {
	if c.Config.Version < version.August2026 {
		return postgresTerms{
			flavors: []string{"standard", "paradedb"}, versions: []string{"17", "16"}, shared: "burstable",
			ruleKind: cloudapi.KindPostgresFirewallRule, rulePorts: []int{0}, ruleUnique: "postgres_resource_id and cidr",
			domain: "postgres", sslQuery: "sslmode=require",
			noCertificates: reply.NotFound(),
		}
	}
	return postgresTerms{
		flavors: []string{"standard"}, versions: []string{"18", "17", "16"}, shared: "hobby",
		ruleKind: cloudapi.KindFirewallRule, rulePorts: []int{5432, 6432}, ruleUnique: "cidr and port_range and firewall_id and protocol",
		explicit: true,
		domain:   "pg", sslQuery: "sslmode=require&channel_binding=require",
		noCertificates: reply.NoCertificates(),
	}
}

// sizeName is the name of the size that a request means: sizes with shared CPUs
// keep their former one.
func (t postgresTerms) sizeName(asked string) string {
	if number, ok := strings.CutPrefix(asked, "burstable-"); ok {
		return t.shared + "-" + number
	}
	return asked
}
