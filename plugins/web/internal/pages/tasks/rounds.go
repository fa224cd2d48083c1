package tasks

import (
	"slices"
	"strconv"
	"strings"

	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// round is one look at the work: who said what of it, in order.
type round struct {
	number, iteration int
	answers           []pluginsdk.TaskAnswer
	pieces            int      // of evidence
	silent            []string // who was told of it, and had nothing to say
}

// roundsOf are the rounds of a task, the latest first.
func roundsOf(answers []pluginsdk.TaskAnswer) (rounds []round) {
	for _, answer := range answers {
		if len(rounds) == 0 || rounds[0].number != answer.Round || rounds[0].iteration != answer.Iteration {
			rounds = slices.Insert(rounds, 0, round{number: answer.Round, iteration: answer.Iteration})
		}
		r := &rounds[0]
		if answer.Author == "" && answer.Feedback == "" && len(answer.Evidence) == 0 && quiet(answer.Answer) {
			if !slices.Contains(r.silent, answer.Plugin) {
				r.silent = append(r.silent, answer.Plugin)
			}
			continue
		}
		r.answers = append(r.answers, answer)
		r.pieces += len(answer.Evidence)
	}
	return slices.DeleteFunc(rounds, func(r round) bool { return len(r.answers) == 0 })
}

// quiet reports whether an answer says nothing of the work.
func quiet(answer string) bool {
	return answer == "" || answer == "told" || answer == string(pluginsdk.HandoverDone)
}

// chosen is the number of the round whose evidence is shown: the one that was asked for, or
// the latest that has some.
func chosen(rounds []round, asked string) int {
	if number, err := strconv.Atoi(asked); err == nil {
		return number
	}
	if i := slices.IndexFunc(rounds, func(r round) bool { return r.pieces > 0 }); i >= 0 {
		return rounds[i].number
	}
	return 0
}

// verdict is an answer in words, with its tone.
func verdict(answer pluginsdk.TaskAnswer) (ui.Tone, string) {
	switch answer.Answer {
	case string(pluginsdk.VerdictAccept):
		return ui.Good, "accepted"
	case string(pluginsdk.VerdictReject):
		return ui.Bad, "rejected"
	case string(pluginsdk.HandoverAgain):
		return ui.Busy, "to be looked at again"
	case string(pluginsdk.HandoverWait):
		return ui.Wait, "waits for a person"
	case string(pluginsdk.HandoverDone):
		return ui.Good, "handed over"
	case "passed":
		return ui.Wait, "passed over: it failed as often as it may"
	case "", "told":
		if answer.Author != "" {
			return ui.Busy, "had it go on"
		}
		if len(answer.Evidence) > 0 {
			return ui.Plain, "evidence"
		}
		return ui.Plain, "told"
	}
	return ui.Plain, answer.Answer
}

// The kinds of evidence that the page knows. Others are shown by what they have.
const (
	kindTree    = "tree"
	kindBase    = "base"
	kindPaths   = "paths"
	kindDiff    = "diff"
	kindPatch   = "patch-id"
	kindCommand = "command"
	kindAnswer  = "answer"
	kindVerdict = "verdict"
)

// kinds are the pieces of evidence of some kinds.
func kinds(evidence []pluginsdk.Evidence, wanted ...string) (found []pluginsdk.Evidence) {
	for _, e := range evidence {
		if slices.Contains(wanted, e.Kind) {
			found = append(found, e)
		}
	}
	return found
}

// others are the pieces that have no place of their own on the page.
func others(evidence []pluginsdk.Evidence) (found []pluginsdk.Evidence) {
	for _, e := range evidence {
		if !slices.Contains([]string{kindTree, kindBase, kindPaths, kindDiff, kindPatch, kindCommand, kindAnswer, kindVerdict}, e.Kind) {
			found = append(found, e)
		}
	}
	return found
}

// question is the name of one of a reviewer's questions, in words.
func question(name string) string {
	name = strings.ReplaceAll(name, "_", " ")
	if name == "" {
		return "Answer"
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

// replied is what was answered to it: yes, no or does not apply, and why.
func replied(e pluginsdk.Evidence) (tone ui.Tone, answer, why string) {
	answer, why, _ = strings.Cut(e.Output, ": ")
	switch answer {
	case "yes":
		tone = ui.Good
	case "no":
		tone = ui.Bad
	case "does_not_apply":
		answer = "does not apply"
	}
	return tone, ui.Cut(answer, 30), why
}
