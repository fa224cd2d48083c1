package summaries

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/seed-706843ae/harness/plugins/summaries/internal/memory"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// toolLog tells what the consolidations have made of the memory.
const toolLog = "memory_log"

// toldRecords is how many consolidations are told at once, the newest first. Each is read with its files, which may be long.
const toldRecords = 10

// asksLog is what toolLog is called with.
type asksLog struct {
	Number int  `json:"number"` // of one consolidation; 0: the newest ones
	Before int  `json:"before"` // those with smaller numbers; 0: all
	Texts  bool `json:"texts"`  // the files before and after too; only outside of runs, since they are long
}

// told is a consolidation as the tool tells it.
type told struct {
	Number     int       `json:"number"`
	At         time.Time `json:"at"`
	By         string    `json:"by"`
	State      phase     `json:"state"`
	Why        string    `json:"why,omitempty"`
	CostUSD    float64   `json:"costUsd"`
	RevertedBy string    `json:"revertedBy,omitempty"`
	RevertedAt time.Time `json:"revertedAt,omitzero"`

	// Counts: entries of the memory, and lines of the inbox.
	Kept     int `json:"kept"`
	Added    int `json:"added"`
	Replaced int `json:"replaced"`
	Dropped  int `json:"dropped"`
	Archived int `json:"archived"`
	Aside    int `json:"aside"`
	Refused  int `json:"refused"`
	LeftOut  int `json:"leftOut"`

	// Only of one consolidation.
	Entries []toldEntry `json:"entries,omitempty"`
	Gone    []toldNote  `json:"gone,omitempty"`      // entries that fell out
	Skipped []toldNote  `json:"skipped,omitempty"`   // lines of which nothing is kept
	Denied  []toldNote  `json:"denied,omitempty"`    // what the agent proposed, and what was not done
	Left    []toldNote  `json:"leftLines,omitempty"` // lines that were not given to the agent
	Files   []toldFile  `json:"files,omitempty"`
}

// toldEntry is an entry that was added, and where it is from.
type toldEntry struct {
	Text    string `json:"text"`
	Day     string `json:"day"`
	Thread  string `json:"threadId,omitempty"`
	Message int64  `json:"messageId,omitempty"` // a person's, in that thread
	Edit    int64  `json:"edit,omitempty"`      // or a person's edit: its number in the history of the files
}

// toldNote is something that has happened to a line, and why.
type toldNote struct {
	Text string `json:"text"`
	Why  string `json:"why"`
}

// toldFile is a file before and after.
type toldFile struct {
	Path   string `json:"path"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// answerLog answers toolLog: in words for an agent, and as an object for programs.
func (p *Plugin) answerLog(ctx context.Context, call *pluginsdk.CallToolRequest) (pluginsdk.ToolResult, error) {
	var asked asksLog
	if err := json.Unmarshal(call.Input, &asked); err != nil {
		return pluginsdk.ToolResult{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "input: %w", err)
	}
	if call.ThreadID != "" { // an agent is told in words alone: it is given both, and pays for both
		text, err := p.log(ctx, asked.Number)
		return pluginsdk.ToolResult{Text: text}, err
	}
	records, more, err := p.newest(ctx, asked)
	if err != nil {
		return pluginsdk.ToolResult{}, err
	}
	var answer struct {
		On             bool   `json:"on"` // the inbox is consolidated when somebody asks for it
		Consolidations []told `json:"consolidations"`
		More           bool   `json:"more"` // there are older ones
	}
	answer.On, answer.More, answer.Consolidations = p.config.Load().Memory, more, []told{}
	for _, r := range records {
		one := r.told()
		if asked.Number != 0 {
			r.tellAll(&one, asked.Texts)
		}
		answer.Consolidations = append(answer.Consolidations, one)
	}
	structured, err := json.Marshal(answer)
	return pluginsdk.ToolResult{Structured: structured}, err
}

// newest reads the records that are asked for, the newest first, with the one that is at work.
func (p *Plugin) newest(ctx context.Context, asked asksLog) (found []*record, more bool, err error) {
	open, err := p.open(ctx)
	if err != nil {
		return nil, false, err
	}
	all, err := p.numbers(ctx)
	if err != nil {
		return nil, false, err
	}
	if open != nil && !slices.Contains(all, open.N) {
		all = append(all, open.N)
	}
	slices.Sort(all)
	for i := len(all) - 1; i >= 0; i-- {
		n := all[i]
		if asked.Number != 0 && n != asked.Number || asked.Before != 0 && n >= asked.Before {
			continue
		}
		if len(found) == toldRecords {
			return found, true, nil
		}
		r := open
		if open == nil || open.N != n {
			if r, err = p.record(ctx, recordKey(n)); err != nil {
				return nil, false, err
			}
		}
		if r != nil {
			found = append(found, r)
		}
	}
	if asked.Number != 0 && len(found) == 0 {
		return nil, false, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no consolidation %d; the last %d are kept", asked.Number, mostRecords)
	}
	return found, false, nil
}

// told is the record without its lines and files.
func (r *record) told() told {
	one := told{
		Number: r.N, At: r.At, By: r.By, State: r.Phase, Why: r.Why, CostUSD: r.CostUSD, RevertedBy: r.RevertedBy, RevertedAt: r.RevertedAt,
		Kept: r.Plan.Kept, Added: len(r.Plan.Added), Aside: len(r.Plan.Skipped), Refused: len(r.Plan.Refused), LeftOut: len(r.LeftOut),
		Archived: len(r.Plan.Removed) + len(r.Plan.Skipped),
	}
	for _, note := range r.Plan.Removed {
		if note.Replaced {
			one.Replaced++
		} else {
			one.Dropped++
		}
	}
	return one
}

// tellAll adds the lines, and the files before and after.
func (r *record) tellAll(one *told, texts bool) {
	for _, note := range r.Plan.Added {
		if note.Origin == "" { // the record is older than the noting of origins: the entry says it
			note.Day, note.Origin = memory.OriginOf(note.What)
		}
		entry := toldEntry{Text: note.What, Day: note.Day, Thread: note.Thread}
		_, _ = fmt.Sscanf(note.Origin, "message %d", &entry.Message)
		_, _ = fmt.Sscanf(note.Origin, "edit %d", &entry.Edit)
		one.Entries = append(one.Entries, entry)
	}
	one.Gone, one.Skipped = notes(r.Plan.Removed), notes(r.Plan.Skipped)
	one.Denied, one.Left = notes(r.Plan.Refused), notes(r.LeftOut)
	if texts && (r.Phase == phaseDone || r.Phase == phaseReverting || r.Phase == phaseReverted) {
		one.Files = []toldFile{{memoryFile, r.Memory.Before, r.Memory.After}, {inboxFile, r.Inbox.Before, r.Inbox.After}}
	}
}

func notes(all []memory.Note) (told []toldNote) {
	for _, note := range all {
		told = append(told, toldNote{note.What, note.Why})
	}
	return told
}
