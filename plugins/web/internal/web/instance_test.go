package web

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// instance is the API as it is really served, with a host in memory behind it.
type instance struct {
	*testing.T
	*Plugin
	host *plugintest.Host
}

// demanding is an instance where a token is demanded.
func demanding(t *testing.T) *instance { return openSite(t, `{"auth":"always"}`, times{}) }

func openSite(t *testing.T, settings string, limits times) *instance {
	t.Helper()
	return openSiteWith(t, settings, &Plugin{times: limits})
}

func openSiteWith(t *testing.T, settings string, plugin *Plugin) *instance {
	t.Helper()
	t.Setenv(addressVariable, "127.0.0.1:0")
	s := &instance{T: t, Plugin: plugin, host: plugintest.NewHost()}
	s.host.SetSettings(json.RawMessage(settings))
	s.host.AddThread(pluginsdk.Thread{ID: "T", Source: "web", SourceID: "1", Kind: pluginsdk.ThreadPrimary})
	t.Cleanup(func() { _ = s.Deactivate(context.Background()) })
	if err := s.Start(t.Context(), s.host.As(s.Manifest())); err != nil {
		t.Fatal(err)
	}
	if err := s.Activate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// token makes a token and returns the header that carries it.
func (s *instance) token(name string, scope pluginsdk.TokenScope) (pluginsdk.Token, string) {
	token, secret := s.host.MakeToken(pluginsdk.CreateTokenRequest{Name: name, Scope: scope})
	return token, "Bearer " + secret
}

// got is an answer, read whole.
type got struct {
	status int
	header http.Header
	body   string
}

// ask makes a request. headers come in pairs of name and value.
func (s *instance) ask(method, path, body string, headers ...string) got {
	s.Helper()
	request, err := http.NewRequest(method, s.server.url()+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	if body != "" || method != http.MethodGet {
		request.Header.Set("Content-Type", "application/json")
	}
	for n := 0; n < len(headers); n += 2 {
		request.Header.Set(headers[n], headers[n+1])
	}
	if host := request.Header.Get("Host"); host != "" {
		request.Host = host
	}
	return s.do(&http.Client{CheckRedirect: stay}, request)
}

func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func (s *instance) do(client *http.Client, request *http.Request) got {
	s.Helper()
	answer, err := client.Do(request)
	if err != nil {
		s.Fatalf("%s %s: %v", request.Method, request.URL, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		s.Fatal(err)
	}
	return got{answer.StatusCode, answer.Header, string(body)}
}

// expect fails unless the answer has the status and the words.
func (s *instance) expect(what string, answer got, status int, words ...string) got {
	s.Helper()
	for _, word := range words {
		if !strings.Contains(answer.body, word) {
			s.Errorf("%s: %q lacks %q", what, answer.body, word)
		}
	}
	if answer.status != status {
		s.Errorf("%s: %d %.400s; want %d", what, answer.status, answer.body, status)
	}
	return answer
}

// browser keeps cookies, and says of what it sends what browsers say.
type browser struct {
	*instance
	client *http.Client
}

func (s *instance) browser() *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.Fatal(err)
	}
	return &browser{s, &http.Client{Jar: jar, CheckRedirect: stay}}
}

// submit posts a form from a page of an origin; empty: our own page, which says what is told
// of it: the origin of a page without referrers is "null" to browsers.
func (b *browser) submit(path, origin string, form url.Values) got {
	b.Helper()
	request, err := http.NewRequest(http.MethodPost, b.server.url()+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if origin == "" {
		origin = b.server.url()
		if b.visit("/login").header.Get("Referrer-Policy") == "no-referrer" {
			origin = "null"
		}
	}
	request.Header.Set("Origin", origin)
	return b.do(b.client, request)
}

func (b *browser) visit(path string, headers ...string) got {
	b.Helper()
	request, err := http.NewRequest(http.MethodGet, b.server.url()+path, nil)
	if err != nil {
		b.Fatal(err)
	}
	for n := 0; n < len(headers); n += 2 {
		request.Header.Set(headers[n], headers[n+1])
	}
	return b.do(b.client, request)
}

// cookie is the session's, as the browser has it.
func (b *browser) cookie() string {
	address, err := url.Parse(b.server.url())
	if err != nil {
		b.Fatal(err)
	}
	for _, cookie := range b.client.Jar.Cookies(address) {
		if strings.Contains(cookie.Name, "harness_session_") {
			return cookie.Name + "=" + cookie.Value
		}
	}
	return ""
}

// logIn logs a new browser in with a token of this scope.
func (s *instance) logIn(name string, scope pluginsdk.TokenScope) *browser {
	s.Helper()
	_, secret := s.host.MakeToken(pluginsdk.CreateTokenRequest{Name: name, Scope: scope, Kind: pluginsdk.TokenLogin})
	b := s.browser()
	s.expect("log in", b.submit("/login", "", url.Values{"token": {secret}}), http.StatusSeeOther)
	return b
}

// listen opens an event socket.
func (s *instance) listen(headers ...string) (*websocket.Conn, int) {
	s.Helper()
	header := http.Header{}
	for n := 0; n < len(headers); n += 2 {
		header.Set(headers[n], headers[n+1])
	}
	conn, answer, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(s.server.url(), "http")+"/ws", header)
	if answer == nil {
		s.Fatal(err)
	}
	if err != nil {
		return nil, answer.StatusCode
	}
	s.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		s.Fatal(err)
	}
	return conn, answer.StatusCode
}

// closed reads to the end of a socket and returns how it was closed.
func closed(conn *websocket.Conn) (code int, text string) {
	for {
		_, _, err := conn.ReadMessage()
		if told, ok := err.(*websocket.CloseError); ok { //nolint:errorlint // gorilla returns it as it is
			return told.Code, told.Text
		}
		if err != nil {
			return 0, err.Error()
		}
	}
}
