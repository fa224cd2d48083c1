package files

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// sentMost is how many files go with one reply; the others go with the next one.
	sentMost = 20
	// outboxMost is how many entries of an outbox are looked at, outboxDepth how deep its
	// directories may be.
	outboxMost  = 1000
	outboxDepth = 8
	// refusedMost is of how many refused entries is said why.
	refusedMost = 20
)

// found is one entry of an outbox: no directory, unless it is too deep to be looked into.
type found struct {
	path string // below the outbox
	stat unix.Stat_t
}

func (f found) regular() bool { return f.stat.Mode&unix.S_IFMT == unix.S_IFREG }

func (f found) directory() bool { return f.stat.Mode&unix.S_IFMT == unix.S_IFDIR }

// isStill reports whether an open file is the entry, as it was found.
func (f found) isStill(file *os.File) bool {
	now := found{path: f.path}
	return unix.Fstat(int(file.Fd()), &now.stat) == nil && now.identity() == f.identity()
}

// identity changes whenever the entry is written or another takes its place.
func (f found) identity() string {
	return fmt.Sprintf("%d/%d/%d/%d.%09d", f.stat.Dev, f.stat.Ino, f.stat.Size, f.stat.Mtim.Sec, f.stat.Mtim.Nsec)
}

// Collect takes in what the agent has left in a thread's outbox. What a reply has taken
// already, and who has died could not clear away, is not taken again, but cleared away:
// a file that was taken is known by its thread, path, bytes, inode and time. Until a reply
// refers to what was taken, collecting again returns the same files.
//
// Entries whose names begin with a dot are left alone, links and special files are refused.
func (r *Room) Collect(ctx context.Context, threadID string) (ledger.Outbox, error) {
	var outbox ledger.Outbox
	if uuid.Validate(threadID) != nil {
		return outbox, nil // such a thread has no directory
	}
	dir, err := openDir(r.config.Threads, threadID, outName)
	if errors.Is(err, fs.ErrNotExist) {
		return outbox, nil
	}
	if err != nil {
		outbox.Refused = []string{"all of it: " + err.Error()}
		return outbox, nil
	}
	defer dir.Close() // it was only read
	listed := listing{left: outboxMost}
	if err := listed.add(dir, "", 0); err != nil {
		outbox.Refused = []string{"all of it: " + err.Error()}
		return outbox, nil
	}
	slices.SortFunc(listed.all, func(a, b found) int { return cmp.Compare(a.path, b.path) })
	later, refused := 0, 0
	for _, one := range listed.all {
		if len(outbox.Attachments) == sentMost && one.regular() {
			later++
			continue
		}
		kept, err := r.take(ctx, threadID, dir, one)
		entry := ledger.OutboxEntry{Path: one.path, Identity: one.identity()}
		switch code := pluginsdk.CodeOf(err); {
		case errors.Is(err, fs.ErrNotExist):
			continue // gone meanwhile
		case code == pluginsdk.CodeUnavailable || ctx.Err() != nil:
			return ledger.Outbox{}, err
		case err != nil:
			entry.Refused = code != pluginsdk.CodeExhausted || one.stat.Size > r.config.MaxFile && r.config.MaxFile > 0
			if refused++; refused <= refusedMost {
				outbox.Refused = append(outbox.Refused, fmt.Sprintf("%s: %s", CleanName(flat(one.path)), err))
			}
			if entry.Refused { // else there may be room for it when the next reply comes
				outbox.Taken = append(outbox.Taken, entry)
			}
			continue
		case !kept.Attached:
			outbox.Attachments = append(outbox.Attachments, kept.Attachment())
		}
		outbox.Taken = append(outbox.Taken, entry)
	}
	if refused > refusedMost {
		outbox.Refused = append(outbox.Refused, fmt.Sprintf("%d more, for such reasons", refused-refusedMost))
	}
	if listed.cut {
		outbox.Refused = append(outbox.Refused, fmt.Sprintf("what is beyond %d entries: no more of the directory are looked at, directories and hidden files among them; remove what is not to be sent", outboxMost))
	}
	if later > 0 {
		outbox.Refused = append(outbox.Refused, fmt.Sprintf("%d more: a reply takes %d files; they go with the next one", later, sentMost))
	}
	return outbox, nil
}

