package api

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// A client that stalls in the middle of its body must not hold a connection for ever, nor
// the end of the server up.
func TestAClientThatStallsIsLetGo(t *testing.T) {
	server := httptest.NewServer(bodies{timeout: 50 * time.Millisecond}.whole("POST /", func(http.ResponseWriter, *http.Request) {
		t.Error("it is asked without its body")
	}))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nbegun"); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(conn)
	answer, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusRequestTimeout {
		t.Errorf("it is told %s", answer.Status)
	}
	if _, err := io.Copy(io.Discard, reader); err != nil {
		t.Errorf("the connection stays: %v", err)
	}
}
