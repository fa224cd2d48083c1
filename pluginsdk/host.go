package pluginsdk

import (
	"context"
	"log/slog"
)

// Host is what a plugin may ask of the core: small services, one a noun. A
// method takes one request and returns one response.
//
// Every method needs a granted capability; a refusal (CodeDenied) names it. Each
// plugin has quotas; a refusal (CodeExhausted) names the quota and when to try
// again. Keys are the plugin's own: two plugins may use the same. Called with a
// hook's context, a method is refused (CodeStale) once that hook's call has ended
// or its run is over.
type Host struct {
	Threads      Threads
	Messages     Messages
	Runs         Runs
	Deliveries   Deliveries
	Tasks        Tasks
	Agent        Agent
	Events       Events
	Settings     Settings
	State        State
	Crons        Crons
	Metrics      Metrics
	Budgets      Budgets
	Tools        Tools
	Plugins      Plugins
	Commands     Commands
	Approvals    Approvals
	Search       Search
	Files        Files
	Workspace    Workspace
	Tokens       Tokens
	Installation Installation
	Accounts     Accounts
	// Log goes to the daemon's log with the plugin's name and keeps its level.
	Log *slog.Logger
}

// Threads reads and writes threads.
type Threads interface {
	// Get returns a thread, or CodeNotFound. Needs threads.read.
	Get(ctx context.Context, request *GetThreadRequest) (*GetThreadResponse, error)
	// List returns the selected threads. Needs threads.read.
	List(ctx context.Context, request *ListThreadsRequest) (*ListThreadsResponse, error)
	// Create makes a thread of one of the plugin's sources, or returns the one that
	// has this Source and SourceID already. Needs threads.write; with
	// threads.admin, of any source, and with what a thread may do.
	Create(ctx context.Context, request *CreateThreadRequest) (*CreateThreadResponse, error)
	// Update changes the fields that are set, of a thread of one of the plugin's
	// sources. Needs threads.write; with threads.admin, of any thread, and what it
	// may do: Cwd, PermissionMode, ReportTo, Account, which is audited.
	Update(ctx context.Context, request *UpdateThreadRequest) (*UpdateThreadResponse, error)
	// Delete removes a thread for good, with its messages, runs and files, which is
	// audited. The primary thread, one with a run that is not over, and one with tasks that
	// are not over are CodeStale; an absent one is no error. Needs threads.write; with
	// threads.admin, of any thread.
	Delete(ctx context.Context, request *DeleteThreadRequest) (*DeleteThreadResponse, error)
	// Branch makes a thread that has the messages of another up to one of them, and goes
	// on in a session of its own. Repeated with the same Source and SourceID, it returns the
	// first one. Needs what Create needs, and messages.read.
	Branch(ctx context.Context, request *BranchThreadRequest) (*BranchThreadResponse, error)
}

// GetThreadRequest names a thread.
type GetThreadRequest struct{ ID string }

// GetThreadResponse has the thread.
type GetThreadResponse struct{ Thread Thread }

// ListThreadsRequest selects threads.
type ListThreadsRequest struct{ Query ThreadQuery }

// ListThreadsResponse has a page of threads.
type ListThreadsResponse struct{ Threads []Thread }

// CreateThreadRequest describes the thread.
type CreateThreadRequest struct{ Thread NewThread }

// CreateThreadResponse has the thread; Existed says that it was there before.
type CreateThreadResponse struct {
	Thread  Thread
	Existed bool
}

// UpdateThreadRequest names a thread and what changes.
type UpdateThreadRequest struct {
	ID    string
	Patch ThreadPatch
}

// UpdateThreadResponse has the thread as it is now.
type UpdateThreadResponse struct{ Thread Thread }

// DeleteThreadRequest names a thread, and who wants it gone.
type DeleteThreadRequest struct {
	ID     string
	Author string // as in CancelRunRequest
}

// DeleteThreadResponse has nothing to say yet.
type DeleteThreadResponse struct{}

// BranchThreadRequest says where the new thread leaves the old one.
type BranchThreadRequest struct {
	ThreadID  string
	MessageID int64  // the last message that is copied; 0: the newest
	Source    string // as in NewThread
	SourceID  string
	Name      string // empty: that of the thread
}

