package review_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-706843ae/harness/plugins/validation/internal/checks"
	"github.com/seed-706843ae/harness/plugins/validation/internal/review"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// git runs git in a directory, and returns what it prints.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@b")
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, output)
	}
	return strings.TrimSpace(string(output))
}

func lay(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// strange is a name of a file that git can be told wrongly.
const strange = "-a \"b\"\n:(c)*.go"

// magic is another: to git it is z.go, which there is not.
const magic = ":(top)z.go"

// code is work on a project: a tree in which a.go was changed and new files were added, in
// a directory with leavings.
func code(t *testing.T) review.Work {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "init", "-q")
	lay(t, dir, map[string]string{"go.mod": "module m", "a.go": "package a\n", "vendor/v.go": "package v"})
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "first")
	base := git(t, dir, "rev-parse", "HEAD")
	lay(t, dir, map[string]string{"a.go": "package a\n\n\tfunc A() int { return 1 }\n", "a_test.go": "package a\n\nfunc TestA() {\n\tif A() != 1 {\n", strange: "package strange", magic: "package magic"})
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "add", "-A")
	tree := git(t, dir, "write-tree")
	lay(t, dir, map[string]string{"leaving.txt": "of a check", "a.go": "package leaving\n"})
	ran := func(kind checks.Kind, command string) checks.Outcome {
		return checks.Outcome{Check: checks.Check{Kind: kind, Command: command}}
	}
	return review.Work{Code: true, Root: dir, Tree: tree, Base: base, Ran: []checks.Outcome{
		ran(checks.Build, "go build ./..."), ran(checks.Format, "gofmt -l ."), ran(checks.Lint, "go vet ./..."), ran(checks.Test, "go test ./..."),
	}}
}

// ofCode and ofWords are the names of the questions, as behaviour and schema have them.
var (
	ofCode  = []string{"tests_pass", "lint", "format", "build", "tests_written", "coverage", "mocks", "imports", "types", "dependencies", "patterns"}
	ofWords = []string{"completeness", "claims", "sources"}
)

type (
	object = map[string]any
	list   = []any
)

func command(command string, exit int) object {
	return object{"kind": "command", "command": command, "exitCode": exit}
}

func file(name string, line int, quote string) object {
	return object{"kind": "file", "file": name, "line": line, "quote": quote}
}

// good is an acceptance of code in which everything holds.
func good() object {
	answers := object{}
	say := func(question, answer string, evidence ...any) {
		answers[question] = object{"answer": answer, "why": "I have looked", "evidence": evidence}
	}
	say("tests_pass", "yes", command("go test ./...", 0))
	say("lint", "yes", command("go vet ./...", 0))
	say("format", "yes", command("gofmt -l .", 0))
	say("build", "yes", command("go build ./...", 0), file("a.go", 3, "func A() int"))
	say("tests_written", "yes", file("a_test.go", 3, "func TestA() {\n  if A() != 1 {"))
	say("coverage", "yes", file("a_test.go", 4, "A() != 1"))
	say("mocks", "does_not_apply", object{"kind": "absent", "file": "mocks"})
	say("imports", "yes", file("a.go", 1, "package a"))
	say("types", "yes", file("a.go", 3, "int"))
	say("dependencies", "does_not_apply", object{"kind": "unchanged", "file": "go.mod"})
	say("patterns", "yes", file(strange, 1, "package strange"))
	return object{"verdict": "accept", "feedback": "fine", "answers": answers}
}

