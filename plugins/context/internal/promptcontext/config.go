package promptcontext

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/seed-706843ae/harness/plugins/internal/settings"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	defaultFileBytes = 64 << 10
	largestFileBytes = 1 << 20
)

var settingsSchema = json.RawMessage(`{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "dir": {"operator": true, "type": "string", "description": "Absolute path of the context directory; the workspace's context directory when not set"},
    "maxFileBytes": {"type": "integer", "minimum": 1, "maximum": 1048576, "default": 65536, "description": "How much of each file is shown"},
    "threads": {
      "operator": true,
      "type": "array", "items": {"type": "string", "pattern": "` + threadsPattern + `"},
      "default": ["primary", "cron", "general/web", "general/cli", "general/discord-owner"],
      "description": "Threads that are shown all context files: a kind (primary, task, cron, general), or KIND/SOURCE such as general/discord"
    },
    "filesForOthers": {
      "operator": true,
      "type": "array", "items": {"type": "string", "pattern": "` + filePattern + `"}, "default": [],
      "description": "Names of the context files that all other threads are shown, strangers' and tasks' too, such as system.md"
    }
  }
}`)

// config is the plugin's settings with their defaults.
type config struct {
	// Dir is the context directory; empty when there is none.
	Dir   string `json:"dir"`
	named bool   // the settings name Dir
	// MaxFileBytes is how much of each file is shown.
	MaxFileBytes int64 `json:"maxFileBytes"`
	audience
}

// parseConfig reads the settings. workspace is where Dir is by default.
func parseConfig(raw json.RawMessage, workspace string) (config, error) {
	parsed := config{MaxFileBytes: defaultFileBytes, audience: audience{Threads: ownersThreads()}}
	if err := settings.Decode(raw, &parsed); err != nil {
		return config{}, err
	}
	if parsed.MaxFileBytes < 1 || parsed.MaxFileBytes > largestFileBytes {
		return config{}, pluginsdk.Errorf(pluginsdk.CodeInvalid,
			"settings: maxFileBytes is %d; it must be from 1 to %d", parsed.MaxFileBytes, largestFileBytes)
	}
	if err := parsed.check(); err != nil {
		return config{}, err
	}
	parsed.named = parsed.Dir != ""
	if !parsed.named && workspace != "" {
		parsed.Dir = filepath.Join(workspace, "context")
	}
	if parsed.Dir != "" && !filepath.IsAbs(parsed.Dir) {
		return config{}, pluginsdk.Errorf(pluginsdk.CodeInvalid,
			"settings: dir is %q; it must be an absolute path", parsed.Dir)
	}
	return parsed, nil
}

var errNoDirectory = errors.New("no such directory")

// checkDir returns why the directory that the settings name cannot be read, and what to
// do. That of the workspace may be away: then the agent has no memory.
func (c config) checkDir() error {
	if !c.named {
		return nil
	}
	_, err := os.ReadDir(c.Dir)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: dir is %q, %w; make it, or name another", c.Dir, errNoDirectory)
	case errors.Is(err, syscall.ENOTDIR):
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: dir is %q, which is no directory; name one", c.Dir)
	}
	return pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: dir is %q, which cannot be read: %w; let the daemon's user read it, or name another", c.Dir, err)
}
