package api

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// WorkflowPlugin is the plugin that drives workflows. Its command has the same name, and so do the labels of its tasks
// begin.
const WorkflowPlugin = "workflow"

// workflowTool reports workflows.
const workflowTool = WorkflowPlugin + "__workflow_status"

// NoWorkflows is said where something is asked of workflows that nobody drives.
const NoWorkflows = "nobody drives workflows: the plugin " + WorkflowPlugin + " is off; `harness plugin enable " + WorkflowPlugin + "` turns it on"

type workflowsOutput struct{ Body Workflows }

type workflowInput struct {
	ID string `path:"id" maxLength:"100" pattern:"^[0-9A-Za-z-]+$"`
}

type workflowOutput struct{ Body Workflow }

// WorkflowStart is what a workflow is to be. What is absent is the plugin's to decide.
type WorkflowStart struct {
	Text   string   `json:"text" minLength:"1" maxLength:"60000" doc:"What is to be built"`
	Dir    string   `json:"dir,omitempty" maxLength:"4096" pattern:"^/[^\\n\\r]*$" doc:"Where, on the machine of the daemon. Needs the scope admin; absent: the directory of the primary thread"`
	Stages []string `json:"stages,omitempty" maxItems:"20" doc:"The agents of its stages, in their order; absent: a router picks them"`
	Batch  int      `json:"batch,omitempty" minimum:"1" maximum:"100" doc:"Tasks of a batch"`
	Cost   float64  `json:"costUsd,omitempty" minimum:"0" maximum:"1000000" doc:"What it may cost"`
	Git    string   `json:"git,omitempty" enum:"yes,no" doc:"Of a directory that is in no git repository: yes makes it one, no builds without git"`
}

type startWorkflowInput struct{ Body WorkflowStart }

// WorkflowContinue has a workflow that waits or has stopped go on. What is absent stays as it is.
type WorkflowContinue struct {
	Rounds    int     `json:"rounds,omitempty" minimum:"0" maximum:"100" doc:"More reviews that may ask for changes, of each batch"`
	Redesigns int     `json:"redesigns,omitempty" minimum:"0" maximum:"100" doc:"More returns to the architect"`
	Tries     int     `json:"tries,omitempty" minimum:"0" maximum:"100" doc:"More times that the checks of each stage may fail"`
	CostUSD   float64 `json:"costUsd,omitempty" minimum:"0" maximum:"1000000" doc:"What it may cost from now on, in all"`
	Accept    bool    `json:"accept,omitempty" doc:"What it waits with is accepted as it is"`
	Words     string  `json:"words,omitempty" maxLength:"60000" doc:"To the agent that goes on"`
}

type continueWorkflowInput struct {
	ID   string `path:"id" maxLength:"100" pattern:"^[0-9A-Za-z-]+$"`
	Body *WorkflowContinue
}

func (h *handlers) registerWorkflows(api huma.API) {
	const path = "/api/workflows"
	huma.Register(api, needs(pluginsdk.ScopeRead, get("list-workflows", path, "Workflows, newest first")), h.listWorkflows)
	huma.Register(api, needs(pluginsdk.ScopeRead, get("get-workflow", path+"/{id}", "A workflow: its stages with their verdicts, its limits and what it has cost")), h.getWorkflow)
	huma.Register(api, needs(pluginsdk.ScopeWork, post("start-workflow", path, "Have something built in stages", http.StatusAccepted)), h.startWorkflow)
	huma.Register(api, needs(pluginsdk.ScopeApprove, post("continue-workflow", path+"/{id}/continue", "Have a workflow that waits or has stopped go on", http.StatusOK)), h.continueWorkflow)
	huma.Register(api, needs(pluginsdk.ScopeApprove, post("stop-workflow", path+"/{id}/stop", "Stop a workflow; it can be continued", http.StatusOK)), h.stopWorkflow)
	huma.Register(api, needs(pluginsdk.ScopeApprove, post("abandon-workflow", path+"/{id}/abandon", "End a workflow for good; its branch stays", http.StatusOK)), h.abandonWorkflow)
}

