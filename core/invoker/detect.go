package invoker

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/seed-706843ae/harness/core/invoker/cli"
)

// Detection is what can be known of the CLI without a network call.
type Detection struct {
	Found           bool
	Path            string // of the binary, when found
	Version         string // as the CLI prints it; empty if it does not run
	CanAuthenticate bool   // there are credentials, valid or not
	Reason          string // why, in words
	Remedy          string // what to do when it is not usable; else empty
	// Billed says that what is used is billed: the credentials are those of no login, so that there
	// is no plan.
	Billed bool
	// Unverified says, in a sentence with what to do, that this version of Harness was not
	// verified with that of the CLI; empty: it was. It works all the same, as far as is known.
	Unverified string
}

// Usable reports whether turns can be expected to work.
func (d Detection) Usable() bool { return d.Found && d.CanAuthenticate }

// Detect looks for the CLI and for credentials that it could use, in the environment that
// sessions would get. It makes no network call, so it cannot say whether the credentials
// are accepted.
func Detect(ctx context.Context, config Config) Detection {
	if config.Binary == "" {
		config.Binary = "claude"
	}
	path, err := config.lookPath()
	if err != nil {
		failure := failureOfStart(config.Binary, err)
		return Detection{
			Reason: fmt.Sprintf("%q was not found: %s", config.Binary, err),
			Remedy: failure.Message,
		}
	}
	environment, _, err := config.environment(false, Account{})
	if err != nil {
		return Detection{Found: true, Path: path, Reason: err.Error(), Remedy: "correct that file, or take it away"}
	}
	version, err := cli.Version(ctx, path, environment)
	if err != nil {
		return Detection{
			Path:   path,
			Reason: fmt.Sprintf("%s does not run: %s", path, err),
			Remedy: "Run `" + path + " --version` as the daemon's user to see why, or install the CLI anew: npm install -g @anthropic-ai/claude-code",
		}
	}
	d := Detection{Found: true, Path: path, Version: version, Unverified: unverified(version)}
	if source := credentials(environment); source != "" {
		d.CanAuthenticate, d.Reason = true, "credentials: "+source
		d.Billed = slices.Contains(billed, source)
		return d
	}
	d.Reason = "the CLI is installed and has no credentials"
	d.Remedy = "Set ANTHROPIC_API_KEY for the daemon, or run `claude` as the daemon's user and log in."
	return d
}

// unverified returns what is said of a version that Harness was not verified with.
func unverified(version string) string {
	oldest, newest := Verified()
	switch {
	case cli.Newer(version, newest):
		return fmt.Sprintf("Claude CLI %s is newer than %s, the newest that this version of Harness was verified with; run `harness agent check`", version, newest)
	case cli.Newer(oldest, version):
		return fmt.Sprintf("Claude CLI %s is older than %s, the oldest that this version of Harness was verified with; run npm install -g @anthropic-ai/claude-code@%s", version, oldest, newest)
	}
	return ""
}

// billed are the credentials of the environment that are no login's.
var billed = []string{
	"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY",
}

// credentials returns the name or the path of what the CLI would authenticate with;
// empty: there is nothing. It never returns the credentials themselves.
func credentials(environment []string) string {
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"} {
		if lookup(environment, name) != "" {
			return name
		}
	}
	for _, name := range []string{"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"} {
		if truthy(lookup(environment, name)) {
			return name
		}
	}
	directory := configDir(environment)
	state := stateFile(environment)
	stored := map[string][]string{
		filepath.Join(directory, ".credentials.json"): {"claudeAiOauth"},
		filepath.Join(directory, "settings.json"):     {"apiKeyHelper"},
		state: {"primaryApiKey"},
	}
	if runtime.GOOS == "darwin" {
		// The token itself is in the keychain; the field says that there is one.
		stored[state] = append(stored[state], "oauthAccount")
	}
	for path, fields := range stored {
		if hasField(path, fields) {
			return path
		}
	}
	return ""
}

// Credentials returns the name or the path of what a session of this account would
// authenticate with, valid or not; empty: there is nothing. It makes no network call, and
// never returns the credentials themselves.
func Credentials(config Config, account Account) string {
	environment, _, err := config.environment(false, account)
	if err != nil {
		return ""
	}
	return credentials(environment)
}

// HasPlan reports whether a session of this account would authenticate with the login of a
// subscription, whose use a plan limits and nobody is billed for by call. It makes no network call.
func HasPlan(config Config, account Account) bool {
	environment, _, err := config.environment(false, account)
	return err == nil && subscribed(environment)
}

// subscribed reports whether what the CLI would authenticate with is a token of a subscription, and
// nothing that it may prefer is there: a key, a cloud, or a program that tells a key.
func subscribed(environment []string) bool {
	directory := configDir(environment)
	source := credentials(environment)
	if slices.Contains(billed, source) || slices.ContainsFunc(billed, func(name string) bool { return truthy(lookup(environment, name)) }) ||
		hasField(filepath.Join(directory, "settings.json"), []string{"apiKeyHelper"}) {
		return false
	}
	if source == "CLAUDE_CODE_OAUTH_TOKEN" {
		return true
	}
	return hasField(filepath.Join(directory, ".credentials.json"), []string{"claudeAiOauth"}) && !hasField(stateFile(environment), []string{"primaryApiKey"})
}

// stateFile is the path of the file in which the CLI keeps its state.
func stateFile(environment []string) string {
	directory := configDir(environment)
	if lookup(environment, "CLAUDE_CONFIG_DIR") == "" {
		return directory + ".json"
	}
	return filepath.Join(directory, ".claude.json")
}

// hasField reports whether the file holds a JSON object in which one of the fields is not
// empty.
func hasField(path string, fields []string) bool {
	data, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(data, &object) != nil {
		return false
	}
	for _, field := range fields {
		switch string(object[field]) {
		case "", "null", `""`, "{}":
		default:
			return true
		}
	}
	return false
}
