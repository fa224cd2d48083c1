package daemon_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/invoker"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A small tool in Go: it prints the most frequent words of its input.
const (
	topModule = "module example.org/top\n\ngo 1.21\n"
	topPlan   = `# Plan

### Task 1: count words

top.go: a function Top(text string, n int) []Word, with tests.

### Task 2: the command

main.go: reads its standard input and prints the ten most frequent words.

### Task 3: a flag

main.go: -n says how many words are printed.
`
	// topGo is the function, but for what is left open.
	topGo = `package main

import (
	"sort"
	"strings"
)

// Word is a word and how often it occurs.
type Word struct {
	Text  string
	Times int
}

// Top returns the n most frequent words of a text.
func Top(text string, n int) []Word {
	counts := map[string]int{}
	for _, word := range strings.Fields(text) {
		counts[word]++
	}
	var words []Word
	for word, times := range counts {
		words = append(words, Word{word, times})
	}
	sort.Slice(words, func(i, j int) bool {
		%s
	})
	return words[:%s]
}
`
	topTest = `package main

import (
	"fmt"
	"testing"
)

func TestTop(t *testing.T) {
	if got := fmt.Sprint(Top("a b a c a b", 2)); got != "[{a 3} {b 2}]" {
		t.Error("FOUND-BY-A-TEST", got)
	}
	if got := len(Top("a", 2)); got != 1 {
		t.Error(got)
	}
}
`
	topMain = `package main

import (
	"fmt"
	"io"
	"os"
)

func main() {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, word := range Top(string(text), 10) {
		fmt.Println(word.Times, word.Text)
	}
}
`
	byTimes = "return words[i].Times > words[j].Times"
	andText = "if words[i].Times != words[j].Times {\n\t\t\treturn words[i].Times > words[j].Times\n\t\t}\n\t\treturn words[i].Text < words[j].Text"
)

// topScript is what the demo agent does: the first try of the first batch fails its own tests, the second one
// its review, and what a prompt asks for decides, so that it does not matter who was killed when.
func topScript(t *testing.T) []invoker.Rule {
	write := func(match, text string, files ...string) invoker.Rule {
		input := map[string]any{"files": map[string]string{}}
		for n := 0; n+1 < len(files); n += 2 {
			input["files"].(map[string]string)[files[n]] = files[n+1]
		}
		raw, err := json.Marshal(input)
		if err != nil {
			t.Fatal(err)
		}
		return invoker.Rule{Match: match, ToolName: "scribe__write", ToolInput: raw, Text: text}
	}
	say := func(match, output string) invoker.Rule {
		return invoker.Rule{Match: match, StructuredOutput: json.RawMessage(output)}
	}
	flagged := strings.NewReplacer("\t\"fmt\"", "\t\"flag\"\n\t\"fmt\"", "func main() {\n", "func main() {\n\tn := flag.Int(\"n\", 10, \"how many words are printed\")\n\tflag.Parse()\n", ", 10) {", ", *n) {").Replace(topMain)
	return []invoker.Rule{
		say("# Last review of all the work", verdict("APPROVE", "Task 3")),
		say("> +\t\t"+byTimes, verdict("REVISE", "", "ORDER-OF-EQUALS: top.go: words that are as frequent have no order")),
		say("# Review of ", verdict("APPROVE", "")),
		write("ORDER-OF-EQUALS", "Words that are as frequent are in order now.", "top.go", fmt.Sprintf(topGo, andText, "min(n, len(words))")),
		write("FOUND-BY-A-TEST", "The order was the wrong one.", "top.go", fmt.Sprintf(topGo, byTimes, "min(n, len(words))")),
		write("# Building of Tasks 1-2", "It is built.", "go.mod", topModule, "top.go", fmt.Sprintf(topGo, strings.ReplaceAll(byTimes, ">", "<"), "min(n, len(words))"), "top_test.go", topTest, "main.go", topMain),
		write("# Building of Task 3", "There is a flag.", "main.go", flagged),
		write("# Planning", "That is the plan.", ".brain/PLAN.md", topPlan),
		say("## How to choose", `{"stages":[{"agent":"architect"},{"agent":"builder"},{"agent":"reviewer"}],"why":"It is a program with tests."}`),
		// The other workflow: the checks of the project find the first try wrong, the reviewer the second one.
		say("> +ok draft", verdict("REVISE", "", "WANT-FINAL")),
		say("# Review", verdict("APPROVE", "")),
		write("WANT-FINAL", "Better now.", "result.txt", "ok final\n"),
		write("RESULT-IS-BROKEN", "Mended.", "result.txt", "ok draft\n"),
		write("# Building", "Here it is.", "result.txt", "wrong\n"),
		say("cceptance", `{"checks":["`+acceptance+`"]}`),
	}
}

