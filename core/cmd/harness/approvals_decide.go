package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/askview"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func newApprovalsAllow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "allow ID",
		Short: "Allow what is asked, once or from now on",
		Long: `Allow what is asked, and show what that is. Without --rule it is allowed once; a rule
lasts, for the thread that it was asked in, until it is revoked: harness approvals show
lists the rules that are offered, and what each allows.`,
		Example: `  harness approvals allow 9f3c21
  harness approvals allow 9f3c21 --rule command`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			choice := "allow"
			if rule, _ := cmd.Flags().GetString("rule"); rule != "" {
				choice = askview.RulePrefix + strings.TrimPrefix(rule, askview.RulePrefix)
			}
			return decideApproval(cmd, args[0], client.ApprovalAnswer{Choice: choice})
		},
	}
	addAddress(cmd)
	cmd.Flags().String("rule", "", "allow it from now on, by the rule of this name")
	cmd.Flags().Bool("json", false, "print the approval as JSON")
	return cmd
}

func newApprovalsDeny() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "deny ID [WORDS...]",
		Short: "Deny what is asked, with words to the agent",
		Example: `  harness approvals deny 9f3c21
  harness approvals deny 9f3c21 "use make clean instead"`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return decideApproval(cmd, args[0], client.ApprovalAnswer{Choice: "deny", Words: strings.Join(args[1:], " ")})
		},
	}
	addAddress(cmd)
	cmd.Flags().Bool("json", false, "print the approval as JSON")
	return cmd
}

func newApprovalsAnswer() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "answer ID ANSWER...",
		Short: "Answer the agent's questions",
		Long: `Answer the agent's questions: one ANSWER for each, in their order. It is the number of
an option, several with commas where several may be taken, the option itself, or your
own words.`,
		Example: `  harness approvals answer 9f3c21 2
  harness approvals answer 9f3c21 1,3 "only on Linux"`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return answerApproval(cmd, args[0], args[1:]) },
	}
	addAddress(cmd)
	cmd.Flags().Bool("json", false, "print the approval as JSON")
	return cmd
}

func answerApproval(cmd *cobra.Command, part string, words []string) error {
	api, approval, err := anApproval(cmd.Context(), cmd, part)
	if err != nil {
		return err
	}
	questions := approval.Questions
	switch {
	case len(questions) == 0:
		return fmt.Errorf("it asks no question but whether the agent may; harness approvals allow %s, or deny", approval.ID)
	case len(questions) == 1:
		words = []string{strings.Join(words, " ")}
	case len(words) != len(questions):
		return fmt.Errorf("there are %d questions, and these are %d answers; harness approvals show %s", len(questions), len(words), approval.ID)
	}
	answers := make([]pluginsdk.QuestionAnswer, len(questions))
	for n, question := range questions {
		if answers[n], err = terminal.AnswerTo(question, words[n]); err != nil {
			return fmt.Errorf("answer %d: %w", n+1, err)
		}
	}
	return handIn(cmd, api, approval, client.ApprovalAnswer{Answers: answers})
}

// decideApproval takes one of the choices of the approval that a part of its id names.
func decideApproval(cmd *cobra.Command, part string, answer client.ApprovalAnswer) error {
	api, approval, err := anApproval(cmd.Context(), cmd, part)
	if err != nil {
		return err
	}
	offered := make([]string, len(approval.Choices))
	for n, choice := range approval.Choices {
		offered[n] = choice.ID
	}
	if !slices.Contains(offered, answer.Choice) {
		hint := "it offers " + strings.Join(offered, ", ")
		if len(approval.Questions) > 0 {
			hint = "it is a question: harness approvals answer " + approval.ID + " ANSWER"
		}
		return fmt.Errorf("%s is no answer to %s; %s", answer.Choice, approval.ID, hint)
	}
	return handIn(cmd, api, approval, answer)
}

// handIn hands an answer in, and prints what it is an answer to.
func handIn(cmd *cobra.Command, api *client.Client, approval pluginsdk.Approval, answer client.ApprovalAnswer) error {
	answer.Author = terminal.Author()
	decided, err := api.Decide(cmd.Context(), approval.ID, answer)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printJSONValue(out, decided)
	}
	words := "Denied"
	switch {
	case decided.State == pluginsdk.ApprovalAllowed && decided.Kind == pluginsdk.ApprovalQuestion:
		words = "Answered"
	case decided.State == pluginsdk.ApprovalAllowed && strings.HasPrefix(decided.Choice, askview.RulePrefix):
		words = "Allowed"
	case decided.State == pluginsdk.ApprovalAllowed:
		words = "Allowed, once"
	}
	if approval.State != pluginsdk.ApprovalOpen { // the same answer once more does nothing
		words = "Answered so before: " + strings.ToLower(words)
	}
	style := terminal.StyleFor(out, os.LookupEnv)
	fmt.Fprintf(out, "%s: %s\n", words, style.Bold(terminal.TitleOf(approval)))
	for _, line := range terminal.Asked(style, approval, "") {
		fmt.Fprintln(out, line)
	}
	for _, choice := range approval.Choices {
		if choice.ID == decided.Choice && choice.Rule != "" {
			fmt.Fprintf(out, "From now on, unasked: %s\n", terminal.OneLine(choice.Rule))
		}
	}
	if decided.RuleID != "" {
		fmt.Fprintf(out, "harness approvals revoke %s takes that back.\n", terminal.Clean(decided.RuleID))
	}
	return nil
}
