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
// is no thread's or no file's any more. What fails is tried again at the next one, and
// keeps nothing else from being removed.
func (r *Room) sweep(ctx context.Context) {
	removed, err := r.sweepBytes(ctx)
	err = errors.Join(err, r.sweepThreads(ctx))
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
	var failed error
	flush := func() error {
		if err := ctx.Err(); err != nil || len(batch) == 0 {
			return err
		}
		n, err := r.sweepSums(ctx, batch)
		removed, batch = removed+n, batch[:0]
		failed = errors.Join(failed, err)
		return away(err)
	}
	err = walkBytes(r.config.Dir, func(sum string, _ int64) error {
		if batch = append(batch, sum); len(batch) < sweepBatch {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	return removed, errors.Join(failed, err)
}

// away returns an error after which nothing else can be looked up either.
func away(err error) error {
	if pluginsdk.CodeOf(err) == pluginsdk.CodeUnavailable || errors.Is(err, context.Canceled) {
		return err
	}
	return nil
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
	return r.sweepEntries(r.config.Threads, func(thread string) error {
		_, err := r.store.Thread(ctx, thread)
		if err != nil {
			return err
		}
		return r.sweepEntries(filepath.Join(r.config.Threads, thread, inName), func(id string) error {
			_, err := r.store.File(ctx, id)
			return err
		})
	})
}

// sweepEntries removes those entries of a directory of which look says that there is no
// such thing any more.
func (r *Room) sweepEntries(dir string, look func(id string) error) error {
	ids, failed := entries(dir)
	for _, id := range ids {
		err := look(id)
		if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
			if err = r.config.Fault("remove"); err == nil {
				err = os.RemoveAll(filepath.Join(dir, id))
			}
		}
		failed = errors.Join(failed, err)
		if away(err) != nil {
			break
		}
	}
	return failed
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
