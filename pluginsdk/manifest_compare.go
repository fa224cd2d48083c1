package pluginsdk

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
)

// Differences names the fields, as in JSON, in which two manifests differ. How
// a schema is written and in which order hooks are given makes no difference.
func (m Manifest) Differences(other Manifest) (names []string) {
	a, b := m.fields(), other.fields()
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !reflect.DeepEqual(a[name], b[name]) {
			names = append(names, name)
		}
	}
	return names
}

// fields is the manifest as JSON has it; nil when it cannot be written as JSON.
func (m Manifest) fields() map[string]any {
	m.Hooks = slices.Sorted(slices.Values(m.Hooks))
	raw, err := json.Marshal(m)
	if err != nil {
		return nil
	}
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil
	}
	return fields
}
