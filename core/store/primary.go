package store

import (
	"context"

	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// The primary thread is the one with this source and source id.
const (
	primarySource = "web"
	primaryID     = "primary"
)

// EnsurePrimary returns the primary thread and makes it when there is none.
func (s *Store) EnsurePrimary(ctx context.Context) (pluginsdk.Thread, error) {
	t, err := s.newThread(pluginsdk.NewThread{Source: primarySource, SourceID: primaryID, Name: "Primary"})
	if err != nil {
		return pluginsdk.Thread{}, err
	}
	t.Kind = pluginsdk.ThreadPrimary
	t, _, err = s.insertThreadOnce(ctx, t)
	return t, err
}

// Primary returns the primary thread, or CodeNotFound before the first start.
func (s *Store) Primary(ctx context.Context) (pluginsdk.Thread, error) {
	t, err := s.threadBySource(ctx, primarySource, primaryID)
	if ent.IsNotFound(err) {
		return pluginsdk.Thread{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no primary thread yet; start the daemon once")
	}
	return t, wrap("read the primary thread", err)
}
