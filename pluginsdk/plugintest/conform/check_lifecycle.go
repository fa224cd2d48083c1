package conform

import (
	"context"
	"errors"

	"github.com/seed-706843ae/harness/pluginsdk/launch"
)

// checkLifecycle takes one process through its life, and back to active once.
func (x *exam) checkLifecycle(ctx context.Context) error {
	s, err := x.launch(ctx)
	if err != nil {
		return err
	}
	defer s.discard()
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"Start", s.Start}, {"Activate", s.Activate}, {"Deactivate", s.Deactivate},
		{"Activate after Deactivate", s.Activate}, {"Deactivate for the second time", s.Deactivate},
	} {
		if err := x.step(ctx, step.do); err != nil {
			x.block("lifecycle", step.name+" failed")
			if death := s.dead(); death != "" {
				err = errors.New(death)
			}
			return faultf("give it the settings and the environment that it needs (--settings, --env); make Deactivate take back all that Activate did",
				"%s: %v", step.name, err)
		}
	}
	return nil
}

func (x *exam) step(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, x.cfg.Patience+launch.DefaultStartTimeout)
	defer cancel()
	return do(ctx)
}

// checkHealth asks what the daemon's supervisor asks.
func (x *exam) checkHealth(ctx context.Context) error {
	s, err := x.borrow(ctx)
	if err != nil {
		return err
	}
	if err := x.step(ctx, s.Ping); err != nil {
		return faultf("serve grpc.health.v1.Health and answer SERVING for the service \"plugin\"", "%v", err)
	}
	return nil
}
