package pluginsdk

import (
	"regexp"
	"strings"
)

var typedCommand = regexp.MustCompile(`^/([a-z][a-z0-9_-]*)(?:\s+([\s\S]*))?$`)

// ParseCommand reads a message that is a command a person typed: a slash, a
// name, and what follows it. A path such as /etc/hosts is not one.
func ParseCommand(content string) (name, body string, ok bool) {
	match := typedCommand.FindStringSubmatch(strings.TrimSpace(content))
	if match == nil {
		return "", "", false
	}
	return match[1], strings.TrimSpace(match[2]), true
}
