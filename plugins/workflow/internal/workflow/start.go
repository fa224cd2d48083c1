package workflow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/seed-706843ae/harness/plugins/workflow/internal/prompts"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/stages"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// mostRequest is how many bytes a request has at most: it is in each prompt.
const mostRequest = 64 << 10

const (
	labelDir = "workflow.dir" // of the root: the directory that was asked for
	labelBy  = "workflow.by"  // of the root: agent, when an agent has started it
)

// start begins a workflow in a directory, once for each call.
func (p *Plugin) start(ctx context.Context, r request) (answer, error) {
	if r.text == "" {
		return answer{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "there is nothing to build: say what the workflow is to build, after the options")
	}
	if len(r.text) > mostRequest {
		return answer{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "the request has %d bytes, and a workflow takes at most %d: put the rest into a file of the project, and name that", len(r.text), mostRequest)
	}
	if r.agent && r.thread.Kind == pluginsdk.ThreadTask {
		return answer{}, pluginsdk.Errorf(pluginsdk.CodeDenied, "the worker of a task starts no workflow: do the work yourself, or delegate a part of it")
	}
	c := p.config.Load()
	dir, err := p.place(r, c)
	if err != nil {
		return answer{}, err
	}
	cost, err := costOf(r, c)
	if err != nil {
		return answer{}, err
	}
	batch, err := numberOf(r, "batch", 1, 50)
	if err != nil {
		return answer{}, err
	}
	labels := map[string]string{labelRoot: "yes", labelDir: dir, labelScope: "checks", labelKeep: "branch"}
	if batch > 0 {
		labels[labelBatchN] = strconv.Itoa(batch)
	}
	noted := ""
	if asked := r.fields["stages"]; asked != "" {
		names, err := namesOf(asked, dir, c)
		if err != nil {
			return answer{}, err
		}
		labels[labelAsked] = strings.Join(names, ",")
		if alone := unreviewed(names); alone != "" && r.agent {
			return answer{}, pluginsdk.Errorf(pluginsdk.CodeDenied, "stages: no reviewer comes after %s, and only a person may start a workflow whose work nobody reviews: name a reviewer after it, or name no stages", alone)
		} else if alone != "" {
			noted = fmt.Sprintf(" Nobody reviews the work of the stage %s: no reviewer comes after it.", alone)
		}
	}
	if r.agent {
		labels[labelBy] = "agent"
	}
	p.starts.Lock()
	defer p.starts.Unlock()
	if err := p.vacant(ctx, r, dir, c); err != nil {
		return answer{}, err
	}
	note, err := p.readyGit(ctx, dir, r)
	if err != nil {
		return answer{}, err
	}
	created, err := p.host.Tasks.Create(ctx, &pluginsdk.CreateTaskRequest{Key: r.call.ID, Task: pluginsdk.NewTask{
		ParentThreadID: r.thread.ID, RequestedBy: r.author, OriginalMessage: r.text, Prompt: r.text, Cwd: dir, Labels: labels, Wake: r.agent,
		MaxIterations: most, MaxValidationIterations: most, CostCapUSD: cost,
	}})
	if err != nil {
		return answer{}, err
	}
	id := created.Task.ID
	p.begin(id)
	return answer{
		words: fmt.Sprintf("Workflow %s has begun in %s, for at most $%.2f.%s /workflow status %s says how far it is.", short(id), dir, created.Task.CostCapUSD, noted+note, short(id)),
		data:  map[string]any{"id": id, "threadId": created.Task.ThreadID, "dir": dir, "note": strings.TrimSpace(noted + note)},
	}, nil
}

// place is the directory of a workflow. A person who may administer names any; others name that of
// the thread, one below it, or one of the operator's.
func (p *Plugin) place(r request, c *config) (string, error) {
	threads := cmp.Or(r.thread.Cwd, p.workspace)
	asked := r.fields["dir"]
	switch {
	case asked == "" && (r.thread.Cwd == "" || r.thread.Cwd == p.workspace):
		return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "dir: name the directory of the project, such as dir=/home/me/shop; the workspace is the assistant's own")
	case asked == "":
		asked = threads
	case !filepath.IsAbs(asked) && threads == "":
		return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "dir: %q: the thread has no directory that this could be in; name an absolute one", asked)
	case !filepath.IsAbs(asked):
		asked = filepath.Join(threads, asked)
	}
	real, err := filepath.EvalSymlinks(asked)
	if errors.Is(err, fs.ErrNotExist) {
		return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "dir: %q does not exist; make it first", asked)
	}
	if err != nil {
		return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "dir: %q cannot be used: %w; name another", asked, err)
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "dir: %q is no directory; name the one that it is in", asked)
	}
	if workspace, err := filepath.EvalSymlinks(p.workspace); err == nil && real == workspace {
		return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "dir: %q is the assistant's own workspace; make a directory for the project, there or elsewhere, and name that", asked)
	}
	if r.admin {
		return real, nil
	}
	for _, root := range append([]string{threads}, c.Roots...) {
		if root, err := filepath.EvalSymlinks(root); err == nil && root != "" && within(real, root) {
			return real, nil
		}
	}
	return "", pluginsdk.Errorf(pluginsdk.CodeDenied, "dir: %q is neither in the thread's directory %q nor in one of the operator's: "+
		"`harness plugin settings set %s 'roots=[\"DIR\"]'` allows it", asked, threads, name)
}

