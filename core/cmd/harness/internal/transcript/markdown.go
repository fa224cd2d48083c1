package transcript

import (
	"fmt"
	"io"
	"strings"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Markdown writes a heading for each thread, and each message as a quotation
// below who said it and when. In a quotation nothing that a message contains (a
// code fence that is not closed, a heading, HTML) reaches what follows it.
type Markdown struct {
	out    io.Writer
	begun  bool
	failed error
}

// NewMarkdown writes to out.
func NewMarkdown(out io.Writer) *Markdown { return &Markdown{out: out} }

// Thread writes a heading.
func (m *Markdown) Thread(t pluginsdk.Thread) error {
	if m.begun {
		m.printf("\n")
	}
	m.begun = true
	name := t.Name
	if name == "" {
		name = t.ID
	}
	m.printf("# %s\n\nThread %s, from %s\n", plain(name), code(t.ID), plain(t.Source))
	return m.failed
}

// Message writes who, when, and what.
func (m *Markdown) Message(msg pluginsdk.Message) error {
	m.printf("\n**%s**%s, %s\n\n", speaker(msg), label(msg.Kind), msg.CreatedAt.UTC().Format("2006-01-02 15:04:05 UTC"))
	content := terminal.Clean(unifyBreaks.Replace(msg.Content))
	for line := range strings.SplitSeq(strings.TrimRight(content, "\n"), "\n") {
		m.printf("%s\n", strings.TrimRight("> "+line, " "))
	}
	for i, file := range msg.Attachments {
		if i == 0 {
			m.printf("\n")
		}
		m.printf("- attachment: %s (%s, %d bytes), %s\n", plain(file.Name), plain(file.Type), file.Size, code(file.Where))
	}
	return m.failed
}

func (m *Markdown) printf(format string, args ...any) {
	if m.failed == nil {
		_, m.failed = fmt.Fprintf(m.out, format, args...)
	}
}

func speaker(m pluginsdk.Message) string {
	switch {
	case m.Origin.OfAgent():
		return plain(m.Label().String())
	case m.Author != "":
		return plain(m.Author)
	case m.Role == pluginsdk.RoleAssistant && m.Model != "":
		return "assistant (" + plain(m.Model) + ")"
	}
	return plain(string(m.Role))
}

// label names what a message is, when it is more than text.
func label(kind pluginsdk.MessageKind) string {
	if kind == pluginsdk.MessageText {
		return ""
	}
	return " (" + strings.ReplaceAll(string(kind), "_", " ") + ")"
}

// unifyBreaks makes every kind of line break one that is quoted.
var unifyBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// plain is text in one line, without a meaning in Markdown.
func plain(text string) string {
	var b strings.Builder
	for _, r := range strings.Join(strings.Fields(terminal.Clean(text)), " ") {
		if strings.ContainsRune("\\`*_[]<>#&|~", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// code is text in one line as a code span.
func code(text string) string {
	return "`" + strings.ReplaceAll(strings.Join(strings.Fields(terminal.Clean(text)), " "), "`", "'") + "`"
}
