package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Who has no token sees that Harness is there, and how to get in: nothing else.
func TestWithoutATokenNothingIsTold(t *testing.T) {
	s := demanding(t)
	for _, path := range []string{"/api/threads", "/api/me", "/api/openapi.json", "/metrics", "/ws"} {
		answer := s.expect(path, s.ask("GET", path, ""), 401, "a token is demanded")
		if answer.header.Get("WWW-Authenticate") != `Bearer realm="harness"` || answer.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %v", path, answer.header)
		}
	}
	s.expect("saying something", s.ask("POST", "/api/chat", `{"content":"hi"}`), 401)
	if n := len(s.host.Submissions()); n != 0 {
		t.Errorf("%d messages got through", n)
	}
	for _, path := range []string{"/", "/runs", "/search"} {
		s.expect(path, s.ask("GET", path, ""), 401)
	}
	s.expect("the form", s.ask("GET", "/login", ""), 200, "<form")
	if health := s.expect("health", s.ask("GET", "/api/health", ""), 200); strings.TrimSpace(health.body) != `{"status":"ok"}` {
		t.Errorf("health tells strangers %s", health.body)
	}
	_, token := s.token("Ann", pluginsdk.ScopeRead)
	s.expect("health", s.ask("GET", "/api/health", "", "Authorization", token), 200, "uptimeMs", "version")
}

// On loopback nobody needs a token, as ever; but one that is sent must be good, and counts.
func TestOnLoopbackATokenIsNotDemandedAndCounts(t *testing.T) {
	s := openSite(t, `{"auth":"network"}`, times{})
	s.expect("nobody", s.ask("GET", "/api/me", ""), 200, `"scope":"admin"`)
	s.expect("a proxy's password", s.ask("GET", "/api/me", "", "Authorization", "Basic YTpi"), 200)
	s.expect("a bad one", s.ask("GET", "/api/me", "", "Authorization", "Bearer harness_access_x"), 401)
	_, token := s.token("Ann", pluginsdk.ScopeRead)
	s.expect("Ann", s.ask("GET", "/api/me", "", "Authorization", token), 200, `"name":"Ann"`, `"scope":"read"`)
	s.expect("Ann", s.ask("POST", "/api/chat", `{"content":"hi"}`, "Authorization", token), 403, "the scope chat")
	change := pluginsdk.OnSettingsChangeRequest{Settings: json.RawMessage(`{"auth":"always"}`)}
	if _, err := s.OnSettingsChange(t.Context(), &change); err != nil {
		t.Fatal(err)
	}
	s.expect("from now on", s.ask("GET", "/api/me", ""), 401)
}

// A token is demanded where other machines can connect, whatever is set. (All addresses
// of this machine are listened on; the test comes over loopback.)
func TestOnANetworkATokenIsDemanded(t *testing.T) {
	s := openSite(t, `{"auth":"network"}`, times{})
	t.Setenv(addressVariable, "0.0.0.0:0")
	if err := s.Deactivate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Activate(t.Context()); err != nil {
		t.Fatal(err)
	}
	address := s.Addr().String()
	request, err := http.NewRequest("GET", "http://127.0.0.1:"+address[strings.LastIndex(address, ":")+1:]+"/api/me", nil)
	if err != nil {
		t.Fatal(err)
	}
	s.expect("nobody", s.do(http.DefaultClient, request), 401)
	request.Host = "192.0.2.7:3001" // as it is known to others
	s.expect("nobody, by an address", s.do(http.DefaultClient, request), 401)
	request.Host = "evil.example"
	s.expect("a name that was not allowed", s.do(http.DefaultClient, request), 403)
}

// What somebody writes is under their own name, whatever the body says; and what is done
// in their name says so to the core.
func TestTheTokensNameIsTheAuthor(t *testing.T) {
	s := demanding(t)
	_, token := s.token("Ann", pluginsdk.ScopeApprove)
	s.expect("chat", s.ask("POST", "/api/chat", `{"content":"hi","author":"Bob"}`, "Authorization", token), 202)
	if said := s.host.Submissions(); len(said) != 1 || said[0].Author != "Ann" {
		t.Errorf("said %+v", said)
	}
	calls := s.host.Calls()
	if last := calls[len(calls)-1]; last.Method != "Messages.Submit" || last.Person != "Ann" {
		t.Errorf("%+v", last)
	}
}

