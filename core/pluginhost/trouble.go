package pluginhost

import (
	"log/slog"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// refusal is a reason not to start a plugin until its row, or its file, is
// another.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

func refused(format string, args ...any) error {
	return refusal{pluginsdk.Errorf(pluginsdk.CodeDenied, format, args...)}
}

// ownTrouble is a failure that is none of the plugin's: the database did not
// answer, or Harness itself is at fault.
type ownTrouble struct{ error }

func (o ownTrouble) Unwrap() error { return o.error }

// unready is the word of a plugin that lives: what it needs of the world is not there, a
// port, a network. It is tried again, and does not count towards a quarantine.
type unready struct{ error }

func (u unready) Unwrap() error { return u.error }

// guarded calls do. A panic in it is Harness's own trouble.
func guarded(log *slog.Logger, what string, do func() error) (err error) {
	fault := guard.Call(log, what, func() error {
		err = do()
		return nil
	})
	if fault != nil {
		return ownTrouble{fault}
	}
	return err
}
