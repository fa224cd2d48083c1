package delegation

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// Events may be lost: who is told so looks at everything.
func TestWhatWasMissedIsFound(t *testing.T) {
	w := newWorld(t, immortal)
	w.host.AddTask(pluginsdk.Task{ID: "task", ThreadID: "worker", MaxIterations: 5, CostCapUSD: 1, Plugin: name, Status: pluginsdk.TaskRunning})
	w.told(pluginsdk.Event{Type: pluginsdk.EventResync})
	if task := w.task("task"); task.CurrentIteration != 1 {
		t.Errorf("the task is %+v", task)
	}
}

// Tasks of other plugins are theirs to take on.
func TestOthersTasksAreLeftAlone(t *testing.T) {
	w := newWorld(t, immortal)
	w.host.AddTask(pluginsdk.Task{ID: "task", ThreadID: "worker", MaxIterations: 5, CostCapUSD: 1, Plugin: "another", Status: pluginsdk.TaskRunning})
	for _, event := range []pluginsdk.Event{w.moved(w.task("task")), {Type: pluginsdk.EventPipelineComplete, ThreadID: "worker"}, {Type: pluginsdk.EventResync}} {
		w.told(event)
	}
	if task := w.task("task"); task.CurrentIteration != 0 {
		t.Errorf("the task is %+v", task)
	}
}

// looking is a host that tells of each look at the tasks.
type looking struct {
	pluginsdk.Tasks
	looks chan<- pluginsdk.TaskQuery
}

func (l looking) List(ctx context.Context, request *pluginsdk.ListTasksRequest) (*pluginsdk.ListTasksResponse, error) {
	select {
	case l.looks <- request.Query:
	default: // it has told of one that nobody has asked for yet
	}
	return l.Tasks.List(ctx, request)
}

// A step that is due later must not need an event; and a plugin that is not active any
// more must be still.
func TestItLooksAgainWhenItIsTime(t *testing.T) {
	host, looks, begun := plugintest.NewHost().SDK(), make(chan pluginsdk.TaskQuery, 1), time.Now()
	host.Log = discard
	plugin := &Plugin{now: func() time.Time { return begun }}
	if err := plugin.Start(t.Context(), host); err != nil {
		t.Fatal(err)
	}
	if err := plugin.Activate(t.Context()); err != nil {
		t.Fatal(err)
	}
	plugin.host.Tasks = looking{host.Tasks, looks}
	for range 2 { // each look sets the next
		plugin.alarm.at(begun)
		if query := <-looks; query.Statuses == nil {
			t.Errorf("it looks at %+v", query)
		}
	}
	if err := plugin.Deactivate(t.Context()); err != nil {
		t.Fatal(err)
	}
	plugin.alarm.at(begun)
	select {
	case <-looks:
		t.Error("it looks after it was deactivated")
	default:
	}
}

func TestTheAlarmRingsAtTheEarliestTime(t *testing.T) {
	var a alarm
	now := time.Now()
	a.at(now.Add(time.Hour))
	a.at(now.Add(2 * time.Hour))
	if !a.next.Equal(now.Add(time.Hour)) {
		t.Errorf("it rings at %v", a.next)
	}
	rang := make(chan bool)
	go func() { rang <- a.wait(t.Context(), time.Now) }()
	a.at(now)
	if !<-rang || !a.next.IsZero() {
		t.Errorf("it has not rung, or will again at %v", a.next)
	}
	a.at(now.Add(time.Hour))
	ended, end := context.WithCancel(t.Context())
	end()
	if a.wait(ended, time.Now) {
		t.Error("it rings for who does not wait any more")
	}
}

// What an operator sets for all tasks must be what may be asked for; and a worker whose
// turns fail must neither be hurried nor be forgotten.
func TestSettings(t *testing.T) {
	parsed, err := parseConfig(json.RawMessage(`{"costCap": 20}`))
	if err != nil || parsed.MaxCost != 20 || parsed.MaxIterations != 5 || parsed.MaxValidationRounds != 3 || parsed.Depth != 3 || parsed.AtOnce != 20 {
		t.Errorf("%+v, %v", parsed, err)
	}
	for failures, want := range map[int]time.Duration{1: 10 * time.Second, 2: 20 * time.Second, 3: 40 * time.Second, 10: longestWait, 100: longestWait} {
		if got := parsed.rest(failures); got != want {
			t.Errorf("after %d failures it rests for %v, want %v", failures, got, want)
		}
	}
	parsed.RetrySeconds = 3600
	if got := parsed.rest(3); got != time.Hour {
		t.Errorf("it rests for %v", got)
	}
}