// Whoever may talk has a say over what they have sent, and not over what others have typed
// or sent.
func TestWhatIsOthersNeedsMore(t *testing.T) {
	s := demanding(t)
	_, ann := s.token("Ann", pluginsdk.ScopeChat)
	_, eve := s.token("Eve", pluginsdk.ScopeAdmin)
	own, others := s.host.AddFile(pluginsdk.File{Author: "Ann"}, []byte("hi")), s.host.AddFile(pluginsdk.File{Author: "Eve"}, []byte("ho"))
	s.expect("a file of Eve", s.ask("DELETE", "/api/files/"+others.ID, "", "Authorization", ann), 403, "a file of somebody else needs a token with the scope admin")
	s.expect("her own", s.ask("DELETE", "/api/files/"+own.ID, "", "Authorization", ann), 204)
	s.expect("Eve's own", s.ask("DELETE", "/api/files/"+others.ID, "", "Authorization", eve), 204)
	s.expect("none", s.ask("DELETE", "/api/files/"+others.ID, "", "Authorization", ann), 204)
	s.host.AddCommand(pluginsdk.Command{Plugin: "digger", CommandSpec: pluginsdk.CommandSpec{Name: "dig", Scope: pluginsdk.ScopeWork}})
	typed := s.host.AddMessage(pluginsdk.Message{ThreadID: "T", Content: "/dig here", Author: "Eve", Scope: pluginsdk.ScopeAdmin})
	s.host.AddRun(pluginsdk.Run{ID: "typed", ThreadID: "T", MessageID: typed, Kind: pluginsdk.RunCommand, State: pluginsdk.RunFailed})
	s.host.AddRun(pluginsdk.Run{ID: "said", ThreadID: "T", Kind: pluginsdk.RunMessage, State: pluginsdk.RunFailed})
	s.expect("a command", s.ask("POST", "/api/runs/typed/retry", "", "Authorization", ann), 403, "needs the right work, and you have chat")
	s.expect("a message", s.ask("POST", "/api/runs/said/retry", "", "Authorization", ann), 202)
	s.expect("a command", s.ask("POST", "/api/runs/typed/retry", "", "Authorization", eve), 202)
}

