package agentcheck

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Sessions: how they begin, go on, stop and are resumed.

func startsAndAnswers(w *world) string {
	t := w.began()
	w.answered(t, "Hello from far away.")
	var streamed strings.Builder
	thought := 0
	for _, event := range t.events {
		switch event.Type {
		case pluginsdk.StreamTextDelta:
			streamed.WriteString(event.Text)
		case pluginsdk.StreamThinking:
			thought++
		}
	}
	w.expect(streamed.String() == t.Text, "the answer is not streamed: its pieces add up to %q", cut(streamed.String()))
	w.expect(thought == 1, "the model's thinking is reported %d times instead of once", thought)
	w.expect(t.Model == model, "the turn was answered by %q instead of %s", t.Model, model)
	return ""
}

func sessionIsOurs(w *world) string {
	t := w.began()
	w.expect(t.Failure == nil, "a session with a chosen id does not begin: %s", wordsOf(t.Failure))
	w.expect(t.SessionID == w.chosen, "the session has the id %s instead of the chosen %s", t.SessionID, w.chosen)
	return ""
}

// remembers expects that the model is shown what was said before.
func (w *world) remembers(t turn, said string) {
	w.expect(len(t.main()) > 0, "the resumed turn did not reach the model")
	w.expect(t.remembers(said), "the resumed session has forgotten what was said before")
}

func (t turn) remembers(said string) bool {
	calls := t.main()
	return len(calls) > 0 && strings.Contains(strings.Join(calls[len(calls)-1].UserTexts(), "\n"), said)
}

// resumption is a conversation whose processes ended, each in another way, so that it was
// resumed each time.
type resumption struct {
	first, second turn // between them CLAUDE.md was edited, so that Harness ended the first process
	// raw is the result of a process that nobody interprets, which resumed the conversation after
	// another edit, and was killed; rawUSD what the API billed for it, rawCalls what it asked.
	raw      rawLine
	rawUSD   float64
	rawCalls []fakeapi.Request
	// again is a turn after that, of a conversation that was said to be new.
	again turn
}

// resumed resumes the conversation, once for all lines of the world. What goes wrong with one
// turn is for the lines to say that are about it.
func (w *world) resumed() resumption {
	if w.resumption == nil {
		r := &resumption{}
		w.resumption = r
		w.lay(w.work, "CLAUDE.md", "Be brief. FIRST-MANUAL\n")
		r.first = w.invoke(w.request("say:first-word"))
		w.lay(w.work, "CLAUDE.md", "Be brief. SECOND-MANUAL\n")
		r.second = w.invoke(w.request("say:second-word"))
		w.lay(w.work, "CLAUDE.md", "Be brief. THIRD-MANUAL\n")
		w.must(w.stop())
		if err := w.try(func() { r.raw, r.rawUSD, r.rawCalls = w.killed(w.request(""), "say:third-word") }); err != nil {
			r.raw.IsError, r.raw.Result = true, err.Error()
		}
		again := w.request("say:again")
		again.Resume = false
		r.again = w.invoke(again)
	}
	return *w.resumption
}

// killed runs a turn in a process of its own, which is killed as soon as its result is there.
func (w *world) killed(request ledger.AgentRequest, prompt string) (result rawLine, billed float64, calls []fakeapi.Request) {
	before, seen := w.api.Billed(), len(w.api.Requests())
	r := w.open(request)
	defer r.kill()
	result = r.turn(prompt)
	all := turn{calls: w.api.Requests()[seen:]}
	return result, w.api.Billed().Since(before).USD, all.main()
}

func resumesAfterACleanEnd(w *world) string {
	r := w.resumed()
	w.answered(r.second, "second-word")
	w.remembers(r.second, "say:first-word")
	w.expect(!r.raw.IsError, "a turn after another clean end failed: %s", r.raw)
	w.remembers(turn{calls: r.rawCalls}, "say:second-word")
	return ""
}

func resumesAfterAKill(w *world) string {
	if r := w.resumed(); r.again.Failure == nil && !r.raw.IsError {
		w.remembers(r.again, "say:third-word")
		return ""
	}
	// The conversation came to nothing, perhaps for another reason.
	request := w.request("")
	request.ThreadID, request.SessionID, request.Resume = uuid.NewString(), uuid.NewString(), false
	answer, _, _ := w.killed(request, "say:before-the-kill")
	w.expect(!answer.IsError, "a turn failed: %s", answer)
	request.Resume, request.Prompt = true, "say:after-the-kill"
	t := w.invoke(request)
	w.answered(t, "after-the-kill")
	w.remembers(t, "say:before-the-kill")
	return ""
}

func unknownSessionIsTold(w *world) string {
	request := w.request("say:x")
	request.ThreadID, request.SessionID, request.Resume = uuid.NewString(), uuid.NewString(), true
	result := w.start().Invoke(w.ctx, request, nil)
	w.expect(result.Failure != nil, "a session that does not exist is resumed")
	w.expect(result.Failure.Kind == pluginsdk.FailureUnknownSession,
		"that a session does not exist is not told from other failures: %s", wordsOf(result.Failure))
	return ""
}

func existingSessionIsResumed(w *world) string {
	t := w.resumed().again
	if t.Failure != nil || !t.remembers("say:first-word") { // it was killed before, which is another line's matter
		w.session = ""
		w.say("say:first-word", "first-word")
		w.must(w.stop())
		request := w.request("say:again")
		request.Resume = false
		t = w.invoke(request)
	}
	w.answered(t, "again")
	w.remembers(t, "say:first-word")
	return ""
}

