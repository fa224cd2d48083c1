package ledger

import "github.com/seed-706843ae/harness/pluginsdk"

// KeptFile is a file with what the core keeps of it. Its bytes are on disk, under their
// SHA-256, for as long as there is a row.
type KeptFile struct {
	pluginsdk.File

	// Key tells a repetition of what made the file: another with the same one is not
	// stored. Empty: none.
	Key string
	// Attached says that a message refers to the file, or has.
	Attached bool
}

// FileBytes are the bytes of one or more files.
type FileBytes struct {
	SHA256 string // hex
	Size   int64
}

// AgentFile is a file of a message's as the agent has it.
type AgentFile struct {
	Path string `json:"path"`
	Name string `json:"name"`
	Type string `json:"type"` // as its bytes are
	Size int64  `json:"size"`
}

// Desk is what lies ready for a turn in the thread's directory.
type Desk struct {
	// In is where the files of people lie, which the agent may read; Out is where it
	// leaves what is to go with its reply. Both are absolute.
	In, Out string
	// Files are those of the attachments that could be laid ready, by their ids, and
	// Missing says of the others why they could not.
	Files   map[string]AgentFile
	Missing map[string]string
}

// Outbox is what the agent has left for people in a thread's directory.
type Outbox struct {
	Attachments []pluginsdk.Attachment
	// Refused says in words what of it is not sent, and why.
	Refused []string
	// Taken names what Attachments and Refused are of, for who clears it away once the
	// reply is stored.
	Taken []OutboxEntry
}

// OutboxEntry is one entry of an outbox, as it was when it was read.
type OutboxEntry struct {
	Path     string // below the outbox
	Identity string // changes when the entry does
	Refused  bool
}
