package pluginhost

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed-706843ae/harness/core/ledger"
)

// without returns those of names that are not in others.
func without[T comparable](names, others []T) []T {
	return slices.DeleteFunc(slices.Clone(names), func(name T) bool { return slices.Contains(others, name) })
}

// grantedOf returns the version of the grants that a row has been given. A row without a
// version is older than versions and has the first. One without an origin is older still:
// it got less (no environment), and which grants is unknown, so it counts as 0.
func grantedOf(row ledger.Plugin) int {
	if row.GrantsVersion == 0 && row.Origin != "" {
		return 1
	}
	return row.GrantsVersion
}

// adopt gives a shipped plugin, once, the grants that versions since its own have added.
// What an operator took from the plugin stays taken; only a row without an origin gets
// every grant again, once. The grants of a row that was broken by hand are unknown: adopt
// leaves it alone until it is mended at a later start.
func (h *Host) adopt(ctx context.Context, known ledger.Plugin) error {
	newest := h.shipped.Version()
	if h.shipped.Place(known.Name) == 0 || known.GrantsVersion >= newest {
		return nil
	}
	if known.Problem != "" {
		h.config.Log.Warn("a plugin is not granted what this release needs, because its row is wrong; the next start does it",
			"plugin", known.Name, "problem", known.Problem)
		return nil
	}
	err := h.store.EditPlugin(ctx, known.Name, "daemon", "plugin.grant", func(row *ledger.Plugin) (string, error) {
		capabilities, env := h.shipped.After(row.Name, grantedOf(known))
		capabilities, env = without(capabilities, row.Granted), without(env, row.GrantedEnv)
		row.Granted, row.GrantedEnv = append(row.Granted, capabilities...), append(row.GrantedEnv, env...)
		row.GrantsVersion = newest
		if len(capabilities)+len(env) == 0 {
			return fmt.Sprintf("this release (grants %d) gives it nothing new", newest), nil
		}
		return fmt.Sprintf("this release (grants %d) needs: %s", newest, listed(append(names(capabilities), env...))), nil
	})
	if err != nil {
		return fmt.Errorf("grant %s what this release needs: %w", known.Name, err)
	}
	return nil
}

func names[T ~string](of []T) []string {
	words := make([]string, len(of))
	for n, name := range of {
		words[n] = string(name)
	}
	return words
}
