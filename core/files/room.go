package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Store is what the room needs of the database.
type Store interface {
	// KeepFile stores a file's row; with a key that is known it returns the first one.
	KeepFile(ctx context.Context, file ledger.KeptFile) (ledger.KeptFile, error)
	FileOf(ctx context.Context, key string) (kept ledger.KeptFile, found bool, err error)
	File(ctx context.Context, id string) (pluginsdk.File, error)
	Files(ctx context.Context, query pluginsdk.FileQuery) ([]pluginsdk.File, error)
	DeleteFile(ctx context.Context, id string) (was pluginsdk.File, found bool, err error)
	// ReferredBytes returns which of these hashes a row refers to.
	ReferredBytes(ctx context.Context, sums []string) ([]string, error)
	Thread(ctx context.Context, id string) (pluginsdk.Thread, error)
}

// Config says where files are kept, and how much of them.
type Config struct {
	Dir     string // of the bytes; absolute
	Threads string // of the threads' directories, in which the agent finds and leaves files; absolute
	MaxFile int64  // bytes of one file; 0: any
	Quota   int64  // bytes of all files; 0: any
	Log     *slog.Logger
	Now     func() time.Time
	// After is time.After; tests have their own.
	After func(time.Duration) <-chan time.Time
	// Fault, when set, is called before each step that changes the disk or the database,
	// with its name; its error is the step's. Tests end the process there.
	Fault func(step string) error
}

const (
	// uploadLife is how long an upload may wait for its next bytes, and for its commit.
	uploadLife = time.Hour
	// uploadsMax is how many uploads a plugin has under way at once.
	uploadsMax = 64
	// chunk is the most that is written or read at once, in bytes.
	chunk = 4 << 20
)

// Room keeps files. Its methods may be called concurrently once it was started.
type Room struct {
	config Config
	store  Store
	shelf  *shelf

	mu      sync.Mutex
	uploads map[string]*upload

	background guard.Loop
}

// New returns a Room.
func New(config Config, store Store) *Room {
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.After == nil {
		config.After = time.After
	}
	if config.Fault == nil {
		config.Fault = func(string) error { return nil }
	}
	return &Room{
		config: config, store: store, uploads: make(map[string]*upload),
		shelf: &shelf{dir: config.Dir, quota: config.Quota, fault: config.Fault},
	}
}

// Start opens the directory of the bytes, and begins to sweep it from time to time,
// until Stop.
func (r *Room) Start(ctx context.Context) error {
	if err := r.shelf.open(); err != nil {
		return err
	}
	r.background.Start(ctx, r.loop)
	return nil
}

// Stop ends the sweeping.
func (r *Room) Stop(context.Context) error {
	r.background.Stop()
	return nil
}

// Get returns what a file is, or CodeNotFound.
func (r *Room) Get(ctx context.Context, id string) (pluginsdk.File, error) {
	return r.store.File(ctx, id)
}

// List returns the selected files.
func (r *Room) List(ctx context.Context, query pluginsdk.FileQuery) ([]pluginsdk.File, error) {
	return r.store.Files(ctx, query)
}

// Read returns a part of a file's bytes, 4 MiB at most; none at its end.
func (r *Room) Read(ctx context.Context, request pluginsdk.ReadFileRequest) ([]byte, error) {
	if request.Offset < 0 || request.Limit < 0 {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "offset, limit: %d, %d: neither may be negative", request.Offset, request.Limit)
	}
	file, err := r.store.File(ctx, request.ID)
	if err != nil {
		return nil, err
	}
	if request.Offset >= file.Size {
		return nil, nil
	}
	limit := int64(request.Limit)
	if limit == 0 || limit > chunk {
		limit = chunk
	}
	bytes, err := r.openBytes(file)
	if err != nil {
		return nil, err
	}
	defer bytes.Close() // it was only read
	data := make([]byte, min(limit, file.Size-request.Offset))
	n, err := bytes.ReadAt(data, request.Offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, diskError("read the file "+file.ID, err)
	}
	return data[:n], nil
}

// openBytes opens the bytes of a file.
func (r *Room) openBytes(file pluginsdk.File) (*os.File, error) {
	if !isSum(file.SHA256) {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInternal, "file %s: %q is no SHA-256; its row was changed by hand", file.ID, file.SHA256)
	}
	bytes, err := os.Open(r.shelf.path(file.SHA256))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "the bytes of the file %s are not on disk any more; `harness doctor` says what else is missing", file.ID)
	}
	return bytes, diskError("open the file "+file.ID, err)
}

// Delete removes a file, and its bytes when they are no other file's. What was removed is
// returned; found is false when there was nothing.
func (r *Room) Delete(ctx context.Context, id string) (was pluginsdk.File, found bool, err error) {
	was, found, err = r.store.DeleteFile(ctx, id)
	if err != nil || !found {
		return was, found, err
	}
	if _, err := r.sweepSums(ctx, []string{was.SHA256}); err != nil {
		r.config.Log.Warn("the bytes of a deleted file could not be removed yet; it is tried again", "file", id, "err", err)
	}
	r.unlay(was)
	return was, true, nil
}

func newID() (string, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", pluginsdk.Errorf(pluginsdk.CodeInternal, "make an id: %w", err)
	}
	return id.String(), nil
}
