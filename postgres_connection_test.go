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
		"verified": {
			cloudapi.ConnectionOptions{SSLMode: "verify-full", SSLRootCert: "/etc/my app/ca+1.pem"},
			"postgres://postgres:s3cr%2Fet" + rest + "postgres?sslmode=verify-full&channel_binding=require&sslrootcert=%2Fetc%2Fmy%20app%2Fca%2B1.pem",
		},
		"parameters": {
			cloudapi.ConnectionOptions{Parameters: map[string]string{"application_name": "a b&c=é", "channel_binding": "disable", "TimeZone": "UTC", "sslcert": "c.pem"}},
			"postgres://postgres:s3cr%2Fet" + rest + "postgres?sslmode=require&channel_binding=disable&TimeZone=UTC&application_name=a%20b%26c%3D%C3%A9&sslcert=c.pem",
		},
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

// TestConnectionURLWithBadParameters: an error names the parameter, and what
// else was meant.
func TestConnectionURLWithBadParameters(t *testing.T) {
	t.Parallel()
	connection := cloudapi.NewSecret("postgres://postgres:hunter2@orders.example.net:5432/postgres?sslmode=require")
	of := func(name, value string) cloudapi.ConnectionOptions {
		return cloudapi.ConnectionOptions{Parameters: map[string]string{name: value}}
	}
	for want, options := range map[string]cloudapi.ConnectionOptions{
		`SSLMode "verify_full"`:        {SSLMode: "verify_full"},
		`SSLRootCert`:                  {SSLRootCert: "ca\x00.pem"},
		`Parameters "sslmode" has`:     of("sslmode", "disable"),
		`Parameters "SSLMode" has`:     of("SSLMode", "disable"),
		`Parameters "sslrotcert" is`:   of("sslrotcert", "ca.pem"),
		`Parameters "host" would`:      of("host", "example.com"),
		`Parameters "password" has`:    of("password", "hunter2"),
		`Parameters "a b" can't`:       of("a b", "c"),
		`Parameters can't`:             of("", "c"),
		`Parameters "a&sslmode" can't`: of("a&sslmode", "disable"),
		`Parameters "options" has a`:   of("options", "\x00"),
		`Parameters "sslpassword" has a value that is the masked form`: of("sslpassword", cloudapi.NewSecret("hunter2").String()),
		`User contains a NUL`:     {User: "app\x00database\x00other"},
		`Password contains a NUL`: {Password: cloudapi.NewSecret("hunter2\x00")},
		`Database contains a NUL`: {Database: "orders\x00"},
	} {
		got, err := cloudapi.ConnectionURL(connection, options)
		if !errors.Is(err, cloudapi.ErrInvalidArgument) || !got.IsZero() || !strings.Contains(fmt.Sprint(err), want) || strings.Contains(fmt.Sprint(err), "hunter2") {
			t.Errorf("%s: %v, %v", want, got, err)
		}
	}
}

// TestConnectionURLOfAMaskedValue: a URL that was stored in its masked form
// gives an error that says so.
func TestConnectionURLOfAMaskedValue(t *testing.T) {
	t.Parallel()
	stored := cloudapi.NewSecret(cloudapi.NewSecret("postgres://postgres:hunter2@orders.example.net/postgres").String())
	const want = `was stored in place of its content: get the database again, and store the result of Reveal`
	for _, connection := range []cloudapi.Secret{stored, cloudapi.NewSecret("postgres://postgres:" + stored.Reveal() + "@orders.example.net/postgres")} {
		if _, err := cloudapi.ConnectionURL(connection, cloudapi.ConnectionOptions{}); !errors.Is(err, cloudapi.ErrInvalidArgument) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%q: %v", connection.Reveal(), err)
		}
	}
	connection := cloudapi.NewSecret("postgres://postgres@orders.example.net/postgres")
	if _, err := cloudapi.ConnectionURL(connection, cloudapi.ConnectionOptions{Password: stored}); !strings.Contains(fmt.Sprint(err), "Password is the masked form") || !strings.Contains(fmt.Sprint(err), want) {
		t.Errorf("a masked password: %v", err)
	}
}
