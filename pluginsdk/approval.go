package pluginsdk

import (
	"context"
	"encoding/json"
	"time"
)

// Approvals is what the agent asks people: whether it may use a tool that no rule
// allows, which of several answers it should go by, whether its plan is good. The
// question is stored before anybody is shown it, and a yes is spent before the agent is
// told of it: it is good for one use. Of several answers the first one holds.
type Approvals interface {
	// Get returns an approval, or CodeNotFound. Needs approvals.read.
	Get(ctx context.Context, request *GetApprovalRequest) (*GetApprovalResponse, error)
	// List returns the selected approvals. Needs approvals.read.
	List(ctx context.Context, request *ListApprovalsRequest) (*ListApprovalsResponse, error)
	// Decide is a person's answer. One that is not open any more is CodeStale, and the
	// error says how it was answered; the same answer of the same person, repeated, is
	// not. A choice that it does not offer is CodeInvalid. Needs approvals.decide.
	Decide(ctx context.Context, request *DecideApprovalRequest) (*DecideApprovalResponse, error)
	// Rules returns the rules that hold, oldest first. Needs approvals.read.
	Rules(ctx context.Context, request *ListApprovalRulesRequest) (*ListApprovalRulesResponse, error)
	// Revoke ends a rule: the agent's next question is asked. One that is gone already is
	// no error. Needs approvals.decide.
	Revoke(ctx context.Context, request *RevokeApprovalRuleRequest) (*RevokeApprovalRuleResponse, error)
}

// ApprovalKind says what a person is asked.
type ApprovalKind string

// The kinds of approval.
const (
	ApprovalTool     ApprovalKind = "tool"     // may the agent make this call of a tool
	ApprovalQuestion ApprovalKind = "question" // the agent asks something (AskUserQuestion)
	ApprovalPlan     ApprovalKind = "plan"     // is this plan to be carried out (ExitPlanMode)
)

// ApprovalState says what has become of an approval.
type ApprovalState string

// The states of an approval. All but open are final.
const (
	ApprovalOpen      ApprovalState = "open"
	ApprovalAllowed   ApprovalState = "allowed" // or answered
	ApprovalDenied    ApprovalState = "denied"
	ApprovalExpired   ApprovalState = "expired"   // nobody answered in time, which denies
	ApprovalWithdrawn ApprovalState = "withdrawn" // its run is over
)

// Approval is one thing that the agent asks people.
type Approval struct {
	ID       string        `json:"id"`
	ThreadID string        `json:"threadId"`
	RunID    string        `json:"runId"`
	Kind     ApprovalKind  `json:"kind"`
	State    ApprovalState `json:"state"`
	Tool     string        `json:"tool"` // as the agent calls it
	// Input is what the tool is to be called with, a JSON object. One of more than 64 KiB
	// is left out: Title says so.
	Input json.RawMessage `json:"input,omitempty"`
	Title string          `json:"title"`          // a line: what is asked
	Text  string          `json:"text,omitempty"` // more of it: the command, the plan
	Note  string          `json:"note,omitempty"` // what to consider, such as that it may already have been done
	Cwd   string          `json:"cwd,omitempty"`  // where the agent works
	// Questions are those of the kind question.
	Questions []AgentQuestion `json:"questions,omitempty"`
	// Choices are what can be answered, at least allow and deny of one that is no
	// question.
	Choices []ApprovalChoice `json:"choices"`

	Choice  string           `json:"choice,omitempty"` // the id of the one that was taken
	Answers []QuestionAnswer `json:"answers,omitempty"`
	Words   string           `json:"words,omitempty"`  // to the agent
	Author  string           `json:"author,omitempty"` // who answered
	Plugin  string           `json:"plugin,omitempty"` // through which plugin
	RuleID  string           `json:"ruleId,omitempty"` // the rule that the answer made
	Origin  Origin           `json:"origin,omitzero"`  // of the answer; the core fills it in

	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt"`
	DecidedAt time.Time `json:"decidedAt,omitzero"` // when it left open
	// SpentAt is when the answer was given to the agent. From then on it allows nothing.
	SpentAt time.Time `json:"spentAt,omitzero"`
}

// Label says who has answered; the zero Label: nobody has.
func (a Approval) Label() Label { return Label{Author: a.Author, Plugin: a.Plugin, Origin: a.Origin} }

