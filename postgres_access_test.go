package cloudapi_test

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/cloudapi-sdk/cloudapi"
)

// TestConnectionURL: each option changes its own part of the URL, and no other
// part.
func TestConnectionURL(t *testing.T) {
	t.Parallel()
	type options = cloudapi.PostgresConnectionOptions
	const record = "postgres://postgres:s3cr%2Fet@orders.example.net:5432/postgres?channel_binding=require&sslmode=require"
	const rest = "@orders.example.net:5432/"
	const parameters = "?channel_binding=require&sslmode=require"
	app := options{User: "app", Password: cloudapi.NewSecret("p@ss:w/rd")}
	for name, test := range map[string]struct {
		url     string // "" means record
		options options
		want    string // without the scheme
	}{
		"nothing":             {"", options{}, "postgres:s3cr%2Fet" + rest + "postgres" + parameters},
		"the other scheme":    {"postgresql://a@b:6432/c?x=1%2C2&&y=3&x=5", options{}, "a@b:6432/c?x=1%2C2&y=3&x=5"},
		"no user":             {"postgres://b/c", options{}, "b/c"},
		"database":            {"", options{Database: "orders"}, "postgres:s3cr%2Fet" + rest + "orders" + parameters},
		"odd database":        {"", options{Database: "a/b?c d"}, "postgres:s3cr%2Fet" + rest + "a%2Fb%3Fc%20d" + parameters},
		"user":                {"", options{User: "app"}, "app" + rest + "postgres" + parameters},
		"the same user":       {"", options{User: "postgres"}, "postgres:s3cr%2Fet" + rest + "postgres" + parameters},
		"user and password":   {"", app, "app:p%40ss%3Aw%2Frd" + rest + "postgres" + parameters},
		"password":            {"", options{Password: cloudapi.NewSecret("other")}, "postgres:other" + rest + "postgres" + parameters},
		"kept apart":          {"", options{WithoutPassword: true}, "postgres" + rest + "postgres" + parameters},
		"without a parameter": {"", options{Parameters: map[string]string{"channel_binding": "", "other": ""}}, "postgres:s3cr%2Fet" + rest + "postgres?sslmode=require"},
		"pooler":              {"", options{Port: 6432}, "postgres:s3cr%2Fet@orders.example.net:6432/postgres" + parameters},
		"pooler by address":   {"postgres://a@[2001:db8::1]/c", options{Port: 6432}, "a@[2001:db8::1]:6432/c"},
		"verified": {
			"", options{SSLMode: "verify-full", SSLRootCert: "/etc/my app/ca+1.pem"},
			"postgres:s3cr%2Fet" + rest + "postgres?channel_binding=require&sslmode=verify-full&sslrootcert=%2Fetc%2Fmy%20app%2Fca%2B1.pem",
		},
		"verified, escaped": {"postgres://a@b/c?sslmod%65=disable&sslmode=prefer", options{SSLMode: "verify-full"}, "a@b/c?sslmode=verify-full"},
		"parameters": {
			"", options{Parameters: map[string]string{"application_name": "a b&c=é", "channel_binding": "disable", "TimeZone": "UTC", "sslcert": "c.pem"}},
			"postgres:s3cr%2Fet" + rest + "postgres?sslmode=require&TimeZone=UTC&application_name=a%20b%26c%3D%C3%A9&channel_binding=disable&sslcert=c.pem",
		},
	} {
		got, err := cloudapi.PostgresConnectionURL(cloudapi.NewSecret(cmp.Or(test.url, record)), &test.options)
		if _, rest, _ := strings.Cut(got.Reveal(), "://"); err != nil || rest != test.want {
			t.Errorf("%s: it is %s, %v, want %s", name, got.Reveal(), err, test.want)
		}
		if printed := fmt.Sprint(got); strings.Contains(printed, "example") {
			t.Errorf("%s: it prints as %s", name, printed)
		}
		if u, err := url.Parse(got.Reveal()); test.options.Database != "" && (err != nil || u.Path != "/"+test.options.Database) {
			t.Errorf("%s: a driver reads the database %q, %v", name, u.Path, err)
		}
	}
	for _, wrong := range []options{{Password: cloudapi.NewSecret("other"), WithoutPassword: true}, {Port: -1}, {Port: 65536}} {
		if _, err := cloudapi.PostgresConnectionURL(cloudapi.NewSecret(record), &wrong); !errors.Is(err, cloudapi.ErrInvalidArgument) {
			t.Errorf("with %+v: %v", wrong, err)
		}
	}
	for _, connection := range []string{
		"", "hunter2", "host=orders password=hunter2", "https://u:hunter2@example.net/", "postgres:///db?password=hunter2", "postgres://u:hunter2@%zz/",
		"postgres://u:hunter2@b/c?x=%zz", "postgres://u@b/c?x=1;password=hunter2", "postgres://u:hunter2@b/c%00", "postgres://u@b/c#?password=hunter2",
		"postgres://u@b/c?p%61ssword=hunter2", "postgres://u:hunter2@b/c?use%72=d", "postgres://u:hunter2@b/c?db%6eame=d",
	} {
		got, err := cloudapi.PostgresConnectionURL(cloudapi.NewSecret(connection), nil)
		if !errors.Is(err, cloudapi.ErrInvalidArgument) || !strings.Contains(fmt.Sprint(err), "PostgresConnectionURL: connection ") || strings.Contains(fmt.Sprint(err), "hunter2") || !got.IsZero() {
			t.Errorf("%q: the error is %v", connection, err)
		}
	}
}

