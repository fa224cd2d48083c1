package conform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// check is one thing that is expected of a plugin.
type check struct {
	name, title string
	run         func(*exam, context.Context) error
	// always is set where no process has to be usable.
	always bool
}

// checks are all of them, in the order in which they are made: a later one
// relies on what an earlier one has shown.
func checks() []check {
	return []check{
		{"handshake", "the first line on stdout is the handshake", (*exam).checkHandshake, true},
		{"cookie", "started by hand, it says what it is and ends", (*exam).checkCookie, true},
		{"describe", "the manifest is valid and always the same", (*exam).checkDescribe, false},
		{"plugin-json", "plugin.json beside the binary says the same", (*exam).checkPluginJSON, false},
		{"lifecycle", "it starts, activates, deactivates, activates again", (*exam).checkLifecycle, false},
		{"health", "the health service says SERVING", (*exam).checkHealth, false},
		{"hooks", "every declared hook answers in time", (*exam).checkHooks, false},
		{"undeclared", "hooks that are not declared answer UNIMPLEMENTED", (*exam).checkUndeclared, false},
		{"commands", "every declared command is answered", (*exam).checkCommands, false},
		{"tools", "every declared tool is answered", (*exam).checkTools, false},
		{"effects", "what hooks do to their run can be stored, and a repeated call does the same", (*exam).checkEffects, false},
		{"surroundings", "OnCheck says what it looked at, in a state that is known", (*exam).checkSurroundings, false},
		{"large", "texts of 1 MiB are answered", (*exam).checkLarge, false},
		{"parallel", "32 calls at once are answered", (*exam).checkParallel, false},
		{"cancel", "deadlines and cancelled calls are honoured", (*exam).checkCancel, false},
		{"settings", "settings that are rubbish do no harm", (*exam).checkSettings, false},
		{"memory", "memory does not grow with the calls", (*exam).checkMemory, false},
		{"shutdown", "asked to end, it ends by itself", (*exam).checkShutdown, false},
		{"drain", "it ends in time with calls under way", (*exam).checkDrain, false},
		{"children", "no process of it is left", (*exam).checkChildren, false},
		{"sockets", "no socket of it is left", (*exam).checkSockets, false},
		{"host-death", "it dies with its host", (*exam).checkHostDeath, false},
		{"capabilities", "it asks the host only for what it declares", (*exam).checkCapabilities, false},
	}
}

// Checks returns the names of all checks, in their order.
func Checks() []string {
	names := make([]string, 0, len(checks()))
	for _, check := range checks() {
		names = append(names, check.name)
	}
	return names
}

// selected are the checks that were asked for, with those that show whether
// the plugin can be used at all.
func (x *exam) selected() []check {
	if len(x.cfg.Only) == 0 {
		return checks()
	}
	needed := append([]string{"handshake", "describe", "lifecycle"}, x.cfg.Only...)
	if slices.Contains(x.cfg.Only, "capabilities") {
		needed = append(needed, "hooks", "commands", "tools")
	}
	if slices.ContainsFunc(x.cfg.Only, func(name string) bool { return slices.Contains([]string{"drain", "children", "sockets"}, name) }) {
		needed = append(needed, "shutdown")
	}
	return slices.DeleteFunc(checks(), func(c check) bool { return !slices.Contains(needed, c.name) })
}

// perform makes one check.
func (x *exam) perform(ctx context.Context, c check) Result {
	x.notes = nil
	began := time.Now()
	result := Result{Name: c.name, Title: c.title, Status: Pass}
	err := error(skipped(x.blocked))
	if c.always || x.blocked == "" {
		err = c.run(x, ctx)
	}
	result.Duration = time.Since(began)
	var (
		reason  skipped
		failure fault
	)
	switch {
	case err == nil:
		result.Detail = strings.Join(x.notes, "\n")
	case errors.As(err, &reason):
		result.Status, result.Detail = Skip, string(reason)
	case errors.As(err, &failure):
		result.Status, result.Detail, result.Advice = Fail, err.Error(), failure.advice
	default:
		result.Status, result.Detail = Fail, err.Error()
	}
	return result
}

// block makes the checks that follow be skipped.
func (x *exam) block(check, what string) {
	if x.blocked == "" {
		x.blocked = fmt.Sprintf("%s (see the check %s)", what, check)
	}
}
