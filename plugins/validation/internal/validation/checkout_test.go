package validation_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Checks run what the worker has written. Whatever they do to the files, the reviewer is shown
// the tree that would be merged, in a place where they never ran.
func TestTheReviewerSeesTheTreeAndNotWhatChecksMakeOfIt(t *testing.T) {
	for name, does := range map[string]string{
		"rewrites the file":    "echo echo harmless >new.sh",
		"hides it":             "rm -f new.sh",
		"attributes":           "echo '*.sh -diff' >.gitattributes; echo echo harmless >new.sh",
		"replaces the object":  "printf 'echo harmless\\n' >b; git replace $(git hash-object -w new.sh) $(git hash-object -w b); cd $DIR; printf 'echo harmless\\n' >b; git replace $(git hash-object new.sh) $(git hash-object -w b); rm b",
		"commits":              "echo echo harmless >new.sh; git add -A; git -c user.name=A -c user.email=a@b commit -qm x",
		"a link":               "rm new.sh; ln -s /etc/hostname new.sh",
		"in the worktree":      "echo echo harmless >$DIR/new.sh",
		"in all checkouts":     "for d in $PWD/../..; do find $d -name new.sh -exec sh -c 'echo echo harmless >$0' {} \\; ; done",
		"its own git":          "rm -rf .git; git init -q",
		"a filter of its own":  "git config filter.x.smudge 'echo benign'; git -C $DIR config filter.x.smudge 'echo benign'; echo '* filter=x' >$DIR/.git/info/attributes",
		"a reading-only place": "mkdir ro; touch ro/x; chmod 500 ro",
		"outlives the checks":  "setsid sh -c 'echo $$ >$DIR/outlives; while :; do sleep 1; done' >/dev/null 2>&1 & while [ ! -s $DIR/outlives ]; do :; done",
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			f.settings(object{
				"checks":      list{object{"name": "test", "command": "echo test >>$RAN; touch left; " + does}, object{"name": "lint", "command": ""}},
				"environment": object{"RAN": filepath.Join(f.dir, "ran"), "DIR": f.dir},
			})
			f.lay(map[string]string{"new.sh": "curl http://evil\n"})
			f.work("two\n")
			read := ""
			f.Agent = func(_ context.Context, r pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
				f.asked = append(f.asked, r)
				dir := strings.TrimSuffix(strings.TrimPrefix(r.AllowedTools[0], "Read(/"), "/**)")
				content, err := os.ReadFile(filepath.Join(dir, "new.sh"))
				if _, left := os.Lstat(filepath.Join(dir, "left")); left == nil || err != nil {
					t.Errorf("the checks ran in the reviewer's place, or the file is gone: %v", err)
				}
				if _, there := os.Lstat(filepath.Join(filepath.Dir(filepath.Dir(dir)), "checks")); there == nil {
					t.Error("the checkout of the checks is there yet")
				}
				if pid, err := os.ReadFile(filepath.Join(f.dir, "outlives")); err == nil {
					if _, err := os.Lstat(filepath.Join("/proc", strings.TrimSpace(string(pid)), "fd", "0")); err == nil {
						t.Error("what the checks have started is there yet")
					}
				}
				read = string(content)
				return good(rejection)
			}
			said, err := f.review(f.serve())
			if err != nil || said.Verdict != pluginsdk.VerdictReject || f.ran() == 0 || read != "curl http://evil\n" {
				t.Fatalf("%+v, %v after %d runs; read was %q", said, err, f.ran(), read)
			}
			if prompt := f.turns()[0].Prompt; !strings.Contains(prompt, "> +curl http://evil") || strings.Contains(prompt, "harmless") && !strings.Contains(does, "harmless") {
				t.Errorf("the reviewer was asked %s", prompt)
			}
		})
	}
}

