package invoker

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// planned is a real agent with a login, and what it was told of its plan.
type planned struct {
	*realAgent
	mu   sync.Mutex
	told []pluginsdk.PlanWindow
}

func startPlanned(t *testing.T, overage bool) *planned {
	t.Helper()
	p := &planned{}
	p.realAgent = startReal(t, func(c *Config) {
		c.AllowedTools = []string{"Bash(true)"}
		c.Account = func(string) (Account, error) {
			return Account{Name: "home", Env: []string{"CLAUDE_CODE_OAUTH_TOKEN=sk-ant-oat01-test"}, Overage: overage}, nil
		}
		c.OnPlan = func(account string, windows []pluginsdk.PlanWindow) {
			p.mu.Lock()
			defer p.mu.Unlock()
			for _, w := range windows {
				if w.Account != account || account != "home" || w.SeenAt.IsZero() {
					t.Errorf("account %q: %+v", account, w)
				}
			}
			p.told = append(p.told, windows...)
		}
	})
	return p
}

// window returns what was last told of a window.
func (p *planned) window(name string) (last pluginsdk.PlanWindow) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range slices.Backward(p.told) {
		if w.Name == name {
			return w
		}
	}
	return last
}

// forget forgets what was told.
func (p *planned) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = nil
}

func fiveHours(used float64, status string, reset time.Time) *fakeapi.Windows {
	return &fakeapi.Windows{Status: status, Claim: "five_hour", Reset: reset, Each: []fakeapi.Window{
		{Name: "5h", Used: used, Status: status, Reset: reset}, {Name: "7d", Used: 0.41, Status: fakeapi.Allowed, Reset: reset.Add(48 * time.Hour)},
	}}
}

func TestRealPlan(t *testing.T) {
	p := startPlanned(t, false)
	c := &conversation{realAgent: p.realAgent}
	c.part(t, "what is left", func(t *testing.T) { p.whatIsLeft(t, c) })
	for name, prompt := range map[string]string{"at the start": "say:x", "in mid-turn": "usetool:Bash {\"command\":\"true\"}\nthen:x"} {
		c.part(t, "a window that is used up, "+name, func(t *testing.T) { p.usedUp(t, c, prompt) })
	}
	c.part(t, "a busy API", func(t *testing.T) { p.busyAPI(t, c) })
	c.part(t, "paid use that is not allowed", func(t *testing.T) { p.paidUse(t, c, false) })
}

// A window that is used up ends a turn with when it opens again: else the run is tried five
// times within a minute, and has failed when its owner wakes up.
func (p *planned) usedUp(t *testing.T, c *conversation, prompt string) {
	reset := time.Now().Add(90 * time.Minute).Truncate(time.Second).UTC()
	p.forget()
	p.api.Handle(func(r fakeapi.Request) fakeapi.Reply {
		reply := fakeapi.Directed(r)
		if strings.HasPrefix(prompt, "say:") || len(r.ToolResults()) > 0 {
			reply.Windows = fiveHours(1, fakeapi.Rejected, reset)
		} else {
			reply.Windows = fiveHours(0.99, fakeapi.Warning, reset)
		}
		return reply
	})
	failure := wantFailure(t, c.in(t.Context(), prompt, nil), pluginsdk.FailurePlan, true)
	want := pluginsdk.Parked{Account: "home", Window: "five_hour", Until: reset}
	if failure.Parked == nil || *failure.Parked != want || !strings.Contains(failure.Message, "limit") {
		t.Errorf("failure %+v, parked %+v, want %+v", failure, failure.Parked, want)
	}
	if w := p.window("five_hour"); w.Status != pluginsdk.PlanRejected || !w.ResetsAt.Equal(reset) || w.Used != 1 {
		t.Errorf("told %+v", w)
	}
	// It opens again: the session goes on.
	p.api.Handle(nil)
	c.says(t, "on")
}

// What a plan has left is told while all is allowed, and dollars on a plan are notional.
func (p *planned) whatIsLeft(t *testing.T, c *conversation) {
	p.api.SetWindows(fiveHours(0.76, fakeapi.Warning, time.Now().Add(time.Hour)))
	defer p.api.SetWindows(nil)
	result := c.says(t, "x")
	if !result.Notional || result.Account != "home" {
		t.Errorf("result %+v", result)
	}
	if w := p.window("five_hour"); w.Name == "" || w.Status == pluginsdk.PlanRejected {
		t.Errorf("told %+v", p.told)
	}
}

// Paid use beyond the plan happens only where it is allowed: nobody finds a bill for what
// they thought their plan covers.
func (p *planned) paidUse(t *testing.T, c *conversation, allowed bool) {
	windows := fiveHours(1, fakeapi.Rejected, time.Now().Add(time.Hour))
	windows.Overage = fakeapi.Allowed
	p.api.SetWindows(windows)
	defer p.api.SetWindows(nil)
	result := c.in(t.Context(), "usetool:Bash {\"command\":\"true\"}\nthen:x", nil)
	if allowed {
		wantText(t, result, "x")
		return
	}
	failure := wantFailure(t, result, pluginsdk.FailurePlan, true)
	if failure.Parked == nil || failure.Parked.Window != "five_hour" || !strings.Contains(failure.Message, "paid use") {
		t.Errorf("failure %+v, parked %+v", failure, failure.Parked)
	}
}

func TestRealPaidUseThatIsAllowed(t *testing.T) {
	p := startPlanned(t, true)
	p.paidUse(t, &conversation{realAgent: p.realAgent}, true)
}

// That the API is busy is no plan's matter: such a turn is tried again soon.
func (p *planned) busyAPI(t *testing.T, c *conversation) {
	failure := wantFailure(t, c.in(t.Context(), "apierror:429", nil), pluginsdk.FailureAPI, true)
	if failure.Parked != nil {
		t.Errorf("parked %+v", failure.Parked)
	}
}

// A session of a named account has nothing of what the daemon's environment authenticates
// with, and a login's files stay in its own home: work must not be paid from private money.
func TestRealAccountsAreApart(t *testing.T) {
	home := realDir(t)
	accounts := map[string]Account{
		"work":    {Name: "work", Env: []string{"ANTHROPIC_API_KEY=sk-work"}},
		"private": {Name: "private", Home: home, Env: []string{"CLAUDE_CODE_OAUTH_TOKEN=sk-ant-oat01-private"}},
	}
	a := startReal(t, func(c *Config) {
		c.Account = func(name string) (Account, error) { return accounts[name], nil }
	})
	// A thread that changes its account is not answered by the process of the other one; and from
	// one that has no home of its own it takes its session along.
	session := ""
	for _, one := range []struct{ account, want string }{{"private", "Bearer sk-ant-oat01-private"}, {"work", "sk-work"}, {"", "sk-test"}} {
		r := request("thread", session, "say:"+one.account+"!")
		r.Account = one.account
		result := a.Invoke(t.Context(), r, nil)
		wantText(t, result, one.account+"!")
		if one.account == "work" {
			session = result.SessionID
		}
		last := a.api.Requests(fakeapi.Main, fakeapi.Saying("say:"+one.account+"!"))[0].Header
		if key, bearer := last.Get("X-Api-Key"), last.Get("Authorization"); key+bearer != one.want {
			t.Errorf("account %q authenticates with %q and %q, want %q", one.account, key, bearer, one.want)
		}
	}
	if found, _ := os.ReadDir(filepath.Join(home, "projects")); len(found) == 0 {
		t.Error("the transcripts of the login are not in its own home")
	}
}
