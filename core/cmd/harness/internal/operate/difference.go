package operate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/seed-706843ae/harness/core/registry"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// part is something that a manifest declares: what it is called, and what it is.
type part struct{ name, content string }

// difference says, a line a kind, what a manifest declares and wants other than
// the one before it: + is new, - is gone, ~ has the same name and is another. What
// a tool is described as is what the agent goes by, so that counts.
func difference(was, is pluginsdk.Manifest) []string {
	var lines []string
	note := func(what string, before, after []part) {
		if changes := changed(before, after); changes != "" {
			lines = append(lines, what+": "+changes)
		}
	}
	if was.Version != is.Version {
		line := fmt.Sprintf("version: %s, was %s", plain(is.Version, shortText), cmp.Or(plain(was.Version, shortText), "-"))
		if before, now := "v"+was.Version, "v"+is.Version; semver.IsValid(before) && semver.IsValid(now) && semver.Compare(now, before) < 0 {
			line += ": it is an older one"
		}
		lines = append(lines, line)
	}
	hooks := func(m pluginsdk.Manifest) []part {
		return parts(m.Hooks, func(h pluginsdk.Hook) part { return part{string(h), string(m.OnFailure[h]) + list(m.Needs[h])} })
	}
	note("hooks", hooks(was), hooks(is))
	note("sources", parts(was.Sources, namePart), parts(is.Sources, namePart))
	note("events", parts(was.Events, namePart), parts(is.Events, namePart))
	note("event rules", parts(was.EventRules, rulePart), parts(is.EventRules, rulePart))
	note("commands", parts(was.Commands, commandPart), parts(is.Commands, commandPart))
	note("tools", parts(was.Tools, toolPart), parts(is.Tools, toolPart))
	note("wants", parts(was.Requests(), capabilityPart), parts(is.Requests(), capabilityPart))
	note("environment", parts(was.Environment, variablePart), parts(is.Environment, variablePart))
	if was.PromptPrefix != is.PromptPrefix {
		lines = append(lines, fmt.Sprintf("prompt prefix: %t, was %t", is.PromptPrefix, was.PromptPrefix))
	}
	if was.Exclusive != is.Exclusive {
		lines = append(lines, fmt.Sprintf("exclusive: %t, was %t", is.Exclusive, was.Exclusive))
	}
	if compact(was.SettingsSchema) != compact(is.SettingsSchema) {
		lines = append(lines, "settings: the schema is another")
	}
	return lines
}

func changed(before, after []part) string {
	var added, other, gone []string
	had := make(map[string]string, len(before))
	for _, one := range before {
		had[one.name] = one.content
	}
	for _, one := range after {
		content, ok := had[one.name]
		delete(had, one.name)
		switch {
		case !ok:
			added = append(added, "+"+plain(one.name, shortText))
		case content != one.content:
			other = append(other, "~"+plain(one.name, shortText))
		}
	}
	for _, one := range before {
		if _, ok := had[one.name]; ok {
			gone = append(gone, "-"+plain(one.name, shortText))
		}
	}
	return strings.Join(append(append(added, other...), gone...), " ")
}

func parts[T any](all []T, of func(T) part) []part {
	out := make([]part, len(all))
	for n, one := range all {
		out[n] = of(one)
	}
	return out
}

func namePart(name string) part { return part{name: name} }

func rulePart(r pluginsdk.EventRule) part { return part{name: ruleWords(r)} }

// ruleWords is a rule of events in words.
func ruleWords(r pluginsdk.EventRule) string {
	words := []string{"all types"}
	if len(r.Types) > 0 {
		words = []string{list(r.Types)}
	}
	if len(r.Threads) > 0 {
		words = append(words, "of the threads "+list(r.Threads))
	}
	if len(r.ThreadKinds) > 0 {
		words = append(words, "of threads of the kind "+list(r.ThreadKinds))
	}
	if r.Own {
		words = append(words, "of threads of its own sources")
	}
	if len(r.RunKinds) > 0 {
		words = append(words, "about runs of the kind "+list(r.RunKinds))
	}
	return strings.Join(words, " ")
}

func commandPart(c pluginsdk.CommandSpec) part {
	return part{"/" + c.Name, c.Usage + "\x00" + c.Description + "\x00" + string(c.Scope) + "\x00" + strconv.FormatBool(c.Beside)}
}

func toolPart(t pluginsdk.ToolSpec) part {
	return part{t.Name, t.Description + "\x00" + compact(t.InputSchema)}
}

func capabilityPart(c pluginsdk.CapabilityRequest) part {
	return part{string(c.Capability), c.Reason}
}

func variablePart(e pluginsdk.EnvironmentRequest) part { return part{e.Name, e.Reason} }

// compact is JSON without the white space that a file may have and a database
// does not keep.
func compact(raw json.RawMessage) string {
	var out bytes.Buffer
	if json.Compact(&out, raw) != nil {
		return string(raw)
	}
	return out.String()
}

// showDifference prints what changes between two versions, and warns of one that
// somebody else answers for, of rights that it uses without being asked, and of work that it
// would hold up.
func (o *Operator) showDifference(plan *registry.Plan) {
	was, is := plan.Was, plan.Next
	if lines := difference(was.Manifest, is.Manifest); len(lines) == 0 {
		o.say("The manifest is the same.")
	} else {
		o.say("What changes (+ new, - gone, ~ another):")
		for _, line := range lines {
			o.say("  %s", line)
		}
	}
	if was.Origin == pluginsdk.OriginStore && was.Publisher != is.Publisher {
		o.say("! publisher: %s, was %s", signedBy(is.Publisher), signedBy(was.Publisher))
	}
	if resumes := plan.Resumes(); !resumes.None() {
		o.say("! What it was granted before and uses again from this version on: %s. To take that back: `%s`", resumes, registry.RevokeCommand(was.Name, resumes))
	}
	o.holdsUp(is)
}

func signedBy(publisher string) string {
	if publisher == "" {
		return "none (not signed by a trusted key)"
	}
	return publisher
}
