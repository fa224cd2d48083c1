package invoker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/seed-706843ae/harness/core/invoker/cli"
)

// By default the CLI reads settings from its working directory and from the home
// directory. When it runs as a session, it does not ask whether they can be trusted.
// Verified with 2.1.197, for files in the working directory:
//
//   - hooks in .claude/settings.json and .claude/settings.local.json run;
//   - an agent in .claude/agents with "permissionMode: bypassPermissions" uses
//     every tool unasked, and its own hooks run;
//   - as soon as ~/.claude.json calls the directory trusted, permissions.allow
//     counts, commands in the texts of .claude/commands run, and so does a plugin
//     that the settings name and that lies beside them (--add-dir would bring it
//     back even without a setting source);
//   - .mcp.json does not count, because of --strict-mcp-config.
//
// The agent can write to the working directory, so it could give itself every
// permission, or a web page could talk it into that. The same files in the home
// directory do the same; the operator wrote them for sessions that somebody watches.
// Therefore a session reads none of these sources (--setting-sources= leaves out .claude
// in both places, skills and commands included). It gets only the operator's settings
// about the account and those that take permissions away, and the working directory's
// CLAUDE.md. The CLI's managed settings, which the machine's administrator sets, hold in
// any case.

// handedOn are the operator's settings that sessions get unchanged. Of permissions,
// sandbox and env they get a part.
var handedOn = []string{
	// The account.
	"apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh", "forceLoginMethod", "forceLoginOrgUUID",
	"modelOverrides", // the names of the models in the operator's cloud
	// For how long the CLI keeps sessions, and so for how long they can be resumed.
	"cleanupPeriodDays",
}

// autoModeDisabled is what permissions.disableAutoMode is set to, beside what cli.Settings
// has: otherwise a model of the CLI's own would decide about commands instead of people, in
// plan mode that is entered during a session (2.1.197: `touch x` ran without a question).
var autoModeDisabled = json.RawMessage(`"disable"`)

// operator is what sessions get of the operator's own settings of the CLI, and what they
// get in any case.
type operator struct {
	settings json.RawMessage
	environ  []string // filtered as the daemon's own environment is
}

// settingsObject is a JSON object of the settings.
type settingsObject map[string]json.RawMessage

// configDir returns the directory of the CLI's user configuration.
func configDir(environment []string) string {
	if dir := lookup(environment, "CLAUDE_CONFIG_DIR"); dir != "" {
		return dir
	}
	return filepath.Join(lookup(environment, "HOME"), ".claude")
}

// readOperator reads the settings in a directory. A missing file is an empty one. One that
// cannot be read is an error: it may forbid something.
func readOperator(dir string) (operator, error) {
	path := filepath.Join(dir, "settings.json")
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		content, err = nil, nil
	}
	var o operator
	if err == nil {
		o, err = parseOperator(bytes.TrimPrefix(content, []byte("\uFEFF")))
	}
	if err != nil {
		return operator{}, fmt.Errorf("the settings of the Claude CLI in %s cannot be used: %w; correct them or take them away", path, err)
	}
	return o, nil
}

func parseOperator(content []byte) (operator, error) {
	var own settingsObject
	if len(bytes.TrimSpace(content)) > 0 {
		if err := json.Unmarshal(content, &own); err != nil {
			return operator{}, err
		}
	}
	given := settingsObject(cli.Settings())
	for _, name := range handedOn {
		if value, ok := own[name]; ok {
			given[name] = value
		}
	}
	if given["permissions"] = own["permissions"]; len(given["permissions"]) == 0 || string(given["permissions"]) == "null" {
		given["permissions"] = json.RawMessage("{}")
	}
	if err := given.take(given, "permissions", onlyDeny); err != nil {
		return operator{}, err
	}
	if err := given.take(own, "sandbox", neverAllow); err != nil {
		return operator{}, err
	}
	environ, err := environOf(own["env"])
	if err != nil {
		return operator{}, err
	}
	settings, err := json.Marshal(given)
	return operator{settings: settings, environ: environ}, err
}

// take copies an object of the operator's settings, after change has changed it.
func (s settingsObject) take(own settingsObject, name string, change func(settingsObject)) error {
	value, ok := own[name]
	if !ok {
		return nil
	}
	var object settingsObject
	if err := json.Unmarshal(value, &object); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if object == nil {
		return nil // null
	}
	change(object)
	if len(object) == 0 {
		return nil
	}
	changed, err := json.Marshal(object)
	s[name] = changed
	return err
}

// onlyDeny removes from permissions all but those that deny, and has the CLI decide about
// nothing by itself.
func onlyDeny(permissions settingsObject) {
	for name := range permissions {
		if name != "deny" {
			delete(permissions, name)
		}
	}
	permissions["disableAutoMode"] = autoModeDisabled
}

// neverAllow makes a sandbox only restrict: by default the CLI allows every command that
// runs in one.
func neverAllow(sandbox settingsObject) {
	sandbox["autoAllowBashIfSandboxed"] = json.RawMessage("false")
}