// Who may talk must not, by what they write, approve work or widen what the agent may do.
func TestScopesHoldForWhatIsTypedAndSetToo(t *testing.T) {
	s := demanding(t)
	_, chat := s.token("Ann", pluginsdk.ScopeChat)
	_, approve := s.token("Bob", pluginsdk.ScopeApprove)
	_, work := s.token("Dan", pluginsdk.ScopeWork)
	_, admin := s.token("Eve", pluginsdk.ScopeAdmin)
	for _, c := range []struct {
		method, path, body string
		least              pluginsdk.TokenScope
	}{
		{"POST", "/api/chat", `{"content":"hi"}`, pluginsdk.ScopeChat},
		{"POST", "/api/chat", `{"content":"/tasks"}`, pluginsdk.ScopeChat},
		{"POST", "/api/chat", `{"content":"\n /tasks\tapprove 1a2b"}`, pluginsdk.ScopeApprove},
		{"POST", "/api/chat", `{"content":"/thread"}`, pluginsdk.ScopeChat},
		{"POST", "/api/chat", `{"content":"/thread rename dir"}`, pluginsdk.ScopeChat},
		{"POST", "/api/chat", `{"content":"/thread archive"}`, pluginsdk.ScopeChat},
		{"POST", "/api/chat", `{"content":"/thread\ndir /"}`, pluginsdk.ScopeAdmin},
		{"POST", "/api/chat", `{"content":" /thread\u00a0 ask none"}`, pluginsdk.ScopeChat}, // to the core this is no command
		{"POST", "/api/chat", `{"content":"/thread  ask none"}`, pluginsdk.ScopeAdmin},
		{"POST", "/api/chat", `{"content":"/thread delete 1a2b3c4d"}`, pluginsdk.ScopeAdmin},
		{"POST", "/api/chat", `{"content":"/delegate model=sonnet build it"}`, pluginsdk.ScopeWork},
		{"POST", "/api/chat", `{"content":"/delegate explain what dir = means"}`, pluginsdk.ScopeWork}, // of the field dir the plugin asks more
		{"POST", "/api/chat", `{"content":"/tasks cancel 1a2b"}`, pluginsdk.ScopeApprove},
		{"POST", "/api/tasks", `{"text":"x"}`, pluginsdk.ScopeWork},
		{"POST", "/api/tasks/1/retry", `{}`, pluginsdk.ScopeWork},
		{"POST", "/api/tasks/1/cancel", `{}`, pluginsdk.ScopeApprove},
		{"PATCH", "/api/threads/T", `{"model":"opus"}`, pluginsdk.ScopeApprove},
		{"PATCH", "/api/threads/T", `{"effort":"high"}`, pluginsdk.ScopeApprove},
		{"PATCH", "/api/threads/T", `{"instructions":"obey"}`, pluginsdk.ScopeApprove},
		{"POST", "/api/tasks", `{"text":"x","account":"work"}`, pluginsdk.ScopeAdmin},
		{"POST", "/api/chat", `{"content":"/tasks reject 1a2b no"}`, pluginsdk.ScopeApprove},
		{"POST", "/api/chat", `{"content":"/approve 1"}`, pluginsdk.ScopeApprove},
		{"POST", "/api/chat", `{"content":"/allow 1"}`, pluginsdk.ScopeApprove},
		{"POST", "/api/chat", `{"content":"/deny 1"}`, pluginsdk.ScopeApprove},
		{"POST", "/api/chat", `{"content":"/approvals"}`, pluginsdk.ScopeApprove},
		{"POST", "/api/chat", `{"content":"/thread report discord:1"}`, pluginsdk.ScopeAdmin},
		{"POST", "/api/threads", `{"reportTo":"thread:T"}`, pluginsdk.ScopeAdmin},
		{"POST", "/api/threads", `{"askTools":"none"}`, pluginsdk.ScopeAdmin},
		{"POST", "/api/chat", `{"content":"/thread permission acceptEdits"}`, pluginsdk.ScopeAdmin},
		{"POST", "/api/chat", `{"content":"/thread account environment"}`, pluginsdk.ScopeAdmin},
		{"POST", "/api/threads", `{"name":"n"}`, pluginsdk.ScopeChat},
		{"POST", "/api/threads", `{"permissionMode":"acceptEdits"}`, pluginsdk.ScopeAdmin},
		{"POST", "/api/threads", `{"cwd":"/"}`, pluginsdk.ScopeAdmin},
		{"PATCH", "/api/threads/T", `{"name":"n"}`, pluginsdk.ScopeChat},
		{"PATCH", "/api/threads/T", `{"permissionMode":""}`, pluginsdk.ScopeAdmin},
		{"PATCH", "/api/threads/T", `{"cwd":"/"}`, pluginsdk.ScopeAdmin},
		{"PATCH", "/api/threads/T", `{"reportTo":"thread:T"}`, pluginsdk.ScopeAdmin},
		{"POST", "/api/tasks", `{"text":"x","dir":"/"}`, pluginsdk.ScopeAdmin},
		{"PATCH", "/api/threads/T", `{"askTools":"none"}`, pluginsdk.ScopeAdmin},
		{"PATCH", "/api/threads/T", `{"status":"archived"}`, pluginsdk.ScopeChat},
		{"POST", "/api/threads/T/branch", `{}`, pluginsdk.ScopeChat},
		{"DELETE", "/api/threads/T", "", pluginsdk.ScopeAdmin},
		{"PUT", "/api/context/file?path=CLAUDE.md", `{"text":"x"}`, pluginsdk.ScopeAdmin},
		{"DELETE", "/api/context/file?path=CLAUDE.md&version=x", "", pluginsdk.ScopeAdmin},
	} {
		for scope, token := range map[pluginsdk.TokenScope]string{pluginsdk.ScopeChat: chat, pluginsdk.ScopeApprove: approve, pluginsdk.ScopeWork: work, pluginsdk.ScopeAdmin: admin} {
			answer := s.ask(c.method, c.path, c.body, "Authorization", token)
			if refused := answer.status == 403; refused == scope.Has(c.least) {
				t.Errorf("%s %s with %s: %d %s", c.path, c.body, scope, answer.status, answer.body)
			}
		}
	}
}

