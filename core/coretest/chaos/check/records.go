// Package check judges what a campaign of kills left behind. It takes plain
// records, of what clients were promised, what the agent was asked, what a
// plugin carried and what the database holds, and counts every broken promise.
// It knows nothing of a living system, nor of how the product stores things.
package check

import (
	"regexp"
	"time"
)

// Marker is the form of what identifies a message in everything that is
// recorded: each message of a campaign carries one of its own, and every
// answer repeats it.
var Marker = regexp.MustCompile(`m-T\d{2,}-\d{4,}`)

// WorkMarker is the same of work that a plugin has done: of a turn, or a task, the key;
// of a task's iteration with its number behind.
var WorkMarker = regexp.MustCompile(`w-\d{4,}(?:-\d+)?`)

// DeedMarker is what names a deed: what an agent is told to do that nothing allows.
var DeedMarker = regexp.MustCompile(`a-T\d{2,}-\d{4,}`)

// CronMarker is what names a scheduled job, in its prompt.
var CronMarker = regexp.MustCompile(`c-\d{4}`)

// Records is everything that is known of one campaign on one database.
type Records struct {
	// Wanted is the kinds of which a strike has to be among Strikes.
	Wanted  []Kind
	Strikes []Strike
	Threads []Thread
	Sent    []Sent
	// Asked is what the agent was asked, in order. AskedUnknown says that the
	// agent keeps no log: the column is then left out.
	Asked        []Ask
	AskedUnknown bool
	Carried      []Carried // by the plugin that delivers, in order
	Jobs         []Job     // that a plugin saw to
	Calls        []Call    // of its tasks' hooks, as it wrote them down before it answered
	Witness      string    // that plugin's name
	// Places is how many runs may be at work at a time, and AtOnce how many were when,
	// at the end, more had come than there are places. With no Places that was not tried.
	Places, AtOnce int

	// Closings is when the plan of the agent's account was used up.
	Closings []Closing

	Works     []Work   // that people had done in a repository
	Merges    []Merge  // of its main branch
	Leftovers []string // what is left in it of tasks: branches, worktrees, a checkout that is not clean

	Tries     []Try      // of an agent to do what nothing allows, in order
	Deeds     []Deed     // that were done, in order
	Decisions []Decision // of people, on what the agent asked
	Revoked   []Revocation

	Messages   []Message // in the order of their ids
	Runs       []Run
	Turns      []Turn
	Deliveries []Delivery
	Tasks      []Task
	Answers    []Answer   // of plugins that were asked about tasks, in order
	Approvals  []Approval // in the order of their ids
	Rules      []string   // ids

	Schedules []Schedule // jobs that were due, or asked to fire
	Fires     []Fire

	Costs     []Cost   // of the turns of the agent, in order
	Usages    []Usage  // what they have cost, as the API tells it
	Budgets   []Budget // that count all turns
	BilledUSD float64  // what the agent's calls were billed by who answered them
	Summed    int      // how many turns were in sums of theirs when the end came

	// Discord is what happened there; nil: it is not in this load.
	Discord *Discord

	// Sightings is how often a plugin of a living daemon was recognised by the
	// mark by which Strays are found: with none, their absence says nothing.
	Sightings int
	Strays    []Stray
	Exits     []Exit
}

// Kind says what a strike hits.
type Kind string

// The kinds of strike.
const (
	Daemon   Kind = "daemon"
	Plugin   Kind = "plugin"
	Agent    Kind = "agent"
	Database Kind = "database"
)

// Kinds returns all kinds in the order in which they are shown.
func Kinds() []Kind { return []Kind{Daemon, Plugin, Agent, Database} }

// Strike is one act of violence and how long it lasted.
type Strike struct {
	Kind     Kind   // what was hit
	Meant    Kind   // what it was meant for, when none of that could be hit
	What     string // for people
	From, To time.Time
}

// Closing is a time in which a window of the plan was used up, and how many calls of the
// agent's were refused in it.
type Closing struct {
	From, To time.Time
	Refused  int
}

