package invoker

import (
	"context"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Steer puts a further message into the turn of a run, with the promise of
// Claude.Steer: true means that the turn answers it, as it would a prompt, before
// it ends. False means that no such turn runs.
func (d *Demo) Steer(runID, text string) bool {
	if strings.TrimSpace(text) == "" {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	turn, ok := d.running[runID]
	if ok {
		turn.steered = append(turn.steered, text)
	}
	return ok
}

// enter lets Steer reach a turn.
func (d *Demo) enter(turn *demoTurn) {
	if turn.request.RunID == "" {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running[turn.request.RunID] = turn
}

// leave ends what enter began, if nobody did.
func (d *Demo) leave(turn *demoTurn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forget(turn)
}

// forget is leave with the lock held.
func (d *Demo) forget(turn *demoTurn) {
	if d.running[turn.request.RunID] == turn {
		delete(d.running, turn.request.RunID)
	}
}

// next returns the oldest message that the turn has not answered. When there is
// none, it takes no more.
func (d *Demo) next(turn *demoTurn) (text string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(turn.steered) == 0 {
		d.forget(turn)
		return "", false
	}
	text, turn.steered = turn.steered[0], turn.steered[1:]
	return text, true
}

// converse answers the prompt, and then each message that comes in meanwhile. A
// failure fails all of it.
func (d *Demo) converse(ctx context.Context, turn *demoTurn) pluginsdk.InvokeResult {
	var whole pluginsdk.InvokeResult
	var texts []string
	for prompt, ok := turn.request.Prompt, true; ok; prompt, ok = d.next(turn) {
		turn.rule = Rule{Text: demoAnswer(prompt)}
		if rule, scripted := d.config.Script.next(prompt); scripted {
			turn.rule = rule
		}
		part := turn.run(ctx, prompt)
		addUsage(&whole.Usage, part.Usage)
		whole.CostUSD += part.CostUSD
		turn.costUSD = whole.CostUSD
		whole.Turns += part.Turns
		if part.Failure != nil {
			whole.Failure, whole.StructuredOutput = part.Failure, nil
			return whole
		}
		if part.Text != "" {
			texts = append(texts, part.Text)
		}
		if part.StructuredOutput != nil {
			whole.StructuredOutput = part.StructuredOutput
		}
	}
	whole.Text = strings.Join(texts, "\n\n")
	return whole
}