// within reports whether a path is the root or below it; both are clean.
func within(path, root string) bool {
	below, err := filepath.Rel(root, path)
	return err == nil && below != ".." && !strings.HasPrefix(below, ".."+string(filepath.Separator))
}

func costOf(r request, c *config) (float64, error) {
	asked := r.fields["cost"]
	if asked == "" {
		return c.CostCap, nil
	}
	cost, err := strconv.ParseFloat(strings.TrimPrefix(asked, "$"), 64)
	switch {
	case err != nil || !(cost > 0) || math.IsInf(cost, 0):
		return 0, pluginsdk.Errorf(pluginsdk.CodeInvalid, "cost: %q is not a positive amount in US dollars", asked)
	case !r.admin && cost > c.MaxCost:
		return 0, pluginsdk.Errorf(pluginsdk.CodeDenied, "cost: $%.2f is more than $%.2f (setting maxCost): only a person with the scope admin may give a workflow more", cost, c.MaxCost)
	}
	return cost, nil
}

// numberOf reads an option that is a number; 0: it was not given.
func numberOf(r request, option string, least, most int) (int, error) {
	asked := r.fields[option]
	if asked == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(asked)
	if err != nil || n < least || n > most {
		return 0, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s: %q is not a number from %d to %d", option, asked, least, most)
	}
	return n, nil
}

// namesOf reads the stages that a person has named.
func namesOf(asked, dir string, c *config) ([]string, error) {
	known, _, err := loadRoles(dir, c)
	if err != nil {
		return nil, err
	}
	names := strings.FieldsFunc(asked, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	if _, err := prompts.Stages(names, slices.Collect(maps.Keys(known))); err != nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "stages: %w", err)
	}
	return names, nil
}

// vacant refuses a directory in which, above or below which a workflow is open: one builds at a time.
// It refuses an agent's start, too, when agents have as many open as they may.
func (p *Plugin) vacant(ctx context.Context, r request, dir string, c *config) error {
	agents := 0
	for after := ""; ; {
		page, err := p.host.Tasks.List(ctx, &pluginsdk.ListTasksRequest{Query: pluginsdk.TaskQuery{Plugin: name, Statuses: openStatuses, After: after}})
		if err != nil || len(page.Tasks) == 0 {
			return err
		}
		for _, task := range page.Tasks {
			after = task.ID
			if task.Labels[labelRoot] == "" || task.Key == r.call.ID {
				continue
			}
			if other := task.Labels[labelDir]; nested(dir, other) {
				return pluginsdk.Errorf(pluginsdk.CodeConflict, "the workflow %s is open in %s (%s): wait for it, continue it, or abandon it (/workflow abandon %s)", short(task.ID), other, task.Status, short(task.ID))
			}
			if task.Labels[labelBy] != "" {
				agents++
			}
			if r.agent && agents >= c.AgentsOpen {
				return pluginsdk.Errorf(pluginsdk.CodeExhausted, "agents have started %d workflows that are open, and may have %d (setting agentsOpen): wait until one is over, or ask a person to type /workflow start dir=%s WHAT TO BUILD", agents, c.AgentsOpen, dir)
			}
		}
	}
}

// nested reports whether one of two directories is the other or below it, also as links lead by now.
func nested(a, b string) bool {
	if within(a, b) || within(b, a) {
		return true
	}
	real, err := filepath.EvalSymlinks(b)
	return err == nil && (within(a, real) || within(real, a))
}

// unreviewed is the first stage whose work no reviewer after it looks at; empty: there is none. A scout and
// an architect leave what later stages work with, and are checked by what they leave.
func unreviewed(names []string) string {
	for n, agent := range names {
		switch (stages.Stage{Agent: agent}).Role() {
		case stages.Scout, stages.Architect, stages.Reviewer:
			continue
		}
		if !slices.ContainsFunc(names[n+1:], func(later string) bool { return (stages.Stage{Agent: later}).Role() == stages.Reviewer }) {
			return agent
		}
	}
	return ""
}