// A link to log in with works once, and to look at it is no use of it.
func TestALinkLogsIn(t *testing.T) {
	s := demanding(t)
	_, secret := s.host.MakeToken(pluginsdk.CreateTokenRequest{Name: "Ann", Scope: pluginsdk.ScopeChat, Kind: pluginsdk.TokenLogin})
	b := s.browser()
	for range 3 { // a program that previews links, and a person
		page := s.expect("the link", b.visit("/login?token="+url.QueryEscape(secret)+"&next=//evil.example"), 200, secret, `name="next" value="/"`)
		if len(page.header.Values("Set-Cookie")) > 0 || !strings.Contains(page.header.Get("Content-Security-Policy"), "form-action 'self'") {
			t.Errorf("%v", page.header)
		}
	}
	in := s.expect("the form", b.submit("/login", "", url.Values{"token": {secret}, "next": {"/api/me"}}), 303)
	cookie := in.header.Get("Set-Cookie")
	for _, want := range []string{"HttpOnly", "SameSite=Strict", "Path=/", "Expires="} {
		if !strings.Contains(cookie, want) {
			t.Errorf("the cookie %q lacks %s", cookie, want)
		}
	}
	if in.header.Get("Location") != "/api/me" || strings.Contains(cookie, "Domain") || strings.Contains(cookie, "Secure") || strings.Contains(cookie, secret) {
		t.Errorf("%v", in.header)
	}
	s.expect("Ann", b.visit("/api/me"), 200, `"name":"Ann"`, `"kind":"session"`, `"scope":"chat"`)
	again := s.expect("a second time", s.browser().submit("/login", "", url.Values{"token": {secret}}), 401, "used already")
	if strings.Contains(again.body, secret) {
		t.Error("a wrong token is shown again")
	}
	_, access := s.host.MakeToken(pluginsdk.CreateTokenRequest{Name: "Bob", Scope: pluginsdk.ScopeRead})
	s.expect("a program's token", s.browser().submit("/login", "", url.Values{"token": {" " + access + "\n"}}), 303)
	for _, next := range []string{"//evil.example", "https://evil.example", `/\evil.example`, "javascript:alert(1)", "/a\nb"} {
		answer := s.expect(next, s.browser().submit("/login", "", url.Values{"token": {access}, "next": {next}}), 303)
		if answer.header.Get("Location") != "/" {
			t.Errorf("%q leads to %q", next, answer.header.Get("Location"))
		}
	}
	s.expect("JSON", s.ask("POST", "/login", `{"token":"x"}`), 415)
	s.expect("a long form", s.browser().submit("/login", "", url.Values{"token": {strings.Repeat("x", 17<<10)}}), 400)
}

