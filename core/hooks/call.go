package hooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Occasion is what hooks are fired for: an attempt of a run, a delivery, a task.
type Occasion struct {
	// Behalf is on whose behalf the plugins are called. Its run says to which
	// versions of the plugins the calls go.
	Behalf ledger.Behalf
	// Call is the part of a call's identity that all calls of the occasion share:
	// ID, to which each call adds its own name, attempt and trace.
	Call pluginsdk.Call
	// Beside says that the run goes on beside the calls: nobody is told that it waits
	// for them. As any occasion it has a budget of its own.
	Beside bool
	// Record, when set, is told of each call when it is over, and of each that was passed
	// over. Several goroutines may call it at once.
	Record func(pluginsdk.HookCall)
	// Held, when set, is told of a call that must not be passed over once it is slow: the
	// occasion waits for it. over is called when the wait is over, and returns when the
	// occasion may go on. Only with it does a call wait until its plugin is granted what the
	// hook needs; Error of the call then says what is missing.
	Held func(call pluginsdk.HookCall) (over func(ctx context.Context) error)
	// Keeps says that Held is told only of a wait for a grant.
	Keeps bool

	spent budget
}

// Question is one hook, asked on an occasion.
type Question[Req, Res any] struct {
	Hook pluginsdk.Hook
	// Name is added to the occasion's id, and the plugin's name to that; the hook's
	// name when it is empty. It tells the calls of one occasion apart, and is the
	// same when the occasion is repeated.
	Name string
	// CallID, when it is set, is the whole of the call's id.
	CallID string
	// Typed is the person who typed the command that the hook answers; zero for every other
	// question. It is Behalf.Typed of what the plugin does in this call.
	Typed ledger.By
	// TypedScope is what the plugin's manifest demands of who types the command. It is
	// Behalf.TypedScope of what the plugin does in this call.
	TypedScope pluginsdk.TokenScope
	// Request makes the request for a plugin; nil does not ask it.
	Request func(call pluginsdk.Call, plugin *pluginsdk.PluginInfo) *Req
	// Ask makes the call: the method of Process.
	Ask func(Process, context.Context, *Req) (*Res, error)
}

// Notify tells every plugin that answers the hook; take, unless it is nil, gets
// each answer. A failure is counted against the plugin and the next is told; a
// closed hook ends it with an error that is worth another attempt.
func Notify[Req, Res any](ctx context.Context, r *Runner, on *Occasion, q Question[Req, Res], take func(plugin string, answer *Res)) error {
	for _, plugin := range r.plugins.Answering(on.Behalf.RunID, q.Hook) {
		answer, err := One(ctx, r, on, plugin, q)
		if err != nil {
			if err := r.Failed(ctx, plugin, q.Hook, err); err != nil {
				return err
			}
			continue
		}
		if answer != nil && take != nil {
			take(plugin.Info().Name, answer)
		}
	}
	return nil
}

// Link is a question of a chain: Question gets the value into the request, Next gets the
// following value out of the answer.
type Link[V, Req, Res any] struct {
	Question func(V) Question[Req, Res]
	Next     func(plugin *pluginsdk.PluginInfo, answer *Res, value V) V
	// Blind, when set, reports whether a plugin is asked without the value. Such plugins that
	// are neighbours are asked at the same time.
	Blind func(*pluginsdk.PluginInfo) bool
}

// Chain gives each plugin that answers the hook the value that the one before it
// came to, and returns the last. A failure keeps the value.
func Chain[V, Req, Res any](ctx context.Context, r *Runner, on *Occasion, value V, link Link[V, Req, Res]) (V, error) {
	hook := link.Question(value).Hook
	for plugins := r.plugins.Answering(on.Behalf.RunID, hook); len(plugins) > 0; {
		n := blind(plugins, link.Blind)
		asked := plugins[:max(n, 1)]
		plugins = plugins[len(asked):]
		for i, each := range together(ctx, r, on, asked, link.Question(value)) {
			if each.err != nil {
				if err := r.Failed(ctx, asked[i], hook, each.err); err != nil {
					return value, err
				}
				continue
			}
			if each.answer != nil {
				value = link.Next(asked[i].Info(), each.answer, value)
			}
		}
	}
	return value, nil
}

