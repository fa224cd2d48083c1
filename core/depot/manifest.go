package depot

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// ManifestFile is the file of a package that describes it.
const ManifestFile = "plugin.json"

// maxManifest bounds a plugin.json, in bytes.
const maxManifest = 1 << 20

// static is the content of a plugin.json: the manifest, and which file to run.
type static struct {
	pluginsdk.Manifest
	// Executable is the file to run, relative to the package; the plugin's name
	// when it is empty.
	Executable string `json:"executable,omitempty"`
}

// readStatic reads and checks a plugin.json.
func readStatic(root *os.Root) (static, error) {
	file, err := root.Open(ManifestFile)
	if err != nil {
		return static{}, err
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, maxManifest+1))
	if err != nil {
		return static{}, fmt.Errorf("read %s: %w", ManifestFile, err)
	}
	if len(raw) > maxManifest {
		return static{}, invalid("%s is larger than %d KiB", ManifestFile, maxManifest>>10)
	}
	var s static
	if err := json.Unmarshal(raw, &s); err != nil {
		return static{}, invalid("%s is not the description of a plugin: %w", ManifestFile, err)
	}
	if err := s.Check(); err != nil {
		return static{}, invalid("%s: %w", ManifestFile, err)
	}
	if s.Executable == "" {
		s.Executable = s.Name
	}
	return s, nil
}

// checkExecutable checks that the file to run is there and may be run.
func (s *stage) checkExecutable(name string) (string, error) {
	if !filepath.IsLocal(name) {
		return "", invalid("%s: executable %q leads out of the package", ManifestFile, name)
	}
	clean := filepath.ToSlash(filepath.Clean(name))
	info, err := s.root.Lstat(clean)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", invalid("the executable %q is not in it; `executable` in %s names another file", name, ManifestFile)
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", invalid("the executable %q is not a file", name)
	case info.Mode()&0o111 == 0:
		return "", invalid("%q may not be executed: `chmod +x` it and pack it again", name)
	}
	return clean, nil
}

// missingManifest says what to do about a package without a plugin.json.
func (p *Package) missingManifest(source string) error {
	if p.Executable != "" {
		return invalid("there is no %s beside it; make one with `%s --describe > %s`", ManifestFile, source,
			filepath.Join(filepath.Dir(source), ManifestFile))
	}
	for _, e := range p.stage.entries {
		if filepath.Base(e.name) == ManifestFile {
			return invalid("its %s is in the directory %q; it must be at the top: pack the content of that directory with `tar czf NAME.tar.gz -C DIR .`",
				ManifestFile, filepath.Dir(e.name))
		}
	}
	return invalid("there is no %s in it; make one with `EXECUTABLE --describe > %s`", ManifestFile, ManifestFile)
}
