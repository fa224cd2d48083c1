package daemon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/pluginhost"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// hall is an installation in which exhibits of the gallery are shown, with a
// good plugin, the witness, behind them in the order.
type hall struct {
	*installation
	store *store.Store
	temp  string // TMPDIR of the daemon and its plugins

	mu    sync.Mutex
	ended map[string]chan struct{} // by run
}

const witnessName = "witness"

// witnessed are the hooks that the witness answers, in their order.
var witnessed = []pluginsdk.Hook{
	pluginsdk.HookBeforeRun, pluginsdk.HookPipelineStart, pluginsdk.HookMessage, pluginsdk.HookBeforeInvoke,
	pluginsdk.HookAfterInvoke, pluginsdk.HookBeforeReply, pluginsdk.HookPipelineComplete,
}

// openHall prepares an installation with the exhibits in its directory, off.
func openHall(t *testing.T, supervise func(*pluginhost.Config), exhibits ...string) *hall {
	t.Helper()
	in := newInstallation(t, "")
	temp, err := os.MkdirTemp("", "hall") // short: sockets may have to go there
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(temp) })
	h := &hall{installation: in, temp: temp, ended: make(map[string]chan struct{})}
	t.Setenv("TMPDIR", temp)
	t.Cleanup(h.sweep)
	for _, name := range append(exhibits, witnessName) {
		in.link(filepath.Join(pluginDir, "gallery"), name)
	}
	in.config.Supervise = func(c *pluginhost.Config) {
		attentive(c)
		if supervise != nil {
			supervise(c)
		}
	}
	return h
}

