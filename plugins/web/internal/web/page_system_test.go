package web

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// ended looks at a page until what it shows is not under way any more.
func (b *browser) ended(page, path string) string {
	b.Helper()
	for strings.Contains(page, `hx-trigger="every 2s"`) {
		page = b.visit(path).body
	}
	return page
}

func TestThePagesOfTheSystemShowWhatThereIs(t *testing.T) {
	s := demanding(t)
	s.host.SetChecks(pluginsdk.Check{Name: "disk", State: pluginsdk.CheckOK, Detail: "enough"},
		pluginsdk.Check{Name: "keys", State: pluginsdk.CheckFailing, Detail: hostile, Remedy: "Make a key."})
	s.host.AddDelivery(pluginsdk.Delivery{ID: "D", Plugin: "slack", Place: hostile, State: pluginsdk.DeliveryDead, LastError: "no such channel", Attempt: 5})
	s.host.Ask(pluginsdk.Approval{ThreadID: "T", Kind: pluginsdk.ApprovalTool, Title: hostile, Choices: []pluginsdk.ApprovalChoice{{ID: "allow", Label: "Allow"}}})
	for n := range 60 {
		s.host.AddAudit(pluginsdk.AuditEntry{Who: "ann", Action: "plugin.enable", Target: "p" + strconv.Itoa(n), Detail: hostile, At: time.Now()})
	}
	s.host.AddAudit(pluginsdk.AuditEntry{Who: "ben", Action: "token.create", At: time.Now()})
	ann := s.logIn("Ann", pluginsdk.ScopeAdmin)
	s.expect("health before", ann.visit("/system"), 200, "Look at everything", "goes on")
	page := ann.ended(ann.leads("examine", ann.post("/system/examine"), "/system"), "/system")
	if !strings.Contains(page, "1 of 2 checks are failing") || !strings.Contains(page, "What to do: Make a key.") || strings.Index(page, "keys") > strings.Index(page, "disk") {
		t.Errorf("health: %s", page)
	}
	for path, words := range map[string][]string{
		"/system/deliveries":                     {"no such channel", "tried 5 times", "Try again"},
		"/system/approvals":                      {`href="/chat/T"`, "There is no rule"},
		"/system/audit":                          {"token.create", "p59", `rel="next"`},
		"/system/audit?who=ben&since=2000-01-01": {"token.create", `value="ben"`, `value="2000-01-01"`},
		"/system/tokens":                         {"Ann", "this one is you", "Make the token"},
		"/system/backups":                        {"There is no backup", "Make a backup"},
		"/system/about":                          {"/api/docs", "/metrics", "Ann"},
		"/system/deliveries?state=pending":       {"Nothing is like that"},
	} {
		shown := s.expect(path, ann.visit(path), 200, words...)
		if strings.Contains(shown.body, hostile) {
			t.Errorf("%s: a stranger's words are the page's", path)
		}
	}
	s.expect("tomorrow", ann.visit("/system/audit?since="+time.Now().AddDate(0, 0, 2).Format(time.DateOnly)), 200, "Nothing is like that")
	if ben := ann.visit("/system/audit?who=ben").body; strings.Contains(ben, "plugin.enable</code>") {
		t.Error("the filter is not held")
	}
	next := regexp.MustCompile(`href="(/system/audit[^"]*before=[^"]*)" rel="next"`).FindStringSubmatch(ann.visit("/system/audit").body)
	if next == nil {
		t.Fatal("there is no page after the first")
	}
	s.expect("older", ann.visit(next[1]), 200, "p0", `rel="prev"`)

	ann.leads("retry", ann.post("/system/deliveries/retry", "id", "D", "back", "/system/deliveries"), "/system/deliveries")
	if state := s.host.Deliveries()[0].State; state != pluginsdk.DeliveryPending {
		t.Errorf("the delivery is %s", state)
	}
	if page := ann.leads("pause", ann.post("/system/pause", "paused", "true"), "/system"); !strings.Contains(page, "held back") || !strings.Contains(page, "Let it go on") {
		t.Errorf("paused: %s", page)
	}
}

// A token for one schedule is made with the schedule's name, which stands in the list; without a name none is made.
func TestATokenOfOneScheduleIsMade(t *testing.T) {
	s := demanding(t)
	ann := s.logIn("Ann", pluginsdk.ScopeAdmin)
	made := ann.post("/system/tokens", "name", "forge", "scope", "cron", "job", "Look at it", "kind", "access", "life", "24h")
	s.expect("made", made, 200, "harness_access_", "POST /api/crons/Look%20at%20it/fire", "cron:Look at it")
	s.expect("the list", ann.visit("/system/tokens"), 200, "cron:Look at it")
	s.expect("of no schedule", ann.post("/system/tokens", "name", "nobody", "scope", "cron", "kind", "access", "life", "24h"), 422, "cron:NAME")
}

