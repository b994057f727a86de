package main

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/cloudapi-sdk/cloudapi"
)

type result struct {
	what           string
	source, copied string
	ok             bool
}

func compare(source, copied *cloudapi.Postgres) []result {
	same := func(what, source, copied string) result { return result{what, source, copied, source == copied} }
	return []result{
		{"state", source.State, copied.State, copied.State == cloudapi.PostgresStateRunning},
		same("version", source.Version, copied.Version),
		same("flavor", source.Flavor, copied.Flavor),
		same("size", source.VMSize, copied.VMSize),
		{"storage", fmt.Sprint(source.StorageSizeGiB, " GiB"), fmt.Sprint(copied.StorageSizeGiB, " GiB"), copied.StorageSizeGiB >= source.StorageSizeGiB},
		{"takes writes", fmt.Sprint(source.Primary), fmt.Sprint(copied.Primary), copied.Primary},
		{"made from", "", copied.Parent, copied.Parent == "/location/"+source.Location+"/postgres/"+source.Name},
		same("open to", ranges(source), ranges(copied)),
		compareAddresses(source.ConnectionString, copied.ConnectionString),
	}
}

// ranges lists who may connect to a database. The service has two rules for each
// range: for the ports of the database and of the connection pooler.
func ranges(db *cloudapi.Postgres) string {
	var cidrs []string
	for _, rule := range db.FirewallRules {
		cidrs = append(cidrs, rule.CIDR)
	}
	slices.Sort(cidrs)
	return cmp.Or(strings.Join(slices.Compact(cidrs), ", "), "nobody")
}

// compareAddresses checks that the copy has another host but the same user and
// password. The report shows only the hosts.
func compareAddresses(source, copied cloudapi.Secret) result {
	from, err := url.Parse(source.Reveal())
	to, err2 := url.Parse(copied.Reveal())
	if err != nil || err2 != nil || to.User == nil {
		return result{"address", "", "none, or not a URL", false}
	}
	ok := to.Hostname() != "" && to.Hostname() != from.Hostname() && from.User != nil && *to.User == *from.User
	return result{"address", from.Hostname(), to.Hostname(), ok}
}
