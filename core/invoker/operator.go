package invoker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// By itself the CLI takes its settings from its working directory and from the
// home directory, and run as a session it asks nobody whether they are to be
// trusted. Verified with 2.1.197, of files that stand in the working directory:
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
// The working directory is the agent's to write, so it could take every right,
// or a web page could talk it into that. In the home directory the same files do
// the same; there they are the operator's, who meant them for sessions in which
// somebody sits and watches. Therefore a session has none of these sources
// (--setting-sources= leaves .claude out, here and there, skills and commands
// included). What is wanted of them all the same it is given: the operator's
// settings as far as they are about the account or take rights away, and the
// directory's CLAUDE.md (see manual.go). What the machine's administrator has put
// into the CLI's managed settings holds in any case.

// handedOn are the operator's settings that sessions get as they are. Those of
// the environment and of permissions are looked at one by one.
var handedOn = []string{
	// The account.
	"apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh", "forceLoginMethod", "forceLoginOrgUUID",
	"modelOverrides", // what the operator's cloud calls the models
	// For how long the CLI keeps sessions, and so for how long they can be resumed.
	"cleanupPeriodDays",
}

// operator is what sessions get of the operator's own settings of the CLI.
type operator struct {
	settings json.RawMessage // empty when there is nothing in them
	environ  []string        // to be taken or left like the daemon's own
}

// settingsObject is one of the objects that settings are made of.
type settingsObject map[string]json.RawMessage

// configDir is where the CLI keeps what it has of its user.
func configDir(environment []string) string {
	if dir := lookup(environment, "CLAUDE_CONFIG_DIR"); dir != "" {
		return dir
	}
	return filepath.Join(lookup(environment, "HOME"), ".claude")
}

// readOperator reads the settings in a directory. Without any there is nothing
// in the answer; such as cannot be read are an error, because they may be what
// forbids something.
func readOperator(dir string) (operator, error) {
	path := filepath.Join(dir, "settings.json")
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return operator{}, nil
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
	if len(bytes.TrimSpace(content)) == 0 {
		return operator{}, nil
	}
	var own settingsObject
	if err := json.Unmarshal(content, &own); err != nil {
		return operator{}, err
	}
	given := settingsObject{}
	for _, name := range handedOn {
		if value, ok := own[name]; ok {
			given[name] = value
		}
	}
	if err := given.take(own, "permissions", onlyDeny); err != nil {
		return operator{}, err
	}
	if err := given.take(own, "sandbox", neverAllow); err != nil {
		return operator{}, err
	}
	environ, err := environOf(own["env"])
	if err != nil || len(given) == 0 {
		return operator{environ: environ}, err
	}
	settings, err := json.Marshal(given)
	return operator{settings: settings, environ: environ}, err
}

// take gives an object of the operator's on, as change leaves it.
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

// onlyDeny leaves of permissions what takes them away.
func onlyDeny(permissions settingsObject) {
	for name := range permissions {
		if name != "deny" {
			delete(permissions, name)
		}
	}
}

// neverAllow makes of a sandbox only a bound for what is allowed anyway: by
// default the CLI allows every command that runs in one.
func neverAllow(sandbox settingsObject) {
	sandbox["autoAllowBashIfSandboxed"] = json.RawMessage("false")
}

// environOf returns the variables of an object as os.Environ has them.
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
			text = string(value) // a number, or a truth value
		}
		environ = append(environ, name+"="+text)
	}
	return environ, nil
}
