// Package stages is how pages show the stages of a workflow: all of them in a row, batch by batch, each with
// where it is and what was said of it.
package stages

import (
	"cmp"
	"net/url"
	"strconv"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
)

// Path is the page of a workflow.
func Path(id string) string { return "/workflows/" + url.PathEscape(id) }

// Anchor is the id of what the page of a workflow says of one of its stages, counted from 0.
func Anchor(n int) string { return "stage-" + strconv.Itoa(n+1) }

// State is the state of a workflow in words.
func State(state string) (ui.Tone, string) {
	switch state {
	case "queued":
		return ui.Plain, "Queued"
	case "running":
		return ui.Busy, "Running"
	case "waiting":
		return ui.Wait, "Needs you"
	case "stopped":
		return ui.Wait, "Stopped"
	case "completed":
		return ui.Good, "Completed"
	case "failed":
		return ui.Bad, "Failed"
	case "cancelled":
		return ui.Plain, "Abandoned"
	}
	return ui.Plain, ui.Cut(state, 40)
}

// Over reports whether a workflow has ended for good.
func Over(state string) bool {
	return state == "completed" || state == "failed" || state == "cancelled"
}

// Status is the status of a stage in words.
func Status(status string) (ui.Tone, string) {
	switch status {
	case "pending":
		return ui.Plain, "Pending"
	case "running":
		return ui.Busy, "Running"
	case "reviewing":
		return ui.Busy, "In review"
	case "completed":
		return ui.Good, "Done"
	case "failed":
		return ui.Bad, "Failed"
	}
	return ui.Plain, ui.Cut(status, 40)
}

// Verdict is a verdict in words, with its score.
func Verdict(v api.WorkflowVerdict) (ui.Tone, string) {
	tone, words := ui.Plain, ui.Cut(v.Verdict, 40)
	switch v.Verdict {
	case "APPROVE":
		tone, words = ui.Good, "Approved"
	case "REVISE":
		tone, words = ui.Wait, "Changes requested"
	case "REDESIGN":
		tone, words = ui.Bad, "Redesign requested"
	}
	if v.By != "" {
		return ui.Good, "Accepted as is"
	}
	if v.Score > 0 {
		words += ", " + strconv.Itoa(v.Score) + "/10"
	}
	return tone, words
}

// Progress says how many stages are done.
func Progress(all []api.WorkflowStage) string {
	done := 0
	for _, one := range all {
		if one.Status == "completed" {
			done++
		}
	}
	if len(all) == 0 {
		return "stages not chosen yet"
	}
	return strconv.Itoa(done) + " of " + ui.Plural(len(all), "stage") + " done"
}

// Last is what was said of a stage last; nil: nothing was.
func Last(stage api.WorkflowStage) *api.WorkflowVerdict {
	if n := len(stage.Verdicts); n > 0 {
		return &stage.Verdicts[n-1]
	}
	return nil
}

// cell is a stage with its place among all.
type cell struct {
	api.WorkflowStage
	n int
}

// group is the stages of one batch that follow each other, or one stage that works on all.
type group struct {
	batch string
	cells []cell
}

func groups(all []api.WorkflowStage) (found []group) {
	for n, stage := range all {
		if last := len(found) - 1; last >= 0 && stage.Batch != "" && found[last].batch == stage.Batch {
			found[last].cells = append(found[last].cells, cell{stage, n})
			continue
		}
		found = append(found, group{stage.Batch, []cell{{stage, n}}})
	}
	return found
}

// tries says how often a stage was tried, where that was more than once.
func (c cell) tries() string {
	switch {
	case c.Round > 1:
		return "round " + strconv.Itoa(c.Round)
	case c.Attempt > 1:
		return "attempt " + strconv.Itoa(c.Attempt)
	}
	return ""
}

// tone is that of what was said of the stage, else of where it is.
func (c cell) tone() ui.Tone {
	status, _ := Status(c.Status)
	if last := Last(c.WorkflowStage); last != nil && status != ui.Busy {
		said, _ := Verdict(*last)
		return cmp.Or(said, status)
	}
	return status
}
