package ledger

import "github.com/seed-706843ae/harness/pluginsdk"

// Branch is a thread that is to be made of the messages of another.
type Branch struct {
	ID            string // of the new thread
	From          string // the thread whose messages are copied
	LastMessageID int64  // the last one that is; 0: the newest
	// Thread is what the new one is made from: Source, SourceID and Name. What it may do,
	// and how its agent works, is that of the old one, but for where replies go.
	Thread pluginsdk.NewThread
}

// ContextChange is a change of a context file with the text that it has made.
type ContextChange struct {
	pluginsdk.WorkspaceChange

	Text []byte // nil: the file was deleted
}
