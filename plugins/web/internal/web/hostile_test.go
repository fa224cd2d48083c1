package web

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// raw sends words as they are, closes its own side of the connection when end is set, and
// returns all that comes back until the server closes or, without end, the status line of the
// first answer and whether the connection was closed after it.
func raw(t *testing.T, plugin *Plugin, words string, end bool) (answer *http.Response, body string, rest string) {
	t.Helper()
	conn, err := net.Dial("tcp", plugin.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(conn, words); err != nil {
		t.Fatal(err)
	}
	if end {
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
	}
	reader := bufio.NewReader(conn)
	answer, err = http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatalf("%q: %v", words, err)
	}
	defer answer.Body.Close()
	told, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if answer.Close || end {
		left, _ := io.ReadAll(reader)
		rest = string(left)
	}
	return answer, string(told), rest
}

// post is the head of a request to say something, with more headers.
func post(method, headers string) string {
	return method + " /api/chat HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + headers + "\r\n"
}

// A client that is broken, or went away, is told so; it is no fault of the server.
func TestBodiesThatDoNotArriveAreTheClientsFault(t *testing.T) {
	plugin := activate(t, `{"auth":"network"}`, submitter{})
	chunked := "Transfer-Encoding: chunked\r\n"
	for name, words := range map[string]string{
		"no size":         post("POST", chunked) + "zz\r\n{}\r\n0\r\n\r\n",
		"chunk too short": post("POST", chunked) + "3\r\n{}\r\n0\r\n\r\n",
		"no end of chunk": post("POST", chunked) + "2\r\n{}x0\r\n\r\n",
		"chunks stop":     post("POST", chunked) + "20\r\n{\"con",
		"length stops":    post("POST", "Content-Length: 40\r\n") + "{\"con",
		"nothing comes":   post("POST", "Content-Length: 40\r\n"),
	} {
		answer, body, _ := raw(t, plugin, words, true)
		if answer.StatusCode != http.StatusBadRequest || !strings.Contains(body, "body") ||
			answer.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %s", name, answer.StatusCode, body)
		}
	}
}

// A proxy in front that believes the length would take what follows for a part of the body,
// and so let a second request through unseen.
func TestNothingFollowsABodyOfTwoLengths(t *testing.T) {
	plugin := activate(t, `{"auth":"network"}`, submitter{})
	smuggled := "GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n"
	body := "e\r\n{\"content\":\"a\"\r\n1\r\n}\r\n0\r\n\r\n"
	for name, headers := range map[string]string{
		"both":        fmt.Sprintf("Content-Length: %d\r\nTransfer-Encoding: chunked\r\n", len(body)+len(smuggled)),
		"chunks only": "Transfer-Encoding: chunked\r\n",
	} {
		answer, told, rest := raw(t, plugin, post("POST", headers)+body+smuggled, true)
		if answer.StatusCode != http.StatusAccepted || !answer.Close || rest != "" {
			t.Errorf("%s: %d %s, closed %v, then %q", name, answer.StatusCode, told, answer.Close, rest)
		}
	}
	answer, _, rest := raw(t, plugin, post("POST", "Content-Length: 15\r\n")+`{"content":"a"}`+smuggled, true)
	if answer.StatusCode != http.StatusAccepted || !strings.HasPrefix(rest, "HTTP/1.1 200") {
		t.Errorf("with one length: %d, then %q; two requests on a connection are fine", answer.StatusCode, rest)
	}
}

// Who asks before sending what is refused anyway must not be told to go on.
func TestABodyThatIsTooLargeNeedNotBeSent(t *testing.T) {
	plugin := activate(t, `{"auth":"network"}`, submitter{})
	ask := func(length int) string {
		return post("POST", fmt.Sprintf("Expect: 100-continue\r\nContent-Length: %d\r\n", length))
	}
	answer, body, _ := raw(t, plugin, ask(1<<20+1), false)
	if answer.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(body, "1 MiB") {
		t.Errorf("%d %s", answer.StatusCode, body)
	}
	if answer, _, _ := raw(t, plugin, ask(1<<20), false); answer.StatusCode != http.StatusContinue {
		t.Errorf("a body of 1 MiB: %d; that much is taken", answer.StatusCode)
	}
}

// The method is what is wrong, whatever the body says it is.
func TestAMethodThatAPathDoesNotHave(t *testing.T) {
	plugin := activate(t, `{"auth":"network"}`, submitter{})
	for _, method := range []string{"PUT", "PATCH", "DELETE"} {
		words := strings.Replace(post(method, "Content-Length: 0\r\n"), "application/json", "text/plain", 1)
		answer, body, _ := raw(t, plugin, words, false)
		if answer.StatusCode != http.StatusMethodNotAllowed || !strings.Contains(body, "POST") {
			t.Errorf("%s: %d %s", method, answer.StatusCode, body)
		}
	}
}
