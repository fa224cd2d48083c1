package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// AcceptedSettings are settings that a plugin has taken. They hold while the plugin
// refuses the settings of its row.
type AcceptedSettings struct {
	Mark    string            `json:"mark"` // SettingsMark of the row that had them
	At      time.Time         `json:"at"`   // when the plugin took them
	Plain   json.RawMessage   `json:"plain,omitempty"`
	Secrets map[string][]byte `json:"secrets,omitempty"` // sealed, by name
	// Started says that a process has started with them. Others a process has taken while
	// it ran: the next start may refuse them, and Before, with which one has started, holds
	// then.
	Started bool              `json:"started,omitempty"`
	Before  *AcceptedSettings `json:"before,omitempty"`
}

// ReadAccepted returns the accepted settings of a row, the newest first.
func ReadAccepted(raw json.RawMessage) (found []*AcceptedSettings) {
	var newest *AcceptedSettings
	if len(raw) == 0 || json.Unmarshal(raw, &newest) != nil {
		return nil // damaged by hand: as if there were none
	}
	for at := newest; at != nil; at = at.Before {
		found = append(found, at)
	}
	return found
}

// RefusedSettings are the settings of a row that the plugin has refused.
type RefusedSettings struct {
	Mark  string    `json:"mark"`  // SettingsMark of that row
	Words string    `json:"words"` // the plugin's, without secrets
	At    time.Time `json:"at"`    // in UTC and whole microseconds, as LastErrorAt
}

// SettingsMark returns a text that differs when the row's settings do. Of a secret it
// tells nothing: a change of one counts in the revision.
func (p Plugin) SettingsMark() string {
	sum := sha256.Sum256(p.Settings)
	return fmt.Sprintf("%d %s", p.SettingsRevision, hex.EncodeToString(sum[:8]))
}

// RefusesSettings reports whether the plugin has refused the settings that its row has
// now. They are not offered again: what it accepted before holds, until somebody changes
// the row's.
func (p Plugin) RefusesSettings() bool {
	return p.Refused.Mark != "" && p.Refused.Mark == p.SettingsMark()
}

// AcceptedSettings returns the settings that the plugin has accepted and not refused
// since, the newest first. What a process has started with is not refused by another that
// only ran.
func (p Plugin) AcceptedSettings() []*AcceptedSettings {
	return slices.DeleteFunc(ReadAccepted(p.Accepted), func(one *AcceptedSettings) bool {
		return one.Mark == p.Refused.Mark && !one.Started
	})
}

// WhenAccepted says in words when the plugin has taken the settings that hold while it
// refuses those of its row; empty: none are kept.
func (p Plugin) WhenAccepted() string {
	if kept := p.AcceptedSettings(); len(kept) > 0 {
		return kept[0].At.UTC().Format(time.DateTime + " MST")
	}
	return ""
}