// environOf returns the variables of an object as KEY=VALUE.
func environOf(value json.RawMessage) ([]string, error) {
	var object settingsObject
	if len(value) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(value, &object); err != nil {
		return nil, fmt.Errorf("env: %w", err)
	}
	var environ []string
	for name, value := range object {
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value) // a number or a boolean
		}
		environ = append(environ, name+"="+text)
	}
	return environ, nil
}

// manualName is the file in a working directory with instructions for the agent. It goes
// into a session's system prompt, as it is when a turn begins. Where there is none that can be
// read, otherManual is read, the name that many agents share. (The CLI reads neither, since
// it has no setting sources.)
const (
	manualName  = "CLAUDE.md"
	otherManual = "AGENTS.md"
)

// The manual may import files (@notes/style.md) as with the CLI: relative to the
// importing file, not from code blocks, and maxImports deep. A file outside of the
// working directory, also through a link, is left out.
const maxImports = 5

// maxManual bounds the manual with its imports, in bytes.
const maxManual = 256 << 10

// manual is a manual that is being read.
type manual struct {
	root *os.Root
	seen map[string]bool
	size int
	text strings.Builder
}

// readManual returns the manual of a directory with its imports, so many deep; empty: there
// is none. Beside an error it returns what could be read.
func readManual(dir string, imports int) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	m := &manual{root: root, seen: map[string]bool{}}
	err = m.add(manualName, maxImports-imports)
	if m.text.Len() == 0 {
		err = errors.Join(err, m.add(otherManual, maxImports-imports))
	}
	return m.text.String(), err
}

// add adds a file, whose name is relative to the directory, and its imports. A file that
// does not exist is left out: not everything behind an @ is a file.
func (m *manual) add(name string, depth int) error {
	if m.seen[name] || depth > maxImports {
		return nil
	}
	m.seen[name] = true
	content, err := m.read(name)
	if err != nil {
		err = fmt.Errorf("%s: %w", filepath.Join(m.root.Name(), name), err)
	}
	if content == "" {
		return err
	}
	fmt.Fprintf(&m.text, "Contents of %s (instructions for work in %s; follow them):\n\n%s\n\n",
		filepath.Join(m.root.Name(), name), m.root.Name(), strings.TrimSpace(content))
	errs := []error{err}
	for _, path := range imports(content) {
		if path = m.local(filepath.Dir(name), path); path != "" {
			errs = append(errs, m.add(path, depth+1))
		}
	}
	return errors.Join(errs...)
}

// read returns the content of a file; empty when there is none. Beside errManualCut it returns the
// beginning of the content, with a mark where it ends.
func (m *manual) read(name string) (string, error) {
	file, err := openRegular(m.root, name)
	if file == nil || err != nil {
		return "", err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, int64(maxManual-m.size)+1))
	if err != nil {
		return "", err
	}
	if m.size+len(content) > maxManual {
		content = bytes.ToValidUTF8(content[:maxManual-m.size], nil)
		m.size = maxManual
		if len(content) == 0 {
			return "", errManualCut
		}
		return string(content) + fmt.Sprintf("\n\n[cut here: instructions may have %d KiB in all]", maxManual>>10), errManualCut
	}
	m.size += len(content)
	return string(content), nil
}

// errManualCut says that instructions are longer than maxManual.
var errManualCut = fmt.Errorf("there are more than %d KiB of instructions; the agent does not get the rest", maxManual>>10)

// openRegular opens a file; nil: there is none, or it is no regular file. It never
// blocks: the agent can replace a file by a pipe at any moment.
func openRegular(root *os.Root, name string) (*os.File, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENXIO) { // ENXIO: a socket
		return nil, nil //nolint:nilnil // nothing to read is no fault
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// local returns an imported path relative to the directory; empty: it leads out of the
// directory.
func (m *manual) local(from, path string) string {
	if filepath.IsAbs(path) {
		inside, err := filepath.Rel(m.root.Name(), path)
		if err != nil {
			return ""
		}
		path = inside
	} else {
		path = filepath.Join(from, path)
	}
	if !filepath.IsLocal(path) {
		return ""
	}
	return filepath.Clean(path)
}

var (
	// code matches code blocks and code spans, which import nothing.
	code = regexp.MustCompile("(?ms)^[ \t]*(?:```|~~~).*?(?:^[ \t]*(?:```|~~~)[ \t]*$|\\z)|`[^`\n]*`")
	// imported matches @ and a path, in which spaces are escaped.
	imported = regexp.MustCompile(`(?m)(?:^|\s)@((?:[^\s\\]|\\ )+)`)
)

// imports returns the paths that a text imports.
func imports(text string) []string {
	var paths []string
	for _, match := range imported.FindAllStringSubmatch(code.ReplaceAllString(text, " "), -1) {
		path, _, _ := strings.Cut(match[1], "#")
		if path = strings.TrimRight(path, ".,;:!?)"); path != "" {
			paths = append(paths, strings.ReplaceAll(path, `\ `, " "))
		}
	}
	return paths
}
