package operate

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-706843ae/harness/core/registry"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Grant gives a plugin rights that it asks for.
func (o *Operator) Grant(ctx context.Context, want registry.GrantRequest) error {
	done, err := o.Plugins.Grant(ctx, Who, want)
	if err != nil {
		return err
	}
	if done.Changed.None() {
		o.say("%s has that already. It has: %s.", want.Name, registry.RightsOf(done.Plugin))
		return nil
	}
	if !done.Missing.None() {
		o.say("It also wants, and has not: %s.", done.Missing)
	}
	return o.applied(ctx, want.Name, fmt.Sprintf("%s was granted %s", want.Name, done.Changed))
}

// Revoke takes rights back, whether the plugin asks for them or not.
func (o *Operator) Revoke(ctx context.Context, want registry.GrantRequest) error {
	done, err := o.Plugins.Revoke(ctx, Who, want)
	if err != nil {
		return err
	}
	if done.Changed.None() {
		o.say("%s has nothing that could be taken back.", want.Name)
		return nil
	}
	return o.applied(ctx, want.Name, fmt.Sprintf("%s was taken from %s", done.Changed, want.Name))
}

// hint is the command that gives what is missing.
func hint(name string, left registry.Rights) string {
	return fmt.Sprintf("`%s`", registry.GrantCommand(name, left))
}

// Order moves plugins in the order in which their hooks are asked. The words are
// NAME before|after OTHER, or names, which are put into that order in the places
// that they have; the others stay where they are. CodeUnavailable: the order is stored,
// and the daemon has not taken it over in time.
func (o *Operator) Order(ctx context.Context, words []string) error {
	want := registry.OrderRequest{Names: words}
	if len(words) == 3 {
		switch words[1] {
		case "before":
			want = registry.OrderRequest{Name: words[0], Before: words[2]}
		case "after":
			want = registry.OrderRequest{Name: words[0], After: words[2]}
		}
	}
	order, err := o.Plugins.Order(ctx, Who, want)
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound && len(words) == 3 && want.Name == "" {
		err = fmt.Errorf("%w. One plugin is moved by NAME before OTHER, or NAME after OTHER", err)
	}
	if err != nil {
		return err
	}
	done := "The order is: " + strings.Join(order, ", ")
	followed, err := o.Plugins.FollowOrder(ctx)
	switch {
	case err != nil:
		return err
	case !followed:
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%s, but the daemon has not come so far yet; `harness plugin list` shows how its plugins do", done)
	case !o.Plugins.Running():
		o.say("%s; %s.", done, o.when())
	default:
		o.say("%s, and the daemon asks in it.", done)
	}
	return nil
}
