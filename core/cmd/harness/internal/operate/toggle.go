package operate

import (
	"context"
	"fmt"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/registry"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Enable is TurnOn, and says how the plugin does once the daemon has followed.
// CodeUnavailable: it is turned on, and does not serve.
func (o *Operator) Enable(ctx context.Context, name string, force bool) error {
	if err := o.TurnOn(ctx, name, force); err != nil {
		return err
	}
	return o.carriedOut(ctx, name, name+" is enabled")
}

// TurnOn turns a plugin on and ends its quarantine. Two plugins that have a
// command or a source of the same name need force.
func (o *Operator) TurnOn(ctx context.Context, name string, force bool) error {
	done, err := o.Plugins.Enable(ctx, Who, registry.EnableRequest{Name: name, Force: force})
	if err != nil {
		return err
	}
	o.lacks(done)
	return nil
}

// lacks says how to grant what a plugin wants and has not.
func (o *Operator) lacks(done registry.Outcome) {
	if !done.Missing.None() {
		o.say("It lacks what it wants. To grant it: %s", hint(done.Plugin.Name, done.Missing))
	}
	o.holdsUp(done.Plugin)
}

// holdsUp warns of work that waits for the grants of a plugin.
func (o *Operator) holdsUp(row ledger.Plugin) {
	if hooks, lacks := registry.HeldUp(row); len(hooks) > 0 {
		o.say("! As long as it lacks %s, work waits for it: it must not be passed over in %s. To grant that: %s", lacks, list(hooks), hint(row.Name, lacks))
	}
}

// Disable turns a plugin off, and says so when it has ended.
func (o *Operator) Disable(ctx context.Context, name string) error {
	if _, err := o.Plugins.Disable(ctx, Who, name); err != nil {
		return err
	}
	if err := o.Plugins.LetGo(ctx, name); err != nil {
		return fmt.Errorf("%s is disabled: %w", name, err)
	}
	if o.Plugins.Running() {
		o.say("%s is disabled, and has ended.", name)
	} else {
		o.say("%s is disabled; %s.", name, o.when())
	}
	return nil
}

// SettingsChanged says what has come of new settings. CodeUnavailable: they are stored,
// and the plugin does not serve with them.
func (o *Operator) SettingsChanged(ctx context.Context, name string) error {
	done := fmt.Sprintf("The settings of %s are changed", name)
	if !o.Plugins.Running() {
		o.say("%s; they hold from the daemon's next start on.", done)
		return nil
	}
	row, err := o.Plugins.Plugin(ctx, name)
	if err != nil || o.rests(row, done) {
		return err
	}
	followed, err := o.Plugins.Follow(ctx, name)
	if err != nil {
		return err
	}
	if followed.Standing == registry.Refused {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the settings of %[1]s are stored, but %[2]s. It is not given them again, also when it is restarted: "+
			"`harness plugin settings set %[1]s KEY=VALUE` or `unset` puts them right, `harness plugin settings revert %[1]s` goes back", name, plain(followed.Plugin.LastError, longText))
	}
	return o.followed(followed, done)
}

// Attach makes the daemon use the process that serves a plugin under a debugger; to
// says where.
func (o *Operator) Attach(ctx context.Context, decide *registry.Registry, name string, pid int, to string) error {
	if _, err := decide.Attach(ctx, Who, name, to); err != nil {
		return err
	}
	when := o.when()
	if !o.Plugins.Running() {
		when += ", with `harness up --dev`"
	}
	o.say("%s is to be process %d; %s.", name, pid, when)
	return nil
}

// Detach lets the daemon start a plugin itself again.
func (o *Operator) Detach(ctx context.Context, decide *registry.Registry, name string) error {
	if _, err := decide.Detach(ctx, Who, name); err != nil {
		return err
	}
	o.say("%s is started by the daemon again; %s.", name, o.when())
	return nil
}
