package daemon_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/pipeline"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// ask gives the turner a turn to ask for, and returns what it said of it.
func (in *installation) ask(w *watcher, thread string, turn pluginsdk.StartTurnRequest) string {
	in.t.Helper()
	encoded, err := json.Marshal(turn)
	if err != nil {
		in.t.Fatal(err)
	}
	accepted, _ := in.say(w, thread, "/turn "+string(encoded))
	messages := in.messages(thread)
	last := messages[len(messages)-1]
	if last.RunID != accepted.RunID {
		in.t.Fatalf("/turn has not answered: %+v", last)
	}
	return last.Content
}

// turnsOf are the runs of turns, oldest first.
func turnsOf(t *testing.T, database *store.Store) []pluginsdk.Run {
	t.Helper()
	runs, err := database.Runs(t.Context(), pluginsdk.RunQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(runs, func(r pluginsdk.Run) bool { return r.Kind != pluginsdk.RunTurn })
}

// What a plugin asks of the agent is answered beside the conversation: neither its rows
// nor its session change, the same key asks once, and who has asked for it and what for is
// known.
func TestTurnsAreAnsweredBesideTheConversation(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database func(*testing.T) string) {
		in := newInstallation(t, database(t), turnerName)
		in.demo(`[{"match":"review","text":"It is good.","structuredOutput":{"verdict":"accept"},"costUsd":0.25},
			{"match":"hello","text":"Hello."}]`)
		in.start()
		in.adoptTurner()
		rows, watch, thread := in.database(), in.watch(), in.thread("talk")
		in.say(watch, thread, "hello")
		before, err := rows.Thread(t.Context(), thread)
		if err != nil {
			t.Fatal(err)
		}
		turn := pluginsdk.StartTurnRequest{Key: "k", Purpose: "validation", ThreadID: thread, Prompt: "review this"}
		first := in.ask(watch, thread, turn)
		for _, want := range []string{"succeeded existed=false", `It is good.`, `output={"verdict":"accept"}`, "cost=0.25"} {
			if !strings.Contains(first, want) {
				t.Errorf("the turn: %s; want %s", first, want)
			}
		}
		if again := in.ask(watch, thread, turn); !strings.Contains(again, "existed=true") || strings.Fields(again)[0] != strings.Fields(first)[0] {
			t.Errorf("again: %s", again)
		}
		turn.Prompt = "review something else"
		if other := in.ask(watch, thread, turn); !strings.Contains(other, "was used before") {
			t.Errorf("another turn with the same key: %s", other)
		}
		after, err := rows.Thread(t.Context(), thread)
		if err != nil || after.SessionID != before.SessionID || after.SessionID == "" {
			t.Errorf("the thread's session was %q and is %q: %v", before.SessionID, after.SessionID, err)
		}
		runs := turnsOf(t, rows)
		if len(runs) != 1 || runs[0].Plugin != turnerName || runs[0].Purpose != "validation" || runs[0].ThreadID != thread || runs[0].CauseRunID == "" {
			t.Errorf("runs of turns: %+v", runs)
		}
		for _, message := range in.messages(thread) {
			if message.RunID == runs[0].ID {
				t.Errorf("the turn left a row in the thread: %+v", message)
			}
		}
		if n := in.count("SELECT COUNT(*) FROM agent_runs WHERE purpose = 'validation' AND cost_usd = 0.25 AND run_id = '" + runs[0].ID + "'"); n != 1 {
			t.Errorf("what the turn has cost is recorded %d times", n)
		}
	})
}

// kill -9 at every step of turns, of three at a time, one of them in the session of a
// thread: after the restart each has one answer, the agent is asked again only where its
// answer was not yet stored, and no place is lost.
func TestKillAtEveryStepOfATurn(t *testing.T) {
	t.Parallel()
	in := leanInstallation(t, "", turnerName)
	in.demo(`[{"match":"think","think":"hm","text":"thought"},{"match":"hello","text":"Hello."}]`)
	rows := in.database()
	in.spawn()
	in.eachDeath(pipeline.TurnFaultPoints, func(t *testing.T, step string) { killTurnsAt(t, in, rows, step) })
}

