package workflow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-706843ae/harness/plugins/workflow/internal/stages"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// reviseOnce is a reviewer of the first batch that asks for changes once.
func reviseOnce(scope string, round int) string {
	if scope == "Task 1" && round == 1 {
		return "REVISE"
	}
	return "APPROVE"
}

// sound checks what holds at the end of each life of this workflow: each stage was worked on, and each
// batch reviewed, as often as in a life without deaths; no batch that was approved has a task after that;
// and the state file is the record.
func (w *world) sound(id string, told []string, reviewed map[string]int) {
	w.Helper()
	if task := w.task(id); task.Status != pluginsdk.TaskCompleted {
		w.Errorf("it is %s: %s", task.Status, task.Error)
	}
	if got := w.told(); !slices.Equal(got, told) {
		w.Errorf("its agents were told %q, and not %q", got, told)
	}
	if got := w.reviewed(); !maps.Equal(got, reviewed) {
		w.Errorf("it was reviewed %v, and not %v", got, reviewed)
	}
	completed := make(map[string]bool)
	for _, task := range w.tasks() {
		batch := task.Labels[labelBatch]
		if batch == "" {
			continue
		}
		if completed[batch] {
			w.Errorf("%s was built again, by %s, after it was approved", batch, task.ID)
		}
		completed[batch] = task.Status == pluginsdk.TaskCompleted
	}
	w.mirrors(id)
}

// mirrors checks that the state file says what the record says.
func (w *world) mirrors(id string) {
	w.Helper()
	content, err := os.ReadFile(filepath.Join(w.dir, ".brain", "pipeline-state.json"))
	if err != nil {
		w.Error(err)
		return
	}
	var state stages.State
	if err := json.Unmarshal(content, &state); err != nil {
		w.Error(err)
	}
	if rec := w.record(id); !reflect.DeepEqual(state, rec.State) {
		stored, _ := json.Marshal(rec.State)
		written, _ := json.Marshal(state)
		w.Errorf("the state file is not the record:\n%s\n%s", written, stored)
	}
}

// survives lives a workflow to its end, and starts the plugin again each time that it dies.
func (w *world) survives(options string) (id string, deaths int) {
	w.Helper()
	stop := w.revives()
	id = w.starts(options)
	w.ends(id)
	return id, stop()
}

// revives starts the plugin again whenever it dies, until stop is called, which returns how often it has died.
func (w *world) revives() (stop func() int) {
	over, revived := make(chan struct{}), make(chan int, 1)
	go func() {
		for deaths := 0; ; deaths++ {
			select {
			case <-w.now().died:
			case <-over:
				revived <- deaths
				return
			}
			if w.meanwhile != nil {
				w.meanwhile(deaths + 1)
			}
			w.begin()
		}
	}()
	return sync.OnceValue(func() int {
		close(over)
		return <-revived
	})
}

// deadly kills the plugin at a step, and then again and again, after about so many steps: not after the same
// number, which could be that of the steps that lead to the first that is new.
func deadly(first, stride int, seed uint64) func(string, int) bool {
	var mu sync.Mutex
	random, next := rand.New(rand.NewPCG(seed, 0)), first+1
	return func(_ string, nth int) bool {
		mu.Lock()
		defer mu.Unlock()
		if nth < next {
			return false
		}
		next = nth + stride - 1 + random.IntN(3)
		return true
	}
}

const twoBatches = "batch=1 stages=architect,builder,reviewer"

var (
	toldOnce     = []string{"architect #1", "builder Task 1 #1", "builder Task 1 #2", "builder Task 2 #1"}
	reviewedOnce = map[string]int{"Task 1": 2, "Task 2": 1, "all": 1}
)