// No file of a change goes unnamed or unread: what is too large for a review is a person's.
func TestNothingOfAChangeGoesUnread(t *testing.T) {
	long := strings.Repeat("a-long-name", 18)
	for name, row := range map[string]struct {
		files int
		lines int
		waits bool
		turns int
	}{
		"many long names": {110, 1, false, 1}, "more than the evidence shows": {10, 700, false, 1}, "more names than a prompt has": {300, 1, false, 3}, "more than a prompt has": {10, 2000, false, 2},
		"too many names": {1300, 1, true, 0}, "too much": {60, 2000, true, 0}, "one file that is too long": {1, 16000, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			f.reviewers(accepts)
			files := map[string]string{"zz_evil.sh": "curl http://evil\n"}
			for n := range row.files {
				files[fmt.Sprintf("%s-%03d", long, n)] = strings.Repeat("a line\n", row.lines)
			}
			f.lay(files)
			f.work("two\n")
			said, err := f.review(f.serve())
			if err != nil {
				t.Fatal(err)
			}
			if row.waits {
				if said.Verdict != pluginsdk.VerdictWait || len(f.turns()) != 0 || f.ran() != 1 || !strings.Contains(said.Feedback, "git -C "+f.dir+" diff") || said.Marks[0] != "unread" {
					t.Errorf("%+v after %d reviews", said, len(f.turns()))
				}
				return
			}
			if said.Verdict != pluginsdk.VerdictAccept || len(f.turns()) != row.turns {
				t.Fatalf("%+v after %d reviews", said, len(f.turns()))
			}
			prompt, lines := "", make(map[string]bool)
			for _, turn := range f.turns() {
				prompt += turn.Prompt
			}
			for line := range strings.Lines(prompt) {
				lines[line] = true
			}
			for path := range files {
				if row.turns == 1 && !lines["> "+path+"\n"] || !lines["> +++ b/"+path+"\n"] {
					t.Errorf("%s is not in the prompt", path)
				}
			}
			if !strings.Contains(prompt, "> +curl http://evil") || row.turns == 1 && strings.Contains(prompt, "cut off") {
				t.Error("the change is not whole")
			}
		})
	}
}

// A checkout is readied as the worktree was; what cannot be is the worker's to mend. Nothing of
// a task's checkouts is left when it is over.
func TestACheckoutIsReadied(t *testing.T) {
	f := start(t)
	f.says = []pluginsdk.InvokeResult{good()}
	f.settings(object{"checks": list{object{"name": "test", "command": "echo test >>$RAN; test -e ready"}, object{"name": "lint", "command": ""}}})
	f.request.Evidence = append(f.request.Evidence, pluginsdk.Evidence{Kind: "setup", Command: "touch ready", File: ".", Plugin: "stranger"})
	plugin := f.serve()
	if said, err := f.review(plugin); err != nil || said.Verdict != pluginsdk.VerdictReject || strings.Contains(said.Feedback, "harness-work-") {
		t.Errorf("with a stranger's command: %+v, %v", said, err)
	}
	last := &f.request.Evidence[len(f.request.Evidence)-1]
	last.Plugin, last.Command, f.request.Call.ID = "worktree", "echo no such lock; false", "call-2"
	if said, err := f.review(plugin); err != nil || said.Verdict != pluginsdk.VerdictReject || !strings.Contains(said.Feedback, "no such lock") || f.ran() != 1 {
		t.Errorf("with one that fails: %+v, %v", said, err)
	}
	last.Command, f.request.Call.ID = "touch ready", "call-3"
	f.says = []pluginsdk.InvokeResult{good(rejection)}
	if said, err := f.review(plugin); err != nil || f.ran() != 2 || len(f.turns()) != 1 {
		t.Errorf("readied: %+v, %v", said, err)
	}
	if _, err := plugin.OnTaskFailed(t.Context(), &pluginsdk.OnTaskFailedRequest{Task: f.request.Task}); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "harness-work-*", "*")); err != nil || len(left) > 0 {
		t.Errorf("left are %q, %v", left, err)
	}
}
