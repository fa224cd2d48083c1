// Package settings reads the JSON settings of the shipped plugins.
package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Decode parses raw, a JSON object, into target. Nothing and null are the empty
// object. An unknown setting is an error that names it, because a misspelt one
// would otherwise be without effect. Errors have CodeInvalid.
func Decode(raw json.RawMessage, target any) error {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(target); err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: more than one JSON value")
	}
	return nil
}