// flat is a path as one name.
func flat(path string) string { return strings.ReplaceAll(path, "/", "_") }

// listing is what lies in an outbox.
type listing struct {
	all  []found
	left int  // how many entries may still be looked at
	cut  bool // there are more than that
}

// add adds the entries below a directory of an outbox, its files before what is in its directories; directories that
// are not too deep, and what begins with a dot, are no entries.
func (l *listing) add(dir *os.File, at string, depth int) error {
	names, err := dir.Readdirnames(l.left + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	var below []string
	for _, name := range names {
		if l.left == 0 {
			l.cut = true
			return nil
		}
		l.left--
		if strings.HasPrefix(name, ".") {
			continue
		}
		one := found{path: path.Join(at, name)}
		if err := unix.Fstatat(int(dir.Fd()), name, &one.stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			continue // gone meanwhile
		}
		if one.directory() && depth < outboxDepth {
			below = append(below, name)
			continue
		}
		l.all = append(l.all, one)
	}
	for _, name := range below {
		sub, err := openAt(dir, name, unix.O_DIRECTORY)
		if err != nil {
			continue // another took its place meanwhile
		}
		err = l.add(sub, path.Join(at, name), depth+1)
		_ = sub.Close() // it was only read
		if err != nil {
			return err
		}
	}
	return nil
}

// take takes one entry in, and returns its file. One that was taken before, as it is now,
// is that one.
func (r *Room) take(ctx context.Context, threadID string, dir *os.File, one found) (kept ledger.KeptFile, err error) {
	if one.directory() {
		return kept, pluginsdk.Errorf(pluginsdk.CodeInvalid, "it lies %d directories deep; what is in it is not sent", outboxDepth)
	}
	if !one.regular() {
		return kept, pluginsdk.Errorf(pluginsdk.CodeInvalid, "it is a link or a special file; only plain files are sent")
	}
	if err := r.fits(path.Base(one.path), one.stat.Size); err != nil {
		return kept, err
	}
	parent, name := path.Split(one.path)
	holder := dir
	if parent != "" {
		if holder, err = openDirAt(dir, strings.Split(strings.Trim(parent, "/"), "/")); err != nil {
			return kept, err
		}
		defer holder.Close() // it was only read
	}
	file, err := openAt(holder, name, 0)
	if err != nil {
		return kept, err
	}
	defer file.Close() // it was only read
	if !one.isStill(file) {
		return kept, fs.ErrNotExist // it was changed meanwhile: it goes with the next reply
	}
	if err := r.shelf.promise(one.stat.Size); err != nil {
		return kept, err
	}
	sum, kind, err := r.copyIn(file, one)
	if err != nil {
		r.shelf.release(one.stat.Size)
		return kept, diskError("take it in", err)
	}
	defer r.shelf.letGo(sum)
	mark := sha256.Sum256([]byte(one.path + "\x00" + sum + "\x00" + one.identity()))
	if err := r.config.Fault("row"); err != nil {
		return kept, err
	}
	return r.store.KeepFile(ctx, ledger.KeptFile{Key: "out:" + threadID + ":" + hex.EncodeToString(mark[:]), File: pluginsdk.File{
		SHA256: sum, Name: CleanName(flat(one.path)), Type: kind, Size: one.stat.Size, ThreadID: threadID,
	}})
}

func openDirAt(dir *os.File, parts []string) (*os.File, error) {
	for i, part := range parts {
		next, err := openAt(dir, part, unix.O_DIRECTORY)
		if i > 0 {
			_ = dir.Close() // it was only passed through
		}
		if err != nil {
			return nil, err
		}
		dir = next
	}
	return dir, nil
}

// copyIn copies the bytes of an entry to their place, where they are held. On an error
// nothing is left of them.
func (r *Room) copyIn(from *os.File, one found) (sum, kind string, err error) {
	id, err := newID()
	if err != nil {
		return "", "", err
	}
	to, err := r.create(id)
	if err != nil {
		return "", "", err
	}
	defer func() {
		if err != nil {
			_ = to.Close() // it may be closed already
			if gone := os.Remove(to.Name()); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
				err = errors.Join(err, gone)
			}
		}
	}()
	digest := sha256.New()
	n, err := io.Copy(io.MultiWriter(to, digest), io.LimitReader(from, one.stat.Size))
	if err == nil {
		err = r.config.Fault("write")
	}
	if err == nil && (n != one.stat.Size || !one.isStill(from)) {
		err = fs.ErrNotExist // it was written meanwhile
	}
	if err != nil {
		return "", "", err
	}
	sum = hex.EncodeToString(digest.Sum(nil))
	kind, err = r.settle(to, sum)
	return sum, kind, err
}

