// Package ledger holds the shapes in which the rooms of core speak about what
// is durable in a run: what is accepted, who has claimed it, and what each
// commit of the pipeline contains. It holds no behaviour; package store keeps
// the promises that the comments make.
package ledger

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Fence ties a write to one claim of a thread. Once another run has taken the
// thread, every write that carries the old fence is refused (CodeStale).
//
// A run that is at work beside its thread takes no thread: its fence is the run and the
// attempt, and ThreadID, if it is set, is where the run is shown.
type Fence struct {
	ThreadID string
	Epoch    int64
	RunID    string // of a run beside its thread; empty for others
	Attempt  int    // of that run
}

// Beside reports whether the fence is that of a run beside its thread.
func (f Fence) Beside() bool { return f.RunID != "" }

// Acceptance is a message on its way into the ledger. RunID is made by the
// caller, so that after a COMMIT of unknown outcome the run can be looked up.
type Acceptance struct {
	RunID      string
	Submission pluginsdk.Submission // ThreadID is set
	Plugin     string               // that submits it; empty: the core
	Kind       pluginsdk.RunKind
	// BesideAs is the name of a typed command that concerns no conversation, whose run is beside
	// its thread; empty: the run is in the thread's queue.
	BesideAs string
	// Origin is where the message is from; whether its thread is apart, the store finds out.
	Origin pluginsdk.Origin
	// Answer, when set, ends the run at once: for what the core answers itself.
	Answer  *Answer
	TraceID string
	// MaxWaiting, when greater than 0, refuses (CodeExhausted) a message for a
	// thread that has that many runs waiting in its queue (of commands beside the thread: that
	// many of those), and one of a plugin that does not come with
	// Harness, and of no token's person, once half of what others leave is the plugin's.
	MaxWaiting int
	// MaxDepth, when greater than 0, refuses (CodeExhausted) a message that is
	// more runs away from one that nothing caused.
	MaxDepth int
	// Claimer, when set, claims the run in the same transaction if its thread
	// is idle: nothing is in front of it. Not for a run beside its thread.
	Claimer string
	// Task, when set, is moved in the same transaction: the run is its iteration. Of
	// the move nothing but the task itself counts.
	Task *TaskMove
}

// Accepted is what Accept answers, with what the inbox must know of the thread.
type Accepted struct {
	pluginsdk.Accepted
	BusyMode pluginsdk.BusyMode // empty when the submission was known
	Claim    Claim              // of the Claimer; Found is false when the run waits
	Lanes    []Lane             // that have something new to carry: the Answer
}

// Answer is the core's own reply to a command.
type Answer struct {
	Text  string
	State pluginsdk.RunState // succeeded or failed
	// Gone is the thread in which the command was given, when it has deleted it; nil: it has
	// not. The command and its answer are then stored in another thread, and the answer is
	// carried to where this one's replies went.
	Gone *pluginsdk.Thread
}

// Claim is a run that its holder, alone, may work on until the thread's epoch
// moves on.
type Claim struct {
	// Found is false when nothing can be claimed; NotBefore then says when the
	// head of the queue is due, if there is one.
	Found     bool
	NotBefore time.Time

	Thread  Thread
	Message pluginsdk.Message
	// Absorbed are the messages of the runs that were merged into this one, in
	// their order: it answers them too.
	Absorbed []pluginsdk.Message
	Run      Run
	Fence    Fence
	// NoNews says that since the session's last turn nothing has come into the thread that it has to
	// be told of, but people's messages and its own replies.
	NoNews bool
	// These are the thread's TaskLeave.
	TaskID         string
	AllowedTools   []string
	PermissionMode string
}

// TaskLeave is what a task lets the turns in its thread do. While the task is not over,
// AllowedTools are what it allows the agent beside what every thread may, and PermissionMode
// holds in place of the thread's unless it is empty.
type TaskLeave struct {
	TaskID         string // empty: the thread is not a task's
	AllowedTools   []string
	PermissionMode string
}