// A cookie that was stolen is of no use once its session has ended, and of none in another
// place than a cookie's.
func TestAStolenCookie(t *testing.T) {
	s := demanding(t)
	ann := s.logIn("Ann", pluginsdk.ScopeAdmin)
	stolen := ann.cookie()
	s.expect("the thief", s.ask("GET", "/api/me", "", "Cookie", stolen), 200)
	_, secret, _ := strings.Cut(stolen, "=")
	s.expect("as a program's", s.ask("GET", "/api/me", "", "Authorization", "Bearer "+secret), 401)
	s.expect("to log in", s.browser().submit("/login", "", url.Values{"token": {secret}}), 401)
	s.expect("two", s.ask("GET", "/api/me", "", "Cookie", stolen+"; "+stolen), 401)
	name, _, _ := strings.Cut(stolen, "=")
	_, token := s.token("Bob", pluginsdk.ScopeAdmin)
	s.expect("a program's as a cookie", s.ask("GET", "/api/me", "", "Cookie", name+"="+strings.TrimPrefix(token, "Bearer ")), 401)
	s.expect("to log out", ann.submit("/logout", "", nil), 303)
	if ann.cookie() != "" {
		t.Error("the browser keeps the cookie")
	}
	refused := s.expect("the thief", s.ask("GET", "/api/me", "", "Cookie", stolen), 401)
	if !strings.Contains(refused.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("the cookie is not taken away: %v", refused.header)
	}
	if _, status := s.listen("Cookie", stolen, "Origin", s.server.url()); status != 401 {
		t.Errorf("the thief's socket: %d", status)
	}
	calls := s.host.Calls()
	for _, call := range calls {
		if call.Method == "Tokens.Revoke" && call.Person != "Ann" {
			t.Errorf("%+v", call)
		}
	}
}

// A page of another site has the browser's cookie sent in the person's name; every way
// that it could act on it is refused.
func TestOtherSitesCannotUseASession(t *testing.T) {
	s := demanding(t)
	ann := s.logIn("Ann", pluginsdk.ScopeAdmin)
	cookie, own := ann.cookie(), s.server.url()
	form := "application/x-www-form-urlencoded"
	for what, c := range map[string]struct {
		headers []string
		want    int
	}{
		"our own page":                         {[]string{"Origin", own}, 202},
		"our own page, and it says so":         {[]string{"Origin", own, "Sec-Fetch-Site", "same-origin"}, 202},
		"a fetch of another site":              {[]string{"Origin", "https://evil.example"}, 403},
		"a form of another site":               {[]string{"Origin", "https://evil.example", "Content-Type", form}, 403},
		"a form without an origin":             {[]string{"Content-Type", form}, 403},
		"a form of our own":                    {[]string{"Origin", own, "Content-Type", form}, 415},
		"without an origin":                    {nil, 403},
		"another port of this host":            {[]string{"Origin", "http://127.0.0.1:1", "Sec-Fetch-Site", "same-site"}, 403},
		"same-site alone":                      {[]string{"Sec-Fetch-Site", "same-site"}, 403},
		"cross-site alone":                     {[]string{"Sec-Fetch-Site", "cross-site"}, 403},
		"a sandbox":                            {[]string{"Origin", "null"}, 403},
		"with a proxy's password":              {[]string{"Authorization", "Basic YTpi"}, 403},
		"by a name that was given our address": {[]string{"Host", "evil.example", "Origin", "http://evil.example"}, 403},
	} {
		s.expect(what, s.ask("POST", "/api/chat", `{"content":"hi"}`, append([]string{"Cookie", cookie}, c.headers...)...), c.want)
	}
	for what, c := range map[string]struct {
		headers []string
		want    int
	}{
		"our page":     {[]string{"Origin", own}, 101},
		"another site": {[]string{"Origin", "https://evil.example"}, 403},
		"no origin":    {nil, 403},
	} {
		if _, status := s.listen(append([]string{"Cookie", cookie}, c.headers...)...); status != c.want {
			t.Errorf("socket of %s: %d; want %d", what, status, c.want)
		}
	}
	s.expect("rebinding", s.ask("GET", "/api/threads", "", "Cookie", cookie, "Host", "evil.example"), 403)
	// To be logged in as somebody else is a trap as well, and so is to be logged out.
	_, secret := s.host.MakeToken(pluginsdk.CreateTokenRequest{Name: "Eve", Scope: pluginsdk.ScopeAdmin})
	s.expect("logging in by another site", ann.submit("/login", "https://evil.example", url.Values{"token": {secret}}), 403)
	s.expect("logging out by another site", ann.submit("/logout", "https://evil.example", nil), 403)
	s.expect("logging out by a link", ann.visit("/logout"), 405)
	s.expect("still in", ann.visit("/api/me"), 200, `"name":"Ann"`)
}

