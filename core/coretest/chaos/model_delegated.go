package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/seed-706843ae/harness/core/fakeapi"
)

// What the plugins say to a worker and to a reviewer, by which the model knows its part.
const (
	reviewHead = "# Review of task"
	workerHead = "BLOCKED:"
)

var (
	// delegatedMarker is what a piece of work carries that a person hands on.
	delegatedMarker = regexp.MustCompile(`d-\d{4}`)
	// workingDirectory is how the CLI tells its model where it is.
	workingDirectory = regexp.MustCompile(`(?i)working directory: (.+)`)
	// cited is a command that the reviewer is told of, with its exit code.
	cited = regexp.MustCompile("(?m)^### test: `([^`]+)`")
)

// delegated answers for a worker and for a reviewer; is: the request is of one of them. What
// they do follows from what they are asked, so that a kill makes no difference.
func delegated(r fakeapi.Request) (reply fakeapi.Reply, is bool) {
	all := asked(r)
	if strings.Contains(all, reviewHead) {
		if len(r.ToolResults()) > 0 {
			return fakeapi.Reply{Text: "That is my verdict."}, true
		}
		return fakeapi.Reply{Tools: []fakeapi.ToolUse{{Name: "StructuredOutput", Input: verdict(all)}}}, true
	}
	marker := delegatedMarker.FindString(all)
	if marker == "" || !strings.Contains(all, workerHead) {
		return reply, false
	}
	where := workingDirectory.FindStringSubmatch(r.System + strings.Join(r.UserTexts(), "\n"))
	if len(r.ToolResults()) > 0 || where == nil {
		return fakeapi.Reply{Text: "I have written it.\n\nDONE: " + marker}, true
	}
	name := marker + ".begun"
	if strings.Contains(r.Prompt(), wordBroken) {
		name = marker + ".done"
	}
	return fakeapi.Reply{Tools: []fakeapi.ToolUse{{Name: "Write", Input: encoded(map[string]string{
		"file_path": filepath.Join(strings.TrimSpace(where[1]), "work", name), "content": "the work " + marker + "\n",
	})}}}, true
}

// asked is what the request asks for, without what the CLI adds: that names the newest commits,
// which are other pieces of work.
func asked(r fakeapi.Request) string {
	var all []string
	for _, message := range r.Messages {
		for _, block := range message.Content {
			if message.Role == "user" && block.Type == "text" {
				all = append(all, said(block))
			}
		}
	}
	return strings.Join(all, "\n")
}

// verdict accepts: of work in the repository with what was run and what is there as evidence,
// of words with the request's.
func verdict(prompt string) json.RawMessage {
	type object = map[string]any
	answers := object{}
	answer := func(name, answer string, evidence object) {
		answers[name] = object{"answer": answer, "why": "I have looked", "evidence": []object{evidence}}
	}
	command := cited.FindStringSubmatch(prompt)
	if command == nil {
		quote := object{"kind": "request", "quote": "Please answer"}
		for _, name := range []string{"completeness", "claims", "sources"} {
			answer(name, "yes", quote)
		}
	} else {
		line := object{"kind": "file", "file": "Makefile", "line": 1, "quote": "test:"}
		for _, name := range []string{"tests_written", "coverage", "mocks", "imports", "types", "dependencies", "patterns"} {
			answer(name, "yes", line)
		}
		for _, name := range []string{"lint", "format", "build"} {
			answer(name, "does_not_apply", object{"kind": "absent", "file": "go.mod"})
		}
		answer("tests_pass", "yes", object{"kind": "command", "command": command[1], "exitCode": 0})
	}
	return encoded(object{"verdict": "accept", "feedback": "", "answers": answers})
}

func encoded(value any) json.RawMessage {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err) // it is made of texts, numbers and lists
	}
	return raw
}
