package registry

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/shipped"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Rights are what a plugin may ask of the core, and the variables of the daemon's
// environment that it gets.
type Rights struct {
	Capabilities []pluginsdk.Capability
	Env          []string
}

// Grants name rights: one by one, or all.
type Grants struct {
	Capabilities []string
	Env          []string
	// AllCapabilities are those that the plugin wants and this version knows,
	// or, when they are taken back, those that it has; AllEnv likewise.
	AllCapabilities, AllEnv bool
}

// GrantRequest says which rights a plugin is given, or which are taken back.
type GrantRequest struct {
	Name   string
	Grants Grants
}

func (g Grants) empty() bool {
	return len(g.Capabilities) == 0 && len(g.Env) == 0 && !g.AllCapabilities && !g.AllEnv
}

// named is what was named one by one.
func (g Grants) named() Rights {
	r := Rights{Env: g.Env}
	for _, name := range g.Capabilities {
		r.Capabilities = append(r.Capabilities, pluginsdk.Capability(name))
	}
	return r
}

// of returns what was named, with all standing for what all has.
func (g Grants) of(all Rights) Rights {
	var r Rights
	if g.AllCapabilities {
		r.Capabilities = all.Capabilities
	}
	if g.AllEnv {
		r.Env = all.Env
	}
	return r.plus(g.named())
}

// RightsOf returns what a plugin has been granted.
func RightsOf(row ledger.Plugin) Rights { return Rights{row.Granted, row.GrantedEnv} }

// String lists the rights as an operator writes them.
func (r Rights) String() string {
	shown := make([]string, 0, len(r.Capabilities)+len(r.Env))
	for _, capability := range r.Capabilities {
		shown = append(shown, string(capability))
	}
	for _, name := range r.Env {
		shown = append(shown, "env "+name)
	}
	return list(shown)
}

// GrantCommand is the command with which an operator grants rights to a plugin.
func GrantCommand(plugin string, r Rights) string { return command("grant", plugin, r) }

// RevokeCommand is the command with which an operator takes rights back.
func RevokeCommand(plugin string, r Rights) string { return command("revoke", plugin, r) }

func command(verb, plugin string, r Rights) string {
	command := "harness plugin " + verb + " " + plugin
	for _, capability := range r.Capabilities {
		command += " " + string(capability)
	}
	if len(r.Env) > 0 {
		command += " --env " + strings.Join(r.Env, ",")
	}
	return command
}

// None reports whether there are no rights at all.
func (r Rights) None() bool { return len(r.Capabilities) == 0 && len(r.Env) == 0 }

func (r Rights) plus(more Rights) Rights {
	return Rights{union(r.Capabilities, more.Capabilities), union(r.Env, more.Env)}
}

func (r Rights) minus(less Rights) Rights {
	return Rights{without(r.Capabilities, less.Capabilities), without(r.Env, less.Env)}
}

