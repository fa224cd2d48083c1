package validation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/seed-706843ae/harness/plugins/validation/internal/review"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// record is what is kept of a task until it is over, under keyOf(task): what was asked in
// the round at hand, so that the plugin that is started after a crash asks the same and
// finds the answer that was paid for; and the verdict that stands while the patch does.
type record struct {
	Call     string                     `json:"call"`            // of the round
	Turn     pluginsdk.StartTurnRequest `json:"turn"`            // without its key and, where there are parts, without its prompt
	Parts    int                        `json:"parts,omitempty"` // in which the work is reviewed; 0: it is reviewed whole
	Work     review.Work                `json:"work"`
	Accepted *accepted                  `json:"accepted,omitempty"`
	Own      string                     `json:"own,omitempty"` // tree that the directory of the task's own was last recorded as
}

// accepted is the reviewer's word for a patch.
type accepted struct {
	PatchID   string         `json:"patchId"`
	Iteration int            `json:"iteration"`
	Verdict   review.Verdict `json:"verdict"`
	Demo      bool           `json:"demo,omitempty"`
}

func keyOf(task pluginsdk.Task) string { return "task/" + task.ID }

// load returns what is kept of a task; the zero record: nothing, or nothing that this
// version can read.
func (p *Plugin) load(ctx context.Context, task pluginsdk.Task) (kept record, err error) {
	answer, err := p.host.State.Get(ctx, &pluginsdk.GetStateRequest{Key: keyOf(task)})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound && err != nil {
		return kept, nil
	}
	if err != nil {
		return kept, err
	}
	if err := json.Unmarshal(answer.Entry.Value, &kept); err != nil {
		p.log.Warn("what was kept of a task cannot be read: its review begins anew", "task", task.ID, "err", err)
		return record{}, nil
	}
	return kept, nil
}

// keyOfPart is the key of the prompt of a part, each of which may be as large as a value can be.
func keyOfPart(task pluginsdk.Task, part int) string { return fmt.Sprintf("part/%s/%d", task.ID, part) }

// saveParts keeps the prompts of all parts. They are kept before the record that names their number,
// so that whoever finds that finds them.
func (p *Plugin) saveParts(ctx context.Context, task pluginsdk.Task, prompts []string) error {
	for n, prompt := range prompts {
		if _, err := p.host.State.Put(ctx, &pluginsdk.PutStateRequest{Key: keyOfPart(task, n+1), Value: []byte(prompt)}); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plugin) loadPart(ctx context.Context, task pluginsdk.Task, part int) (prompt string, err error) {
	answer, err := p.host.State.Get(ctx, &pluginsdk.GetStateRequest{Key: keyOfPart(task, part)})
	if err != nil {
		return "", err
	}
	return string(answer.Entry.Value), nil
}

// forgetParts removes the prompts of all parts of a task.
func (p *Plugin) forgetParts(ctx context.Context, task pluginsdk.Task) error {
	answer, err := p.host.State.List(ctx, &pluginsdk.ListStateRequest{Prefix: "part/" + task.ID + "/"})
	if err != nil {
		return err
	}
	for _, entry := range answer.Entries {
		if _, err := p.host.State.Delete(ctx, &pluginsdk.DeleteStateRequest{Key: entry.Key}); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plugin) save(ctx context.Context, task pluginsdk.Task, kept record) error {
	var value bytes.Buffer
	encoder := json.NewEncoder(&value)
	encoder.SetEscapeHTML(false) // each line of what is quoted in the prompt begins with >
	if err := encoder.Encode(kept); err != nil {
		return err
	}
	_, err := p.host.State.Put(ctx, &pluginsdk.PutStateRequest{Key: keyOf(task), Value: value.Bytes()})
	return err
}

// forget removes what is kept of a task, and its checkouts.
func (p *Plugin) forget(ctx context.Context, task pluginsdk.Task) error {
	if err := p.works.Forget(ctx, p.host.State, task.ID); err != nil {
		return err
	}
	if err := p.forgetParts(ctx, task); err != nil {
		return err
	}
	_, err := p.host.State.Delete(ctx, &pluginsdk.DeleteStateRequest{Key: keyOf(task)})
	return err
}
