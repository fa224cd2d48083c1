package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// maxUnseen bounds how many rows of other hands a prompt tells of.
	maxUnseen = 50
	// maxQuoted and maxQuotes bound what a prompt repeats of one row, and of all of
	// them, in bytes: a row is there to be read elsewhere.
	maxQuoted = 16 << 10
	maxQuotes = 128 << 10
	// recapMessages is how many of the last messages are repeated when the
	// agent's transcript may lack them.
	recapMessages = 6
)

const interruptedNote = "Note: you were given this message before and were interrupted while working on it. " +
	"You may have acted on it already. Check what is done before you repeat anything."

// assemble is step 3: what the thread is, what happened in it that the session
// has not seen, what its transcript may lack, and the message.
func (p *Pipeline) assemble(ctx context.Context, t *trip) error {
	p.config.Fault("assemble", t.run.ID)
	unseen, err := p.unseen(ctx, t)
	if err != nil {
		return storeError("read what the session has not seen", err)
	}
	recap, err := p.recap(ctx, t)
	if err != nil {
		return storeError("read the last exchanges", err)
	}
	parts := []string{threadHeader(t.thread.Thread)}
	if len(recap) > 0 {
		parts = append(parts, "# Recap\n\nYour process ended unexpectedly; the last exchanges were:\n\n"+lines(recap))
	}
	if len(unseen) > 0 {
		parts = append(parts, "# Since your last turn\n\n"+lines(unseen))
	}
	if t.interrupted {
		parts = append(parts, interruptedNote)
	}
	t.prompt = p.boundPrompt(t, strings.Join(parts, "\n\n")+"\n\n---\n\n"+messagesText(t), "core")
	return nil
}

func threadHeader(thread pluginsdk.Thread) string {
	header := fmt.Sprintf("[thread %s, kind %s", thread.ID, thread.Kind)
	if thread.Name != "" {
		header += fmt.Sprintf(", name %q", thread.Name)
	}
	header += "]"
	if thread.Instructions != "" {
		header += "\n\n" + thread.Instructions
	}
	return header
}

// messagesText is what people said that the run answers.
func messagesText(t *trip) string {
	text := messageText(t.message)
	for _, further := range t.absorbed {
		text += "\n\n" + messageText(further)
	}
	return text
}

func messageText(message pluginsdk.Message) string {
	text := message.Content
	for _, file := range message.Attachments {
		text += fmt.Sprintf("\n[attachment %s (%s, %d bytes): %s]", file.Name, file.Type, file.Size, file.Where)
	}
	return text
}

// unseen returns the rows since the session's last turn that are neither a
// person's message nor the agent's own reply: notifications, answers of
// commands, what plugins posted.
func (p *Pipeline) unseen(ctx context.Context, t *trip) ([]pluginsdk.Message, error) {
	t.seen = max(t.thread.SeenMessageID, t.message.ID)
	rows, err := p.store.Messages(ctx, pluginsdk.MessageQuery{
		ThreadID: t.thread.ID, After: t.thread.SeenMessageID,
		Roles: []pluginsdk.Role{pluginsdk.RoleSystem, pluginsdk.RoleAssistant},
		Kinds: []pluginsdk.MessageKind{pluginsdk.MessageText, pluginsdk.MessageNotification},
		Last:  true, Limit: maxUnseen,
	})
	if err != nil {
		return nil, err
	}
	others := rows[:0]
	for _, row := range rows {
		t.seen = max(t.seen, row.ID)
		if row.Role == pluginsdk.RoleSystem || row.RunID == "" {
			others = append(others, row)
		}
	}
	return others, nil
}

// recap returns the last exchanges when the session was not ended cleanly: the
// agent's transcript lags behind what it printed.
func (p *Pipeline) recap(ctx context.Context, t *trip) ([]pluginsdk.Message, error) {
	if !t.resume || !t.thread.SessionOpen || p.agent.Holds(t.thread.ID, t.sessionID) {
		return nil, nil
	}
	return p.store.Messages(ctx, pluginsdk.MessageQuery{
		ThreadID: t.thread.ID, BeforeRunID: t.run.ID,
		Roles: []pluginsdk.Role{pluginsdk.RoleUser, pluginsdk.RoleAssistant},
		Kinds: []pluginsdk.MessageKind{pluginsdk.MessageText},
		Last:  true, Limit: recapMessages,
	})
}

// lines quotes rows, the newest in any case: what is too much is left out at the
// beginning, and said.
func lines(rows []pluginsdk.Message) string {
	text := make([]string, len(rows))
	first, size := len(rows), 0
	for i, row := range slices.Backward(rows) {
		speaker := string(row.Role)
		if row.Role == pluginsdk.RoleSystem && row.Source != "" {
			speaker = row.Source
		}
		// Only the first line of a row begins at the margin: nobody speaks for another.
		text[i] = fmt.Sprintf("[%s]: %s", speaker, strings.ReplaceAll(cutAt(row.Content, maxQuoted), "\n", "\n    "))
		if size += len(text[i]); size > maxQuotes {
			break
		}
		first = i
	}
	quoted := strings.Join(text[first:], "\n")
	if first > 0 {
		quoted = fmt.Sprintf("[%d earlier ones are left out]\n", first) + quoted
	}
	return quoted
}