func union[T comparable](a, b []T) []T {
	out := slices.Clone(a)
	for _, one := range b {
		if !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	return out
}

func without[T comparable](a, b []T) []T {
	return slices.DeleteFunc(slices.Clone(a), func(one T) bool { return slices.Contains(b, one) })
}

// requested is what a manifest asks for, or its hooks need.
func requested(m pluginsdk.Manifest) (all Rights) {
	for _, request := range m.Requests() {
		all.Capabilities = append(all.Capabilities, request.Capability)
	}
	for _, request := range m.Environment {
		if !slices.Contains(all.Env, request.Name) {
			all.Env = append(all.Env, request.Name)
		}
	}
	return all
}

// Wanted is what a manifest asks for, or its hooks need, and this version can give.
func (r *Registry) Wanted(m pluginsdk.Manifest) Rights {
	wanted := requested(m)
	wanted.Capabilities = slices.DeleteFunc(wanted.Capabilities, func(c pluginsdk.Capability) bool { return !slices.Contains(pluginsdk.AllCapabilities(), c) })
	wanted.Env = slices.DeleteFunc(wanted.Env, r.Withheld)
	return wanted
}

// Missing is what a plugin wants and does not have.
func (r *Registry) Missing(row ledger.Plugin) Rights {
	return r.Wanted(row.Manifest).minus(RightsOf(row))
}

// resolve reads what was named for a plugin with that manifest. What it does not ask
// for is refused.
func (r *Registry) resolve(g Grants, m pluginsdk.Manifest) (Rights, error) {
	all := r.Wanted(m)
	for _, capability := range g.named().Capabilities {
		if !slices.Contains(pluginsdk.AllCapabilities(), capability) {
			return Rights{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "this version knows no capability %q; %s wants: %s", capability, m.Name, list(all.Capabilities))
		}
		// What has never run has not said what it wants.
		if m.Version != "" && !slices.Contains(all.Capabilities, capability) {
			return Rights{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s does not ask for %s; it wants: %s", m.Name, capability, list(all.Capabilities))
		}
	}
	for _, name := range g.Env {
		if r.Withheld(name) {
			return Rights{}, pluginsdk.Errorf(pluginsdk.CodeDenied, "%s is the daemon's own and is given to no plugin", name)
		}
		if !slices.Contains(all.Env, name) {
			return Rights{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s does not ask for the environment variable %s; it wants: %s", m.Name, word(name), list(all.Env))
		}
	}
	return g.of(all), nil
}

// errUnchanged ends a change that has nothing to change.
var errUnchanged = errors.New("there is nothing to change")

// Grant gives a plugin rights that it wants. Outcome.Changed are those that it did not
// have, or that an upgrade of Harness gave it and that this confirms; when there are none,
// nothing was changed.
func (r *Registry) Grant(ctx context.Context, who string, request GrantRequest) (Outcome, error) {
	row, err := r.Plugin(ctx, request.Name)
	if err != nil {
		return Outcome{}, err
	}
	if request.Grants.empty() {
		return Outcome{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "name what is to be granted, or --all; %s lacks: %s", request.Name, r.Missing(row))
	}
	return r.regrant(ctx, ledger.PluginChange{Name: request.Name, Who: who, Action: "plugin.grant"}, func(row *ledger.Plugin) (Rights, error) {
		asks := row.Manifest
		asks.Name = request.Name
		given, err := r.resolve(request.Grants, asks)
		added := given.minus(RightsOf(*row))
		give(row, RightsOf(*row).plus(added))
		added.Capabilities = append(added.Capabilities, r.confirm(row, given)...)
		return added, err
	})
}

// Revoke takes rights back, whether the plugin asks for them or not. Outcome.Changed
// are those that it had; when there are none, nothing was changed.
func (r *Registry) Revoke(ctx context.Context, who string, request GrantRequest) (Outcome, error) {
	row, err := r.Plugin(ctx, request.Name)
	if err != nil {
		return Outcome{}, err
	}
	if request.Grants.empty() {
		return Outcome{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "name what is to be taken back, or --all; %s has: %s", request.Name, RightsOf(row))
	}
	return r.regrant(ctx, ledger.PluginChange{Name: request.Name, Who: who, Action: "plugin.revoke"}, func(row *ledger.Plugin) (Rights, error) {
		has := RightsOf(*row)
		gone := request.Grants.of(has)
		if stray := gone.minus(has); !stray.None() {
			return gone, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s does not have %s; it has: %s", request.Name, stray, has)
		}
		give(row, has.minus(gone))
		return gone, nil
	})
}

// regrant changes what a plugin has been granted by what edit says that it changes.
func (r *Registry) regrant(ctx context.Context, change ledger.PluginChange, edit func(row *ledger.Plugin) (Rights, error)) (Outcome, error) {
	var changed Rights
	change.Edit = func(row *ledger.Plugin, _ []ledger.Plugin) (_ string, err error) {
		changed, err = edit(row)
		if err == nil && changed.None() {
			err = errUnchanged
		}
		return changed.String(), err
	}
	outcome, err := r.change(ctx, change)
	if errors.Is(err, errUnchanged) {
		outcome.Plugin, err = outcome.Was, nil
		outcome.Missing = r.Missing(outcome.Plugin)
	}
	outcome.Changed = changed
	return outcome, err
}

// give makes rights those that a plugin has.
func give(row *ledger.Plugin, r Rights) {
	row.Granted, row.GrantedEnv = r.Capabilities, r.Env
	row.Unconfirmed = without(row.Unconfirmed, without(row.Unconfirmed, r.Capabilities))
}

// confirm takes what was given off those of a plugin's grants that nobody has confirmed, and
// returns it. It is for operators, and for plugins that come with Harness, which speak for one.
func (r *Registry) confirm(row *ledger.Plugin, given Rights) []pluginsdk.Capability {
	if r.plugin != "" && !shipped.Named(r.plugin) {
		return nil
	}
	left := without(row.Unconfirmed, given.Capabilities)
	confirmed := without(row.Unconfirmed, left)
	row.Unconfirmed = left
	return confirmed
}