// blind returns how many of the plugins, from the first on, are asked without the value.
func blind(plugins []Plugin, is func(*pluginsdk.PluginInfo) bool) int {
	if is == nil {
		return 0
	}
	n := slices.IndexFunc(plugins, func(plugin Plugin) bool { return !is(plugin.Info()) })
	if n < 0 {
		return len(plugins)
	}
	return n
}

// answered is what a plugin has answered.
type answered[Res any] struct {
	answer *Res
	err    error
}

// together asks plugins the same question at the same time.
func together[Req, Res any](ctx context.Context, r *Runner, on *Occasion, plugins []Plugin, q Question[Req, Res]) []answered[Res] {
	all := make([]answered[Res], len(plugins))
	one := func(i int) { all[i].answer, all[i].err = One(ctx, r, on, plugins[i], q) }
	var others sync.WaitGroup
	for i := 1; i < len(plugins); i++ {
		others.Go(func() {
			all[i].err = guard.Call(r.config.Log, "a hook of "+plugins[i].Info().Name, func() error { one(i); return all[i].err })
		})
	}
	one(0)
	others.Wait()
	return all
}

// Denied is a gate's word that something may not happen. It is an error.
type Denied struct {
	Plugin string
	Reason string
}

// Error returns the reason.
func (d *Denied) Error() string { return d.Reason }

// Gate asks every plugin that answers the hook; judge says whether its answer
// denies, and why. It ends with *Denied at the first that does. An error of the
// plugin's own denies too, with the error as the reason, unless the hook is open
// for that plugin. A plugin that did not get to decide (down, dead, too late) has
// given no verdict: then Gate fails in a way that is worth another attempt.
func Gate[Req, Res any](ctx context.Context, r *Runner, on *Occasion, q Question[Req, Res],
	judge func(plugin string, answer *Res) (denied bool, reason string),
) error {
	for _, plugin := range r.plugins.Answering(on.Behalf.RunID, q.Hook) {
		name := plugin.Info().Name
		call, answer, err := ask(ctx, r, on, plugin, q)
		var denied bool
		var reason string
		if err == nil && answer != nil {
			if denied, reason = judge(name, answer); denied {
				reason = shorten(cmp.Or(reason, "denied by "+name))
				call.State, call.Error = pluginsdk.CallDenied, recorded(reason)
			}
		}
		on.record(call)
		switch {
		case denied:
			return &Denied{Plugin: name, Reason: reason}
		case err != nil && (ctx.Err() != nil || noVerdict(err) || plugin.Info().FailureMode(q.Hook) == pluginsdk.FailOpen):
			if err := r.Failed(ctx, plugin, q.Hook, err); err != nil {
				return err
			}
		case err != nil:
			r.logFailure(plugin, q.Hook, err)
			return &Denied{Plugin: name, Reason: "the plugin " + name + " could not decide: " + err.Error()}
		}
	}
	return nil
}

// Refuses reports whether the error with which a plugin has answered a hook is no failure of the plugin, but its answer
// to who gave the command.
func Refuses(hook pluginsdk.Hook, err error) bool {
	return hook == pluginsdk.HookCommand && pluginsdk.CodeOf(err).Refuses()
}

// noVerdict reports an error that is a fault on the way and not the plugin's
// own word: it does not serve, it died, it took too long.
func noVerdict(err error) bool {
	switch pluginsdk.CodeOf(err) { //nolint:exhaustive // the others are the plugin's word
	case pluginsdk.CodeUnavailable, pluginsdk.CodeDeadline:
		return true
	}
	return false
}

// Failed applies the plugin's failure mode to an error of a call: nil goes on, an
// error fails what the hook was fired for, in a way that is worth another attempt.
func (r *Runner) Failed(ctx context.Context, plugin Plugin, hook pluginsdk.Hook, err error) error {
	if ctx.Err() != nil {
		return pluginsdk.Errorf(pluginsdk.CodeCancelled, "%w", context.Cause(ctx))
	}
	r.logFailure(plugin, hook, err)
	if plugin.Info().FailureMode(hook) == pluginsdk.FailOpen {
		return nil
	}
	return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the plugin %s failed in %s, which must not be passed over: %w",
		plugin.Info().Name, hook, err)
}

