package registry

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/shipped"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// For returns the registry as a plugin has it that an operator has granted plugins.admin.
// What is decided there gives nobody more than the plugin has itself, and is not about
// the plugin itself; the rest is refused (CodeDenied), in the transaction of the decision,
// by what was granted then. Whom to trust is for operators alone; that nothing is forced, and
// no plugin worked on, is for the caller to know.
func (r *Registry) For(plugin string) *Registry { return &Registry{Config: r.Config, plugin: plugin} }

// MayGrant returns what of the rights whoever decides can grant.
func (r *Registry) MayGrant(ctx context.Context, wanted Rights) (Rights, error) {
	if r.plugin == "" {
		return wanted, nil
	}
	own, err := r.Plugin(ctx, r.plugin)
	return wanted.minus(wanted.minus(grantable(own))), err
}

// grantable is what a plugin may grant to others. Who decides about plugins is for
// operators to say: two that may would free each other from what neither may alone.
func grantable(own ledger.Plugin) Rights {
	return Rights{Capabilities: without(own.Granted, []pluginsdk.Capability{pluginsdk.CapPluginsAdmin})}
}

// may refuses what the plugin that decides may not: was is the row, zero when it is new;
// next is what is to be of it, zero when it goes; all has the rows as they are.
func (r *Registry) may(was, next ledger.Plugin, all []ledger.Plugin) error {
	if r.plugin == "" {
		return nil
	}
	own, err := r.own(all)
	if err != nil {
		return err
	}
	name := cmp.Or(next.Name, was.Name)
	held := RightsOf(was)
	given, taken := RightsOf(next).minus(held), held.minus(RightsOf(next))
	switch replaced := was.Name != "" && next.Name != "" && was.SHA256 != next.SHA256; {
	case name == r.plugin:
		return r.denied("%s may not decide about itself", "harness plugin")
	case next.Name == "" && shipped.Named(name):
		return r.denied("%s may not remove %s, which comes with Harness", "harness plugin remove "+name, name)
	case next.Name != "" && shipped.Named(name) && !taken.None():
		return r.denied("%s may take nothing from %s, which comes with Harness", "harness plugin revoke "+name, name)
	case !given.minus(grantable(own)).None():
		return r.denied("%s may not grant %s: it can grant what it has been granted itself, but for plugins.admin, and no variables of the environment",
			GrantCommand(name, given.minus(grantable(own))), given.minus(grantable(own)))
	case replaced && !held.minus(RightsOf(own)).None():
		return r.denied("%s may not replace a version of %s, which has been granted what it has not: %s",
			"harness plugin upgrade` or `harness plugin rollback", name, held.minus(RightsOf(own)))
	case next.Name == "":
		return nil
	}
	if err := r.mayHoldUp(was, next); err != nil {
		return err
	}
	before := r.InForce(was)
	if was.Name == "" {
		before = r.InForce(own)
	}
	if raised := above(r.InForce(next), before, r.InForce(own)); len(raised) > 0 {
		return r.denied("%s may set no limit above its own: %s", "harness plugin limits "+name, strings.Join(raised, ", "))
	}
	return nil
}

// mayHoldUp refuses to a plugin that another one, or itself, comes to be on with a closed hook that
// lacks its grant: work would wait for that, which is for operators to decide. What is taken
// back is not looked at.
func (r *Registry) mayHoldUp(was, next ledger.Plugin) error {
	was.Granted = next.Granted
	hooks := without(lacking(next), lacking(was))
	if r.plugin == "" || len(hooks) == 0 {
		return nil
	}
	missing := needed(hooks)
	return r.denied("%s may not have %s turned on without %s: its closed hooks (%s) would have work wait for that. First let it be granted (`%s`)",
		"harness plugin enable "+next.Name, next.Name, missing, list(hooks), GrantCommand(next.Name, missing))
}

// needed are the rights that hooks need.
func needed(hooks []pluginsdk.Hook) (all Rights) {
	for _, hook := range hooks {
		spec, _ := hook.Spec()
		all = all.plus(Rights{Capabilities: []pluginsdk.Capability{spec.Capability}})
	}
	return all
}

// lacking are the closed hooks of a plugin that is on for which it lacks the grant: work waits
// for them.
func lacking(row ledger.Plugin) []pluginsdk.Hook {
	if !row.Enabled {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(row.Manifest.Hooks), func(hook pluginsdk.Hook) bool {
		return row.MayAnswer(hook) == nil || row.FailureMode(hook) != pluginsdk.FailClosed
	})
}