// ApprovalChoice is one way to answer.
type ApprovalChoice struct {
	ID    string `json:"id"`    // allow, deny, rule:NAME, answer:N
	Label string `json:"label"` // a few words, for a button
	Allow bool   `json:"allow"` // the agent goes on with it
	// Rule is what the choice allows from now on, in words; empty: nothing.
	Rule string `json:"rule,omitempty"`
}

// AgentQuestion is one question of the agent with its options.
type AgentQuestion struct {
	Text     string           `json:"text"`
	Header   string           `json:"header,omitempty"` // a word or two
	Options  []QuestionOption `json:"options"`
	Multiple bool             `json:"multiple,omitempty"` // several options may be taken
}

// QuestionOption is one answer that the agent offers.
type QuestionOption struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// QuestionAnswer answers one AgentQuestion: options by their labels, words, or both.
type QuestionAnswer struct {
	Labels []string `json:"labels,omitempty"`
	Text   string   `json:"text,omitempty"`
}

// ApprovalRule is a leave that lasts: what it names is not asked about any more in its
// thread.
type ApprovalRule struct {
	ID       string `json:"id"`
	ThreadID string `json:"threadId"`
	Tool     string `json:"tool"`
	// Kind says what Value is: of the call (the whole input), a command (its first words),
	// a directory, a host, or nothing (the tool).
	Kind       string    `json:"kind"` // call, command, directory, host, tool
	Value      string    `json:"value,omitempty"`
	Text       string    `json:"text"`   // in words
	Author     string    `json:"author"` // who made it
	Plugin     string    `json:"plugin,omitempty"`
	ApprovalID string    `json:"approvalId"`
	CreatedAt  time.Time `json:"createdAt"`
}

// ApprovalQuery selects approvals, oldest first unless Newest is set. Zero fields do not
// restrict.
type ApprovalQuery struct {
	ThreadID string `json:"threadId,omitempty"`
	// Below selects, with a ThreadID, also what is asked in the threads below that one: in
	// those of its tasks, of their tasks, and so on.
	Below  bool            `json:"below,omitempty"`
	RunID  string          `json:"runId,omitempty"`
	States []ApprovalState `json:"states,omitempty"`
	Newest bool            `json:"newest,omitempty"`
	After  string          `json:"after,omitempty"` // id of the last approval of the page before
	Limit  int             `json:"limit,omitempty"` // default 100, at most 1000
}

// GetApprovalRequest names an approval.
type GetApprovalRequest struct{ ID string }

// GetApprovalResponse has the approval.
type GetApprovalResponse struct{ Approval Approval }

// ListApprovalsRequest selects approvals.
type ListApprovalsRequest struct{ Query ApprovalQuery }

// ListApprovalsResponse has a page of approvals: at most 8 MiB of them.
type ListApprovalsResponse struct {
	Approvals []Approval
	More      bool // there are approvals after the last one
}

// DecideApprovalRequest is a person's answer.
type DecideApprovalRequest struct {
	ID string
	// Choice is the id of one of the approval's choices; empty with Answers.
	Choice  string
	Answers []QuestionAnswer // of the kind question, one for each
	Words   string           // to the agent: why not, or what to do instead
	Author  string           // the person
}

// DecideApprovalResponse has the approval as it is now.
type DecideApprovalResponse struct{ Approval Approval }

// ListApprovalRulesRequest selects rules.
type ListApprovalRulesRequest struct {
	ThreadID string // empty: of all threads
	After    string // id of the last rule of the page before
	Limit    int    // default 100, at most 1000
}

// ListApprovalRulesResponse has a page of rules: at most 8 MiB of them.
type ListApprovalRulesResponse struct {
	Rules []ApprovalRule
	More  bool // there are rules after the last one
}

// RevokeApprovalRuleRequest names a rule, and who wants it gone.
type RevokeApprovalRuleRequest struct {
	ID     string
	Author string
}

// RevokeApprovalRuleResponse has nothing to say yet.
type RevokeApprovalRuleResponse struct{}

// ApprovalPayload is the payload of EventApprovalRequested and EventApprovalResolved.
type ApprovalPayload struct {
	ApprovalID string        `json:"approvalId"`
	ThreadID   string        `json:"threadId"`
	RunID      string        `json:"runId"`
	State      ApprovalState `json:"state"`
	Title      string        `json:"title"`
	// AboveThreadIDs are the threads that ThreadID is below, the nearest first, at most 100.
	// A person in one of them is who gave the work that asks.
	AboveThreadIDs []string `json:"aboveThreadIds,omitempty"`
}
