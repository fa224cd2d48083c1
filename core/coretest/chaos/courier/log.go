package courier

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The courier's logs, one entry a line.
const (
	logFile  = "deliveries.log"
	workFile = "work.log"
	dieFile  = "deaths.log"
)

// death is an end of the courier by its own doing: it exits, or hangs for so long that the
// daemon ends it.
type death struct {
	Daemon int `json:"daemon"` // the process id of the daemon that had started it
}

// mostDeaths is how often the courier dies by its own doing under one daemon. Together with
// as many strikes of the killer at it, these are fewer than put a plugin into quarantine.
const mostDeaths = 2

// mayDie reports whether the courier may die once more, and writes it down as a death that
// is to come. The lock is held.
func (p *Plugin) mayDie() bool {
	deaths, err := entries[death](p.settings.Dir, dieFile)
	under := 0
	for _, d := range deaths {
		if d.Daemon == os.Getppid() {
			under++
		}
	}
	return err == nil && under < mostDeaths && record(p.settings.Dir, dieFile, death{Daemon: os.Getppid()}) == nil
}

// die ends the process.
func die() { os.Exit(3) }

// record appends an entry to a log, on disk.
func record(dir, log string, entry any) error {
	line, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(dir, log), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(line, '\n'))
	return errors.Join(err, file.Sync(), file.Close())
}

// entries returns what a log has so far. A line that was cut short, because the plugin
// died over it, is left out.
func entries[T any](dir, log string) ([]T, error) {
	content, err := os.ReadFile(filepath.Join(dir, log))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the courier's log: %w", err)
	}
	var all []T
	lines := bufio.NewScanner(bytes.NewReader(content))
	lines.Buffer(nil, len(content)+1)
	for lines.Scan() {
		var entry T
		if json.Unmarshal(lines.Bytes(), &entry) == nil {
			all = append(all, entry)
		}
	}
	return all, lines.Err()
}

// Log returns the deliveries so far. What was not written down whole was not carried.
func Log(dir string) ([]Call, error) { return entries[Call](dir, logFile) }

// Work returns what has happened with jobs so far, in order.
func Work(dir string) ([]Event, error) { return entries[Event](dir, workFile) }
