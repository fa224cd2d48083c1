package pluginsdk

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Label says whose words or whose act something is: a person's, a plugin's, or the agent's. The
// core fills it in, and stores it with what it is of. What a plugin says of a person is kept as
// the plugin's word; what it says of itself, of a run or of a token counts for nothing.
type Label struct {
	// Author is the person's name; empty: it is no person's. It is the name of the token when
	// Origin has one, and what Plugin says otherwise.
	Author string     `json:"author,omitempty"`
	Plugin string     `json:"plugin,omitempty"` // through which it came, or whose it is; empty: no plugin
	Scope  TokenScope `json:"scope,omitempty"`  // what the person may do; empty: nobody has said
	Origin
}

// Origin is the part of a Label that only the core knows.
type Origin struct {
	// Token is the id of the token with which the person called, and TokenName its name at that
	// time. The plugin has shown the token's secret.
	Token     string `json:"token,omitempty"`
	TokenName string `json:"tokenName,omitempty"`
	// ThreadID, RunID and TaskID are the agent's that has caused it, elsewhere than where it is
	// stored; what an agent causes is no person's.
	ThreadID string `json:"threadId,omitempty"`
	RunID    string `json:"runId,omitempty"`
	TaskID   string `json:"taskId,omitempty"`
	// Apart says that the thread was apart when it was said: ThreadID, or else the one that it
	// is stored in.
	Apart bool `json:"apart,omitempty"`
}

// OfAgent reports whether an agent has caused it, so that it is no person's.
func (o Origin) OfAgent() bool { return o.ThreadID != "" || o.RunID != "" || o.TaskID != "" }

// String says in words whose it is: "Ann, by the token phone, through the plugin web", "Ann,
// says the plugin discord", "the plugin cron", "the agent of the thread X, task Y, of a thread
// apart".
func (l Label) String() string {
	var b strings.Builder
	through := ", through the plugin "
	switch {
	case l.OfAgent():
		b.WriteString("the agent")
		for _, part := range []struct{ word, id string }{{" of the thread ", l.ThreadID}, {", run ", l.RunID}, {", task ", l.TaskID}} {
			if part.id != "" {
				b.WriteString(part.word + part.id)
			}
		}
	case l.Author != "" && l.Token != "" && l.TokenName != l.Author:
		b.WriteString(l.Name() + ", by the token " + l.TokenName)
	case l.Author != "" && l.Token != "":
		b.WriteString(l.Name() + ", by a token")
	case l.Author != "":
		b.WriteString(l.Name())
		through = ", says the plugin "
	case l.Plugin != "":
		through = "the plugin "
	default:
		b.WriteString("Harness")
	}
	if l.Plugin != "" {
		b.WriteString(through + l.Plugin)
	}
	switch {
	case !l.Apart:
	case l.OfAgent():
		b.WriteString(", of a thread apart")
	default:
		b.WriteString(", in a thread apart")
	}
	return b.String()
}

// maxName is how many bytes of a person's name are kept where it is shown on a line.
const maxName = 100

// Name is the person's name as it stands on a line: at most 100 bytes, of characters that can
// be seen. What is longer ends with an ellipsis.
func (l Label) Name() string {
	name := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, l.Author)
	if len(name) <= maxName {
		return name
	}
	most := maxName - len("…")
	for !utf8.RuneStart(name[most]) {
		most--
	}
	return strings.TrimSpace(name[:most]) + "…"
}

// AuditName is who that is in the audit log, on a line: plugin:web (Ann), with a token
// plugin:web (Ann, token ID), and in an agent's run plugin:cron (for RUN).
func (l Label) AuditName() string {
	author := l.Name()
	if l.OfAgent() {
		author = "for " + cmp.Or(l.RunID, l.TaskID, l.ThreadID)
	}
	if author != "" && l.Token != "" {
		author += ", token " + l.Token
	}
	switch {
	case l.Plugin == "":
		return author
	case author == "":
		return "plugin:" + l.Plugin
	}
	return "plugin:" + l.Plugin + " (" + author + ")"
}
