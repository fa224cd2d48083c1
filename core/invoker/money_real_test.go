package invoker

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

var moneyTurns = flag.Int("money.turns", 0, "how many turns TestRealMoney runs; at least one of each kind")

// cent is what two counts of a turn's cost may differ by, in US dollars.
const cent = 1e-6

// spender runs turns of all kinds in random order, and compares the cost of each with what
// the fake API charged for it.
type spender struct {
	*realAgent
	t       *testing.T
	session string
	calls   []fakeapi.Call // of the last turn

	mu     sync.Mutex
	random *rand.Rand
	stall  bool // the next answer in words breaks off after its first word
}

func (s *spender) reply(r fakeapi.Request) fakeapi.Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	reply := fakeapi.Directed(r)
	reply.Usage = fakeapi.Usage{
		InputTokens: 1 + s.random.Int64N(20_000), OutputTokens: 20 + s.random.Int64N(3_000),
		CacheReadTokens: s.random.Int64N(50_000), CacheWriteTokens: s.random.Int64N(9_000),
	}
	if strings.HasPrefix(r.Prompt(), "say:dear") {
		reply.Usage.InputTokens, reply.Usage.OutputTokens = 90_000, 9_000
	}
	if s.stall && len(reply.Tools) == 0 && fakeapi.Main(r) {
		reply.Stall, s.stall = "never", false
	}
	return reply
}

func (s *spender) stallNext() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stall = true
}

// kill kills the process of the turn that runs. Sessions of other threads are idle then.
func (s *spender) kill() {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	for _, one := range s.pool.places {
		if one.taken && one.session != nil {
			one.session.process.kill()
		}
	}
}

// kinds are the kinds of turns; each prepares its request.
var kinds = []struct {
	name  string
	turns func(s *spender, r *ledger.AgentRequest, n int) (cut func(stop context.CancelCauseFunc))
}{
	{"plain", func(*spender, *ledger.AgentRequest, int) func(context.CancelCauseFunc) { return nil }},
	{"tool", func(_ *spender, r *ledger.AgentRequest, _ int) func(context.CancelCauseFunc) {
		r.Prompt = "usetool:Bash {\"command\":\"true\"}\nthen:done"
		return nil
	}},
	{"sub-agent of another model", func(_ *spender, r *ledger.AgentRequest, _ int) func(context.CancelCauseFunc) {
		r.Prompt = `usetool:Agent {"description":"d","prompt":"say:below","subagent_type":"general-purpose","model":"haiku","run_in_background":false}` + "\nthen:done"
		return nil
	}},
	{"resumed, with a sub-agent that uses more", func(s *spender, r *ledger.AgentRequest, _ int) func(context.CancelCauseFunc) {
		s.reapOnce(time.Now().Add(time.Hour))
		r.Prompt = `usetool:Agent {"description":"d","prompt":"say:dear","subagent_type":"general-purpose","run_in_background":false}` + "\nthen:done"
		return nil
	}},
	{"resumed after a restart", func(s *spender, _ *ledger.AgentRequest, _ int) func(context.CancelCauseFunc) {
		s.reapOnce(time.Now().Add(time.Hour))
		s.past.mu.Lock()
		defer s.past.mu.Unlock()
		s.past.totals = nil
		return nil
	}},
	{"resumed", func(s *spender, _ *ledger.AgentRequest, _ int) func(context.CancelCauseFunc) {
		s.reapOnce(time.Now().Add(time.Hour))
		return nil
	}},
	{"killed", func(s *spender, r *ledger.AgentRequest, n int) func(context.CancelCauseFunc) {
		s.stallNext()
		r.Prompt = fmt.Sprintf("say:the process is killed in turn %d", n)
		return func(context.CancelCauseFunc) { s.kill() }
	}},
	{"killed after a tool", func(s *spender, r *ledger.AgentRequest, _ int) func(context.CancelCauseFunc) {
		s.stallNext()
		r.Prompt = "usetool:Bash {\"command\":\"true\"}\nthen:and now it is killed"
		return func(context.CancelCauseFunc) { s.kill() }
	}},
	{"stopped", func(s *spender, r *ledger.AgentRequest, n int) func(context.CancelCauseFunc) {
		s.stallNext()
		r.Prompt = fmt.Sprintf("say:somebody stops turn %d", n)
		return func(stop context.CancelCauseFunc) { stop(errors.New("stopped")) }
	}},
	{"branch", func(_ *spender, r *ledger.AgentRequest, n int) func(context.CancelCauseFunc) {
		r.SessionID, r.Resume, r.ThreadID = uuid.NewString(), false, fmt.Sprintf("branch %d", n)
		return nil
	}},
	{"fresh", func(_ *spender, r *ledger.AgentRequest, _ int) func(context.CancelCauseFunc) {
		r.SessionID, r.Resume, r.Fresh = "", false, true
		return nil
	}},
}

