package invoker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// What a process is given that is not for everybody goes through files that only
// this user can read: a command line is in everybody's process list.

// privateFile is what one of them holds, and how it is named.
type privateFile string

const (
	privateMCP      privateFile = "harness-mcp-*.json"
	privateSettings privateFile = "harness-settings-*.json"
	privatePrompt   privateFile = "harness-prompt-*.md"
)

// privateFlags are the flags with which the CLI is told of them.
var privateFlags = map[privateFile]string{
	privateMCP:      "--mcp-config",
	privateSettings: "--settings",
	privatePrompt:   "--append-system-prompt-file",
}

// privateFiles are the paths of those that a process has.
type privateFiles map[privateFile]string

// writePrivate writes the files of one process, none for what is empty. Done with
// the process, removePrivate takes them away.
func (c *Claude) writePrivate(contents map[privateFile][]byte) (privateFiles, error) {
	files := privateFiles{}
	for kind, content := range contents {
		if len(content) == 0 {
			continue
		}
		path, err := writeFile(c.config.Private, kind, content)
		if err != nil {
			c.removePrivate(files)
			return nil, fmt.Errorf("write a private file of the agent: %w", err)
		}
		files[kind] = path
	}
	return files, nil
}

func (c *Claude) removePrivate(files privateFiles) {
	for _, path := range files {
		if err := os.Remove(path); err != nil {
			c.config.Log.Warn("a private file of a process that has ended cannot be removed", "err", err)
		}
	}
}

func writeFile(dir string, kind privateFile, content []byte) (path string, err error) {
	file, err := os.CreateTemp(dir, string(kind))
	if err != nil {
		return "", err
	}
	_, err = file.Write(content)
	if err := errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	return file.Name(), nil
}

// clearPrivate makes the directory of private files, and removes those that a
// predecessor that was killed left there.
func clearPrivate(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the directory of private files: %w", err)
	}
	for kind := range privateFlags {
		left, err := filepath.Glob(filepath.Join(dir, string(kind)))
		for _, path := range left {
			err = errors.Join(err, os.Remove(path))
		}
		if err != nil {
			return fmt.Errorf("remove private files left behind: %w", err)
		}
	}
	return nil
}
