// Package rules says what a person may allow lastingly of what the agent asks about, and
// whether a call is within what was allowed. It keeps nothing, and reads nothing but the
// symlinks of the paths that a call names.
//
// Whoever gets past this package runs commands that nobody has seen. So everything is
// refused that is not understood completely: an input with a field that the package does
// not know, a command that two shells could read in two ways, an option that is not in the
// table. What is refused is asked, which costs a person a moment.
//
// What it cannot see, and people should know who allow:
//   - Between the look at a path and its use, a symlink can be put in its place.
//   - A file with two names (a hard link) is taken for the one that is used.
//   - A program that runs what is in the directory (make, npm, go test, cargo, pytest, and
//     git with its hooks and filters) runs whatever has been written there. A leave to
//     write files together with one to run tests is a leave to run code.
//   - Aliases, functions and PATH are the shell's. Those that decide them (.bashrc, .envrc
//     and the like) are hidden files, which no rule lets the agent write.
package rules

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// The kinds of rule.
const (
	// KindCall allows exactly this input in this directory.
	KindCall = "call"
	// KindCommand allows the program and subcommand of a Bash call in this directory, with
	// the options and operands that the table has for them.
	KindCommand = "command"
	// KindDirectory allows a file tool below a directory.
	KindDirectory = "directory"
	// KindHost allows WebFetch of a scheme and host.
	KindHost = "host"
	// KindTool allows a tool with any input.
	KindTool = "tool"
)

// Call is a call of a tool that the agent asks about.
type Call struct {
	Tool  string
	Input json.RawMessage
	// Cwd is where the agent works, absolute. The shell of a Bash call has to be there too:
	// the CLI keeps a `cd` for the next call unless CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR
	// is set, and then relative paths are not what they are taken for here.
	Cwd string
	// Guarded says that the CLI asks because the call changes what decides about
	// permissions. Nothing lasting is offered for it, and no rule allows it.
	Guarded bool
}

// leave is what may be allowed lastingly of a call: a rule's value, and it in words.
type leave struct {
	value string
	text  string
}

// kinds are the kinds of rule, narrowest first, each with what it could allow of a call.
var kinds = []struct {
	kind   string
	leaves func(Call, map[string]any) []leave
}{
	{KindCall, exactly},
	{KindCommand, commands},
	{KindDirectory, directories},
	{KindHost, hosts},
	{KindTool, anyInput},
}

// Offers returns what may be allowed lastingly of a call, narrowest first: rules with
// Tool, Kind, Value and Text. Each of them allows the call. There are none for a guarded
// call, nor for one that cannot be read.
func Offers(call Call) []pluginsdk.ApprovalRule {
	fields, ok := read(call)
	if !ok || call.Guarded {
		return nil
	}
	var offers []pluginsdk.ApprovalRule
	for _, kind := range kinds {
		for _, leave := range kind.leaves(call, fields) {
			offers = append(offers, pluginsdk.ApprovalRule{Tool: call.Tool, Kind: kind.kind, Value: leave.value, Text: leave.text})
		}
	}
	return offers
}

// Allows reports whether a rule allows a call. A rule is its Tool, Kind and Value: whose
// thread it is of and whether it was revoked is for the caller to know. The paths are
// looked at anew, so that a symlink that has changed since the offer changes the answer.
// An unknown kind, a value that no offer has and a call that cannot be read allow nothing.
func Allows(rule pluginsdk.ApprovalRule, call Call) bool {
	_, ok := Find([]pluginsdk.ApprovalRule{rule}, call)
	return ok
}

// Find returns the first of the rules that allows a call, as Allows does. It reads the
// call once for all of them.
func Find(rules []pluginsdk.ApprovalRule, call Call) (pluginsdk.ApprovalRule, bool) {
	fields, ok := read(call)
	if !ok || call.Guarded {
		return pluginsdk.ApprovalRule{}, false
	}
	looked := map[string][]leave{} // what the call's leaves of a kind are
	for _, rule := range rules {
		if rule.Tool != call.Tool {
			continue
		}
		allowed := false
		if rule.Kind == KindDirectory {
			allowed = directoryAllows(rule.Value, call, fields)
		} else {
			leaves, ok := looked[rule.Kind]
			if !ok {
				leaves = leavesOf(rule.Kind, call, fields)
				looked[rule.Kind] = leaves
			}
			allowed = slices.ContainsFunc(leaves, func(l leave) bool { return l.value == rule.Value })
		}
		if allowed {
			return rule, true
		}
	}
	return pluginsdk.ApprovalRule{}, false
}

// leavesOf returns what a kind of rule could allow of a call; nothing, of an unknown kind.
func leavesOf(kind string, call Call, fields map[string]any) []leave {
	for _, k := range kinds {
		if k.kind == kind {
			return k.leaves(call, fields)
		}
	}
	return nil
}

