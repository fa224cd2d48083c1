package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// An operator makes a token, sees it, and takes it back; with the daemon down.
func TestTokensOfTheCommandLine(t *testing.T) {
	withPlugins(t)
	harness(t, "", "token", "list").want(t, 0, "There are no tokens", "")
	made := harness(t, "", "token", "create", "Ann", "--scope", "chat", "--expires", "30d")
	made.want(t, 0, "Ann may chat, until ", "")
	if !strings.Contains(made.out, "harness_access_") {
		t.Fatalf("no secret: %s", made.out)
	}
	var second struct {
		pluginsdk.Token
		Secret string
	}
	if err := json.Unmarshal([]byte(harness(t, "", "token", "create", "Ann", "--scope", "read", "--json").out), &second); err != nil ||
		!strings.HasPrefix(second.Secret, "harness_access_") || second.ID == "" || second.Scope != "read" {
		t.Fatalf("%+v %v", second, err)
	}
	listed := harness(t, "", "token", "list")
	if listed.code != 0 || strings.Count(listed.out, "Ann") != 2 || strings.Contains(listed.out, second.Secret) || !strings.Contains(listed.out, second.ID) {
		t.Errorf("list: %+v", listed)
	}
	harness(t, "", "token", "revoke", "Ann").want(t, 1, "", "2 tokens are named")
	harness(t, "", "token", "revoke", second.ID).want(t, 0, "Revoked: Ann (access, read)", "")
	harness(t, "", "token", "revoke", "Ann").want(t, 0, "Revoked: Ann (access, chat)", "")
	harness(t, "", "token", "revoke", "Ann").want(t, 1, "", "no good token")
	login := harness(t, "", "token", "login", "Bob", "--scope", "approve", "--port", "4321")
	login.want(t, 0, "http://127.0.0.1:4321/login?token=harness_login_", "")
	for _, c := range []struct{ args, want string }{
		{"create Ann", "scope"},
		{"create Ann --scope root", "read, chat, approve, work or admin"},
		{"login Ann --scope cron:x", "nobody logs in"},
		{"create Ann --scope read --expires soon", "--expires"},
		{"create Ann --scope read --expires -1d", "--expires"},
	} {
		if got := harness(t, "", append([]string{"token"}, strings.Fields(c.args)...)...); got.code == 0 || !strings.Contains(got.err, c.want) {
			t.Errorf("%s: %+v", c.args, got)
		}
	}
	log := harness(t, "", "audit").out
	if strings.Count(log, "token.create") != 3 || strings.Count(log, "token.revoke") != 2 || strings.Contains(log, "harness_") {
		t.Errorf("audit log:\n%s", log)
	}
}
