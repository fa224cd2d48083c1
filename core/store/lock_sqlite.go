package store

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// fileLook is how often the daemon looks whether its database is still the file of its name.
const fileLook = time.Second

// fileGrip is the grip of SQLite, which needs no lock beside that on its directory. It is lost
// while another file, or none, has the database's name, or that of its log (WAL), and while the
// database is shorter than it was: what is written then, nobody finds again.
type fileGrip struct {
	path string
	file os.FileInfo
	stop func()
	done chan struct{} // closed by stop

	mu   sync.Mutex
	size int64         // bytes of the database at its longest: only a vacuum shortens it, which needs the lock
	log  os.FileInfo   // nil: there was none yet; it stays the same as long as a connection is open
	gone chan struct{} // closed when a file is no longer there
}

func (b *sqliteBackend) lock(context.Context, string) (grip, error) {
	path := filepath.Join(b.dir, "harness.db")
	file, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	g := &fileGrip{path: path, file: file, size: file.Size(), done: make(chan struct{}), gone: make(chan struct{})}
	if g.log, err = os.Stat(path + "-wal"); err != nil {
		g.log = nil // it is made with the first write
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		g.watch()
	}()
	g.stop = sync.OnceFunc(func() {
		close(g.done)
		<-ended
	})
	return g, nil
}

// watch looks at the file until the grip is released.
func (g *fileGrip) watch() {
	ticker := guard.NewTicker(fileLook)
	defer ticker.Stop()
	for {
		select {
		case <-g.done:
			return
		case <-ticker.Next():
		}
		if g.look() != nil {
			g.mu.Lock()
			if !isClosed(g.gone) {
				close(g.gone)
			}
			g.mu.Unlock()
		}
	}
}

// look fails unless the database is the file of its name. A name that cannot be looked at, for
// want of a right or of memory, is no reason to stop.
func (g *fileGrip) look() error {
	now, err := os.Stat(g.path)
	switch {
	case os.IsNotExist(err):
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%s was moved or deleted while the daemon has it open; put that file back, or restart the daemon", g.path)
	case err == nil && !os.SameFile(now, g.file):
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%s was replaced by another file while the daemon has it open; put the old file back, or restart the daemon with the new one", g.path)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil {
		if now.Size() < g.size {
			return pluginsdk.Errorf(pluginsdk.CodeUnavailable,
				"%s was cut from %d to %d bytes while the daemon has it open; stop the daemon, and restore a backup (harness restore)", g.path, g.size, now.Size())
		}
		g.size = now.Size()
	}
	return g.lookAtLog()
}

// lookAtLog fails unless the log of what was written last is the file that it was. The daemon's
// end writes what is in it into the database; a kill would lose that. The caller holds mu.
func (g *fileGrip) lookAtLog() error {
	now, err := os.Stat(g.path + "-wal")
	switch {
	case g.log == nil && err == nil:
		g.log = now
	case g.log != nil && (os.IsNotExist(err) || err == nil && !os.SameFile(now, g.log)):
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable,
			"%s-wal, which has what was written last, was moved, deleted or replaced while the daemon has it open; put that file back, or stop the daemon (not by kill -9) and start it", g.path)
	}
	return nil
}

func (g *fileGrip) lost() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.gone
}

func (g *fileGrip) held(context.Context, *tx) error { return g.look() }

func (g *fileGrip) regain(context.Context) error {
	if err := g.look(); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if isClosed(g.gone) {
		g.gone = make(chan struct{})
	}
	return nil
}

func (g *fileGrip) release() { g.stop() }

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
