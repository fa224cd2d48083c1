package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// What a session says of itself. Verified: 2.1.197 answers AskSettings alone, 2.1.330 all
// three, and both before the first prompt, without a call of the API.

// The subtypes of the control requests with which a session is asked what it holds to.
const (
	AskSettings = "get_settings"
	AskRules    = "list_permission_rules"
	AskHooks    = "get_hooks_listing"
)

// Questions are these.
var Questions = []string{AskSettings, AskRules, AskHooks}

// Answer is the answer to a control request. Response is nil when the CLI refused the
// request, as it does those that it does not know.
type Answer struct{ Response json.RawMessage }

// The setting for messages of other processes, and the value that Settings gives it.
const (
	inboundSetting = "crossSessionInbound"
	inboundRefused = "refuse"
)

// Sources of settings, rules and hooks, as the CLI names them.
const (
	fromArguments = "cliArg"         // --allowedTools, --disallowedTools
	fromSettings  = "flagSettings"   // --settings
	fromMachine   = "policySettings" // the machine's administrator
)

// ours are the sources that Harness writes.
var ours = []string{fromArguments, fromSettings}

// Said is what a session says that it holds to.
type Said struct {
	settings *settingsSaid
	rules    *rulesSaid
	hooks    *hooksSaid
}

type settingsSaid struct {
	Effective map[string]json.RawMessage `json:"effective"`
	Sources   []struct {
		Source string `json:"source"`
	} `json:"sources"`
}

type rulesSaid struct {
	State struct {
		Rules []struct {
			Behavior string `json:"behavior"`
			Source   string `json:"source"`
			Rule     string `json:"rule"`
		} `json:"rules"`
	} `json:"state"`
}

type hooksSaid struct {
	Hooks []struct {
		Event    string `json:"event"`
		Source   string `json:"source"`
		Command  string `json:"commandText"`
		Shown    string `json:"displayText"`
		Disabled bool   `json:"disabled"`
	} `json:"hooks"`
}

// Read returns what a session has said, from its answers to the Questions.
func Read(answers map[string]Answer) Said {
	return Said{
		settings: parse[settingsSaid](answers[AskSettings]),
		rules:    parse[rulesSaid](answers[AskRules]),
		hooks:    parse[hooksSaid](answers[AskHooks]),
	}
}

func parse[T any](answer Answer) *T {
	var said T
	if len(answer.Response) == 0 || json.Unmarshal(answer.Response, &said) != nil {
		return nil
	}
	return &said
}

// Known reports whether the CLI can say which rules and hooks there are.
func (s Said) Known() bool { return s.rules != nil && s.hooks != nil }

// Rules returns the rules that the session holds.
func (s Said) Rules() (rules []pluginsdk.AgentRule) {
	if s.rules == nil {
		return nil
	}
	for _, rule := range s.rules.State.Rules {
		rules = append(rules, pluginsdk.AgentRule{Behavior: pluginsdk.RuleBehavior(rule.Behavior), Rule: rule.Rule, Source: rule.Source})
	}
	return rules
}

// Hooks returns the hooks that run in the session.
func (s Said) Hooks() (hooks []pluginsdk.AgentHook) {
	if s.hooks == nil {
		return nil
	}
	for _, hook := range s.hooks.Hooks {
		if hook.Disabled {
			continue
		}
		command := hook.Command
		if command == "" {
			command = hook.Shown
		}
		hooks = append(hooks, pluginsdk.AgentHook{Event: hook.Event, Command: command, Source: hook.Source})
	}
	return hooks
}

// Broken returns which promises of trust the session does not keep, in words; none: it keeps
// all that it can tell of. meant are the rules that it was given.
func (s Said) Broken(meant []pluginsdk.AgentRule) (broken []string) {
	if s.settings != nil {
		if value := string(s.settings.Effective[inboundSetting]); value != `"`+inboundRefused+`"` {
			broken = append(broken, fmt.Sprintf("other processes may speak into the session (its setting %s is %s; it should be %q)", inboundSetting, orNothing(value), inboundRefused))
		}
		for _, one := range s.settings.Sources {
			if one.Source != fromSettings && one.Source != fromMachine {
				broken = append(broken, "it reads settings that Harness does not give it ("+one.Source+")")
			}
		}
	}
	for _, rule := range s.Rules() {
		if rule.Behavior == pluginsdk.RuleAllow && !slices.Contains(ours, rule.Source) && rule.Source != fromMachine {
			broken = append(broken, fmt.Sprintf("%s allows %s, which Harness did not", rule.Source, rule.Rule))
		}
	}
	for _, hook := range s.Hooks() {
		if hook.Source != fromMachine {
			broken = append(broken, fmt.Sprintf("a hook of %s runs at %s: %.200s", hook.Source, hook.Event, hook.Command))
		}
	}
	if s.rules != nil {
		for _, rule := range s.forgotten(meant) {
			broken = append(broken, fmt.Sprintf("the rule that %s %s does not hold", verbs[rule.Behavior], rule.Rule))
		}
	}
	return broken
}

