package files

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// sweepDelay keeps the first sweep out of the way of the start.
	sweepDelay = 5 * time.Minute
	sweepEvery = time.Hour
	// sweepBatch is how many bytes are looked up at once. Nothing is taken in meanwhile.
	sweepBatch = 200
)

func (r *Room) loop(ctx context.Context) {
	for wait := sweepDelay; ; wait = sweepEvery {
		select {
		case <-ctx.Done():
			return
		case <-r.config.After(wait):
			guard.Try(r.config.Log, "the sweep of the files", func() {
				r.expire()
				r.sweep(ctx)
			})
		}
	}
}

// sweep removes bytes that no file refers to, and what lies in directories of threads and
// is no thread's or no file's any more. What fails is tried again at the next one.
func (r *Room) sweep(ctx context.Context) {
	removed, err := r.sweepBytes(ctx)
	if err == nil {
		err = r.sweepThreads(ctx)
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		r.config.Log.Error("files that nobody needs any more could not be removed", "err", err)
	case removed > 0:
		r.config.Log.Info("bytes that no file refers to were removed", "files", removed)
	}
}

func (r *Room) sweepBytes(ctx context.Context) (removed int, err error) {
	var batch []string
	flush := func() error {
		if err := ctx.Err(); err != nil || len(batch) == 0 {
			return err
		}
		n, err := r.sweepSums(ctx, batch)
		removed, batch = removed+n, batch[:0]
		return err
	}
	err = walkBytes(r.config.Dir, func(sum string, _ int64) error {
		if batch = append(batch, sum); len(batch) < sweepBatch {
			return nil
		}
		return flush()
	})
	return removed, errors.Join(err, flush())
}

func (r *Room) sweepSums(ctx context.Context, sums []string) (removed int, err error) {
	return r.shelf.remove(sums, func(sums []string) ([]string, error) {
		if err := r.config.Fault("sweep"); err != nil {
			return nil, err
		}
		return r.store.ReferredBytes(ctx, sums)
	})
}

// sweepThreads removes the directories of threads that are not there any more, and of
// those that are the copies of files that are not.
func (r *Room) sweepThreads(ctx context.Context) error {
	threads, err := entries(r.config.Threads)
	if err != nil {
		return err
	}
	for _, thread := range threads {
		_, err := r.store.Thread(ctx, thread)
		if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
			err = os.RemoveAll(filepath.Join(r.config.Threads, thread))
		} else if err == nil {
			err = r.sweepIn(ctx, thread)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Room) sweepIn(ctx context.Context, thread string) error {
	in := filepath.Join(r.config.Threads, thread, inName)
	copies, err := entries(in)
	if err != nil {
		return err
	}
	for _, id := range copies {
		_, err := r.store.File(ctx, id)
		if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
			err = os.RemoveAll(filepath.Join(in, id))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// entries are the directories in a directory whose names are ids, which are ours. One that
// is not there, or is not a directory, has none.
func entries(dir string) (names []string, err error) {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found, err := os.ReadDir(dir)
	for _, entry := range found {
		if entry.IsDir() && uuid.Validate(entry.Name()) == nil {
			names = append(names, entry.Name())
		}
	}
	return names, err
}
