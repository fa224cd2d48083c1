package invoker

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// The windows of a plan. A CLI with a login tells of them when they change, with the answers
// of the API. Verified with 2.1.197, which tells of one window and not how much of it is used,
// and with 2.1.330, which tells of all. Both write the same line, without a window, when the
// API limits requests for another reason: that passes soon, and is no plan's.

// rateLimitLine tells of the windows of the login's plan.
type rateLimitLine struct {
	Info struct {
		Status       string                  `json:"status"` // allowed, allowed_warning or rejected
		ResetsAt     float64                 `json:"resetsAt"`
		Type         string                  `json:"rateLimitType"` // the window that decides; empty: none
		Utilization  *float64                `json:"utilization"`   // of that window, from 0 to 1
		UsingOverage bool                    `json:"isUsingOverage"`
		OverageInUse bool                    `json:"overageInUse"`
		Windows      map[string]windowOfLine `json:"unifiedWindows"`
	} `json:"rate_limit_info"`
}

// windowOfLine is one window of a rateLimitLine.
type windowOfLine struct {
	Utilization float64 `json:"utilization"`
	ResetsAt    float64 `json:"resetsAt"` // seconds since 1970; 0: not told
	Status      string  `json:"status"`
}

// windows returns the windows that the line tells of, sorted by name, and the one that decides
// about a turn of the model; nil: the line is about no plan. The one that decides has no name, and
// is not among the windows, when the line does not tell which of them is used up.
func (l rateLimitLine) windows(model string) (windows []pluginsdk.PlanWindow, decides *pluginsdk.PlanWindow) {
	for name, w := range l.Info.Windows {
		if name, family, ok := planWindow(name); ok {
			windows = append(windows, pluginsdk.PlanWindow{
				Name: name, Model: family, Used: w.Utilization, Status: planStatus(w.Status), ResetsAt: instant(w.ResetsAt),
			})
		}
	}
	if w, ok := l.decisive(windows, model); ok {
		decides = &w
		if w.Name != "" {
			windows = append(slices.DeleteFunc(windows, func(other pluginsdk.PlanWindow) bool { return other.Name == w.Name }), w)
		}
	}
	slices.SortFunc(windows, func(a, b pluginsdk.PlanWindow) int { return cmp.Compare(a.Name, b.Name) })
	return windows, decides
}

// decisive returns the window that decides about a turn of the model. A window whose name is not
// known is taken for one of that model's use. About what is paid for beyond the plan, the window
// that is used up decides.
func (l rateLimitLine) decisive(windows []pluginsdk.PlanWindow, model string) (w pluginsdk.PlanWindow, ok bool) {
	info := l.Info
	paid := info.UsingOverage || info.OverageInUse
	name, family, known := planWindow(info.Type)
	is := func(other pluginsdk.PlanWindow) bool { return other.Name == name }
	switch {
	case info.Type == overageType || info.Type == "" && paid:
		name, family = "", ""
		is = func(other pluginsdk.PlanWindow) bool { return other.Status == pluginsdk.PlanRejected }
	case info.Type == "" || !known && model == "":
		return w, false
	case !known:
		family = model
	}
	w = pluginsdk.PlanWindow{Name: name, Model: family, ResetsAt: instant(info.ResetsAt)}
	if at := slices.IndexFunc(windows, is); at >= 0 {
		w = windows[at]
	}
	if info.Utilization != nil && name != "" {
		w.Used = max(w.Used, *info.Utilization)
	}
	if status := planStatus(info.Status); w.Status == "" || rank(status) > rank(w.Status) {
		w.Status = status
	}
	if w.Status == pluginsdk.PlanRejected {
		w.Used = max(w.Used, 1)
	}
	w.Overage = paid
	return w, true
}

// overageType is the type of a line about what is paid for beyond the plan, which is no window.
const overageType = "overage"

// planStatus returns the status of a window in the words of the contract.
func planStatus(said string) pluginsdk.PlanStatus {
	switch said {
	case "allowed_warning":
		return pluginsdk.PlanWarning
	case "rejected":
		return pluginsdk.PlanRejected
	}
	return pluginsdk.PlanAllowed
}

func rank(status pluginsdk.PlanStatus) int {
	return slices.Index([]pluginsdk.PlanStatus{pluginsdk.PlanAllowed, pluginsdk.PlanWarning, pluginsdk.PlanRejected}, status)
}

// planWindow returns a window of a plan by the CLI's name for it: its name here, and the family
// of models whose use it limits; empty: all models. ok is false for anything else, such as the
// limit of what is paid for beyond the plan (extra_usage), or of other programs
// (seven_day_oauth_apps): those limit no turn.
func planWindow(name string) (window, family string, ok bool) {
	switch name {
	case "five_hour", weekly:
		return name, "", true
	case "seven_day_overage_included": // "Fable limit" in the CLI's words
		name = weekly + "_fable"
	}
	family, ok = strings.CutPrefix(name, weekly+"_")
	return name, family, ok && slices.Contains([]string{"opus", "sonnet", "haiku", "fable", "mythos"}, family)
}

// weekly is the CLI's name for the window of a week. Behind it may stand a family of models.
const weekly = "seven_day"

// instant returns the time that a number of seconds since 1970 names; the zero time for none.
func instant(seconds float64) time.Time {
	if !(seconds > 0) || seconds > math.MaxInt32*64 {
		return time.Time{}
	}
	return time.Unix(int64(seconds), 0).UTC()
}