// Intent is committed (step 5a) before the agent gets a byte.
type Intent struct {
	RunID      string
	SessionID  string
	Account    string // that the turn is of; empty: nobody has said
	PromptHash string // SHA-256, hex
	Steps      []pluginsdk.PipelineStep
	Hooks      []pluginsdk.HookCall // as in Finish
	Effects    []Effect
	// Reservations are at most one in an account.
	Reservations []Reservation
}

// Reservation is money that a plugin's gate sets aside for a run, in an account of the
// plugin's: until the run is over, when what it has cost is spent from the account. What the
// core sets aside (CoreAccounts) is for one attempt of the run: until the attempt's result is
// stored, with the account as its Purse. Of an attempt without a result all is spent.
type Reservation struct {
	Plugin string
	pluginsdk.Reservation
	// Again says that the same attempt has set it aside before, and has cost nothing since.
	Again bool
}

// Opens reports whether what is set aside is open until the attempt's result is stored (ResultCommit.Closes):
// of an attempt without one, all of it counts as spent.
func (r Reservation) Opens() bool { return r.CapAtRest || r.Unit == pluginsdk.UnitTokens }

// NoRoom is the failure of a turn that a plugin's gate has wait (pluginsdk.Wait).
type NoRoom struct {
	Failure *pluginsdk.Failure // with Parked
	// Soon says that there is room again when turns at work have ended, for which it is set aside.
	Soon bool
	// Account is the one in which there is not enough left; empty: the gate itself has the turn wait.
	Account string
}

func (n *NoRoom) Error() string { return n.Failure.Error() }

// Unwrap returns the failure.
func (n *NoRoom) Unwrap() error { return n.Failure }

// OverLimit is a reservation for which there is not enough left.
type OverLimit struct {
	Reservation Reservation
	SpentUSD    float64 // by runs that are over, and by earlier attempts of the run
	ReservedUSD float64 // for others that are not
	OwnUSD      float64 // for the run itself, whose turn asks for more; 0: it has not begun
}

// Error says how much is missing, to who reads why the run was denied or its turn was ended.
func (o *OverLimit) Error() string {
	r, usd := o.Reservation, o.usd()
	if r.Reason != "" {
		return strings.NewReplacer("{limit}", usd(r.LimitUSD), "{spent}", usd(o.SpentUSD),
			"{set_aside}", usd(o.ReservedUSD+o.OwnUSD), "{amount}", usd(r.AmountUSD)).Replace(r.Reason)
	}
	if o.OwnUSD > 0 {
		return fmt.Sprintf("the limit of %s (%s) is %s: %s are spent, %s are set aside for other runs and %s for this one, and nothing is left",
			r.Account, r.Plugin, usd(r.LimitUSD), usd(o.SpentUSD), usd(o.ReservedUSD), usd(o.OwnUSD))
	}
	return fmt.Sprintf("the limit of %s (%s) is %s: %s are spent, %s are set aside for other runs, and this one would set %s aside",
		r.Account, r.Plugin, usd(r.LimitUSD), usd(o.SpentUSD), usd(o.ReservedUSD), usd(r.AmountUSD))
}

// AtWork says that there is enough left once turns at work are over.
func (o *OverLimit) AtWork() string {
	r, usd := o.Reservation, o.usd()
	what := "the account " + r.Account
	if r.Wait != nil && r.Wait.For != "" {
		what = "the budget " + r.Wait.For
	}
	return fmt.Sprintf("turns at work hold what is left of %s until they end: %s of %s are set aside for them",
		what, usd(o.ReservedUSD), usd(r.LimitUSD))
}

