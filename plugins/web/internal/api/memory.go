package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// memoryTool tells what the consolidations of the inbox have made of the memory. Without the plugin that makes them there are none.
const memoryTool = "summaries__memory_log"

// notRunning is what is to be done where nobody consolidates.
const notRunning = "the plugin summaries, which consolidates, is not running; `harness plugin enable summaries` turns it on"

// Consolidation is one time at which lines of the inbox were taken into the memory.
type Consolidation struct {
	Number     int       `json:"number"`
	At         time.Time `json:"at"`
	By         string    `json:"by" doc:"Who has asked for it"`
	State      string    `json:"state" doc:"asked, turning (the agent proposes), writing, done, nothing to do, failed, reverting, reverted"`
	Why        string    `json:"why,omitempty" doc:"Why it has failed, or could not be reverted"`
	CostUSD    float64   `json:"costUsd"`
	RevertedBy string    `json:"revertedBy,omitempty"`
	RevertedAt time.Time `json:"revertedAt,omitzero"`

	Kept     int `json:"kept" doc:"Entries of the memory that stayed as they were"`
	Added    int `json:"added" doc:"New entries"`
	Replaced int `json:"replaced" doc:"Entries that a new one has taken the place of"`
	Dropped  int `json:"dropped" doc:"Entries that were removed"`
	Archived int `json:"archived" doc:"Entries and lines that went to the archive"`
	Aside    int `json:"aside" doc:"Lines of the inbox that nothing was kept of"`
	Refused  int `json:"refused" doc:"Proposals of the agent that were not carried out"`
	LeftOut  int `json:"leftOut" doc:"Lines of the inbox that the agent was not given"`
}

// MemoryEntry is an entry of the memory, and where it is from.
type MemoryEntry struct {
	Text      string `json:"text"`
	Day       string `json:"day" doc:"Of what it is from, as 2006-01-02"`
	ThreadID  string `json:"threadId,omitempty"`
	MessageID int64  `json:"messageId,omitempty" doc:"A person's message, in that thread"`
	Edit      int64  `json:"edit,omitempty" doc:"Or a person's edit: its id in the history of the context files"`
}

// MemoryNote is what has become of a line, and why.
type MemoryNote struct {
	Text string `json:"text"`
	Why  string `json:"why"`
}

