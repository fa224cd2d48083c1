package pluginhost

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// pins are the hashes of the plugin directory's files as they were taken when
// the daemon started. The first start of each plugin, a moment later, need not
// read the file once more.
type pins struct {
	mu    sync.Mutex
	at    time.Time      // when they were taken
	fresh map[string]pin // by path
}

// freshFor is how long a hash stands for the file: as long as it may take from
// the daemon's start to that of its plugins.
const freshFor = 10 * time.Second

// pin is a hash, and what tells that the file is still the one it was taken of.
type pin struct {
	sum  string
	file identity
}

// take fills in the hashes of rows, of several files at a time.
func (p *pins) take(rows []ledger.Plugin) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := make([]pin, len(rows))
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())
	for n, row := range rows {
		group.Go(func() (err error) {
			if taken[n], err = pinOf(row.Path); err != nil {
				return fmt.Errorf("hash plugin %s: %w", row.Name, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	p.at, p.fresh = time.Now(), make(map[string]pin, len(rows))
	for n := range rows {
		rows[n].SHA256 = taken[n].sum
		p.fresh[rows[n].Path] = taken[n]
	}
	return nil
}

// holds reports, once for each hash that was taken, that the row's file is the
// one that its pin was taken of a moment ago.
func (p *pins) holds(row ledger.Plugin) bool {
	p.mu.Lock()
	taken, ok := p.fresh[row.Path]
	delete(p.fresh, row.Path)
	ok = ok && time.Since(p.at) < freshFor
	p.mu.Unlock()
	if !ok || row.Origin != pluginsdk.OriginDirectory || taken.sum != row.SHA256 || taken.file == (identity{}) {
		return false
	}
	info, err := os.Stat(row.Path)
	return err == nil && identityOf(info) == taken.file
}

// pinOf hashes a file. One that is changed meanwhile gets no identity.
func pinOf(path string) (taken pin, err error) {
	file, err := os.Open(path) //nolint:gosec // an operator named the directory
	if err != nil {
		return pin{}, err
	}
	defer file.Close()
	before, err := file.Stat()
	if err != nil {
		return pin{}, err
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return pin{}, err
	}
	after, err := file.Stat()
	if err != nil {
		return pin{}, err
	}
	taken.sum = hex.EncodeToString(hash.Sum(nil))
	if identityOf(before) == identityOf(after) {
		taken.file = identityOf(after)
	}
	return taken, nil
}