// tokens formats the amounts as 940 tokens, 12.4k tokens, 1M tokens, with as many digits as it takes for them to add
// up to more than the limit.
func (o *OverLimit) tokens() func(float64) string {
	digits := 1
	for ; digits < 6; digits++ {
		sum := 0.0
		for _, count := range []float64{o.SpentUSD, o.ReservedUSD, o.OwnUSD, o.Reservation.AmountUSD} {
			rounded, unit, _ := roundTokens(count, digits)
			sum += rounded * unit
		}
		if limit, unit, _ := roundTokens(o.Reservation.LimitUSD, digits); sum > limit*unit {
			break
		}
	}
	return func(count float64) string {
		rounded, _, name := roundTokens(count, digits)
		return strconv.FormatFloat(rounded, 'f', -1, 64) + name + " tokens"
	}
}

// roundTokens returns a number of tokens in the unit in which it is told, and that unit's name.
func roundTokens(count float64, digits int) (rounded, unit float64, name string) {
	switch {
	case count >= 1e6:
		unit, name = 1e6, "M"
	case count >= 1e3:
		unit, name = 1e3, "k"
	default:
		return math.Round(count), 1, ""
	}
	digit := math.Pow10(digits)
	return math.Round(count/unit*digit) / digit, unit, name
}

// usd formats the amounts with as many digits as it takes for them to add up to more than the
// limit, and for none of them to look like nothing: 2 to 6.
func (o *OverLimit) usd() func(float64) string {
	if o.Reservation.Unit == pluginsdk.UnitTokens {
		return o.tokens()
	}
	digits := 2
	for ; digits < 6; digits++ {
		unit := math.Pow10(-digits)
		round := func(usd float64) float64 { return math.Round(usd / unit) }
		sum, nothing := 0.0, false
		for _, usd := range []float64{o.SpentUSD, o.ReservedUSD, o.OwnUSD, o.Reservation.AmountUSD} {
			sum += round(usd)
			nothing = nothing || usd > 0 && round(usd) == 0
		}
		if sum > round(o.Reservation.LimitUSD) && !nothing && round(o.Reservation.LimitUSD) > 0 {
			break
		}
	}
	return func(usd float64) string { return fmt.Sprintf("$%.*f", digits, usd) }
}

// ResultCommit is committed (step 5b) when the agent's turn has ended.
type ResultCommit struct {
	RunID string
	// Key is the same when, and only when, this commit is repeated: its first
	// COMMIT may have had no known outcome.
	Key    string
	Step   pluginsdk.RunStep // StepInvoked when the turn has an answer
	Result pluginsdk.InvokeResult
	// Purse is the account of CoreAccounts in which was set aside what the turn may cost, and
	// from which what it has cost is spent; empty: none.
	Purse string
	// Closes are the reservations of the attempt that are open (Reservation.Opens): what it has cost is known now.
	Closes   []Reservation
	Events   []pluginsdk.StreamEvent // whole blocks only
	Steps    []pluginsdk.PipelineStep
	Hooks    []pluginsdk.HookCall // as in Finish
	AgentRun AgentRun
	// Commands are what the agent wrote; see Run.Commands.
	Commands []Command
	Effects  []Effect

	SessionID      string // the thread's from now on
	SessionAccount string // that this session is of
	RunSessionID   string // the one that the turn was in; a further attempt resumes it
	SeenMessageID  int64

	Rows []Row

	// Absorbed are the messages besides its own that the run's turn covers.
	// Whatever else was merged into the run goes back to the queue.
	Absorbed []int64

	// MayWaitForDisk says that the next commit of the run follows at once and takes this one
	// to the disk: nothing is done on the strength of it before.
	MayWaitForDisk bool
}

// OutcomeCommit is committed (step 8) when a command of a run has been answered.
type OutcomeCommit struct {
	RunID   string
	Outcome pluginsdk.Outcome
	Hooks   []pluginsdk.HookCall // as in Finish
	Effects []Effect
	// Decided is what the command has decided, for the audit log, and Who the person who typed it,
	// as the audit log says it.
	Decided []string
	Who     string
}