// A plugin that is killed at any of its steps goes on where it was: no stage is worked on twice, and no
// batch is reviewed or built again. Meanwhile the state file is cut, or becomes something else; it is set
// aside, and said.
func TestKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	const stride = 7
	for name, row := range map[string]struct {
		world  func(*world)
		spoils func(content []byte) []byte
	}{
		"in a directory": {},
		"in git":         {world: inGit},
		"asked twice":    {world: func(w *world) { w.twice = true }},
		"cut":            {spoils: func(content []byte) []byte { return content[:len(content)/2] }},
		"rubbish":        {spoils: func([]byte) []byte { return []byte("\x00\xff rubbish") }},
		"newer": {spoils: func(content []byte) []byte {
			return bytes.Replace(content, []byte(`"version": 1`), []byte(`"version": 9`), 1)
		}},
		"gone": {spoils: func([]byte) []byte { return nil }},
	} {
		for first := range stride {
			if row.spoils != nil && first > 1 {
				break
			}
			t.Run(fmt.Sprintf("%s, each %dth from the %dth", name, stride, first), func(t *testing.T) {
				t.Parallel()
				spoiled := 0
				w := newWorld(t, func(w *world) {
					w.says = reviseOnce
					w.dies = deadly(first, stride, uint64(first))
					if row.world != nil {
						row.world(w)
					}
					path := filepath.Join(w.dir, ".brain", "pipeline-state.json")
					w.meanwhile = func(int) {
						content, err := os.ReadFile(path)
						if err != nil || row.spoils == nil {
							return
						}
						if content = row.spoils(content); content == nil {
							err = os.Remove(path)
						} else {
							spoiled++
							err = os.WriteFile(path, content, 0o644)
						}
						if err != nil {
							t.Error(err)
						}
					}
				})
				id, deaths := w.survives("dir=" + w.dir + " " + twoBatches)
				if deaths < 4 {
					t.Errorf("it has died %d times only", deaths)
				}
				w.sound(id, toldOnce, reviewedOnce)
				aside, err := filepath.Glob(filepath.Join(w.dir, ".brain", "pipeline-state.json.bad-*"))
				said := strings.Count(w.said(w.task(id).ThreadID), "set aside")
				if err != nil || len(aside) < spoiled-1 || said < min(spoiled, 1) { // the last may come after the end
					t.Errorf("of %d state files that were spoiled %d were set aside, which was said %d times: %v", spoiled, len(aside), said, err)
				}
			})
		}
	}
}

// What was to wait for a person when its plugin was killed waits for one, and does not go on by itself:
// neither past a limit, nor after a stop.
func TestKilledWhileItIsLeftToAPerson(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		world func(*world)
		why   string
		more  event
	}{
		"past a limit": {world: func(w *world) {
			w.says = func(scope string, round int) string {
				if scope == "Task 1" && round <= 3 {
					return "REVISE"
				}
				return "APPROVE"
			}
		}, why: "its reviewer has asked for changes 3 times"},
		"at its cost": {world: func(w *world) { w.prices.work = 1 }, why: "the workflow has cost $2.0", more: event{types: " cost=30"}},
		"blocked": {world: func(w *world) {
			w.works = w.does(map[string]func(job) pluginsdk.InvokeResult{"builder Task 1 #1": says("BLOCKED: which port?")})
		}, why: "which port?"},
		"after the last review": {world: func(w *world) {
			w.says = func(scope string, round int) string {
				if scope == "all" && round <= 3 {
					return "REVISE of Task 2"
				}
				return "APPROVE"
			}
		}, why: "the last review has asked for changes 3 times"},
	} {
		for first := range 3 {
			t.Run(fmt.Sprintf("%s, from the %dth", name, first), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, func(w *world) {
					row.world(w)
					w.dies = deadly(first, 6, uint64(first))
				})
				stop := w.revives()
				defer stop()
				options := "dir=" + w.dir + " " + twoBatches
				if row.more.types != "" {
					options += " cost=1.5"
				}
				id := w.starts(options)
				if why := w.waits(id); !strings.Contains(why, row.why) {
					t.Fatalf("it waits: %s", why)
				}
				told, reviewed := w.told(), w.reviewed()
				was := w.now()
				w.kill(was) // and again, while it waits
				w.until("the plugin to see that it waits", func() bool { return w.now() != was && w.now().plugin.sees(id) })
				if now := w.told(); w.task(id).Status != pluginsdk.TaskWaiting || !slices.Equal(told, now) || !maps.Equal(reviewed, w.reviewed()) {
					t.Errorf("it is %s, and was told %q, then %q", w.task(id).Status, told, now)
				}
				w.until("a plugin that lives", func() bool {
					_, err := w.types("/workflow continue " + id + row.more.types)
					return err == nil || w.task(id).Status != pluginsdk.TaskWaiting
				})
				w.ends(id)
				w.mirrors(id)
			})
		}
	}
}

// sees reports whether the workflow is driven, and its record known.
func (p *Plugin) sees(id string) bool {
	p.mu.Lock()
	f := p.flows[id]
	p.mu.Unlock()
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rec != nil
}
