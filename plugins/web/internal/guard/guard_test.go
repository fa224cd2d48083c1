package guard_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/seed-706843ae/harness/plugins/web/internal/guard"
)

// request is what a browser or a program would send.
type request struct {
	method, path, host string
	headers            map[string]string
}

func send(t *testing.T, r request, allowed ...string) *httptest.ResponseRecorder {
	t.Helper()
	hosts, err := guard.ParseHosts(allowed)
	if err != nil {
		t.Fatal(err)
	}
	var g guard.Guard
	g.Allow(hosts)
	through := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	incoming := httptest.NewRequest(r.method, r.path, nil)
	incoming.Host = r.host
	for name, value := range r.headers {
		incoming.Header.Set(name, value)
	}
	recorder := httptest.NewRecorder()
	wanted := guard.JSONType
	if r.path == uploads {
		wanted = guard.UploadType
	}
	g.Wrap(guard.Only(wanted, through), "/ws").ServeHTTP(recorder, incoming)
	return recorder
}

const (
	passes  = http.StatusTeapot
	uploads = "/api/uploads" // takes bytes; everything else JSON
)

// A page that gives its own name the address 127.0.0.1 must not read anything.
func TestHost(t *testing.T) {
	allowed := []string{"harness.example.org", "other.example.org:8443"}
	for host, want := range map[string]int{
		"localhost":                passes,
		"localhost:3001":           passes,
		"LocalHost:3001":           passes,
		"127.0.0.1":                passes,
		"127.0.0.1:80":             passes,
		"[::1]":                    passes,
		"[::1]:3001":               passes,
		"[0:0:0:0:0:0:0:1]:3001":   passes,
		"harness.example.org":      passes,
		"HARNESS.example.org:3001": passes,
		"other.example.org:8443":   passes,
		"other.example.org":        403,
		"other.example.org:1":      403,
		"evil.example":             403,
		"evil.example:3001":        403,
		"localhost.evil.example":   403,
		"127.0.0.1.nip.io":         403,
		"127.0.0.2":                403,
		"0.0.0.0":                  403,
		"::1":                      403,
		"[::1":                     403,
		"[localhost]":              403,
		"user@localhost":           403,
		"localhost:":               403,
		"localhost:0":              403,
		"localhost:99999":          403,
		"localhost:3001:3001":      403,
		"local host":               403,
		"":                         403,
	} {
		got := send(t, request{method: "GET", path: "/api/threads", host: host}, allowed...)
		if got.Code != want {
			t.Errorf("Host %q: %d; want %d", host, got.Code, want)
		}
	}
}