// Finish ends a run (step 11).
type Finish struct {
	RunID   string
	State   pluginsdk.RunState
	Error   string
	Steps   []pluginsdk.PipelineStep
	Hooks   []pluginsdk.HookCall // of all attempts; nil: what is stored stays
	Effects []Effect             // stored before the rows, so that they stand earlier in the thread
	Rows    []Row
	// Deliver asks for a Delivery of each row to where the thread's replies go, if
	// somebody carries them there.
	Deliver bool
}

// Finished is what Finish did.
type Finished struct {
	MessageIDs []int64 // of Finish.Rows, in their order
	Lanes      []Lane  // that have something new to carry
}

// ParkedRun has a run wait for a window of its account's plan, or for a plugin's gate: it is in the
// queue, is not claimed before Due, and no attempt is counted.
type ParkedRun struct {
	RunID  string
	Parked pluginsdk.Parked
	// Due is when the run is tried again; zero: at Parked.Until.
	Due time.Time
	// Override is what of a person's word on the run still holds; nil: nothing.
	Override *pluginsdk.RunOverride
	Hooks    []pluginsdk.HookCall // as in Finish
	Effects  []Effect
	// Row tells the thread's people; it is stored, and carried to them, once for its key.
	// nil: nobody is told. A turn beside its thread has none.
	Row *Row
}

// HeldRun notes of a run at work that it waits for a plugin, which must not be passed over.
type HeldRun struct {
	RunID string
	Hooks []pluginsdk.HookCall // as in Finish; the last is the one that the run waits for
	// Row tells the thread's people; it is stored, and carried to them, once for its key.
	// nil: nobody is told.
	Row *Row
}

// Waits is a call that a run at work waits for.
type Waits struct {
	RunID, ThreadID string
	Call            pluginsdk.HookCall
}

// ResumedRun has a parked run go on before its time.
type ResumedRun struct {
	RunID    string
	Override pluginsdk.RunOverride // how
	Who      string                // as the audit log says it
}

// AttemptEnd puts a run back into its queue after an attempt that failed.
type AttemptEnd struct {
	RunID   string
	At      time.Time // it is not claimed before
	Reason  string
	Hooks   []pluginsdk.HookCall // as in Finish
	Effects []Effect
}

// Left is what an attempt that failed leaves to who ends it.
type Left struct {
	// Hooks are the calls of the run so far, as in Finish.
	Hooks []pluginsdk.HookCall
	// Effects are what hooks did to the run and no commit has stored: they go with
	// the commit of the attempt's end.
	Effects []Effect
	// Answered says that the agent's answer is stored (step 5b): from there on nobody's
	// stop ends the run.
	Answered bool
	// Freed is what the attempt's end frees in accounts, also when the run is over.
	Freed Freed
}

// AccountRef names an account of a plugin's.
type AccountRef struct{ Plugin, Account string }

// Freed says in which accounts less may be set aside for a run than before.
type Freed struct {
	Accounts []AccountRef
	// Unsure says that an earlier attempt of the run may have set something aside in others.
	Unsure bool
}

// Row is a message with its key; a repeated key stores nothing again. The row is
// the run's whose commit it is in.
type Row struct {
	Key     string
	Plugin  string // whose words it has, and for whom it counts; empty: the core's
	Message pluginsdk.NewMessage
}

// Effect is what a hook did to its run: checked and bounded, to be stored with a
// commit of the run. Its rows have the keys RUN/PLUGIN/KEY, RUN/PLUGIN#1/KEY, ...
// (its metrics RUN/KEY, RUN#1/KEY, ... among the plugin's, but for those that have
// keys of their own), and one whose first key is known stores nothing. A row whose
// key is taken all the same is left out.
type Effect struct {
	Plugin  string
	Key     string
	Rows    []pluginsdk.NewMessage
	Metrics []pluginsdk.NewMetric
}