// TestFirewallRuleRequests: a copy gets each range once. A record without rules
// closes nothing.
func TestFirewallRuleRequests(t *testing.T) {
	t.Parallel()
	type request = cloudapi.PostgresFirewallRuleCreateRequest
	db := cloudapi.Postgres{FirewallRules: []cloudapi.PostgresFirewallRule{
		{CIDR: "10.0.0.0/8", Port: 5432, Description: "office"}, {CIDR: "10.0.0.0/8", Port: 6432}, {CIDR: "::/0", Port: 5432}}}
	if got := db.FirewallRuleRequests(); !slices.Equal(got, []request{{CIDR: "10.0.0.0/8", Description: "office"}, {CIDR: "::/0"}}) {
		t.Errorf("%+v", got)
	}
	if got := (&cloudapi.Postgres{}).FirewallRuleRequests(); got != nil {
		t.Errorf("without rules: %+v", got)
	}
	if got := (&cloudapi.Postgres{FirewallRules: []cloudapi.PostgresFirewallRule{}}).FirewallRuleRequests(); got == nil || len(got) != 0 {
		t.Errorf("with an empty list: %#v", got)
	}
}

// TestConnectionURLWithNUL: an error names the text with a NUL, which would end
// the text.
func TestConnectionURLWithNUL(t *testing.T) {
	t.Parallel()
	connection := cloudapi.NewSecret("postgres://postgres:hunter2@orders.example.net:5432/postgres?sslmode=require")
	for name, options := range map[string]cloudapi.PostgresConnectionOptions{
		"User":        {User: "app\x00database\x00other"},
		"Password":    {Password: cloudapi.NewSecret("hunter2\x00")},
		"Database":    {Database: "orders\x00"},
		"sslmode":     {SSLMode: "require\x00"},
		"sslrootcert": {SSLRootCert: "ca\x00.pem"},
		"options":     {Parameters: map[string]string{"options": "\x00"}},
		"whose name":  {Parameters: map[string]string{"op\x00tions": "a"}},
	} {
		got, err := cloudapi.PostgresConnectionURL(connection, &options)
		if !errors.Is(err, cloudapi.ErrInvalidArgument) || !got.IsZero() || !strings.Contains(fmt.Sprint(err), name+" contains a NUL") || strings.Contains(fmt.Sprint(err), "hunter2") {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// TestConnectionURLRefusesTwoValues: a parameter doesn't replace a field, such as
// the verification of the server.
func TestConnectionURLRefusesTwoValues(t *testing.T) {
	t.Parallel()
	connection := cloudapi.NewSecret("postgres://postgres:hunter2@orders.example.net:5432/postgres?sslmode=require")
	for _, options := range []cloudapi.PostgresConnectionOptions{
		{SSLMode: "verify-full", Parameters: map[string]string{"sslmode": ""}},
		{SSLMode: "verify-full", Parameters: map[string]string{"sslmode": "disable"}},
		{SSLRootCert: "ca.pem", Parameters: map[string]string{"sslrootcert": "system"}},
	} {
		if got, err := cloudapi.PostgresConnectionURL(connection, &options); !errors.Is(err, cloudapi.ErrInvalidArgument) || !strings.Contains(fmt.Sprint(err), "as a field and as a parameter") {
			t.Errorf("%+v: %v, %v", options, got.Reveal(), err)
		}
	}
	got, err := cloudapi.PostgresConnectionURL(connection, &cloudapi.PostgresConnectionOptions{Parameters: map[string]string{"sslmode": "disable"}})
	if err != nil || !strings.HasSuffix(got.Reveal(), "sslmode=disable") {
		t.Errorf("only a parameter: %v, %v", got.Reveal(), err)
	}
}

// TestConnectionURLOfAMaskedValue: a URL that was stored in its masked form
// gives an error that says so.
func TestConnectionURLOfAMaskedValue(t *testing.T) {
	t.Parallel()
	stored := cloudapi.NewSecret(cloudapi.NewSecret("postgres://postgres:hunter2@orders.example.net/postgres").String())
	const want = `is the masked form of a Secret: use the result of Reveal`
	for _, connection := range []cloudapi.Secret{stored, cloudapi.NewSecret("postgres://postgres:" + stored.Reveal() + "@orders.example.net/postgres"),
		cloudapi.NewSecret("postgres://a@b/c?password=%5bredacted%5d")} {
		if _, err := cloudapi.PostgresConnectionURL(connection, nil); !errors.Is(err, cloudapi.ErrInvalidArgument) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%q: %v", connection.Reveal(), err)
		}
	}
	connection := cloudapi.NewSecret("postgres://postgres@orders.example.net/postgres")
	if _, err := cloudapi.PostgresConnectionURL(connection, &cloudapi.PostgresConnectionOptions{Password: stored}); !strings.Contains(fmt.Sprint(err), "Password is the masked form") || !strings.Contains(fmt.Sprint(err), want) {
		t.Errorf("a masked password: %v", err)
	}
	if _, err := cloudapi.PostgresConnectionURL(connection, &cloudapi.PostgresConnectionOptions{Parameters: map[string]string{"sslpassword": stored.Reveal()}}); !strings.Contains(fmt.Sprint(err), "sslpassword is the masked form") {
		t.Errorf("a masked parameter: %v", err)
	}
}
