package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

const (
	folder  = "job"           // where the job runs, in the user's home directory
	results = folder + "/out" // what is copied back
)

// keys are made for one run. They're never in a file on this machine.
type keys struct {
	user, host ssh.Signer
	hostFile   []byte // the private host key, in the format of sshd
}

func newKeys() (*keys, error) {
	_, user, err := ed25519.GenerateKey(nil)
	_, host, err2 := ed25519.GenerateKey(nil)
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	userSigner, err := ssh.NewSignerFromKey(user)
	hostSigner, err2 := ssh.NewSignerFromKey(host)
	hostFile, err3 := ssh.MarshalPrivateKey(host, "")
	if err := errors.Join(err, err2, err3); err != nil {
		return nil, err
	}
	return &keys{userSigner, hostSigner, pem.EncodeToMemory(hostFile)}, nil
}

// authorized returns a line for the file authorized_keys.
func (k *keys) authorized() string {
	return string(bytes.TrimSpace(ssh.MarshalAuthorizedKey(k.user.PublicKey())))
}

// initScript returns a script that replaces the host keys of the VM. It's the
// only way to give a key to the VM before the first connection.
//
// So the private host key is in the request that creates the VM. The service
// stores it, encrypted, as long as the VM exists. No request returns it. Users
// with sudo on the VM, and so the job, can read it there. It's of no use once
// the VM is gone.
//
// The script overwrites an existing key, since that keeps SELinux's label.
func (k *keys) initScript() string {
	return fmt.Sprintf(`#!/bin/sh
umask 077
cd /etc/ssh
cat >ssh_host_ed25519_key <<'END'
%sEND
chmod 600 ssh_host_ed25519_key
rm -f ssh_host_ed25519_key.pub ssh_host_[!e]* ssh_host_ecdsa*
systemctl restart ssh || systemctl restart sshd
`, k.hostFile)
}

// use runs the script on the VM. The results are copied back even if it fails.
func (j *job) use(ctx context.Context, vm *cloudapi.VM, keys *keys) (err error) {
	client, err := j.connect(ctx, vm, keys)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(ctx, func() { client.Close() })()
	defer func() {
		if err != nil && ctx.Err() != nil { // err may be only that the connection is closed
			err = errors.Join(fmt.Errorf("the job hasn't ended: %w", context.Cause(ctx)), err)
		}
	}()
	go keepAlive(ctx, client, end)
	files, err := sftp.NewClient(client, sftp.UseConcurrentWrites(true))
	if err != nil {
		return err
	}
	defer files.Close()
	if err := j.copyIn(files); err != nil {
		return err
	}
	err = j.execute(ctx, client)
	if ctx.Err() != nil {
		return cmp.Or(err, errors.New("its results weren't copied"))
	}
	if j.out != nil {
		return errors.Join(err, j.copyOut(files))
	}
	if found, _ := files.ReadDir(results); len(found) > 0 {
		j.say("the script's results are deleted with the VM; --out copies them")
	}
	return err
}

// connect connects to the VM once the VM has its own host key. Until its init
// script has run, the VM may have another one. So may somebody else: connect
// closes such a connection before it logs in.
func (j *job) connect(ctx context.Context, vm *cloudapi.VM, keys *keys) (*ssh.Client, error) {
	address := net.JoinHostPort(vm.IPv6, "22")
	if j.from.Addr().Is4() {
		address = net.JoinHostPort(vm.IPv4, "22")
	}
	config := &ssh.ClientConfig{
		User:              vm.UnixUser,
		Auth:              []ssh.AuthMethod{ssh.PublicKeys(keys.user)},
		HostKeyCallback:   ssh.FixedHostKey(keys.host.PublicKey()),
		HostKeyAlgorithms: []string{ssh.KeyAlgoED25519},
	}
	ctx, cancel := context.WithTimeoutCause(ctx, bootTime, fmt.Errorf("no SSH connection within %v: can the VM be reached from %v?", bootTime, j.from))
	defer cancel()
	j.say("the VM is running: waiting for SSH on %s", address)
	var last error
	for {
		client, err := j.handshake(ctx, address, config)
		switch {
		case err == nil:
			return client, nil
		case ctx.Err() != nil: // which may be the only reason of err
			return nil, fmt.Errorf("%w; last: %w", context.Cause(ctx), cmp.Or(last, err))
		}
		last = err
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Second):
		}
	}
}

// bootTime is how long a running VM may take to accept connections.
const bootTime = 5 * time.Minute

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
		return nil, err
	}
	return ssh.NewClient(client, channels, requests), nil
}

