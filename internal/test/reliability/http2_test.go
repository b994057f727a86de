package reliability

import (
	"bufio"
	"encoding/binary"
	"io"
	"sync/atomic"
)

// The HTTP/2 frames that a peer needs if it responds to each request with one
// record or not at all.
const (
	frameData      = 0
	frameHeaders   = 1
	frameRSTStream = 3
	frameSettings  = 4
	framePing      = 6
	frameGoAway    = 7

	flagAck        = 0x1
	flagEndStream  = 0x1
	flagEndHeaders = 0x4

	codeNo            = 0x0
	codeProtocol      = 0x1
	codeInternal      = 0x2
	codeRefusedStream = 0x7
	codeCancel        = 0x8
	codeCalmDown      = 0xb
)

// stream is an HTTP/2 request that was received completely.
type stream struct {
	*exchange
	id     uint32
	silent *atomic.Bool // whether the connection no longer responds
}

// http2 returns a script that calls a function for each stream.
func http2(serve func(*stream)) script {
	return func(x *exchange) {
		config := serverTLS(trusted)
		config.NextProtos = []string{"h2"}
		x.startTLS(config)
		x.reader = bufio.NewReader(pump(x.Conn))
		var preface [24]byte // "PRI * HTTP/2.0…"
		if _, err := io.ReadFull(x.reader, preface[:]); err != nil {
			return
		}
		x.frame(frameSettings, 0, 0, nil)
		var silent atomic.Bool
		for {
			var head [9]byte
			if _, err := io.ReadFull(x.reader, head[:]); err != nil {
				return
			}
			payload := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
			if _, err := io.ReadFull(x.reader, payload); err != nil {
				return
			}
			kind, flags, id := head[3], head[4], binary.BigEndian.Uint32(head[5:])
			switch {
			case silent.Load():
			case kind == frameSettings && flags&flagAck == 0:
				x.frame(frameSettings, flagAck, 0, nil)
			case kind == framePing && flags&flagAck == 0:
				x.frame(framePing, flagAck, 0, payload)
			case (kind == frameHeaders || kind == frameData) && flags&flagEndStream != 0:
				x.arrived.Add(1)
				go serve(&stream{x, id, &silent})
			}
		}
	}
}

// pump reads ahead, so that the client can write while the peer does: on an
// in-memory connection they would otherwise block each other.
func pump(conn io.Reader) io.Reader {
	ahead := make(chan []byte, 4096)
	go func() {
		defer close(ahead)
		for {
			b := make([]byte, 4096)
			n, err := conn.Read(b)
			if err != nil {
				return
			}
			ahead <- b[:n]
		}
	}()
	return &pumped{ahead: ahead}
}

type pumped struct {
	ahead chan []byte
	rest  []byte
}

func (p *pumped) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		p.rest = <-p.ahead
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (x *exchange) frame(kind, flags byte, stream uint32, payload []byte) {
	n := len(payload)
	frame := []byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags}
	frame = binary.BigEndian.AppendUint32(frame, stream)
	x.Write(append(frame, payload...))
}

// works executes the request and responds as the contract says.
func (s *stream) works() {
	s.execute()
	if s.head(s.op.kind == none); s.op.kind != none {
		s.frame(frameData, flagEndStream, s.id, []byte(s.op.reply))
	}
	s.sound.Add(1)
}

// head writes the head of a response: a 204 that ends the stream, or a 200.
func (s *stream) head(noContent bool) {
	const ok, empty, contentType = 0x80 | 8, 0x80 | 9, 31 // of HPACK's static table
	if noContent {
		s.frame(frameHeaders, flagEndHeaders|flagEndStream, s.id, []byte{empty})
		return
	}
	text := s.contentType()
	block := []byte{ok, 0x0f, contentType - 0x0f, byte(len(text))}
	s.frame(frameHeaders, flagEndHeaders, s.id, append(block, text...))
}

// resets ends the stream with an error.
func (s *stream) resets(code uint32) {
	s.frame(frameRSTStream, 0, s.id, binary.BigEndian.AppendUint32(nil, code))
}

// goAway says that streams after the last one weren't and won't be processed.
func (s *stream) goAway(last, code uint32) {
	payload := binary.BigEndian.AppendUint32(nil, last)
	s.frame(frameGoAway, 0, 0, binary.BigEndian.AppendUint32(payload, code))
}
