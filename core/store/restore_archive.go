package store

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// manifestMax bounds the manifest of an archive that may be anything.
const manifestMax = 256 << 20

// savedEntry is one entry of an archive as it was found.
type savedEntry struct {
	rows int64
	sum  string // of regular files
	link string
	dir  bool
}

// readManifest reads a whole archive, and returns its manifest when everything
// in it is as the manifest says, and nothing else is in it.
func readManifest(file *os.File, tell Progress) (Manifest, error) {
	found := make(map[string]savedEntry)
	var manifest *Manifest
	err := walkArchive(file, newMeter("verifying", tell), func(header *tar.Header, content io.Reader) error {
		if manifest != nil {
			return fmt.Errorf("%s comes after the end", header.Name)
		}
		if _, twice := found[header.Name]; twice {
			return fmt.Errorf("%s is in it twice", header.Name)
		}
		if header.Name == manifestName {
			manifest = new(Manifest)
			return json.NewDecoder(io.LimitReader(content, manifestMax)).Decode(manifest)
		}
		entry, err := readEntry(header, content)
		found[header.Name] = entry
		return err
	})
	if err != nil {
		return Manifest{}, err
	}
	if manifest == nil {
		return Manifest{}, fmt.Errorf("its end with %s is missing", manifestName)
	}
	return *manifest, manifest.compare(found)
}

func readEntry(header *tar.Header, content io.Reader) (savedEntry, error) {
	entry := savedEntry{link: header.Linkname, dir: header.Typeflag == tar.TypeDir}
	if header.Typeflag != tar.TypeReg {
		return entry, nil
	}
	hash, lines := sha256.New(), lineCounter{}
	if _, err := io.Copy(io.MultiWriter(hash, &lines), content); err != nil {
		return entry, err
	}
	entry.sum, entry.rows = hex.EncodeToString(hash.Sum(nil)), lines.n
	return entry, nil
}

// lineCounter counts line feeds.
type lineCounter struct{ n int64 }

func (c *lineCounter) Write(p []byte) (int, error) {
	for _, b := range p {
		if b == '\n' {
			c.n++
		}
	}
	return len(p), nil
}

// compare reports the first difference between what the manifest says and what
// was found.
func (m Manifest) compare(found map[string]savedEntry) error {
	rest := maps.Clone(found)
	for _, table := range m.Tables {
		name := tablePrefix + table.Name + tableSuffix
		entry, ok := rest[name]
		switch {
		case !ok:
			return fmt.Errorf("%s is missing", name)
		case entry.sum != table.SHA256:
			return fmt.Errorf("%s is not what was saved: its checksum differs", name)
		case entry.rows != table.Rows:
			return fmt.Errorf("%s has %d rows instead of %d", name, entry.rows, table.Rows)
		case len(table.Columns) == 0:
			return fmt.Errorf("%s has no columns", name)
		}
		delete(rest, name)
	}
	for _, file := range m.Files {
		entry, ok := rest[file.Name]
		switch {
		case !ok:
			return fmt.Errorf("%s is missing", file.Name)
		case entry.sum != file.SHA256 || entry.link != file.Link:
			return fmt.Errorf("%s is not what was saved: its checksum differs", file.Name)
		}
		delete(rest, file.Name)
	}
	if len(rest) > 0 {
		return fmt.Errorf("%s was not saved with it", slices.Sorted(maps.Keys(rest))[0])
	}
	return nil
}

// walkArchive visits each entry from the beginning to the end of the file, whose
// own checksum is verified too.
func walkArchive(file *os.File, meter *meter, visit func(*tar.Header, io.Reader) error) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	zip, err := gzip.NewReader(bufio.NewReaderSize(file, 1<<16))
	if err != nil {
		return err
	}
	archive := tar.NewReader(zip)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := checkHeader(header); err != nil {
			return err
		}
		if err := visit(header, io.TeeReader(archive, meter.of(header.Name))); err != nil {
			return err
		}
	}
	_, err = io.Copy(io.Discard, zip)
	return err
}

func checkHeader(header *tar.Header) error {
	if err := entryName(strings.TrimSuffix(header.Name, "/")); err != nil {
		return err
	}
	inWorkspace, ok := strings.CutPrefix(header.Name, workspaceName)
	switch header.Typeflag {
	case tar.TypeReg:
		return nil
	case tar.TypeDir:
		if ok {
			return nil
		}
	case tar.TypeSymlink:
		if ok && filepath.IsLocal(filepath.Join(filepath.Dir(inWorkspace), header.Linkname)) && !filepath.IsAbs(header.Linkname) {
			return nil
		}
		return fmt.Errorf("%s is a link that leads out of the workspace, to %s", header.Name, header.Linkname)
	}
	return fmt.Errorf("%s is neither a file nor a directory", header.Name)
}