func (h *handlers) listWorkflows(ctx context.Context, _ *struct{}) (*workflowsOutput, error) {
	output := &workflowsOutput{}
	served, err := h.askWorkflows(ctx, "", &output.Body)
	if err != nil {
		return nil, h.fail("list-workflows", err)
	}
	output.Body.Served, output.Body.Workflows = served, list(output.Body.Workflows)
	for n := range output.Body.Workflows {
		output.Body.Workflows[n].tidy()
	}
	return output, nil
}

func (h *handlers) getWorkflow(ctx context.Context, input *workflowInput) (*workflowOutput, error) {
	return h.workflow(ctx, "get-workflow", input.ID)
}

// workflow is the one of that id.
func (h *handlers) workflow(ctx context.Context, operation, id string) (*workflowOutput, error) {
	output := &workflowOutput{}
	served, err := h.askWorkflows(ctx, id, &output.Body)
	switch {
	case err != nil:
		return nil, h.fail(operation, err)
	case !served:
		return nil, huma.Error404NotFound(NoWorkflows)
	case output.Body.ID == "":
		return nil, huma.Error404NotFound("there is no workflow with the id " + strconv.Quote(id))
	}
	output.Body.tidy()
	return output, nil
}

// askWorkflows asks the plugin that drives workflows for one of them, or for all; false: there is no such plugin.
func (h *handlers) askWorkflows(ctx context.Context, id string, out any) (served bool, err error) {
	asked := map[string]string{}
	if id != "" {
		asked["workflow"] = id
	}
	input, err := json.Marshal(asked)
	if err != nil {
		return false, err
	}
	answer, err := h.host.Tools.Call(ctx, &pluginsdk.InvokeToolRequest{Name: workflowTool, Input: input})
	switch code := pluginsdk.CodeOf(err); {
	case code == pluginsdk.CodeNotFound || code == pluginsdk.CodeUnavailable:
		return false, nil
	case err != nil:
		return false, err
	case answer.Result.IsError:
		return true, pluginsdk.Errorf(pluginsdk.CodeNotFound, "%s", answer.Result.Text)
	}
	raw := answer.Result.Structured
	if len(raw) == 0 {
		raw = json.RawMessage(answer.Result.Text)
	}
	return json.Unmarshal(raw, out) == nil, nil // what cannot be read is of another plugin of this name
}

// startWorkflow answers with the workflow that is there after the command and was not before.
func (h *handlers) startWorkflow(ctx context.Context, input *startWorkflowInput) (*workflowOutput, error) {
	const operation = "start-workflow"
	body := input.Body
	if err := admits(ctx, pluginsdk.ScopeAdmin, field{"dir", body.Dir != ""}); err != nil {
		return nil, err
	}
	text := strings.TrimSpace(body.Text)
	if text == "" {
		return nil, invalid("text", "expected what is to be built")
	}
	words, err := body.words()
	if err != nil {
		return nil, err
	}
	before, err := h.listWorkflows(ctx, nil)
	if err != nil {
		return nil, err
	}
	if !before.Body.Served {
		return nil, huma.Error409Conflict(NoWorkflows)
	}
	if err := h.typeWorkflow(ctx, operation, huma.Error422UnprocessableEntity, append(words, apart(text))...); err != nil {
		return nil, err
	}
	after, err := h.listWorkflows(ctx, nil)
	if err != nil {
		return nil, err
	}
	for _, one := range after.Body.Workflows {
		if !slices.ContainsFunc(before.Body.Workflows, func(old Workflow) bool { return old.ID == one.ID }) {
			return &workflowOutput{Body: one}, nil
		}
	}
	return nil, huma.Error409Conflict("the command was carried out, and no workflow has begun by it; the primary thread has its answer")
}