// BranchThreadResponse has the new thread; Existed says that it was there before.
type BranchThreadResponse struct {
	Thread  Thread
	Existed bool
}

// Messages reads and writes messages.
type Messages interface {
	// Submit stores a message that asks for an answer, with its run. It
	// returns only after that is durable. Needs messages.submit; for a command that
	// stops or repeats runs also runs.control, for one that changes what a thread is
	// (/new, /model, /busy) what Threads.Update of it would need, for /tasks tasks.read, and
	// tasks.decide when it is a word on a task.
	Submit(ctx context.Context, request *SubmitMessageRequest) (*SubmitMessageResponse, error)
	// Amend changes the words of a message that the plugin has submitted, and that nothing
	// was done about yet: its run waits for its first attempt, or is parked for the plan before
	// the agent has begun with it, and is no other's. Either the
	// run begins with the new words or the call is CodeStale and nothing is changed. With what
	// the message says already, nothing is done, whatever has become of its run. What is or
	// becomes a command is CodeInvalid, a key that the source has not used CodeNotFound. The
	// submission is recognised by its key with the first words as with those of now. Needs
	// messages.submit.
	Amend(ctx context.Context, request *AmendMessageRequest) (*AmendMessageResponse, error)
	// Append stores rows in a thread, all or none. Repeated with the same
	// key, it returns the rows the first call made; with other content it is
	// CodeConflict. Needs messages.write.
	Append(ctx context.Context, request *AppendMessagesRequest) (*AppendMessagesResponse, error)
	// List returns the selected messages, oldest first. Needs messages.read.
	List(ctx context.Context, request *ListMessagesRequest) (*ListMessagesResponse, error)
}

// SubmitMessageRequest has the message.
type SubmitMessageRequest struct{ Submission Submission }

// SubmitMessageResponse says what it became.
type SubmitMessageResponse struct{ Accepted Accepted }

// AmendMessageRequest names a message by what it was submitted under, and says what it is
// from now on.
type AmendMessageRequest struct {
	ThreadID string // empty: wherever it is
	Source   string // as in Submission
	Key      string
	Content  string
	// Attachments are all that the message has from now on; none: it keeps those that it has.
	Attachments []Attachment
}

// AmendMessageResponse has the message as it is now.
type AmendMessageResponse struct{ Message Message }

// AppendMessagesRequest has rows for a thread.
type AppendMessagesRequest struct {
	ThreadID string
	Key      string // of the whole call; empty: a repetition stores them again
	Messages []NewMessage
	// Deliver has the rows of the kinds text and notification carried to where the
	// thread's replies go.
	Deliver bool
}

// AppendMessagesResponse has the rows as they are stored.
type AppendMessagesResponse struct{ Messages []Message }

// ListMessagesRequest selects messages.
type ListMessagesRequest struct{ Query MessageQuery }

// ListMessagesResponse has a page of messages: at most 8 MiB of them.
type ListMessagesResponse struct {
	Messages []Message
	// More says that the query selects more: after the last one, or with Last before
	// the first one.
	More bool
}

// Runs reads and controls runs.
type Runs interface {
	// Get returns a run, or CodeNotFound. Needs runs.read.
	Get(ctx context.Context, request *GetRunRequest) (*GetRunResponse, error)
	// List returns the selected runs, without Events and Hooks. Needs runs.read.
	List(ctx context.Context, request *ListRunsRequest) (*ListRunsResponse, error)
	// Wait returns a run once it is over, at once if it is. One that was merged is over:
	// MergedInto names the run that answers it. Who waits costs the run nothing. Needs
	// runs.read.
	Wait(ctx context.Context, request *WaitRunRequest) (*WaitRunResponse, error)
	// Cancel ends a run that waits, or interrupts one that executes. A run
	// that is over is left as it is. Needs runs.control.
	Cancel(ctx context.Context, request *CancelRunRequest) (*CancelRunResponse, error)
	// Retry gives the message of a run that failed or was cancelled once more,
	// as a new message that names the run. Repeated, it returns the first
	// retry's ids. A run that is not over, or was answered, is CodeInvalid.
	// Needs runs.control.
	Retry(ctx context.Context, request *RetryRunRequest) (*RetryRunResponse, error)
	// Stop interrupts what a thread is doing, and keeps or drops what waits in
	// it. Needs runs.control.
	Stop(ctx context.Context, request *StopThreadRequest) (*StopThreadResponse, error)
	// Resume has a parked run go on now: as it is, with another model, or with the fallback
	// of its account. What is known of the plan does not stand in its way: when the agent finds
	// that it is used up still, the run is parked anew. A run
	// that is not parked is CodeStale, a fallback that is not set or has no daily limit
	// CodeInvalid. It is a person's word: without a person, in whose name ctx has the call made
	// (WithPerson) or whom the request names, it is CodeInvalid, and in a hook or a tool of a run
	// or a task CodeDenied. Needs runs.control.
	Resume(ctx context.Context, request *ResumeRunRequest) (*ResumeRunResponse, error)
}

