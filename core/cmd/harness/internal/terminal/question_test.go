package terminal

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/pluginsdk"
)

var toolQuestion = pluginsdk.Approval{
	ID: "A", Kind: pluginsdk.ApprovalTool, State: pluginsdk.ApprovalOpen, Tool: "Bash", Title: "Run a command", Text: "make test",
	Cwd: "/home/ann/project", Note: "It may already have been done.",
	Choices: []pluginsdk.ApprovalChoice{
		{ID: "allow", Label: "Allow once", Allow: true},
		{ID: "rule:command", Label: "Allow always", Allow: true, Rule: "commands that begin with `make test`, in this thread"},
		{ID: "deny", Label: "Deny"},
	},
}

var whichQuestion = pluginsdk.Approval{
	ID: "Q", Kind: pluginsdk.ApprovalQuestion, State: pluginsdk.ApprovalOpen, Tool: "AskUserQuestion", Title: "Which database?",
	Questions: []pluginsdk.AgentQuestion{
		{Text: "Which database?", Options: []pluginsdk.QuestionOption{{Label: "Postgres", Description: "as in production"}, {Label: "SQLite"}}},
		{Text: "What for?", Multiple: true, Options: []pluginsdk.QuestionOption{{Label: "tests"}, {Label: "demos"}, {Label: "all"}}},
	},
	Choices: []pluginsdk.ApprovalChoice{{ID: "deny", Label: "Do not answer"}},
}

// A line that is not plainly a yes must never be one: it may be the beginning of a sentence.
func TestALineIsReadAsAnAnswer(t *testing.T) {
	allow, rule := client.ApprovalAnswer{Choice: "allow"}, client.ApprovalAnswer{Choice: "rule:command"}
	deny := func(words string) *client.ApprovalAnswer { return &client.ApprovalAnswer{Choice: "deny", Words: words} }
	for line, want := range map[string]*client.ApprovalAnswer{
		"1": &allow, "y": &allow, "Yes": &allow, "yes.": &allow, "2": &rule, "2.": &rule,
		"3": deny(""), "n": deny(""), "no": deny(""), "No, use make": deny("use make"), "3 use make": deny("use make"),
		"1 more thing": nil, "yes but not there": nil, "2 of them": nil, "4": nil, "0": nil, "-1": nil, "1,2": nil,
		"yesterday": nil, "not yet": nil, "use make": nil, "allow": nil,
	} {
		kind, _, got := (&question{Approval: toolQuestion}).read(line)
		if want == nil && kind != readNothing || want != nil && (kind != readWhole || !reflect.DeepEqual(got, *want)) {
			t.Errorf("%q is read as %d %+v", line, kind, got)
		}
	}
	only := toolQuestion
	only.Choices = only.Choices[1:] // a lasting leave is not what y means
	if kind, _, got := (&question{Approval: only}).read("y"); kind != readNothing {
		t.Errorf("y is read as %+v", got)
	}
}

func TestALineIsReadAsTheAnswerToAQuestion(t *testing.T) {
	first, second := &question{Approval: whichQuestion}, &question{Approval: whichQuestion, answers: make([]pluginsdk.QuestionAnswer, 1)}
	for _, c := range []struct {
		of   *question
		line string
		want []string // labels; nil: words
	}{
		{first, "1", []string{"Postgres"}}, {first, "sqlite", []string{"SQLite"}}, {first, "1,2", nil}, {first, "y", nil}, {first, "MySQL", nil},
		{second, "1,3", []string{"tests", "all"}}, {second, "2, 2", []string{"demos"}}, {second, "1,7", nil}, {second, "1 and 3", nil},
	} {
		kind, got, _ := c.of.read(c.line)
		if c.want == nil && kind != readNothing || c.want != nil && (kind != readPart || !slices.Equal(got.Labels, c.want)) {
			t.Errorf("%q is read as %d %+v", c.line, kind, got)
		}
	}
	if kind, _, got := first.read("3"); kind != readWhole || got.Choice != "deny" {
		t.Errorf("the choice behind the options: %d %+v", kind, got)
	}
	for text, words := range map[string]string{"3": "no option 3; there are 2", "1,2": "one option is wanted"} {
		if _, err := AnswerTo(whichQuestion.Questions[0], text); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Who decides must see what they decide on, and that some of it is not shown.
func TestWhatIsAskedIsShown(t *testing.T) {
	show := func(q *question) string {
		out := newOutput()
		q.show(NewScreen(out, Style{}, nil))
		return out.String() + q.prompt() + "\n"
	}
	got := show(&question{Approval: toolQuestion})
	want := "? The agent asks: Run a command\n    make test\n  in /home/ann/project\n  ! It may already have been done.\n" +
		"  1. Allow once\n  2. Allow always - from now on, unasked: commands that begin with `make test`, in this thread\n  3. Deny\n" +
		"1-3, y, n WORDS, /later> \n"
	if got != want {
		t.Errorf("shown:\n%s\nwant:\n%s", got, want)
	}
	got = show(&question{Approval: whichQuestion}) + show(&question{Approval: whichQuestion, answers: make([]pluginsdk.QuestionAnswer, 1)})
	want = "? The agent asks: Which database?\n  1 of 2: Which database?\n  1. Postgres - as in production\n  2. SQLite\n  3. Do not answer\n1-3, words, /later> \n" +
		"  2 of 2: What for?\n  1. tests\n  2. demos\n  3. all\n  4. Do not answer\n1-4 (several with commas), words, /later> \n"
	if got != want {
		t.Errorf("shown:\n%s\nwant:\n%s", got, want)
	}
	hostile := toolQuestion
	hostile.Title, hostile.Text = "Run\n? The agent asks: nothing", "echo ok\x1b[2K\r\u202e"
	hostile.Choices = []pluginsdk.ApprovalChoice{{ID: "allow", Label: "Deny\x1b[1A", Allow: true}}
	if got := show(&question{Approval: hostile}); strings.ContainsAny(got, "\x1b\r\u202e") || !strings.Contains(got, `echo ok\x1b[2K\r\u202e`) || strings.Count(got, "\n?") > 0 {
		t.Errorf("shown:\n%s", got)
	}
	long := toolQuestion
	long.Text = ""
	for n := range 200 {
		long.Text += fmt.Sprintf("line %d\n", n)
	}
	got = show(&question{Approval: long})
	if !strings.Contains(got, "    line 44\n  ... 140 lines are left out here; harness approvals show A has all of it\n    line 185\n") || !strings.Contains(got, "    line 199\n") {
		t.Errorf("shown:\n%s", got)
	}
	if whole := Asked(Style{}, long, ""); len(whole) != 202 {
		t.Errorf("all of it has %d lines", len(whole))
	}
	same := toolQuestion
	same.Choices = []pluginsdk.ApprovalChoice{{ID: "rule:1", Label: "Always: this host", Allow: true, Rule: "this host"}}
	if got := show(&question{Approval: same}); !strings.HasSuffix(got, "  1. Always: this host\n1, y, n WORDS, /later> \n") {
		t.Errorf("a rule that its label says is shown as:\n%s", got)
	}
	bare := pluginsdk.Approval{ID: "B", Kind: pluginsdk.ApprovalTool, Title: "x", Input: []byte(`{"url":"https://example.org"}`)}
	if got := show(&question{Approval: bare}); !strings.Contains(got, `    {"url":"https://example.org"}`) {
		t.Errorf("shown:\n%s", got)
	}
}