// limits handles a line about the windows of the plan.
func (t *turn) limits(line []byte) {
	var told rateLimitLine
	if !t.decode(line, &told) {
		return
	}
	windows, decides := told.windows(t.model)
	if len(windows) > 0 {
		t.session.tellPlan(windows)
		t.notional = true
	}
	switch {
	case decides == nil:
	case decides.Overage:
		t.billed = true
		if !t.session.account.Overage {
			t.usedUp, t.unpaid = decides, true
		}
	case decides.Status == pluginsdk.PlanRejected:
		t.usedUp = decides
	}
}

// planFailure is the failure of a turn that a window of the plan does not let through.
func (t *turn) planFailure(words string) *pluginsdk.Failure {
	w := t.usedUp
	if t.unpaid {
		words = "The plan's " + pluginsdk.WindowName(w.Name, w.Model) + " is used up, and paid use beyond the plan is not allowed for this account."
	}
	return &pluginsdk.Failure{
		Kind: pluginsdk.FailurePlan, Message: words, APIStatus: 429, Retryable: true,
		Parked: &pluginsdk.Parked{Account: t.session.account.Name, Window: w.Name, Model: w.Model, Until: w.ResetsAt},
	}
}

// tellPlan hands over what was seen of the plan, and has the CLI asked for all of it when the
// turn is over.
func (s *session) tellPlan(windows []pluginsdk.PlanWindow) {
	now := time.Now()
	for i := range windows {
		windows[i].Account, windows[i].SeenAt = s.account.Name, now
	}
	s.plan.mark(s.account.Name)
	if s.onPlan != nil {
		s.onPlan(s.account.Name, windows)
	}
}

// usageEvery is how often the CLI is asked for the windows of an account's plan; it asks the
// API for them.
const usageEvery = 5 * time.Minute

// plans notes which accounts have a plan, and when the CLI was asked for its windows.
type plans struct {
	mu    sync.Mutex
	asked map[string]time.Time // by account
}

// mark notes that an account has a plan.
func (p *plans) mark(account string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked == nil {
		p.asked = make(map[string]time.Time)
	}
	if _, ok := p.asked[account]; !ok {
		p.asked[account] = time.Time{}
	}
}

// has reports whether an account has a plan, as far as was seen.
func (p *plans) has(account string) bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.asked[account]
	return ok
}

// due reports whether the CLI is to be asked now, and notes that it is.
func (p *plans) due(account string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, ok := p.asked[account]
	if !ok || now.Sub(last) < usageEvery {
		return false
	}
	p.asked[account] = now
	return true
}

// askUsage asks the CLI for the windows of the plan. The answer comes between turns, or in
// the next one. An account without a plan is not asked for.
func (s *session) askUsage(now time.Time) {
	if !s.plan.due(s.account.Name, now) {
		return
	}
	id := uuid.NewString()
	s.mu.Lock()
	s.usageID = id
	s.mu.Unlock()
	s.process.send(encode(outRequest{Type: "control_request", RequestID: id, Request: outSubtype{Subtype: "get_usage"}}))
}

// usageResponse is the CLI's answer to get_usage.
type usageResponse struct {
	Response struct {
		RequestID string `json:"request_id"`
		Response  struct {
			Limits map[string]json.RawMessage `json:"rate_limits"` // by window; some are of other shapes
		} `json:"response"`
	} `json:"response"`
}

// usageWindow is a window of a usageResponse.
type usageWindow struct {
	Name     string     `json:"display_name"` // of a window of one family of models, in the list of those: "Fable"
	Percent  *float64   `json:"utilization"`  // from 0 to 100
	ResetsAt *time.Time `json:"resets_at"`
}

// tookUsage takes the answer to get_usage, and reports whether the line was that.
func (s *session) tookUsage(line []byte) bool {
	s.mu.Lock()
	id := s.usageID
	s.mu.Unlock()
	var answer usageResponse
	if id == "" || json.Unmarshal(line, &answer) != nil || answer.Response.RequestID != id {
		return false
	}
	if windows := answer.windows(); len(windows) > 0 {
		s.tellPlan(windows)
	}
	return true
}

func (r usageResponse) windows() []pluginsdk.PlanWindow {
	told := make(map[string]usageWindow)
	for name, raw := range r.Response.Response.Limits {
		var w usageWindow
		if json.Unmarshal(raw, &w) == nil {
			told[name] = w
		}
	}
	var byModel []usageWindow
	_ = json.Unmarshal(r.Response.Response.Limits["model_scoped"], &byModel) // missing, or of another shape: none
	for _, w := range byModel {
		told[weekly+"_"+strings.ToLower(w.Name)] = w
	}
	var windows []pluginsdk.PlanWindow
	for name, w := range told {
		name, family, ok := planWindow(name)
		if !ok || w.Percent == nil {
			continue
		}
		window := pluginsdk.PlanWindow{Name: name, Model: family, Used: *w.Percent / 100, Status: pluginsdk.PlanAllowed}
		if w.ResetsAt != nil {
			window.ResetsAt = w.ResetsAt.UTC()
		}
		if window.Used >= 1 {
			window.Status = pluginsdk.PlanRejected
		}
		windows = append(windows, window)
	}
	slices.SortFunc(windows, func(a, b pluginsdk.PlanWindow) int { return cmp.Compare(a.Name, b.Name) })
	return windows
}
