package plan_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/plugins/workflow/internal/plan"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func headings(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "### Task %d: do %d\n\nwords of %d\n\n", i+1, i+1, i+1)
	}
	return b.String()
}

func TestHeadings(t *testing.T) {
	for name, row := range map[string]struct {
		text  string
		want  int
		wrong string // in the error
	}{
		"nothing":                  {"", 0, ""},
		"0":                        {"# Plan\n\nNo tasks.\n", 0, ""},
		"1":                        {headings(1), 1, ""},
		"3":                        {headings(3), 3, ""},
		"4":                        {headings(4), 4, ""},
		"7":                        {"# Plan\n\nwords\n\n" + headings(7) + "## After\n", 7, ""},
		"100":                      {headings(100), 100, ""},
		"as many as may be":        {headings(plan.MostTasks), plan.MostTasks, ""},
		"too many":                 {headings(plan.MostTasks + 1), 0, "at most 500"},
		"extra spaces":             {"###   Task\t 1:   do it  \n\n###\tTask  2:do it\n", 2, ""},
		"CRLF":                     {strings.ReplaceAll(headings(3), "\n", "\r\n"), 3, ""},
		"no end of line":           {"### Task 1: do it", 1, ""},
		"zeros before":             {"### Task 01: do it\n### Task 002: do it", 2, ""},
		"a gap":                    {"### Task 1: a\n### Task 3: b\n", 0, `heading 2 is "Task 3"`},
		"doubled":                  {"### Task 1: a\n### Task 1: b\n", 0, `heading 2 is "Task 1"`},
		"doubled later":            {"### Task 1: a\n### Task 2: b\n### Task 2: c\n", 0, `heading 3 is "Task 2"`},
		"from 0":                   {"### Task 0: a\n### Task 1: b\n", 0, `heading 1 is "Task 0"`},
		"from 2":                   {"### Task 2: a\n", 0, `heading 1 is "Task 2"`},
		"out of order":             {"### Task 2: a\n### Task 1: b\n", 0, `heading 1 is "Task 2"`},
		"too large a number":       {"### Task 99999999999999999999999: a\n", 0, "Task 99999999999999999999"},
		"another level":            {"## Task 1: a\n#### Task 1: a\n", 0, ""},
		"in a line":                {"see ### Task 1: a\n", 0, ""},
		"indented":                 {"    ### Task 1: a\n", 0, ""},
		"lower case":               {"### task 1: a\n", 0, ""},
		"no colon":                 {"### Task 1 a\n", 0, ""},
		"no title":                 {"### Task 1:", 0, ""},
		"no title, then another":   {"### Task 1:\n\n### Task 2: b\n", 0, "task 1 of the plan has no title"},
		"a title on the next line": {"### Task 1:\ndo it\n", 1, ""},
		"no number":                {"### Task one: a\n", 0, ""},
		"no space":                 {"###Task 1: a\n", 0, ""},
		"other headings between":   {"### Task 1: a\n\n#### Files\n\n### Notes\n\n### Task 2: b\n", 2, ""},
		"a number that is signed":  {"### Task -1: a\n", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tasks, err := plan.Read(row.text)
			if row.wrong != "" {
				if pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), row.wrong) || tasks != nil {
					t.Fatalf("%d tasks, %v", len(tasks), err)
				}
				return
			}
			if err != nil || len(tasks) != row.want {
				t.Fatalf("%d tasks, %v", len(tasks), err)
			}
			for n, task := range tasks {
				if task.Number != n+1 || task.Title == "" || task.Title != strings.TrimSpace(task.Title) {
					t.Errorf("task %d is %+v", n+1, task)
				}
			}
		})
	}
}

func TestATaskHasWhatStandsBelowItsHeading(t *testing.T) {
	tasks, err := plan.Read("# Plan\r\n\r\n### Task 1:  Store *notes*: all \r\n\r\nIn a file.\r\n\r\n#### Tests\r\n\r\nOne.\r\n### Task 2: Show them\r\n")
	if err != nil || len(tasks) != 2 {
		t.Fatal(tasks, err)
	}
	if want := (plan.Task{Number: 1, Title: "Store *notes*: all", Body: "In a file.\r\n\r\n#### Tests\r\n\r\nOne."}); !reflect.DeepEqual(tasks[0], want) {
		t.Errorf("it is %+v", tasks[0])
	}
	if want := (plan.Task{Number: 2, Title: "Show them"}); !reflect.DeepEqual(tasks[1], want) {
		t.Errorf("it is %+v", tasks[1])
	}
}

