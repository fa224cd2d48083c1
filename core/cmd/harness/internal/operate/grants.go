package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/pluginhost"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Grants are what an operator names on the command line.
type Grants struct {
	Capabilities []string
	Env          []string
	// AllCapabilities are those that the plugin wants and this version knows,
	// or, when they are taken back, those that it has; AllEnv likewise.
	AllCapabilities, AllEnv bool
}

func (g Grants) empty() bool {
	return len(g.Capabilities) == 0 && len(g.Env) == 0 && !g.AllCapabilities && !g.AllEnv
}

// named is what the operator named one by one.
func (g Grants) named() rights {
	r := rights{env: g.Env}
	for _, name := range g.Capabilities {
		r.capabilities = append(r.capabilities, pluginsdk.Capability(name))
	}
	return r
}

// of returns what the operator named, with all standing for what all has.
func (g Grants) of(all rights) rights {
	var r rights
	if g.AllCapabilities {
		r.capabilities = all.capabilities
	}
	if g.AllEnv {
		r.env = all.env
	}
	return r.plus(g.named())
}

// rights are capabilities and variables.
type rights struct {
	capabilities []pluginsdk.Capability
	env          []string
}

func rightsOf(row ledger.Plugin) rights { return rights{row.Granted, row.GrantedEnv} }

// String lists the rights as an operator writes them.
func (r rights) String() string {
	shown := make([]string, 0, len(r.capabilities)+len(r.env))
	for _, capability := range r.capabilities {
		shown = append(shown, string(capability))
	}
	for _, name := range r.env {
		shown = append(shown, "env "+name)
	}
	return list(shown)
}

func (r rights) none() bool { return len(r.capabilities) == 0 && len(r.env) == 0 }

func (r rights) plus(more rights) rights {
	return rights{union(r.capabilities, more.capabilities), union(r.env, more.env)}
}

func (r rights) minus(less rights) rights {
	return rights{without(r.capabilities, less.capabilities), without(r.env, less.env)}
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

// wanted is what a manifest asks for and this version knows.
func wanted(m pluginsdk.Manifest) rights {
	var r rights
	for _, request := range m.Capabilities {
		if slices.Contains(pluginsdk.AllCapabilities(), request.Capability) {
			r.capabilities = append(r.capabilities, request.Capability)
		}
	}
	for _, request := range m.Environment {
		if !slices.Contains(r.env, request.Name) && !pluginhost.Withheld(request.Name) {
			r.env = append(r.env, request.Name)
		}
	}
	return r
}

// missing is what a plugin wants and does not have.
func missing(row ledger.Plugin) rights { return wanted(row.Manifest).minus(rightsOf(row)) }

// resolve reads what the operator named for a plugin with that manifest.
func (g Grants) resolve(m pluginsdk.Manifest) (rights, error) {
	all := wanted(m)
	for _, capability := range g.named().capabilities {
		if !slices.Contains(pluginsdk.AllCapabilities(), capability) {
			return rights{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "this version knows no capability %q; %s wants: %s", capability, m.Name, list(all.capabilities))
		}
		// What has never run has not said what it wants.
		if m.Version != "" && !slices.Contains(all.capabilities, capability) {
			return rights{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s does not ask for %s; it wants: %s", m.Name, capability, list(all.capabilities))
		}
	}
	for _, name := range g.Env {
		if pluginhost.Withheld(name) {
			return rights{}, pluginsdk.Errorf(pluginsdk.CodeDenied, "%s is the daemon's own and is given to no plugin", name)
		}
		if !slices.Contains(all.env, name) {
			return rights{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s does not ask for the environment variable %s; it wants: %s", m.Name, plain(name, shortText), list(all.env))
		}
	}
	return g.of(all), nil
}

// Grant gives a plugin rights that it asks for.
func (o *Operator) Grant(ctx context.Context, name string, grants Grants) error {
	row, err := o.plugin(ctx, name)
	if err != nil {
		return err
	}
	if grants.empty() {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "name what is to be granted, or --all; %s lacks: %s", name, missing(row))
	}
	var added, left rights
	err = o.edit(ctx, name, "plugin.grant", func(row *ledger.Plugin) (string, error) {
		asks := row.Manifest
		asks.Name = name
		given, err := grants.resolve(asks)
		if err != nil {
			return "", err
		}
		if added = given.minus(rightsOf(*row)); added.none() {
			return "", errUnchanged
		}
		give(row, rightsOf(*row).plus(added))
		left = missing(*row)
		return added.String(), nil
	})
	if errors.Is(err, errUnchanged) {
		o.say("%s has that already. It has: %s.", name, rightsOf(row))
		return nil
	}
	if err != nil {
		return err
	}
	o.say("%s was granted %s; %s.", name, added, o.when())
	if !left.none() {
		o.say("It also wants, and has not: %s.", left)
	}
	return nil
}

// Revoke takes rights back, whether the plugin asks for them or not.
func (o *Operator) Revoke(ctx context.Context, name string, grants Grants) error {
	row, err := o.plugin(ctx, name)
	if err != nil {
		return err
	}
	if grants.empty() {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "name what is to be taken back, or --all; %s has: %s", name, rightsOf(row))
	}
	var gone rights
	err = o.edit(ctx, name, "plugin.revoke", func(row *ledger.Plugin) (string, error) {
		has := rightsOf(*row)
		gone = grants.of(has)
		if stray := gone.minus(has); !stray.none() {
			return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s does not have %s; it has: %s", name, stray, has)
		}
		if gone.none() {
			return "", errUnchanged
		}
		give(row, has.minus(gone))
		return gone.String(), nil
	})
	if errors.Is(err, errUnchanged) {
		o.say("%s has nothing that could be taken back.", name)
		return nil
	}
	if err != nil {
		return err
	}
	o.say("%s was taken from %s; %s.", gone, name, o.when())
	return nil
}

// give makes rights those that a plugin has.
func give(row *ledger.Plugin, r rights) {
	row.Granted, row.GrantedEnv = r.capabilities, r.env
}

// hint is the command that gives what is missing.
func hint(name string, left rights) string {
	command := "harness plugin grant " + name
	for _, capability := range left.capabilities {
		command += " " + string(capability)
	}
	if len(left.env) > 0 {
		command += " --env " + strings.Join(left.env, ",")
	}
	return fmt.Sprintf("`%s`", command)
}
