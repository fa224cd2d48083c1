package conform

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// allowed is the daemon's default deadline of a hook; those that may think for
// ten minutes get one.
func allowed(hook pluginsdk.Hook) time.Duration {
	spec, _ := hook.Spec()
	return min(spec.Class.Limit(), time.Minute)
}

// verdict is what the answer of a hook means.
type verdict struct {
	fault string // why it is no answer; empty: it is one
	error string // the plugin's own error, which is an answer
}

// judge tells an answer, which may be an error of the plugin's own, from none.
func judge(s *session, err error, limit time.Duration) verdict {
	if err == nil {
		return verdict{}
	}
	death := ""
	if pluginsdk.CodeOf(err) == pluginsdk.CodeUnavailable {
		death = s.dead()
	}
	switch code := pluginsdk.CodeOf(err); {
	case death != "":
		return verdict{fault: death}
	case code == pluginsdk.CodeUnimplemented:
		return verdict{fault: "it answers UNIMPLEMENTED"}
	case code == pluginsdk.CodeDeadline || code == pluginsdk.CodeCancelled:
		return verdict{fault: "it did not answer within " + limit.String()}
	case strings.Contains(err.Error(), " panicked: "):
		return verdict{fault: err.Error()}
	}
	return verdict{error: fmt.Sprintf("%v (%s)", err, pluginsdk.CodeOf(err))}
}

// try calls a hook with a text, within the hook's deadline.
func (x *exam) try(ctx context.Context, s *session, hook pluginsdk.Hook, content string) verdict {
	ctx, cancel := context.WithTimeout(ctx, allowed(hook))
	defer cancel()
	_, err := ask(ctx, s, hook, x.sample(content), x.cfg.Settings)
	return judge(s, err, allowed(hook))
}

// tried collects what several calls came to.
type tried struct {
	faults, errors []string
	count          int
}

func (t *tried) add(what string, v verdict) {
	t.count++
	if v.fault != "" {
		t.faults = append(t.faults, what+": "+v.fault)
	}
	if v.error != "" {
		t.errors = append(t.errors, what+" answered with an error: "+v.error)
	}
}

// outcome is the check's error; errors of the plugin's own are noted.
func (t *tried) outcome(x *exam, advice string) error {
	x.notes = append(x.notes, slices.Compact(t.errors)...)
	if len(t.faults) > 0 {
		return faultf(advice, "%s", strings.Join(slices.Compact(t.faults), "\n"))
	}
	return nil
}

func (x *exam) checkHooks(ctx context.Context) error {
	if len(x.manifest.Hooks) == 0 {
		return skipped("the manifest declares no hooks")
	}
	var all tried
	for _, hook := range x.manifest.Hooks {
		if !slices.Contains(pluginsdk.AllHooks(), hook) {
			continue // the check describe says so
		}
		s, err := x.borrow(ctx)
		if err != nil {
			return err
		}
		all.add(string(hook), x.try(ctx, s, hook, "hello"))
	}
	return all.outcome(x, "answer what the manifest declares, within its deadline; look into the plugin's log (-v) for a panic")
}

func (x *exam) checkUndeclared(ctx context.Context) error {
	s, err := x.borrow(ctx)
	if err != nil {
		return err
	}
	var wrong []string
	for _, hook := range pluginsdk.AllHooks() {
		if x.manifest.Answers(hook) {
			continue
		}
		callCtx, cancel := context.WithTimeout(ctx, allowed(hook))
		_, err := ask(callCtx, s, hook, x.sample("hello"), x.cfg.Settings)
		cancel()
		switch {
		case err == nil:
			wrong = append(wrong, fmt.Sprintf("%s answers, and the manifest does not declare it", hook))
		case pluginsdk.CodeOf(err) != pluginsdk.CodeUnimplemented:
			wrong = append(wrong, fmt.Sprintf("%s answers with %s (%v)", hook, pluginsdk.CodeOf(err), err))
		}
	}
	if len(wrong) > 0 {
		return faultf("declare every hook that is answered, and answer the others with UNIMPLEMENTED", "%s", strings.Join(wrong, "\n"))
	}
	return nil
}

func (x *exam) checkCommands(ctx context.Context) error {
	if len(x.manifest.Commands) == 0 {
		return skipped("the manifest declares no commands")
	}
	s, err := x.borrow(ctx)
	if err != nil {
		return err
	}
	var all tried
	for _, command := range x.manifest.Commands {
		name := command.Name
		if name == "*" {
			name = "conformance"
		}
		all.add("/"+name, x.oneCommand(ctx, s, name))
	}
	return all.outcome(x, "answer every declared command; one that is used wrongly gets a Reply that says how to use it")
}

func (x *exam) oneCommand(ctx context.Context, s *session, name string) verdict {
	limit := allowed(pluginsdk.HookCommand)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, err := s.OnCommand(ctx, x.sample("").command(name))
	return judge(s, err, limit)
}

func (x *exam) checkTools(ctx context.Context) error {
	if len(x.manifest.Tools) == 0 {
		return skipped("the manifest declares no tools")
	}
	s, err := x.borrow(ctx)
	if err != nil {
		return err
	}
	var all tried
	limit := allowed(pluginsdk.HookCallTool)
	for _, tool := range x.manifest.Tools {
		callCtx, cancel := context.WithTimeout(ctx, limit)
		call := x.sample("hello").toolCall(tool.Name)
		call.Input = []byte(`{}`)
		_, err := s.CallTool(callCtx, call)
		cancel()
		all.add(tool.Name, judge(s, err, limit))
	}
	return all.outcome(x, "answer every declared tool; what goes wrong in its work is a result with isError")
}

func (x *exam) checkCapabilities(context.Context) error {
	missing := x.refused.names()
	if len(missing) == 0 {
		return nil
	}
	texts := make([]string, len(missing))
	for n, capability := range missing {
		texts[n] = string(capability)
	}
	return faultf("add it to the manifest's capabilities, with the reason that the operator reads; or do not ask the host for it",
		"it asked the host for what needs %s, and the manifest does not ask for that", strings.Join(texts, ", "))
}
