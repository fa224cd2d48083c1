package invoker

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/core/invoker/cli"
)

// The environment of the CLI is built on purpose: it inherits these variables
// of the daemon's and no others, then Config.Env. In particular CLAUDECODE and
// the CLAUDE_CODE_* of a surrounding session do not reach it, since with them
// it would take itself for a part of that session.

// inherited are the names that are passed on.
var inherited = []string{
	"HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "LANGUAGE", "TZ", "TMPDIR",
	"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
	// How the operator's machine reaches the network.
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
	"http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
	// The CLI's account and API, as an operator configures them.
	"CLAUDE_CONFIG_DIR",
	"CLAUDE_CODE_OAUTH_TOKEN",
	"CLAUDE_CODE_OAUTH_REFRESH_TOKEN",
	"CLAUDE_CODE_OAUTH_SCOPES",
	"CLAUDE_CODE_API_KEY_HELPER_TTL_MS",
	"CLAUDE_CODE_CLIENT_CERT",
	"CLAUDE_CODE_CLIENT_KEY",
	"CLAUDE_CODE_CLIENT_KEY_PASSPHRASE",
	"CLAUDE_CODE_USE_BEDROCK",
	"CLAUDE_CODE_USE_VERTEX",
	"CLAUDE_CODE_USE_FOUNDRY",
	"CLAUDE_CODE_SKIP_BEDROCK_AUTH",
	"CLAUDE_CODE_SKIP_VERTEX_AUTH",
	"CLAUDE_CODE_SKIP_FOUNDRY_AUTH",
	"CLAUDE_CODE_MAX_RETRIES",
	"CLAUDE_CODE_MAX_OUTPUT_TOKENS",
	"CLAUDE_CODE_SUBAGENT_MODEL",
	"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
	"CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS",
	"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "CLAUDE_CODE_DISABLE_CRON",
	"CLAUDE_CODE_EAGER_FLUSH",
	"API_TIMEOUT_MS", "MAX_THINKING_TOKENS",
	"BASH_DEFAULT_TIMEOUT_MS", "BASH_MAX_TIMEOUT_MS", "MCP_TIMEOUT", "MCP_TOOL_TIMEOUT", "CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT",
}

// inheritedPrefixes are the beginnings of further names that are passed on.
var inheritedPrefixes = []string{"LC_", "ANTHROPIC_", "DISABLE_"}

// cloudPrefixes are the beginnings of names with a cloud's credentials. They are passed
// on when the CLI is configured to reach the API through that cloud.
var cloudPrefixes = map[string][]string{
	"CLAUDE_CODE_USE_BEDROCK": {"AWS_"},
	"CLAUDE_CODE_USE_VERTEX":  {"GOOGLE_", "CLOUDSDK_", "GCLOUD_", "CLOUD_ML_REGION", "VERTEX_REGION_"},
	"CLAUDE_CODE_USE_FOUNDRY": {"AZURE_"},
}

// preset is the environment that the CLI gets unless the operator overrides it. What
// cli.Environment has the operator does not override.
var preset = map[string]string{
	// Write the transcript before the result is reported, not a moment later: then a CLI
	// that is killed right after a turn remembers the turn (verified with 2.1.197).
	"CLAUDE_CODE_EAGER_FLUSH": "1",
	// When a command that was left in the background ends, the CLI starts a turn by
	// itself. Nobody reads what that turn says, and the command is killed with the idle
	// process. Without background tasks the agent waits for its commands.
	"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
	// Every warm process runs the schedules that it finds in its working directory, as
	// turns that it starts by itself (verified with 2.1.197: even when it is not offered
	// the tools for schedules). Schedules are Harness' own; see replaced.
	"CLAUDE_CODE_DISABLE_CRON": "1",
	// Each command begins in the working directory, whatever the one before has changed
	// to: where the CLI's shell is, its questions do not say, and rules look at paths.
	"CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR": "1",
}