// Amendment is what a message says from now on that a plugin has submitted.
type Amendment struct {
	Plugin      string
	ThreadID    string // empty: wherever it is
	Source, Key string // what it was submitted under
	Content     string
	Attachments []pluginsdk.Attachment // all that it has from now on; none: it keeps its own
}

// Append is rows that a plugin stores in a thread of its own accord.
type Append struct {
	// Fence, when not nil, refuses (CodeStale) the rows once another run has taken
	// the thread.
	Fence    *Fence
	ThreadID string
	Plugin   string           // empty: the core
	Key      string           // among the plugin's of the thread; empty: none
	RunID    string           // whose rows they are; empty: no run's
	Origin   pluginsdk.Origin // where they are from; whether their thread is apart, the store finds out
	Rows     []pluginsdk.NewMessage
	Deliver  bool // the rows of the kinds text and notification
}

// Appended is what Append stored.
type Appended struct {
	Messages []pluginsdk.Message
	Lanes    []Lane // that have something new to carry
}

// StateWrite is a write of a plugin's own small store; Delete removes the key.
type StateWrite struct {
	Plugin string
	Key    string
	Value  []byte
	Delete bool
	If     *pluginsdk.StateCondition
}

// SpanKind says what a Span is of.
type SpanKind string

// The kinds of spans.
const (
	SpanHook   SpanKind = "hook"   // a call of a plugin
	SpanWrite  SpanKind = "write"  // a transaction of the store
	SpanRead   SpanKind = "read"   // a query of the store outside of one
	SpanEvents SpanKind = "events" // a batch of events, given to a subscriber
	SpanAsked  SpanKind = "asked"  // what a plugin has asked of the core
)

// Span is a piece of work that has been done, for who measures where the time of a
// turn goes. A room tells its spans to the Trace of its Config, when that is set; it
// may be called from several goroutines at once, and must not block.
type Span struct {
	Kind SpanKind `json:"kind"`
	// Name is the hook, the method of the store or of the host, or the subscriber.
	Name   string    `json:"name"`
	Plugin string    `json:"plugin,omitempty"` // who was called, or has asked
	RunID  string    `json:"runId,omitempty"`  // of a hook
	Began  time.Time `json:"began"`
	// Took is from Began to the end, in nanoseconds; Waited is what of it passed before
	// the work began (a write, until the writer had it), Inside what of it the plugin has
	// seen of the call (a hook), or the statements took before the COMMIT (a write).
	Took   time.Duration `json:"took"`
	Waited time.Duration `json:"waited,omitempty"`
	Inside time.Duration `json:"inside,omitempty"`
	// Durable says of a write that it waits for the disk.
	Durable bool `json:"durable,omitempty"`
	// Count is how many statements a write has made, or how many events a batch has.
	Count int `json:"count,omitempty"`
}

// permissionModes are those of the agent's that can be had. The one that asks
// nobody (bypassPermissions) is not among them: tools are allowed by rule instead.
var permissionModes = []string{"default", "acceptEdits", "plan", "dontAsk"}

// CheckPermissionMode refuses (CodeInvalid) what is not exactly one of the modes.
// The empty one is whichever is configured. Everything that reaches the agent's
// command line passes here, from whatever side it came.
func CheckPermissionMode(mode string) error {
	if mode == "" || slices.Contains(permissionModes, mode) {
		return nil
	}
	return pluginsdk.Errorf(pluginsdk.CodeInvalid, "permissionMode: %.100q is not one of %s", mode, strings.Join(permissionModes, ", "))
}

// LeverPause is the lever that keeps what plugins start from beginning: turns, tasks,
// scheduled jobs, and what runs cause. What people write goes on.
const LeverPause = "pause"

// LeverDev is on while the daemon that is up, or was last, runs what authors of plugins
// work on (`harness up --dev`). The daemon turns it.
const LeverDev = "dev"

// Lever is something that operators turn on and off for the whole installation. The
// zero value is one that nobody has touched.
type Lever struct {
	On  bool
	Who string // turned it last
	At  time.Time
}
