package reliability

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// fault is one way in which an exchange goes wrong.
type fault struct {
	name string

	serve  script        // HTTP/1.1
	stream func(*stream) // or HTTP/2
	dial   error         // or there is no connection

	tls  bool     // the address is https
	warm bool     // it hits a connection that has been used before
	life lifetime // of the caller's context

	// creates says that only creates are tested: net/http itself retries the
	// others, on as many connections as it can open in an attempt.
	creates bool

	// sound says for which operations this isn't a fault, since the response is
	// valid.
	sound func(operation) bool
}

// lifetime is how long the context of a call lives.
type lifetime struct {
	deadline  time.Duration // 0 means a day
	cancelled time.Duration // 0 if never; negative if before the call
}

// context returns the context, and when it ends.
func (l lifetime) context(parent context.Context) (ctx context.Context, cancel context.CancelFunc, end time.Duration) {
	end = 24 * time.Hour
	if l.deadline > 0 {
		end = l.deadline
	}
	ctx, cancel = context.WithTimeout(parent, end)
	switch {
	case l.cancelled < 0:
		end = 0
		cancel()
	case l.cancelled > 0:
		end = l.cancelled
		time.AfterFunc(end, cancel)
	}
	return ctx, cancel, end
}

const (
	responseLimit = 256 << 10
	attemptLimit  = time.Minute
)

// reads returns a script that reads a request and then calls a function.
func reads(then script) script {
	return func(x *exchange) {
		if x.request() {
			then(x)
		}
	}
}

// executes returns a script that also executes the request.
func executes(then script) script {
	return reads(func(x *exchange) {
		x.execute()
		then(x)
	})
}

// answers executes the request and sends a status, a content type and a body.
func answers(status int, contentType, body string, header ...string) script {
	return executes(func(x *exchange) { x.send(status, contentType, body, header...) })
}

// refuses sends a response that says that the server didn't execute the
// request.
func refuses(status int, contentType, body string, header ...string) script {
	return reads(func(x *exchange) {
		x.declined.Add(1)
		x.send(status, contentType, body, header...)
	})
}

// altered executes the request and sends a changed copy of the good body.
func altered(contentType string, change func(op *operation, good string) string, header ...string) script {
	return executes(func(x *exchange) {
		good := x.op.reply
		if x.op.kind == none {
			good = goodRecord
		}
		x.send(http.StatusOK, contentType, change(x.op, good), header...)
	})
}

const asJSON = "application/json"

func constant(body string) func(*operation, string) string {
	return func(*operation, string) string { return body }
}

// item creates a body from a record, even for a list.
func item(record string) func(*operation, string) string {
	return func(op *operation, _ string) string {
		if op.kind == list {
			return `{"items":[` + record + `],"count":1}`
		}
		return record
	}
}

func envelope(status int) string {
	return fmt.Sprintf(`{"error":{"code":%d,"type":"T","message":"m","details":null}}`, status)
}

func detailed(details string) string {
	return `{"error":{"code":400,"type":"InvalidRequest","message":"m","details":` + details + `}}`
}

func isKind(kinds ...kind) func(operation) bool {
	return func(op operation) bool {
		for _, k := range kinds {
			if op.kind == k {
				return true
			}
		}
		return false
	}
}

func everywhere(operation) bool { return true }

// half returns the first half of a body.
func half(body string) string { return body[:len(body)/2] }

// drips writes a text, one byte per second.
func (x *exchange) drips(text string) {
	for i := range len(text) {
		x.sleep(time.Second)
		if _, err := x.Write([]byte{text[i]}); err != nil {
			return
		}
	}
}

// pours writes until the client closes the connection.
func (x *exchange) pours(what string) {
	for {
		if _, err := io.WriteString(x, what); err != nil {
			return
		}
	}
}

// chunk is a chunk of 32 KiB.
var chunk = "8000\r\n" + strings.Repeat(" ", 0x8000) + "\r\n"

// bomb is a body of 64 MiB, compressed.
var bomb = sync.OnceValue(func() string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	blanks := bytes.Repeat([]byte(" "), 1<<20)
	for range 64 {
		w.Write(blanks)
	}
	w.Close()
	return b.String()
})

// certificate returns a self-signed certificate for the host.
func certificate() (tls.Certificate, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		DNSNames:     []string{host},
		NotBefore:    time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), // time in a bubble begins in 2000
		NotAfter:     time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
		IsCA:         true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

var (
	trusted     = sync.OnceValues(certificate)
	unknownCert = sync.OnceValues(certificate)
)

func serverTLS(f func() (tls.Certificate, *x509.CertPool)) *tls.Config {
	cert, _ := f()
	return &tls.Config{Certificates: []tls.Certificate{cert}}
}