// own is the row of the plugin that decides, as long as it may.
func (r *Registry) own(all []ledger.Plugin) (own ledger.Plugin, err error) {
	if n := slices.IndexFunc(all, func(row ledger.Plugin) bool { return row.Name == r.plugin }); n >= 0 {
		own = all[n]
	}
	if !slices.Contains(own.Granted, pluginsdk.CapPluginsAdmin) {
		return own, r.denied("the plugin %s lacks the capability plugins.admin", "harness plugin grant "+r.plugin+" plugins.admin")
	}
	return own, nil
}

// denied refuses something to the plugin that decides, whose name is the first of args,
// and says with which command an operator does it.
func (r *Registry) denied(format, command string, args ...any) error {
	return pluginsdk.Errorf(pluginsdk.CodeDenied, "%s; an operator can: `%s`", fmt.Sprintf(format, append([]any{r.plugin}, args...)...), command)
}

// mayPlan is may of a plan, and of what its package would find: who chooses a plugin's
// code reads all that is kept for the plugin.
func (r *Registry) mayPlan(ctx context.Context, plan *Plan) error {
	if r.plugin == "" {
		return nil
	}
	all, err := r.Store.Plugins(ctx)
	if err != nil {
		return err
	}
	if err := r.may(plan.Was, plan.Next, all); err != nil {
		return err
	}
	if plan.Remains != (Remains{}) {
		return r.denied("%s may not install %s: a plugin of this name that was removed has left its state (%d keys) and secrets (%d), which it would get",
			"harness plugin install", plan.Next.Name, plan.Remains.Keys, plan.Remains.Secrets)
	}
	if plan.Package == nil || plan.Was.Name == "" || plan.Repair || plan.Next.Publisher != "" && plan.Next.Publisher == plan.Was.Publisher {
		return nil
	}
	secrets, err := r.Store.PluginSecrets(ctx, plan.Was.Name)
	if err == nil && len(secrets) > 0 {
		err = r.denied("%s may not upgrade %s, which has secrets (%d): only to a version that the trusted publisher of this one has signed, too",
			"harness plugin upgrade "+plan.Was.Name, plan.Was.Name, len(secrets))
	}
	return err
}

// mayArrange refuses an order in which the plugin that decides has another place among
// the others.
func (r *Registry) mayArrange(order []string, rows []ledger.Plugin) error {
	if r.plugin == "" {
		return nil
	}
	if _, err := r.own(rows); err != nil {
		return err
	}
	place := slices.Index(order, r.plugin)
	moved := func(row ledger.Plugin) bool { return !slices.Contains(order[:place], row.Name) }
	if rows[place].Name == r.plugin && !slices.ContainsFunc(rows[:place], moved) {
		return nil
	}
	return r.denied("%s may not change its own place: it orders those before it among each other, and those after it", "harness plugin order")
}

// lend gives a plugin that is new the limits of the plugin that installs it, where they
// are lower than the defaults.
func (r *Registry) lend(ctx context.Context, next *ledger.Plugin) error {
	if r.plugin == "" {
		return nil
	}
	row, err := r.Plugin(ctx, r.plugin)
	if err != nil {
		return err
	}
	limits := reflect.ValueOf(&next.Limits).Elem()
	standard, own := reflect.ValueOf(r.InForce(*next)), reflect.ValueOf(r.InForce(row))
	for n := range limits.NumField() {
		if over(standard.Field(n).Int(), own.Field(n).Int()) {
			limits.Field(n).SetInt(own.Field(n).Int())
		}
	}
	return nil
}

// above names the limits that are set higher than they were and than they may be.
func above(next, was, bound pluginsdk.PluginLimits) (names []string) {
	values, before, most := reflect.ValueOf(next), reflect.ValueOf(was), reflect.ValueOf(bound)
	for n := range values.NumField() {
		if value := values.Field(n).Int(); over(value, most.Field(n).Int()) && over(value, before.Field(n).Int()) {
			name, _, _ := strings.Cut(values.Type().Field(n).Tag.Get("json"), ",")
			names = append(names, fmt.Sprintf("%s (its own is %d)", name, most.Field(n).Int()))
		}
	}
	return names
}

// over reports whether a limit allows more than another; a negative one is none.
func over(limit, bound int64) bool { return bound >= 0 && (limit < 0 || limit > bound) }
