package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// fate is what becomes of a call: it fails so many times, and then this is said.
type fate struct {
	errors  int
	verdict pluginsdk.Verdict
	handed  pluginsdk.Handover
	refuses bool // the plugin's own word that a task cannot begin
}

// fateOf follows from the call's id, and so is the same when it is repeated, by
// whichever daemon.
func fateOf(seed int, task string, round int, hook pluginsdk.Hook, plugin string) fate {
	h := fnv.New32a()
	fmt.Fprintln(h, seed, task, round, hook, plugin)
	n := int(h.Sum32() >> 3)
	pick := func(of int) int {
		at := n % of
		n /= of
		return at
	}
	return fate{
		errors: []int{0, 0, 0, 0, 1, 2, 3}[pick(7)], refuses: pick(4) == 0,
		verdict: []pluginsdk.Verdict{"accept", "accept", "accept", "reject", ""}[pick(5)],
		handed:  []pluginsdk.Handover{"done", "", "again", "wait"}[pick(4)],
	}
}

// model is what becomes of a task, without databases, daemons and their ends.
type model struct {
	id, name           string
	cwd, wake          bool
	at                 state
	iteration, settled int
	round, rejections  int
	agains             int
	marks              []string
	result             string
	notices            int
}

const (
	storyAttempts   = 3
	storyAgains     = 2
	storyIterations = 4
	storyRejections = 2
)

// story is what happens to one installation.
type story struct {
	*world
	r     *rapid.T
	seed  int
	tasks []*model

	mu   sync.Mutex
	held chan struct{} // closed when calls go on; nil: they do
	b    bool          // the second plugin is enabled
}

// goOn does with the model what the core does by itself.
func (s *story) goOn(m *model) {
	for m.at.phase != ledger.PhaseIdle && (s.held == nil || m.at.phase == ledger.PhaseEnding && !s.b) {
		switch m.at {
		case pending:
			f := fateOf(s.seed, m.name, m.round, pluginsdk.HookTaskCreate, "a")
			if m.at = running; f.refuses || f.errors >= storyAttempts {
				m.at = failing
			}
		case reviewing:
			s.review(m)
		case handing:
			s.handOver(m)
		case failing:
			m.at, m.notices = failed, m.notices+1
		case cancelling:
			m.at, m.notices = cancelled, m.notices+1
		}
	}
}

func (m *model) wait(mark string) {
	m.at, m.notices = waiting, m.notices+1
	m.marks = marked(m.marks, mark)
}

func (s *story) review(m *model) {
	accepted := false
	for _, plugin := range []string{"a", "b"} {
		if plugin == "b" && !s.b {
			continue
		}
		f := fateOf(s.seed, m.name, m.round, pluginsdk.HookTaskComplete, plugin)
		switch {
		case f.errors >= storyAttempts:
			m.wait("")
			return
		case f.verdict == pluginsdk.VerdictReject:
			m.at = running
			if m.rejections++; m.rejections >= storyRejections {
				m.at = failing
			}
			return
		}
		accepted = accepted || f.verdict == pluginsdk.VerdictAccept
	}
	switch {
	case accepted:
		m.at = handing
	case m.cwd:
		m.wait(MarkUnvalidated)
	default:
		m.at, m.marks = handing, marked(m.marks, MarkUnvalidated)
	}
}

func (s *story) handOver(m *model) {
	f := fateOf(s.seed, m.name, m.round, pluginsdk.HookTaskValidated, "a")
	switch {
	case f.errors >= storyAttempts:
		m.wait("")
	case f.handed == pluginsdk.HandoverAgain && m.agains < storyAgains:
		m.at, m.agains, m.round = reviewing, m.agains+1, m.round+1
	case f.handed == pluginsdk.HandoverAgain:
		m.wait("conflict")
	case f.handed == pluginsdk.HandoverWait:
		m.wait("conflict")
	default:
		m.at, m.notices = completed, m.notices+1
	}
}

