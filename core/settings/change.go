package settings

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Change changes the settings that patch, a JSON object, names; null takes one
// back. Secrets are sealed. who is for the audit log, which gets names and never
// values.
//
// The error has CodeInvalid, and nothing is changed, when a value does not fit
// the plugin's schema, or when settings that are complete would not be any more.
// What is not complete yet may be completed step by step.
func (s *Settings) Change(ctx context.Context, who, plugin string, patch json.RawMessage) error {
	return s.edit(ctx, change{plugin: plugin}, who, patch)
}

// Asker is a plugin that has settings changed, and what the audit log calls it.
type Asker struct {
	Plugin, Who string
	// Operator says that the plugin comes with Harness, and speaks for an operator.
	Operator bool
	// Reserved are settings that only an operator changes, beside those that the schema marks.
	Reserved []string
}

// ChangeFor is Change on behalf of another plugin (or of the plugin itself), which must
// not learn a secret by it: a setting that can be an address, beside secrets that are
// set, is changed together with all of those, or not at all (CodeDenied). One that is
// declared to be an address is not changed while the plugin is granted variables of the
// environment that may be secrets. What the schema marks as the operator's is changed for
// an asker that speaks for one, and for no other.
func (s *Settings) ChangeFor(ctx context.Context, asker Asker, plugin string, patch json.RawMessage) error {
	return s.edit(ctx, change{plugin: plugin, blind: asker.Plugin != plugin, asker: &asker}, asker.Who, patch)
}

// Replace makes whole, a JSON object, the plugin's settings: plain settings that
// it does not name are taken back. Secrets that it does not name stay, because
// who reads settings does not see them.
func (s *Settings) Replace(ctx context.Context, who, plugin string, whole json.RawMessage) error {
	return s.edit(ctx, change{plugin: plugin, replace: true}, who, whole)
}

func (s *Settings) edit(ctx context.Context, c change, who string, raw json.RawMessage) error {
	plugin := c.plugin
	patch, err := object(raw)
	if err != nil {
		return err
	}
	info, err := s.store.Plugin(ctx, plugin)
	if err != nil {
		return err
	}
	if info.Manifest.Name == "" {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid,
			"nobody knows yet which settings %[1]s has, and which of them are secret: it says so when it is started for the first time "+
				"(harness plugin enable %[1]s)", plugin)
	}
	schema, err := s.memory(info).compile()
	if err != nil {
		return err
	}
	c.environment = slices.DeleteFunc(slices.Clone(info.GrantedEnv), harmless)
	c.settings, c.schema, c.set = s, schema, make(map[string]json.RawMessage)
	for name, value := range patch {
		if isNothing(value) {
			c.unset = append(c.unset, name)
		} else {
			c.set[name] = value
		}
	}
	slices.Sort(c.unset)
	if err := asError(schema.wrongValues(c.set)); err != nil {
		return err
	}
	if err := c.checkOperators(); err != nil {
		return err
	}
	c.secrets = takeSecrets(schema, c.set)
	if err := c.seal(ctx); err != nil {
		return err
	}
	return s.store.EditPluginSettings(ctx, plugin, who, c.apply)
}

// checkOperators refuses a change of settings that are an operator's to a plugin that speaks
// for none: they are commands, roots, hosts and whom to trust.
func (c *change) checkOperators() error {
	if c.asker == nil || c.asker.Operator {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(c.set)) {
		if c.schema.operators[name] || slices.Contains(c.asker.Reserved, name) {
			return c.operators(name, name+"=VALUE")
		}
	}
	for _, name := range c.unset {
		if c.schema.operators[name] || slices.Contains(c.asker.Reserved, name) {
			return c.operators(name, "")
		}
	}
	return nil
}

func (c *change) operators(name, assignment string) error {
	command := "harness plugin settings set " + c.plugin + " " + assignment
	if assignment == "" {
		command = "harness plugin settings unset " + c.plugin + " " + name
	}
	return pluginsdk.Errorf(pluginsdk.CodeDenied, "%s: only an operator changes it, and not a plugin such as %s: `%s`", name, c.asker.Plugin, command)
}

// change is one change on its way into the database.
type change struct {
	settings *Settings
	plugin   string
	schema   *Schema
	replace  bool
	blind    bool   // who asks for it may not know the secrets
	asker    *Asker // nil: an operator
	// environment are the variables that the plugin is granted and that may be secrets.
	environment []string
	set         map[string]json.RawMessage // plain
	secrets     map[string]json.RawMessage
	unset       []string
	sealed      map[string][]byte // secrets
}

// seal seals the new secrets, unless there are some under a key that is not
// there: then they would be of two keys.
func (c *change) seal(ctx context.Context) error {
	if len(c.secrets) == 0 {
		return nil
	}
	vault := c.settings.vault
	plugin, name, other, err := c.settings.store.SomeSecret(ctx)
	if err != nil {
		return err
	}
	if other != nil {
		if _, err := vault.Open(plugin, name, other); pluginsdk.CodeOf(err) == pluginsdk.CodeUnavailable {
			return err
		}
	}
	c.sealed = make(map[string][]byte, len(c.secrets))
	for _, name := range slices.Sorted(maps.Keys(c.secrets)) {
		if c.sealed[name], err = vault.Seal(c.plugin, name, c.secrets[name], other != nil); err != nil {
			return err
		}
	}
	return nil
}