// Thread is a conversation of the campaign.
type Thread struct {
	ID         string
	Name       string
	Delivered  bool // its replies are carried by a plugin
	Interrupts bool // a newer message may cancel an older one
}

// Sent is a message that a client handed in until it was accepted.
type Sent struct {
	Marker   string
	ThreadID string
	Accepted []Acceptance // one for each time that it was promised
	Refused  []string     // answers that no client should get
}

// Acceptance is the ids that a promise named.
type Acceptance struct {
	ThreadID  string
	MessageID int64
	RunID     string
}

// Ask is one marker in one request that reached the agent's model and began a
// turn or joined one. What a turn only repeats while it goes on is none.
type Ask struct {
	Marker      string
	At          time.Time
	Interrupted bool // the prompt says that it was given before
}

// Carried is one attempt of a delivery that reached the person.
type Carried struct {
	DeliveryID string
	MessageID  int64
	Target     string
	Attempt    int
}

// Message is a row of the table of that name.
type Message struct {
	ID       int64
	ThreadID string
	RunID    string
	Role     string
	Kind     string
	Content  string
	Event    string // the field of this name in its metadata
	Outcome  string // likewise
	Attempt  int    // likewise
	Task     string // likewise
	Status   string // likewise
}

// Run is a row of the table of that name.
type Run struct {
	ID         string
	ThreadID   string
	MessageID  int64
	State      string
	MergedInto string
	Error      string
	Attempt    int
	Source     string
	Key        string
	Finished   bool
	Beside     bool // it is a turn in a session of its own
	CostUSD    float64
}

// Schedule is a scheduled job.
type Schedule struct {
	ID, Name string
	Marker   string
	Away     bool        // it was made while no daemon was there
	Due      []time.Time // when it was due
	// MayFrom and MayTo are from when to when it may have been due: nobody knows whether it was on.
	MayFrom, MayTo time.Time
	Promised       []time.Time // fires that somebody asked for, as they were answered
	Unsure         int         // requests for one that were not answered
}

// Fire is a row of the table cron_fires.
type Fire struct {
	JobID      string
	Due, Until time.Time
	Count      int
	Cause      string
	State      string
	Reason     string
	RunID      string
	Key        string // of the run that it makes
}

// Cost is what a turn of the agent has cost.
type Cost struct {
	RunID  string
	USD    float64
	Of     map[string]string  // what it counts to: by thread, task, purpose, plugin, cron, account, day, hour
	Models map[string]float64 // what each has had of it
}

// Sum is what turns have cost together.
type Sum struct {
	Turns int
	USD   float64
}

// Usage is what turns have cost, summed up by something.
type Usage struct {
	By    string // empty: all together
	Total Sum
	Sums  map[string]Sum
}

// Budget is how much is spent of one.
type Budget struct {
	Name        string
	SpentUSD    float64
	SetAsideUSD float64
}

// Job is a turn of the agent, or a task, that a plugin asked for until it knew how it
// ended.
type Job struct {
	Key        string // also its marker
	Task       bool   // a task, not a turn
	Wake       bool   // the agent of its parent is to be told, too
	Rejections int    // how often its work is rejected
	Cancel     Cancel
	Promised   []string       // ids of its run, or of the task: one for each time that it was named
	Iterations map[int]string // the run that was named for an iteration; the first one
	Ended      []End          // as the plugin was told: one for each time
	Refused    []string       // answers that it should not get
}

// Cancel says whether the plugin had its task cancelled.
type Cancel int

// What the plugin did about the end of a task.
const (
	Kept      Cancel = iota
	MayBe            // when it might be completed already
	Cancelled        // when it could not be
)

// End is how something ended.
type End struct {
	State string
	Text  string // the answer, or why there is none
}

// Call is one call of a task's hook.
type Call struct {
	TaskID string
	Hook   string // the phase in which it is called
	ID     string // the same when the call is repeated in its round
	At     time.Time
}

// Answer is a row of the table task_answers.
type Answer struct {
	TaskID  string
	Hook    string
	Round   int
	Plugin  string
	Verdict string
	Trees   []string  // of git, that it shows
	At      time.Time // when the plugin had answered
}

