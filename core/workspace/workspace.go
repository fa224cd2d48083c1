// Package workspace is the agent's context files: CLAUDE.md and context/**/*.md of the
// directory in which its sessions work. The files are the truth; people and plugins read and
// write them here with their versions, so that nobody writes over what they have not seen.
// Each change is kept with its text and with who made it, also what the agent changed in a
// turn, and what somebody changed past Harness.
package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// MaxText is how long a file may be, in bytes. A longer one, and one that is not UTF-8,
	// is none of the context files.
	MaxText = 1 << 20
	// maxFiles is how many files there are, at most: the first ones by path.
	maxFiles = 1000
)

// Store keeps the history.
type Store interface {
	// WorkspaceHeads returns of which version each file was when it was last looked at, by
	// path.
	WorkspaceHeads(ctx context.Context) (map[string]string, error)
	// RecordChanges stores changes with their texts, all or none, and returns them with their
	// ids.
	RecordChanges(ctx context.Context, changes []ledger.ContextChange) error
	WorkspaceHistory(ctx context.Context, request pluginsdk.WorkspaceHistoryRequest) ([]pluginsdk.WorkspaceChange, error)
	// WorkspaceText returns a text that a file has had, or that was refused, with the change
	// that it came by; CodeNotFound: none of that version is kept.
	WorkspaceText(ctx context.Context, path, version string) (pluginsdk.WorkspaceChange, string, error)
}

// Config is what a room needs.
type Config struct {
	Dir string // the workspace
	Log *slog.Logger
	Now func() time.Time // default time.Now
}

// Room reads and writes the context files.
type Room struct {
	config Config
	store  Store

	background guard.Loop // woken: there is something to look at

	runsMu sync.Mutex
	runs   []work // that are at work, or have ended since the last look

	// One look or change at a time.
	mu     sync.Mutex
	known  map[string]seen // by path; nil: nothing was looked at yet
	looked time.Time       // when that was
	// unrecorded are changes that were made here and could not be stored, by path.
	unrecorded map[string]ledger.ContextChange
}

// seen is a file as it was when it was last looked at. One of which only the version is
// known is read again.
type seen struct {
	version string
	size    int64
	changed time.Time
}

// work is a turn of the agent.
type work struct {
	runID, threadID string
	began, ended    time.Time // ended is zero while it is at work
}

// New returns a Room. Start begins to notice what others change.
func New(config Config, store Store) *Room {
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	return &Room{config: config, store: store, unrecorded: make(map[string]ledger.ContextChange)}
}

// Start looks at the files, and from then on whenever a turn of the agent begins or ends. It
// works until Stop, whatever becomes of ctx.
func (r *Room) Start(ctx context.Context) error {
	r.sweepUp()
	r.background.Wake()
	r.background.Start(ctx, r.loop)
	return nil
}

// Stop ends the look that is under way, and waits for that. What it has not seen, the next
// daemon does.
func (r *Room) Stop(context.Context) error {
	r.background.Stop()
	return nil
}

func (r *Room) loop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.background.Woken():
		}
		err := guard.Call(r.config.Log, "a look at the workspace", func() error {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.refresh(ctx)
		})
		if err != nil && ctx.Err() == nil {
			r.config.Log.Warn("what was changed in the workspace cannot be noted; the next look tries it again", "err", err)
		}
	}
}

// Began notes that a turn of the agent is at work from now on. It costs the turn nothing.
func (r *Room) Began(runID, threadID string) {
	r.runsMu.Lock()
	r.runs = append(r.runs, work{runID: runID, threadID: threadID, began: r.config.Now()})
	r.runsMu.Unlock()
	r.background.Wake()
}

// Ended notes that a turn is over. What it has changed is noted soon after.
func (r *Room) Ended(runID string) {
	r.runsMu.Lock()
	for i, one := range r.runs {
		if one.runID == runID && one.ended.IsZero() {
			r.runs[i].ended = r.config.Now()
			break
		}
	}
	r.runsMu.Unlock()
	r.background.Wake()
}

// grain is how far a file's time may be from the clock's: file systems keep it coarsely.
const grain = 20 * time.Millisecond

// changedBy says who has changed a file: the turn that was at work at that time, or some turn
// (without its run) when there were several, or nobody of Harness. The time of a file that is
// gone, or of one that was moved in, says nothing: it was between the last look and now.
func (r *Room) changedBy(runs []work, at, now time.Time) (change pluginsdk.WorkspaceChange) {
	from, to := r.looked, now
	if !at.IsZero() && at.After(r.looked.Add(-grain)) && !at.After(now.Add(grain)) {
		from, to = at.Add(-grain), at.Add(grain)
	}
	change.Kind = pluginsdk.ChangeOutside
	found := 0
	for _, one := range runs {
		if one.began.After(to) || !one.ended.IsZero() && one.ended.Before(from) {
			continue
		}
		found++
		change.Kind, change.RunID, change.ThreadID = pluginsdk.ChangeByAgent, one.runID, one.threadID
	}
	if found > 1 {
		change.RunID, change.ThreadID = "", ""
	}
	return change
}