// called is what a plugin does in a call.
func (s *story) called(ctx context.Context, p *reviewer, call pluginsdk.Call, task pluginsdk.Task, hook pluginsdk.Hook) (fate, error) {
	for phase, asked := range hookOf {
		if asked == hook {
			p.keeps(phase, task)
		}
	}
	s.mu.Lock()
	held := s.held
	s.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
			if !fateOf(s.seed, task.OriginalMessage, call.Attempt, "deaf", p.info.Name).refuses {
				return fate{}, ctx.Err()
			}
			// It answers all the same: nobody must listen.
		}
	}
	state, err := s.store.TaskState(context.Background(), task.ID)
	if err != nil {
		return fate{}, err
	}
	f := fateOf(s.seed, task.OriginalMessage, state.Round, hook, p.info.Name)
	if call.Attempt <= f.errors {
		return f, errPasses
	}
	return f, nil
}

var errPasses = pluginsdk.Errorf(pluginsdk.CodeUnavailable, "try again")

func (s *story) plugin(name string) *reviewer {
	p := &reviewer{}
	p.info.Name = name
	p.complete = func(ctx context.Context, r *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
		f, err := s.called(ctx, p, r.Call, r.Task, pluginsdk.HookTaskComplete)
		return &pluginsdk.OnTaskCompleteResponse{Verdict: f.verdict}, err
	}
	if name == "b" {
		p.failed = func(ctx context.Context, r *pluginsdk.OnTaskFailedRequest) (*pluginsdk.OnTaskFailedResponse, error) {
			_, err := s.called(ctx, p, r.Call, r.Task, pluginsdk.HookTaskFailed)
			return nil, err
		}
		return p
	}
	p.create = func(ctx context.Context, r *pluginsdk.OnTaskCreateRequest) (*pluginsdk.OnTaskCreateResponse, error) {
		f, err := s.called(ctx, p, r.Call, r.Task, pluginsdk.HookTaskCreate)
		if err == nil && f.refuses {
			err = pluginsdk.Errorf(pluginsdk.CodeInvalid, "not here")
		}
		return nil, err
	}
	p.validated = func(ctx context.Context, r *pluginsdk.OnTaskValidatedRequest) (*pluginsdk.OnTaskValidatedResponse, error) {
		f, err := s.called(ctx, p, r.Call, r.Task, pluginsdk.HookTaskValidated)
		return &pluginsdk.OnTaskValidatedResponse{Handover: f.handed, Mark: "conflict"}, err
	}
	return p
}

// asks makes a request of daemons until one has answered, and wants the code.
func (s *story) asks(what string, want pluginsdk.Code, do func(ctx context.Context, room *Room) error) {
	for again := false; ; again = true {
		err := s.ask(do)
		if errors.Is(err, errKilled) {
			s.revive()
			continue
		}
		// A request that has no key is told that the first one was made.
		if code := pluginsdk.CodeOf(err); code != want && (!again || code != pluginsdk.CodeStale || want != "") {
			s.r.Fatalf("%s: %v, want %q", what, err, want)
		}
		return
	}
}

// compare wants the task to be where the model is.
func (s *story) compare(m *model) {
	if m.at.phase == ledger.PhaseIdle {
		s.settled(m.id)
	}
	is := s.state(m.id)
	at := state{is.Status, is.Phase}
	if at != m.at || is.CurrentIteration != m.iteration || is.Settled != m.settled || is.ValidationIterations != m.rejections ||
		is.Round != m.round || !slices.Equal(is.Marks, m.marks) {
		s.r.Fatalf("the task is %s, iteration %d (settled %d), round %d, rejected %d times, %q;\nthe model %s, iteration %d (settled %d), round %d, rejected %d times, %q",
			names[at], is.CurrentIteration, is.Settled, is.Round, is.ValidationIterations, is.Marks,
			names[m.at], m.iteration, m.settled, m.round, m.rejections, m.marks)
	}
}

// done goes on with the model, and compares.
func (s *story) done(m *model) {
	s.goOn(m)
	s.compare(m)
}

func (s *story) any() *model {
	if len(s.tasks) == 0 {
		s.r.Skip("there is no task")
	}
	return rapid.SampledFrom(s.tasks).Draw(s.r, "task")
}

