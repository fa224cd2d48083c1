package brain

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/seed-706843ae/harness/plugins/workflow/internal/stages"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// mostState is how many bytes a state file has at most.
const mostState = 32 << 20

// ErrSetAside is in the chain of an error that says that the state file could not be read, and that it has
// another name now, which the error has. The next Save writes a new one.
var ErrSetAside = errors.New("set aside")

// Save writes the state of a workflow, whole: after a crash the file is the old one or the new one. A file
// that is there and was not read yet is read first; where Load would set it aside, Save does that,
// returns its error, and writes nothing.
func (b *Brain) Save(state stages.State) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.looked {
		if _, _, err := b.load(); err != nil {
			return err
		}
	}
	if b.kept != nil {
		return b.kept
	}
	state.Version = stages.Version
	if err := sound(state); err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeInternal, "the state of workflow %.100q cannot be written: %w", state.ID, err)
	}
	content, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeInternal, "the state of workflow %.100q cannot be written: %w", state.ID, err)
	}
	if len(content) >= mostState {
		return pluginsdk.Errorf(pluginsdk.CodeExhausted, "the state of workflow %.100q has %d bytes; a state has at most %d", state.ID, len(content), mostState)
	}
	return b.write(StateFile, append(content, '\n'))
}

// Load reads the state file. found is false when there is none. One that cannot be read, is not
// whole, or was written by a newer version, is renamed and never written over or deleted; the error
// says so, and wraps ErrSetAside.
func (b *Brain) Load() (state stages.State, found bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.load()
}

func (b *Brain) load() (state stages.State, found bool, err error) {
	state, err = b.read()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		b.looked, b.kept = true, nil
		return stages.State{}, false, nil
	case errors.Is(err, errNoState), errors.Is(err, errNotPlain), errors.Is(err, fs.ErrPermission):
		return stages.State{}, false, b.setAside(err)
	case err != nil: // such as too many open files: the state may be good
		return stages.State{}, false, explain(filepath.Join(b.path, StateFile), err)
	}
	b.looked, b.kept = true, nil
	return state, true, nil
}

// errNoState is in the chain of an error that says what is wrong with the content of a state file.
var errNoState = errors.New("it is no state of a workflow")

func (b *Brain) read() (state stages.State, err error) {
	file, err := openFile(b.root, StateFile, os.O_RDONLY)
	if err != nil {
		return state, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, mostState+1))
	if err != nil {
		return state, err
	}
	if state, err = parse(content); err != nil {
		return stages.State{}, fmt.Errorf("%w: %w", errNoState, err)
	}
	return state, nil
}

func parse(content []byte) (state stages.State, err error) {
	if len(content) > mostState {
		return state, fmt.Errorf("it has more than %d bytes", mostState)
	}
	var of struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(content, &of); err != nil {
		return state, fmt.Errorf("it is not whole, or no JSON: %w", err)
	}
	if of.Version > stages.Version {
		return state, fmt.Errorf("its version is %d, and this plugin knows versions up to %d", of.Version, stages.Version)
	}
	if err := json.Unmarshal(content, &state); err != nil {
		return state, err
	}
	return state, sound(state)
}

// sound returns what is wrong with a state.
func sound(state stages.State) error {
	switch {
	case state.Version != stages.Version:
		return fmt.Errorf("version: %d is none that there was", state.Version)
	case state.ID == "":
		return errors.New("id: it is empty")
	}
	said := state.Final
	for n, stage := range state.Stages {
		if stage.Agent == "" {
			return fmt.Errorf("stages: stage %d has no agent", n+1)
		}
		if !slices.Contains([]stages.Status{stages.Pending, stages.Running, stages.Reviewing, stages.Completed, stages.Failed}, stage.Status) {
			return fmt.Errorf("stages: stage %d has the status %.50q, which there is not", n+1, stage.Status)
		}
		said = slices.Concat(said, stage.Verdicts)
	}
	for _, v := range said {
		if v.Decision != stages.Approve && v.Decision != stages.Revise && v.Decision != stages.Redesign {
			return fmt.Errorf("stages: %.50q is no verdict", v.Decision)
		}
	}
	return nil
}

// setAside gives a state file that cannot be read another name, and returns the error that says so.
func (b *Brain) setAside(why error) error {
	if of := new(fs.PathError); errors.As(why, &of) {
		why = of.Err
	}
	path := filepath.Join(b.path, StateFile)
	fresh, err := b.unused(StateFile + ".bad-" + time.Now().UTC().Format("20060102T150405Z"))
	if err == nil {
		err = b.root.Rename(StateFile, fresh)
	}
	if err == nil {
		err = b.sync()
	}
	b.looked = true
	if err != nil {
		b.kept = pluginsdk.Errorf(pluginsdk.CodeInternal, "%s cannot be read (%v), and is not written over; it could not be renamed either: %v. Rename it, then continue the workflow", path, why, err)
		return b.kept
	}
	b.kept = nil
	return pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s could not be read (%v) and was %w as %s, unchanged", path, why, ErrSetAside, fresh)
}

// unused returns a name that no file has: the one that is wanted, or with a number.
func (b *Brain) unused(want string) (string, error) {
	name := want
	for n := 2; ; n++ {
		switch _, err := b.root.Lstat(name); {
		case errors.Is(err, fs.ErrNotExist):
			return name, nil
		case err != nil:
			return "", err
		}
		name = fmt.Sprintf("%s-%d", want, n)
	}
}