// MemoryFile is a file before and after a consolidation.
type MemoryFile struct {
	Path   string `json:"path"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// ConsolidationDetail is a consolidation with all that it has done.
type ConsolidationDetail struct {
	Consolidation

	Entries   []MemoryEntry `json:"entries,omitempty" doc:"The new entries"`
	Gone      []MemoryNote  `json:"gone,omitempty" doc:"Entries that were replaced or removed"`
	Skipped   []MemoryNote  `json:"skipped,omitempty" doc:"Lines of the inbox that nothing was kept of"`
	Denied    []MemoryNote  `json:"denied,omitempty" doc:"Proposals of the agent that were not carried out"`
	LeftLines []MemoryNote  `json:"leftLines,omitempty" doc:"Lines of the inbox that the agent was not given: no person's message is behind them, they were given in vain lately, or there were more than one consolidation takes"`
	Files     []MemoryFile  `json:"files,omitempty" doc:"What it has changed"`
}

// Memory are the consolidations, newest first.
type Memory struct {
	Kept           bool            `json:"kept" doc:"The plugin summaries, which consolidates, is running"`
	On             bool            `json:"on" doc:"It does so when it is asked to (its setting memory)"`
	Consolidations []Consolidation `json:"consolidations" nullable:"false"`
	More           bool            `json:"more" doc:"There are older ones"`
}

type memoryInput struct {
	Before int `query:"before" minimum:"0" doc:"Number of the last consolidation of the page before"`
}

type memoryOutput struct{ Body Memory }

type consolidationInput struct {
	Number int `path:"number" minimum:"1"`
}

type consolidationOutput struct{ Body ConsolidationDetail }

func (h *handlers) registerMemory(api huma.API) {
	const path = "/api/memory"
	huma.Register(api, needs(pluginsdk.ScopeRead, get("list-consolidations", path, "The consolidations of the inbox into the memory, newest first")), h.listConsolidations)
	huma.Register(api, needs(pluginsdk.ScopeRead, get("get-consolidation", path+"/{number}", "A consolidation: entries with where they are from, what was left out and why, the files before and after")), h.getConsolidation)
	huma.Register(api, needs(pluginsdk.ScopeWork, post("consolidate", path+"/consolidate", "Have the inbox consolidated now", http.StatusAccepted)), h.consolidate)
	huma.Register(api, needs(pluginsdk.ScopeWork, post("revert-consolidation", path+"/{number}/revert", "Have the files become what they were before a consolidation", http.StatusOK)), h.revertConsolidation)
}

func (h *handlers) listConsolidations(ctx context.Context, input *memoryInput) (*memoryOutput, error) {
	output := &memoryOutput{}
	kept, err := h.askMemory(ctx, map[string]any{"before": input.Before}, &output.Body)
	if err != nil {
		return nil, h.fail("list-consolidations", err)
	}
	output.Body.Kept = kept
	output.Body.Consolidations = list(output.Body.Consolidations)
	return output, nil
}

func (h *handlers) getConsolidation(ctx context.Context, input *consolidationInput) (*consolidationOutput, error) {
	output, err := h.consolidation(ctx, input.Number)
	if err != nil {
		return nil, h.fail("get-consolidation", err)
	}
	return output, nil
}

// consolidation is one of that number.
func (h *handlers) consolidation(ctx context.Context, number int) (*consolidationOutput, error) {
	var found struct{ Consolidations []ConsolidationDetail }
	kept, err := h.askMemory(ctx, map[string]any{"number": number, "texts": true}, &found)
	switch {
	case err != nil:
		return nil, err
	case !kept || len(found.Consolidations) == 0:
		return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no consolidation %d: the plugin summaries, which makes them, is not running", number)
	}
	return &consolidationOutput{Body: found.Consolidations[0]}, nil
}

// askMemory asks the plugin that consolidates; false: there is none.
func (h *handlers) askMemory(ctx context.Context, asked map[string]any, out any) (kept bool, err error) {
	for name, value := range asked {
		if value == 0 {
			delete(asked, name)
		}
	}
	input, err := json.Marshal(asked)
	if err != nil {
		return false, err
	}
	answer, err := h.host.Tools.Call(ctx, &pluginsdk.InvokeToolRequest{Name: memoryTool, Input: input})
	switch code := pluginsdk.CodeOf(err); {
	case code == pluginsdk.CodeNotFound || code == pluginsdk.CodeUnavailable:
		return false, nil
	case err != nil:
		return false, err
	case answer.Result.IsError:
		return true, pluginsdk.Errorf(pluginsdk.CodeNotFound, "%s", answer.Result.Text)
	case json.Unmarshal(answer.Result.Structured, out) != nil:
		return false, nil // another plugin has the name
	}
	return true, nil
}

// consolidate gives the command in the name of who asks: the plugin takes it from people alone, and notes who it was.
func (h *handlers) consolidate(ctx context.Context, _ *struct{}) (*consolidationOutput, error) {
	var before, after struct{ Consolidations []ConsolidationDetail }
	kept, err := h.askMemory(ctx, map[string]any{}, &before)
	if err != nil {
		return nil, h.fail("consolidate", err)
	}
	if !kept {
		return nil, huma.Error409Conflict(notRunning)
	}
	if err := h.typeCommand(ctx, "consolidate", "/memory consolidate", notRunning, huma.Error409Conflict); err != nil {
		return nil, err
	}
	if _, err := h.askMemory(ctx, map[string]any{}, &after); err != nil {
		return nil, h.fail("consolidate", err)
	}
	if len(after.Consolidations) == 0 || len(before.Consolidations) > 0 && after.Consolidations[0].Number <= before.Consolidations[0].Number {
		return nil, huma.Error409Conflict("the command was carried out, and no consolidation has begun by it")
	}
	return &consolidationOutput{Body: after.Consolidations[0]}, nil
}

func (h *handlers) revertConsolidation(ctx context.Context, input *consolidationInput) (*consolidationOutput, error) {
	const operation = "revert-consolidation"
	if _, err := h.consolidation(ctx, input.Number); err != nil { // a number that is none is no command
		return nil, h.fail(operation, err)
	}
	if err := h.typeCommand(ctx, operation, fmt.Sprintf("/memory revert %d", input.Number), notRunning, huma.Error409Conflict); err != nil {
		return nil, err
	}
	output, err := h.consolidation(ctx, input.Number)
	if err != nil {
		return nil, h.fail(operation, err)
	}
	return output, nil
}
