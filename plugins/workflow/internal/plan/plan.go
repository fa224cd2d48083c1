// Package plan reads the plan that an architect has written, and divides its tasks into
// batches. It knows no files and no host.
package plan

import (
	"encoding"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Task is one task of a plan.
type Task struct {
	Number int    `json:"number"`
	Title  string `json:"title"`
	// Body is what stands below the heading, up to the next task's.
	Body string `json:"body,omitempty"`
	// Depends are the numbers on the task's line "Depends:"; Declared says that it has such a
	// line: without one the task may need all that come before it.
	Depends  []int `json:"depends,omitempty"`
	Declared bool  `json:"declared,omitempty"`
}

// MostTasks is how many tasks a plan may have.
const MostTasks = 500

var (
	heading = lazy.Regexp(`(?m)^###\s+Task\s+(\d+):\s*(.+)$`)
	depends = lazy.Regexp(`(?im)^[ \t]*(?:[-*][ \t]*)?\**depends(?:[ \t]+on)?\**[ \t]*:\**(.*)$`)
	numbers = lazy.Regexp(`(\d+)(?:\s*[-–—]\s*(?:[Tt]ask\s+)?(\d+))?`)
)

// Read returns the tasks of a plan in the order of their numbers; none without a heading. An error
// says in words for the architect what is wrong: numbers that are not 1 to N, each once and in
// order, or a dependency on a task that does not come before.
func Read(text string) ([]Task, error) {
	found := heading.FindAllStringSubmatchIndex(text, -1)
	if len(found) > MostTasks {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "the plan has %d tasks; a plan has at most %d", len(found), MostTasks)
	}
	tasks := make([]Task, 0, len(found))
	for i, at := range found {
		end := len(text)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		digits := text[at[2]:at[3]]
		n, err := strconv.Atoi(digits)
		if err != nil || n != i+1 {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "the plan's task headings must be numbered 1 to %d in order, each number once: heading %d is \"Task %.20s\"", len(found), i+1, digits)
		}
		task := Task{Number: n, Title: strings.TrimSpace(text[at[4]:at[5]]), Body: strings.TrimSpace(text[at[1]:end])}
		if strings.HasPrefix(task.Title, "#") { // the next heading, after spaces that are ends of lines
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "the heading of task %d of the plan has no title: write \"### Task %d: title\"", n, n)
		}
		if err := task.readDepends(); err != nil {
			return nil, err
		}
		tasks = append(tasks, task)
	}
	return tasks, nil
}

// readDepends reads the task's lines "Depends:", which have numbers and ranges of numbers.
func (t *Task) readDepends() error {
	for _, line := range depends.FindAllStringSubmatch(t.Body, -1) {
		t.Declared = true
		for _, of := range numbers.FindAllStringSubmatch(line[1], -1) {
			first, err := strconv.Atoi(of[1])
			last := first
			if of[2] != "" && err == nil {
				last, err = strconv.Atoi(of[2])
			}
			if err != nil || first < 1 || last < first || last >= t.Number {
				return pluginsdk.Errorf(pluginsdk.CodeInvalid, "task %d of the plan says \"Depends: %.100s\"; a task can depend only on tasks that come before it", t.Number, strings.TrimSpace(line[1]))
			}
			for on := first; on <= last; on++ {
				t.Depends = append(t.Depends, on)
			}
		}
	}
	slices.Sort(t.Depends)
	t.Depends = slices.Compact(t.Depends)
	return nil
}

// Scope is which tasks of a plan a stage is about; the zero value: all of them.
type Scope struct{ First, Last int }

var (
	_ encoding.TextMarshaler   = Scope{}
	_ encoding.TextUnmarshaler = (*Scope)(nil)
)

// String is "Tasks 1-3" or "Task 7"; empty for the zero value.
func (s Scope) String() string {
	switch s.First {
	case 0:
		return ""
	case s.Last:
		return fmt.Sprintf("Task %d", s.First)
	}
	return fmt.Sprintf("Tasks %d-%d", s.First, s.Last)
}

// Has reports whether a task's number is in the scope.
func (s Scope) Has(number int) bool { return s.First <= number && number <= s.Last }

// MarshalText writes what String returns.
func (s Scope) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

var written = lazy.Regexp(`^Tasks? (\d{1,4})(?:-(\d{1,4}))?$`)

// UnmarshalText reads what MarshalText writes.
func (s *Scope) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*s = Scope{}
		return nil
	}
	match := written.FindStringSubmatch(string(text))
	if match == nil {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "batchScope: %.50q is neither \"Task 7\" nor \"Tasks 1-3\"", text)
	}
	first, _ := strconv.Atoi(match[1])
	last := first
	if match[2] != "" {
		last, _ = strconv.Atoi(match[2])
	}
	if first < 1 || last < first {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "batchScope: %.50q: the first task comes after the last", text)
	}
	*s = Scope{First: first, Last: last}
	return nil
}

// Batches divides the tasks 1 to n into batches of a size, which is at least 1.
func Batches(n, size int) []Scope {
	size = max(size, 1)
	var scopes []Scope
	for first := 1; first <= n; first += size {
		scopes = append(scopes, Scope{First: first, Last: min(first+size-1, n)})
	}
	return scopes
}

// Needs returns for each batch the indexes of the batches that must be approved before it may
// begin. A batch needs those that its tasks depend on; one with a task that declares nothing needs
// all before it.
func Needs(tasks []Task, scopes []Scope) [][]int {
	needs := make([][]int, len(scopes))
	batchOf := func(number int) int {
		return slices.IndexFunc(scopes, func(s Scope) bool { return s.Has(number) })
	}
	for i, scope := range scopes {
		for _, task := range tasks {
			if !scope.Has(task.Number) {
				continue
			}
			if !task.Declared {
				needs[i] = make([]int, i)
				for before := range i {
					needs[i][before] = before
				}
				break
			}
			for _, on := range task.Depends {
				if at := batchOf(on); at >= 0 && at < i && !slices.Contains(needs[i], at) {
					needs[i] = append(needs[i], at)
				}
			}
		}
		slices.Sort(needs[i])
	}
	return needs
}
