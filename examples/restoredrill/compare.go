package main

import (
	"fmt"
	"net/url"

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
		compareAddresses(source.ConnectionString, copied.ConnectionString),
	}
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
