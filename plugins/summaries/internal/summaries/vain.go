package summaries

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/seed-706843ae/harness/plugins/summaries/internal/memory"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// vainKey is where the plugin keeps which lines of the inbox it has given to the agent in vain.
	vainKey = "memory-vain"
	// longestVain is how many days a line rests at most that was given in vain.
	longestVain = 32
)

// vain is a line of the inbox that the agent was given, and that is still there.
type vain struct {
	Times int
	Until time.Time // it is not given again before
	By    int       // the consolidation that has given it last
}

// vainLines reads them, by the version of their text.
func (p *Plugin) vainLines(ctx context.Context) (map[string]vain, error) {
	lines := make(map[string]vain)
	answer, err := p.host.State.Get(ctx, &pluginsdk.GetStateRequest{Key: vainKey})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
		return lines, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(answer.Entry.Value, &lines); err != nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInternal, "what the plugin keeps of lines that were given in vain cannot be read: %w", err)
	}
	return lines, nil
}

// withoutVain takes those lines out that were given in vain lately, so that they are not paid for each night: each time a line rests
// twice as long.
func (p *Plugin) withoutVain(ctx context.Context, lines []memory.Line) (given []memory.Line, resting []memory.Note, err error) {
	known, err := p.vainLines(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, line := range lines {
		if one := known[versionOf(line.Raw)]; p.now().Before(one.Until) {
			resting = append(resting, memory.Note{What: line.Raw, Why: fmt.Sprintf("it was given to the agent %d times, and nothing was made of it; it is given again after %s, or when somebody edits it",
				one.Times, one.Until.UTC().Format(time.DateTime))})
			continue
		}
		given = append(given, line)
	}
	return given, resting, nil
}

// noteVain notes which of the lines that the agent was given are still in the inbox. Lines that are not there any more are
// forgotten.
func (p *Plugin) noteVain(ctx context.Context, r *record) error {
	known, err := p.vainLines(ctx)
	if err != nil {
		return err
	}
	left := set(memory.Parse(r.Inbox.After).Items())
	next := make(map[string]vain)
	for raw := range left {
		if one, ok := known[versionOf(raw)]; ok {
			next[versionOf(raw)] = one
		}
	}
	for _, line := range r.Input.Lines {
		if one := next[versionOf(line.Raw)]; left[line.Raw] && one.By != r.N {
			one.By = r.N
			one.Until = p.now().AddDate(0, 0, min(1<<min(one.Times, 10), longestVain))
			one.Times++
			next[versionOf(line.Raw)] = one
		}
	}
	return p.keepVain(ctx, known, next)
}

// forgetVain has the lines that a consolidation has given in vain given again at once: it is not done any more.
func (p *Plugin) forgetVain(ctx context.Context, r *record) error {
	known, err := p.vainLines(ctx)
	if err != nil {
		return err
	}
	next := make(map[string]vain)
	for version, one := range known {
		if one.By == r.N {
			one = vain{Times: one.Times - 1}
		}
		if one.Times > 0 {
			next[version] = one
		}
	}
	return p.keepVain(ctx, known, next)
}

// keepVain keeps which lines were given in vain; was are those that are kept now.
func (p *Plugin) keepVain(ctx context.Context, was, lines map[string]vain) error {
	if maps.Equal(was, lines) {
		return nil
	}
	encoded, err := json.Marshal(lines)
	if err != nil {
		return err
	}
	_, err = p.host.State.Put(ctx, &pluginsdk.PutStateRequest{Key: vainKey, Value: encoded})
	return err
}