// Digest returns the same 64 hexadecimal digits for the same call: of the tool and its
// input, without what the agent says of a Bash call (`description`). Neither the order of
// fields nor the way in which a character is escaped matters; of a field that is there
// twice the last counts, as the CLI reads it. Numbers are compared as they are written.
// Where the agent works is not part of it. An input that cannot be read has a digest too:
// that of its bytes.
func Digest(call Call) string {
	content := canonical(call)
	if content == nil {
		// The canonical form begins with a bracket, so that none has this beginning.
		content = append([]byte("unreadable "+call.Tool+"\x00"), call.Input...)
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// toolShape matches the names that tools have.
var toolShape = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// read returns the fields of a call's input, under their exact names: encoding/json takes
// `Command` for `command` when it fills in a struct, which the CLI does not. ok is false
// when the input is not one JSON object, when it is huge, and when it has text that is no
// valid Unicode: such text reads the same as other text, but is not.
func read(call Call) (fields map[string]any, ok bool) {
	if !toolShape.MatchString(call.Tool) || canonical(call) == nil {
		return nil, false
	}
	return decode(call.Input)
}

// canonical returns a call as bytes that are the same for the same call, or nil when it
// cannot be read.
func canonical(call Call) []byte {
	fields, ok := decode(call.Input)
	if !ok {
		return nil
	}
	if call.Tool == "Bash" {
		delete(fields, "description")
	}
	content, err := json.Marshal([]any{call.Tool, fields})
	// The decoder puts U+FFFD wherever bytes or a half of a surrogate pair are invalid.
	if err != nil || bytes.ContainsRune(content, utf8.RuneError) {
		return nil
	}
	return content
}

// maxInput is the length, in bytes, of the longest input that is read.
const maxInput = 1 << 20

func decode(input json.RawMessage) (map[string]any, bool) {
	if len(input) > maxInput {
		return nil, false
	}
	decoder := json.NewDecoder(bytes.NewReader(input))
	decoder.UseNumber()
	var fields map[string]any
	if err := decoder.Decode(&fields); err != nil || fields == nil {
		return nil, false
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, false
	}
	return fields, true
}

// known reports whether an input has no other fields than these, none of which is an
// object. A list is left to those who read that field.
func known(fields map[string]any, names ...string) bool {
	for name, value := range fields {
		if _, object := value.(map[string]any); object || !slices.Contains(names, name) {
			return false
		}
	}
	return true
}

// unrepeatable are the tools that are not allowed lastingly, not even with the same input:
// those that put something to a person, and those that begin an agent of their own, whose
// calls are asked one by one.
var unrepeatable = []string{"AskUserQuestion", "ExitPlanMode", "EnterPlanMode", "Agent", "Task"}

// exactly offers a call of any other tool: its digest, the directory in which the agent
// works, and of a file tool the file that its path leads to.
func exactly(call Call, fields map[string]any) []leave {
	cwd, ok := realDirectory(call.Cwd)
	if !ok || slices.Contains(unrepeatable, call.Tool) {
		return nil
	}
	value := struct {
		Digest string `json:"digest"`
		Cwd    string `json:"cwd"`
		Target string `json:"target,omitempty"`
	}{Digest: Digest(call), Cwd: cwd}
	subject := ""
	switch tool, isFile := fileTools[call.Tool]; {
	case isFile:
		if value.Target, ok = tool.target(cwd, fields); !ok {
			return nil
		}
		subject = value.Target
	case call.Tool == "Bash":
		subject, _ = fields["command"].(string)
	case call.Tool == "WebFetch":
		subject, _ = fields["url"].(string)
	}
	text := "exactly this call of " + call.Tool
	if subject != "" {
		text += fmt.Sprintf(" (`%s`)", shown(subject))
	}
	return []leave{{encode(value), text + ", in " + shown(cwd)}}
}

// serverTool matches the names of tools of MCP servers.
var serverTool = regexp.MustCompile(`^mcp__[A-Za-z0-9-]+(_[A-Za-z0-9-]+)*__[A-Za-z0-9][A-Za-z0-9_-]*$`)

// anyInput offers the tool itself: one of an MCP server, and the search on the web.
func anyInput(call Call, _ map[string]any) []leave {
	if call.Tool != "WebSearch" && !serverTool.MatchString(call.Tool) {
		return nil
	}
	return []leave{{"", call.Tool + " with any input"}}
}

// encode returns a value of strings as JSON. It is the same for the same value.
func encode(value any) string {
	content, err := json.Marshal(value)
	if err != nil {
		panic(err) // strings and lists of them can be encoded
	}
	return string(content)
}

// shownLength is how many characters of a text are shown to a person.
const shownLength = 160

// shown returns a text that a person can be shown in a line: characters that are not seen,
// or change how others are seen, are escaped, and of a long one the middle is left out.
func shown(text string) string {
	if runes := []rune(text); len(runes) > shownLength {
		half := shownLength / 2
		text = string(runes[:half]) + " … " + string(runes[len(runes)-half:])
	}
	var line strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			line.WriteRune(r)
		} else {
			fmt.Fprintf(&line, "\\u%04x", r)
		}
	}
	return line.String()
}
