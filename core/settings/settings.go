// Package settings is what operators set for plugins: it checks settings
// against the schema that a plugin declares, keeps those that are secret sealed,
// and gives each plugin its own, and nobody else the secrets.
//
// Plain settings are the column settings of the plugin's row; an operator may
// edit it by SQL, so it is checked whenever it is read. Secrets are rows of their
// own, sealed by a Vault.
package settings

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"sync"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Store is what Settings needs of the database.
type Store interface {
	// Plugin returns a row of the registry, or CodeNotFound.
	Plugin(ctx context.Context, name string) (ledger.Plugin, error)
	// PluginSecrets returns the sealed secrets of a plugin by name.
	PluginSecrets(ctx context.Context, plugin string) (map[string][]byte, error)
	// SomeSecret returns one sealed secret of the database's, of a plugin or else the key of
	// an account; sealed is nil when there is none.
	SomeSecret(ctx context.Context) (owner, name string, sealed []byte, err error)
	// EditPluginSettings replaces settings and secrets of a plugin by what edit
	// makes of them, and notes who did it with the detail that edit returns: all
	// or, when edit fails, nothing. Edits of a plugin follow each other; edit may
	// be called more than once.
	EditPluginSettings(ctx context.Context, plugin, who string, edit Edit) error
}

// Edit makes new settings of the present ones: the column as it is, and the
// sealed secrets by name. detail is for the audit log.
type Edit = func(plain json.RawMessage, sealed map[string][]byte) (
	newPlain json.RawMessage, newSealed map[string][]byte, detail string, err error)

// Settings knows what each plugin's settings are. Its methods may be called
// concurrently.
type Settings struct {
	store Store
	vault *Vault

	mu      sync.Mutex
	plugins map[string]*memory
}

// New returns Settings that remember nothing yet.
func New(store Store, vault *Vault) *Settings {
	return &Settings{store: store, vault: vault, plugins: make(map[string]*memory)}
}

// Held are the settings that hold for a plugin.
type Held struct {
	// Values are the defaults of its schema, its plain settings and its secrets. They are for
	// that plugin only.
	Values json.RawMessage
	// Secrets are the values that must not appear anywhere else; see Redactor. Those that
	// they replaced since the start of this process, and those that the plugin has refused,
	// are among them, because it may still have them.
	Secrets []string
	// Problem says for people what is wrong with what is stored; without the value of a
	// secret.
	Problem string
	// Stored are the row's settings, to be kept once the plugin has taken them; nil: others
	// hold.
	Stored *ledger.AcceptedSettings
}

// Of returns the settings that hold for a plugin, whose row and manifest info has. When
// the plugin has refused the row's, or they are of no use, those hold that it accepted
// last; where none are kept, the last plain ones that were good since the start of this
// process, with the row's secrets. When there are none of these, or a secret cannot be
// opened, or something required is not set, there are no settings, and err says why,
// without the value of a secret. Secrets and Problem are returned with an error too.
func (s *Settings) Of(ctx context.Context, info ledger.Plugin) (Held, error) {
	m := s.memory(info)
	held, err := s.of(ctx, m, info)
	m.found(info, held.Problem, err)
	return held, err
}

func (s *Settings) of(ctx context.Context, m *memory, info ledger.Plugin) (held Held, err error) {
	schema, err := m.compile()
	if err != nil {
		return Held{Secrets: m.remember(nil), Problem: plainWords(err)}, err
	}
	stored := readColumn(schema, info)
	sealed, opened, err := s.open(ctx, info.Name, schema)
	held.Secrets = m.remember(append(texts(opened), texts(stored.exposed)...))
	if info.RefusesSettings() {
		return s.refused(m, schema, info, held.Secrets)
	}
	if err != nil {
		held.Problem = plainWords(err)
		return held, err
	}
	held.Values, err = m.hold(schema, stored, opened)
	problems := stored.problems
	if err == nil {
		held.Stored = &ledger.AcceptedSettings{Mark: info.SettingsMark(), Plain: encode(stored.values), Secrets: sealed}
	} else {
		problems = append(problems, err.Error())
		if was := s.accepted(m, schema, info); was.err == nil {
			held.Values, held.Secrets, err = was.values, was.secrets, nil
		} else if last, ok := m.lastGood(schema, opened); ok {
			held.Values, err = last, nil
		} else {
			held.Values = nil
			err = pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings of %s: %s", info.Name, strings.Join(problems, "; "))
		}
	}
	if len(problems) > 0 {
		held.Problem = oneLine("settings: " + strings.Join(problems, ", "))
	}
	return held, err
}

// together merges plain settings, secrets and defaults and checks them.
func together(schema *Schema, plain, secrets map[string]json.RawMessage) (json.RawMessage, error) {
	values := maps.Clone(plain)
	maps.Copy(values, secrets)
	values = schema.fill(values)
	return encode(values), asError(schema.faults(values))
}

// open opens the secrets that the schema declares; others that are stored are
// left alone.
func (s *Settings) open(ctx context.Context, plugin string, schema *Schema) (
	sealed map[string][]byte, opened map[string]json.RawMessage, err error,
) {
	if len(schema.secrets) == 0 {
		return nil, nil, nil
	}
	if sealed, err = s.store.PluginSecrets(ctx, plugin); err != nil {
		return nil, nil, err
	}
	opened, err = s.openAll(plugin, schema, sealed)
	return sealed, opened, err
}

func (s *Settings) openAll(plugin string, schema *Schema, sealed map[string][]byte) (map[string]json.RawMessage, error) {
	opened := make(map[string]json.RawMessage, len(sealed))
	for _, name := range schema.Secrets() {
		if sealed[name] == nil {
			continue
		}
		value, err := s.vault.Open(plugin, name, sealed[name])
		if err != nil {
			return opened, err
		}
		opened[name] = value
	}
	return opened, nil
}

// Get returns the settings that hold for a registered plugin. See Of.
func (s *Settings) Get(ctx context.Context, plugin string) (json.RawMessage, error) {
	info, err := s.store.Plugin(ctx, plugin)
	if err != nil {
		return nil, err
	}
	held, err := s.Of(ctx, info)
	return held.Values, err
}

// Problem says what is wrong with a plugin's stored settings, empty when they
// are good. It has no value of a secret. It is for lists that are read all the
// time: what was found out of the same row, by Of or by Problem, is not found out
// again, nor are its secrets opened. So it does not see that the vault's key was
// lost since.
func (s *Settings) Problem(ctx context.Context, info ledger.Plugin) string {
	if problem, known := s.memory(info).problemOf(info); known {
		return problem
	}
	held, _ := s.Of(ctx, info) // the problem says what the error does
	return held.Problem
}
