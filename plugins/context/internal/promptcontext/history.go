package promptcontext

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	historyMessages      = 50 // messages shown when the thread has no summary
	messagesAfterSummary = 25 // messages shown after the newest summary
	summariesShown       = 2

	maxMessageBytes = 32 << 10  // shown of one message
	maxHistoryBytes = 256 << 10 // shown of all; the oldest are left out first
)

// history returns `# Conversation History` as it was when the run's message was
// the newest, or the empty string when there is none.
func (p *Plugin) history(ctx context.Context, prompt *pluginsdk.OnBeforeInvokeRequest) (string, error) {
	summaries, err := p.list(ctx, pluginsdk.MessageQuery{
		ThreadID: prompt.Thread.ID,
		Kinds:    []pluginsdk.MessageKind{pluginsdk.MessageSummary},
		Last:     true,
		Limit:    summariesShown,
	})
	if err != nil {
		return "", fmt.Errorf("list summaries: %w", err)
	}
	leftOut := leftOutOf(summaries)
	limit := historyMessages
	if len(summaries) > 0 && len(leftOut) == 0 {
		limit = messagesAfterSummary
	}
	messages, err := p.list(ctx, pluginsdk.MessageQuery{
		ThreadID:    prompt.Thread.ID,
		Roles:       []pluginsdk.Role{pluginsdk.RoleUser, pluginsdk.RoleAssistant},
		Kinds:       []pluginsdk.MessageKind{pluginsdk.MessageText},
		BeforeRunID: prompt.Call.RunID,
		Last:        true,
		Limit:       limit,
	})
	if err != nil {
		return "", fmt.Errorf("list messages: %w", err)
	}
	return renderHistory(summaries, after(summaries, messages, leftOut)), nil
}

// leftOutOf are the messages that the summaries name as those which they do not tell of.
func leftOutOf(summaries []pluginsdk.Message) (ids []int64) {
	for _, summary := range summaries {
		var of pluginsdk.SummaryMetadata
		if len(summary.Metadata) > 0 && json.Unmarshal(summary.Metadata, &of) == nil {
			ids = append(ids, of.LeavesOut...)
		}
	}
	return ids
}

func (p *Plugin) list(ctx context.Context, query pluginsdk.MessageQuery) ([]pluginsdk.Message, error) {
	answer, err := p.messages.List(ctx, &pluginsdk.ListMessagesRequest{Query: query})
	if err != nil {
		return nil, err
	}
	return answer.Messages, nil
}

// after returns the messages that are newer than the newest summary, and those that the summaries leave out. The
// query cannot say so: it orders by run.
func after(summaries, messages []pluginsdk.Message, leftOut []int64) []pluginsdk.Message {
	if len(summaries) == 0 {
		return messages
	}
	newest := summaries[len(summaries)-1].ID
	var kept []pluginsdk.Message
	for _, message := range messages {
		if message.ID > newest || slices.Contains(leftOut, message.ID) {
			kept = append(kept, message)
		}
	}
	return kept
}

func renderHistory(summaries, messages []pluginsdk.Message) string {
	var lines []string
	for _, summary := range summaries {
		lines = appendLine(lines, "summary", summary.Content)
	}
	first := len(lines)
	for _, message := range messages {
		lines = appendLine(lines, string(message.Role), message.Content)
	}
	lines = dropOldest(lines, first)
	if len(lines) == 0 {
		return ""
	}
	return "# Conversation History\n\n" + strings.Join(lines, "\n\n")
}

func appendLine(lines []string, speaker, content string) []string {
	kept := cutAt(content, maxMessageBytes)
	text := clean(kept)
	if text == "" {
		return lines
	}
	if missing := len(content) - len(kept); missing > 0 {
		text += fmt.Sprintf("\n[cut: %d more bytes]", missing)
	}
	return append(lines, "["+speaker+"]: "+text)
}

// dropOldest leaves out lines from first on, oldest first, until all fit, and
// says how many.
func dropOldest(lines []string, first int) []string {
	total := 0
	for _, line := range lines {
		total += len(line)
	}
	dropped := 0
	for total > maxHistoryBytes && first+dropped < len(lines) {
		total -= len(lines[first+dropped])
		dropped++
	}
	if dropped == 0 {
		return lines
	}
	mark := fmt.Sprintf("[left out: %d older messages]", dropped)
	return append(append(lines[:first:first], mark), lines[first+dropped:]...)
}