// verbs say what a rule of a behavior does.
var verbs = map[pluginsdk.RuleBehavior]string{
	pluginsdk.RuleAllow: "allows", pluginsdk.RuleAsk: "asks about", pluginsdk.RuleDeny: "denies",
}

func orNothing(value string) string {
	if value == "" {
		return "not set"
	}
	return value
}

// forgotten returns the rules that take something away, and that the session was given and
// does not have. A CLI may know a rule by another name than normal knows: as many rules as
// it has beyond those that it was given, of the same behavior, are taken for such.
func (s Said) forgotten(meant []pluginsdk.AgentRule) (forgotten []pluginsdk.AgentRule) {
	for _, behavior := range []pluginsdk.RuleBehavior{pluginsdk.RuleAsk, pluginsdk.RuleDeny} {
		given := named(meant, behavior, func(pluginsdk.AgentRule) bool { return true })
		has := named(s.Rules(), behavior, func(rule pluginsdk.AgentRule) bool { return slices.Contains(ours, rule.Source) })
		missing := without(given, has)
		renamed := len(without(has, given))
		for _, rule := range missing[min(renamed, len(missing)):] {
			forgotten = append(forgotten, pluginsdk.AgentRule{Behavior: behavior, Rule: rule})
		}
	}
	return forgotten
}

// named returns the rules of a behavior that are chosen, each once, as normal has them.
func named(rules []pluginsdk.AgentRule, behavior pluginsdk.RuleBehavior, chosen func(pluginsdk.AgentRule) bool) (names []string) {
	for _, rule := range rules {
		if name := normal(rule.Rule); rule.Behavior == behavior && chosen(rule) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func without(names, others []string) (left []string) {
	for _, name := range names {
		if !slices.Contains(others, name) {
			left = append(left, name)
		}
	}
	return left
}

// Differences returns in what the session's rules and hooks are not those that were meant, in
// words: what breaks a promise, what else was not meant, and what was meant and is not there.
// What the machine's managed settings say holds in any case, and is no difference.
func (s Said) Differences(meant []pluginsdk.AgentRule) []string {
	differences := s.Broken(meant)
	allowed := named(meant, pluginsdk.RuleAllow, func(pluginsdk.AgentRule) bool { return true })
	for _, rule := range s.Rules() {
		if rule.Behavior == pluginsdk.RuleAllow && slices.Contains(ours, rule.Source) && !slices.Contains(allowed, normal(rule.Rule)) {
			differences = append(differences, fmt.Sprintf("it allows %s, which Harness did not", rule.Rule))
		}
	}
	if s.rules != nil {
		has := named(s.Rules(), pluginsdk.RuleAllow, func(pluginsdk.AgentRule) bool { return true })
		for _, rule := range without(allowed, has) {
			differences = append(differences, fmt.Sprintf("it does not know the rule that allows %s: Harness allows those calls when they are asked about", rule))
		}
	}
	return differences
}

// aliases are names of tools in rules that a CLI says by another name. Verified with 2.1.330.
var aliases = map[string]string{"Task": "Agent", "KillShell": "TaskStop", "KillBash": "TaskStop"}

// normal returns a rule as the CLI says it: a tool by its present name, and parentheses in
// the specifier without the backslashes that 2.1.330 puts before them.
func normal(rule string) string {
	name, specifier, specific := strings.Cut(rule, "(")
	if to, ok := aliases[name]; ok {
		name = to
	}
	if !specific {
		return name
	}
	return name + "(" + strings.NewReplacer(`\(`, "(", `\)`, ")").Replace(specifier)
}

// Begun is what a CLI says when a turn begins (system/init), as far as trust depends on it.
type Begun struct {
	Memory  map[string]any `json:"memory_paths"`
	Mode    string         `json:"permissionMode"`
	Plugins []struct {
		Name string `json:"name"`
		Path string `json:"path"`
	} `json:"plugins"`
}

// builtin is the path of plugins that are parts of the CLI.
const builtin = "builtin"

// Broken returns which promises of trust the turn does not keep, in words.
func (b Begun) Broken() (broken []string) {
	for _, kind := range slices.Sorted(maps.Keys(b.Memory)) {
		if path := b.Memory[kind]; path != "" && path != nil {
			broken = append(broken, fmt.Sprintf("it keeps a memory of its own (%s: %v)", kind, path))
		}
	}
	if b.Mode == "bypassPermissions" {
		broken = append(broken, "it skips all permissions")
	}
	for _, plugin := range b.Plugins {
		if plugin.Path != builtin {
			broken = append(broken, fmt.Sprintf("it has loaded the plugin %s of the CLI (%s)", plugin.Name, plugin.Path))
		}
	}
	return broken
}
