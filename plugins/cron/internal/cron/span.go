package cron

import (
	"strings"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
	"github.com/seed-706843ae/harness/pluginsdk"
)

var spanField = lazy.Regexp(`^(from|to)=(?:"([^"]*)"|'([^']*)'|(\S*))(?:\s+|$)`)

// withSpan takes the named options from=TIME and to=TIME from the beginning of a command, and puts them where
// backfill has them: NAME | FROM | TO. Only backfill has such options, and needs both.
func withSpan(body string) (string, error) {
	given := make(map[string]string)
	for match := spanField.FindStringSubmatch(body); match != nil; match = spanField.FindStringSubmatch(body) {
		given[match[1]] = strings.TrimSpace(match[2] + match[3] + match[4])
		body = body[len(match[0]):]
	}
	verb, _, _ := strings.Cut(body, " ")
	switch {
	case len(given) == 0:
		return body, nil
	case verb != "backfill":
		return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "from and to are for backfill, and not for %q", verb)
	case given["from"] == "":
		return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "from is missing: backfill needs a time from which on, and one up to which")
	case given["to"] == "":
		return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "to is missing: backfill needs a time from which on, and one up to which")
	}
	return body + " | " + given["from"] + " | " + given["to"], nil
}
