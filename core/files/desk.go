package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// The directories of a thread: in has copies of what people send, each below the id of
// its file; the agent leaves in out what is to go with its reply; unsent has what of that
// was not sent. The agent runs as the daemon's user and can change all three, so the
// daemon opens nothing in them through a link.
const (
	inName     = "in"
	outName    = "out"
	unsentName = "unsent"
)

// Lay makes the directories of a thread, and lays the files that attachments refer to
// ready for its agent: as copies, since what the agent does to them is not to be done to
// what is kept. What cannot be laid ready is said in Desk.Missing, and a directory that
// cannot be made is empty: a turn can go without them. An error is for another attempt.
func (r *Room) Lay(ctx context.Context, threadID string, attachments []pluginsdk.Attachment) (ledger.Desk, error) {
	if uuid.Validate(threadID) != nil {
		return ledger.Desk{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "thread %q has no directory: that is no id", threadID)
	}
	desk := ledger.Desk{Files: make(map[string]ledger.AgentFile), Missing: make(map[string]string)}
	for name, dir := range map[string]*string{inName: &desk.In, outName: &desk.Out} {
		if err := makeDir(r.config.Threads, threadID, name); err != nil {
			r.config.Log.Warn("a turn goes without a directory of its thread's", "thread", threadID, "directory", name, "err", err)
			continue
		}
		*dir = filepath.Join(r.config.Threads, threadID, name)
	}
	for _, attachment := range attachments {
		id, ok := attachment.FileID()
		if _, laid := desk.Files[id]; !ok || laid {
			continue
		}
		file, err := r.store.File(ctx, id)
		if err == nil {
			err = r.lay(desk.In, file)
		}
		switch code := pluginsdk.CodeOf(err); {
		case err == nil:
			desk.Files[id] = ledger.AgentFile{Path: filepath.Join(desk.In, id, file.Name), Name: file.Name, Type: file.Type, Size: file.Size}
		case code == pluginsdk.CodeUnavailable || ctx.Err() != nil:
			return ledger.Desk{}, err // the database is away; the turn can wait for it
		case code == pluginsdk.CodeNotFound:
			desk.Missing[id] = "it was deleted"
		default:
			desk.Missing[id] = err.Error()
		}
	}
	return desk, nil
}

// Directory returns where the agent of a thread works (empty: in the workspace), and whether
// that is apart. A directory of the thread's own
// is made, if it is missing, in this daemon's data directory, wherever that was once.
func (r *Room) Directory(ctx context.Context, thread pluginsdk.Thread) (dir string, apart bool, err error) {
	if apart, err = r.Apart(ctx, thread); err != nil || !ledger.OwnDirectory(thread) {
		return thread.Cwd, apart, err
	}
	dir = ledger.ThreadDirectory(r.config.Threads, thread.ID)
	if err := makeDir(r.config.Threads, thread.ID, filepath.Base(dir)); err != nil {
		return "", true, pluginsdk.Errorf(pluginsdk.CodeInternal, "make the thread's own directory: %w", err)
	}
	return dir, true, nil
}

// Apart reports whether a thread is apart: its row says so, or its directory is a thread's own.
func (*Room) Apart(_ context.Context, thread pluginsdk.Thread) (bool, error) {
	return thread.Apart || ledger.Apart(thread.Cwd), nil
}

// lay copies a file into a directory of its own, unless it lies there.
func (r *Room) lay(in string, file pluginsdk.File) error {
	if in == "" {
		return pluginsdk.Errorf(pluginsdk.CodeInternal, "the directory for it cannot be made; the daemon's log says why")
	}
	root, err := os.OpenRoot(in)
	if err != nil {
		return diskError("lay a file ready", err)
	}
	defer root.Close() // nothing is written through it
	to := filepath.Join(file.ID, CleanName(file.Name))
	if info, err := root.Lstat(to); err == nil && info.Mode().IsRegular() && info.Size() == file.Size {
		return nil
	}
	from, err := r.openBytes(file)
	if err != nil {
		return err
	}
	defer from.Close() // it was only read
	if err := r.config.Fault("lay"); err != nil {
		return diskError("lay a file ready", err)
	}
	if err := root.RemoveAll(file.ID); err != nil {
		return diskError("lay a file ready", err)
	}
	if err := root.Mkdir(file.ID, 0o700); err != nil {
		return diskError("lay a file ready", err)
	}
	part := to + ".part"
	if err = copyTo(root, part, from); err == nil {
		err = root.Rename(part, to)
	}
	if err != nil {
		err = errors.Join(err, root.RemoveAll(file.ID))
	}
	return diskError("lay a file ready", err)
}

func copyTo(root *os.Root, name string, from io.Reader) error {
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o400)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	return errors.Join(err, file.Close())
}

// unlay removes the copies of a file that was deleted.
func (r *Room) unlay(file pluginsdk.File) {
	threads, err := entries(r.config.Threads)
	for _, thread := range threads {
		in := filepath.Join(r.config.Threads, thread, inName)
		if info, failed := os.Lstat(in); failed == nil && info.IsDir() && uuid.Validate(file.ID) == nil {
			err = errors.Join(err, os.RemoveAll(filepath.Join(in, file.ID)))
		}
	}
	if err != nil {
		r.config.Log.Warn("copies of a deleted file could not be removed yet; it is tried again", "file", file.ID, "err", err)
	}
}

// makeDir makes a directory below another, part by part. A part that is a link or a file is
// an error.
func makeDir(base string, parts ...string) error {
	if err := os.MkdirAll(base, 0o700); err != nil {
		return err
	}
	for _, part := range parts {
		base = filepath.Join(base, part)
		if err := os.Mkdir(base, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		info, err := os.Lstat(base)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return fmt.Errorf("%s is no directory; move it away", base)
		}
	}
	return nil
}

// openDir opens a directory below another, part by part, through no link.
func openDir(base string, parts ...string) (*os.File, error) {
	dir, err := os.Open(base) //nolint:gosec // a directory of the daemon's own
	if err != nil {
		return nil, err
	}
	for _, part := range parts {
		next, err := openAt(dir, part, unix.O_DIRECTORY)
		_ = dir.Close() // it was only passed through
		if err != nil {
			return nil, err
		}
		dir = next
	}
	return dir, nil
}

// openAt opens an entry of a directory for reading, unless it is a link, and does not wait
// for the other end of a pipe.
func openAt(dir *os.File, name string, how int) (*os.File, error) {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC|how, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: filepath.Join(dir.Name(), name), Err: err}
	}
	return os.NewFile(uintptr(fd), filepath.Join(dir.Name(), name)), nil
}
