package web

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/seed-706843ae/harness/plugins/web/internal/access"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch/proc"
)

// standings say of everybody where they stand, and count how often they were asked.
type standings struct {
	now   atomic.Int64
	asked atomic.Int64
}

func (s *standings) Peer(netip.AddrPort, netip.AddrPort) proc.Standing {
	s.asked.Add(1)
	return proc.Standing(s.now.Load())
}

func watched(t *testing.T, settings string, standing proc.Standing) (*instance, *standings) {
	t.Helper()
	peers := new(standings)
	peers.now.Store(int64(standing))
	return openSiteWith(t, settings, &Plugin{standings: peers}), peers
}

var _ access.Peers = (*standings)(nil)

// What the agent, a check or a plugin starts has no person's right, whatever token it shows.
func TestBelowTheDaemonNobodyHasAPersonsRight(t *testing.T) {
	for _, standing := range []proc.Standing{proc.Below, proc.Unseen} {
		for _, auth := range []string{`{"auth":"network"}`, `{"auth":"always"}`} {
			s, _ := watched(t, auth, standing)
			words := map[proc.Standing]string{proc.Below: "a check or a plugin has started", proc.Unseen: "no process is seen"}[standing]
			_, admin := s.token("Eve", pluginsdk.ScopeAdmin)
			senders := map[string][]string{"an admin token": {"Authorization", admin}}
			if auth == `{"auth":"network"}` {
				senders["no token"] = nil
			} else {
				s.expect("without a token, where one is demanded", s.ask("GET", "/api/me", ""), 401)
			}
			for sender, header := range senders {
				for _, route := range []struct{ method, path, body string }{
					{"POST", "/api/tasks/1a2b/decide", `{"accept":true}`},
					{"POST", "/api/chat", `{"content":"hi"}`},
					{"POST", "/api/chat", `{"content":"/tasks approve 1a2b"}`},
					{"POST", "/api/tokens", `{"name":"x","scope":"admin"}`},
					{"POST", "/api/approvals/1/decide", `{"allow":true}`},
					{"PUT", "/api/plugins/web/settings", `{}`},
					{"GET", "/api/me", ""}, {"GET", "/api/threads", ""}, {"GET", "/metrics", ""}, {"GET", "/", ""}, {"GET", "/ws", ""}, {"GET", "/api/openapi.json", ""},
				} {
					got := s.ask(route.method, route.path, route.body, header...)
					if got.status != 403 && got.status != 404 && got.status != 405 || got.status == 403 && !strings.Contains(got.body, words) {
						t.Errorf("%s %s with %s: %d %s", route.method, route.path, sender, got.status, got.body)
					}
				}
				health := s.expect("health", s.ask("GET", "/api/health", "", header...), 200)
				if strings.TrimSpace(health.body) != `{"status":"ok"}` {
					t.Errorf("health tells %s", health.body)
				}
			}
			if n := len(s.host.Submissions()); n != 0 {
				t.Errorf("%d messages got through", n)
			}
			_, secret := s.host.MakeToken(pluginsdk.CreateTokenRequest{Name: "Eve", Scope: pluginsdk.ScopeAdmin, Kind: pluginsdk.TokenLogin})
			s.expect("logging in", s.browser().submit("/login", "", url.Values{"token": {secret}}), 403, words)
			_, response, err := websocket.DefaultDialer.Dial("ws://"+s.Addr().String()+"/ws", http.Header{"Authorization": {admin}})
			if err == nil || response == nil || response.StatusCode != 403 {
				t.Errorf("the event socket: %v, %v", response, err)
			}
			if response != nil {
				_ = response.Body.Close()
			}
		}
	}
}

// A person beside the daemon, and one elsewhere, go on; who reads is asked for once on a
// connection, who acts each time.
func TestBesideTheDaemonAPersonGoesOn(t *testing.T) {
	s, peers := watched(t, `{"auth":"network"}`, proc.Beside)
	for range 3 {
		s.expect("reading", s.ask("GET", "/api/me", ""), 200)
	}
	if n := peers.asked.Load(); n != 1 {
		t.Errorf("it was found out %d times for one connection", n)
	}
	s.expect("acting", s.ask("POST", "/api/chat", `{"content":"hi"}`), 202)
	peers.now.Store(int64(proc.Below)) // the connection was handed on
	s.expect("acting", s.ask("POST", "/api/chat", `{"content":"hi"}`), 403)
	s.expect("reading", s.ask("GET", "/api/me", ""), 403)
	away, _ := watched(t, `{"auth":"always"}`, proc.Away)
	_, token := away.token("Ann", pluginsdk.ScopeRead)
	away.expect("elsewhere", away.ask("GET", "/api/me", "", "Authorization", token), 200)
	change := pluginsdk.OnSettingsChangeRequest{Settings: json.RawMessage(`{"auth":"network"}`)}
	if _, err := away.OnSettingsChange(t.Context(), &change); err != nil {
		t.Fatal(err)
	}
	away.expect("elsewhere", away.ask("GET", "/api/me", ""), 200)
}
