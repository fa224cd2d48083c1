package approvals

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// maxResumed bounds what a prompt repeats of one call, in bytes.
const maxResumed = 8 << 10

// Answered is what a run's next attempt is told: what it has asked that was answered, and
// that the agent was not given. The agent's process that asked is gone, and what it asked is
// not in its transcript. Empty: there is nothing.
func (a *Approvals) Answered(ctx context.Context, runID string) (string, error) {
	known, err := a.ofRun(ctx, runID)
	if err != nil {
		return "", err
	}
	var lines []string
	for _, one := range known {
		if one.SpentAt.IsZero() && one.State != pluginsdk.ApprovalOpen && one.State != pluginsdk.ApprovalWithdrawn {
			lines = append(lines, "- "+answeredLine(one.Approval))
		}
	}
	if len(lines) == 0 {
		return "", nil
	}
	return "# Answered\n\nYou asked, and had to be stopped until there was an answer. What you asked has not been done.\n\n" + strings.Join(lines, "\n"), nil
}

func answeredLine(a pluginsdk.Approval) string {
	asked := fmt.Sprintf("You wanted to call %s", a.Tool)
	if len(a.Input) > 0 {
		asked += " with " + bounded(string(a.Input), maxResumed)
	} else {
		asked += " (" + a.Title + ")"
	}
	switch {
	case a.State != pluginsdk.ApprovalAllowed:
		return asked + ". " + denial(a)
	case a.Kind == pluginsdk.ApprovalQuestion:
		var answers []string
		for i, answer := range a.Answers {
			if i < len(a.Questions) {
				answers = append(answers, fmt.Sprintf("%q: %s", a.Questions[i].Text, answerText(answer)))
			}
		}
		return fmt.Sprintf("You asked, and %s answered. %s. Do not ask again.", named(a.Author, ""), strings.Join(answers, "; "))
	case a.Kind == pluginsdk.ApprovalPlan:
		return named(a.Author, "") + " approved your plan: call " + toolPlan + " again with the same plan, and carry it out."
	}
	text := asked + ". " + named(a.Author, "") + " allowed it: make exactly the same call again, once."
	if a.Words != "" {
		text += " They say: " + a.Words
	}
	return text
}