// buildEnvironment returns the variables of environ (KEY=VALUE, as of os.Environ) that
// the CLI inherits, then those of added. A later entry of a name replaces an earlier one.
func buildEnvironment(environ, added []string) []string {
	values := maps.Clone(preset)
	maps.Copy(values, cli.Environment)
	prefixes := slices.Clone(inheritedPrefixes)
	for name, more := range cloudPrefixes {
		if truthy(lookup(environ, name)) || truthy(lookup(added, name)) {
			prefixes = append(prefixes, more...)
		}
	}
	for _, entry := range environ {
		name, value, ok := strings.Cut(entry, "=")
		_, kept := cli.Environment[name]
		if ok && !kept && (slices.Contains(inherited, name) || hasAnyPrefix(name, prefixes)) {
			values[name] = value
		}
	}
	for _, entry := range added {
		if name, value, ok := strings.Cut(entry, "="); ok {
			values[name] = value
		}
	}
	built := make([]string, 0, len(values))
	for name, value := range values {
		built = append(built, name+"="+value)
	}
	slices.Sort(built)
	return built
}

// environment returns the whole environment of a process of the CLI, and the settings for
// its --settings. Variables in the operator's settings win over the daemon's.
func (c Config) environment(apart bool, account Account) (env []string, settings json.RawMessage, err error) {
	environ := c.Environ
	if environ == nil {
		environ = os.Environ()
	}
	own, err := readOperator(configDir(buildEnvironment(environ, c.Env)))
	if err != nil {
		return nil, nil, err
	}
	env = buildEnvironment(slices.Concat(environ, own.environ), c.Env)
	env = withGit(env)
	if c.Tools != nil {
		env = pastProxy(env)
	}
	if apart {
		env = append(env, apartEnvironment...)
	}
	if settings, err = withAsked(own.settings, c.askedRules(apart)); err != nil {
		return nil, nil, err
	}
	return account.over(env, settings)
}

// pastProxy excepts the loopback address from the network's proxy: through it the CLI
// could not reach the plugins' tools, and the proxy would see the session's token.
func pastProxy(env []string) []string {
	const loopback = "127.0.0.1"
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		if past := lookup(env, name); past == "" {
			env = append(env, name+"="+loopback)
		} else if !slices.Contains(strings.Split(past, ","), loopback) && past != "*" {
			env = append(env, name+"="+past+","+loopback)
		}
	}
	return env
}

func hasAnyPrefix(name string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// lookup returns the last value of a name in a list of KEY=VALUE.
func lookup(environ []string, name string) string {
	for _, entry := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// truthy parses a flag as the CLI does.
func truthy(value string) bool {
	switch strings.ToLower(value) {
	case "1", "true", "yes", "on":
		return true
	}
	return false
}

// What only the process may see reaches it through files that no other user can
// read: everybody sees a command line in the list of processes.

// privateFile is a kind of private file; its value is the pattern of the file's name.
type privateFile string

const (
	privateMCP      privateFile = "harness-mcp-*.json"
	privateSettings privateFile = "harness-settings-*.json"
	privatePrompt   privateFile = "harness-prompt-*.md"
)

// privateFlags are the flags that give the CLI the paths of the files.
var privateFlags = map[privateFile]string{
	privateMCP:      "--mcp-config",
	privateSettings: "--settings",
	privatePrompt:   "--append-system-prompt-file",
}

// privateFiles are the paths of one process's files.
type privateFiles map[privateFile]string

// writePrivate writes the files of one process, but none without content. The caller
// removes them with removePrivate once the process has ended.
func (c *Claude) writePrivate(contents map[privateFile][]byte) (privateFiles, error) {
	files := privateFiles{}
	for kind, content := range contents {
		if len(content) == 0 {
			continue
		}
		path, err := writeFile(c.config.Private, kind, content)
		if err != nil {
			c.removePrivate(files)
			return nil, fmt.Errorf("write a private file of the agent: %w", err)
		}
		files[kind] = path
	}
	return files, nil
}

func (c *Claude) removePrivate(files privateFiles) {
	for _, path := range files {
		if err := os.Remove(path); err != nil {
			c.config.Log.Warn("a private file of a process that has ended cannot be removed", "err", err)
		}
	}
}

func writeFile(dir string, kind privateFile, content []byte) (path string, err error) {
	file, err := os.CreateTemp(dir, string(kind))
	if err != nil {
		return "", err
	}
	_, err = file.Write(content)
	if err := errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	return file.Name(), nil
}

// clearPrivate makes the directory of private files, and removes those that a
// predecessor that was killed left there.
func clearPrivate(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the directory of private files: %w", err)
	}
	for kind := range privateFlags {
		left, err := filepath.Glob(filepath.Join(dir, string(kind)))
		for _, path := range left {
			err = errors.Join(err, os.Remove(path))
		}
		if err != nil {
			return fmt.Errorf("remove private files left behind: %w", err)
		}
	}
	return nil
}