// GetRunRequest names a run.
type GetRunRequest struct{ ID string }

// GetRunResponse has the run.
type GetRunResponse struct{ Run Run }

// ListRunsRequest selects runs.
type ListRunsRequest struct{ Query RunQuery }

// ListRunsResponse has a page of runs.
type ListRunsResponse struct{ Runs []Run }

// WaitRunRequest names a run.
type WaitRunRequest struct{ ID string }

// WaitRunResponse has the run as it ended.
type WaitRunResponse struct{ Run Run }

// CancelRunRequest names a run, and who wants it cancelled.
type CancelRunRequest struct {
	ID string
	// Author is the person in whose name the plugin asks; empty: the plugin itself.
	// The run says who it was.
	Author string
}

// CancelRunResponse has the run. One that executes ends a moment later.
type CancelRunResponse struct{ Run Run }

// RetryRunRequest names a run, and who wants it given once more.
type RetryRunRequest struct {
	ID     string
	Author string // as in CancelRunRequest; the message keeps its own
	// Scope is what the person may, as in Submission. A command is given again only for
	// somebody who may type it. The message keeps the scope of who has written it.
	Scope TokenScope
}

// RetryRunResponse says what the message became.
type RetryRunResponse struct{ Accepted Accepted }

// ResumeRunRequest names a parked run, and says how it goes on.
type ResumeRunRequest struct {
	RunID    string
	Model    string // it goes on with this model; empty: with the one that it has
	Fallback bool   // it goes on with the fallback of its account, within that one's daily limit
	Author   string // the person who says so
	// Scope is what the person may, as in Submission: a model or the fallback needs ScopeApprove.
	Scope TokenScope
}

// ResumeRunResponse has the run as it is now.
type ResumeRunResponse struct{ Run Run }

// StopThreadRequest names a thread, and who wants it stopped.
type StopThreadRequest struct {
	ThreadID string
	Queue    Queue
	Author   string // as in CancelRunRequest
}

// StopThreadResponse says what was stopped.
type StopThreadResponse struct{ Stopped Stopped }

// Deliveries reads and controls what is on its way to people.
type Deliveries interface {
	// List returns the selected deliveries. Needs deliveries.read.
	List(ctx context.Context, request *ListDeliveriesRequest) (*ListDeliveriesResponse, error)
	// Retry makes a dead delivery pending again; one that is pending is tried
	// at once. One that was delivered is CodeInvalid. Needs deliveries.control.
	Retry(ctx context.Context, request *RetryDeliveryRequest) (*RetryDeliveryResponse, error)
}

// ListDeliveriesRequest selects deliveries.
type ListDeliveriesRequest struct{ Query DeliveryQuery }

// ListDeliveriesResponse has a page of deliveries.
type ListDeliveriesResponse struct{ Deliveries []Delivery }

// RetryDeliveryRequest names a delivery.
type RetryDeliveryRequest struct{ ID string }

// RetryDeliveryResponse has the delivery as it is now.
type RetryDeliveryResponse struct{ Delivery Delivery }

// Commands tells what people can type.
type Commands interface {
	// List returns all commands, the core's included, by name. Needs commands.read.
	List(ctx context.Context, request *ListCommandsRequest) (*ListCommandsResponse, error)
}

// Command is a command that there is, with who answers it.
type Command struct {
	CommandSpec
	Plugin string `json:"plugin,omitempty"` // empty: the core
}

// ListCommandsRequest asks for all commands.
type ListCommandsRequest struct{}

// ListCommandsResponse has the commands: at most 8 MiB of them.
type ListCommandsResponse struct{ Commands []Command }
