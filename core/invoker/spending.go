package invoker

import (
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What a turn costs. Every result counts, also that of an error; for API calls
// that no result will tell of there is what the stream said.

// count adds a result line to what the turn has come to.
func (t *turn) count(line resultLine) {
	s := t.session
	t.spent.Turns += line.Turns
	t.spent.CostUSD += max(0, line.TotalCostUSD-s.spentUSD)
	addUsage(&t.spent.Usage, t.usage(line))
	t.streamed, t.streaming = pluginsdk.Usage{}, pluginsdk.Usage{}
	s.spentUSD = line.TotalCostUSD
	s.turns++
	if line.SessionID != "" && !line.unknownSession() {
		s.id = line.SessionID
	}
	if line.IsError {
		return
	}
	if line.Result != "" {
		t.texts = append(t.texts, line.Result)
	}
	if output := line.StructuredOutput; len(output) > 0 && string(output) != "null" {
		t.output = output
	}
}

// usage is a result's own. On some errors the CLI leaves it at zero although
// tokens were spent; the totals by model, which grow over the process's life,
// have them, and what was streamed of an API call that was cut off.
func (t *turn) usage(line resultLine) pluginsdk.Usage {
	var total pluginsdk.Usage
	for _, m := range line.ModelUsage {
		addUsage(&total, pluginsdk.Usage{
			InputTokens: m.Input, OutputTokens: m.Output, CacheReadTokens: m.CacheRead, CacheWriteTokens: m.CacheWrite,
		})
	}
	before := t.session.tokens
	t.session.tokens = total
	if line.Usage != (usage{}) {
		return line.Usage.tokens()
	}
	grown := pluginsdk.Usage{
		InputTokens:      max(0, total.InputTokens-before.InputTokens),
		OutputTokens:     max(0, total.OutputTokens-before.OutputTokens),
		CacheReadTokens:  max(0, total.CacheReadTokens-before.CacheReadTokens),
		CacheWriteTokens: max(0, total.CacheWriteTokens-before.CacheWriteTokens),
	}
	if grown == (pluginsdk.Usage{}) {
		addUsage(&grown, t.streamed)
		addUsage(&grown, t.streaming)
	}
	return grown
}

// meter takes what the stream says of the tokens of an API call: what went in
// at its start, what came out, so far, later on.
func (t *turn) meter(stream streamLine) {
	switch stream.Event.Type {
	case "message_start":
		addUsage(&t.streamed, t.streaming)
		t.streaming = stream.Event.Message.Usage.tokens()
	case "message_delta":
		t.streaming.OutputTokens = max(t.streaming.OutputTokens, stream.Event.Usage.Output)
	}
}

func (u usage) tokens() pluginsdk.Usage {
	return pluginsdk.Usage{
		InputTokens: u.Input, OutputTokens: u.Output, CacheReadTokens: u.CacheRead, CacheWriteTokens: u.CacheWrite,
	}
}

// addUsage adds b to a.
func addUsage(a *pluginsdk.Usage, b pluginsdk.Usage) {
	a.InputTokens += b.InputTokens
	a.OutputTokens += b.OutputTokens
	a.CacheReadTokens += b.CacheReadTokens
	a.CacheWriteTokens += b.CacheWriteTokens
}
