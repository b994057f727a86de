package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/cloudapi-sdk/cloudapi/examples/demo"
	"golang.org/x/crypto/ssh"
)

// makeKeys makes the keys of the user and of the VM. They're in no file on this
// machine. The VM's is in the init script, the only way to give it one before the
// first connection: so the service stores it as long as the VM exists, and sudo
// can read it there. The script keeps the file, and so SELinux's label.
func (j *job) makeKeys() error {
	_, user, err := ed25519.GenerateKey(nil)
	_, host, err2 := ed25519.GenerateKey(nil)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	j.user, err = ssh.NewSignerFromKey(user)
	j.host, err2 = ssh.NewSignerFromKey(host)
	block, err3 := ssh.MarshalPrivateKey(host, "")
	if err := errors.Join(err, err2, err3); err != nil {
		return err
	}
	j.initScript = fmt.Sprintf(`#!/bin/sh
umask 077
cd /etc/ssh
cat >ssh_host_ed25519_key <<'END'
%sEND
chmod 600 ssh_host_ed25519_key
rm -f ssh_host_ed25519_key.pub ssh_host_[!e]* ssh_host_ecdsa*
systemctl restart ssh || systemctl restart sshd
`, pem.EncodeToMemory(block))
	return nil
}

// execute runs the script on the VM. Its error has the script's exit status.
func (j *job) execute(ctx context.Context, vm *cloudapi.VM) (err error) {
	client, err := j.connect(ctx, vm)
	if err != nil {
		return err
	}
	defer client.Close()
	defer context.AfterFunc(ctx, func() { client.Close() })()
	defer func() { // whatever has noticed first that the client is closed
		if _, ok := errors.AsType[scriptError](err); err != nil && !ok && ctx.Err() != nil {
			err = fmt.Errorf("the script was still running: %w", context.Cause(ctx))
		}
	}()
	session, err := client.NewSession()
	if err != nil {
		return err
	}
	session.Stdout, session.Stderr = j.stdout, j.stderr
	stdin, err := session.StdinPipe()
	if err != nil {
		return err
	}
	command := fmt.Sprintf("head -c %d >job && chmod 700 job && exec ./job", len(j.script))
	for _, arg := range j.args {
		command += " '" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
	}
	j.say("running the script")
	ended := make(chan error, 1)
	if err := session.Start(command); err == nil {
		go func() { // ends with the session, or when j.stdin does
			defer stdin.Close()
			io.Copy(stdin, io.MultiReader(bytes.NewReader(j.script), j.stdin))
		}()
		go func() { ended <- session.Wait() }()
	} else {
		ended <- err
	}
	select {
	case <-ctx.Done(): // Wait may wait for a reader of the output that has paused, such as less
		return ctx.Err()
	case err = <-ended:
	}
	if exit, ok := errors.AsType[*ssh.ExitError](err); ok {
		return scriptError{exit}
	} else if err != nil {
		return fmt.Errorf("the connection to the VM broke while the script was running: %s", demo.Printable(err.Error()))
	}
	return nil
}

// A scriptError has the exit status of a script. The VM has written its text.
type scriptError struct{ *ssh.ExitError }

func (e scriptError) Error() string {
	return "the script has failed: " + demo.Printable(e.ExitError.Error())
}

// connect connects to the VM once it accepts connections and has its own host
// key. Until its init script has run, it may have another one, as somebody else
// may: then connect doesn't log in.
func (j *job) connect(ctx context.Context, vm *cloudapi.VM) (*ssh.Client, error) {
	const bootTime = 5 * time.Minute
	ctx, cancel := context.WithTimeoutCause(ctx, bootTime, fmt.Errorf("no SSH connection within %v: can the VM be reached from %v?", bootTime, j.from))
	defer cancel()
	address := net.JoinHostPort(vm.IPv6, "22")
	if j.from.Addr().Is4() {
		address = net.JoinHostPort(vm.IPv4, "22")
	}
	j.say("the VM is running: waiting for SSH on %s", demo.Printable(address))
	var last error
	for {
		client, err := j.handshake(ctx, address, &ssh.ClientConfig{
			User:              vm.UnixUser,
			Auth:              []ssh.AuthMethod{ssh.PublicKeys(j.user)},
			HostKeyCallback:   ssh.FixedHostKey(j.host.PublicKey()),
			HostKeyAlgorithms: []string{ssh.KeyAlgoED25519},
		})
		if err == nil {
			return client, nil
		}
		if last == nil || ctx.Err() == nil { // otherwise it may be only that ctx has ended
			last = err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w; last: %s", context.Cause(ctx), demo.Printable(last.Error()))
		case <-time.After(2 * time.Second):
		}
	}
}

func (j *job) handshake(ctx context.Context, address string, config *ssh.ClientConfig) (*ssh.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	conn, err := j.dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	client, channels, requests, err := ssh.NewClientConn(conn, address, config)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return ssh.NewClient(client, channels, requests), nil
}