// The demo agent's script drives a small project through a workflow: a tool in Go with tests, which is built,
// found wrong by its tests and then by its reviewer, mended, and reviewed as a whole. No model has looked at it,
// so a person's word merges it; then it builds, and its tests pass. In a directory without git the same goes on
// in the directory itself.
func TestTheDemoAgentBuildsAProjectInAWorkflow(t *testing.T) {
	t.Parallel()
	w := &workshop{installation: delegating(t, ""), studio: &studio{t: t}}
	w.link(filepath.Join(pluginDir, "workflow"), "workflow")
	script, err := json.Marshal(topScript(t))
	if err != nil {
		t.Fatal(err)
	}
	w.demo(string(script))
	w.rows = w.database()
	w.start()
	w.atWork(w.rows)
	w.serving(w.rows, "workflow")
	project, plain := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(plain, "Makefile"), []byte("test:\n\t@test ! -e result.txt || grep -q ok result.txt || { echo RESULT-IS-BROKEN; exit 1; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	built := w.begin(w.primary(), project, "git=yes batch=2", "a command that prints the most frequent words of its input")
	inPlace := w.begin(w.primary(), plain, "git=no stages=builder,reviewer", "result.txt says ok")
	w.subtest("in a git repository", func(t *testing.T) { w.builtByDemo(t, built, repository{t, project}) })
	w.subtest("without git", func(t *testing.T) { w.builtInPlace(t, inPlace, plain) })
}

func (w *workshop) builtByDemo(t *testing.T, b begun, r repository) {
	root := b.rests()
	b.tells()
	if root.Status != pluginsdk.TaskWaiting || !slices.Equal(root.Marks, []string{"demo"}) {
		t.Fatalf("it is %s %q: %s", root.Status, root.Marks, root.Error)
	}
	if files := r.git("ls-tree", "-r", "--name-only", "HEAD"); files != "" {
		t.Errorf("merged without a person's word were %s", files)
	}
	report := b.report()
	if tries, rounds := report.Stages[1].Validation, report.Stages[2].Verdicts; tries == nil || !tries.Passed || len(rounds) != 2 || rounds[0].Verdict != "REVISE" || len(report.Final) != 1 {
		t.Errorf("the stages are %+v, the last review %+v", report.Stages, report.Final)
	}
	b.says("continue", "accept=yes")
	w.until("the merge", func() bool { root = b.root(); return !root.CompletedAt.IsZero() })
	if root.Status != pluginsdk.TaskCompleted {
		t.Fatalf("it is %s: %s", root.Status, root.Error)
	}
	r.clean()
	for _, arguments := range [][]string{{"build", "-o", filepath.Join(t.TempDir(), "top"), "."}, {"test", "./..."}} {
		command := exec.CommandContext(t.Context(), "go", arguments...)
		command.Dir = r.dir
		output, err := command.CombinedOutput()
		if err != nil {
			t.Errorf("go %s: %v\n%s", arguments[0], err, output)
			continue
		}
		t.Logf("go %s: %s", arguments[0], output)
		if arguments[0] == "build" {
			run := exec.CommandContext(t.Context(), arguments[2], "-n", "2")
			run.Stdin = strings.NewReader("so it goes and so on and on it goes and goes")
			if said, err := run.CombinedOutput(); err != nil || string(said) != "3 and\n3 goes\n" {
				t.Errorf("the tool says %q: %v", said, err)
			}
		}
	}
	t.Logf("the repository:\n%s", r.git("log", "--graph", "--format=%h %an: %s"))
}

func (w *workshop) builtInPlace(t *testing.T, b begun, dir string) {
	root := b.rests()
	b.tells()
	if root.Status != pluginsdk.TaskCompleted || root.CwdPlugin != "" || !slices.Equal(root.Marks, []string{"demo"}) {
		t.Fatalf("it is %s %q: %s", root.Status, root.Marks, root.Error)
	}
	text, err := os.ReadFile(filepath.Join(dir, "result.txt"))
	if err != nil || string(text) != "ok final\n" {
		t.Errorf("the directory has %q: %v", text, err)
	}
	report := b.report()
	if v := report.Stages[1].Verdicts; report.Git || len(v) != 2 || v[0].Verdict != "REVISE" || v[1].Verdict != "APPROVE" || v[0].Tree == v[1].Tree {
		t.Errorf("the stages are %+v", report.Stages)
	}
	if ran := b.commands(); len(ran) != 3 || ran[0] != "make test" {
		t.Errorf("the checks that were run are %q", ran)
	}
	if _, err := os.Lstat(filepath.Join(dir, ".git")); !os.IsNotExist(err) {
		t.Errorf("it is a repository now: %v", err)
	}
}
