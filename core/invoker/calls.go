package invoker

import "github.com/seed-706843ae/harness/pluginsdk"

// bill is what API calls come to.
type bill struct {
	tokens pluginsdk.Usage
	usd    float64
}

func (b *bill) add(other bill) {
	addUsage(&b.tokens, other.tokens)
	b.usd += other.usd
}

// calls are a turn's API calls that no result has told of yet. Verified with
// 2.1.197: the CLI counts a call when the stream says what came out of it, so that
// its results leave out one that was cut off before (by an interrupt, or because
// the connection broke), whose input is paid for all the same.
type calls struct {
	told bill // that the next result tells of
	cut  bill // that none will
	open struct {
		model string
		usage usage
		ended bool // it has said what came out
	}
	// last says that the one streamed last is the turn's last, as far as one can know.
	last bool
	seen map[string]bool // ids of sub-agents' messages
}

// streamed takes what the stream says of a call: what goes in at its start, what
// came out, so far, later on. It is not said of sub-agents' calls.
func (c *calls) streamed(stream streamLine) {
	event := stream.Event
	switch event.Type {
	case "message_start":
		c.close()
		c.open.model, c.open.usage = event.Message.Model, event.Message.Usage
		c.last = false
	case "message_delta":
		c.open.usage.grow(event.Usage)
		c.open.ended = true
		switch event.Delta.StopReason {
		case "end_turn", "stop_sequence", "refusal":
			c.last = true
		}
	}
}

// subAgent takes a message of a sub-agent, as far as those are shown: what went
// into the call, and hardly anything of what came out.
func (c *calls) subAgent(message messageLine) {
	id := message.Message.ID
	if id == "" || c.seen[id] {
		return
	}
	if c.seen == nil {
		c.seen = map[string]bool{}
	}
	c.seen[id] = true
	c.told.add(billOf(message.Message.Model, message.Message.Usage))
}

// close says that nothing more comes of the open call.
func (c *calls) close() {
	b := billOf(c.open.model, c.open.usage)
	if c.open.ended {
		c.told.add(b)
	} else {
		c.cut.add(b)
	}
	c.open.model, c.open.usage, c.open.ended = "", usage{}, false
}

// total is what all of them come to.
func (c *calls) total() bill {
	total := billOf(c.open.model, c.open.usage)
	total.add(c.told)
	total.add(c.cut)
	return total
}

func billOf(model string, u usage) bill { return bill{tokens: u.tokens(), usd: priceOf(model).usd(u)} }

// grow takes a later word on the same call. What it leaves out stands.
func (u *usage) grow(later usage) {
	u.Input = max(u.Input, later.Input)
	u.Output = max(u.Output, later.Output)
	u.CacheRead = max(u.CacheRead, later.CacheRead)
	u.CacheWrite = max(u.CacheWrite, later.CacheWrite)
	u.CacheCreation.OneHour = max(u.CacheCreation.OneHour, later.CacheCreation.OneHour)
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