// faults returns the rows of the table. Each describes what happens on the
// wire; the rules determine the correct behavior of the SDK.
func faults(t testing.TB) []fault {
	t.Helper()
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	noHost := &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}}
	all := []fault{
		{name: "none", serve: reads((*exchange).works), sound: everywhere},
		{name: "none, with TLS", tls: true, sound: everywhere, serve: func(x *exchange) {
			x.startTLS(serverTLS(trusted))
			reads((*exchange).works)(x)
		}},
		{name: "none, with HTTP/2", stream: (*stream).works, sound: everywhere},

		// Connections.
		{name: "connection refused", dial: refused},
		{name: "host not found", dial: noHost},
		{name: "closed before the request is read", serve: func(*exchange) {}},
		{name: "reset before the request is read", serve: (*exchange).reset},
		{name: "closed after the request is read", serve: executes(func(*exchange) {})},
		{name: "reset after the request is read", serve: executes((*exchange).reset)},
		{name: "reset in the middle of the head", serve: executes(func(x *exchange) {
			io.WriteString(x, "HTTP/1.1 200 OK\r\nContent-Ty")
			x.reset()
		})},
		{name: "reset in the middle of the body", serve: executes(func(x *exchange) {
			x.head(200, x.contentType(), fmt.Sprintf("Content-Length: %d", len(x.op.reply)+1))
			io.WriteString(x, half(x.op.reply))
			x.reset()
		})},
		{name: "closed on a connection in use", warm: true, serve: executes(func(*exchange) {})},
		{name: "closed on a connection in use, unread", warm: true, serve: func(*exchange) {}},
		{name: "no HTTP", serve: executes(func(x *exchange) { io.WriteString(x, "SSH-2.0-OpenSSH_9.6\r\n") })},

		// TLS.
		{name: "TLS: unknown authority", tls: true, serve: func(x *exchange) {
			x.startTLS(serverTLS(unknownCert))
			x.request()
		}},
		{name: "TLS: answered without", tls: true, serve: func(x *exchange) {
			x.reader.ReadByte()
			io.WriteString(x, "HTTP/1.1 400 Bad Request\r\n\r\n")
		}},
		{name: "TLS: closed in the handshake", tls: true, serve: func(x *exchange) { x.reader.ReadByte() }},
		{name: "TLS: handshake hangs", tls: true, serve: (*exchange).hang},

		// Time.
		{name: "head after 40 s", sound: everywhere, serve: reads(func(x *exchange) {
			x.sleep(40 * time.Second)
			x.works()
		})},
		{name: "head never", serve: executes((*exchange).hang)},
		{name: "head trickles", serve: executes(func(x *exchange) { x.drips("HTTP/1.1 200 OK\r\nX-Long: " + strings.Repeat("x", 1000)) })},
		{name: "body trickles", serve: executes(func(x *exchange) {
			x.head(200, x.contentType(), "Content-Length: 5000")
			x.drips(strings.Repeat(" ", 5000))
		})},
		{name: "body of a 500 trickles", serve: executes(func(x *exchange) {
			x.head(500, asJSON, "Content-Length: 5000")
			x.drips(strings.Repeat(" ", 5000))
		})},

		// Size.
		{name: "head without end", serve: executes(func(x *exchange) {
			io.WriteString(x, "HTTP/1.1 200 OK\r\n")
			x.pours("X-Filler: " + strings.Repeat("x", 8<<10) + "\r\n")
		})},
		{name: "1xx without end", serve: executes(func(x *exchange) {
			x.pours("HTTP/1.1 103 Early Hints\r\nLink: " + strings.Repeat("x", 8<<10) + "\r\n\r\n")
		})},
		{name: "body without end", serve: executes(func(x *exchange) {
			x.head(200, x.contentType(), "Transfer-Encoding: chunked")
			x.pours(chunk)
		})},
		{name: "body of a 500 without end", serve: executes(func(x *exchange) {
			x.head(500, asJSON, "Transfer-Encoding: chunked")
			x.pours(chunk)
		})},
		{name: "body announced as 1 TiB", serve: executes(func(x *exchange) {
			x.head(200, x.contentType(), fmt.Sprintf("Content-Length: %d", 1<<40))
			x.pours(chunk)
		})},
		{name: "gzip bomb", serve: executes(func(x *exchange) {
			x.send(200, x.contentType(), bomb(), "Content-Encoding: gzip")
		})},
		{name: "gzip bomb in a 500", serve: answers(500, asJSON, bomb(), "Content-Encoding: gzip")},
		{name: "gzip that is none", serve: altered(asJSON, constant("{}"), "Content-Encoding: gzip")},

		// Bodies.
		{name: "body cut, as to its length", serve: executes(func(x *exchange) {
			body := x.op.reply + " "
			x.head(200, x.contentType(), fmt.Sprintf("Content-Length: %d", len(body)))
			io.WriteString(x, half(body))
		})},
		{name: "body cut, in good form", serve: altered(asJSON, func(_ *operation, good string) string { return half(good) })},
		{name: "body cut, without a length", serve: executes(func(x *exchange) {
			x.head(200, x.contentType())
			io.WriteString(x, half(x.op.reply))
		})},
		{name: "body cut, in chunks", serve: executes(func(x *exchange) {
			x.head(200, x.contentType(), "Transfer-Encoding: chunked")
			fmt.Fprintf(x, "%x\r\n%s\r\n", len(x.op.reply), x.op.reply)
		})},
		{name: "garbage behind the body", serve: altered(asJSON, func(_ *operation, good string) string { return good + `{"x":1}` })},
		{name: "HTML behind the body", serve: altered(asJSON, func(_ *operation, good string) string { return good + "<html>" })},
		{name: "wrong content type", serve: altered("text/plain", func(_ *operation, good string) string { return good }), sound: isKind(file)},
		{name: "malformed content type", serve: altered("json/;;", func(_ *operation, good string) string { return good }), sound: isKind(file)},
		{name: "HTML as 200", serve: answers(200, "text/html", "<html><h1>Welcome</h1></html>")},
		{name: "HTML as 200, called JSON", serve: answers(200, asJSON, "<html><h1>Welcome</h1></html>")},
		{name: "HTML as 502", serve: answers(502, "text/html", "<html><h1>Bad Gateway</h1></html>")},
		{name: "200 without a body", serve: answers(200, asJSON, "")},
		{name: "200 of blanks", serve: answers(200, asJSON, " \r\n ")},
		{name: "204", sound: isKind(none), serve: executes(func(x *exchange) {
			io.WriteString(x, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
		})},
		{name: "201 without a body", serve: answers(201, asJSON, "")},
		{name: "202 with a text", serve: answers(202, asJSON, `"accepted"`)},
		{name: "101", serve: executes(func(x *exchange) {
			io.WriteString(x, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		})},
		{name: "record without an id", serve: altered(asJSON, item(`{"name":"web-1"}`))},
		{name: "record with an id of null", serve: altered(asJSON, item(`{"id":null,"name":"web-1"}`))},
		{name: "record with an id of 5", serve: altered(asJSON, item(`{"id":5,"type":5,"pg_config":5,"pgbouncer_config":5,"metrics":5}`))},
		{name: "an envelope as 200", serve: answers(200, asJSON, envelope(404))},
		{name: "null", serve: answers(200, asJSON, "null")},
		{name: "an item of null", serve: altered(asJSON, item("null"))},
		{name: "items of nothing", serve: answers(200, asJSON, `{"items":[`+strings.Repeat("{},", responseLimit/16)+`{}]}`)},
		{name: "a bare array", serve: answers(200, asJSON, "["+goodRecord+"]"), sound: isKind(list)},
		{name: "a bare array in an array", serve: answers(200, asJSON, "[["+goodRecord+"]]")},
		{name: "a number", serve: answers(200, asJSON, "7")},

		// Redirects.
		{name: "301 to another host", serve: refuses(301, "text/html", "", "Location: https://evil.example.com/")},
		{name: "302 to another host", serve: answers(302, "text/html", "", "Location: https://evil.example.com/")},
		{name: "303 to another host", serve: answers(303, "text/html", "", "Location: //evil.example.com/x")},
		{name: "304 of a cache", serve: answers(304, "", "")},
		{name: "307 to another host", serve: refuses(307, asJSON, envelope(307), "Location: https://evil.example.com/")},
		{name: "308 to another scheme", serve: refuses(308, "", "", "Location: https://"+host+"/project")},
		{name: "307 to the same host", serve: refuses(307, "", "", "Location: /project")},

		// Failures that the server reports.
		{name: "500 with an envelope", serve: answers(500, asJSON, envelope(500))},
		{name: "500 without an envelope", serve: answers(500, "text/plain", "Internal Server Error")},
		{name: "501", serve: refuses(501, asJSON, envelope(501))},
		{name: "504", serve: answers(504, "text/html", "<html>")},
		{name: "503 of a gateway that passed the request on", serve: answers(503, "text/html", "<html>")},
		{name: "503 of a gateway, Retry-After", serve: refuses(503, "text/html", "<html>", "Retry-After: 7")},
		{name: "429 of a gateway that passed the request on", serve: answers(429, "text/plain", "slow down")},
		{name: "401", serve: refuses(401, asJSON, envelope(401))},
		{name: "404", serve: refuses(404, asJSON, envelope(404))},
		{name: "400 with details as an object", serve: refuses(400, asJSON, detailed(`{"name":["a","b"],"size":"c","x":1}`))},
		{name: "400 with details as an array", serve: refuses(400, asJSON, detailed(`[1,"a"]`))},
		{name: "400 with details as a string", serve: refuses(400, asJSON, detailed(`"a"`))},
		{name: "400 with details as a number", serve: refuses(400, asJSON, detailed(`7`))},
		{name: "400 with an envelope cut off", serve: refuses(400, asJSON, half(envelope(400)))},

		// HTTP/2.
		{name: "HTTP/2: stream refused", stream: func(s *stream) {
			s.declined.Add(1)
			s.resets(codeRefusedStream)
		}},
		{name: "HTTP/2: GOAWAY before the stream", creates: true, stream: func(s *stream) {
			s.declined.Add(1)
			s.goAway(0, codeNo)
		}},
		{name: "HTTP/2: GOAWAY behind the stream", stream: func(s *stream) {
			s.execute()
			s.goAway(s.id, codeNo)
			s.Close()
		}},
		{name: "HTTP/2: GOAWAY and then the answer", sound: everywhere, stream: func(s *stream) {
			s.goAway(s.id, codeNo)
			s.works()
		}},
		{name: "HTTP/2: GOAWAY, calm down", stream: func(s *stream) {
			s.execute()
			s.goAway(s.id, codeCalmDown)
			s.Close()
		}},
		{name: "HTTP/2: stream reset", stream: func(s *stream) {
			s.execute()
			s.resets(codeInternal)
		}},
		{name: "HTTP/2: stream reset for its protocol", creates: true, stream: func(s *stream) {
			// Before Go 1.27 net/http believes that it may send it again.
			s.execute()
			s.resets(codeProtocol)
		}},
		{name: "HTTP/2: stream reset in the body", stream: func(s *stream) {
			s.execute()
			s.head(false)
			s.frame(frameData, 0, s.id, []byte(half(s.op.reply)))
			s.resets(codeCancel)
		}},
		{name: "HTTP/2: closed after the request", stream: func(s *stream) {
			s.execute()
			s.Close()
		}},
		{name: "HTTP/2: connection dead", stream: func(s *stream) {
			s.execute()
			s.silent.Store(true)
		}},
		{name: "HTTP/2: answer never", stream: func(s *stream) { s.execute() }},

		// The caller's context.
		{name: "cancelled before the call", serve: reads((*exchange).works), life: lifetime{cancelled: -1}},
		{name: "cancelled while connecting", tls: true, serve: (*exchange).hang, life: lifetime{cancelled: 3 * time.Second}},
		{name: "cancelled while waiting for the head", serve: executes((*exchange).hang), life: lifetime{cancelled: 3 * time.Second}},
		{name: "cancelled while reading the body", life: lifetime{cancelled: 3 * time.Second}, serve: executes(func(x *exchange) {
			x.head(200, x.contentType(), "Content-Length: 5000")
			x.drips(strings.Repeat(" ", 5000))
		})},
		{name: "cancelled between attempts", life: lifetime{cancelled: 3 * time.Second},
			serve: refuses(503, asJSON, envelope(503), "Retry-After: 30")},
		{name: "deadline during an attempt", serve: executes((*exchange).hang), life: lifetime{deadline: 7 * time.Second}},
		{name: "deadline before the next attempt", life: lifetime{deadline: 7 * time.Second},
			serve: refuses(503, asJSON, envelope(503), "Retry-After: 30")},
	}
	for _, status := range []int{408, 409, 429, 503} {
		answer := refuses
		if status == 408 {
			answer = answers // a 408 doesn't say whether the server executed the request
		}
		for _, after := range []struct{ name, value string }{
			{"", ""},
			{", Retry-After in seconds", "7"},
			{", Retry-After as a date", "Sat, 01 Jan 2000 00:00:09 GMT"}, // the time in a bubble begins at midnight
			{", Retry-After in the past", "Fri, 31 Dec 1999 23:59:59 GMT"},
			{", Retry-After absurdly large", strings.Repeat("9", 30)},
			{", Retry-After malformed", "soon; \"7"},
		} {
			all = append(all, fault{name: fmt.Sprint(status, after.name), serve: answer(status, asJSON, envelope(status), "Retry-After: "+after.value)})
		}
	}
	return all
}
