package invoker

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Account is what a session authenticates with. The zero Account, and the one with the name
// pluginsdk.EnvironmentAccount, is whatever the daemon's environment and home have.
type Account struct {
	Name string
	// Home is the CLI's configuration directory of a login (CLAUDE_CONFIG_DIR); empty: that
	// of the environment.
	Home string
	// Env is what authenticates, as KEY=VALUE. It has secrets.
	Env []string
	// Overage says that paid use beyond the plan is allowed.
	Overage bool
}

// own reports whether the account authenticates with something else than the environment.
func (a Account) own() bool { return a.Home != "" || len(a.Env) > 0 }

// stamp changes when the account does: a process that was started with another one is not
// used any more. It tells nothing of the secrets.
func (a Account) stamp() string {
	if !a.own() {
		return a.Name
	}
	sum := sha256.Sum256([]byte(a.Home + "\x00" + strings.Join(a.Env, "\x00")))
	return a.Name + " " + hex.EncodeToString(sum[:8])
}

// The CLI authenticates with what these variables of the daemon's environment say before it looks
// at a login: with tokens and keys, headers, client certificates, profiles, and through clouds.
var (
	credentialVariables = []string{"CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_OAUTH_REFRESH_TOKEN", "CLAUDE_CODE_OAUTH_SCOPES"}
	credentialPrefixes  = append([]string{"ANTHROPIC_", "CLAUDE_CODE_CLIENT_", "CLAUDE_CODE_USE_", "CLAUDE_CODE_SKIP_"},
		slices.Concat(slices.Collect(maps.Values(cloudPrefixes))...)...)
	// notCredentials are variables with such a prefix that every account has: where the API is,
	// and which models there are.
	notCredentials = []string{"ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL", "ANTHROPIC_BETAS", "ANTHROPIC_LOG"}
	notPrefixes    = []string{"ANTHROPIC_DEFAULT_", "ANTHROPIC_SMALL_FAST_MODEL"}
)

// isCredential reports whether the CLI may authenticate with a variable.
func isCredential(name string) bool {
	if slices.Contains(notCredentials, name) || hasAnyPrefix(name, notPrefixes) {
		return false
	}
	return slices.Contains(credentialVariables, name) || hasAnyPrefix(name, credentialPrefixes)
}

// credentialSettings are the operator's settings that authenticate.
var credentialSettings = []string{"apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh", "forceLoginMethod", "forceLoginOrgUUID"}

// over returns the environment and the settings of a session of this account: nothing of
// what the daemon's environment authenticates with is left.
func (a Account) over(env []string, settings json.RawMessage) ([]string, json.RawMessage, error) {
	if !a.own() {
		return env, settings, nil
	}
	env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return isCredential(name)
	})
	if a.Home != "" {
		env = append(env, "CLAUDE_CONFIG_DIR="+a.Home)
	}
	env = append(env, a.Env...)
	var whole settingsObject
	if err := json.Unmarshal(settings, &whole); err != nil {
		return nil, nil, err
	}
	for _, name := range credentialSettings {
		delete(whole, name)
	}
	settings, err := json.Marshal(whole)
	return env, settings, err
}

// accountOf returns the account of a request.
func (c Config) accountOf(name string) (Account, *pluginsdk.Failure) {
	if c.Account == nil {
		return Account{Name: pluginsdk.EnvironmentAccount}, nil
	}
	account, err := c.Account(name)
	if err != nil {
		return Account{}, otherFailure(err)
	}
	return account, nil
}
