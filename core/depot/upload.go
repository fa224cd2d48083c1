package depot

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// OpenUpload opens an archive in a directory to which others may write, with the
// signature beside it. name is a file's name and no path; what is there under it must be a
// file, not a link, and nothing outside of the directory is opened. CodeNotFound: there is
// none. closing is called once the archive has been read.
func OpenUpload(dir, name string) (archive Archive, closing func(), err error) {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00") {
		return Archive{}, nil, invalid("upload: %q is not the name of a file; name one that lies in %s, without any directory", name, dir)
	}
	missing := pluginsdk.Errorf(pluginsdk.CodeNotFound, "upload: there is no file %q in %s; put the archive there", name, dir)
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return Archive{}, nil, missing
	}
	if err != nil {
		return Archive{}, nil, fmt.Errorf("uploads: %w", err)
	}
	defer root.Close()
	file, err := openUploaded(root, name)
	if errors.Is(err, fs.ErrNotExist) {
		err = missing
	}
	if err != nil {
		return Archive{}, nil, err
	}
	archive, closing = Archive{Name: name, Content: file}, func() { _ = file.Close() }
	signature, err := openUploaded(root, name+signatureSuffix)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return archive, closing, nil
	case err == nil:
		defer signature.Close()
		archive.Signature, err = signatureIn(signature, name+signatureSuffix)
	}
	if err != nil {
		closing()
		return Archive{}, nil, err
	}
	return archive, closing, nil
}

// openUploaded opens a file of the directory, unless it is none.
func openUploaded(root *os.Root, name string) (*os.File, error) {
	info, err := root.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = invalid("upload: %q is not a file; put the archive itself there", name)
	}
	if err != nil {
		return nil, err
	}
	file, _, err := openRegular(name, root.OpenFile)
	return file, err
}

// signatureIn reads a signature, as far as one can be long.
func signatureIn(file io.Reader, name string) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(file, maxSignature+1))
	if err != nil {
		return nil, fmt.Errorf("read the signature: %w", err)
	}
	if len(text) == 0 {
		return nil, denied("%s is empty, and not a signature of minisign", name)
	}
	return text, nil
}
