package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/seed-706843ae/harness/plugins/web/internal/access"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// commandPatience is how long an operation waits for the command that it has typed; see Config.Patience.
const commandPatience = 20 * time.Second

// typeCommand types a command in the primary thread, in the name of who calls, and waits until it was carried out.
// For plugins that take changes from people alone, and have no other way to be told of one: the command and its
// answer stand in that thread. Such a command concerns no conversation (CommandSpec.Beside), and does not wait for what
// works there; who waits for too long all the same is told that the command is still to be carried out (409). absent says what is to be done where no plugin answers the command. A command that failed is an
// error of the type refused.
func (h *handlers) typeCommand(ctx context.Context, operation, command, absent string, refused func(string, ...error) huma.StatusError) error {
	said, err := h.host.Messages.Submit(ctx, &pluginsdk.SubmitMessageRequest{Submission: pluginsdk.Submission{
		Source: "web", Key: rand.Text(), Author: author(ctx, somebody), Scope: access.From(ctx).Scope(), Content: command,
	}})
	if err != nil {
		return h.fail(operation, err)
	}
	patient, done := context.WithTimeout(ctx, h.patience)
	defer done()
	answer, err := h.host.Runs.Wait(patient, &pluginsdk.WaitRunRequest{ID: said.Accepted.RunID})
	switch {
	case err != nil && ctx.Err() == nil && (patient.Err() != nil || pluginsdk.CodeOf(err) == pluginsdk.CodeDeadline):
		return huma.Error409Conflict("the command " + command + " has not been carried out within " + h.patience.String() + ", and will be as soon as its plugin has time: do not send it again. Its answer will stand in the primary thread")
	case err != nil:
		return h.fail(operation, err)
	}
	for _, outcome := range answer.Run.Outcomes {
		if outcome.Error != "" {
			return refused(outcome.Error)
		}
	}
	if answer.Run.State != pluginsdk.RunSucceeded || len(answer.Run.Outcomes) == 0 || !answer.Run.Outcomes[0].Handled {
		return huma.Error409Conflict("the command " + command + " was not carried out: " + cmp.Or(answer.Run.Error, absent))
	}
	return nil
}
