package plugintest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type settings struct{ view }

// SetSettings replaces the settings, a JSON object. The plugin is not told:
// call its OnSettingsChange.
func (h *Host) SetSettings(object json.RawMessage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.settings = slices.Clone(object)
}

func (s settings) Get(ctx context.Context, _ *pluginsdk.GetSettingsRequest) (*pluginsdk.GetSettingsResponse, error) {
	leave, err := s.h.enter(ctx, "Settings.Get")
	if err != nil {
		return nil, err
	}
	defer leave()
	return &pluginsdk.GetSettingsResponse{Settings: slices.Clone(s.h.settings)}, nil
}

type state struct{ view }

// What the contract allows of a key and a value.
const (
	maxKeyBytes   = 512
	maxValueBytes = 1 << 20
)

// State returns what a plugin keeps, by key.
func (h *Host) State(plugin string) []pluginsdk.StateEntry {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.entries(plugin)
}

// entries are copies, in the order of their keys. A key that was deleted leaves
// its revision behind.
func (h *Host) entries(plugin string) (entries []pluginsdk.StateEntry) {
	for place, entry := range h.state {
		if owner, _, _ := strings.Cut(place, "/"); owner == plugin && entry.Value != nil {
			entry.Value = slices.Clone(entry.Value)
			entries = append(entries, entry)
		}
	}
	slices.SortFunc(entries, func(a, b pluginsdk.StateEntry) int { return strings.Compare(a.Key, b.Key) })
	return entries
}

// place is where an entry of the plugin is.
func (s state) place(key string) string { return s.manifest.Name + "/" + key }

func (s state) Get(ctx context.Context, request *pluginsdk.GetStateRequest) (*pluginsdk.GetStateResponse, error) {
	leave, err := s.h.enter(ctx, "State.Get")
	if err != nil {
		return nil, err
	}
	defer leave()
	entry := s.h.state[s.place(request.Key)]
	if entry.Value == nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no state %q", request.Key)
	}
	entry.Value = slices.Clone(entry.Value)
	return &pluginsdk.GetStateResponse{Entry: entry}, nil
}

// check says whether a write's condition holds.
func (s state) check(key string, condition *pluginsdk.StateCondition) error {
	entry := s.h.state[s.place(key)]
	revision := entry.Revision
	if entry.Value == nil {
		revision = 0
	}
	if condition != nil && condition.Revision != revision {
		return pluginsdk.Errorf(pluginsdk.CodeConflict, "state %q is of revision %d, not %d", key, revision, condition.Revision)
	}
	return nil
}

func (s state) Put(ctx context.Context, request *pluginsdk.PutStateRequest) (*pluginsdk.PutStateResponse, error) {
	leave, err := s.h.enter(ctx, "State.Put")
	if err != nil {
		return nil, err
	}
	defer leave()
	switch {
	case request.Key == "" || len(request.Key) > maxKeyBytes:
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "key %q: want 1 to %d bytes", request.Key, maxKeyBytes)
	case len(request.Value) > maxValueBytes:
		return nil, pluginsdk.Errorf(pluginsdk.CodeExhausted, "state %q: %d bytes are more than 1 MiB", request.Key, len(request.Value))
	}
	if err := s.check(request.Key, request.If); err != nil {
		return nil, err
	}
	entry := pluginsdk.StateEntry{
		Key: request.Key, Value: append([]byte{}, request.Value...), Revision: s.h.state[s.place(request.Key)].Revision + 1,
	}
	s.h.state[s.place(request.Key)] = entry
	return &pluginsdk.PutStateResponse{Revision: entry.Revision}, nil
}

func (s state) Delete(ctx context.Context, request *pluginsdk.DeleteStateRequest) (*pluginsdk.DeleteStateResponse, error) {
	leave, err := s.h.enter(ctx, "State.Delete")
	if err != nil {
		return nil, err
	}
	defer leave()
	entry, known := s.h.state[s.place(request.Key)]
	if known && entry.Value != nil {
		if err := s.check(request.Key, request.If); err != nil {
			return nil, err
		}
		entry.Value = nil
		s.h.state[s.place(request.Key)] = entry
	}
	return &pluginsdk.DeleteStateResponse{}, nil
}

func (s state) List(ctx context.Context, request *pluginsdk.ListStateRequest) (*pluginsdk.ListStateResponse, error) {
	leave, err := s.h.enter(ctx, "State.List")
	if err != nil {
		return nil, err
	}
	defer leave()
	found := filter(s.h.entries(s.manifest.Name), func(entry pluginsdk.StateEntry) bool {
		return strings.HasPrefix(entry.Key, request.Prefix) && entry.Key > request.After
	})
	answer := &pluginsdk.ListStateResponse{Entries: page(found, request.Limit)}
	answer.More = len(answer.Entries) < len(found)
	for i := range answer.Entries {
		if request.KeysOnly {
			answer.Entries[i].Value = nil
		}
	}
	return answer, nil
}