func (r *Runner) logFailure(plugin Plugin, hook pluginsdk.Hook, err error) {
	info := plugin.Info()
	mode := info.FailureMode(hook)
	level := slog.LevelWarn
	if pluginsdk.CodeOf(err) == pluginsdk.CodeUnavailable && mode == pluginsdk.FailOpen {
		level = slog.LevelDebug // it is down, which its host says once
	}
	r.config.Log.Log(context.Background(), level, "hook failed", "plugin", info.Name, "hook", hook, "mode", mode, "err", err)
}

// One asks one plugin, with the deadline of the hook's class and a token of its
// own. When the run's budget is used up, what may be passed over has what the plugin
// has left of Config.Slow, and is not asked any more once that is used up as well:
// CodeDeadline.
func One[Req, Res any](ctx context.Context, r *Runner, on *Occasion, plugin Plugin, q Question[Req, Res]) (*Res, error) {
	call, answer, err := ask(ctx, r, on, plugin, q)
	on.record(call)
	return answer, err
}

// ask is One, but for the record of the call: it returns that. Without a hook in it there
// is nothing to record.
func ask[Req, Res any](ctx context.Context, r *Runner, on *Occasion, plugin Plugin, q Question[Req, Res],
) (call pluginsdk.HookCall, answer *Res, err error) {
	lacks := on.lacks(plugin.Info(), q.Hook)
	began, over := time.Now(), r.watch(ctx, on, plugin.Info(), q.Hook, lacks)
	defer func() { err = cmp.Or(err, over()) }()
	if lacks != nil {
		if plugin, err = r.granted(ctx, on, plugin, q.Hook); plugin == nil {
			return call, nil, err
		}
	}
	answer, asked, err := try(ctx, r, on, plugin, q)
	if on.Record == nil || !asked && err == nil {
		return call, answer, err
	}
	call = pluginsdk.HookCall{
		Hook: q.Hook, Plugin: plugin.Info().Name, Attempt: on.Behalf.Attempt,
		StartedAt: began.UTC().Truncate(time.Microsecond), Duration: time.Since(began), State: pluginsdk.CallAnswered,
	}
	if err != nil {
		call.State, call.Error = pluginsdk.CallFailed, recorded(err.Error())
		switch {
		case !asked && mayPass(plugin.Info(), q.Hook):
			call.State = pluginsdk.CallPassedOver
		case asked && Refuses(q.Hook, err):
			call.State = pluginsdk.CallRefused
		}
	}
	return call, answer, err
}

// record tells of a call.
func (o *Occasion) record(call pluginsdk.HookCall) {
	if call.Hook != "" {
		o.Record(call)
	}
}

// recordedWords is how much of why a call was not answered is recorded, in bytes.
const recordedWords = 200

func recorded(words string) string {
	return strings.ToValidUTF8(words[:min(len(words), recordedWords)], "")
}

// mayPass reports whether the hook of this plugin may be passed over.
func mayPass(info *pluginsdk.PluginInfo, hook pluginsdk.Hook) bool {
	spec, _ := hook.Spec()
	return spec.Runner != pluginsdk.RunFirst && info.FailureMode(hook) == pluginsdk.FailOpen
}

// counted reports whether a run waits for a call of the hook. What is asked of one plugin
// alone is waited for by who asked it.
func counted(on *Occasion, hook pluginsdk.Hook) bool {
	spec, _ := hook.Spec()
	return on.Behalf.RunID != "" && spec.Runner != pluginsdk.RunOne
}

