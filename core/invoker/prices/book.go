package prices

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"syscall"
	"time"
)

// FileName is the name of the operator's file in the data directory.
const FileName = "prices.json"

// Read returns the table with the operator's file over it. A file that is not there is none, and
// no error.
func Read(path string) (*Table, error) {
	data, err := readFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Shipped(), nil
	case err != nil:
		return nil, err
	}
	own, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return Shipped().over(own), nil
}

// readFile reads a file, and nothing that is none: a pipe would never end.
func readFile(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close() // it was only read
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	return io.ReadAll(io.LimitReader(file, maxSize+1))
}

// Book is the table in force of a daemon: it is read again when the operator's file has changed.
// It is safe for concurrent use.
type Book struct {
	path string
	log  *slog.Logger

	mu    sync.Mutex
	table *Table
	is    state // of the file that was read last
}

// state tells versions of a file apart.
type state struct {
	there    bool
	size     int64
	modified time.Time
	inode    uint64
	err      string
}

// Open reads the table. A file that cannot be read is said in the log: until it is put right, the
// shipped prices hold.
func Open(path string, log *slog.Logger) *Book {
	b := &Book{path: path, log: log, table: Shipped()}
	if is := stateOf(path); is != (state{}) {
		b.read(is)
	}
	return b
}

// Table returns the table in force. It looks whether the file has changed. While a changed file
// cannot be read, the last good prices hold. On a nil Book it is the shipped one.
func (b *Book) Table() *Table {
	if b == nil {
		return Shipped()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if is := stateOf(b.path); is != b.is {
		b.read(is)
	}
	return b.table
}

// read reads the file, whose state was this one before.
func (b *Book) read(is state) {
	b.is = is
	table, err := Read(b.path)
	if err != nil {
		b.log.Error("the operator's prices are not used: the last good ones hold", "file", b.path, "err", err)
		return
	}
	b.table = table
	b.log.Info("prices of API calls were read", "file", b.path, "there", is.there)
}

func stateOf(path string) state {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return state{}
	case err != nil:
		return state{there: true, err: err.Error()}
	}
	is := state{there: true, size: info.Size(), modified: info.ModTime()}
	if of, ok := info.Sys().(*syscall.Stat_t); ok {
		is.inode = of.Ino
	}
	return is
}