// turn runs one turn of a kind, and returns what it cost and what was charged for it.
func (s *spender) turn(n, kind int) (pluginsdk.InvokeResult, fakeapi.Bill) {
	ask := request("thread", s.session, fmt.Sprintf("say:turn %d", n))
	cut := kinds[kind].turns(s, &ask, n)
	ctx, stop := context.WithCancelCause(s.t.Context())
	defer stop(nil)
	before := s.api.Billed()
	result := s.Invoke(ctx, ask, func(e pluginsdk.StreamEvent) {
		if e.Type == pluginsdk.StreamTextDelta && cut != nil {
			cut(stop)
			cut = nil
		}
	})
	if ask.ThreadID == "thread" && !ask.Fresh {
		s.session = result.SessionID
	}
	s.calls = s.api.Calls()[before.Calls:]
	return result, s.api.Billed().Since(before)
}

// dearest returns what the dearest call of the last turn cost.
func (s *spender) dearest() (usd float64) {
	for _, call := range s.calls {
		usd = max(usd, call.USD)
	}
	return usd
}

// told says what the calls of the last turn were, for a test that fails.
func (s *spender) told() string {
	var b strings.Builder
	for _, call := range s.calls {
		fmt.Fprintf(&b, "\n  %s, %d tools, prompt %.80q, %d results: %.7f USD, cut %t",
			call.Request.Model, len(call.Request.Tools), call.Request.Prompt(), len(call.Request.ToolResults()), call.USD, call.Cut)
	}
	return b.String()
}

// What a turn is said to cost is what the API charges for it, whatever happened to its
// session before: else people are told twice what they pay, and caps hold at half. A turn
// that is cut off may miss one call, and is marked as unsure.
func TestRealMoney(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	choice := rand.New(rand.NewPCG(seed, 2))
	s := &spender{t: t, random: rand.New(rand.NewPCG(seed, 1))}
	s.realAgent = startReal(t, func(c *Config) {
		c.AllowedTools = []string{"Bash(true)", "Agent", "Task"}
		c.Env = append(c.Env, "ANTHROPIC_DEFAULT_HAIKU_MODEL=claude-haiku-4-5")
	})
	s.api.Handle(s.reply)
	var ours, charged float64
	order := choice.Perm(len(kinds))
	for n := range max(*moneyTurns, len(kinds)) {
		if n >= len(kinds) {
			order = append(order, choice.IntN(len(kinds)))
		}
		kind := order[n]
		result, bill := s.turn(n, kind)
		ours, charged = ours+result.CostUSD, charged+bill.USD
		about := fmt.Sprintf("turn %d (%s), seed %d: %.7f USD of ours, %.7f of the API (%d calls, %d cut), unsure %t",
			n, kinds[kind].name, seed, result.CostUSD, bill.USD, bill.Calls, bill.Cut, result.CostUnsure)
		off := math.Abs(result.CostUSD - bill.USD)
		switch {
		case bill.Calls == 0:
			t.Errorf("%s: no call was made", about)
		case bill.Cut > 0 && (!result.CostUnsure || off > s.dearest()+cent):
			t.Error(about, s.told())
		case bill.Cut == 0 && (result.CostUnsure || off > cent):
			t.Error(about, s.told())
		case bill.Cut == 0:
			s.byModel(about, result, bill)
		}
	}
	t.Logf("%.6f USD of ours, %.6f of the API", ours, charged)
}

// byModel compares the parts of a turn by model.
func (s *spender) byModel(about string, result pluginsdk.InvokeResult, bill fakeapi.Bill) {
	parts := result.Models
	if len(bill.Models) == 1 && len(parts) == 0 {
		parts = []pluginsdk.ModelUsage{{Model: result.Model, Usage: result.Usage, CostUSD: result.CostUSD}}
	}
	if len(parts) != len(bill.Models) {
		s.t.Errorf("%s: of the models %v, the API charged for %v", about, parts, bill.Models)
	}
	for _, part := range parts {
		if charged := bill.Models[part.Model]; part.Usage.InputTokens != charged.InputTokens || part.Usage.OutputTokens != charged.OutputTokens {
			s.t.Errorf("%s: of %s %+v, the API counted %+v", about, part.Model, part.Usage, charged)
		}
	}
}
