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

// pins are the hashes that the daemon took of the plugin directory's files when it
// started. They save the first start of each plugin, a moment later, another reading of
// its file.
type pins struct {
	mu    sync.Mutex
	at    time.Time      // when they were taken
	fresh map[string]pin // by path
}

// freshFor is how long a taken hash counts. It covers the time from the daemon's start to
// that of its plugins.
const freshFor = 10 * time.Second

// pin is a file's hash, and the identity of the file when it was hashed.
type pin struct {
	sum  string
	file identity
}

// take hashes the files of the rows, several at a time, and sets the rows' SHA256.
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

// holds reports whether the row's file is still the one that take hashed, and its hash is
// the row's pin. It answers once for each hash; from then on it returns false.
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

// pinOf hashes a file. A file that changes meanwhile gets no identity.
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
