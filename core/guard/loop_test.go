package guard_test

import (
	"context"
	"testing"

	"github.com/seed-706843ae/harness/core/guard"
)

// A wake from before the loop began is not lost, and the loop is over when Stop returns.
func TestALoopIsWokenAndIsOverAfterStop(t *testing.T) {
	t.Parallel()
	var loop guard.Loop
	for range 3 {
		loop.Wake()
	}
	rounds, over := make(chan struct{}), false
	parent, cancel := context.WithCancel(t.Context())
	loop.Start(parent, func(ctx context.Context) {
		defer func() { over = true }()
		for {
			select {
			case <-loop.Woken():
				rounds <- struct{}{}
			case <-ctx.Done():
				return
			}
		}
	})
	cancel() // the end of the context that it was started with does not end it
	<-rounds
	loop.Wake()
	<-rounds
	select {
	case <-loop.Woken():
		t.Error("three wakes in a row were more than one")
	default:
	}
	if !loop.Stop() || !over {
		t.Error("the loop goes on after Stop")
	}
}

func TestALoopThatNeverBeganIsStopped(t *testing.T) {
	t.Parallel()
	var loop guard.Loop
	if loop.Stop() {
		t.Error("Stop reports a loop that was never started")
	}
}
