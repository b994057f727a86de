package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// A machine plays the VM if there's no account. It has an SSH server, and
// executes nothing.
type machine struct {
	host    ssh.Signer
	user    ssh.PublicKey
	execute func(ctx context.Context, command string, channel ssh.Channel) (status uint32) // nil means play; ctx ends with the session
}

func (m *machine) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	go m.serve(&unhurried{Conn: server})
	return client, nil
}

func (m *machine) serve(conn net.Conn) {
	defer conn.Close()
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if !bytes.Equal(key.Marshal(), m.user.Marshal()) {
			return nil, errors.New("not the key of the VM's user")
		}
		return nil, nil
	}}
	config.AddHostKey(m.host)
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for c := range channels {
		channel, requests, err := c.Accept()
		if err != nil {
			return
		}
		go func() {
			defer channel.Close()
			request := <-requests
			var payload struct{ Command string }
			if request == nil || ssh.Unmarshal(request.Payload, &payload) != nil {
				return
			}
			request.Reply(true, nil)
			ctx, end := context.WithCancel(context.Background())
			go func() { ssh.DiscardRequests(requests); end() }()
			execute := m.execute
			if execute == nil {
				execute = play
			}
			status := execute(ctx, payload.Command, channel)
			channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{status}))
		}()
	}
}

// play does what the lines of a script say that are like these:
//
//	echo text
//	echo text >&2
//	sleep 1
//	exit 3
func play(ctx context.Context, command string, channel ssh.Channel) (status uint32) {
	var length int64
	fmt.Sscanf(command, "head -c %d", &length)
	script := bufio.NewScanner(io.LimitReader(channel, length))
	for script.Scan() {
		verb, rest, _ := strings.Cut(strings.TrimSpace(script.Text()), " ")
		n, _ := strconv.Atoi(rest)
		switch text, toStderr := strings.CutSuffix(rest, " >&2"); {
		case verb == "exit":
			return uint32(n)
		case verb == "sleep":
			select {
			case <-time.After(time.Duration(n) * time.Second):
			case <-ctx.Done():
			}
		case verb == "echo" && toStderr:
			fmt.Fprintln(channel.Stderr(), text)
		case verb == "echo":
			fmt.Fprintln(channel, text)
		}
	}
	return 0
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