func encoded(t *testing.T, value any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func answerTo(said object, question string) object {
	return said["answers"].(object)[question].(object)
}

func TestAnAcceptanceWithEvidence(t *testing.T) {
	work := code(t)
	verdict, err := work.Read(t.Context(), encoded(t, good()))
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, e := range verdict.Evidence {
		kinds[e.Kind]++
		if e.Tree != work.Tree {
			t.Errorf("it is not said of which tree: %+v", e)
		}
	}
	if verdict.Verdict != pluginsdk.VerdictAccept || verdict.Feedback != "fine" || !maps.Equal(kinds, map[string]int{"answer": 11, "file": 6, "absent": 1, "unchanged": 1}) {
		t.Errorf("%+v, %v", verdict, kinds)
	}
}

// Of each of the eleven answers: without it, with no, or without evidence, nothing is
// accepted. (A blind reviewer would otherwise be as good as a careful one.)
func TestEachAnswerIsNeeded(t *testing.T) {
	work := code(t)
	if names := slices.Sorted(maps.Keys(good()["answers"].(object))); len(names) != 11 || !slices.Equal(names, slices.Sorted(slices.Values(ofCode))) {
		t.Fatalf("the questions are %q", names)
	}
	for _, question := range ofCode {
		for name, spoil := range map[string]func(said object){
			"is missing":        func(said object) { delete(said["answers"].(object), question) },
			"is no":             func(said object) { answerTo(said, question)["answer"] = "no" },
			"is something else": func(said object) { answerTo(said, question)["answer"] = "perhaps" },
			"is empty":          func(said object) { answerTo(said, question)["answer"] = "" },
			"has no evidence":   func(said object) { delete(answerTo(said, question), "evidence") },
			"has none in it":    func(said object) { answerTo(said, question)["evidence"] = list{} },
			"has too much evidence": func(said object) {
				answerTo(said, question)["evidence"] = slices.Repeat(answerTo(said, question)["evidence"].(list), 6)
			},
			"has evidence of no kind": func(said object) { answerTo(said, question)["evidence"] = list{object{"kind": "faith"}} },
			"has a quote of nothing":  func(said object) { answerTo(said, question)["evidence"] = list{file("nowhere.go", 1, "package a")} },
		} {
			said := good()
			spoil(said)
			verdict, err := work.Read(t.Context(), encoded(t, said))
			if err == nil || !strings.Contains(err.Error(), question) {
				t.Errorf("%s %s: %+v, %v", question, name, verdict, err)
			}
		}
	}
}

// Of each check of evidence: what does not hold makes an acceptance none.
func TestEachEvidenceIsHeldAgainstTheWork(t *testing.T) {
	work := code(t)
	failed, other := work, work
	failed.Ran = slices.Clone(work.Ran)
	failed.Ran[3].ExitCode = 1
	other.Base = ""
	for name, row := range map[string]struct {
		work     review.Work
		question string
		answer   string
		evidence object
		says     string
	}{
		"a command that was not run":             {work, "tests_pass", "yes", command("go test ./a", 0), "was not run"},
		"another exit code":                      {work, "tests_pass", "yes", command("go test ./...", 2), "exit code 0, which is not"},
		"no exit code":                           {work, "tests_pass", "yes", object{"kind": "command", "command": "go test ./..."}, "exit code 0, which is not"},
		"a command that has failed":              {failed, "tests_pass", "yes", command("go test ./...", 1), "cite its command"},
		"a failed one as if it had not":          {failed, "tests_pass", "yes", command("go test ./...", 0), "exit code 1, which is not"},
		"tests proved by a linter":               {work, "tests_pass", "yes", command("go vet ./...", 0), "cite its command"},
		"tests proved by a file":                 {work, "tests_pass", "yes", file("a.go", 1, "package a"), "cite its command"},
		"tests that do not apply":                {work, "tests_pass", "does_not_apply", command("go test ./...", 0), "it applies"},
		"lint that does not apply":               {work, "lint", "does_not_apply", command("go vet ./...", 0), "it applies"},
		"format that does not apply":             {work, "format", "does_not_apply", command("gofmt -l .", 0), "it applies"},
		"a build that does not apply":            {work, "build", "does_not_apply", command("go build ./...", 0), "it applies"},
		"a file that there is not":               {work, "patterns", "yes", file("b.go", 1, "package a"), "no such file"},
		"a leaving of a check":                   {work, "patterns", "yes", file("leaving.txt", 1, "of a check"), "no such file"},
		"a file as a check has left it":          {work, "patterns", "yes", file("a.go", 1, "package leaving"), "does not contain"},
		"another line":                           {work, "patterns", "yes", file("a.go", 2, "package a"), "does not contain"},
		"no line":                                {work, "patterns", "yes", object{"kind": "file", "file": "a.go", "quote": "package a"}, "no line 0"},
		"a line past the end":                    {work, "patterns", "yes", file("a.go", 99, "package a"), "no line 99"},
		"a quote that is another":                {work, "patterns", "yes", file("a.go", 1, "package b"), "does not contain"},
		"a quote whose second line is another":   {work, "patterns", "yes", file("a_test.go", 3, "func TestA() {\n\tif A() != 2 {"), "line 4"},
		"a quote that goes past the end":         {work, "patterns", "yes", file(strange, 1, "package strange\nand more"), "line 2"},
		"no quote":                               {work, "patterns", "yes", file("a.go", 1, ""), "too short"},
		"a quote of a brace":                     {work, "patterns", "yes", file("a.go", 3, " }"), "too short"},
		"a directory":                            {work, "patterns", "yes", file("vendor", 1, "v.go"), "cannot be quoted"},
		"a file elsewhere":                       {work, "patterns", "yes", file("/etc/passwd", 1, "root"), "not in the work"},
		"a file above":                           {work, "patterns", "yes", file("../../../../etc/passwd", 1, "root"), "not in the work"},
		"a file behind a link":                   {work, "patterns", "yes", file("link", 1, "root:"), "does not contain"},
		"no file":                                {work, "patterns", "yes", file("", 1, "package a"), "not in the work"},
		"something absent that is there":         {work, "mocks", "does_not_apply", object{"kind": "absent", "file": "a.go"}, "not absent"},
		"a directory absent that is there":       {work, "mocks", "does_not_apply", object{"kind": "absent", "file": "vendor/"}, "not absent"},
		"something absent called otherwise":      {work, "mocks", "does_not_apply", object{"kind": "absent", "file": magic}, "not absent"},
		"something absent elsewhere":             {work, "mocks", "does_not_apply", object{"kind": "absent", "file": "../mocks"}, "not in the work"},
		"something unchanged that was changed":   {work, "dependencies", "yes", object{"kind": "unchanged", "file": "a.go"}, "has changed it"},
		"something unchanged that was added":     {work, "dependencies", "yes", object{"kind": "unchanged", "file": strange}, "has changed it"},
		"something unchanged called otherwise":   {work, "dependencies", "yes", object{"kind": "unchanged", "file": magic}, "has changed it"},
		"something unchanged that is not there":  {work, "dependencies", "yes", object{"kind": "unchanged", "file": "go.sum"}, "no such file"},
		"something unchanged since nobody knows": {other, "dependencies", "yes", object{"kind": "unchanged", "file": "go.mod"}, "not known"},
		"what the worker says":                   {work, "patterns", "yes", object{"kind": "result", "quote": "all is fine"}, "none here"},
	} {
		t.Run(name, func(t *testing.T) {
			said := good()
			answerTo(said, row.question)["answer"], answerTo(said, row.question)["evidence"] = row.answer, list{row.evidence}
			verdict, err := row.work.Read(t.Context(), encoded(t, said))
			if err == nil || !strings.Contains(err.Error(), row.question+": ") || !strings.Contains(err.Error(), row.says) {
				t.Errorf("%+v, %v", verdict, err)
			}
		})
	}
}

// Where nothing could be run, nothing is said to have passed.
func TestAProjectWithoutChecks(t *testing.T) {
	work := code(t)
	work.Ran = nil
	said := good()
	for _, question := range []string{"tests_pass", "lint", "format", "build"} {
		answerTo(said, question)["evidence"] = list{file("a.go", 1, "package a")}
	}
	_, err := work.Read(t.Context(), encoded(t, said))
	if err == nil || strings.Count(err.Error(), "yes needs a command") != 4 {
		t.Errorf("read: %v", err)
	}
	for _, question := range []string{"tests_pass", "lint", "format", "build"} {
		answerTo(said, question)["answer"] = "does_not_apply"
	}
	if _, err := work.Read(t.Context(), encoded(t, said)); err != nil {
		t.Error(err)
	}
}

// One command may check everything; then it is what answers.
func TestACheckOfSeveralKinds(t *testing.T) {
	work := code(t)
	work.Ran = []checks.Outcome{{Check: checks.Check{Kind: checks.All, Command: "make check"}}}
	said := good()
	for _, question := range []string{"tests_pass", "lint", "format", "build", "types"} {
		answerTo(said, question)["evidence"] = list{command("make check", 0)}
	}
	if _, err := work.Read(t.Context(), encoded(t, said)); err != nil {
		t.Error(err)
	}
	answerTo(said, "lint")["evidence"] = list{file("a.go", 1, "package a")}
	if _, err := work.Read(t.Context(), encoded(t, said)); err == nil {
		t.Error("what a check answers was answered by a quote")
	}
}

// Work without a tree is what lies in its directory; links do not lead out of it, and a
// pipe keeps nobody.
func TestWorkInADirectory(t *testing.T) {
	work, outside := code(t), t.TempDir()
	work.Tree, work.Base = "", ""
	lay(t, outside, map[string]string{"secret": "package secret"})
	if err := os.Symlink(filepath.Join(outside, "secret"), filepath.Join(work.Root, "secret")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(work.Root, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	held, err := os.OpenFile(filepath.Join(work.Root, "pipe"), os.O_RDWR, 0) // who reads it waits
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	base := func() object {
		said := good()
		for _, question := range ofCode[3:] {
			answerTo(said, question)["evidence"] = list{file("a.go", 1, "package leaving")}
		}
		answerTo(said, "build")["evidence"] = list{command("go build ./...", 0)}
		answerTo(said, "mocks")["evidence"] = list{object{"kind": "absent", "file": "mocks"}, file(filepath.Join(work.Root, "leaving.txt"), 1, "of a check")}
		return said
	}
	if _, err := work.Read(t.Context(), encoded(t, base())); err != nil {
		t.Error(err)
	}
	for name, evidence := range map[string]object{
		"behind a link": file("secret", 1, "package secret"), "a pipe": file("pipe", 1, "package"), "absent": {"kind": "absent", "file": "a.go"},
		"unchanged": {"kind": "unchanged", "file": "go.mod"}, "not there": file("b.go", 1, "package b"), "an absent link": {"kind": "absent", "file": "secret"},
	} {
		said := base()
		answerTo(said, "patterns")["evidence"] = list{evidence}
		if _, err := work.Read(t.Context(), encoded(t, said)); err == nil {
			t.Errorf("%s: it holds", name)
		}
	}
}

// Names that are no objects of git's are options to it.
func TestTreesThatAreNone(t *testing.T) {
	work := code(t)
	for _, tree := range []string{"--help", "HEAD", strings.Repeat("0", 40), work.Tree[:39]} {
		spoilt := work
		spoilt.Tree = tree
		if _, err := spoilt.Read(t.Context(), encoded(t, good())); err == nil {
			t.Errorf("%q: evidence holds", tree)
		}
	}
}

// words is an acceptance of an answer.
func words() (review.Work, object) {
	say := func(answer string, evidence ...any) object {
		return object{"answer": answer, "why": "I have read it", "evidence": evidence}
	}
	quote := func(kind, quote string) object { return object{"kind": kind, "quote": quote} }
	work := review.Work{Request: "Which planet is\nthe largest?", Result: "It is Jupiter,\n  says [the almanac, p. 3]."}
	return work, object{"verdict": "accept", "feedback": "", "answers": object{
		"completeness": say("yes", quote("request", "planet is the largest"), quote("result", "It is Jupiter")),
		"claims":       say("yes", quote("result", "Jupiter, says")), "sources": say("yes", quote("result", "the almanac, p. 3")),
	}}
}

// An answer is held against the request: what is quoted has to have been said.
func TestTheReviewOfAnAnswer(t *testing.T) {
	work, said := words()
	if verdict, err := work.Read(t.Context(), encoded(t, said)); err != nil || verdict.Verdict != pluginsdk.VerdictAccept || len(verdict.Evidence) != 7 {
		t.Errorf("%+v, %v", verdict, err)
	}
	for _, question := range ofWords {
		for name, evidence := range map[string]object{
			"not said": {"kind": "result", "quote": "It is Saturn"}, "not asked": {"kind": "request", "quote": "which star"}, "no quote": {"kind": "result"},
			"a letter": {"kind": "result", "quote": "I"}, "a command": command("go test ./...", 0), "a file": file("a.go", 1, "package a"), "of code": {"kind": "absent", "file": "x"},
		} {
			_, said := words()
			answerTo(said, question)["evidence"] = list{evidence}
			if _, err := work.Read(t.Context(), encoded(t, said)); err == nil || !strings.Contains(err.Error(), question) {
				t.Errorf("%s, %s: %v", question, name, err)
			}
		}
		_, said := words()
		delete(said["answers"].(object), question)
		if _, err := work.Read(t.Context(), encoded(t, said)); err == nil || !strings.Contains(err.Error(), question) {
			t.Errorf("without %s: %v", question, err)
		}
	}
}

// What does not have the shape that was asked for is no verdict, neither way.
func TestWhatCannotBeRead(t *testing.T) {
	work := code(t)
	change := func(change func(said object)) string {
		said := good()
		change(said)
		return string(encoded(t, said))
	}
	for name, output := range map[string]string{
		"nothing": "", "spaces": "  ", "null": "null", "words": "I accept", "a list": "[]", "an empty object": "{}", "cut short": string(encoded(t, good()))[:100],
		"twice":                string(encoded(t, good())) + string(encoded(t, good())),
		"no verdict":           change(func(said object) { delete(said, "verdict") }),
		"another verdict":      change(func(said object) { said["verdict"] = "maybe" }),
		"no answers":           change(func(said object) { delete(said, "answers") }),
		"another field":        change(func(said object) { said["by"] = "me" }),
		"another question":     change(func(said object) { said["answers"].(object)["luck"] = answerTo(said, "lint") }),
		"a rejection of what?": change(func(said object) { said["verdict"], said["feedback"] = "reject", " " }),
		"of the other kind": func() string {
			_, said := words()
			return string(encoded(t, said))
		}(),
	} {
		if verdict, err := work.Read(t.Context(), json.RawMessage(output)); err == nil {
			t.Errorf("%s: %+v", name, verdict)
		}
		if name == "a rejection of what?" {
			continue
		}
		if verdict, err := work.Unchecked(json.RawMessage(output)); err == nil {
			t.Errorf("%s, of the demo agent: %+v", name, verdict)
		}
	}
}

// A rejection costs the worker an iteration and nobody a repository: it has to say why, and
// what does not hold of its evidence is not handed on.
func TestARejection(t *testing.T) {
	work, said := code(t), good()
	said["verdict"], said["feedback"] = "reject", "a.go:3: wrong"
	answerTo(said, "patterns")["answer"] = "no"
	answerTo(said, "coverage")["evidence"] = list{file("nowhere.go", 1, "package a"), file("a.go", 1, "package a")}
	verdict, err := work.Read(t.Context(), encoded(t, said))
	if err != nil || verdict.Verdict != pluginsdk.VerdictReject || verdict.Feedback != "a.go:3: wrong" {
		t.Fatalf("%+v, %v", verdict, err)
	}
	for _, e := range verdict.Evidence {
		if e.File == "nowhere.go" {
			t.Errorf("handed on: %+v", e)
		}
	}
}
