package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// profile is a daemon that somebody has saved under a name.
type profile struct {
	Server string `json:"server"`
	Token  string `json:"token,omitempty"`
	CA     string `json:"ca,omitempty"` // absolute path
}

// profiles are those of a user.
type profiles struct {
	Default string             `json:"default,omitempty"` // is used when nothing else is said
	Named   map[string]profile `json:"profiles"`
}

// profilesFile is where a user's profiles are; empty: this user has no directory for what
// they configure, and so no profiles.
func profilesFile() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "harness", "profiles.json")
}

// loadProfiles reads the user's profiles; those that others can read are refused, because
// there are tokens in them.
func loadProfiles() (profiles, error) {
	none := profiles{Named: make(map[string]profile)}
	path := profilesFile()
	if path == "" {
		return none, nil
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil
	}
	if err != nil {
		return none, fmt.Errorf("profiles: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return none, fmt.Errorf("profiles: %s can be read by others, and has tokens in it: chmod 600 %s, and revoke the tokens if somebody may have seen them", path, path)
	}
	text, err := os.ReadFile(path) //nolint:gosec // the user's own
	if err != nil {
		return none, fmt.Errorf("profiles: %w", err)
	}
	read := none
	if err := json.Unmarshal(text, &read); err != nil {
		return none, fmt.Errorf("profiles: %s cannot be read: %w; mend it, or delete it and save the profiles again", path, err)
	}
	if read.Named == nil {
		read.Named = none.Named
	}
	return read, nil
}

// store writes the profiles for the user alone, whole or not at all.
func (p profiles) store() (err error) {
	path := profilesFile()
	if path == "" {
		return errors.New("profiles: there is no directory for them; set HOME or XDG_CONFIG_HOME")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("profiles: %w", err)
	}
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".profiles-*") // of mode 0600
	if err != nil {
		return fmt.Errorf("profiles: %w", err)
	}
	_, err = file.Write(append(text, '\n'))
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("profiles: %w", errors.Join(err, os.Remove(file.Name())))
	}
	return nil
}
