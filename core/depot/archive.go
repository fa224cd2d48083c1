package depot

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
)

// perThing is what the archive may need for a file besides its content: header,
// long names, padding.
const perThing = 8 << 10

// unpack copies a gzipped tar into the stage. The archive is hostile until
// proven otherwise.
func (s *stage) unpack(archive io.Reader) error {
	compressed, err := gzip.NewReader(archive)
	if err != nil {
		return invalid("it is not a gzipped tar: %w", err)
	}
	bounded := &bounded{content: compressed, left: s.config.MaxBytes + int64(s.config.MaxFiles)*perThing}
	reader := tar.NewReader(bounded)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return bounded.explain(err)
		}
		if err := s.unpackEntry(header, reader); err != nil {
			return bounded.explain(err)
		}
	}
	// What follows the end is of no use, but the checksum at its end is.
	if _, err := io.Copy(io.Discard, bounded); err != nil {
		return bounded.explain(err)
	}
	return nil
}

func (s *stage) unpackEntry(header *tar.Header, content io.Reader) error {
	switch header.Typeflag {
	case tar.TypeReg:
		return s.file(header.Name, header.Mode&0o111 != 0, content)
	case tar.TypeDir:
		return s.directory(header.Name)
	case tar.TypeSymlink:
		return s.link(header.Name, header.Linkname)
	case tar.TypeXGlobalHeader: // `git archive` writes one; it is not a file
		_, err := s.name("global header")
		return err
	case tar.TypeLink:
		return invalid("%q is a hard link; make the archive with `tar --hard-dereference`", header.Name)
	}
	return invalid("%q is neither a file nor a directory nor a link", header.Name)
}

// bounded ends a stream that is longer than a package can be.
type bounded struct {
	content io.Reader
	left    int64
}

var errTooLong = errors.New("unpacked, it is larger than a package may be")

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	n, err := b.content.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// explain says in words what an error of the archive means.
func (b *bounded) explain(err error) error {
	switch {
	case errors.Is(err, errTooLong):
		return invalid("%w", errTooLong)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, tar.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader):
		return invalid("it is damaged: %w", err)
	}
	return err
}

// archiveSuffixes are the names of archives.
var archiveSuffixes = []string{".tar.gz", ".tgz"}

func isArchive(path string) bool {
	for _, suffix := range archiveSuffixes {
		if strings.HasSuffix(strings.ToLower(path), suffix) {
			return true
		}
	}
	return false
}

// about says which source an error is of.
func about(source string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", source, err)
}
