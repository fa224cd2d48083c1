package workflow

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
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
	over, revived := make(chan struct{}), make(chan int)
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
	id = w.starts(options)
	w.ends(id)
	close(over)
	return id, <-revived
}

const twoBatches = "batch=1 stages=architect,builder,reviewer"

// A plugin that is killed at any of its steps goes on where it was: no stage is worked on twice, and no
// batch is reviewed or built again.
func TestKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	told := []string{"architect #1", "builder Task 1 #1", "builder Task 1 #2", "builder Task 2 #1"}
	reviewed := map[string]int{"Task 1": 2, "Task 2": 1, "all": 1}
	const stride = 7
	for first := range stride {
		t.Run(fmt.Sprintf("each %dth from the %dth", stride, first), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(w *world) {
				w.says = reviseOnce
				w.dies = func(_ string, nth int) bool { return nth%stride == first }
			})
			id, deaths := w.survives("dir=" + w.dir + " " + twoBatches)
			if deaths < 4 {
				t.Errorf("it has died %d times only", deaths)
			}
			w.sound(id, told, reviewed)
		})
	}
}