// keepAlive calls end once the connection is lost, or the VM hasn't answered for
// a minute.
func keepAlive(ctx context.Context, client *ssh.Client, end context.CancelCauseFunc) {
	for ctx.Err() == nil {
		silence := time.AfterFunc(time.Minute, func() { end(errors.New("the VM has stopped answering")) })
		_, _, err := client.SendRequest("keepalive@openssh.com", true, nil) // any reply will do
		silence.Stop()
		if err != nil {
			end(fmt.Errorf("the connection to the VM broke: %w", err))
		}
		select {
		case <-ctx.Done():
		case <-time.After(15 * time.Second):
		}
	}
}

// execute runs the script. Its error is an [*ssh.ExitError], which has the exit
// status, if the script fails.
func (j *job) execute(ctx context.Context, client *ssh.Client) error {
	session, err := client.NewSession()
	if err != nil {
		return err
	}
	defer session.Close()
	session.Stdout, session.Stderr = j.stdout, j.stderr
	command := "cd " + folder + " && exec ./" + quote(baseName(j.script))
	for _, file := range j.files {
		command += " " + quote(baseName(file))
	}
	j.say("running %s", baseName(j.script))
	ended := make(chan error, 1)
	go func() { ended <- session.Run(command) }()
	select {
	case <-ctx.Done(): // Run may wait for a reader of the output that has paused, such as less
		return errors.New("the script, or a process that it has started, was still running")
	case err = <-ended:
	}
	switch {
	case err == nil:
		j.say("the script has succeeded")
		return nil
	case errors.As(err, new(*ssh.ExitError)):
		return fmt.Errorf("the script has failed: %w", err)
	default:
		return fmt.Errorf("the connection to the VM broke while the script was running: %w", err)
	}
}

// quote quotes a word for a shell.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

func baseName(file *os.File) string { return filepath.Base(file.Name()) }

// copyIn copies the script and its files to the VM. SFTP acknowledges all that
// is written.
func (j *job) copyIn(files *sftp.Client) error {
	j.say("copying files to the VM: %d", 1+len(j.files))
	if err := files.MkdirAll(results); err != nil {
		return fmt.Errorf("create the folder %s on the VM: %w", results, err)
	}
	err := upload(files, j.script, 0o700)
	for _, file := range j.files {
		if err == nil {
			err = upload(files, file, 0o600)
		}
	}
	return err
}

func upload(files *sftp.Client, local *os.File, mode os.FileMode) error {
	info, err := local.Stat()
	if err != nil {
		return err
	}
	remote, err := files.OpenFile(path.Join(folder, baseName(local)), os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err == nil {
		_, err = remote.ReadFrom(local)
		err = cmp.Or(err, remote.Chmod(mode|info.Mode().Perm()), remote.Close())
	}
	if err != nil {
		return fmt.Errorf("copy %s to the VM: %w", local.Name(), err)
	}
	return nil
}

// copyOut copies the results to j.out, which they can't leave. It goes on after
// a file that it can't copy, as long as there's a connection.
func (j *job) copyOut(files *sftp.Client) error {
	var failures []error
	count := 0
	for walk := files.Walk(results); walk.Step(); {
		name, isInside := strings.CutPrefix(walk.Path(), results+"/")
		err := walk.Err()
		switch {
		case err != nil || walk.Path() == results && walk.Stat().IsDir():
		case !isInside:
			err = errors.New("it isn't in the folder")
		case walk.Stat().IsDir():
			err = j.out.Mkdir(name, 0o755)
		case walk.Stat().Mode().IsRegular():
			if err = j.download(files, walk.Path(), name, walk.Stat().Mode().Perm()); err == nil {
				count++
			}
		default:
			err = errors.New("it's neither a file nor a folder")
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("copy %q from the VM: %w", walk.Path(), err))
		}
		if errors.Is(err, sftp.ErrSSHFxConnectionLost) {
			break
		}
	}
	j.say("files copied to %s: %d", j.out.Name(), count)
	if more := len(failures) - 10; more > 0 {
		failures = append(failures[:10], fmt.Errorf("and %d more files", more))
	}
	return errors.Join(failures...)
}

func (j *job) download(files *sftp.Client, remotePath, name string, mode os.FileMode) error {
	remote, err := files.Open(remotePath)
	if err != nil {
		return err
	}
	defer remote.Close()
	local, err := j.out.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode|0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(local, remote)
	return errors.Join(err, local.Close())
}
