package cloudapi_test

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
)

func TestConnectionURL(t *testing.T) {
	t.Parallel()
	const record = "postgres://postgres:s3cr%2Fet@orders.pggk8w.postgres.example.net:5432/postgres?sslmode=require&channel_binding=require"
	const rest = "@orders.pggk8w.postgres.example.net:5432/"
	const parameters = "?sslmode=require&channel_binding=require"
	for name, test := range map[string]struct {
		options cloudapi.ConnectionOptions
		want    string
	}{
		"nothing":           {cloudapi.ConnectionOptions{}, record},
		"database":          {cloudapi.ConnectionOptions{Database: "orders"}, "postgres://postgres:s3cr%2Fet" + rest + "orders" + parameters},
		"odd database":      {cloudapi.ConnectionOptions{Database: "a/b?c d"}, "postgres://postgres:s3cr%2Fet" + rest + "a%2Fb%3Fc%20d" + parameters},
		"user":              {cloudapi.ConnectionOptions{User: "app"}, "postgres://app" + rest + "postgres" + parameters},
		"the same user":     {cloudapi.ConnectionOptions{User: "postgres"}, record},
		"user and password": {cloudapi.ConnectionOptions{User: "app", Password: cloudapi.NewSecret("p@ss:w/rd")}, "postgres://app:p%40ss%3Aw%2Frd" + rest + "postgres" + parameters},
		"password":          {cloudapi.ConnectionOptions{Password: cloudapi.NewSecret("other")}, "postgres://postgres:other" + rest + "postgres" + parameters},
		"kept apart":        {cloudapi.ConnectionOptions{WithoutPassword: true}, "postgres://postgres" + rest + "postgres" + parameters},
	} {
		got, err := cloudapi.ConnectionURL(cloudapi.NewSecret(record), test.options)
		if err != nil || got.Reveal() != test.want {
			t.Errorf("%s: it is %s, %v, want %s", name, got.Reveal(), err, test.want)
		}
		if printed := fmt.Sprint(got); strings.Contains(printed, "example") {
			t.Errorf("%s: it prints as %s", name, printed)
		}
		if u, err := url.Parse(got.Reveal()); test.options.Database != "" && (err != nil || u.Path != "/"+test.options.Database) {
			t.Errorf("%s: a driver reads the database %q, %v", name, u.Path, err)
		}
	}
	const other = "postgresql://postgres@example.net/postgres"
	if got, err := cloudapi.ConnectionURL(cloudapi.NewSecret(other), cloudapi.ConnectionOptions{}); err != nil || got.Reveal() != other {
		t.Errorf("with the other scheme: %v, %v", got.Reveal(), err)
	}
	contradiction := cloudapi.ConnectionOptions{Password: cloudapi.NewSecret("other"), WithoutPassword: true}
	if _, err := cloudapi.ConnectionURL(cloudapi.NewSecret(record), contradiction); !errors.Is(err, cloudapi.ErrInvalidArgument) {
		t.Errorf("with and without a password: %v", err)
	}
	for _, connection := range []string{"", "host=orders password=hunter2", "https://u:hunter2@example.net/", "postgres:///db?password=hunter2", "postgres://u:hunter2@%zz/"} {
		_, err := cloudapi.ConnectionURL(cloudapi.NewSecret(connection), cloudapi.ConnectionOptions{})
		if !errors.Is(err, cloudapi.ErrInvalidArgument) || strings.Contains(fmt.Sprint(err), "hunter2") {
			t.Errorf("%q: the error is %v", connection, err)
		}
	}
}
