package pgurl

import "testing"

// TestChange: a change affects its part of the URL, and all others stay as they
// are written. A replaced parameter keeps its place, and occurs once.
func TestChange(t *testing.T) {
	t.Parallel()
	const url = "postgres://a:p%2Fw@db.example.net:6432/main?b=1%2C2&&a=x&b=3&sslmode=require"
	for _, tt := range []struct {
		changes Changes
		want    string
	}{
		{Changes{}, "postgres://a:p%2Fw@db.example.net:6432/main?b=1%2C2&a=x&b=3&sslmode=require"},
		{Changes{User: "c"}, "postgres://c@db.example.net:6432/main?b=1%2C2&a=x&b=3&sslmode=require"},
		{Changes{User: "a", Password: "x@y"}, "postgres://a:x%40y@db.example.net:6432/main?b=1%2C2&a=x&b=3&sslmode=require"},
		{Changes{WithoutPassword: true}, "postgres://a@db.example.net:6432/main?b=1%2C2&a=x&b=3&sslmode=require"},
		{Changes{Database: "o/p"}, "postgres://a:p%2Fw@db.example.net:6432/o%2Fp?b=1%2C2&a=x&b=3&sslmode=require"},
		{Changes{SSLMode: "verify-ca", SSLRootCert: "a b", Parameters: map[string]string{"b": "&", "0": ""}}, ""},
		{Changes{SSLMode: "verify-ca", SSLRootCert: "a b", Parameters: map[string]string{"b": "&"}}, "postgres://a:p%2Fw@db.example.net:6432/main?b=%26&a=x&sslmode=verify-ca&sslrootcert=a%20b"},
	} {
		got, invalid := Change(url, tt.changes)
		if got != tt.want || (invalid == nil) != (tt.want != "") {
			t.Errorf("%+v: %s, %v, want %s", tt.changes, got, invalid, tt.want)
		}
	}
	if got, invalid := Change("postgres://a@b/c?x=1&password=p", Changes{WithoutPassword: true}); got != "postgres://a@b/c?x=1" {
		t.Errorf("without a password: %s, %v", got, invalid)
	}
	for _, other := range []string{"", "x", "https://a@b/", "postgres:///c", "postgres://%zz/", "postgres://a:[redacted]@b/c", "postgres://a:%5Bredacted%5D@b/c",
		"postgres://a@b/c%00", "postgres://a@b/c?password=%5bredacted%5d"} {
		if got, invalid := Change(other, Changes{}); invalid == nil || invalid.Name != "connection" || invalid.Value != "" || got != "" {
			t.Errorf("%q: %q, %v", other, got, invalid)
		}
	}
}

// TestInvalid: a change that can't be meant names the field and the parameter.
func TestInvalid(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		changes     Changes
		name, value string
	}{
		{Changes{SSLMode: "no"}, "SSLMode", "no"},
		{Changes{SSLRootCert: "\x00"}, "SSLRootCert", ""},
		{Changes{User: "\x00"}, "User", ""},
		{Changes{Password: "[redacted]"}, "Password", ""},
		{Changes{Parameters: map[string]string{"Host": "h"}}, "Parameters", "Host"},
		{Changes{Parameters: map[string]string{"dbname": "d"}}, "Parameters", "dbname"},
		{Changes{Parameters: map[string]string{"sslky": "k"}}, "Parameters", "sslky"},
		{Changes{Parameters: map[string]string{"a=b": "c"}}, "Parameters", "a=b"},
		{Changes{Parameters: map[string]string{"a": "\x00"}}, "Parameters", "a"},
	} {
		got, invalid := Change("postgres://a@b/", tt.changes)
		if got != "" || invalid == nil || invalid.Name != tt.name || invalid.Value != tt.value || invalid.Reason == "" {
			t.Errorf("%+v: %q, %v", tt.changes, got, invalid)
		}
	}
}
