// Stage is a plugin that says and does what files beside it say, so that a test can write
// down what a plugin could say of itself:
//
//	stage.json    its manifest
//	log.txt       what it logs when it starts, a line each
//	fault.txt     why it does not start; absent: it does
//	verdict.json  what it answers when the work of a task is looked at; absent: it is not asked
//	tools.json    what its tools answer: by the tool's name, and by its input as JSON
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

func main() {
	if beside("verdict.json") != "" {
		serve.Main(new(judge))
		return
	}
	if beside("tools.json") != "" {
		serve.Main(new(teller))
		return
	}
	serve.Main(new(stage))
}

type stage struct{ host pluginsdk.Host }

// Manifest is what stage.json says.
func (*stage) Manifest() (manifest pluginsdk.Manifest) {
	if err := json.Unmarshal([]byte(beside("stage.json")), &manifest); err != nil {
		fmt.Fprintln(os.Stderr, "stage.json:", err)
		os.Exit(1)
	}
	return manifest
}

// Start logs what log.txt says, and fails if there is a fault.txt.
func (s *stage) Start(_ context.Context, host pluginsdk.Host) error {
	s.host = host
	for line := range strings.Lines(beside("log.txt")) {
		host.Log.Warn(strings.TrimSuffix(line, "\n"))
	}
	if fault := beside("fault.txt"); fault != "" {
		return errors.New(fault)
	}
	return nil
}

// OnCommand has nothing to say to the commands of the manifest but three: `said THREAD WORDS`
// brings a person's message into a thread, `meant THREAD WORDS` corrects it, and `labelled NAME=VALUE WORDS` makes a task
// with a label.
func (s *stage) OnCommand(ctx context.Context, request *pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
	thread, words, _ := strings.Cut(request.Body, " ")
	var err error
	switch request.Name {
	case "said":
		_, err = s.host.Messages.Submit(ctx, &pluginsdk.SubmitMessageRequest{Submission: pluginsdk.Submission{ThreadID: thread, Key: thread, Author: "Cleo", Content: words}})
	case "meant":
		_, err = s.host.Messages.Amend(ctx, &pluginsdk.AmendMessageRequest{ThreadID: thread, Key: thread, Content: words})
	case "labelled":
		name, value, _ := strings.Cut(thread, "=")
		_, err = s.host.Tasks.Create(ctx, &pluginsdk.CreateTaskRequest{Task: pluginsdk.NewTask{OriginalMessage: words, Prompt: words, Labels: map[string]string{name: value}}})
	default:
		return &pluginsdk.OnCommandResponse{}, nil
	}
	return &pluginsdk.OnCommandResponse{Handled: true, Reply: "Done."}, err
}

// judge is a stage that looks at the work of tasks.
type judge struct{ stage }

// OnTaskComplete is of the opinion that verdict.json says.
func (*judge) OnTaskComplete(context.Context, *pluginsdk.OnTaskCompleteRequest) (answer *pluginsdk.OnTaskCompleteResponse, err error) {
	err = json.Unmarshal([]byte(beside("verdict.json")), &answer)
	return answer, err
}

// teller is a stage that has tools.
type teller struct{ stage }

// CallTool answers what tools.json says.
func (*teller) CallTool(_ context.Context, request *pluginsdk.CallToolRequest) (*pluginsdk.CallToolResponse, error) {
	var answers map[string]map[string]json.RawMessage
	if err := json.Unmarshal([]byte(beside("tools.json")), &answers); err != nil {
		return nil, err
	}
	answer, known := answers[request.Name][string(request.Input)]
	if !known {
		return &pluginsdk.CallToolResponse{Result: pluginsdk.ToolResult{IsError: true, Text: "there is nothing of " + string(request.Input)}}, nil
	}
	return &pluginsdk.CallToolResponse{Result: pluginsdk.ToolResult{Structured: answer}}, nil
}

// beside is the text of a file in the directory that the program lies in; of none it is
// empty.
func beside(name string) string {
	program, err := os.Executable()
	if err == nil {
		var text []byte
		if text, err = os.ReadFile(filepath.Join(filepath.Dir(program), name)); err == nil || errors.Is(err, fs.ErrNotExist) {
			return string(text)
		}
	}
	fmt.Fprintln(os.Stderr, name+":", err)
	os.Exit(1)
	return ""
}