func (s *story) make(cwd, wake bool) {
	if len(s.tasks) == 3 {
		s.r.Skip("there are enough")
	}
	name := fmt.Sprint("task ", len(s.tasks)) // the same when the story is told again
	n := pluginsdk.NewTask{OriginalMessage: name, Wake: wake, MaxIterations: storyIterations, MaxValidationIterations: storyRejections}
	if cwd {
		n.Cwd = "/repo"
	}
	m := &model{id: s.create(n), name: name, cwd: cwd, wake: wake, at: pending}
	s.tasks = append(s.tasks, m)
	s.done(m)
}

func (s *story) iterates(m *model, own bool) {
	next, want := m.iteration+1, pluginsdk.Code("")
	switch {
	case m.at != running:
		want = pluginsdk.CodeStale
	case next > storyIterations:
		want = pluginsdk.CodeExhausted
	}
	s.asks("iterate", want, func(ctx context.Context, room *Room) error {
		request := pluginsdk.IterateTaskRequest{ID: m.id, Iteration: next, Content: "go"}
		if own {
			request.Own, request.Content = true, ""
		}
		_, _, err := room.Iterate(ctx, request)
		return err
	})
	if want == "" {
		m.iteration = next
		if !own {
			s.answer(m.id, "DONE")
		}
	}
	s.done(m)
}

// settles hands an iteration in, or leaves it to a person.
func (s *story) settles(m *model, what string, do func(ctx context.Context, room *Room) error, then func()) {
	want, first := pluginsdk.Code(""), false
	switch {
	case m.iteration > 0 && m.iteration <= m.settled:
	case m.at != running:
		want = pluginsdk.CodeStale
	case m.iteration == 0:
		want = pluginsdk.CodeInvalid
	default:
		first = true
	}
	s.asks(what, want, do)
	if first {
		m.settled = m.iteration
		then()
	}
	s.done(m)
}

func (s *story) decides(m *model, verdict pluginsdk.Verdict) {
	want := pluginsdk.Code("")
	if m.at != waiting || verdict == pluginsdk.VerdictAccept && m.result == "" {
		want = pluginsdk.CodeStale
	}
	s.asks("decide", want, func(ctx context.Context, room *Room) error {
		_, err := room.Decide(ctx, ledger.By{Plugin: "web"}, pluginsdk.DecideTaskRequest{ID: m.id, Verdict: verdict})
		return err
	})
	if want == "" {
		m.round, m.marks, m.agains = m.round+1, nil, 0
		if m.at = running; verdict == pluginsdk.VerdictAccept {
			m.at = handing
		}
	}
	s.done(m)
}

func (s *story) ends(m *model, cancels bool) {
	want := pluginsdk.Code("")
	if over := m.at.status.Final(); over && !cancels && m.at.status != pluginsdk.TaskFailed {
		want = pluginsdk.CodeStale
	}
	s.asks("end", want, func(ctx context.Context, room *Room) error {
		if cancels {
			_, err := room.Cancel(ctx, m.id, "enough", ledger.By{Author: "Ann"})
			return err
		}
		_, err := room.Fail(ctx, m.id, "no use")
		return err
	})
	if !m.at.status.Final() {
		if m.at = failing; cancels {
			m.at = cancelling
		}
	}
	s.done(m)
}

// hold has plugins think until release.
func (s *story) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		s.held = make(chan struct{})
	}
}

func (s *story) release() {
	s.mu.Lock()
	if s.held != nil {
		close(s.held)
		s.held = nil
	}
	s.mu.Unlock()
	for _, m := range s.tasks {
		s.done(m)
	}
}

