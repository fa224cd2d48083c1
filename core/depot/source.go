package depot

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Package is a plugin that was read, and not yet added. Keep or Discard it.
type Package struct {
	Manifest   pluginsdk.Manifest
	Executable string // the file to run, relative to the package
	SHA256     string // the pin, hex
	Signature  Signature
	Files      int
	Bytes      int64

	depot *Depot
	stage *stage
}

// Stage reads a plugin from an executable with a plugin.json beside it, from a
// directory, or from an archive (.tar.gz, .tgz), whose detached signature is
// beside it under the name ARCHIVE.minisig. It copies what it finds, so that what
// an operator is shown is what Keep adds. It runs nothing. CodeInvalid says what
// is wrong with the source, CodeDenied that its signature is not accepted.
func (d *Depot) Stage(ctx context.Context, source string) (*Package, error) {
	return d.stage(ctx, source, "")
}

// stage is Stage. executable, when not empty, is the file of a directory that is
// run, whatever its plugin.json says.
func (d *Depot) stage(ctx context.Context, source, executable string) (*Package, error) {
	info, err := os.Stat(source)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no file or directory %s", source)
	}
	if err != nil {
		return nil, err
	}
	s, err := d.newStage(ctx)
	if err != nil {
		return nil, err
	}
	p := &Package{Executable: executable, depot: d, stage: s}
	if err := p.read(source, info); err != nil {
		return nil, errors.Join(about(source, err), s.discard())
	}
	return p, nil
}

// Archive is a package that does not lie where Stage could find it, or may not be
// looked for: what is read is the archive, and nothing else.
type Archive struct {
	Name      string // what errors call it
	Content   io.Reader
	Signature []byte // detached; empty: none
}

// StageArchive is Stage of an archive that is there already.
func (d *Depot) StageArchive(ctx context.Context, archive Archive) (*Package, error) {
	s, err := d.newStage(ctx)
	if err != nil {
		return nil, err
	}
	p := &Package{depot: d, stage: s}
	if err = p.readArchive(archive); err == nil {
		err = p.describe(archive.Name)
	}
	if err != nil {
		return nil, errors.Join(about(archive.Name, err), s.discard())
	}
	return p, nil
}

func (p *Package) read(source string, info fs.FileInfo) error {
	if !info.IsDir() && isArchive(source) {
		if err := p.openArchive(source); err != nil {
			return err
		}
		return p.describe(source)
	}
	if _, err := p.depot.policy(Signature{}); err != nil {
		return denied("%w; only an archive (.tar.gz, .tgz) can have one", err)
	}
	var err error
	switch {
	case info.IsDir():
		err = p.stage.copyDir(source)
	case !info.Mode().IsRegular():
		err = invalid("it is neither a file nor a directory")
	case info.Mode()&0o111 == 0:
		err = invalid("it may not be executed, and it is no archive (.tar.gz, .tgz)")
	default:
		p.Executable = filepath.Base(source)
		err = p.stage.copyExecutable(source)
	}
	if err != nil {
		return err
	}
	return p.describe(source)
}

// describe reads what the copy says about itself, and seals it.
func (p *Package) describe(source string) error {
	s := p.stage
	description, err := readStatic(s.root)
	if errors.Is(err, fs.ErrNotExist) {
		return p.missingManifest(source)
	}
	if err != nil {
		return err
	}
	if p.Executable == "" {
		p.Executable = description.Executable
	}
	if p.Executable, err = s.checkExecutable(p.Executable); err != nil {
		return err
	}
	if err := s.finish(); err != nil {
		return err
	}
	p.Manifest, p.SHA256 = description.Manifest, sumOf(render(s.entries))
	p.Files, p.Bytes = len(s.entries), s.bytes
	return nil
}

// copyExecutable copies a file and the plugin.json beside it.
func (s *stage) copyExecutable(source string) error {
	if err := s.copyFile(source, filepath.Base(source), true); err != nil {
		return err
	}
	err := s.copyFile(filepath.Join(filepath.Dir(source), ManifestFile), ManifestFile, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // describe says so
	}
	return err
}

func (s *stage) copyFile(path, name string, executable bool) error {
	file, err := os.Open(path) //nolint:gosec // an operator named it
	if err != nil {
		return err
	}
	defer file.Close()
	return s.file(name, executable, file)
}

// copyDir copies a directory, but for what git keeps in it.
func (s *stage) copyDir(source string) error {
	root, err := os.OpenRoot(source)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, found fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".git":
			if found.IsDir() {
				return fs.SkipDir
			}
			return nil
		case name == ".":
			return nil
		case found.IsDir():
			return s.directory(name)
		case found.Type()&fs.ModeSymlink != 0:
			target, err := root.Readlink(name)
			if err != nil {
				return err
			}
			return s.link(name, target)
		case !found.Type().IsRegular():
			return invalid("%q is neither a file nor a directory nor a link", name)
		}
		return s.copyFrom(root, name)
	})
}

func (s *stage) copyFrom(root *os.Root, name string) error {
	file, info, err := openRegular(name, root.OpenFile)
	if err != nil {
		return err
	}
	defer file.Close()
	return s.file(name, kindOf(info.Mode()) == 'x', file)
}

// openArchive reads an archive and the signature beside it.
func (p *Package) openArchive(source string) error {
	original, err := os.Open(source) //nolint:gosec // an operator named it
	if err != nil {
		return err
	}
	defer original.Close()
	signature, err := readSignature(source + signatureSuffix)
	if err != nil {
		return err
	}
	return p.readArchive(Archive{Name: source, Content: original, Signature: signature})
}

// readArchive copies the archive first: what is verified is what is unpacked,
// whoever can write to the original.
func (p *Package) readArchive(archive Archive) error {
	held, err := os.CreateTemp(p.depot.config.Dir, stagePrefix)
	if err != nil {
		return err
	}
	defer held.Close()
	if err := os.Remove(held.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) { // it needs no name; Sweep may have been faster
		return err
	}
	n, err := io.Copy(held, io.LimitReader(until(p.stage.ctx, archive.Content), p.depot.config.MaxBytes+1))
	if err != nil {
		return err
	}
	if n > p.depot.config.MaxBytes {
		return invalid("it is larger than %d MiB", p.depot.config.MaxBytes>>20)
	}
	if p.Signature, err = p.depot.judge(held, archive.Signature); err != nil {
		return err
	}
	if _, err := held.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return p.stage.unpack(held)
}

// Discard removes what Stage copied. After Keep it does nothing.
func (p *Package) Discard() error { return p.stage.discard() }