// A page of another site must not command the agent or listen in.
func TestOrigin(t *testing.T) {
	const jsonType = "application/json"
	type headers = map[string]string
	cases := []struct {
		name, method, path, host string
		headers                  headers
		want                     int
	}{
		{"a program", "POST", "/api/chat", "localhost:3001", headers{}, passes},
		{"our page", "POST", "/api/chat", "localhost:3001", headers{"Origin": "http://localhost:3001", "Sec-Fetch-Site": "same-origin"}, passes},
		{"our page by address", "POST", "/api/chat", "127.0.0.1:3001", headers{"Origin": "http://127.0.0.1:3001"}, passes},
		{"our page by IPv6", "POST", "/api/chat", "[::1]:3001", headers{"Origin": "http://[::1]:3001"}, passes},
		{"default port", "POST", "/api/chat", "localhost:80", headers{"Origin": "http://localhost"}, passes},
		{"allowed host", "POST", "/api/chat", "localhost:3001", headers{"Origin": "https://harness.example.org"}, passes},
		{"behind a proxy", "POST", "/api/chat", "harness.example.org", headers{"Origin": "https://harness.example.org"}, passes},
		{"another site", "POST", "/api/chat", "localhost:3001", headers{"Origin": "https://evil.example"}, 403},
		{"another port", "POST", "/api/chat", "localhost:3001", headers{"Origin": "http://localhost:8080"}, 403},
		{"another loopback name", "POST", "/api/chat", "localhost:3001", headers{"Origin": "http://127.0.0.1:3001"}, 403},
		{"a sandbox", "POST", "/api/chat", "localhost:3001", headers{"Origin": "null"}, 403},
		{"an extension", "POST", "/api/chat", "localhost:3001", headers{"Origin": "chrome-extension://localhost:3001"}, 403},
		{"empty origin", "POST", "/api/chat", "localhost:3001", headers{"Origin": ""}, 403},
		{"origin with a user", "POST", "/api/chat", "localhost:3001", headers{"Origin": "http://x@localhost:3001"}, 403},
		{"cross-site without origin", "POST", "/api/chat", "localhost:3001", headers{"Sec-Fetch-Site": "cross-site"}, 403},
		{"cross-site, in capitals", "POST", "/api/chat", "localhost:3001", headers{"Sec-Fetch-Site": "Cross-Site"}, 403},
		{"deleting from another site", "DELETE", "/api/x", "localhost:3001", headers{"Origin": "https://evil.example"}, 403},
		{"asking from another site", "OPTIONS", "/api/chat", "localhost:3001", headers{"Origin": "https://evil.example"}, 403},
		{"reading from another site", "GET", "/api/threads", "localhost:3001", headers{"Origin": "https://evil.example"}, passes},
		{"a link from another site", "GET", "/", "localhost:3001", headers{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "document"}, passes},
		{"an address that was typed", "GET", "/api/threads", "localhost:3001", headers{"Sec-Fetch-Site": "none", "Sec-Fetch-Dest": "document"}, passes},
		{"our page reads", "GET", "/api/threads", "localhost:3001", headers{"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "empty"}, passes},
		{"another site times a search", "GET", "/api/search?q=x", "localhost:3001", headers{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "empty"}, 403},
		{"another port does", "GET", "/api/search?q=x", "localhost:3001", headers{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Dest": "image"}, 403},
		{"another site shows us in a frame", "GET", "/", "localhost:3001", headers{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "iframe"}, 403},
		{"an allowed page reads", "GET", "/api/threads", "localhost:3001", headers{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "empty", "Origin": "https://harness.example.org"}, passes},
		{"socket of a program", "GET", "/ws", "localhost:3001", headers{}, passes},
		{"socket of our page", "GET", "/ws", "localhost:3001", headers{"Origin": "http://localhost:3001"}, passes},
		{"socket of another site", "GET", "/ws", "localhost:3001", headers{"Origin": "https://evil.example"}, 403},
		{"socket, cross-site", "GET", "/ws", "localhost:3001", headers{"Sec-Fetch-Site": "cross-site"}, 403},
		{"socket of another site, escaped", "GET", "/%77s", "localhost:3001", headers{"Origin": "https://evil.example"}, 403},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.headers["Content-Type"] = jsonType
			got := send(t, request{c.method, c.path, c.host, c.headers}, "harness.example.org")
			if got.Code != c.want {
				t.Errorf("%d; want %d", got.Code, c.want)
			}
		})
	}
}

// A form of another site can post anything but JSON without being asked.
func TestContentType(t *testing.T) {
	cases := []struct {
		method, contentType string
		want                int
	}{
		{"POST", "application/json", passes},
		{"POST", "Application/JSON; charset=utf-8", passes},
		{"PUT", "application/json", passes},
		{"POST", "", 415},
		{"POST", "text/plain", 415},
		{"POST", "text/plain; application/json", 415},
		{"POST", "application/x-www-form-urlencoded", 415},
		{"POST", "multipart/form-data; boundary=x", 415},
		{"POST", "application/jsonx", 415},
		{"PATCH", "text/plain", 415},
		{"PUT", "", 415},
		{"DELETE", "", passes},
		{"GET", "", passes},
	}
	for _, c := range cases {
		r := request{c.method, "/api/x", "localhost", map[string]string{}}
		if c.contentType != "" {
			r.headers["Content-Type"] = c.contentType
		}
		if got := send(t, r); got.Code != c.want {
			t.Errorf("%s %q: %d; want %d", c.method, c.contentType, got.Code, c.want)
		}
	}
}

// An upload may be anything, but a form of another site must not be able to make one.
func TestUploadsSayThatTheyAreBytes(t *testing.T) {
	for contentType, want := range map[string]int{
		"application/octet-stream": passes, "Application/Octet-Stream; x=y": passes,
		"": 415, "text/plain": 415, "multipart/form-data; boundary=x": 415, "application/x-www-form-urlencoded": 415,
		"image/png": 415, "application/json": 415, "text/plain; application/octet-stream": 415,
	} {
		r := request{"POST", uploads, "localhost", map[string]string{"Content-Type": contentType}}
		if got := send(t, r); got.Code != want {
			t.Errorf("%q: %d; want %d", contentType, got.Code, want)
		}
	}
	elsewhere := request{"POST", "/api/threads", "localhost", map[string]string{"Content-Type": "application/octet-stream"}}
	if got := send(t, elsewhere); got.Code != 415 {
		t.Errorf("bytes to another path: %d", got.Code)
	}
}

func TestRefusalIsAProblemDocument(t *testing.T) {
	got := send(t, request{method: "GET", path: "/api/threads", host: "evil.example"})
	var problem struct {
		Title, Detail string
		Status        int
	}
	if err := json.Unmarshal(got.Body.Bytes(), &problem); err != nil {
		t.Fatal(err)
	}
	if got.Header().Get("Content-Type") != "application/problem+json" || problem.Status != 403 ||
		problem.Title != "Forbidden" || !strings.Contains(problem.Detail, "allowedHosts") {
		t.Errorf("%s: %s", got.Header(), got.Body)
	}
	for _, header := range []string{"X-Content-Type-Options", "Cross-Origin-Resource-Policy", "X-Frame-Options", "Cache-Control"} {
		if got.Header().Get(header) == "" {
			t.Errorf("no %s", header)
		}
	}
}

func TestZeroGuardLetsLoopbackThrough(t *testing.T) {
	var g guard.Guard
	recorder := httptest.NewRecorder()
	incoming := httptest.NewRequest("GET", "/", nil)
	incoming.Host = "localhost"
	g.Wrap(http.NotFoundHandler(), "/ws").ServeHTTP(recorder, incoming)
	if recorder.Code != http.StatusNotFound {
		t.Errorf("status = %d", recorder.Code)
	}
}

func TestAllowedHostsAreChecked(t *testing.T) {
	for _, wrong := range []string{"", "*", "http://x.example", "x.example/", "x.example:http", "a b", "[::1"} {
		if _, err := guard.ParseHosts([]string{"fine.example", wrong}); err == nil || !strings.Contains(err.Error(), "\""+wrong+"\"") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// Forms with files take room on the disk until they are done with: more than a few at a time
// are told to come again, and a place is free once its form is done.
func TestFormsWithFilesAreTakenAFewAtATime(t *testing.T) {
	forms, begun, done := guard.NewForms(), make(chan struct{}), make(chan struct{})
	send := func(next http.HandlerFunc) int {
		request := httptest.NewRequest("POST", "/", strings.NewReader("--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n--x--\r\n"))
		request.Header.Set("Content-Type", "multipart/form-data; boundary=x")
		request.Header.Set("Sec-Fetch-Site", "same-origin")
		recorder := httptest.NewRecorder()
		forms.Take(next).ServeHTTP(recorder, request)
		return recorder.Code
	}
	var sent sync.WaitGroup
	for range 4 {
		sent.Go(func() {
			send(func(http.ResponseWriter, *http.Request) { begun <- struct{}{}; <-done })
		})
		<-begun
	}
	if status := send(nil); status != http.StatusServiceUnavailable {
		t.Errorf("one too many: %d", status)
	}
	close(done)
	sent.Wait()
	field := ""
	if status := send(func(_ http.ResponseWriter, r *http.Request) { field = r.PostForm.Get("a") }); status != http.StatusOK || field != "b" {
		t.Errorf("after that: %d, %q", status, field)
	}
}
