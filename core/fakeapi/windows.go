package fakeapi

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Windows are the limits of a plan as an answer's headers tell of them. The CLI reads them
// only when it has a login (CLAUDE_CODE_OAUTH_TOKEN), not when it has an API key.
type Windows struct {
	Status  string    // of the plan as a whole: allowed (the default), allowed_warning or rejected
	Claim   string    // the window that decides: five_hour, seven_day, seven_day_opus ...; default that of the first Window
	Reset   time.Time // when that window opens again; default that of the first Window; zero there too: not told
	Overage string    // whether paid use beyond the plan is possible: allowed or rejected (the default)
	Each    []Window
}

// Window is one of the plan's limits.
type Window struct {
	Name   string  // as in the headers: 5h, 7d, 7d_oi, overage
	Used   float64 // 0 to 1
	Status string  // default that of the plan
	Reset  time.Time
}

// What a window, or a plan as a whole, says of a call.
const (
	Allowed  = "allowed"
	Warning  = "allowed_warning"
	Rejected = "rejected"
)

// claims are the CLI's names for the windows in the headers.
var claims = map[string]string{"5h": "five_hour", "7d": "seven_day", "7d_oi": "seven_day_overage_included"}

// SetWindows has all answers from now on carry the headers of these windows; nil: none.
// With a model the windows are those of its calls alone, and win over those of all. A call
// is refused (429) while the status is rejected, unless Overage is allowed.
func (s *Server) SetWindows(windows *Windows, model ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(model) == 0 {
		model = []string{""}
	}
	for _, name := range model {
		if windows == nil {
			delete(s.windows, name)
		} else {
			s.windows[name] = *windows
		}
	}
}

// windowsOf returns the windows of a call: those of its reply, else of its model, else of
// all calls; nil: none.
func (s *Server) windowsOf(reply Reply, model string) *Windows {
	if reply.Windows != nil {
		return reply.Windows
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range []string{model, ""} {
		if windows, ok := s.windows[name]; ok {
			return &windows
		}
	}
	return nil
}

// refused reports whether the plan allows no call.
func (w *Windows) refused() bool {
	return w != nil && w.Status == Rejected && w.Overage != Allowed
}

// write sets the headers.
func (w *Windows) write(header http.Header) {
	if w == nil {
		return
	}
	set := func(name, value string) {
		if value != "" {
			header.Set("anthropic-ratelimit-unified-"+name, value)
		}
	}
	claim, reset := w.Claim, w.Reset
	if len(w.Each) > 0 {
		if claim == "" {
			claim = claims[w.Each[0].Name]
		}
		if reset.IsZero() {
			reset = w.Each[0].Reset
		}
	}
	set("status", or(w.Status, Allowed))
	set("representative-claim", claim)
	set("reset", unix(reset))
	set("overage-status", or(w.Overage, Rejected))
	if w.Status == Rejected && w.Overage == Allowed {
		set("overage-in-use", "true")
	}
	for _, one := range w.Each {
		set(one.Name+"-status", or(one.Status, or(w.Status, Allowed)))
		set(one.Name+"-utilization", strconv.FormatFloat(one.Used, 'f', -1, 64))
		set(one.Name+"-reset", unix(one.Reset))
	}
}

func unix(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return strconv.FormatInt(at.Unix(), 10)
}

func or(value, otherwise string) string {
	if value != "" {
		return value
	}
	return otherwise
}

// window reads what follows "window:": NAME USED [STATUS [SECONDS]].
func (w *Windows) window(text string) {
	fields := append(strings.Fields(text), "", "", "", "")
	one := Window{Name: fields[0], Status: fields[2]}
	one.Used, _ = strconv.ParseFloat(fields[1], 64)
	if seconds, err := strconv.ParseInt(fields[3], 10, 64); err == nil {
		one.Reset = time.Now().Add(time.Duration(seconds) * time.Second)
	}
	rank := map[string]int{Warning: 1, Rejected: 2}
	if rank[one.Status] > rank[w.Status] || len(w.Each) == 0 { // the strictest decides
		w.Status, w.Claim, w.Reset = one.Status, or(claims[one.Name], one.Name), one.Reset
	}
	w.Each = append(w.Each, one)
}
