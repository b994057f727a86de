package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/cloudapi-sdk/cloudapi"
	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// A machine plays the VM if there's no account. It has an SSH server and files
// in memory. It executes nothing: it prints what a script's echo lines say.
type machine struct {
	files   sftp.Handlers
	execute func(ctx context.Context, command string, stdout, stderr io.Writer) (status int) // ctx ends with the session

	// What the program has sent to create the VM.
	host ssh.Signer
	user ssh.PublicKey

	booted bool // whether the init script has run
}

func newMachine() *machine {
	m := &machine{files: sftp.InMemHandler()}
	m.execute = m.play
	return m
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// watch takes the keys from the request that creates the VM.
func (m *machine) watch(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if operation, _ := cloudapi.OperationFromContext(r.Context()); operation.Name == "VMs.Create" {
			body, err := r.GetBody()
			var request struct {
				PublicKey  string `json:"public_key"`
				InitScript string `json:"init_script"`
			}
			if err == nil {
				err = json.NewDecoder(body).Decode(&request)
			}
			if err == nil {
				m.user, _, _, _, err = ssh.ParseAuthorizedKey([]byte(request.PublicKey))
			}
			if err == nil {
				m.host, err = ssh.ParsePrivateKey([]byte(request.InitScript))
			}
			if err != nil {
				return nil, err
			}
		}
		return next.RoundTrip(r)
	})
}

// dial connects to the machine. As with a real VM, the first connection comes
// before the init script has run.
func (m *machine) dial(context.Context, string, string) (net.Conn, error) {
	host := m.host
	if !m.booted {
		other, err := newKeys()
		if err != nil {
			return nil, err
		}
		m.booted, host = true, other.host
	}
	client, server := net.Pipe()
	go m.serve(&unhurried{Conn: server}, host)
	return client, nil
}

func (m *machine) serve(conn net.Conn, host ssh.Signer) {
	defer conn.Close()
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if !bytes.Equal(key.Marshal(), m.user.Marshal()) {
			return nil, errors.New("not the key of the VM's user")
		}
		return nil, nil
	}}
	config.AddHostKey(host)
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for c := range channels {
		if channel, requests, err := c.Accept(); err == nil {
			go m.session(channel, requests)
		}
	}
}

func (m *machine) session(channel ssh.Channel, requests <-chan *ssh.Request) {
	defer channel.Close()
	for request := range requests {
		var payload struct{ Text string } // a command, or the name of a subsystem
		err := ssh.Unmarshal(request.Payload, &payload)
		request.Reply(err == nil, nil)
		switch request.Type {
		case "subsystem":
			go ssh.DiscardRequests(requests)
			sftp.NewRequestServer(channel, m.files).Serve()
			return
		case "exec":
			ctx, end := context.WithCancel(context.Background())
			go func() { ssh.DiscardRequests(requests); end() }()
			status := m.execute(ctx, payload.Text, channel, channel.Stderr())
			channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{uint32(status)}))
			return
		}
	}
}

// play does what the lines of a script say that are like these:
//
//	echo text
//	echo text >&2
//	echo text > out/file
//	sleep 1
//	exit 3
func (m *machine) play(ctx context.Context, command string, stdout, stderr io.Writer) (status int) {
	name := unquote(command)
	script, err := m.read("/" + folder + "/" + name)
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return 127
	}
	for line := range strings.Lines(script) {
		verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		text, to, _ := strings.Cut(rest, ">")
		text, to = strings.Trim(text, ` '"`)+"\n", strings.TrimSpace(to)
		switch n, _ := strconv.Atoi(rest); {
		case verb == "exit":
			return n
		case verb == "sleep":
			select {
			case <-time.After(time.Duration(n) * time.Second):
			case <-ctx.Done():
			}
		case verb == "echo" && to == "":
			io.WriteString(stdout, text)
		case verb == "echo" && to == "&2":
			io.WriteString(stderr, text)
		case verb == "echo":
			if err := m.write(path.Join("/"+folder, to), text); err != nil {
				fmt.Fprintf(stderr, "%s: %v\n", to, err)
				return 1
			}
		}
	}
	return 0
}

// unquote returns the first word in a command that [quote] has quoted.
func unquote(command string) string {
	word := strings.Split(strings.ReplaceAll(command, `'\''`, "\x00"), "'")[1]
	return strings.ReplaceAll(word, "\x00", "'")
}

// Values of the flags of a request for a file, in the SFTP protocol.
const (
	forReading = 0x01
	forWriting = 0x02 | 0x08 // creates the file
)

func (m *machine) read(name string) (string, error) {
	request := sftp.NewRequest("Get", name)
	request.Flags = forReading
	file, err := m.files.FileGet.Fileread(request)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.NewSectionReader(file, 0, math.MaxInt64))
	return string(text), err
}

func (m *machine) write(name, text string) error {
	request := sftp.NewRequest("Put", name)
	request.Flags = forWriting
	file, err := m.files.FilePut.Filewrite(request)
	if err == nil {
		_, err = file.WriteAt([]byte(text), 0)
	}
	return err
}

// An unhurried connection sends in the background. Both sides of an SSH
// connection write first, so with [net.Pipe] alone they'd wait for each other.
type unhurried struct {
	net.Conn
	last chan struct{} // closed once all earlier writes have ended
}

func (u *unhurried) Write(p []byte) (int, error) {
	p = bytes.Clone(p)
	earlier, ended := u.last, make(chan struct{})
	u.last = ended
	go func() {
		defer close(ended)
		if earlier != nil {
			<-earlier
		}
		u.Conn.Write(p) // if it fails, so do the reads
	}()
	return len(p), nil
}
