package workflow

import (
	"testing"
)

func TestAWorkflowFromEndToEnd(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*world){"in a directory": func(*world) {}, "in git": inGit} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, change, func(w *world) {
				w.plan = func(int) string { return tasksOf(2) }
				w.says = func(scope string, round int) string {
					if scope == "Task 1" && round == 1 {
						return "REVISE"
					}
					return "APPROVE"
				}
			})
			id := w.starts("dir=" + w.dir + " batch=1 stages=architect,builder,reviewer")
			root := w.ends(id)
			t.Logf("%s %q %v\n%s", root.Status, w.told(), w.reviewed(), w.said(root.ThreadID))
		})
	}
}
