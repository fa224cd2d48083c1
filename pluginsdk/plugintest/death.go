package plugintest

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Death says at which call of the host a plugin is killed.
type Death struct {
	Call int64 // 1: at its first call of the host
	// CarriedOut says that the host has done what was asked; the plugin dies before
	// it learns of it. Otherwise it dies before it can ask.
	CarriedOut bool
}

// Died reports whether a plugin that is served with ServeUntil has been killed.
func (p *Plugin) Died() bool { return p.death != nil && p.death.calls.Load() >= p.death.at.Call }

// death stands before the host: from the deadly call on, the plugin neither learns
// of anything nor asks for anything.
type death struct {
	at    Death
	calls atomic.Int64
}

func (d *death) intercept(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	call := d.calls.Add(1)
	if call < d.at.Call {
		return next(ctx, request)
	}
	if call == d.at.Call && d.at.CarriedOut {
		_, _ = next(ctx, request) // nobody learns of it
	}
	return nil, pluginsdk.Errorf(pluginsdk.CodeCancelled, "the plugin was killed") // not one that it would try again
}
