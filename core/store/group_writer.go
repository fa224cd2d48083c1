package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"entgo.io/ent/dialect"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// batchMax bounds how many writes share a COMMIT, and so how long the first of
// them waits for the others.
const batchMax = 256

// Another process that wants to write (an operator's command, a backup) asks every
// 100 ms whether it can. When this one has had the database for most of roomEvery, it
// leaves it alone for roomFor, or the other might never get in.
const (
	roomEvery = 2 * time.Second
	roomFor   = 120 * time.Millisecond
)

// groupWriter writes to SQLite, one batch at a time; see the package's doc. Whoever
// finds nobody writing writes himself: waking another goroutine and being woken by it
// costs more than many a write. What comes meanwhile is one batch of the loop's.
type groupWriter struct {
	log  *slog.Logger
	pool *sql.DB // of one connection

	mu      sync.Mutex
	pending []*job
	closed  bool

	ended   atomic.Int64  // COMMITs that have ended, whatever became of them
	wake    chan struct{} // capacity 1; the loop has something to do
	stopped chan struct{}

	turn    sync.Mutex  // held by who writes: what follows is its holder's
	conn    *statements // nil between one that was thrown away and the next
	tx      *tx         // what speaks through conn
	full    bool        // PRAGMA synchronous as it is now
	commits int64

	since time.Time     // from when on held counts
	held  time.Duration // how long this process has had the database
}

// job is one closure on its way through the writer.
type job struct {
	ctx  context.Context
	how  durability
	f    func(context.Context, *tx) error
	err  error
	done chan struct{}

	mu    sync.Mutex
	taken bool // it is running or has run: too late to give up
	left  bool // its caller has given up
}

func startGroupWriter(ctx context.Context, pool *sql.DB, log *slog.Logger) (*groupWriter, error) {
	w := &groupWriter{log: log, pool: pool, wake: make(chan struct{}, 1), stopped: make(chan struct{})}
	if err := w.connect(ctx); err != nil {
		return nil, err
	}
	go w.loop()
	return w, nil
}

// connect takes a connection when there is none. What it begins with is in the
// pool's DSN.
func (w *groupWriter) connect(ctx context.Context) error {
	if w.conn != nil {
		return nil
	}
	conn, err := w.pool.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	w.conn, w.full = newStatements(conn), false
	w.tx = newTx(dialect.SQLite, w.conn)
	return nil
}

// disconnect throws the connection away, and with it whatever it holds open.
// The next transaction makes another one.
func (w *groupWriter) disconnect() {
	w.conn.discard()
	w.conn, w.tx = nil, nil
}

func (w *groupWriter) do(ctx context.Context, how durability, f func(context.Context, *tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j := &job{ctx: context.WithoutCancel(ctx), how: how, f: f, done: make(chan struct{})}
	if err := w.hand(j); err != nil {
		return err
	}
	if w.turn.TryLock() {
		w.lead(j)
		return j.err
	}
	w.signal()
	select {
	case <-j.done:
	case <-ctx.Done():
		if j.leave() {
			return ctx.Err()
		}
		<-j.done
	}
	return j.err
}

func (w *groupWriter) hand(j *job) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the database is closed")
	}
	w.pending = append(w.pending, j)
	return nil
}

// lead writes what is pending, in the caller's goroutine, until the caller's own job is
// done. The turn is held, and given up.
func (w *groupWriter) lead(own *job) {
	defer w.turn.Unlock()
	for !own.over() {
		w.batch(w.take())
	}
	if w.wantsRoom() {
		w.signal()
	}
}

// signal has the loop look for what there is to do.
func (w *groupWriter) signal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return // it looks once more at its end
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *groupWriter) close() error {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.wake)
	}
	w.mu.Unlock()
	<-w.stopped
	return nil
}

func (w *groupWriter) loop() {
	defer close(w.stopped)
	for open := true; open; {
		_, open = <-w.wake
		w.turn.Lock()
		for batch := w.take(); len(batch) > 0; batch = w.take() {
			w.batch(batch)
			w.makeRoom()
		}
		w.makeRoom()
		if !open && w.conn != nil {
			w.conn.close()
			w.conn = nil
		}
		w.turn.Unlock()
	}
}

// batch writes a batch. The turn is held.
func (w *groupWriter) batch(batch []*job) {
	began := time.Now()
	w.write(batch)
	w.held += time.Since(began)
}

