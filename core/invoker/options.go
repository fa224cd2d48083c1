package invoker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/invoker/cli"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// options are set when a process starts, and cannot change later: a warm process is used
// again only for a request with equal options.
type options struct {
	model          string
	effort         string
	permissionMode string
	cwd            string
	apart          bool   // see apart.go
	accountStamp   string // of want.account
	stamp          string // of want.brief
	binary         cli.Binary
	allowed        string // rules, one a line
	disallowed     string // rules, one a line
	appendPrompt   string
	outbox         string // where the agent leaves files that go with its reply; empty: nowhere
	desk           string // directories of files that come and go with messages, one a line
	schema         string
	fresh          bool    // the CLI keeps no transcript of the session
	boundUSD       float64 // the CLI's own cost cap, over the process's life; 0: none
}

// slack times the cost cap is the CLI's own cap of a fresh session. The CLI's cap catches
// what the stream does not show, such as most of the output of sub-agents. At the cap
// itself it would lose answers: the CLI fails a turn whose last call reaches its cap. A
// session that continues has no such cap, for the CLI counts over the process's life.
const slack = 2

// want is a request with the configuration's defaults filled in.
type want struct {
	options
	account  Account
	brief    brief
	key      string // finds the warm process for the request; empty: none
	runID    string
	threadID string
	session  string // the session id to use; empty: a new one
	resume   bool
	capUSD   float64
	topUp    func(ctx context.Context) (capUSD float64) // ledger.AgentRequest.TopUp
	limit    time.Duration
}

// settle fills in the defaults. The failure says what is wrong with the request.
func (c Config) settle(request ledger.AgentRequest) (want, *pluginsdk.Failure) {
	if failure := checkSession(request); failure != nil {
		return want{}, failure
	}
	account, failure := c.accountOf(request.Account)
	if failure != nil {
		return want{}, failure
	}
	w, err := c.fill(request)
	if err != nil {
		return want{}, otherFailure(err)
	}
	w.account, w.accountStamp = account, account.stamp()
	return w, nil
}

// checkRequest returns what is wrong with a request, for Claude and Demo alike.
func checkRequest(request ledger.AgentRequest) error {
	if request.Fresh && request.Resume {
		return errors.New("a turn in a fresh session cannot resume one")
	}
	if !(request.CostCapUSD >= 0) || math.IsInf(request.CostCapUSD, 0) {
		return fmt.Errorf("the cost cap is %v; want US dollars, 0 (none) or more", request.CostCapUSD)
	}
	if request.Timeout < 0 {
		return fmt.Errorf("the timeout is %s; want 0 (the daemon's) or more", request.Timeout)
	}
	if len(request.JSONSchema) > 0 {
		if _, err := outputSchema(request.JSONSchema); err != nil {
			return err
		}
	}
	return nil
}

// checkSession refuses session ids that the CLI would refuse.
func checkSession(request ledger.AgentRequest) *pluginsdk.Failure {
	if request.SessionID == "" && !request.Resume {
		return nil
	}
	if uuid.Validate(request.SessionID) == nil {
		return nil
	}
	failure := otherFailure(fmt.Errorf("session id %q is not a UUID", request.SessionID))
	if request.Resume {
		failure.Kind = pluginsdk.FailureUnknownSession
	}
	return failure
}

func (c Config) fill(request ledger.AgentRequest) (want, error) {
	if err := checkRequest(request); err != nil {
		return want{}, err
	}
	mode := cmp.Or(request.PermissionMode, c.PermissionMode, "default")
	if err := checkPermissionMode(mode); err != nil {
		return want{}, err
	}
	allowed := append(append([]string{}, c.AllowedTools...), request.AllowedTools...)
	if c.Tools != nil {
		allowed = append(allowed, toolRule)
	}
	if err := checkRules(allowed); err != nil {
		return want{}, fmt.Errorf("allowed tools: %w", err)
	}
	if err := checkRules(request.DisallowedTools); err != nil {
		return want{}, fmt.Errorf("disallowed tools: %w", err)
	}
	allowed = append(allowed, deskRules(request, mode)...)
	cwd := cmp.Or(request.Cwd, c.Workspace)
	apart := request.Apart || ledger.Apart(cwd)
	disallowed := slices.Concat(replacedBut(allowed), c.DisallowedTools, request.DisallowedTools)
	if apart {
		disallowed = append(disallowed, c.apartRules()...)
	}
	w := want{
		options: options{
			model:          cmp.Or(request.Model, c.Model),
			effort:         cmp.Or(request.Effort, c.Effort),
			permissionMode: mode,
			cwd:            cwd,
			apart:          apart,
			allowed:        strings.Join(allowed, "\n"),
			disallowed:     strings.Join(disallowed, "\n"),
			appendPrompt:   request.AppendSystemPrompt,
			outbox:         request.Out,
			desk:           strings.Trim(request.In+"\n"+request.Out, "\n"),
			schema:         forCLI(request.JSONSchema),
			fresh:          request.Fresh,
		},
		runID:    request.RunID,
		threadID: request.ThreadID,
		session:  request.SessionID,
		resume:   request.Resume,
		capUSD:   request.CostCapUSD,
		topUp:    request.TopUp,
		limit:    c.TurnTimeout,
	}
	if request.Timeout > 0 {
		w.limit = min(w.limit, request.Timeout)
	}
	if !filepath.IsAbs(w.cwd) {
		return want{}, fmt.Errorf("working directory %q is not an absolute path", w.cwd)
	}
	if request.Fresh {
		w.boundUSD = slack * request.CostCapUSD
		if request.TopUp != nil {
			w.boundUSD = slack * request.CostMostUSD
		}
	} else {
		w.key = request.ThreadID
	}
	return w, nil
}

func (o options) rules() []string { return lines(o.allowed) }

func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// arguments returns the arguments of a warm session's process. Every value is joined to
// its flag, so that no value can be read as a flag.
func (o options) arguments(session string, resume bool, files privateFiles, features cli.Features) []string {
	args := []string{
		"-p",
		"--input-format=stream-json",
		"--output-format=stream-json",
		"--verbose",
		"--include-partial-messages",
		"--replay-user-messages", // the CLI echoes a message when it begins to work on it
		"--permission-prompt-tool=stdio",
		"--strict-mcp-config",
		"--setting-sources=", // none: see operator.go
		"--permission-mode=" + o.permissionMode,
	}
	optional := func(flag, value string) {
		if value != "" {
			args = append(args, flag+"="+value)
		}
	}
	if resume {
		optional("--resume", session)
	} else {
		optional("--session-id", session)
	}
	optional("--model", o.model)
	optional("--effort", o.effort)
	optional("--json-schema", o.schema)
	for kind, flag := range privateFlags {
		optional(flag, files[kind])
	}
	if features.PromptSnapshot {
		args = append(args, cli.FreshPrompt)
	}
	if o.fresh {
		args = append(args, "--no-session-persistence")
	}
	if o.boundUSD > 0 {
		args = append(args, "--max-budget-usd="+strconv.FormatFloat(o.boundUSD, 'f', -1, 64))
	}
	for _, rule := range o.rules() {
		optional("--allowedTools", rule)
	}
	for _, rule := range lines(o.disallowed) {
		optional("--disallowedTools", rule)
	}
	return args
}
