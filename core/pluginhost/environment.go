package pluginhost

import (
	"os"
	"slices"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// passed are the environment variables of the daemon's own environment that every plugin
// gets. Everything else is withheld.
var passed = []string{"PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"}

// withheld are the keys of the daemon and of the agent. No plugin gets them, whatever an
// operator grants.
var withheld = []string{
	"HARNESS_SECRETS_KEY", "DATABASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN",
}

// Withheld reports whether no plugin can be granted the environment variable.
func Withheld(name string) bool { return slices.Contains(withheld, name) }

// environment returns the whole environment of a plugin's process: the variables in
// passed, and what its manifest asks for and an operator granted.
func (h *Host) environment(row ledger.Plugin) []string {
	env := []string{
		"HARNESS_OWNER=" + h.config.Owner,
		// A plugin's files are compared with its pin at each start; Python would put
		// compiled files among them.
		"PYTHONDONTWRITEBYTECODE=1",
	}
	for _, name := range passed {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	for _, name := range h.granted(row) {
		value, ok := h.config.Provide[name]
		if !ok {
			value, ok = os.LookupEnv(name)
		}
		if !ok {
			value, ok = h.config.Variables[name]
		}
		if ok && !slices.Contains(passed, name) && !Withheld(name) {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// granted returns the variables that an operator granted and the plugin's manifest asks
// for. A plugin that was never started has no manifest yet: all its grants count. A new
// version may ask for more than the stored manifest: what the daemon itself provides is
// no secret, and its grant alone is enough.
func (h *Host) granted(row ledger.Plugin) []string {
	if row.Manifest.Name == "" {
		return row.GrantedEnv
	}
	return slices.DeleteFunc(slices.Clone(row.GrantedEnv), func(name string) bool {
		_, provided := h.config.Provide[name]
		return !provided && !slices.ContainsFunc(row.Manifest.Environment, func(asked pluginsdk.EnvironmentRequest) bool { return asked.Name == name })
	})
}
