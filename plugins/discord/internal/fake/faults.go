package fake

import (
	"net/http"
	"strings"
	"time"
)

// The kinds of fault.
const (
	FaultStatus = "status" // answered with Status, nothing is done
	FaultLimit  = "limit"  // answered with 429 of the Scope
	FaultCut    = "cut"    // the connection ends, nothing is done
	FaultLost   = "lost"   // it is done, and then the connection ends
	FaultSlow   = "slow"   // it is done, and answered after the Delay
)

// Fault is something that goes wrong with requests.
type Fault struct {
	// Route is a method and a path, of which "*" is any one step and a last "**" all that
	// follow: "POST /channels/*/messages". Empty is every request.
	Route      string        `json:"route"`
	Kind       string        `json:"kind"`
	Status     int           `json:"status"`      // of status
	Scope      string        `json:"scope"`       // of limit: user (default), shared or global
	RetryAfter time.Duration `json:"retry_after"` // of limit, and of status if wanted
	Delay      time.Duration `json:"delay"`       // before anything is done; of slow, before the answer
	Times      int           `json:"times"`       // how often; 0 is always
	Chance     float64       `json:"chance"`      // from 0 to 1; 0 is certain
	After      int           `json:"after"`       // how many requests pass before
}

type fault struct {
	Fault
	done int
}

// Break makes a fault happen from now on.
func (s *Server) Break(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.Route != "" && !strings.Contains(f.Route, " ") {
		misuse("the route %q is not a method and a path", f.Route)
	}
	switch f.Kind {
	case FaultCut, FaultLost, FaultSlow:
	case FaultLimit:
		if f.RetryAfter <= 0 {
			misuse("a fault of the kind limit needs retry_after")
		}
	case FaultStatus:
		if f.Status < 400 {
			misuse("a fault of the kind status needs a status of 400 or more")
		}
	default:
		misuse("there is no kind of fault %q: status, limit, cut, lost or slow", f.Kind)
	}
	s.faults = append(s.faults, &fault{Fault: f})
}

// Mend ends all faults, those of requests and those of events.
func (s *Server) Mend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults, s.eventFaults, s.refuse = nil, nil, refusing{}
	s.globalUntil = time.Time{}
}

// faultFor is what goes wrong with a request, and counts it. The lock is held.
func (s *Server) faultFor(method, path string) *Fault {
	for _, f := range s.faults {
		if f.Times > 0 && f.done == f.Times || !matches(f.Route, method, path) {
			continue
		}
		if f.After > 0 {
			f.After--
			continue
		}
		if f.Chance > 0 && s.random.Float64() >= f.Chance {
			continue
		}
		f.done++
		return &f.Fault
	}
	return nil
}

func matches(pattern, method, path string) bool {
	if pattern == "" {
		return true
	}
	wanted, steps, _ := strings.Cut(pattern, " ")
	if wanted != "*" && wanted != method {
		return false
	}
	have := strings.Split(path, "/")
	for i, step := range strings.Split(steps, "/") {
		if step == "**" {
			return true
		}
		if i >= len(have) || step != "*" && step != have[i] {
			return false
		}
		if i == strings.Count(steps, "/") {
			return len(have) == i+1
		}
	}
	return false
}

// loseAnswer remembers an interaction whose first answer the bot does not know to have
// arrived, so that a second one is no breach.
func (s *Server) loseAnswer(r *http.Request) {
	if i := s.interactions[r.PathValue("interaction")]; i != nil {
		i.lost = true
	}
}
