package attachment

import (
	"path"
	"strings"
	"testing"
)

func TestFileName(t *testing.T) {
	t.Parallel()
	for disposition, want := range map[string]string{
		`attachment; filename="apps-kubeconfig.yaml"`:              "apps-kubeconfig.yaml",
		`attachment; filename=orders-db.pem`:                       "orders-db.pem",
		`inline; filename="A_b.9.pem"`:                             "A_b.9.pem",
		`attachment; filename*=UTF-8''orders%2Ddb.pem`:             "orders-db.pem",
		`attachment; filename="../../etc/cron.d/evil"`:             "evil",
		`attachment; filename*=UTF-8''%2e%2e%2f%2e%2e%2fevil.pem`:  "evil.pem",
		`attachment; filename="C:\\Windows\\evil.pem"`:             "evil.pem",
		`attachment; filename="..\..\evil.pem"`:                    "evil.pem",
		`attachment; filename="/etc/passwd"`:                       "passwd",
		`attachment; filename=".bashrc"`:                           "bashrc",
		`attachment; filename="..-.ssh"`:                           "ssh",
		`attachment; filename="-rf.pem"`:                           "rf.pem",
		`attachment; filename="file.pem:stream"`:                   "file.pem_stream",
		`attachment; filename*=UTF-8''a%00b%0Ac.pem`:               "a_b_c.pem",
		`attachment; filename*=UTF-8''sch%C3%B6n.pem`:              "sch_n.pem",
		`attachment; filename*=UTF-8''%E2%80%AEgpj.pem`:            "_gpj.pem",
		`attachment; filename="$(reboot) .pem"`:                    "__reboot__.pem",
		`attachment; filename="` + strings.Repeat("a", 4000) + `"`: strings.Repeat("a", 128),
		`attachment; filename=".."`:                                "",
		`attachment; filename="/"`:                                 "",
		`attachment; filename="a/"`:                                "",
		`attachment; filename=""`:                                  "",
		`attachment; filename="a"; filename="b"`:                   "",
		`attachment; filename`:                                     "",
		`attachment`:                                               "",
		`;;`:                                                       "",
		``:                                                         "",
	} {
		if got := Name(disposition); got != want {
			t.Errorf("the name in %.60s is %q, want %q", disposition, got, want)
		}
	}
}

// FuzzContentDisposition: the name of a file is harmless in any folder.
func FuzzContentDisposition(f *testing.F) {
	for _, header := range []string{`attachment; filename="ca.pem"`, `attachment; filename=../../etc/passwd`, `attachment; filename="a\\b"`,
		`attachment; filename*=UTF-8''%2e%2e%2f%00x`, `attachment; filename="C:\\x\\CON"`, `attachment; filename=.bashrc`, `inline`, ``,
		`attachment; filename="` + strings.Repeat("a", 300) + `"`, `x; filename="-rf"`, "attachment; filename=\"a\nb\"", `attachment; filename="a/"`} {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		name := Name(header)
		harmless := func(r rune) bool {
			return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_.", r)
		}
		switch {
		case len(name) > maxName,
			strings.ContainsFunc(name, func(r rune) bool { return !harmless(r) }),
			strings.HasPrefix(name, "."), strings.HasPrefix(name, "-"),
			name != "" && path.Base(path.Join("/folder", name)) != name:
			t.Fatalf("%q gives the name %q", header, name)
		}
	})
}