// A secret is told once, and is in no address, no cookie and no list.
func TestATokenIsMadeShownOnceAndRevoked(t *testing.T) {
	s := demanding(t)
	ann := s.logIn("Ann", pluginsdk.ScopeAdmin)
	made := s.expect("make", ann.post("/system/tokens", "name", "Robot <1>", "scope", "chat", "kind", "access", "life", "24h"), 200, "Robot &lt;1&gt;", "shown this once")
	secret := regexp.MustCompile(`<code id="secret">([^<]+)</code>`).FindStringSubmatch(made.body)
	if secret == nil {
		t.Fatalf("no secret: %s", made.body)
	}
	if strings.Contains(strings.Join(made.header.Values("Set-Cookie"), ""), secret[1]) {
		t.Error("the secret is in a cookie")
	}
	if me := s.ask("GET", "/api/me", "", "Authorization", "Bearer "+secret[1]); !strings.Contains(me.body, `"scope":"chat"`) || !strings.Contains(me.body, `"until"`) {
		t.Errorf("who has it is %s", me.body)
	}
	list := s.expect("list", ann.visit("/system/tokens"), 200, "Robot &lt;1&gt;")
	if strings.Contains(list.body, secret[1]) {
		t.Error("the secret is told again")
	}
	s.expect("no name", ann.post("/system/tokens", "name", " ", "scope", "chat", "kind", "access"), 422, "field-wrong")
	id := regexp.MustCompile(`name="id" value="([^"]+)"`).FindAllStringSubmatch(list.body, -1)
	ann.leads("revoke", ann.post("/system/tokens/revoke", "id", id[len(id)-1][1]), "/system/tokens")
	s.expect("who has it now", s.ask("GET", "/api/me", "", "Authorization", "Bearer "+secret[1]), 401)
}

func TestABackupIsMadeFetchedAndDeleted(t *testing.T) {
	s := demanding(t)
	ann := s.logIn("Ann", pluginsdk.ScopeAdmin)
	page := ann.ended(ann.leads("make", ann.post("/system/backups"), "/system/backups"), "/system/backups")
	found := regexp.MustCompile(`href="(/api/backups/([^"]+))"`).FindStringSubmatch(page)
	if found == nil || !strings.Contains(page, "SHA-256") || strings.Contains(page, "every 2s") {
		t.Fatalf("made: %s", page)
	}
	s.expect("fetch", ann.visit(found[1]), 200)
	ann.leads("delete", ann.post("/system/backups/delete", "name", found[2]), "/system/backups")
	s.expect("none", ann.visit("/system/backups"), 200, "There is no backup")
	s.host.Fail("Installation.Backup", pluginsdk.Errorf(pluginsdk.CodeUnavailable, "another one is being made"))
	if page := ann.ended(ann.leads("make", ann.post("/system/backups"), "/system/backups"), "/system/backups"); !strings.Contains(page, "The last backup was not made") {
		t.Errorf("a backup that failed: %s", page)
	}
}

func TestTheSystemOffersEachOnlyWhatTheyMay(t *testing.T) {
	s := demanding(t)
	s.host.AddDelivery(pluginsdk.Delivery{ID: "D", Plugin: "slack", Place: "C", State: pluginsdk.DeliveryDead})
	ben := s.logIn("Ben", pluginsdk.ScopeRead)
	for _, path := range []string{"/system/deliveries", "/system/approvals", "/system/audit", "/system/about"} {
		page := s.expect(path, ben.visit(path), 200)
		if main := page.body[strings.Index(page.body, "<main"):]; strings.Contains(main, `method="post"`) || strings.Contains(main, "Backups") {
			t.Errorf("%s offers what is refused", path)
		}
	}
	if page := ben.visit("/system").body; strings.Contains(page, "Hold it back") || !strings.Contains(page, "Look at everything") {
		t.Errorf("health: %s", page)
	}
	for _, path := range []string{"/system/tokens", "/system/backups"} {
		s.expect(path, ben.visit(path), http.StatusForbidden)
	}
	for _, path := range []string{"/system/pause", "/system/tokens", "/system/backups", "/system/approvals/revoke", "/system/deliveries/retry"} {
		s.expect(path, ben.post(path), http.StatusForbidden)
	}
}
