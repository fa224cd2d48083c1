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

// take hashes the files of the rows, several at a time, and sets the rows' SHA256. A file to
// which several paths lead is hashed once.
func (p *pins) take(rows []ledger.Plugin) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := make([]pin, len(rows))
	hash := func(places []int) error {
		var group errgroup.Group
		group.SetLimit(runtime.NumCPU())
		for _, n := range places {
			group.Go(func() (err error) {
				if taken[n], err = pinOf(rows[n].Path); err != nil {
					return fmt.Errorf("hash plugin %s: %w", rows[n].Name, err)
				}
				return nil
			})
		}
		return group.Wait()
	}
	one, shared := byFile(rows)
	if err := hash(one); err != nil {
		return err
	}
	var others []int
	for n, like := range shared {
		// What was hashed is the file to which this path led. If not, one has changed since.
		if taken[like.place].file == like.file {
			taken[n] = taken[like.place]
		} else {
			others = append(others, n)
		}
	}
	if err := hash(others); err != nil {
		return err
	}
	p.at, p.fresh = time.Now(), make(map[string]pin, len(rows))
	for n := range rows {
		rows[n].SHA256 = taken[n].sum
		p.fresh[rows[n].Path] = taken[n]
	}
	return nil
}

// like is the place of a row that has the same file, and the identity of the file.
type like struct {
	place int
	file  identity
}

// byFile returns the places of rows one for each file, and those of the others with the one
// that has the same file. A file without an identity is like no other.
func byFile(rows []ledger.Plugin) (one []int, shared map[int]like) {
	first, shared := make(map[identity]int), make(map[int]like)
	for n, row := range rows {
		if info, err := os.Stat(row.Path); err == nil {
			file := identityOf(info)
			place, seen := first[file]
			if seen {
				shared[n] = like{place, file}
				continue
			}
			if file != (identity{}) {
				first[file] = n
			}
		}
		one = append(one, n)
	}
	return one, shared
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
