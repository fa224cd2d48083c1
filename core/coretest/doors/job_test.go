package doors

import (
	"net/http"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/coretest/installation"
	"github.com/seed-706843ae/harness/core/coretest/programs"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A program elsewhere that was given a token for one scheduled job can have that job fire once a minute, with what
// it says as data, and nothing else, until the token ends. What is not its job it does not learn about.
func TestATokenOfOneScheduledJob(t *testing.T) {
	bin := t.TempDir()
	if err := programs.Installation(bin, "cron", "web"); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, bin: bin, tokens: map[pluginsdk.TokenScope]string{}}
	w.d = installation.Start(t, bin, installation.Options{})
	w.tokens[pluginsdk.ScopeAdmin] = w.d.Token(t, "Ann", "admin")
	for _, name := range []string{"its%2Fown", "other"} {
		plain := strings.ReplaceAll(name, "%2F", "/")
		w.admin(http.MethodPut, "/api/crons/"+name, object{
			"enabled": true, "spec": object{"name": plain, "schedule": "0 0 1 1 *", "timezone": "UTC", "prompt": "look", "missed": "skip"},
		}, nil)
	}
	hook := bearer(w.d.Token(t, "forge", string(pluginsdk.ScopeOfCron("its/own"))))
	const own = "/api/crons/its%2Fown/fire"
	tries := func(name string, answer Answer, code, words string) {
		t.Helper()
		if answer.Code != code || !strings.Contains(answer.Text, words) {
			t.Errorf("%s: %s %s; want %s with %q", name, answer.Code, answer.Text, code, words)
		}
	}
	tries("more than 64 KiB", w.ask(hook, http.MethodPost, own, `"`+strings.Repeat("x", 64<<10-1)+`"`), "413", "64 KiB")
	tries("its job", w.ask(hook, http.MethodPost, own, `{"action": "opened", "number": 7}`), "202", `"data":"{\"action\": \"opened\", \"number\": 7}"`)
	tries("again", w.ask(hook, http.MethodPost, own, `{"data": "x"}`), "429", "less than a minute ago")
	tries("again, without data", w.ask(hook, http.MethodPost, own, ""), "429", "less than a minute ago")
	for _, other := range []string{"/api/crons/other/fire", "/api/crons/its/fire", "/api/crons/nobody's/fire"} {
		tries(other, w.ask(hook, http.MethodPost, other, `{}`), "403", `may have the scheduled job \"its/own\" fire, and nothing else`)
	}
	for _, path := range []string{"/api/crons", "/api/crons/its%2Fown", "/api/crons/its%2Fown/fires", "/api/me", "/api/openapi.json", "/ws", "/metrics", "/", "/crons"} {
		tries(path, w.ask(hook, http.MethodGet, path, ""), "403", "may have the scheduled job")
	}
	login := w.ask(map[string]string{"Content-Type": "application/x-www-form-urlencoded", "Origin": w.d.URL}, http.MethodPost, "/login",
		"token="+strings.TrimPrefix(hook["Authorization"], "Bearer "))
	tries("log in", login, "401", "")
	if list := w.d.MustRun(t, "token", "list"); !strings.Contains(list, "cron:its/own") {
		t.Errorf("the list of tokens: %s", list)
	}

	w.admin(http.MethodPatch, "/api/crons/its%2Fown", object{"enabled": false}, nil)
	tries("its job is off", w.ask(hook, http.MethodPost, own, `{}`), "409", "is off")
	w.admin(http.MethodDelete, "/api/crons/its%2Fown", "", nil)
	tries("its job is gone", w.ask(hook, http.MethodPost, own, `{}`), "404", "its/own")
	w.d.MustRun(t, "plugin", "disable", "cron")
	tries("nobody fires", w.ask(bearer(w.tokens[pluginsdk.ScopeAdmin]), http.MethodPost, "/api/crons/other/fire", `{}`), "409", "harness plugin enable cron")
	w.d.MustRun(t, "token", "revoke", "forge")
	w.eventually("the end of the token", func() bool { return w.ask(hook, http.MethodPost, own, `{}`).Code == "401" })
}