// Many wrong tokens are told to wait; good ones are not, wherever they come from.
func TestBruteForce(t *testing.T) {
	s := demanding(t)
	_, good := s.token("Ann", pluginsdk.ScopeRead)
	wrong, waits := 0, 0
	for range 200 {
		switch answer := s.ask("GET", "/api/me", "", "Authorization", "Bearer harness_access_guess"); answer.status {
		case 401:
			wrong++
		case 429:
			waits++
			if answer.header.Get("Retry-After") != "6" {
				t.Fatalf("%v", answer.header)
			}
		default:
			t.Fatalf("%d %s", answer.status, answer.body)
		}
		s.expect("a good one meanwhile", s.ask("GET", "/api/me", "", "Authorization", good), 200)
	}
	if wrong < 10 || wrong > 20 || waits < 180 {
		t.Errorf("%d were refused, %d told to wait", wrong, waits)
	}
	answer := s.expect("a login", s.browser().submit("/login", "", url.Values{"token": {"harness_access_guess"}}), 429, "Too many")
	if answer.header.Get("Retry-After") == "" {
		t.Errorf("%v", answer.header)
	}
	s.logIn("Bob", pluginsdk.ScopeRead)
}

// Who is put out is out at once: with the token the event sockets end that it opened, and
// nobody else's.
func TestRevokingEndsTheSocketsOfAToken(t *testing.T) {
	s := demanding(t)
	revoked, bearer := s.token("Ann", pluginsdk.ScopeRead)
	_, other := s.token("Bob", pluginsdk.ScopeRead)
	tell := func(kind pluginsdk.EventType, seq uint64, payload string) {
		if err := broadcast(t, s.Plugin, pluginsdk.Event{Type: kind, Boot: "b", Seq: seq, Data: json.RawMessage(payload)}); err != nil {
			t.Fatal(err)
		}
	}
	first, _ := s.listen("Authorization", bearer)
	stays, _ := s.listen("Authorization", other)
	s.host.RevokeToken(revoked.ID)
	tell(pluginsdk.EventTokenRevoked, 1, `{"id":"`+revoked.ID+`"}`)
	if code, text := closed(first); code != websocket.ClosePolicyViolation || !strings.Contains(text, "revoked") {
		t.Errorf("%d %s", code, text)
	}
	if _, status := s.listen("Authorization", bearer); status != 401 {
		t.Errorf("it gets in again: %d", status)
	}
	// That events were missed may have hidden it.
	missed, bearer := s.token("Ann", pluginsdk.ScopeRead)
	second, _ := s.listen("Authorization", bearer)
	s.host.RevokeToken(missed.ID)
	tell(pluginsdk.EventResync, 2, ``)
	if code, _ := closed(second); code != websocket.ClosePolicyViolation {
		t.Errorf("after a gap: %d", code)
	}
	// And a token is over when it is.
	_, secret := s.host.MakeToken(pluginsdk.CreateTokenRequest{Name: "Ann", Scope: pluginsdk.ScopeRead, ExpiresAt: time.Now().Add(time.Second)})
	third, _ := s.listen("Authorization", "Bearer "+secret)
	if code, text := closed(third); code != websocket.ClosePolicyViolation || !strings.Contains(text, "over") {
		t.Errorf("%d %s", code, text)
	}
	tell(pluginsdk.EventPipelineStart, 3, `{"runId":"R"}`)
	for {
		var event pluginsdk.Event
		if err := stays.ReadJSON(&event); err != nil {
			t.Fatalf("another's socket has ended: %v", err)
		}
		if event.Type == pluginsdk.EventPipelineStart {
			return
		}
	}
}

