package cron

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

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
