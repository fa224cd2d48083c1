package courier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// doorPause is how often the door is looked at.
const doorPause = 20 * time.Millisecond

// Ask is a message that somebody puts at the door.
type Ask struct {
	Key      string             `json:"key"`
	SourceID string             `json:"sourceId"` // whose thread it is for; made when there is none
	BusyMode pluginsdk.BusyMode `json:"busyMode"`
	Content  string             `json:"content"`
}

// Ack is what lies beside it once Harness has promised an answer, or has
// refused one for good.
type Ack struct {
	Accepted pluginsdk.Accepted `json:"accepted"`
	Refused  string             `json:"refused,omitempty"`
}

// Prepare makes the directories of the door in dir.
func Prepare(dir string) error {
	return errors.Join(os.MkdirAll(asks(dir), 0o700), os.MkdirAll(acks(dir), 0o700), os.MkdirAll(jobs(dir), 0o700))
}

// Put puts a message at the door in dir.
func Put(dir string, ask Ask) error {
	return write(filepath.Join(asks(dir), ask.Key), ask)
}

// Take returns the ack of a key and removes both files, so that the key can be
// put again. It returns false while there is none.
func Take(dir, key string) (ack Ack, found bool, err error) {
	path := filepath.Join(acks(dir), key)
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Ack{}, false, nil
	}
	if err == nil {
		err = json.Unmarshal(content, &ack)
	}
	// The ask goes first: while the ack is there, the door does not look at it.
	return ack, err == nil, errors.Join(err, os.Remove(filepath.Join(asks(dir), key)), os.Remove(path))
}

// attend hands in what is at the door, and takes jobs on, until ctx ends.
func (p *Plugin) attend(ctx context.Context) {
	ticker := time.NewTicker(doorPause)
	defer ticker.Stop()
	for {
		p.serveDoor(ctx)
		p.takeJobs(ctx)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// serveDoor hands in each message that has no ack yet. One that fails is tried
// again the next time.
func (p *Plugin) serveDoor(ctx context.Context) {
	entries, err := os.ReadDir(asks(p.settings.Dir))
	if err != nil {
		p.host.Log.Error("the door cannot be read", "err", err)
		return
	}
	for _, entry := range entries {
		if _, err := os.Stat(filepath.Join(acks(p.settings.Dir), entry.Name())); err == nil || strings.HasSuffix(entry.Name(), partial) {
			continue
		}
		if err := p.handIn(ctx, entry.Name()); err != nil && ctx.Err() == nil {
			p.host.Log.Warn("a message could not be handed in", "key", entry.Name(), "err", err)
		}
	}
}

func (p *Plugin) handIn(ctx context.Context, key string) error {
	content, err := os.ReadFile(filepath.Join(asks(p.settings.Dir), key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var ask Ask
	if err == nil {
		err = json.Unmarshal(content, &ask)
	}
	if err != nil {
		return fmt.Errorf("read the message: %w", err)
	}
	ack := Ack{}
	ack.Accepted, err = p.submit(ctx, ask)
	switch pluginsdk.CodeOf(err) { //nolint:exhaustive // every other code is tried again
	case "":
	case pluginsdk.CodeConflict, pluginsdk.CodeInvalid, pluginsdk.CodeNotFound, pluginsdk.CodeDenied:
		ack.Refused = err.Error()
	default:
		return err
	}
	return write(filepath.Join(acks(p.settings.Dir), key), ack)
}

func (p *Plugin) submit(ctx context.Context, ask Ask) (pluginsdk.Accepted, error) {
	threadID, err := p.thread(ctx, ask.SourceID, ask.BusyMode)
	if err != nil {
		return pluginsdk.Accepted{}, err
	}
	answer, err := p.host.Messages.Submit(ctx, &pluginsdk.SubmitMessageRequest{Submission: pluginsdk.Submission{
		ThreadID: threadID, Source: Name, Key: ask.Key, Author: ask.SourceID, Content: ask.Content,
	}})
	if err != nil {
		return pluginsdk.Accepted{}, err
	}
	return answer.Accepted, nil
}

// thread makes somebody's thread, or finds it.
func (p *Plugin) thread(ctx context.Context, sourceID string, mode pluginsdk.BusyMode) (id string, err error) {
	made, err := p.host.Threads.Create(ctx, &pluginsdk.CreateThreadRequest{Thread: pluginsdk.NewThread{
		Source: Name, SourceID: sourceID, Name: sourceID, BusyMode: mode,
	}})
	if err != nil {
		return "", err
	}
	return made.Thread.ID, nil
}

// partial is the end of the name of a file that is still being written.
const partial = ".partial"

// write makes a file that is whole and on disk as soon as it has its name.
func write(path string, value any) error {
	content, err := json.Marshal(value)
	if err != nil {
		return err
	}
	file, err := os.Create(path + partial)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(path+partial, path)
}