func killTurnsAt(t *testing.T, in *installation, database *store.Store, step string) {
	in.dismissTurner()
	earlier := turnsOf(t, database)
	known := func(id string) bool {
		return slices.ContainsFunc(earlier, func(r pluginsdk.Run) bool { return r.ID == id })
	}
	thread := in.thread("talk")
	held := in.killedAt(step, func() {
		in.adoptTurner(
			pluginsdk.StartTurnRequest{Key: step + " beside", ThreadID: thread, Prompt: "think beside"},
			pluginsdk.StartTurnRequest{Key: step + " nowhere", Prompt: "think nowhere"},
			pluginsdk.StartTurnRequest{Key: step + " within", ThreadID: thread, Session: pluginsdk.SessionThread, Prompt: "think within"},
		)
	}, func(held []string) bool {
		if told := in.turned(); slices.ContainsFunc(told, func(line string) bool { return strings.Contains(line, ": refused: ") }) {
			t.Fatalf("the turner is told %q", told)
		}
		return countOf(held, func(id string) bool { return !known(id) }) > 0
	})
	answers := func() map[string]string { // by key; what was answered before the daemon died is asked again
		told := map[string]string{}
		for _, line := range in.turned() {
			key, answer, _ := strings.Cut(line, ": ")
			told[key] = answer
		}
		return told
	}
	in.until("the answers", func() bool { return len(answers()) >= 3 })
	for key, answer := range answers() {
		if !strings.Contains(answer, "succeeded") || !strings.Contains(answer, "thought") {
			t.Errorf("%s is answered by %q", key, answer)
		}
	}
	asked := map[string]int{}
	for _, line := range lines(t, filepath.Join(in.config.Data, "steps.log")) {
		if name, run, _ := strings.Cut(line, " "); name == "invoke" {
			asked[run]++
		}
	}
	inFlight := strings.Join(held, "\n")
	runs := slices.DeleteFunc(turnsOf(t, database), func(r pluginsdk.Run) bool { return known(r.ID) })
	if len(runs) != 3 {
		t.Errorf("%d runs of turns", len(runs))
	}
	for _, run := range runs {
		// What was held when the daemon died had been asked, and nobody had the answer;
		// of the others nobody knows how far they were.
		if asked[run.ID] != 1 && (asked[run.ID] != 2 || step != "invoking" && step != "commitResult" && strings.Contains(inFlight, run.ID)) {
			t.Errorf("run %s of %q called the agent %d times", run.ID, run.Purpose, asked[run.ID])
		}
	}
	// All places are there: more runs than places, at once.
	var accepted []pluginsdk.Accepted
	for n := range 6 {
		accepted = append(accepted, in.chat(in.thread(fmt.Sprint("after ", n)), "hello"))
	}
	in.until("the end of what came after", func() bool {
		return !slices.ContainsFunc(accepted, func(a pluginsdk.Accepted) bool { return in.run(a.RunID).State != pluginsdk.RunSucceeded })
	})
}

// Five runs at a time whose tools each ask for a turn, with five places: the turns have
// places of their own, so all of it comes to an end.
func TestToolsThatAskForTurnsBlockNobody(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "", turnerName)
	in.demo(`[{"match":"asks another","toolName":"mcp__harness__turner__turn","toolInput":{"Prompt":"inner"},"text":"asked"},
		{"match":"inner","text":"thought"}]`)
	in.start()
	in.adoptTurner()
	var accepted []pluginsdk.Accepted
	for n := range 5 {
		accepted = append(accepted, in.chat(in.thread(fmt.Sprint("t", n)), "asks another"))
	}
	in.until("the end of all runs", func() bool {
		return !slices.ContainsFunc(accepted, func(a pluginsdk.Accepted) bool { return !in.run(a.RunID).State.Final() })
	})
	for _, a := range accepted {
		result := slices.DeleteFunc(in.run(a.RunID).Events, func(e pluginsdk.StreamEvent) bool { return e.Type != pluginsdk.StreamToolResult })
		if len(result) != 1 || result[0].IsError || !strings.Contains(result[0].Text, "thought") {
			t.Errorf("the tool has told run %s %+v", a.RunID, result)
		}
	}
	for _, turn := range turnsOf(t, in.database()) {
		if turn.CauseRunID == "" || turn.Depth != 1 {
			t.Errorf("a turn is caused by %q, %d deep", turn.CauseRunID, turn.Depth)
		}
	}
}

// Ten turns and fifty tasks, each of a second, have all the places that are theirs: who
// writes in the primary thread is answered as if nobody else were there. How soon it
// begins is logged (-v).
func TestAMessageInACrowd(t *testing.T) {
	in := newInstallation(t, "", turnerName)
	in.demo(`[{"match":"hello","text":"Hello."},{"match":"work","delay":1000,"text":"worked"}]`)
	if err := os.WriteFile(filepath.Join(in.config.Plugins, "crowd.txt"), []byte("50"), 0o600); err != nil {
		t.Fatal(err)
	}
	in.start()
	var turns []pluginsdk.StartTurnRequest
	for n := range 10 {
		turns = append(turns, pluginsdk.StartTurnRequest{Key: fmt.Sprint(n), Prompt: "work"})
	}
	in.adoptTurner(turns...)
	atWork := func(where string) int {
		return in.count("SELECT COUNT(*) FROM runs r LEFT JOIN threads t ON t.id = r.thread_id WHERE r.finished_at IS NULL AND " + where)
	}
	in.until("the crowd", func() bool { return atWork("r.kind = 'turn'") >= 2 && atWork("t.kind = 'task'") >= 30 })
	var waits []time.Duration
	for range 20 {
		if atWork("t.kind = 'task'") < 5 {
			break // the crowd goes home
		}
		accepted := in.chat("", "hello")
		in.until("the answer", func() bool { return in.run(accepted.RunID).State.Final() })
		run := in.run(accepted.RunID)
		if run.State != pluginsdk.RunSucceeded {
			t.Fatalf("the message is %s: %s", run.State, run.Error)
		}
		waits = append(waits, run.StartedAt.Sub(run.QueuedAt))
	}
	if len(waits) == 0 {
		t.Fatal("the crowd was gone before anybody wrote")
	}
	slices.Sort(waits)
	t.Logf("accepted to begun: p50 %s, p95 %s", waits[len(waits)/2], waits[len(waits)*95/100])
}

// Whoever asks the API and whoever asks the program are told the same version.
func TestTheAPIShowsTheDaemonsVersion(t *testing.T) {
	in := newInstallation(t, "")
	in.config.Version = "v7.8.9"
	in.start()
	var health struct{ Version string }
	if status := in.call(http.MethodGet, "/api/health", nil, &health); status != http.StatusOK || health.Version != "v7.8.9" {
		t.Errorf("%d, version %q", status, health.Version)
	}
}