// try is ask, with whether the plugin got the question.
func try[Req, Res any](ctx context.Context, r *Runner, on *Occasion, plugin Plugin, q Question[Req, Res],
) (answer *Res, asked bool, err error) {
	info := plugin.Info()
	spec, known := q.Hook.Spec()
	if !known {
		return nil, false, pluginsdk.Errorf(pluginsdk.CodeInvalid, "there is no hook %s", q.Hook)
	}
	passable := counted(on, q.Hook) && mayPass(info, q.Hook)
	usedUp, left := false, time.Duration(0)
	if passable {
		var own time.Duration
		usedUp, own = on.spent.usedUp(r.config.Budget, info.Name)
		if left = r.config.Slow - own; usedUp && left <= 0 {
			return nil, false, pluginsdk.Errorf(pluginsdk.CodeDeadline,
				"passed over: the hooks of this run have taken %s of its time, as much as they may, and this plugin %s of it",
				r.config.Budget, own.Round(time.Millisecond))
		}
	}
	call := on.Call
	if call.ID = q.CallID; call.ID == "" {
		call.ID = on.Call.ID + ":" + cmp.Or(q.Name, string(q.Hook)) + ":" + info.Name
	}
	began := time.Now()
	err = plugin.Do(ctx, q.Hook, call.ID, func(process Process) error {
		ctx, cancel := ctx, func() {}
		if usedUp {
			ctx, cancel = context.WithTimeout(ctx, left)
		}
		defer cancel()
		behalf := on.Behalf
		behalf.Typed, behalf.TypedScope = q.Typed, q.TypedScope
		ctx, end := r.open(ctx, spec, &call, behalf, info.Name)
		defer end()
		request := q.Request(call, info)
		if request == nil {
			return nil
		}
		asked = true
		ctx, traced := r.trace(ctx, on, info.Name, q.Hook)
		defer traced()
		var err error
		answer, err = q.Ask(process, ctx, request)
		return silentCause(ctx, err)
	})
	if passable {
		on.spent.add(info.Name, time.Since(began))
	}
	if usedUp && errors.Is(err, context.DeadlineExceeded) {
		err = pluginsdk.Errorf(pluginsdk.CodeDeadline, "the hooks of this run have taken %s of its time, as much as they may; this one had %s: %w",
			r.config.Budget, left.Round(time.Millisecond), err)
	}
	return answer, asked, brief(err)
}

// maxWords is how much of a plugin's words of why is kept, in bytes: they end in
// runs, in rows and in the log.
const maxWords = 4 << 10

// brief returns the error with as many words as are kept of it.
func brief(err error) error {
	if err == nil || len(err.Error()) <= maxWords {
		return err
	}
	return &pluginsdk.Error{Code: pluginsdk.CodeOf(err), Message: shorten(err.Error()), Cause: err}
}

func shorten(words string) string {
	if len(words) <= maxWords {
		return words
	}
	return strings.ToValidUTF8(words[:maxWords], "") + " [cut]"
}

// Limit returns how long a call of the hook may take; of the class work how long it
// may be silent.
func (r *Runner) Limit(hook pluginsdk.Hook) time.Duration {
	if set, ok := r.config.Deadlines[hook]; ok {
		return set
	}
	spec, _ := hook.Spec()
	return spec.Class.Limit()
}

// workTokens is how long the token of a call is good that has no deadline.
const workTokens = 7 * 24 * time.Hour

// open gives the call its deadline and its token, until end.
func (r *Runner) open(ctx context.Context, spec pluginsdk.HookSpec, call *pluginsdk.Call, behalf ledger.Behalf, plugin string,
) (_ context.Context, end func()) {
	now, limit := time.Now(), r.Limit(spec.Hook)
	cancel := func() {}
	good := now.Add(workTokens)
	if spec.Class == pluginsdk.ClassWork {
		ctx, cancel = whileAlive(ctx, limit)
	} else {
		call.Deadline = now.Add(limit)
		if sooner, ok := ctx.Deadline(); ok && sooner.Before(call.Deadline) {
			call.Deadline = sooner
		}
		good = call.Deadline
	}
	call.Token = r.tokens.Open(ctx, plugin, behalf, good)
	ctx = pluginsdk.WithCall(ctx, *call)
	if !call.Deadline.IsZero() {
		ctx, cancel = context.WithDeadline(ctx, call.Deadline)
	}
	return ctx, func() {
		cancel()
		r.tokens.Close(call.Token)
	}
}

// errSilent ends a call of the class work.
type errSilent struct{ limit time.Duration }

func (e errSilent) Error() string { return fmt.Sprintf("it has reported nothing for %s", e.limit) }

// Unwrap makes it the deadline that it is.
func (errSilent) Unwrap() error { return context.DeadlineExceeded }

// whileAlive returns a context that ends when nothing has been reported on it
// (pluginsdk.ReportProgress) for limit. What is reported goes on to the caller.
func whileAlive(ctx context.Context, limit time.Duration) (context.Context, func()) {
	alive, cancel := context.WithCancelCause(ctx)
	silence := time.AfterFunc(limit, func() { cancel(errSilent{limit}) })
	reported := pluginsdk.WithProgress(alive, func(progress pluginsdk.Progress) {
		silence.Reset(limit)
		pluginsdk.ReportProgress(ctx, progress)
	})
	return reported, func() {
		silence.Stop()
		cancel(nil)
	}
}

