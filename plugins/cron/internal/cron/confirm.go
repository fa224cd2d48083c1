package cron

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// powers is a checksum of a job that may cost or do more than others: by a command, a model, a permission
// mode, tools, or a file that it looks at. The prompt that they are for, and the cap, are in it too: who may change those uses them.
// Empty: the job may do no more than others.
func powers(spec pluginsdk.CronSpec) string {
	reads := strings.HasPrefix(spec.Trigger, filePrefix)
	if spec.When == "" && spec.Model == "" && spec.PermissionMode == "" && len(spec.Tools) == 0 && !reads {
		return ""
	}
	of := []any{spec.When, spec.Model, spec.PermissionMode, spec.Tools, spec.Prompt, spec.CostCapUSD}
	if reads {
		of = append(of, spec.Trigger)
	}
	encoded, _ := json.Marshal(of) //nolint:errchkjson // strings and a number
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:sumBytes])
}

// sumBytes is how many bytes of a checksum of a job are kept.
const sumBytes = 8

// confirmed reports whether an operator has set, or confirmed, what a job may do beyond others. Its row
// may have been written by anybody: a tool, the API, SQL.
func confirmed(job pluginsdk.CronJob) bool {
	of := powers(job.Spec)
	return of == "" || of == noteOf(job).Confirmed
}

// unconfirmedWords say what is to be done about a job that is not confirmed.
func unconfirmedWords(spec pluginsdk.CronSpec) string {
	return unconfirmedBy("/cron show "+spec.Name, "/cron confirm "+spec.Name)
}

func unconfirmedBy(show, confirm string) string {
	return "its when, model, permission_mode, tools or file, or the prompt that they are for, were not set by an operator: look at them with " + show + ", then " + confirm
}

// changedWords are what the audit log says of a job of which an operator has changed what only operators change.
func changedWords(before, now pluginsdk.CronSpec) string {
	var changes []string
	note := func(name, from, to string) {
		if from != to {
			changes = append(changes, fmt.Sprintf("%s from %.*q to %.*q", name, mostAudited, from, mostAudited, to))
		}
	}
	for _, f := range fields {
		if from, to := f.get(before), f.get(now); f.powerful(from) || f.powerful(to) || f.name == "cost_cap" {
			note(f.name, from, to)
		}
	}
	note("prompt", before.Prompt, now.Prompt)
	if len(changes) == 0 { // the command is given again after a crash, or says what was so already
		return "set the schedule " + now.Name + " to what it was already"
	}
	return "changed the schedule " + now.Name + ": " + strings.Join(changes, ", ")
}

// mostAudited is how much of a value the audit log repeats, in characters.
const mostAudited = 150

var seenVersion = lazy.Regexp(`^(.*?)\s*\|\s*([0-9a-f]{16})$`)

// seenIn takes a version from the end of NAME | VERSION; empty: there is none.
func seenIn(words string) (name, version string) {
	if match := seenVersion.FindStringSubmatch(words); match != nil {
		return match[1], match[2]
	}
	return words, ""
}

// confirm says that what a job may do beyond others is wanted: NAME | VERSION. VERSION is the one (schedules.Version) that who
// confirms has seen; without it they confirm what there is.
func (p *Plugin) confirm(ctx context.Context, by pluginsdk.Label, rest string) (made answered, err error) {
	rest, seen := seenIn(rest)
	job, err := p.named(ctx, rest)
	if err != nil {
		return made, err
	}
	if err := operator(by, "confirm"); err != nil {
		return made, err
	}
	if err := p.sameAs(ctx, job, seen); err != nil {
		return made, err
	}
	if confirmed(job) {
		made.reply = "There is nothing to confirm about " + job.Spec.Name + "."
		return made, nil
	}
	mind, err := p.checkPowers(ctx, job)
	if err != nil {
		return made, err
	}
	if job, err = p.keepConfirmed(ctx, job); err != nil {
		return made, err
	}
	became, with := "is confirmed, with", ""
	for _, f := range fields {
		if value := f.get(job.Spec); value != "" && f.powerful(value) {
			became += " " + f.name + " = " + value + ","
			with += fmt.Sprintf(" %s %.*q,", f.name, mostAudited, value)
		}
	}
	made.decided = []string{fmt.Sprintf("confirmed the schedule %s, with%s cost_cap %q, and the prompt %.*q", job.Spec.Name, with, fieldOf("cost_cap").get(job.Spec), mostAudited, job.Spec.Prompt)}
	made.reply, err = p.told(ctx, job, became+" and the prompt: "+clip(job.Spec.Prompt))
	made.reply += mind
	return made, err
}
