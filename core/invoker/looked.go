package invoker

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// The CLI runs commands by itself that it takes for harmless, and what a rule allows. So each
// session has a hook (PreToolUse), which no file defines: the CLI asks it about a call through
// the same pipe, before the call runs. Where the Guard objects, the hook says "ask": then the
// CLI asks as it asks about what no rule allows. Else the CLI decides as always. Verified with
// 2.1.197 and 2.1.331: the hook works although settings switch all hooks off, is asked about
// the calls of rules that allow, and its "ask" wins over them.

// Guard says which calls need a person, whatever the CLI or a rule decides.
type Guard interface {
	// Tools are the names of the tools whose calls are to be looked at under these rules.
	Tools(rules []string) []string
	// Objection says in a sentence why a person is to be asked; empty: nothing speaks against
	// the call.
	Objection(call ledger.AgentCall) string
	// Repository says in a sentence what the git configuration around a directory has git run;
	// empty: nothing. The stamp changes when the configuration does.
	Repository(directory string) (stamp, runs string)
}

// hookTimeout is how long the CLI waits for the hook, in seconds: as long as a turn may take.
const hookTimeout = 24 * 60 * 60

type outInitialize struct {
	Subtype string               `json:"subtype"`
	Hooks   map[string][]outHook `json:"hooks"`
}

type outHook struct {
	Matcher string   `json:"matcher"`
	IDs     []string `json:"hookCallbackIds"`
	Timeout int      `json:"timeout"`
	// OnFailure has a call blocked that the hook does not answer. 2.1.197 does not know it.
	OnFailure string `json:"onFailure"`
}

const askInitialize = "initialize"

// question is the body of a control request.
func (s *session) question(subtype string) any {
	if subtype != askInitialize {
		return outSubtype{Subtype: subtype}
	}
	return outInitialize{Subtype: subtype, Hooks: map[string][]outHook{"PreToolUse": {{
		Matcher: strings.Join(s.guard.Tools(s.rules()), "|"), IDs: []string{"guard"}, Timeout: hookTimeout, OnFailure: "block",
	}}}}
}

// beginGuard has a process that begins ask the hook, and returns why the session gets no
// prompt; nil: it gets one.
func (t *turn) beginGuard(ctx context.Context, in *turnLines) *pluginsdk.Failure {
	s := t.session
	if s.guard == nil || s.guarded {
		return nil
	}
	answers, ok := s.inquire(ctx, in, nil, askInitialize)
	if s.guarded = ok && answers[askInitialize].Response != nil; s.guarded || ctx.Err() != nil || !s.alive() {
		return nil // the turn notices the end of its process by itself
	}
	return t.distrust([]string{"its calls of tools cannot be looked at before they run"})
}

// looked is what the CLI tells the hook.
type looked struct {
	Tool       string          `json:"tool_name"`
	Input      json.RawMessage `json:"tool_input"`
	Transcript string          `json:"transcript_path"`
}

// look answers the hook.
func (s *session) look(request controlRequest) {
	var call looked
	why := ""
	if json.Unmarshal(request.Request.Input, &call) != nil {
		why = "The call cannot be read."
	} else {
		s.results.Store(strings.TrimSuffix(call.Transcript, ".jsonl") + "/tool-results")
		why = s.objection(call.Tool, call.Input)
	}
	s.process.send(responseLine(outAnswered{Subtype: "success", RequestID: request.RequestID, Response: hookAnswer(why)}))
}

// objection returns the Guard's objection to a call. The agent may read what people have sent,
// what it is about to send, and the CLI's own notes of long outputs.
func (s *session) objection(tool string, input json.RawMessage) string {
	if s.guard == nil {
		return ""
	}
	readable := lines(s.desk)
	if results, _ := s.results.Load().(string); results != "" {
		readable = append(readable, results)
	}
	return s.guard.Objection(ledger.AgentCall{Tool: tool, Input: input, Cwd: s.cwd, Readable: readable, Rules: s.rules()})
}

// hookAnswer is the answer of the hook; without an objection it is empty, and the CLI decides.
func hookAnswer(why string) any {
	type specific struct {
		Event    string `json:"hookEventName"`
		Decision string `json:"permissionDecision"`
		Reason   string `json:"permissionDecisionReason"`
	}
	if why == "" {
		return struct{}{}
	}
	return struct {
		Specific specific `json:"hookSpecificOutput"`
	}{specific{"PreToolUse", "ask", why}}
}

// repositoryTool is the name under which people are asked about a git configuration. It is no
// tool of the CLI's.
const repositoryTool = "GitConfiguration"

// repositories remembers which git configurations people have accepted, for as long as the
// daemon runs.
type repositories struct {
	mu       sync.Mutex
	accepted map[string]bool
}

func (r *repositories) has(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.accepted[key]
}

func (r *repositories) accept(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.accepted == nil {
		r.accepted = make(map[string]bool)
	}
	r.accepted[key] = true
}

// beginIn asks people about the git configuration around the working directory, when it runs
// programs and they have not accepted it in this thread. The failure says why the turn does
// not begin; nil: it does.
func (t *turn) beginIn(ctx context.Context) *pluginsdk.Failure {
	s := t.session
	if s.guard == nil {
		return nil
	}
	stamp, runs := s.guard.Repository(s.cwd)
	key := strings.Join([]string{s.threadID, s.cwd, stamp, runs}, "\x00")
	if runs == "" || s.repositories.has(key) {
		return nil
	}
	input, err := json.Marshal(map[string]string{"directory": s.cwd, "runs": runs})
	if err != nil {
		return otherFailure(err)
	}
	if allowedBy(s.rules(), repositoryTool, input) {
		return nil
	}
	answer := ledger.ToolAnswer{Words: "Nobody can be asked about that here."}
	if t.asking.ask != nil {
		t.waiting(true)
		answer = t.asking.ask(ctx, ledger.ToolAsk{Tool: repositoryTool, Input: input, Cwd: s.cwd, Reason: runs, About: "work in a directory whose git configuration runs programs"})
		t.waiting(false)
	}
	switch {
	case answer.Allow:
		s.repositories.accept(key)
		return nil
	case answer.Park:
		return parkedFailure()
	case ctx.Err() != nil:
		return stopped(ctx)
	}
	return &pluginsdk.Failure{Kind: pluginsdk.FailureOther, Message: "The turn did not begin. " + runs + " " + answer.Words +
		" Take these entries out of the configuration, answer the question, or allow " + repositoryTool + " by a rule in HARNESS_ALLOWED_TOOLS."}
}

// gitGuards are settings of git that hold in every session, whatever a repository says: no
// program watches its files, none is fetched from by ext::, a directory that only looks like a
// bare repository is none, no signature is checked unasked, and a command that shows something
// leaves the index as it is, so that no hook runs (`git diff` would write it without regard to
// GIT_OPTIONAL_LOCKS, and run post-index-change).
var gitGuards = []string{"core.fsmonitor", "false", "protocol.ext.allow", "never", "safe.bareRepository", "explicit", "log.showSignature", "false", "core.pager", "cat",
	"diff.autoRefreshIndex", "false"}

// withGit adds gitGuards to an environment, behind what the operator has put there.
func withGit(env []string) []string {
	given, _ := strconv.Atoi(lookup(env, "GIT_CONFIG_COUNT")) // not a number: git takes none of them
	for i := 0; i < len(gitGuards); i += 2 {
		n := strconv.Itoa(given + i/2)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+gitGuards[i], "GIT_CONFIG_VALUE_"+n+"="+gitGuards[i+1])
	}
	return append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(given+len(gitGuards)/2), "GIT_OPTIONAL_LOCKS=0")
}
