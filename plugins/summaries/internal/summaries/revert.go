package summaries

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// versionOf is the version of a context file with this text.
func versionOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// revert has the files become byte for byte what they were before a consolidation. That memory.md was changed since is
// refused; lines that were added to inbox.md since stay, behind what it was.
func (p *Plugin) revert(ctx context.Context, n int, by string) (string, error) {
	r, err := p.record(ctx, recordKey(n))
	switch {
	case err != nil:
		return "", err
	case r == nil:
		return "", pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no consolidation %d; /memory log shows those that are kept", n)
	case r.Phase == phaseReverted:
		return "", pluginsdk.Errorf(pluginsdk.CodeStale, "consolidation %d has nothing left to revert: it is reverted already, %s by %s", n, r.RevertedAt.UTC().Format("2006-01-02 15:04"), r.RevertedBy)
	case r.Phase != phaseDone:
		return "", pluginsdk.Errorf(pluginsdk.CodeStale, "consolidation %d has changed nothing that could be reverted: it is %s", n, r.Phase)
	}
	if err := p.turnBack(ctx, r); err != nil {
		return "", err
	}
	r.Phase, r.RevertedBy, r.RevertedAt = phaseReverting, by, p.now()
	if err := p.enter(ctx, r); err != nil {
		return "", err
	}
	if !p.mu.TryLock() {
		return fmt.Sprintf("Consolidation %d will be reverted when the turn that is under way is over: /memory log", n), nil
	}
	defer p.mu.Unlock()
	// As the plugin's own work, not the command's: what a command has begun may not delete threads, and this takes back a copy.
	if err := p.settle(pluginsdk.WithCall(ctx, pluginsdk.Call{})); err != nil {
		return "", err
	}
	if r, err = p.record(ctx, recordKey(n)); err != nil || r == nil {
		return "", err
	}
	if r.Phase != phaseReverted {
		return "", pluginsdk.Errorf(pluginsdk.CodeStale, "consolidation %d is not reverted: %s", n, r.Why)
	}
	return fmt.Sprintf("Consolidation %d is reverted: memory.md and inbox.md are what they were before it%s.", n, map[bool]string{
		true: ", with the lines that have come to the inbox since", false: "",
	}[r.RevertedInbox.After != r.Inbox.Before]), nil
}

// turnBack decides what reverting makes of the inbox, or refuses.
func (p *Plugin) turnBack(ctx context.Context, r *record) error {
	was, err := p.read(ctx, memoryFile)
	if err != nil {
		return err
	}
	if was.text != r.Memory.After && r.Memory.Before != r.Memory.After {
		return pluginsdk.Errorf(pluginsdk.CodeStale, "memory.md has changed since consolidation %d: revert the ones after it first, the newest before the others, or edit memory.md; /memory diff %d shows what it has changed", r.N, r.N)
	}
	inbox, err := p.read(ctx, inboxFile)
	if err != nil {
		return err
	}
	if len(inbox.text) > mostText {
		return pluginsdk.Errorf(pluginsdk.CodeStale, "inbox.md has %d bytes, and may have %d for a consolidation to be reverted: shorten it by hand", len(inbox.text), mostText)
	}
	since, ok := strings.CutPrefix(inbox.text, r.Inbox.After)
	if !ok {
		return pluginsdk.Errorf(pluginsdk.CodeStale, "inbox.md was changed since consolidation %d in other ways than by lines at its end: revert the ones after it first, the newest before the others, or edit the files; /memory diff %d shows what it has changed", r.N, r.N)
	}
	changes, err := p.host.Workspace.History(ctx, &pluginsdk.WorkspaceHistoryRequest{Limit: 1})
	if err != nil {
		return err
	}
	if len(changes.Changes) > 0 {
		r.Base = changes.Changes[0].ID
	}
	r.RevertedInbox = texts{inbox.text, behind(r.Inbox.Before, since)}
	return nil
}

// behind is a text with lines behind it, which begin a line of their own.
func behind(text, lines string) string {
	if lines != "" && text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + lines
}

// carryBack writes what the files were, and then takes back what was put away, and that lines rest. When somebody changes memory.md
// meanwhile, nothing is reverted.
func (p *Plugin) carryBack(ctx context.Context, r *record) error {
	done, err := p.become(ctx, r, memoryFile, texts{r.Memory.After, r.Memory.Before})
	if err != nil {
		return err
	}
	if !done {
		r.Phase, r.Why = phaseDone, "memory.md was changed while it was to be reverted"
		return nil
	}
	if done, err = p.become(ctx, r, inboxFile, r.RevertedInbox); err != nil {
		return err
	}
	if !done {
		now, err := p.read(ctx, inboxFile)
		if err != nil {
			return err
		}
		back := behind(r.Inbox.Before, strings.TrimPrefix(now.text, r.Inbox.After))
		if !strings.HasPrefix(now.text, r.Inbox.After) { // somebody has rewritten it: what was taken from it comes behind that
			back = strings.TrimRight(now.text, "\n") + "\n" + strings.Join(r.Plan.Taken, "\n") + "\n"
		}
		r.RevertedInbox = texts{now.text, back}
		return nil // written with the next step
	}
	if err := p.takeBack(ctx, r); err != nil {
		return err
	}
	if err := p.forgetVain(ctx, r); err != nil {
		return err
	}
	r.Phase, r.Why = phaseReverted, ""
	return nil
}
