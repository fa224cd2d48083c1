package ledger

import (
	"regexp"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Account is a login or a key of the agent's, as it is stored. The account environment has a
// row only when something was set for it.
type Account struct {
	Name          string
	Kind          pluginsdk.AccountKind
	Default       bool
	Overage       bool // paid use beyond the plan is allowed
	Fallback      string
	DailyLimitUSD float64
	Home          string // of a login: the CLI's directory, from the data directory
	Key           []byte // of a key: sealed
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// AccountChange is a decision about an account, with its entry in the audit log.
type AccountChange struct {
	Name   string
	Who    string // an operator, a plugin, the daemon
	Action string // what the audit log calls it, such as account.add
	// Edit changes the row, which all has as it was; known says whether it was there. The
	// detail goes into the audit log and must not have a key. With its error nothing is
	// changed. It may be called more than once.
	Edit func(row *Account, known bool, all []Account) (detail string, err error)
}

var accountName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)

// CheckAccountName refuses (CodeInvalid) what cannot be the name of an account.
func CheckAccountName(name string) error {
	if accountName.MatchString(name) {
		return nil
	}
	return pluginsdk.Errorf(pluginsdk.CodeInvalid, "account: %.100q is not accepted. An account name has 1 to 40 characters: a to z, 0 to 9 and -, and does not begin with -", name)
}

// reservedAccounts are words that stand for something else where people name an account.
var reservedAccounts = map[string]string{
	"default":  "means the default account",
	"none":     "means no account",
	"fallback": "means the fallback of an account",
}

// CheckNewAccountName is CheckAccountName of an account that is to be made, whose name must not
// mean something else already.
func CheckNewAccountName(name string) error {
	if means, reserved := reservedAccounts[name]; reserved {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "account: %q cannot be the name of an account, since the word %s; take another name", name, means)
	}
	return CheckAccountName(name)
}

// PlanState is what is kept of a window of a plan: as it was last seen, what people were told
// of it, and where its pace begins. FullAt is not kept.
type PlanState struct {
	pluginsdk.PlanWindow

	Warned    int // per cent
	FirstUsed float64
	FirstSeen time.Time
}

// CoreAccounts is the plugin in whose name the core itself reserves money.
const CoreAccounts = "core"

// PlanAsk is a turn of the agent that asks whether the plan of its account lets it through.
type PlanAsk struct {
	Account string // by its name, also the default one
	Model   string
	// People says that people wait for it. What plugins start stops at a share of a window.
	People bool
	// Last is how the run was parked last; nil: it was not.
	Last *pluginsdk.Parked
}

// ForPeople reports whether people wait for a run: it is in the queue of a thread that is
// theirs. That goes for what a plugin has put into that queue as well, since what people write
// waits behind it. What a person writes into the thread of a task or of a scheduled job does not
// count as theirs: a run does not say who has written its message.
func ForPeople(r pluginsdk.Run, thread pluginsdk.Thread, fence Fence) bool {
	return !fence.Beside() && thread.Kind != pluginsdk.ThreadTask && thread.Kind != pluginsdk.ThreadCron
}

// ParkedCount says how many runs are parked for the same.
type ParkedCount struct {
	Plugin, Budget string    // as in Parked; both empty: they wait for a plan
	Runs           int       // that are parked
	Behind         int       // messages that wait behind those in the queues of their threads
	Until          time.Time // when the last of them goes on at the latest; zero: of one or more nobody knows
}

// AtGate is a run that waits for the gate of a plugin.
type AtGate struct {
	RunID, Plugin string
	Due           time.Time // when it is tried again
}

// FallbackAccount is the core's account in which is set aside what a key costs in a day, as
// 2006-01-02, in the place of another account.
func FallbackAccount(name, day string) string { return "key:" + name + ":" + day }

// AccountSecret says what the key of an account is sealed as. No plugin has such a name.
func AccountSecret(account string) (owner, name string) { return "account:" + account, "key" }

// AccountOfSecret returns whose key was sealed for an owner, if that is an account.
func AccountOfSecret(owner string) (account string, ok bool) {
	return strings.CutPrefix(owner, "account:")
}

// The keys of rows that tell people alone begin so: what the plans let through is no matter of
// the agent's.
const (
	ParkedKey = "parked:"
	PlanKey   = "plan:"
	HeldKey   = "held:" // that a run waits for a plugin
)

// ForPeopleAlone reports whether the agent is not told of a row.
func ForPeopleAlone(row pluginsdk.Message) bool {
	ours := func(key string) bool { return strings.HasPrefix(row.Key, key) }
	return row.Plugin == "" && row.Role == pluginsdk.RoleSystem && (ours(ParkedKey) || ours(PlanKey) || ours(HeldKey))
}

const (
	// The least of a window that has to be watched before its pace says something.
	leastWatch = 10 * time.Minute
	leastUse   = 0.02
	// farthest is how far ahead a window is projected.
	farthest = 365 * 24 * time.Hour
)

// Projected returns when the window is used up at the pace between its first sight and its last
// one. The zero time: not before it resets, or it is used up already, or less than leastWatch or
// leastUse was seen of it.
func (s PlanState) Projected(now time.Time) time.Time {
	used, span := s.Used-s.FirstUsed, s.SeenAt.Sub(s.FirstSeen)
	if used < leastUse || span < leastWatch || s.Used >= 1 || s.Status == pluginsdk.PlanRejected {
		return time.Time{}
	}
	left := (1 - s.Used) / used * float64(span)
	if left > float64(farthest) {
		return time.Time{}
	}
	full := s.SeenAt.Add(time.Duration(left)).Round(time.Second)
	if full.Before(now) || !s.ResetsAt.IsZero() && !full.Before(s.ResetsAt) {
		return time.Time{}
	}
	return full
}
