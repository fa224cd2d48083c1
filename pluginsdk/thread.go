package pluginsdk

import "time"

// ThreadKind says what a thread is for.
type ThreadKind string

// The kinds of thread. Exactly one primary thread exists. Cron threads take no
// messages from people.
const (
	ThreadPrimary ThreadKind = "primary"
	ThreadTask    ThreadKind = "task"
	ThreadCron    ThreadKind = "cron"
	ThreadGeneral ThreadKind = "general"
)

// known reports whether this version of the contract has the kind.
func (k ThreadKind) known() bool {
	switch k {
	case ThreadPrimary, ThreadTask, ThreadCron, ThreadGeneral:
		return true
	}
	return false
}

// ThreadStatus says whether a thread is in use.
type ThreadStatus string

// The statuses of a thread.
const (
	ThreadActive   ThreadStatus = "active"
	ThreadIdle     ThreadStatus = "idle"
	ThreadArchived ThreadStatus = "archived"
)

// BusyMode says what happens to a message that arrives while a run of its
// thread is executing.
type BusyMode string

// The busy modes; BusyQueue is the default.
const (
	BusyQueue     BusyMode = "queue"
	BusySteer     BusyMode = "steer"
	BusyCollect   BusyMode = "collect"
	BusyInterrupt BusyMode = "interrupt"
)

// Thread is one lasting conversation.
type Thread struct {
	ID       string `json:"id"`
	Source   string `json:"source"`            // name of the plugin it comes from: web, discord, cli, cron, ...
	SourceID string `json:"sourceId"`          // channel, session, job; unique together with Source
	ReportTo Target `json:"reportTo,omitzero"` // where replies go; zero: to who carries Source
	Name     string `json:"name"`

	Kind           ThreadKind   `json:"kind"`
	ParentThreadID string       `json:"parentThreadId,omitempty"`
	Status         ThreadStatus `json:"status"`

	SessionID string `json:"sessionId,omitempty"` // the agent's session; empty before the first turn

	Model          string   `json:"model,omitempty"`
	Effort         string   `json:"effort,omitempty"`
	PermissionMode string   `json:"permissionMode,omitempty"`
	Cwd            string   `json:"cwd,omitempty"`
	Instructions   string   `json:"instructions,omitempty"`
	BusyMode       BusyMode `json:"busyMode"`
	// AskTools are the tools whose calls people are asked about when nothing allows them:
	// names with spaces between them, all, or none; empty: the daemon's (HARNESS_ASK_TOOLS).
	// Other calls that nothing allows are denied.
	AskTools string `json:"askTools,omitempty"`
	// Account is the account of the agent's that the thread uses; empty: the default one. A
	// thread that changes it goes on in a new session, with its history.
	Account string `json:"account,omitempty"`
	// Apart says that the thread's people are not to know what the workspace holds; so it is
	// with the threads of tasks that such a thread gives. The core finds it out: what the agent
	// knows of its owner has no place in such a thread, whatever its kind and its source are.
	Apart bool `json:"apart,omitempty"`

	LastActivity      time.Time `json:"lastActivity"`
	LastReadMessageID int64     `json:"lastReadMessageId"`
	// Unread counts the text and notifications after LastReadMessageID that no
	// person wrote, up to 100. It is there only where ThreadQuery.Unread asks for it.
	Unread    int       `json:"unread,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
}

// NewThread is what Threads.Create makes a thread from. Source and SourceID
// are its key: repeated, the first thread is returned.
type NewThread struct {
	Source         string     `json:"source"`
	SourceID       string     `json:"sourceId"`
	ReportTo       Target     `json:"reportTo,omitzero"`
	Name           string     `json:"name,omitempty"`
	Kind           ThreadKind `json:"kind,omitempty"` // default ThreadGeneral
	ParentThreadID string     `json:"parentThreadId,omitempty"`
	Model          string     `json:"model,omitempty"`
	Effort         string     `json:"effort,omitempty"`
	PermissionMode string     `json:"permissionMode,omitempty"`
	Cwd            string     `json:"cwd,omitempty"`
	Instructions   string     `json:"instructions,omitempty"`
	BusyMode       BusyMode   `json:"busyMode,omitempty"` // default BusyQueue
	AskTools       string     `json:"askTools,omitempty"`
	Account        string     `json:"account,omitempty"` // needs threads.admin

	// OwnDirectory gives a new thread without Cwd a directory that nobody else has, outside
	// of the workspace: that becomes its Cwd. It is for threads of people who are not to
	// know what the agent knows of its owner: see docs/operating.md, "Threads apart". A
	// thread that exists keeps its Cwd.
	OwnDirectory bool `json:"ownDirectory,omitempty"`
}

// ThreadPatch changes the fields of a thread that are not nil.
type ThreadPatch struct {
	Name              *string       `json:"name,omitempty"`
	ReportTo          *Target       `json:"reportTo,omitempty"`
	Status            *ThreadStatus `json:"status,omitempty"`
	Model             *string       `json:"model,omitempty"`
	Effort            *string       `json:"effort,omitempty"`
	PermissionMode    *string       `json:"permissionMode,omitempty"`
	Cwd               *string       `json:"cwd,omitempty"`
	Instructions      *string       `json:"instructions,omitempty"`
	BusyMode          *BusyMode     `json:"busyMode,omitempty"`
	AskTools          *string       `json:"askTools,omitempty"`
	Account           *string       `json:"account,omitempty"` // needs threads.admin; empty: the default one
	LastReadMessageID *int64        `json:"lastReadMessageId,omitempty"`
	// EndSession is the id of the agent's session that the thread has, and that ends: its next turn begins a new one, with
	// what the plugin context shows of the conversation. CodeStale, and nothing is changed: the thread has another session,
	// or none, or a run in it is not over.
	EndSession *string `json:"endSession,omitempty"`
}

// ThreadOrder says in which order threads are listed.
type ThreadOrder string

// The orders of threads; the empty one is OldestFirst.
const (
	OldestFirst   ThreadOrder = "oldest"
	NewestFirst   ThreadOrder = "newest"
	ActivityFirst ThreadOrder = "activity" // the latest activity first
)

// ThreadQuery selects threads, oldest first unless Order says otherwise. Zero
// fields do not restrict.
type ThreadQuery struct {
	Source         string         `json:"source,omitempty"`
	SourceID       string         `json:"sourceId,omitempty"`
	Kind           ThreadKind     `json:"kind,omitempty"`
	Kinds          []ThreadKind   `json:"kinds,omitempty"` // any of these
	Status         ThreadStatus   `json:"status,omitempty"`
	Statuses       []ThreadStatus `json:"statuses,omitempty"` // any of these
	ParentThreadID string         `json:"parentThreadId,omitempty"`
	// Text selects the threads whose name has each of its words (what stands between
	// spaces) somewhere in it, whatever the case of the letters.
	Text   string      `json:"text,omitempty"`
	Order  ThreadOrder `json:"order,omitempty"`
	Unread bool        `json:"unread,omitempty"` // fill in Thread.Unread
	After  string      `json:"after,omitempty"`  // id of the last thread of the page before
	Limit  int         `json:"limit,omitempty"`  // default 100, at most 1000
}
