package conform

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// ManifestFile is the name of the manifest that lies beside a plugin's binary.
const ManifestFile = "plugin.json"

// checkDescribe asks one process three times and another one once.
func (x *exam) checkDescribe(ctx context.Context) error {
	var seen []pluginsdk.Manifest
	for _, times := range []int{3, 1} {
		s, err := x.launch(ctx)
		if err != nil {
			x.block("describe", "it cannot be launched")
			return faultf("correct the manifest; print it with BINARY --describe if it is made with the Go SDK", "%v", err)
		}
		x.describeAs(s.Manifest())
		seen = append(seen, s.Manifest())
		for range times - 1 {
			callCtx, cancel := context.WithTimeout(ctx, x.cfg.Patience)
			manifest, err := s.Describe(callCtx)
			cancel()
			if err != nil {
				s.discard()
				return faultf("answer Describe at any time", "asked once more to describe itself, it answered: %v", err)
			}
			seen = append(seen, manifest)
		}
		s.discard()
	}
	for _, manifest := range seen[1:] {
		if difference := differs(seen[0], manifest); difference != "" {
			return faultf("the manifest must not depend on time, chance or the environment", "it describes itself in two ways: %s", difference)
		}
	}
	x.notes = append(x.notes, x.manifest.Unheeded()...)
	x.note("%s %s: %d hooks, %d commands, %d tools", x.manifest.Name, x.manifest.Version, len(x.manifest.Hooks), len(x.manifest.Commands), len(x.manifest.Tools))
	return nil
}

// checkPluginJSON compares what an operator is shown before anything is run
// with what the process says.
func (x *exam) checkPluginJSON(context.Context) error {
	path := filepath.Join(filepath.Dir(x.cfg.Path), ManifestFile)
	content, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return skipped("there is no " + path)
	case err != nil:
		return err
	}
	const advice = "write it anew, such as with BINARY --describe > " + ManifestFile
	var manifest pluginsdk.Manifest
	if err := json.Unmarshal(content, &manifest); err != nil {
		return faultf(advice, "%s is not a manifest: %v", path, err)
	}
	if difference := differs(manifest, x.manifest); difference != "" {
		return faultf(advice, "%s says something else than the plugin: %s", path, difference)
	}
	return nil
}

// differs names the first field in which two manifests differ, or nothing. It
// compares them as JSON, in which neither order of keys nor white space count.
func differs(a, b pluginsdk.Manifest) string {
	first, second := asObject(a), asObject(b)
	for _, fields := range []map[string]any{first, second} {
		for name := range fields {
			if !reflect.DeepEqual(first[name], second[name]) {
				return name + " is once " + text(first[name]) + " and once " + text(second[name])
			}
		}
	}
	return ""
}

func asObject(manifest pluginsdk.Manifest) map[string]any {
	var object map[string]any
	if encoded, err := json.Marshal(manifest); err == nil {
		_ = json.Unmarshal(encoded, &object) // it was just made
	}
	return object
}

func text(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return clipped(string(encoded))
}
