package plugintest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type settings struct{ h *Host }

// SetSettings replaces the settings, a JSON object. The plugin is not told:
// call its OnSettingsChange.
func (h *Host) SetSettings(object json.RawMessage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.settings = slices.Clone(object)
}

func (s settings) Get(ctx context.Context) (json.RawMessage, error) {
	leave, err := s.h.enter(ctx, "Settings.Get")
	if err != nil {
		return nil, err
	}
	defer leave()
	return slices.Clone(s.h.settings), nil
}

type state struct{ h *Host }

func (s state) Get(ctx context.Context, key string) ([]byte, error) {
	leave, err := s.h.enter(ctx, "State.Get")
	if err != nil {
		return nil, err
	}
	defer leave()
	value, ok := s.h.state[key]
	if !ok {
		return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no state %q", key)
	}
	return slices.Clone(value), nil
}

func (s state) Put(ctx context.Context, key string, value []byte) error {
	leave, err := s.h.enter(ctx, "State.Put")
	if err != nil {
		return err
	}
	defer leave()
	s.h.state[key] = slices.Clone(value)
	return nil
}

func (s state) Delete(ctx context.Context, key string) error {
	leave, err := s.h.enter(ctx, "State.Delete")
	if err != nil {
		return err
	}
	defer leave()
	delete(s.h.state, key)
	return nil
}

func (s state) Keys(ctx context.Context, prefix string) ([]string, error) {
	leave, err := s.h.enter(ctx, "State.Keys")
	if err != nil {
		return nil, err
	}
	defer leave()
	var keys []string
	for key := range s.h.state {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}