// transcripts returns the sessions that the CLI has kept.
func (w *world) transcripts() []string {
	var kept []string
	_ = filepath.WalkDir(w.home, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(path, ".jsonl") {
			kept = append(kept, filepath.Base(path))
		}
		return nil
	})
	return kept
}

// meanwhile is a fresh session, and how many transcripts there are more behind it.
type meanwhile struct {
	turn
	left int
}

// freshly runs a turn in a fresh session, once for all lines of the world.
func (w *world) freshly() meanwhile {
	if w.meanwhile == nil {
		before := len(w.transcripts())
		t := w.invoke(w.fresh("say:meanwhile"))
		w.meanwhile = &meanwhile{t, len(w.transcripts()) - before}
	}
	return *w.meanwhile
}

func freshSessionLeavesNothing(w *world) string {
	w.began()
	t := w.freshly()
	w.answered(t.turn, "meanwhile")
	w.expect(t.left == 0, "a fresh session leaves its transcript")
	return ""
}

func stopKeepsTheProcess(w *world) string {
	w.began()
	gate := uuid.NewString()
	stopped := w.stopWhen(w.request("block:"+gate+" say:never"), fakeapi.Saying(gate), func() {})
	w.expect(stopped.Failure != nil && stopped.Failure.Kind == pluginsdk.FailureInterrupted, "a stopped turn does not end as interrupted, but: %s", wordsOf(stopped.Failure))
	w.expect(w.agent.Holds(thread, w.session), "the CLI did not stop when asked, so its process was ended")
	next := w.say("say:go on", "go on")
	w.expect(len(next.main()) == 1, "after a stop the next turn took %d calls of the API", len(next.main()))
	return ""
}

// stopWhen runs a turn. As soon as the API has got a certain call it does what is to be done
// then, and stops the turn.
func (w *world) stopWhen(request ledger.AgentRequest, call func(fakeapi.Request) bool, then func()) turn {
	ctx, cancel := context.WithCancelCause(w.ctx)
	defer cancel(nil)
	over, end := context.WithCancel(ctx)
	done := make(chan turn, 1)
	go func() {
		defer end()
		done <- w.invokeIn(ctx, request, nil)
	}()
	if _, err := w.api.Wait(over, call); err == nil {
		then()
	}
	cancel(errors.New("stopped by agent check"))
	return <-done
}

// What turns cost, by the API's own count.

func costsWhatTheAPIBills(w *world) string {
	w.began()
	usage := []fakeapi.Usage{
		{InputTokens: 1000, OutputTokens: 50, CacheReadTokens: 2000, CacheWriteTokens: 300, CacheWriteHour: 100},
		{InputTokens: 70, OutputTokens: 400, CacheReadTokens: 3300},
	}
	w.api.Handle(func(r fakeapi.Request) fakeapi.Reply {
		if fakeapi.Main(r) && len(r.ToolResults()) == 0 {
			reply := uses("Bash", map[string]any{"command": "true"})
			reply.Usage = usage[0]
			return reply
		}
		return fakeapi.Reply{Text: "done", Usage: usage[1]}
	})
	t := w.say("what does it cost?", "done")
	w.billed(t, "a turn of two calls")
	return ""
}

// billed expects that a turn costs what the API has billed for it.
func (w *world) billed(t turn, what string) {
	w.expect(math.Abs(t.CostUSD-t.bill.USD) < 1e-6, "%s is counted as %s, the API billed %s", what, usd(t.CostUSD), usd(t.bill.USD))
	u := t.bill.Usage()
	billed := pluginsdk.Usage{
		InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CacheReadTokens: u.CacheReadTokens, CacheWriteTokens: u.CacheWriteTokens,
	}
	w.expect(t.Usage == billed, "%s is counted with the tokens %+v, the API billed %+v", what, t.Usage, billed)
}

func usd(amount float64) string { return fmt.Sprintf("$%.6f", amount) }

func resumedTurnCostsItsOwn(w *world) string {
	r := w.resumed()
	w.answered(r.second, "second-word")
	w.billed(r.second, "a resumed turn")
	if r.raw.TotalUSD > r.rawUSD+1e-6 {
		return "the CLI's total goes on after a resume; Harness takes the turn's own figures"
	}
	return ""
}

func capStopsATurn(w *world) string {
	dear := fakeapi.Usage{InputTokens: 100_000, OutputTokens: 10_000} // $0.45
	w.api.Handle(func(r fakeapi.Request) fakeapi.Reply {
		reply := uses("Bash", map[string]any{"command": "true"})
		reply.Usage = dear
		if len(r.Messages) > 20 {
			reply = fakeapi.Reply{Text: "nobody stopped it", Usage: dear}
		}
		return reply
	})
	request := w.request("spend")
	request.CostCapUSD = 0.8
	t := w.invoke(request)
	w.expect(t.Failure != nil && t.Failure.Kind == pluginsdk.FailureBudget, "a turn above its cap does not end as over budget, but: %s", wordsOf(t.Failure))
	w.expect(t.bill.Calls <= 3, "a turn of which 2 calls reach its cap made %d", t.bill.Calls)
	w.expect(math.Abs(t.CostUSD-t.bill.USD) < 1e-6, "a turn that reached its cap is counted as %s, the API billed %s", usd(t.CostUSD), usd(t.bill.USD))
	return ""
}