// Work is a piece of work that a person handed on in a conversation.
type Work struct {
	Marker  string
	Refused string // an answer that no client should get
}

// Merge is a commit that brings a task's work into the main branch.
type Merge struct {
	TaskID string
	Commit string
	Tree   string
}

// Try is one call that an agent made to do a deed.
type Try struct {
	Marker string // of the message that asks for it
	Deed   string
	At     time.Time
}

// Deed is something that was done.
type Deed struct {
	Name string
	At   time.Time
}

// Decision is a person's answer to what the agent asked.
type Decision struct {
	ApprovalID string
	Author     string
	Choice     string
	Status     int  // of HTTP, that they were answered with; 0: they never were
	Parked     bool // its run had given everything back by then
}

// Revocation is the end of a rule, as a person was told of it.
type Revocation struct {
	RuleID string
	Status int // of HTTP
	At     time.Time
}

// Approval is a row of the table approvals.
type Approval struct {
	ID        string
	RunID     string
	ThreadID  string
	MessageID int64 // the row of its thread that shows it
	Deed      string
	State     string
	Choice    string
	Author    string
	RuleID    string    // the rule that the answer has made
	Decided   time.Time // zero: it was not
	Spent     time.Time // when the answer was about to be given to the agent; zero: it was not
	Audited   int       // entries of the audit log about its answer
}

// Task is a row of the table of that name.
type Task struct {
	ID         string
	Key        string
	ThreadID   string // its own
	ParentID   string // the thread that is told
	Prompt     string
	Status     string
	Error      string
	Iterations int
	Rejections int
	Ended      bool // all that belongs to its end is done
}

// Turn is a turn of the agent whose end was recorded.
type Turn struct {
	RunID   string
	Success bool
	Ended   time.Time
}

// Delivery is a row of the table of that name.
type Delivery struct {
	ID        string
	MessageID int64
	Plugin    string
	Target    string
	State     string
	Error     string
}

// Stray is a process of the installation that no living daemon has.
type Stray struct {
	PID  int
	What string
}

// Exit is an end of the daemon that nobody had asked for.
type Exit struct {
	At  time.Time
	Why string
}

// Discord is what people wrote there, what the bot did, and what stands there at the end.
type Discord struct {
	Plugin   string // that brings it here; its sources begin with its name
	Said     []Said // in order
	Commands []Command
	Places   []Place
	Breaches []Breach
	AtOnce   int // the most connections that the bot had at a time
	Troubles []Trouble
}

// Said is a message that a person wrote, and that is for the bot.
type Said struct {
	ID      string // also the key of its run
	Channel string
	Marker  string // empty: it is a command that is typed
	At      time.Time
	Edited  bool
}

// Command is one that a person chose from those that Discord offers.
type Command struct {
	ID      string // of the interaction; also the key of its run
	Channel string
	At      time.Time
	Answer  string // the message that answers it first; empty: there is none
}

// Place is a channel, or a thread of Discord's, with what the bot has written there for
// everybody, in the order in which it stands there.
type Place struct {
	ID, Name string
	Posted   []Posted
}

func (p Place) String() string {
	if p.Name == "" {
		return p.ID
	}
	return p.Name + " (" + p.ID + ")"
}

// Posted is a message of the bot's as it is now.
type Posted struct {
	ID, Text string
	At       time.Time
	Edits    int      // how often it was changed
	Buttons  []string // their labels
	Thinking bool     // it says that the bot thinks
	Pinged   string   // whom it has notified, empty for nobody
}

// Breach is something that the bot did against Discord's documentation.
type Breach struct {
	Rule, What, Where string
	At                time.Time
}

// Trouble is something that went wrong with Discord, and until when.
type Trouble struct {
	Kind     Kind
	What     string
	From, To time.Time
}

// The kinds of trouble with Discord.
const (
	TroubleKill    Kind = "kill of its plugin"
	TroubleGateway Kind = "gateway"
	TroubleRequest Kind = "requests"
)

// TroubleKinds returns all kinds in the order in which they are shown.
func TroubleKinds() []Kind { return []Kind{TroubleKill, TroubleGateway, TroubleRequest} }
