package terminal

import (
	"bufio"
	"context"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Asker has a person answer what the agent asks in a run, while something else waits for
// that run. Look and Heed tell it of the run, one at a time, between Start and Stop.
type Asker struct {
	Client *client.Client
	Screen *Screen
	// In is where the person answers; nil: what is asked is told, and answered elsewhere. It
	// is read only while a question is shown: what else is typed is for what comes after.
	In     io.Reader
	Unread time.Duration // as in Chat
	// Hold is told whether a question is shown, which nothing may be written over; may be
	// nil.
	Hold func(shown bool)

	asks  questions
	lines lineReader
	told  chan func(context.Context)
	done  <-chan struct{}
	stop  context.CancelFunc
	work  sync.WaitGroup
}

// Start begins to ask, until Stop.
func (a *Asker) Start(ctx context.Context) {
	ctx, a.stop = context.WithCancel(ctx)
	a.told, a.done = make(chan func(context.Context)), ctx.Done()
	a.asks = questions{client: a.Client, screen: a.Screen, tell: a.In == nil, unread: a.Unread}
	if a.In != nil {
		a.lines.in = bufio.NewReader(a.In)
	}
	a.work.Go(func() {
		for a.step(ctx) {
		}
	})
}

// Stop ends it. What is open goes on without the person.
func (a *Asker) Stop() {
	a.stop()
	a.work.Wait()
	a.Screen.Fresh()
}

// Look reads what is open of a run.
func (a *Asker) Look(runID string) {
	a.tell(func(ctx context.Context) {
		a.asks.query = pluginsdk.ApprovalQuery{RunID: runID}
		a.asks.look(ctx)
	})
}

// Heed deals with an event of the run.
func (a *Asker) Heed(event pluginsdk.Event) {
	if event.Type == pluginsdk.EventApprovalRequested || event.Type == pluginsdk.EventApprovalResolved {
		a.tell(func(ctx context.Context) { a.asks.heed(ctx, event) })
	}
}

// tell returns once do is done, so that what was told before Stop is shown.
func (a *Asker) tell(do func(context.Context)) {
	done := make(chan struct{})
	select {
	case a.told <- func(ctx context.Context) { defer close(done); do(ctx) }:
		<-done
	case <-a.done:
	}
}

// step waits for one thing to happen and deals with it; false ends it.
func (a *Asker) step(ctx context.Context) bool {
	var lines <-chan string
	if a.asks.asking() {
		lines = a.lines.next()
	}
	select {
	case <-ctx.Done():
		return false
	case do := <-a.told:
		do(ctx)
	case line, ok := <-lines:
		a.lines.taken()
		if !ok { // nobody is there any more
			a.asks.tell = true
			for a.asks.asking() {
				a.asks.putOff(a.asks.open[0])
			}
			break
		}
		a.Screen.Entered()
		if rest := a.asks.line(ctx, strings.TrimSpace(line)); rest != "" {
			a.Screen.Line(a.Screen.Yellow("(only answers are taken here, and “" + Clean(rest) + "” was not sent; harness chat is for talking)"))
		}
	}
	if a.Hold != nil {
		a.Hold(a.asks.asking())
	}
	if a.asks.asking() {
		a.Screen.Begin(a.Screen.Bold(a.asks.open[0].prompt()))
	}
	return true
}

// lineReader reads one line at a time, and none before it is asked to.
type lineReader struct {
	in      *bufio.Reader
	pending chan string // where the next line will be; nil: nobody has asked for it
}

// next is where the next line is handed out; it is closed when there is none. A read that is
// under way cannot be ended from here: its goroutine lives until in says something, or the
// process ends.
func (l *lineReader) next() <-chan string {
	if l.pending == nil {
		pending := make(chan string, 1)
		l.pending = pending
		go func() {
			line, err := l.in.ReadString('\n')
			if err == nil || line != "" {
				pending <- line
			}
			if err != nil {
				close(pending)
			}
		}()
	}
	return l.pending
}

// taken notes that what next has promised is here.
func (l *lineReader) taken() { l.pending = nil }
