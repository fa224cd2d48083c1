package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/pipeline"
)

// pause is how long a quiet daemon sleeps between two turns of a trace.
const pause = 50 * time.Millisecond

// trace is where the time of turns goes, under one agent, on one database, at one pace.
type trace struct {
	Agent    string  `json:"agent"`
	Database string  `json:"database"`
	Pause    float64 `json:"pauseMs"` // between two turns
	Turns    int     `json:"turns"`
	// Committed and Complete are from the request to the reply's commit and to the last
	// event on the websocket.
	Committed figures `json:"committed"`
	Complete  figures `json:"complete"`
	// Steps are the parts of a turn, each up to the next step of the pipeline; accepted is
	// from the request up to the first.
	Steps []figures `json:"steps"`
	// Spans are what is done in a turn, or beside it.
	Spans []figures `json:"spans"`
	// Uses are of the daemon and its plugins.
	Uses []use `json:"uses"`
}

// figures are of one part of a turn; times are p50 and p90, in milliseconds.
type figures struct {
	Name    string  `json:"name"`
	PerTurn float64 `json:"perTurn"`
	P50     float64 `json:"p50"`
	P90     float64 `json:"p90"`
	Waited  float64 `json:"waited,omitempty"` // p50 of ledger.Span.Waited
	Inside  float64 `json:"inside,omitempty"` // p50 of ledger.Span.Inside
	Count   float64 `json:"count,omitempty"`  // mean of ledger.Span.Count
}

// traces measures where the time of a turn goes, and writes it to a file when there is
// a name for one.
func (b *bench) traces() error {
	var all []trace
	for _, database := range b.databases() {
		for _, agent := range []string{"demo", "claude"} {
			for _, rest := range []time.Duration{pause, 0} {
				one, err := b.traceOn(database, agent, rest)
				if err != nil {
					return err
				}
				if one != nil {
					b.printTrace(one)
					all = append(all, *one)
				}
			}
		}
	}
	if b.out == "" {
		return nil
	}
	encoded, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(b.out, append(encoded, '\n'), 0o644)
}

// traceOn returns nil when there is no such agent here.
func (b *bench) traceOn(database database, agent string, rest time.Duration) (t *trace, err error) {
	env := append(slices.Clone(database.env), "HARNESS_AGENT="+agent)
	if agent == "claude" {
		if b.claude == "" {
			b.row("real CLI", "left out: HARNESS_TEST_CLAUDE is not set (.ci/test-env sets it)")
			return nil, nil
		}
		api := fakeapi.New()
		if err := api.Listen("127.0.0.1:0"); err != nil {
			return nil, err
		}
		defer api.Close()
		home, err := os.MkdirTemp("", "harness-bench-home")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(home)
		env = append(env, append(fakeapi.Env(api.URL(), home), "HARNESS_CLAUDE="+b.claude)...)
	}
	dir, err := os.MkdirTemp("", "harness-bench-trace")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "trace.json")
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	plugins, err := filepath.Abs("bin/plugins")
	if err != nil {
		return nil, err
	}
	d, err := startProgram(program, append(env, tracedFile+"="+file, "HARNESS_PLUGINS="+plugins))
	if err != nil {
		return nil, err
	}
	t = &trace{Agent: agent, Database: database.name, Pause: ms(rest), Turns: b.turns / 2}
	s, err := t.drive(d, rest)
	if err = errors.Join(err, d.Down()); err == nil {
		err = t.read(file, s)
	}
	return t, errors.Join(err, os.RemoveAll(d.Dir))
}

// drive makes the turns that are traced.
func (t *trace) drive(d *installation, rest time.Duration) (*sequence, error) {
	s, err := d.sequence()
	if err != nil {
		return nil, err
	}
	defer s.close()
	if err := s.turns(2 * warmUp); err != nil {
		return nil, err
	}
	s.times = stopwatch{}
	used, err := d.meter()
	if err != nil {
		return nil, err
	}
	for range t.Turns {
		<-time.After(rest)
		if err := s.turns(1); err != nil {
			return nil, err
		}
	}
	t.Uses = used.perTurn(t.Turns)
	return s, nil
}

// read makes the figures of what the daemon has noted.
func (t *trace) read(file string, s *sequence) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var noted traced
	if err := json.Unmarshal(content, &noted); err != nil {
		return err
	}
	t.Committed, t.Complete = t.figures("committed", s.times.committed), t.figures("complete", s.times.complete)
	began := make(map[string]time.Time)
	for i, run := range s.times.runs {
		began[run] = s.times.began[i]
	}
	t.Steps = t.steps(noted.Steps, began)
	t.Spans = t.spans(noted.Spans, s.times.began[0])
	return nil
}

func (t *trace) figures(name string, times []time.Duration) figures {
	if len(times) == 0 {
		return figures{Name: name}
	}
	return figures{
		Name: name, PerTurn: round(float64(len(times)) / float64(t.Turns)),
		P50: ms(quantile(times, 0.5)), P90: ms(quantile(times, 0.9)),
	}
}

func round(x float64) float64 { return math.Round(100*x) / 100 }

// steps are the times from each step to the next one of the same run.
func (t *trace) steps(passed []stepAt, began map[string]time.Time) (steps []figures) {
	times := make(map[string][]time.Duration)
	last := make(map[string]stepAt)
	for _, step := range passed {
		at, counted := began[step.RunID]
		if !counted {
			continue
		}
		before, name := last[step.RunID], "accepted"
		if before.Step != "" {
			at, name = before.At, before.Step
		}
		times[name] = append(times[name], step.At.Sub(at))
		last[step.RunID] = step
	}
	for _, name := range append([]string{"accepted"}, pipeline.FaultPoints...) {
		if len(times[name]) > 0 {
			steps = append(steps, t.figures(name, times[name]))
		}
	}
	return steps
}

// spans are what was done since the first turn began.
func (t *trace) spans(done []ledger.Span, since time.Time) (spans []figures) {
	groups := make(map[string][]ledger.Span)
	for _, span := range done {
		if span.Began.Before(since) {
			continue
		}
		name := fmt.Sprintf("%s %s %s", span.Kind, span.Name, span.Plugin)
		if span.Durable {
			name += "durable"
		}
		groups[name] = append(groups[name], span)
	}
	for _, name := range slices.SortedFunc(maps.Keys(groups), func(a, b string) int {
		return cmp.Or(cmp.Compare(groups[a][0].Kind, groups[b][0].Kind), groups[a][0].Began.Compare(groups[b][0].Began))
	}) {
		var took, waited, inside []time.Duration
		count := 0
		for _, span := range groups[name] {
			took, waited, inside = append(took, span.Took), append(waited, span.Waited), append(inside, span.Inside)
			count += span.Count
		}
		one := t.figures(name, took)
		one.Waited, one.Inside = ms(quantile(waited, 0.5)), ms(quantile(inside, 0.5))
		one.Count = round(float64(count) / float64(len(took)))
		spans = append(spans, one)
	}
	return spans
}

func (b *bench) printTrace(t *trace) {
	b.row(fmt.Sprintf("%s, %s, %v ms between turns", t.Agent, t.Database, t.Pause), "a turn\tp50 ms\tp90 ms\twaited\tinside\tcount")
	for _, f := range append([]figures{t.Committed, t.Complete}, append(t.Steps, t.Spans...)...) {
		b.row("  "+f.Name, "%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f", f.PerTurn, f.P50, f.P90, f.Waited, f.Inside, f.Count)
	}
	for _, use := range t.Uses {
		b.row("  "+use.Process, "%.2f ms of CPU, %.1f switches a turn", use.CPU, use.Switches)
	}
}
