package web

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// What two readers of one connection can understand in two ways is not understood at all:
// it is refused, and nothing that follows is answered.
func TestSmuggledRequests(t *testing.T) {
	plugin := activate(t, `{"auth":"network"}`, submitter{})
	hidden := "GET /api/health HTTP/1.1\r\nHost: localhost\r\nX-Hidden: 1\r\n\r\n"
	head := func(headers string) string { return post("POST", headers) }
	chunks := "e\r\n{\"content\":\"a\"\r\n1\r\n}\r\n0\r\n\r\n"
	for name, c := range map[string]struct {
		words string
		want  int // 202: as one request, after which the connection is closed
	}{
		"CL.TE":                      {head(fmt.Sprintf("Content-Length: %d\r\nTransfer-Encoding: chunked\r\n", len(chunks)+len(hidden))) + chunks + hidden, 202},
		"TE.CL":                      {head("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n") + chunks + hidden, 202},
		"two lengths that differ":    {head("Content-Length: 15\r\nContent-Length: 16\r\n") + `{"content":"a"}` + hidden, 400},
		"a list of lengths":          {head("Content-Length: 15, 15\r\n") + `{"content":"a"}` + hidden, 400},
		"a length with a sign":       {head("Content-Length: +15\r\n") + `{"content":"a"}` + hidden, 400},
		"a negative length":          {head("Content-Length: -1\r\n") + hidden, 400},
		"a length in hex":            {head("Content-Length: 0xf\r\n") + `{"content":"a"}` + hidden, 400},
		"an unknown encoding":        {head("Transfer-Encoding: xchunked\r\n") + chunks + hidden, 501},
		"an encoding with a suffix":  {head("Transfer-Encoding: chunked, identity\r\n") + chunks + hidden, 501},
		"two encodings":              {head("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n") + chunks + hidden, 501},
		"a space before the colon":   {head("Transfer-Encoding : chunked\r\n") + chunks + hidden, 400},
		"obs-fold of a header":       {head("X-Long: a\r\n Transfer-Encoding: chunked\r\nContent-Length: 15\r\n") + `{"content":"a"}` + hidden, 202},
		"obs-fold of an encoding":    {head("Transfer-Encoding:\r\n chunked\r\n") + chunks + hidden, 202},
		"a chunk with a sign":        {head("Transfer-Encoding: chunked\r\n") + "+2\r\n{}\r\n0\r\n\r\n" + hidden, 400},
		"a chunk without an end":     {head("Transfer-Encoding: chunked\r\n") + "2\r\n{}0\r\n\r\n" + hidden, 400},
		"a chunk that is enormous":   {head("Transfer-Encoding: chunked\r\n") + "ffffffffffffffffff\r\n{}\r\n0\r\n\r\n" + hidden, 400},
		"a bare line feed in a name": {head("X\n-Y: a\r\nContent-Length: 15\r\n") + `{"content":"a"}` + hidden, 400},
		"a NUL in a header":          {head("X-Y: a\x00b\r\nContent-Length: 15\r\n") + `{"content":"a"}` + hidden, 400},
		"two hosts":                  {"GET /api/threads HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n" + hidden, 400},
		"no host":                    {"GET /api/threads HTTP/1.1\r\n\r\n" + hidden, 400},
		"a host in the target":       {"GET http://evil.example/api/threads HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 403},
		"a version that is none":     {"GET /api/threads HTTP/9.9\r\nHost: localhost\r\n\r\n", 505},
		"a method that is none":      {"GE T /api/threads HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
		"headers without an end":     {"GET /api/threads HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 100<<10) + "\r\n\r\n", 431},
	} {
		answer, body, rest := raw(t, plugin, c.words, true)
		if answer.StatusCode != c.want {
			t.Errorf("%s: %d %s; want %d", name, answer.StatusCode, body, c.want)
		}
		// A fold is one header line; what follows such a request is another one, as it says.
		if strings.HasPrefix(rest, "HTTP/1.1 200") && name != "obs-fold of a header" {
			t.Errorf("%s: what was hidden is answered: %q", name, rest)
		}
	}
}

// A proxy may believe the one header and Harness the other: of two, neither is believed.
func TestTwoTokensAreNone(t *testing.T) {
	s := demanding(t)
	_, ann := s.token("Ann", pluginsdk.ScopeRead)
	_, eve := s.token("Eve", pluginsdk.ScopeAdmin)
	for _, second := range []string{eve, ann, "Basic YTpi"} {
		for _, pair := range [][2]string{{ann, second}, {second, ann}} {
			words := "GET /api/me HTTP/1.1\r\nHost: localhost\r\nAuthorization: " + pair[0] + "\r\nAuthorization: " + pair[1] + "\r\n\r\n"
			if answer, body, _ := raw(t, s.Plugin, words, false); answer.StatusCode != 401 {
				t.Errorf("%q: %d %s", pair, answer.StatusCode, body)
			}
		}
	}
}

// Who begins a request and does not end it holds a connection for so long and no longer,
// and nobody else waits for it.
func TestSlowClients(t *testing.T) {
	short := 100 * time.Millisecond
	s := openSite(t, `{"auth":"network"}`, times{Header: short, Read: 2 * short, Write: 2 * short, Idle: short})
	end := func(what, words string) {
		t.Helper()
		conn, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, words); err != nil {
			t.Fatal(err)
		}
		s.expect("somebody else", s.ask("GET", "/api/health", ""), 200)
		if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: the connection stays", what)
		}
	}
	end("nothing", "")
	end("half a line", "GET /api/he")
	end("half the headers", "GET /api/health HTTP/1.1\r\nHost: localhost\r\nX-A: ")
	end("silence between requests", "GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
	end("half a form", "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\nConnection: close\r\n\r\ntoken=")
}

// Who asks for much and reads none of it is cut off; the server's work for it has an end.
func TestSlowReaders(t *testing.T) {
	s := openSite(t, `{"auth":"network"}`, times{Write: 200 * time.Millisecond})
	for range 200 {
		s.host.AddMessage(pluginsdk.Message{ThreadID: "T", Kind: pluginsdk.MessageText, Role: pluginsdk.RoleUser, Content: strings.Repeat("x", 256<<10)})
	}
	conn, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, strings.Repeat("GET /api/threads/T/messages?limit=1000 HTTP/1.1\r\nHost: localhost\r\n\r\n", 3)); err != nil {
		t.Fatal(err)
	}
	s.expect("somebody else", s.ask("GET", "/api/health", ""), 200)
	// Nothing is read until the server has given up: then there is less than it had to say.
	if err := s.Deactivate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	n, _ := io.Copy(io.Discard, conn)
	if n >= 3*200*(256<<10) {
		t.Errorf("all %d bytes were kept for a reader that did not read", n)
	}
}

// frame is a frame of a WebSocket as a client sends it, or as one that does not know how.
func frame(first byte, masked bool, payload []byte) []byte {
	out := []byte{first}
	var mask byte
	if masked {
		mask = 0x80
	}
	switch n := len(payload); {
	case n < 126:
		out = append(out, mask|byte(n))
	default:
		out = append(out, mask|127)
		out = binary.BigEndian.AppendUint64(out, uint64(n))
	}
	if masked {
		out = append(out, 0, 0, 0, 0)
	}
	return append(out, payload...)
}

// A client that does not speak the protocol is sent away, and nobody else notices.
func TestMalformedFrames(t *testing.T) {
	s := openSite(t, `{"auth":"network"}`, times{})
	stays, _ := s.listen()
	for name, sent := range map[string][]byte{
		"no mask":               frame(0x81, false, []byte("hi")),
		"reserved bits":         frame(0xf1, true, []byte("hi")),
		"an opcode of nobody's": frame(0x83, true, nil),
		"a control of nobody's": frame(0x8b, true, nil),
		"a long ping":           frame(0x89, true, make([]byte, 126)),
		"a ping in pieces":      frame(0x09, true, nil),
		"a rest of nothing":     frame(0x80, true, []byte("hi")),
		"a message too long":    frame(0x82, true, make([]byte, 1<<20)),
		"a length that lies":    {0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"text that is none":     frame(0x81, true, []byte{0xff, 0xfe}),
		"a close of one byte":   frame(0x88, true, []byte{3}),
		"a close of no code":    frame(0x88, true, []byte{0, 5}),
	} {
		conn, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(conn, "GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
			"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
		if err != nil {
			t.Fatal(err)
		}
		reader := bufio.NewReader(conn)
		answer, err := http.ReadResponse(reader, nil)
		if err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
			t.Fatal(answer, err)
		}
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		_, _ = conn.Write(sent) // it may be cut off in the middle
		if _, err := io.Copy(io.Discard, reader); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: the connection stays", name)
		}
		_ = conn.Close()
	}
	for what, headers := range map[string][]string{
		"no upgrade":      nil,
		"another version": {"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "7", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="},
		"no key":          {"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13"},
	} {
		s.expect(what, s.ask("GET", "/ws", "", headers...), 400)
	}
	if err := broadcast(t, s.Plugin, pluginsdk.Event{Type: pluginsdk.EventPipelineStart, Boot: "b", Seq: 1}); err != nil {
		t.Fatal(err)
	}
	var event pluginsdk.Event
	for event.Type != pluginsdk.EventPipelineStart {
		if err := stays.ReadJSON(&event); err != nil {
			t.Fatalf("somebody else's socket has ended: %v", err)
		}
	}
}

// Paths are looked up as they are, not walked: nothing beside the routes is reached, and
// no way of writing one gets round the token.
func TestTraversalAndOddPaths(t *testing.T) {
	s := demanding(t)
	_, token := s.token("Ann", pluginsdk.ScopeAdmin)
	for _, path := range []string{
		"/../../etc/passwd", "/api/../../etc/passwd", "/api/threads/../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd",
		"/api/threads/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "/api/threads/..%5c..%5cboot.ini", "/api//threads", "//api/threads", "/./api/threads",
		"/api/threads/", "/API/threads", "/api/threads%00", "/api/threads;x=1", "/api/%74hreads", "/login/../api/threads", "/login/..%2fapi/threads",
		"/api/health/../threads", "/api/health%2f..%2fthreads", "/%61pi/threads", "/api/threads%2f", "/api/%2fthreads", "/%%", "/%zz",
		"/api/plugins/..%2f..%2fetc/logs", "/api/threads/%ff%fe",
	} {
		for who, header := range map[string]string{"a stranger": "", "Ann": "Authorization: " + token + "\r\n"} {
			answer, body, _ := raw(t, s.Plugin, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"+header+"\r\n", false)
			switch status := answer.StatusCode; {
			case status >= 500, strings.Contains(body, "root:"):
				t.Errorf("%s as %s: %d %s", path, who, status, body)
			case header == "" && status == 200:
				t.Errorf("%s is told to strangers: %s", path, body)
			case status/100 == 3 && strings.HasPrefix(answer.Header.Get("Location"), "//"):
				t.Errorf("%s leads elsewhere: %s", path, answer.Header.Get("Location"))
			}
		}
	}
}