// silentCause says of a call that was ended for its silence that this was the reason.
func silentCause(ctx context.Context, err error) error {
	if silent, ok := context.Cause(ctx).(errSilent); ok && err != nil { //nolint:errorlint // it is the cause itself
		return pluginsdk.Errorf(pluginsdk.CodeDeadline, "%w", silent)
	}
	return err
}

// lacks returns which grant the occasion waits for before it calls the hook; nil: none.
func (o *Occasion) lacks(info *pluginsdk.PluginInfo, hook pluginsdk.Hook) error {
	if o.Held == nil || o.Beside || !counted(o, hook) || info.FailureMode(hook) == pluginsdk.FailOpen {
		return nil
	}
	return info.MayAnswer(hook)
}

// grantEvery is how often a call that waits for a grant looks for it.
const grantEvery = time.Second

// granted waits until the plugin has been granted what the hook needs, and returns it as it
// is then. nil without an error: the run does not have to ask it any more.
func (r *Runner) granted(ctx context.Context, on *Occasion, plugin Plugin, hook pluginsdk.Hook) (Plugin, error) {
	name := plugin.Info().Name
	look := time.NewTicker(grantEvery)
	defer look.Stop()
	for {
		all := r.plugins.Answering(on.Behalf.RunID, hook)
		at := slices.IndexFunc(all, func(one Plugin) bool { return one.Info().Name == name })
		switch {
		case at < 0:
			return nil, nil //nolint:nilnil // nobody is to be asked
		case on.lacks(all[at].Info(), hook) == nil:
			return all[at], nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return nil, pluginsdk.Errorf(pluginsdk.CodeCancelled, "%w", context.Cause(ctx))
		}
	}
}

// watch warns of a call that its run waits for when it is slow, until over, and tells
// Occasion.Held if the plugin must not be passed over. over returns when the run may go on.
// lacks is the grant that the call waits for; nil: none.
func (r *Runner) watch(ctx context.Context, on *Occasion, info *pluginsdk.PluginInfo, hook pluginsdk.Hook, lacks error) (over func() error) {
	if on.Beside || !counted(on, hook) {
		return func() error { return nil }
	}
	since, plugin := time.Now(), info.Name
	var held chan func(context.Context) error
	if on.Held != nil && !mayPass(info, hook) && (lacks != nil || !on.Keeps) {
		held = make(chan func(context.Context) error, 1)
	}
	timer := time.AfterFunc(r.config.Slow, func() {
		r.config.Log.Warn("a run waits for a plugin", "run", on.Behalf.RunID, "plugin", plugin, "hook", hook)
		if held != nil {
			call := pluginsdk.HookCall{
				Hook: hook, Plugin: plugin, Attempt: on.Behalf.Attempt, StartedAt: since.UTC().Truncate(time.Microsecond), State: pluginsdk.CallWaiting,
			}
			if lacks != nil {
				call.Error = lacks.Error()
			}
			held <- on.Held(call)
		}
		r.config.Waiting(on, plugin, hook, since)
	})
	return func() error {
		if timer.Stop() || held == nil {
			return nil
		}
		return (<-held)(ctx)
	}
}

// trace tells of a call, once it is traced.
func (r *Runner) trace(ctx context.Context, on *Occasion, plugin string, hook pluginsdk.Hook) (_ context.Context, traced func()) {
	if r.config.Trace == nil {
		return ctx, func() {}
	}
	span := ledger.Span{Kind: ledger.SpanHook, Name: string(hook), Plugin: plugin, RunID: on.Behalf.RunID, Began: time.Now()}
	ctx, inside := r.config.Timed(ctx)
	return ctx, func() {
		span.Took, span.Inside = time.Since(span.Began), inside()
		r.config.Trace(span)
	}
}

// budget counts the time that calls have taken.
type budget struct {
	mu    sync.Mutex
	spent time.Duration
	of    map[string]time.Duration // by plugin
}

// usedUp reports whether all plugins together have taken the limit, and what this one
// has of it.
func (b *budget) usedUp(limit time.Duration, plugin string) (all bool, own time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spent >= limit, b.of[plugin]
}

func (b *budget) add(plugin string, took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.of == nil {
		b.of = make(map[string]time.Duration)
	}
	b.spent += took
	b.of[plugin] += took
}
