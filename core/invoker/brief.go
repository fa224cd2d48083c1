package invoker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/core/invoker/cli"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// brief is what a process of the CLI is told when it starts, from files that people and the
// agent can edit at any time. A process that was told something else than the next turn
// would be told is ended, and the session goes on in a new one: what is edited is in force
// with the next turn.
//
// Measured with 2.1.330, for a conversation of 50,000 tokens at the prices of Sonnet 4.6. The
// API's cache has a request's tools, then its system prompt, whose last part is the manual,
// then the conversation: from an edit on, the conversation is written to the cache anew, once,
// which costs about 0.17 USD. To tell the session by a message what has changed would cost less
// than 0.01 USD, but the old text would stay in its system prompt and contradict the new one, and it
// would have to be known over restarts what each session was told. A new session with the
// thread's history costs less, and has lost what the agent has read and done.
type brief struct {
	prompt   []byte // appended to the CLI's system prompt
	settings json.RawMessage
	environ  []string
	cut      error // why the prompt lacks something that the working directory has to tell
}

// stamp changes when something of it does, and tells nothing of it.
func (b brief) stamp() string {
	sum := sha256.New()
	for _, part := range [][]byte{b.prompt, b.settings, []byte(strings.Join(b.environ, "\x00"))} {
		one := sha256.Sum256(part)
		sum.Write(one[:])
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// prepare fills in what a process for the turn would be told now, and which binary it would
// run. A binary that is not there, since it is being upgraded, leaves the warm process as it
// is.
func (c *Claude) prepare(w *want) *pluginsdk.Failure {
	environ, settings, err := c.config.environment(w.apart, w.account)
	if err != nil {
		failure := otherFailure(err)
		failure.Retryable = true // perhaps the file is just being written
		return failure
	}
	if w.fresh { // a plugin asks, and quotes what others have written, such as a diff
		environ = append(environ, withoutMentions)
	}
	if c.config.Guard != nil {
		// 2.1.197 runs git status as soon as it begins, before people can be asked (beginIn).
		if _, runs := c.config.Guard.Repository(w.cwd); runs != "" {
			environ = append(environ, withoutGit)
		}
	}
	w.brief = brief{settings: settings, environ: append(environ, cli.Search(c.config.searches()))}
	w.brief.prompt, w.brief.cut = c.prompt(*w)
	w.stamp, w.binary = w.brief.stamp(), cli.Binary{}
	if path, err := c.config.lookPath(); err == nil {
		w.binary, _ = cli.Find(path)
	}
	return nil
}

// searches reports whether the plugins have so many tools that sessions find them by a search.
func (c Config) searches() bool { return c.Tools != nil && c.Tools.Count() > c.ToolsAtOnce }

// prompt returns what is appended to the CLI's system prompt: the manual of the working
// directory, then, since it is more specific, where files for people go and what the
// request adds.
func (c *Claude) prompt(w want) ([]byte, error) {
	manual, err := readManual(w.cwd, maxImports)
	if ledger.Apart(w.cwd) {
		var apart string
		apart, err = c.config.manualApart(w.cwd)
		manual = apart + manual
	}
	return []byte(manual + outboxManual(w.outbox) + w.appendPrompt), err
}

// features returns what a binary can do. A binary that does not say is taken for one that can
// do nothing more than the oldest. One that does not answer in time may be busy: the turn is
// tried again.
func (c *Claude) features(b cli.Binary, path string, environ []string) (cli.Features, *pluginsdk.Failure) {
	found, err := c.config.Catalog.Features(context.Background(), b, path, environ)
	if errors.Is(err, context.DeadlineExceeded) {
		return found, &pluginsdk.Failure{
			Kind: pluginsdk.FailureSilent, Retryable: true, Message: "the Claude CLI does not say in time what it can do: " + err.Error(),
		}
	}
	if err != nil {
		c.config.Log.Warn("what the Claude CLI can do cannot be found out", "path", path, "err", err)
	}
	return found, nil
}

// meant returns the rules that a process is given. Source says where each comes from.
func (c Config) meant(o options, settings json.RawMessage) (rules []pluginsdk.AgentRule) {
	const thread = "the thread, or what asked for the turn"
	add := func(behavior pluginsdk.RuleBehavior, rule, source string) {
		one := pluginsdk.AgentRule{Behavior: behavior, Rule: rule, Source: source}
		if !slices.Contains(rules, one) {
			rules = append(rules, one)
		}
	}
	for _, rule := range o.rules() {
		switch {
		case slices.Contains(c.AllowedTools, rule):
			add(pluginsdk.RuleAllow, rule, "HARNESS_ALLOWED_TOOLS")
		case rule == toolRule && c.Tools != nil:
			add(pluginsdk.RuleAllow, rule, "the plugins' tools")
		default:
			add(pluginsdk.RuleAllow, rule, thread)
		}
	}
	var own struct {
		Permissions struct {
			Ask  []string `json:"ask"`
			Deny []string `json:"deny"`
		} `json:"permissions"`
	}
	_ = json.Unmarshal(settings, &own) // we have written it; rules that are no texts the CLI leaves out, too
	for _, rule := range own.Permissions.Ask {
		add(pluginsdk.RuleAsk, rule, "Harness")
	}
	for _, rule := range lines(o.disallowed) {
		switch {
		case slices.Contains(c.DisallowedTools, rule):
			add(pluginsdk.RuleDeny, rule, "HARNESS_DISALLOWED_TOOLS")
		case slices.Contains(replaced, rule), o.apart && slices.Contains(c.apartRules(), rule):
			add(pluginsdk.RuleDeny, rule, "Harness")
		default:
			add(pluginsdk.RuleDeny, rule, thread)
		}
	}
	for _, rule := range own.Permissions.Deny {
		add(pluginsdk.RuleDeny, rule, "the settings of the CLI")
	}
	return rules
}
