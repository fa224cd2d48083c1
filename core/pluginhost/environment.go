package pluginhost

import (
	"os"
	"slices"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// passed are the variables of the daemon's own environment that every plugin
// gets. Everything else is withheld.
var passed = []string{"PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"}

// withheld are the daemon's and the agent's own keys, which no plugin is given
// whatever an operator grants.
var withheld = []string{
	"HARNESS_SECRETS_KEY", "DATABASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN",
}

// Withheld reports whether no plugin can be granted the environment variable.
func Withheld(name string) bool { return slices.Contains(withheld, name) }

// environment returns the whole environment of a plugin's process: besides the
// above, what its manifest asks for and an operator granted.
func (h *Host) environment(row ledger.Plugin) []string {
	env := []string{
		"HARNESS_OWNER=" + h.config.Owner,
		// A plugin's files are compared with its pin at each start: Python would leave its
		// compiled ones among them.
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
		if ok && !slices.Contains(passed, name) && !Withheld(name) {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// granted are the variables that a plugin both asks for and was granted. One that was
// never started has not said yet what it asks for, nor has the new version of one that
// was: what the daemon itself provides is no secret, and the grant is enough.
func (h *Host) granted(row ledger.Plugin) []string {
	if row.Manifest.Name == "" {
		return row.GrantedEnv
	}
	return slices.DeleteFunc(slices.Clone(row.GrantedEnv), func(name string) bool {
		_, provided := h.config.Provide[name]
		return !provided && !slices.ContainsFunc(row.Manifest.Environment, func(asked pluginsdk.EnvironmentRequest) bool { return asked.Name == name })
	})
}