// makeRoom lets others write who may have waited for long. The turn is held.
func (w *groupWriter) makeRoom() {
	passed := time.Since(w.since)
	if passed < roomEvery {
		return
	}
	if w.held > passed*3/4 {
		<-time.After(roomFor)
	}
	w.since, w.held = time.Now(), 0
}

// wantsRoom reports whether makeRoom has something to do. The turn is held.
func (w *groupWriter) wantsRoom() bool { return time.Since(w.since) >= roomEvery }

// take returns the writes to do next; those whose callers gave up are gone.
func (w *groupWriter) take() []*job {
	w.mu.Lock()
	defer w.mu.Unlock()
	var batch []*job
	for len(w.pending) > 0 && len(batch) < batchMax {
		if j := w.pending[0]; j.take() {
			batch = append(batch, j)
		}
		w.pending[0] = nil
		w.pending = w.pending[1:]
	}
	return batch
}

// write runs one batch and answers it.
func (w *groupWriter) write(batch []*job) {
	if err := w.transaction(batch); err != nil {
		for _, j := range batch {
			if j.err == nil {
				j.err = err
			}
		}
	}
	for _, j := range batch {
		close(j.done)
	}
}

// transaction runs one batch in one transaction. An error is of the whole of
// it; what fails a single write is in its job.
func (w *groupWriter) transaction(batch []*job) error {
	ctx := context.Background() // without Done: nothing interrupts the writer
	if err := w.connect(ctx); err != nil {
		return err
	}
	if err := w.synchronous(ctx, batch); err != nil {
		return err
	}
	if _, err := w.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := w.jobs(ctx, batch); err != nil {
		return w.abandon(ctx, err)
	}
	_, err := w.conn.ExecContext(ctx, "COMMIT")
	w.ended.Add(1)
	if err != nil {
		if unreachable(err) {
			return w.abandon(ctx, &uncertainError{err})
		}
		return w.abandon(ctx, fmt.Errorf("commit: %w", err)) // it was refused
	}
	w.commits++
	return nil
}

// jobs runs each write of a batch in a savepoint. (A write that is alone needs
// none: its failure is the transaction's.)
func (w *groupWriter) jobs(ctx context.Context, batch []*job) error {
	if len(batch) == 1 {
		batch[0].err = protect(batch[0].ctx, w.tx, batch[0].f)
		return batch[0].err
	}
	for _, j := range batch {
		if _, err := w.conn.ExecContext(ctx, "SAVEPOINT job"); err != nil {
			return fmt.Errorf("savepoint: %w", err)
		}
		if j.err = protect(j.ctx, w.tx, j.f); j.err != nil {
			// SQLite gives up the whole transaction on some errors (disk
			// full, I/O); then there is no savepoint to return to.
			if _, err := w.conn.ExecContext(ctx, "ROLLBACK TO job"); err != nil {
				return fmt.Errorf("roll back one write: %w", errors.Join(j.err, err))
			}
		}
		if _, err := w.conn.ExecContext(ctx, "RELEASE job"); err != nil {
			return fmt.Errorf("release savepoint: %w", err)
		}
	}
	return nil
}

// abandon ends the transaction and returns why. SQLite has ended it itself after
// some errors: a full disk, say. One that does not end goes with its connection:
// none could be begun after it.
func (w *groupWriter) abandon(ctx context.Context, cause error) error {
	if _, err := w.conn.ExecContext(ctx, "ROLLBACK"); err != nil && !strings.Contains(err.Error(), "no transaction is active") {
		w.log.Error("transaction could not be rolled back; going on with another connection", "err", err, "cause", cause)
		w.disconnect()
	}
	return cause
}

// synchronous makes COMMIT wait for the disk when one of the batch must.
func (w *groupWriter) synchronous(ctx context.Context, batch []*job) error {
	full := false
	for _, j := range batch {
		full = full || j.how == durable
	}
	if full == w.full {
		return nil
	}
	mode := "PRAGMA synchronous = NORMAL"
	if full {
		mode = "PRAGMA synchronous = FULL"
	}
	if _, err := w.conn.direct(ctx, mode); err != nil {
		return fmt.Errorf("set synchronous: %w", err)
	}
	w.full = full
	return nil
}

// take claims the job for the writer.
func (j *job) take() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.taken = !j.left
	return j.taken
}

// over reports whether the job has run.
func (j *job) over() bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

// leave withdraws the job; false says that it is too late.
func (j *job) leave() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.left = !j.taken
	return j.left
}