// While the core cannot say who calls, nobody is let in, and nobody is told that their
// token is bad.
func TestTheCoreIsAway(t *testing.T) {
	s := demanding(t)
	_, token := s.token("Ann", pluginsdk.ScopeRead)
	away := pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the database is away")
	s.host.Fail("Tokens.Check", away)
	s.host.Fail("Tokens.Exchange", away)
	answer := s.expect("a token", s.ask("GET", "/api/me", "", "Authorization", token), 503)
	if answer.header.Get("Retry-After") == "" {
		t.Errorf("%v", answer.header)
	}
	s.expect("a login", s.browser().submit("/login", "", url.Values{"token": {strings.TrimPrefix(token, "Bearer ")}}), 503)
}

// slow are tools that work until they are given up.
type slow struct {
	pluginsdk.Tools
	begun chan struct{}
}

func (s slow) Call(ctx context.Context, _ *pluginsdk.InvokeToolRequest) (*pluginsdk.InvokeToolResponse, error) {
	s.begun <- struct{}{}
	<-ctx.Done()
	return nil, pluginsdk.Errorf(pluginsdk.CodeCancelled, "given up")
}

// tattling are tokens of which each revocation is told before it is answered, as happens.
type tattling struct {
	pluginsdk.Tokens
	tell func()
}

func (t tattling) Revoke(ctx context.Context, request *pluginsdk.RevokeTokenRequest) (*pluginsdk.RevokeTokenResponse, error) {
	answer, err := t.Tokens.Revoke(ctx, request)
	t.tell()
	return answer, errors.Join(err, ctx.Err())
}

// Who is put out must not go on with what was begun before, such as to fetch all that there
// is; but how they have put themselves out they are told.
func TestWhatTakesLongEndsWithTheToken(t *testing.T) {
	s := demanding(t)
	ann, bearer := s.token("Ann", pluginsdk.ScopeAdmin)
	revoked := pluginsdk.Event{Type: pluginsdk.EventTokenRevoked, Boot: "b", Data: json.RawMessage(`{"id":"` + ann.ID + `"}`)}
	tools := slow{s.Plugin.host.Tools, make(chan struct{})}
	s.Plugin.host.Tools = tools
	s.Plugin.host.Tokens = tattling{s.Plugin.host.Tokens, func() { _ = broadcast(t, s.Plugin, revoked) }}
	if err := s.Deactivate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Activate(t.Context()); err != nil {
		t.Fatal(err)
	}
	called := make(chan int)
	go func() { called <- s.ask("POST", "/api/tools/x__y", `{"input":{}}`, "Authorization", bearer).status }()
	<-tools.begun
	s.expect("to revoke one's own token", s.ask("POST", "/api/tokens/"+ann.ID+"/revoke", "", "Authorization", bearer), 204)
	if status := <-called; status != 503 {
		t.Errorf("a call that was given up: %d", status)
	}
}

// When a token is demanded from now on, who has listened in without hears nothing more.
func TestADemandEndsTheSocketsOfWhoHasNoToken(t *testing.T) {
	s := openSite(t, `{"auth":"network"}`, times{})
	_, bearer := s.token("Ann", pluginsdk.ScopeRead)
	stranger, _ := s.listen()
	ann, _ := s.listen("Authorization", bearer)
	if _, err := s.OnSettingsChange(t.Context(), &pluginsdk.OnSettingsChangeRequest{Settings: json.RawMessage(`{"auth":"always"}`)}); err != nil {
		t.Fatal(err)
	}
	if code, text := closed(stranger); code != websocket.ClosePolicyViolation || !strings.Contains(text, "demanded") {
		t.Errorf("%d %s", code, text)
	}
	// When the core cannot say who is still good after a gap, nobody goes on unasked.
	s.host.Fail("Tokens.Check", pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the database is away"))
	if err := broadcast(t, s.Plugin, pluginsdk.Event{Type: pluginsdk.EventResync, Boot: "b", Seq: 1}); err != nil {
		t.Fatal(err)
	}
	if code, text := closed(ann); code != websocket.CloseTryAgainLater || !strings.Contains(text, "try again") {
		t.Errorf("%d %s", code, text)
	}
}
