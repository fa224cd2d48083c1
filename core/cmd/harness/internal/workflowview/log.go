package workflowview

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Log prints what has happened in a workflow, a line for each beginning and end of a stage and each verdict, and goes on
// with what happens.
type Log struct {
	Client *client.Client
	ID     string
	Out    io.Writer
	Style  terminal.Style
	// Ticks are when to look how the workflow stands: what tells of it may be lost.
	Ticks <-chan time.Time

	printed map[string]bool // lines, by what they say of which stage
	last    string          // what was said of the state
}

// Print prints what has happened so far, and returns the workflow as it is.
func (l *Log) Print(ctx context.Context) (client.Workflow, error) {
	w, err := l.Client.Workflow(ctx, l.ID)
	if err == nil {
		l.print(w)
	}
	return w, err
}

// Follow prints what has happened and what happens, until the workflow goes on by itself no more (it is over, has stopped or
// waits for a person), or ctx ends. It returns the workflow as it is then.
func (l *Log) Follow(ctx context.Context) (w client.Workflow, err error) {
	told := make(chan struct{}, 1) // something may have happened
	look := func() {
		select {
		case told <- struct{}{}:
		default:
		}
	}
	var watcher sync.WaitGroup
	defer watcher.Wait()
	watching, done := context.WithCancel(ctx)
	defer done()
	watcher.Go(func() {
		_ = l.Client.Watch(watching, client.Subscription{Up: look, Event: func(event pluginsdk.Event) {
			if strings.HasPrefix(string(event.Type), "task:") || event.Type == pluginsdk.EventResync {
				look()
			}
		}}) // what it cannot tell is seen at a tick
	})
	for {
		now, err := l.Client.Workflow(ctx, l.ID)
		switch {
		case ctx.Err() != nil:
			fmt.Fprintln(l.Out, l.Style.Dim("(the workflow goes on)"))
			return w, nil
		case err != nil && (w.ID == "" || !client.Passing(err)): // a daemon that was there may come back
			return w, err
		case err == nil:
			w = now
			if l.print(w); !w.State.Moves() {
				return w, nil
			}
		}
		select {
		case <-ctx.Done():
		case <-told:
		case <-l.Ticks:
		}
	}
}

// entry is a line of the log.
type entry struct {
	key string
	at  time.Time
	say string
}

// print prints what was not printed yet, in its order, and where the workflow is, if that has changed.
func (l *Log) print(w client.Workflow) {
	if l.printed == nil {
		l.printed = make(map[string]bool)
	}
	news := slices.DeleteFunc(entries(w, l.Style), func(e entry) bool { return l.printed[e.key] })
	slices.SortStableFunc(news, func(a, b entry) int {
		if a.at.IsZero() != b.at.IsZero() { // what has no time stands at the end
			return -a.at.Compare(b.at)
		}
		return a.at.Compare(b.at)
	})
	for _, one := range news {
		l.printed[one.key] = true
		clock := "        "
		if !one.at.IsZero() {
			clock = one.at.Local().Format("15:04:05")
		}
		fmt.Fprintf(l.Out, "%s  %s\n", l.Style.Dim(clock), one.say)
	}
	if standing := l.standing(w); standing != l.last || len(news) > 0 && w.State.Moves() {
		fmt.Fprintln(l.Out, standing)
		l.last = standing
	}
}

// standing is where the workflow is: its state, how far it has come, what it has cost, and what is left or why it waits.
func (l *Log) standing(w client.Workflow) string {
	words := fmt.Sprintf("%s: %s stages, %s USD", State(w.State), progress(w.Stages), usd(w.Cost.USD, w.Cost.Unsure))
	if w.Cost.CapUSD > 0 {
		words = fmt.Sprintf("%s: %s stages, %s of %.2f USD", State(w.State), progress(w.Stages), usd(w.Cost.USD, w.Cost.Unsure), w.Cost.CapUSD)
	}
	if w.Estimate != nil && w.Estimate.Text != "" && w.State.Moves() {
		words += "; left: " + terminal.Short(w.Estimate.Text, lineLimit)
	}
	if w.Waits != "" {
		words += "; " + terminal.Short(w.Waits, 2*lineLimit)
	}
	if !w.State.Moves() {
		for _, one := range Remedies(w) {
			words += "\n  harness workflow " + one.Words
		}
	}
	return paint(l.Style, w.State)(words)
}

// entries are the lines that a workflow as it stands makes. A stage that has begun anew has other lines than before.
func entries(w client.Workflow, style terminal.Style) (all []entry) {
	for n, stage := range w.Stages {
		of := fmt.Sprintf("%d %s attempt %d", n, stage.Batch, stage.Attempt)
		words := name(stage)
		if stage.Attempt > 1 {
			words += fmt.Sprintf(", attempt %d", stage.Attempt)
		}
		if stage.Round > 1 {
			words += fmt.Sprintf(", round %d", stage.Round)
		}
		if !stage.StartedAt.IsZero() {
			all = append(all, entry{of + " began " + stage.StartedAt.String(), stage.StartedAt, words + " has begun"})
		}
		if v := stage.Validation; v != nil && !v.Passed {
			all = append(all, entry{fmt.Sprintf("%s checks %d", of, v.Tries), v.At, style.Yellow(words+": the checks failed") + ": " + terminal.Short(v.Reason, lineLimit)})
		}
		all = append(all, spoken(fmt.Sprintf("%d %s", n, stage.Batch), name(stage), stage.Verdicts, style)...)
		switch stage.Status {
		case "completed":
			all = append(all, entry{of + " done", stage.CompletedAt, style.Green(words+" is done") + fmt.Sprintf(" (%s, %.2f USD)", took(stage.Seconds), stage.CostUSD)})
		case "failed":
			all = append(all, entry{of + " failed", stage.CompletedAt, style.Red(words + " has failed")})
		}
	}
	return append(all, spoken("final", "review of the whole change", w.Final, style)...)
}

// spoken are the lines of verdicts.
func spoken(of, who string, verdicts []client.WorkflowVerdict, style terminal.Style) (all []entry) {
	for n, v := range verdicts {
		colour := style.Yellow
		if v.Verdict == "APPROVE" || v.By != "" {
			colour = style.Green
		}
		words := who + ": " + colour(Verdict(v))
		if v.Summary != "" {
			words += ": " + terminal.Short(v.Summary, lineLimit)
		}
		all = append(all, entry{fmt.Sprintf("%s verdict %d", of, n), v.At, words})
	}
	return all
}
