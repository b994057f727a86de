//go:build unix

package networks_test

import (
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/internal/test/stub"
)

// TestFewDescriptors: calls that find no free file descriptor wait for a
// connection of their client. The client is a separate process, since the limit
// holds for a whole process.
func TestFewDescriptors(t *testing.T) {
	t.Parallel()
	const calls, descriptors = 200, 64
	if address := os.Getenv("TEST_FEW_DESCRIPTORS_ADDRESS"); address != "" {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: descriptors, Max: descriptors}); err != nil {
			t.Fatal(err)
		}
		client := newClient(t, address, cloudapi.WithRetry(cloudapi.RetryPolicy{MaxAttempts: 1}))
		var wg sync.WaitGroup
		var failed atomic.Int32
		for range calls {
			wg.Go(func() {
				if _, err := client.VMs.Create(t.Context(), "eu-central-h1", "web-1", nil); err != nil {
					failed.Add(1)
					t.Log(err)
				}
			})
		}
		wg.Wait()
		if failed.Load() > 0 {
			t.Errorf("%d of %d calls failed", failed.Load(), calls)
		}
		return
	}
	trusted := newAuthority(t)
	certs := tls.Config{Certificates: []tls.Certificate{trusted.issue(t, time.Hour)}}
	file := filepath.Join(t.TempDir(), "roots.pem")
	stub.Must(0, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: trusted.cert.Raw}), 0o600))(t)
	for _, scheme := range []string{"http", "https"} {
		if scheme == "https" && runtime.GOOS != "linux" {
			continue // no variable names the certificate authorities
		}
		l := listen(t)
		var listener net.Listener = l
		if scheme == "https" {
			listener = tls.NewListener(l, &certs)
		}
		executed := serve(t, listener, nil, 40) // so that some calls find no descriptor
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFewDescriptors$")
		cmd.Env = []string{"TEST_FEW_DESCRIPTORS_ADDRESS=" + scheme + "://" + l.Addr().String(), "SSL_CERT_FILE=" + file}
		out, err := cmd.CombinedOutput()
		if err != nil || executed.Load() != calls {
			t.Errorf("%s: %v; %d requests were executed on %d connections\n%s", scheme, err, executed.Load(), l.accepted.Load(), last(string(out), 8))
		}
	}
}

// last returns the last n lines of a text.
func last(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return fmt.Sprintln(strings.Join(lines[max(0, len(lines)-n):], "\n"))
}
