package daemon_test

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/seed-706843ae/harness/core/coretest/fakeapi"
)

// office is a model that plays everybody in a piece of work: who hands it on, the worker,
// and the reviewer.
type office struct {
	t  *testing.T
	mu sync.Mutex
	// results are what the worker has written so far, and reviews how often somebody was asked
	// to look at it.
	results, reviews int
	told             []string // prompts of who hands the work on
}

// reviewHead is in what a reviewer is asked, and workerHead in what a worker is.
const (
	reviewHead = "# Review of task"
	workerHead = "BLOCKED:"
)

// workingDirectory is how the CLI tells its model where it is.
var workingDirectory = regexp.MustCompile(`(?i)working directory: (.+)`)

func (o *office) answer(r fakeapi.Request) fakeapi.Reply {
	o.mu.Lock()
	defer o.mu.Unlock()
	prompt := r.Prompt()
	switch {
	case strings.Contains(prompt, reviewHead):
		return o.review(r)
	case strings.Contains(r.System+strings.Join(r.UserTexts(), "\n"), workerHead):
		return o.work(r)
	}
	o.told = append(o.told, prompt)
	if strings.Contains(prompt, "please have it done") {
		return fakeapi.Reply{Text: "I hand that on.\n\n[COMMAND type=\"delegate\"]\nmake a result\n[/COMMAND]"}
	}
	return fakeapi.Reply{Text: "I see."}
}

// work writes the note, one line after the other.
func (o *office) work(r fakeapi.Request) fakeapi.Reply {
	if len(r.ToolResults()) > 0 {
		return fakeapi.Reply{Text: "I have written it.\n\nDONE: a result"}
	}
	dir := workingDirectory.FindStringSubmatch(r.System + strings.Join(r.UserTexts(), "\n"))
	if dir == nil {
		o.t.Errorf("the CLI does not say where it is: %.2000s", r.System)
		return fakeapi.Reply{Text: "BLOCKED: where am I?"}
	}
	text := []string{"wrong", "ok draft", "ok final"}[min(o.results, 2)]
	o.results++
	input, err := json.Marshal(map[string]string{"file_path": filepath.Join(strings.TrimSpace(dir[1]), "result.txt"), "content": text + "\n"})
	if err != nil {
		o.t.Error(err)
	}
	return fakeapi.Reply{Tools: []fakeapi.ToolUse{{Name: "Write", Input: input}}}
}

// review rejects the draft and accepts what is final.
func (o *office) review(r fakeapi.Request) fakeapi.Reply {
	if len(r.ToolResults()) > 0 {
		return fakeapi.Reply{Text: "That is my verdict."}
	}
	o.reviews++
	verdict, words := "reject", "WANT-FINAL"
	if strings.Contains(r.Prompt(), "+ok final") {
		verdict, words = "accept", ""
	}
	return fakeapi.Reply{Tools: []fakeapi.ToolUse{{Name: "StructuredOutput", Input: json.RawMessage(reviewSaying(o.t, verdict, words))}}}
}
