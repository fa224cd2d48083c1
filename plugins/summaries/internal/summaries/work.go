package summaries

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// workKey is where the plugin keeps what it knows of threads and money.
const workKey = "work"

// work is what the plugin knows from one window to the next, in one entry of its state: what belongs together changes
// together.
type work struct {
	Existing bool      // the installation had conversations before the plugin came
	Off      bool      // summaries were off when a window was last looked at
	OffSince time.Time // when that was noticed
	Begun    time.Time // when the last turn for summaries was begun
	Until    time.Time // the latest activity of a thread that a window has looked at
	Number   int       // of the last turn
	Counted  int       // the last consolidation whose cost is in Spent
	Turn     *turn     // begun, and its answer not yet taken in; nil: there is none
	Left     []string  // threads that had no room in the last window
	// Cursors are the last message of each thread that was summarised.
	Cursors map[string]int64
	// Tools are what is known of the tools that the agent used in each thread.
	Tools  map[string]toolsKnown
	Spent  spending
	Failed *failure // the last turn for summaries has failed; nil: it has not
	Over   int      // how many bytes thread-summaries.md has when it is too long for its size; else 0
	Quiet  bool     // the demo agent answers: nothing is asked of it

	// Gaps are the times in which summaries were off, or the plugin was: what was said then is not summarised.
	Gaps    []gap
	Stopped time.Time // the plugin was deactivated then; zero: it is active, or was killed
	// Rotate are the sessions that are to end, by thread.
	Rotate map[string]rotation `json:"Rotations"`
	Looked time.Time           // up to when threads were looked at for one to rotate; zero: rotation is off
}

// gap is a time in which nobody listened.
type gap struct{ From, To time.Time }

// mostGaps is how many gaps are known.
const mostGaps = 200

// skip has what was said in a time not summarised. Of too many gaps the oldest two become one.
func (w *work) skip(from, to time.Time) {
	w.Gaps = append(w.Gaps, gap{from, to})
	if len(w.Gaps) > mostGaps {
		w.Gaps[1].From = w.Gaps[0].From
		w.Gaps = w.Gaps[1:]
	}
}

// clip has no time that is known be later than now, and reports whether one was: the clock has been set back, and what was to
// be after such a time would wait until the clock is there again.
func (w *work) clip(now time.Time) (clipped bool) {
	times := []*time.Time{&w.OffSince, &w.Begun, &w.Until, &w.Stopped, &w.Looked}
	if w.Failed != nil {
		times = append(times, &w.Failed.At)
	}
	for i := range w.Gaps {
		times = append(times, &w.Gaps[i].To)
	}
	for _, at := range times {
		if at.After(now) {
			*at, clipped = now, true
		}
	}
	return clipped
}

// skipped reports whether nobody listened when something was said.
func (w *work) skipped(at time.Time) bool {
	return slices.ContainsFunc(w.Gaps, func(g gap) bool { return !at.Before(g.From) && at.Before(g.To) })
}

// turn is one that was asked for, as it was asked for.
type turn struct {
	Request pluginsdk.StartTurnRequest
	Threads []asked
	Until   time.Time
	Left    []string
}

// asked is a thread that a turn is about.
type asked struct {
	Ref      string // by which the prompt names it
	ThreadID string
	Upto     int64 // its last message that the prompt has
	// LongUpto is the message up to which a summary row is asked for; 0: none is.
	LongUpto int64
	// LeavesOut are messages that the row does not tell of, though it stands behind them.
	LeavesOut []int64
	// Tools says that the prompt has what tools may have said in it, for the summary row alone.
	Tools bool
	// Session is the thread's session that ends once the row is there; empty: it goes on.
	Session string
	// Partial is the thread's session when neither the row nor one before it tells all that people have said in it; else empty.
	Partial string
}

// spending is what the turns of a day have cost.
type spending struct {
	Day string // in UTC, as 2006-01-02
	USD float64
}

// failure is why a turn for summaries has no answer.
type failure struct {
	At    time.Time
	Why   string
	Times int // in a row
}

const dayLayout = "2006-01-02"

// of is what was spent on the day of a time.
func (s spending) of(now time.Time) float64 {
	if s.Day != now.UTC().Format(dayLayout) {
		return 0
	}
	return s.USD
}

// add counts what a turn has cost.
func (s *spending) add(now time.Time, usd float64) {
	*s = spending{Day: now.UTC().Format(dayLayout), USD: s.of(now) + usd}
}

// mostCursors is how many threads it is known of how far they were summarised.
const mostCursors = 5000

// mostTools is of how many threads it is known whether the agent used tools. What is forgotten is found out again.
const mostTools = 2000

// load reads the work. At the first start it finds out whether there were conversations before.
func (p *Plugin) load(ctx context.Context) (w *work, err error) {
	answer, err := p.host.State.Get(ctx, &pluginsdk.GetStateRequest{Key: workKey})
	if err == nil {
		w = new(work)
		if err := json.Unmarshal(answer.Entry.Value, w); err != nil {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInternal, "what the plugin keeps cannot be read: %w", err)
		}
		if w.Cursors == nil {
			w.Cursors = make(map[string]int64)
		}
		p.know(w)
		return w, nil
	}
	if pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
		return nil, err
	}
	runs, err := p.host.Runs.List(ctx, &pluginsdk.ListRunsRequest{Query: pluginsdk.RunQuery{Limit: 1}})
	if err != nil {
		return nil, err
	}
	existing := len(runs.Runs) > 0
	// Off since ever: turned on for the first time, it leaves out all that was said before.
	w = &work{Existing: existing, Off: existing, Until: p.now(), Cursors: make(map[string]int64)}
	return w, p.save(ctx, w)
}

func (p *Plugin) save(ctx context.Context, w *work) error {
	if len(w.Cursors) > mostCursors {
		oldest := slices.SortedFunc(maps.Keys(w.Cursors), func(a, b string) int { return int(w.Cursors[a] - w.Cursors[b]) })
		for _, thread := range oldest[:len(oldest)-mostCursors] {
			delete(w.Cursors, thread)
		}
	}
	if len(w.Tools) > mostTools {
		oldest := slices.SortedFunc(maps.Keys(w.Tools), func(a, b string) int { return cmp.Compare(w.Tools[a].Upto, w.Tools[b].Upto) })
		for _, thread := range oldest[:len(oldest)-mostTools] {
			delete(w.Tools, thread)
		}
	}
	encoded, err := json.Marshal(w)
	if err != nil {
		return err
	}
	if _, err = p.host.State.Put(ctx, &pluginsdk.PutStateRequest{Key: workKey, Value: encoded}); err == nil {
		p.know(w)
	}
	return err
}

// know keeps a copy of the work for OnCheck.
func (p *Plugin) know(w *work) {
	known := *w
	p.known.Store(&known)
}

// summarises reports whether summaries are on.
func (w *work) summarises(c config) bool {
	if c.Summaries != nil {
		return *c.Summaries
	}
	return !w.Existing
}