// stageName is how the agent of a stage is called in the command.
var stageName = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// words are the command that starts the workflow, but for what is to be built.
func (s WorkflowStart) words() ([]string, error) {
	words := []string{"start"}
	if s.Dir != "" {
		quoted, ok := quoteField(s.Dir)
		if !ok {
			return nil, invalid("dir", "has both kinds of quotes in it; rename the directory")
		}
		words = append(words, "dir="+quoted)
	}
	for _, agent := range s.Stages {
		if !stageName.MatchString(agent) {
			return nil, invalid("stages", "expected names of agents, such as architect, got "+strconv.Quote(agent))
		}
	}
	if len(s.Stages) > 0 {
		words = append(words, "stages="+strings.Join(s.Stages, ","))
	}
	if s.Batch > 0 {
		words = append(words, "batch="+strconv.Itoa(s.Batch))
	}
	if s.Cost > 0 {
		words = append(words, "cost="+amount(s.Cost))
	}
	if s.Git != "" {
		words = append(words, "git="+s.Git)
	}
	return words, nil
}

func amount(usd float64) string { return strconv.FormatFloat(usd, 'f', -1, 64) }

// quoteField is a value as a command's named option takes it; false: there is no way to write it.
func quoteField(value string) (quoted string, ok bool) {
	for _, quote := range []string{`"`, "'"} {
		switch {
		case value != "" && !strings.ContainsAny(value, " \t\r\n\"'"):
			return value, true
		case !strings.Contains(value, quote):
			return quote + value + quote, true
		}
	}
	return "", false
}

// namedFirst is how words begin that a command would take for a named option.
var namedFirst = lazy.Regexp(`^(?:[A-Za-z][\w-]*=|--)`)

// apart keeps the words of a person apart from the named options before them.
func apart(words string) string {
	if namedFirst.MatchString(words) {
		return "-- " + words
	}
	return words
}

func (h *handlers) continueWorkflow(ctx context.Context, input *continueWorkflowInput) (*workflowOutput, error) {
	body := WorkflowContinue{}
	if input.Body != nil {
		body = *input.Body
	}
	words := []string{"continue", input.ID}
	for name, n := range map[string]int{"rounds": body.Rounds, "redesigns": body.Redesigns, "tries": body.Tries} {
		if n > 0 {
			words = append(words, name+"="+strconv.Itoa(n))
		}
	}
	slices.Sort(words[2:])
	if body.CostUSD > 0 {
		words = append(words, "cost="+amount(body.CostUSD))
	}
	if body.Accept {
		words = append(words, "accept=yes")
	}
	if note := strings.TrimSpace(body.Words); note != "" {
		words = append(words, apart(note))
	}
	return h.actOnWorkflow(ctx, "continue-workflow", input.ID, words...)
}

func (h *handlers) stopWorkflow(ctx context.Context, input *workflowInput) (*workflowOutput, error) {
	return h.actOnWorkflow(ctx, "stop-workflow", input.ID, "stop", input.ID)
}

func (h *handlers) abandonWorkflow(ctx context.Context, input *workflowInput) (*workflowOutput, error) {
	return h.actOnWorkflow(ctx, "abandon-workflow", input.ID, "abandon", input.ID)
}

// actOnWorkflow types a command about a workflow that there is, and answers with the workflow as it is then.
func (h *handlers) actOnWorkflow(ctx context.Context, operation, id string, words ...string) (*workflowOutput, error) {
	if _, err := h.workflow(ctx, operation, id); err != nil {
		return nil, err
	}
	if err := h.typeWorkflow(ctx, operation, huma.Error409Conflict, words...); err != nil {
		return nil, err
	}
	return h.workflow(ctx, operation, id)
}

// typeWorkflow types the plugin's command in the name of who calls: the plugin takes decisions on a workflow from people
// alone.
func (h *handlers) typeWorkflow(ctx context.Context, operation string, refused func(string, ...error) huma.StatusError, words ...string) error {
	return h.typeCommand(ctx, operation, "/"+WorkflowPlugin+" "+strings.Join(words, " "), NoWorkflows, refused)
}
