package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newWorkflowContinue() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "continue ID [WORDS...]",
		Aliases: []string{"resume"},
		Short:   "Have a workflow that waits or has stopped go on",
		Long: `Have a workflow that waits for a person, or was stopped, go on. Each limit can be raised
with that; WORDS are read by the agent that goes on. With --accept, what it waits with is
accepted as it is.`,
		Example: `  harness workflow continue 9f3c21 --more-rounds 2 "the tests need a lock"
  harness workflow continue 9f3c21 --cost 30
  harness workflow continue 9f3c21 --accept`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return continueWorkflow(cmd, args[0], args[1:]) },
	}
	addAddress(cmd)
	addThread(cmd)
	addTimeout(cmd)
	cmd.Flags().Int("more-rounds", 0, "so many more reviews of each batch may ask for changes")
	cmd.Flags().Int("more-redesigns", 0, "so many more times it may go back to the architect")
	cmd.Flags().Int("more-tries", 0, "so many more times the checks of each stage may fail")
	cmd.Flags().Float64("cost", 0, "what it may cost from now on in all, in US dollars")
	cmd.Flags().Bool("accept", false, "accept what it waits with as it is")
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		switch name { // as the command /workflow has them
		case "rounds", "redesigns", "tries":
			name = "more-" + name
		}
		return pflag.NormalizedName(name)
	})
	return cmd
}

func continueWorkflow(cmd *cobra.Command, part string, words []string) error {
	var options []string
	for _, one := range []struct{ flag, option string }{{"more-rounds", "rounds"}, {"more-redesigns", "redesigns"}, {"more-tries", "tries"}} {
		switch n, _ := cmd.Flags().GetInt(one.flag); {
		case n < 0:
			return fmt.Errorf("--%s: %d is not accepted; it is a number from 1", one.flag, n)
		case n > 0:
			options = append(options, one.option+"="+strconv.Itoa(n))
		}
	}
	switch cost, _ := cmd.Flags().GetFloat64("cost"); {
	case cost < 0:
		return fmt.Errorf("--cost: %v is not accepted; it is an amount in US dollars", cost)
	case cost > 0:
		options = append(options, "cost="+strconv.FormatFloat(cost, 'f', -1, 64))
	}
	if accept, _ := cmd.Flags().GetBool("accept"); accept {
		options = append(options, "accept=yes")
	}
	_, id, err := aWorkflow(cmd.Context(), cmd, part)
	if err != nil {
		return err
	}
	if text := strings.TrimSpace(strings.Join(words, " ")); text != "" {
		options = append(options, apart(text))
	}
	return giveWorkflow(cmd, append([]string{"continue", id}, options...)...)
}