// apply is an Edit.
func (c *change) apply(column json.RawMessage, sealed map[string][]byte) (json.RawMessage, map[string][]byte, string, error) {
	before, err := object(column)
	switch {
	case err != nil && !c.replace:
		return nil, nil, "", pluginsdk.Errorf(pluginsdk.CodeInvalid,
			"the row's settings are not a JSON object; replace them as a whole: harness plugin settings set %s --json FILE", c.plugin)
	case err != nil:
		before = make(map[string]json.RawMessage)
	}
	// A secret that was written in plain text is never written back.
	exposed := takeSecrets(c.schema, before)
	after, newSealed := maps.Clone(before), maps.Clone(sealed)
	if c.replace {
		clear(after)
	}
	maps.Copy(after, c.set)
	if newSealed == nil {
		newSealed = make(map[string][]byte)
	}
	maps.Copy(newSealed, c.sealed)
	for _, name := range c.unset {
		delete(after, name)
		delete(newSealed, name)
	}
	if c.blind {
		if err := c.checkAddresses(before, after, sealed); err != nil {
			return nil, nil, "", err
		}
	}
	if err := c.check(before, after, sealed, newSealed); err != nil {
		return nil, nil, "", err
	}
	return encode(after), newSealed, c.detail(before, after, exposed), nil
}

// harmless reports whether a variable of the environment is no secret: the daemon's own,
// and what says where on earth it is.
func harmless(variable string) bool {
	return strings.HasPrefix(variable, "HARNESS_") || strings.HasPrefix(variable, "LC_") || variable == "LANG" || variable == "TZ"
}

// checkAddresses refuses to change a text beside a secret that stays: the plugin may
// send the secret to where the text says. Which of the environment is secret nobody
// declares, so that there only what is declared to be an address counts.
func (c *change) checkAddresses(before, after map[string]json.RawMessage, sealed map[string][]byte) error {
	stay := slices.DeleteFunc(slices.Sorted(maps.Keys(sealed)), func(name string) bool {
		return c.secrets[name] != nil || slices.Contains(c.unset, name)
	})
	if len(stay) == 0 && len(c.environment) == 0 {
		return nil
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(before)), maps.Keys(after))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if bytes.Equal(before[name], after[name]) {
			continue
		}
		if len(c.environment) > 0 && c.schema.address(name) {
			return pluginsdk.Errorf(pluginsdk.CodeDenied, "%[1]s: it is an address, to which the plugin may send what it has from the environment ($%[2]s): "+
				"have an operator change it: harness plugin settings set %[3]s %[1]s=VALUE", name, strings.Join(c.environment, ", $"), c.plugin)
		}
		if len(stay) > 0 && c.schema.free(name) {
			return pluginsdk.Errorf(pluginsdk.CodeDenied, "%[1]s: it is beside a secret (%[2]s), which may be sent to where it says: "+
				"set %[2]s again in the same change, or have an operator change it: harness plugin settings set %[3]s %[1]s=VALUE",
				name, strings.Join(stay, ", "), c.plugin)
		}
	}
	return nil
}

// check refuses what is wrong, and what breaks settings that were whole.
func (c *change) check(before, after map[string]json.RawMessage, sealedBefore, sealedAfter map[string][]byte) error {
	if err := asError(c.schema.wrongValues(after)); err != nil {
		return err
	}
	secretsBefore, err := c.settings.openAll(c.plugin, c.schema, sealedBefore)
	if err != nil {
		return nil // not whole: there is a secret that cannot be opened
	}
	if _, err := together(c.schema, before, secretsBefore); err != nil {
		return nil
	}
	secretsAfter, err := c.settings.openAll(c.plugin, c.schema, sealedAfter)
	if err == nil {
		_, err = together(c.schema, after, secretsAfter)
	}
	return err
}

// detail names what was changed.
func (c *change) detail(before, after, exposed map[string]json.RawMessage) string {
	set := slices.Collect(maps.Keys(c.set))
	set = append(set, slices.Collect(maps.Keys(c.secrets))...)
	unset := slices.Clone(c.unset)
	for name := range before {
		if _, kept := after[name]; !kept && !slices.Contains(unset, name) {
			unset = append(unset, name)
		}
	}
	var parts []string
	for _, part := range []struct {
		verb  string
		names []string
	}{
		{"set", set},
		{"unset", unset},
		{"took out of the row, where they stood in plain text,", slices.Collect(maps.Keys(exposed))},
	} {
		if len(part.names) > 0 {
			slices.Sort(part.names)
			parts = append(parts, part.verb+" "+strings.Join(part.names, ", "))
		}
	}
	return strings.Join(parts, "; ")
}