// Clear removes from a thread's outbox what was taken, moves what was refused to where it
// is not looked at again, and removes the directories that are empty then. What was changed
// since stays. The caller has stored the
// reply that refers to it.
func (r *Room) Clear(threadID string, taken []ledger.OutboxEntry) {
	if len(taken) == 0 || uuid.Validate(threadID) != nil {
		return
	}
	home, err := openDir(r.config.Threads, threadID)
	if err == nil {
		err = r.clear(home, threadID, taken)
		_ = home.Close() // it was only read
	}
	if err != nil {
		r.config.Log.Warn("what was sent from an outbox could not be cleared away; the next reply does it", "thread", threadID, "err", err)
	}
}

func (r *Room) clear(home *os.File, threadID string, taken []ledger.OutboxEntry) error {
	var unsent *os.File
	noPlace := makeDir(r.config.Threads, threadID, unsentName) // for what was refused
	if noPlace == nil {
		unsent, noPlace = openAt(home, unsentName, unix.O_DIRECTORY)
	}
	if noPlace == nil {
		defer unsent.Close() // nothing is written through it
	}
	var wrong error
	for _, entry := range taken {
		parent, name := path.Split(entry.Path)
		holder, err := openDirAt(home, append([]string{outName}, strings.FieldsFunc(parent, func(r rune) bool { return r == '/' })...))
		if err != nil {
			wrong = errors.Join(wrong, err)
			continue
		}
		one := found{path: entry.Path}
		switch err = unix.Fstatat(int(holder.Fd()), name, &one.stat, unix.AT_SYMLINK_NOFOLLOW); {
		case err != nil || one.identity() != entry.Identity:
			err = nil // gone, or written anew
		case entry.Refused && noPlace != nil:
			err = noPlace
		case entry.Refused:
			err = unix.Renameat(int(holder.Fd()), name, int(unsent.Fd()), freeName(unsent, CleanName(flat(entry.Path))))
		default:
			err = unix.Unlinkat(int(holder.Fd()), name, 0)
		}
		_ = holder.Close() // it was only read
		if err != nil {
			wrong = errors.Join(wrong, fmt.Errorf("%s: %w", filepath.Join(outName, entry.Path), err))
			continue
		}
		for dir := path.Dir(entry.Path); dir != "." && removeEmpty(home, dir); dir = path.Dir(dir) {
		}
	}
	return wrong
}

// freeName is a name that nothing in the directory has: this one, or one like it.
func freeName(dir *os.File, name string) string {
	free := name
	for n := 2; ; n++ {
		var there unix.Stat_t
		if unix.Fstatat(int(dir.Fd()), free, &there, unix.AT_SYMLINK_NOFOLLOW) != nil {
			return free
		}
		free = fmt.Sprintf("%d-%s", n, name)
	}
}

// removeEmpty removes a directory of the outbox, unless there is something in it.
func removeEmpty(home *os.File, dir string) bool {
	parent, name := path.Split(dir)
	holder, err := openDirAt(home, append([]string{outName}, strings.FieldsFunc(parent, func(r rune) bool { return r == '/' })...))
	if err != nil {
		return false
	}
	defer holder.Close() // it was only read
	return unix.Unlinkat(int(holder.Fd()), name, unix.AT_REMOVEDIR) == nil
}