// refresh compares the files with what is known of them, and stores what has changed. A file
// whose size and time are as they were is not read. The caller holds mu.
func (r *Room) refresh(ctx context.Context) error {
	if r.known == nil {
		heads, err := r.store.WorkspaceHeads(ctx)
		if err != nil {
			return err
		}
		r.known = make(map[string]seen, len(heads))
		for path, version := range heads {
			r.known[path] = seen{version: version}
		}
	}
	root, err := os.OpenRoot(r.config.Dir)
	if err != nil {
		return fmt.Errorf("open the workspace: %w", err)
	}
	defer root.Close() // nothing was written through it
	now := r.config.Now()
	found, err := list(root)
	if err != nil {
		return err
	}
	next := make(map[string]seen, len(found))
	var changes []ledger.ContextChange
	r.runsMu.Lock()
	runs := slices.Clone(r.runs)
	r.runsMu.Unlock()
	for _, path := range slices.Sorted(maps.Keys(found)) {
		info, before := found[path], r.known[path]
		if before.size == info.Size() && before.changed.Equal(info.ModTime()) && !before.changed.IsZero() {
			next[path] = before
			continue
		}
		text, err := read(root, path)
		if errors.Is(err, errNoContext) || errors.Is(err, fs.ErrNotExist) {
			continue // it is none, or not any more
		}
		if errors.Is(err, fs.ErrPermission) { // it is what it was, as far as can be known
			r.config.Log.Warn("a context file cannot be read", "file", path, "err", err)
			next[path] = before
			continue
		}
		if err != nil {
			return err
		}
		is := seen{version: versionOf(text), size: int64(len(text)), changed: info.ModTime()}
		next[path] = is
		if is.version != before.version {
			changes = append(changes, r.change(runs, pluginsdk.WorkspaceChange{
				Path: path, Before: before.version, Version: is.version, Size: is.size, At: now,
			}, text, is.changed))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(r.known)) {
		if _, there := next[path]; !there && r.known[path].version != "" {
			changes = append(changes, r.change(runs, pluginsdk.WorkspaceChange{Path: path, Before: r.known[path].version, At: now}, nil, time.Time{}))
		}
	}
	if len(changes) > 0 {
		if err := r.store.RecordChanges(ctx, changes); err != nil {
			return err
		}
	}
	r.known, r.looked = next, now
	clear(r.unrecorded)
	r.runsMu.Lock()
	defer r.runsMu.Unlock()
	r.runs = slices.DeleteFunc(r.runs, func(one work) bool { return !one.ended.IsZero() && one.ended.Before(now.Add(-grain)) })
	return nil
}

// change is a change that was found, or made here before and not stored.
func (r *Room) change(runs []work, found pluginsdk.WorkspaceChange, text []byte, modified time.Time) ledger.ContextChange {
	if made, ok := r.unrecorded[found.Path]; ok && made.Version == found.Version {
		return made
	}
	by := r.changedBy(runs, modified, found.At)
	found.Kind, found.RunID, found.ThreadID = by.Kind, by.RunID, by.ThreadID
	return ledger.ContextChange{WorkspaceChange: found, Text: text}
}

// List returns the files as they are, by path.
func (r *Room) List(ctx context.Context) ([]pluginsdk.WorkspaceFile, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.refresh(ctx); err != nil {
		return nil, err
	}
	var files []pluginsdk.WorkspaceFile
	for _, path := range slices.Sorted(maps.Keys(r.known)) {
		files = append(files, fileOf(path, r.known[path]))
	}
	return files, nil
}

func fileOf(path string, is seen) pluginsdk.WorkspaceFile {
	return pluginsdk.WorkspaceFile{Path: path, Version: is.version, Size: is.size, ModifiedAt: is.changed.UTC()}
}

// Read returns a file as it is, or an earlier text of it. CodeNotFound: there is none.
func (r *Room) Read(ctx context.Context, path, version string) (pluginsdk.WorkspaceFile, string, error) {
	if err := checkPath(path); err != nil {
		return pluginsdk.WorkspaceFile{}, "", err
	}
	if version != "" {
		change, text, err := r.store.WorkspaceText(ctx, path, version)
		return pluginsdk.WorkspaceFile{Path: path, Version: version, Size: int64(len(text)), ModifiedAt: change.At}, text, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.refresh(ctx); err != nil {
		return pluginsdk.WorkspaceFile{}, "", err
	}
	is, ok := r.known[path]
	if !ok {
		return pluginsdk.WorkspaceFile{}, "", absent(path)
	}
	root, err := os.OpenRoot(r.config.Dir)
	if err != nil {
		return pluginsdk.WorkspaceFile{}, "", fmt.Errorf("open the workspace: %w", err)
	}
	defer root.Close() // nothing was written through it
	text, err := read(root, path)
	if errors.Is(err, errNoContext) || errors.Is(err, fs.ErrNotExist) {
		return pluginsdk.WorkspaceFile{}, "", absent(path)
	}
	if err != nil {
		return pluginsdk.WorkspaceFile{}, "", err
	}
	if version := versionOf(text); version != is.version { // it was changed since the look, which the next one notes
		r.known[path] = seen{version: is.version}
		is.version, is.size = version, int64(len(text))
	}
	return fileOf(path, is), string(text), nil
}

func absent(path string) error {
	return pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no context file %s", path)
}

// History returns changes, newest first.
func (r *Room) History(ctx context.Context, request pluginsdk.WorkspaceHistoryRequest) ([]pluginsdk.WorkspaceChange, error) {
	if request.Path != "" {
		if err := checkPath(request.Path); err != nil {
			return nil, err
		}
	}
	r.mu.Lock()
	err := r.refresh(ctx)
	r.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return r.store.WorkspaceHistory(ctx, request)
}

// checkText refuses (CodeInvalid) what cannot be a context file.
func checkText(text string) error {
	switch {
	case len(text) > MaxText:
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "text: %d bytes is more than the %d allowed", len(text), MaxText)
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "text: it is not text in UTF-8")
	}
	return nil
}