// sweep ends what a plugin has left behind: the test has failed then, but the
// machine goes on.
func (h *hall) sweep() {
	for _, process := range marked(h.t, h.installation) {
		id, _, _ := strings.Cut(process, " ")
		if pid, err := strconv.Atoi(id); err == nil {
			h.t.Errorf("left behind: %s", process)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// open starts the daemon, and the witness.
func (h *hall) open() (stop func()) {
	h.t.Helper()
	h.store = h.database()
	stop = h.start()
	h.must(h.store.SetPluginGrants(h.t.Context(), witnessName, withHooks(), nil))
	h.must(h.store.EditPlugin(h.t.Context(), witnessName, "test", "plugin.test", func(row *ledger.Plugin) (string, error) {
		row.Position = 900
		return "", nil
	}))
	h.enable(witnessName)
	h.listen()
	return stop
}

func (h *hall) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// enable turns a plugin on and waits until it serves.
func (h *hall) enable(name string) {
	h.t.Helper()
	h.must(h.store.SetPluginEnabled(h.t.Context(), name, true))
	h.await(name, pluginsdk.PluginServing)
}

// disable turns a plugin off and waits until it is.
func (h *hall) disable(name string) {
	h.t.Helper()
	h.must(h.store.SetPluginEnabled(h.t.Context(), name, false))
	h.await(name, pluginsdk.PluginDisabled)
}

func (h *hall) row(name string) ledger.Plugin {
	h.t.Helper()
	return plugin(h.t, h.store, name)
}

func (h *hall) await(name string, states ...pluginsdk.PluginState) {
	h.t.Helper()
	h.until(fmt.Sprintf("%s's being %v", name, states), func() bool { return slices.Contains(states, h.row(name).State) })
}

// file is what an exhibit wrote beside itself.
func (h *hall) file(name string) string {
	content, _ := os.ReadFile(filepath.Join(h.config.Plugins, name)) // it may be there later
	return string(content)
}

// listen notes the end of every run.
func (h *hall) listen() {
	h.t.Helper()
	watch := h.watch()
	listening := make(chan struct{})
	go func() {
		defer close(listening)
		for event := range watch.frames {
			switch pluginsdk.EventType(event.Event) { //nolint:exhaustive // the ends of runs
			case pluginsdk.EventPipelineComplete, pluginsdk.EventPipelineError:
				close(h.endOf(event.runID()))
			}
		}
	}()
	h.t.Cleanup(func() {
		watch.leave()
		<-listening
	})
}

func (h *hall) endOf(run string) chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	end := h.ended[run]
	if end == nil {
		end = make(chan struct{})
		h.ended[run] = end
	}
	return end
}

// audience is how many threads talk at once.
const audience = 4

// turns lets n turns be answered, in several threads at once, and returns how
// long each took. All must be answered at the first attempt, with every hook of
// the witness and the rows of the activity plugin.
func (h *hall) turns(n int) latencies {
	h.t.Helper()
	var mu sync.Mutex
	var took latencies
	var talkers sync.WaitGroup
	threads := make([]string, audience)
	for k := range threads {
		threads[k] = h.thread(fmt.Sprintf("audience %d", k))
		talkers.Go(func() {
			for range n / audience {
				one, err := h.turn(threads[k])
				if err != nil {
					h.t.Error(err)
					return
				}
				mu.Lock()
				took = append(took, one)
				mu.Unlock()
			}
		})
	}
	talkers.Wait()
	h.inspect(threads, n/audience)
	slices.Sort(took)
	return took
}

// turn is one message and its answer.
func (h *hall) turn(thread string) (time.Duration, error) {
	began := time.Now()
	_, err := h.ask(thread, "hello")
	return time.Since(began), err
}

// ask sends a message, waits until its run is over and returns the run's id.
func (h *hall) ask(thread, content string) (string, error) {
	body, err := json.Marshal(map[string]string{"threadId": thread, "content": content})
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.base+"/api/chat", strings.NewReader(string(body)))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var accepted pluginsdk.Accepted
	if err := json.NewDecoder(response.Body).Decode(&accepted); err != nil || accepted.RunID == "" {
		return "", fmt.Errorf("POST /api/chat: %d %w", response.StatusCode, err)
	}
	select {
	case <-h.endOf(accepted.RunID):
		return accepted.RunID, nil
	case <-ctx.Done():
		return accepted.RunID, fmt.Errorf("run %s has no end", accepted.RunID)
	}
}

// inspect looks at what became of the turns of the threads.
func (h *hall) inspect(threads []string, each int) {
	h.t.Helper()
	seen := make(map[string]int)
	for line := range strings.Lines(h.file("witness.log")) {
		seen[strings.TrimSpace(line)]++
	}
	for _, thread := range threads {
		runs, err := h.store.Runs(h.t.Context(), pluginsdk.RunQuery{ThreadID: thread, Limit: 1000})
		h.must(err)
		if len(runs) != each {
			h.t.Errorf("%d runs of %d in a thread", len(runs), each)
		}
		rows, err := h.store.Messages(h.t.Context(), pluginsdk.MessageQuery{ThreadID: thread, Limit: 1000})
		h.must(err)
		for _, run := range runs {
			if run.State != pluginsdk.RunSucceeded || run.Attempt != 1 {
				h.t.Errorf("run %s is %s at attempt %d: %s", run.ID, run.State, run.Attempt, run.Error)
			}
			for _, hook := range witnessed {
				if times := seen[run.ID+" "+string(hook)]; times != 1 {
					h.t.Errorf("run %s: %s of the witness was called %d times", run.ID, hook, times)
				}
			}
			if got := rowsOf(rows, run.ID); got != "Pipeline completed, Pipeline started, reply" {
				h.t.Errorf("run %s left %s", run.ID, got)
			}
		}
	}
}

// rowsOf names the rows of a run that everybody must have.
func rowsOf(rows []pluginsdk.Message, run string) string {
	found := make(map[string]bool)
	for _, row := range rows {
		switch {
		case row.RunID != run:
		case row.Role == pluginsdk.RoleAssistant && row.Kind == pluginsdk.MessageText:
			found["reply"] = true
		case row.Kind == pluginsdk.MessageStatus:
			found[row.Content] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), ", ")
}

// latencies are sorted.
type latencies []time.Duration

func (l latencies) at(q float64) time.Duration {
	if len(l) == 0 {
		return 0
	}
	return l[int(q*float64(len(l)-1)+0.5)]
}

// over counts those that took longer.
func (l latencies) over(limit time.Duration) int {
	n := 0
	for _, one := range l {
		if one > limit {
			n++
		}
	}
	return n
}