func TestDepends(t *testing.T) {
	for name, row := range map[string]struct {
		body     string // of task 5
		want     []int
		declared bool
		wrong    bool
	}{
		"none is said":       {"words", nil, false, false},
		"none":               {"Depends: none", nil, true, false},
		"nothing":            {"Depends:", nil, true, false},
		"one":                {"Depends: 1", []int{1}, true, false},
		"several":            {"words\n\nDepends: 1, 3\n\nwords", []int{1, 3}, true, false},
		"tasks":              {"Depends on: Task 1 and Task 3", []int{1, 3}, true, false},
		"bold, in a list":    {"- **Depends:** 2", []int{2}, true, false},
		"bold word":          {"**Depends**: 2", []int{2}, true, false},
		"capitals":           {"DEPENDS ON: 2", []int{2}, true, false},
		"CRLF":               {"Depends: 2\r\nwords", []int{2}, true, false},
		"a range":            {"Depends: 1-3", []int{1, 2, 3}, true, false},
		"a range of tasks":   {"Depends: Tasks 1 – 3, 4", []int{1, 2, 3, 4}, true, false},
		"twice the same":     {"Depends: 1, 1, 1-2", []int{1, 2}, true, false},
		"two lines":          {"Depends: 1\nDepends: 3", []int{1, 3}, true, false},
		"the next line":      {"Depends:\n\n7 files are written.", nil, true, false},
		"itself":             {"Depends: 5", nil, false, true},
		"a later one":        {"Depends: 6", nil, false, true},
		"one of none":        {"Depends: 9", nil, false, true},
		"0":                  {"Depends: 0", nil, false, true},
		"a range too far":    {"Depends: 1-5", nil, false, true},
		"a range backwards":  {"Depends: 3-1", nil, false, true},
		"a very long number": {"Depends: 99999999999999999999", nil, false, true},
		"in a sentence":      {"What it depends: 9 is open", nil, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			tasks, err := plan.Read(headings(4) + "### Task 5: this\n\n" + row.body + "\n\n### Task 6: next\n")
			if row.wrong {
				if pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), "task 5") || !strings.Contains(err.Error(), "Depends") {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if task := tasks[4]; !reflect.DeepEqual(task.Depends, row.want) || task.Declared != row.declared {
				t.Errorf("it depends on %v (%t)", task.Depends, task.Declared)
			}
		})
	}
}

func TestBatches(t *testing.T) {
	for _, row := range []struct {
		n, size int
		want    string
	}{
		{0, 3, ""}, {1, 3, "Task 1"}, {3, 3, "Tasks 1-3"}, {4, 3, "Tasks 1-3, Task 4"}, {7, 3, "Tasks 1-3, Tasks 4-6, Task 7"}, {6, 3, "Tasks 1-3, Tasks 4-6"},
		{2, 1, "Task 1, Task 2"}, {2, 0, "Task 1, Task 2"}, {2, -1, "Task 1, Task 2"}, {5, 100, "Tasks 1-5"},
	} {
		var words []string
		for _, scope := range plan.Batches(row.n, row.size) {
			words = append(words, scope.String())
		}
		if got := strings.Join(words, ", "); got != row.want {
			t.Errorf("%d tasks in batches of %d are %q, want %q", row.n, row.size, got, row.want)
		}
	}
	if scopes := plan.Batches(100, 3); len(scopes) != 34 || scopes[33] != (plan.Scope{First: 100, Last: 100}) {
		t.Errorf("%v", scopes)
	}
}

func TestNeeds(t *testing.T) {
	text := "### Task 1: a\nDepends: none\n### Task 2: b\nDepends: none\n### Task 3: c\nDepends: 1\n### Task 4: d\nDepends: 3, 2\n### Task 5: e\n### Task 6: f\nDepends: 5\n"
	tasks, err := plan.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int][][]int{
		1: {nil, nil, {0}, {1, 2}, {0, 1, 2, 3}, {4}},
		2: {nil, {0}, {0, 1}}, // of the last, task 5 says nothing
		3: {nil, {0}},
		9: {nil},
	} {
		got := plan.Needs(tasks, plan.Batches(len(tasks), size))
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("batches of %d need %v, want %v", size, got, want)
		}
	}
}

func TestAScopeIsReadAsItIsWritten(t *testing.T) {
	for text, want := range map[string]plan.Scope{"": {}, "Task 7": {First: 7, Last: 7}, "Tasks 1-3": {First: 1, Last: 3}} {
		var got plan.Scope
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want || got.String() != text {
			t.Errorf("%q is %+v (%q): %v", text, got, got, err)
		}
	}
	for _, text := range []string{"Task", "Task 0", "Tasks 3-1", "tasks 1-3", "Task 1, 2", "Tasks 1-3 ", "1-3", "Task -1", "Task 99999"} {
		got := plan.Scope{First: 1, Last: 1}
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
	var in struct {
		Scope plan.Scope `json:"scope,omitzero"`
	}
	if text, err := json.Marshal(in); err != nil || string(text) != "{}" {
		t.Errorf("%s: %v", text, err)
	}
}

// Whatever the text is, the tasks are 1 to N and depend on what comes before them, and batches have each once.
func FuzzRead(f *testing.F) {
	for _, text := range []string{"", headings(4), "### Task 1:\n\n### Task 2: x", "### Task 0: a", "### Task 1: a\r\nDepends: 1-", "### Task 1: a\n### Task 2: b\n- **Depends on**: Task 1 – 1", "###\n\nTask 1: a", "### Task 1: \x00\xff"} {
		f.Add(text, 3)
	}
	f.Fuzz(func(t *testing.T, text string, size int) {
		tasks, err := plan.Read(text)
		if err != nil {
			if tasks != nil || pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
				t.Fatalf("%d tasks, %v", len(tasks), err)
			}
			return
		}
		for n, task := range tasks {
			if task.Number != n+1 {
				t.Fatalf("task %d has the number %d", n+1, task.Number)
			}
			for _, on := range task.Depends {
				if on < 1 || on >= task.Number || !task.Declared {
					t.Fatalf("task %d depends on %d", task.Number, on)
				}
			}
		}
		next := 1
		scopes := plan.Batches(len(tasks), size%1000)
		for _, scope := range scopes {
			if scope.First != next || scope.Last < scope.First {
				t.Fatalf("a batch is %+v, and %d is next", scope, next)
			}
			next = scope.Last + 1
		}
		if next != len(tasks)+1 {
			t.Fatalf("the batches end before %d of %d", next, len(tasks))
		}
		for n, needs := range plan.Needs(tasks, scopes) {
			for _, on := range needs {
				if on < 0 || on >= n {
					t.Fatalf("batch %d needs batch %d", n, on)
				}
			}
		}
	})
}
