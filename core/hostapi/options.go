package hostapi

import (
	"context"
	"math"
	"strings"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// mayRun refuses the options of a submission that no run can have (CodeInvalid, naming the field),
// and those that are not for who submits it (CodeDenied). It returns what the run may do beyond
// its thread.
func (s messages) mayRun(ctx context.Context, submission pluginsdk.Submission, by ledger.By) (permits []permit, err error) {
	o := submission.Options
	if o == nil {
		return nil, nil
	}
	if _, _, command := pluginsdk.ParseCommand(submission.Content); command {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "options: content is read as a command, which has none; if it is none, say it without the slash that it begins with")
	}
	if by.RunID != "" || by.TaskID != "" {
		return nil, pluginsdk.Errorf(pluginsdk.CodeDenied, "options: this comes from %s; how a message is run, a plugin says only of what it submits of its own accord", by)
	}
	if err := s.checkOptions(*o); err != nil {
		return nil, err
	}
	thread, err := s.threadOr(ctx, submission.ThreadID)
	if err != nil {
		return nil, err
	}
	if o.Session == pluginsdk.SessionFresh {
		if err := s.mayChange(thread.Source, nil); err != nil {
			return nil, pluginsdk.Errorf(pluginsdk.CodeDenied, "options.session: a fresh session becomes the thread's; %w", err)
		}
	}
	if mode := o.PermissionMode; mode != "" && mode != thread.PermissionMode && mode != "plan" { // plan is the least there is
		permits = append(permits, permit{"options.permissionMode", thread.PermissionMode, mode})
	}
	if len(o.AllowedTools) > 0 {
		permits = append(permits, permit{"options.allowedTools", "", strings.Join(o.AllowedTools, " ")})
	}
	if len(permits) > 0 && !s.Grants.Granted(s.plugin, pluginsdk.CapThreadsAdmin) {
		return nil, pluginsdk.Errorf(pluginsdk.CodeDenied, "%s: a run may do no more than its thread; %w", permits[0].field, lacks(s.plugin, pluginsdk.CapThreadsAdmin))
	}
	return permits, nil
}

func (s messages) checkOptions(o pluginsdk.RunOptions) error {
	err := checkLengths(
		length{"options.purpose", len(o.Purpose), maxWord},
		length{"options.model", len(o.Model), maxWord},
		length{"options.effort", len(o.Effort), maxWord},
		length{"options.allowedTools, disallowedTools", len(strings.Join(o.AllowedTools, "")) + len(strings.Join(o.DisallowedTools, "")), maxTurnTools},
	)
	switch {
	case err != nil:
		return err
	case o.Session != "" && o.Session != pluginsdk.SessionFresh && o.Session != pluginsdk.SessionThread:
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "options.session: %q is neither %s nor %s", o.Session, pluginsdk.SessionFresh, pluginsdk.SessionThread)
	case o.Timeout < 0 || o.Timeout > maxTurnTimeout:
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "options.timeout: %s is not between 0 (the daemon's) and %s", o.Timeout, maxTurnTimeout)
	case o.CostCapUSD < 0 || math.IsNaN(o.CostCapUSD) || math.IsInf(o.CostCapUSD, 0):
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "options.costCapUsd: %v is not an amount", o.CostCapUSD)
	}
	return s.CheckPermissionMode(o.PermissionMode)
}