// Whatever plugins, people and daemons do, in whatever order: each task is where a
// simple model says that it is. Its parent is told of each time that it waits, and of
// its end, once; and woken once. No plugin is asked what it has answered.
func TestTasksFollowTheModel(t *testing.T) {
	database := storetest.Open(t)
	rapid.Check(t, func(r *rapid.T) {
		s := &story{r: r, seed: rapid.IntRange(0, 1<<20).Draw(r, "seed"), b: true}
		s.world = newWorld(t, database, s.plugin("a"), s.plugin("b"))
		defer s.kill()
		s.t, s.config.MaxAttempts, s.config.MaxAgains = r, storyAttempts, storyAgains
		s.kill()
		s.begin()
		flip := rapid.Bool()
		r.Repeat(map[string]func(*rapid.T){
			"make":     func(r *rapid.T) { s.make(flip.Draw(r, "cwd"), flip.Draw(r, "wake")) },
			"iterate":  func(*rapid.T) { s.iterates(s.any(), false) },
			"own":      func(*rapid.T) { s.iterates(s.any(), true) },
			"evaluate": func(*rapid.T) { s.evaluates(s.any()) },
			"again":    func(*rapid.T) { s.evaluates(s.any()) },
			"suspend": func(r *rapid.T) {
				m, result := s.any(), rapid.SampledFrom([]string{"", "half of it"}).Draw(r, "result")
				s.settles(m, "suspend", func(ctx context.Context, room *Room) error {
					_, err := room.Suspend(ctx, pluginsdk.SuspendTaskRequest{ID: m.id, Iteration: m.iteration, Mark: "blocked", Result: result})
					return err
				}, func() { m.result = result; m.wait("blocked") })
			},
			"decide": func(r *rapid.T) {
				s.decides(s.any(), rapid.SampledFrom([]pluginsdk.Verdict{"accept", "reject", ""}).Draw(r, "verdict"))
			},
			"fail":   func(*rapid.T) { s.ends(s.any(), false) },
			"cancel": func(*rapid.T) { s.ends(s.any(), true) },
			"kill":   func(*rapid.T) { s.kill(); s.begin() },
			"doom": func(r *rapid.T) {
				s.boot.mu.Lock()
				s.boot.budget = rapid.IntRange(1, 12).Draw(r, "calls")
				s.boot.mu.Unlock()
			},
			"pause": func(*rapid.T) {
				s.boot.room.Pause()
				if err := s.boot.room.Resume(context.Background()); err != nil {
					r.Fatal(err)
				}
			},
			"hold":    func(*rapid.T) { s.hold() },
			"release": func(*rapid.T) { s.release() },
			"toggle": func(*rapid.T) {
				if s.held != nil {
					r.Skip("somebody is asked")
				}
				s.b = !s.b
				s.plugins[1].set(func() { s.plugins[1].off = !s.b })
			},
		})
		s.release()
		s.audit()
	})
}

func (s *story) evaluates(m *model) {
	s.settles(m, "evaluate", func(ctx context.Context, room *Room) error {
		_, err := room.Evaluate(ctx, pluginsdk.EvaluateTaskRequest{ID: m.id, Iteration: m.iteration, Result: "built"})
		return err
	}, func() { m.at, m.result, m.agains, m.round = reviewing, "built", 0, m.round+1 })
}

// audit looks at what the parent was told.
func (s *story) audit() {
	rows, _, err := s.store.MessagePage(context.Background(), pluginsdk.MessageQuery{ThreadID: s.parent.ID, Limit: 1000})
	if err != nil {
		s.r.Fatal(err)
	}
	notices, wakes := map[string]int{}, 0
	for _, row := range rows {
		var of noticeMetadata
		if row.Kind != pluginsdk.MessageNotification {
			wakes++
		} else if err := json.Unmarshal(row.Metadata, &of); err != nil {
			s.r.Fatal(err)
		}
		notices[of.Task]++
	}
	told, woken := 0, 0
	for _, m := range s.tasks {
		if notices[m.id] != m.notices {
			s.r.Fatalf("the parent of task %s was told %d times, want %d", m.id, notices[m.id], m.notices)
		}
		if told += m.notices; m.wake && m.at.status.Final() {
			woken++
		}
	}
	deliveries, err := s.store.Deliveries(context.Background(), pluginsdk.DeliveryQuery{Place: s.parent.SourceID})
	if err != nil || len(deliveries) != told || wakes != woken {
		s.r.Fatalf("%d deliveries, want %d; woken %d times, want %d; %v", len(deliveries), told, wakes, woken, err)
	}
}
