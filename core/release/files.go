package main

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// archive is a gzipped tar that depends on nothing but its files' names, modes and
// contents, and one time.
type archive struct {
	top   string // directory that everything is in
	time  time.Time
	files []file
}

type file struct {
	name, source string // in the archive, and on disk
	mode         int64
	to           string // of a link, which has no source: where it leads
}

func (a *archive) add(name, source string, mode int64) {
	a.files = append(a.files, file{name: name, source: source, mode: mode})
}

// link adds a symbolic link.
func (a *archive) link(name, to string) {
	a.files = append(a.files, file{name: name, mode: 0o777, to: to})
}

// write makes the archive. The files are in the order of their names.
func (a *archive) write(target string) (err error) {
	out, err := os.Create(target)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	packed, err := gzip.NewWriterLevel(out, gzip.BestCompression) // it notes no time and no name
	if err != nil {
		return err
	}
	tarred := tar.NewWriter(packed)
	slices.SortFunc(a.files, func(x, y file) int { return cmp.Compare(x.name, y.name) })
	for _, f := range a.files {
		if err := a.put(tarred, f); err != nil {
			return err
		}
	}
	return errors.Join(tarred.Close(), packed.Close())
}

func (a *archive) put(out *tar.Writer, f file) error {
	header := tar.Header{
		Typeflag: tar.TypeReg, Name: path.Join(a.top, f.name), Mode: f.mode,
		ModTime: a.time.Truncate(time.Second), Format: tar.FormatUSTAR,
	}
	if f.to != "" {
		header.Typeflag, header.Linkname = tar.TypeSymlink, f.to
		return out.WriteHeader(&header)
	}
	in, err := os.Open(f.source)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	header.Size = info.Size()
	if err := out.WriteHeader(&header); err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return err
}

// writeSums writes the checksums of a directory's files beside them, as sha256sum -c
// reads them.
func writeSums(dir string) error {
	entries, err := os.ReadDir(dir) // sorted
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), entry.Name())
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(sums.String()), 0o600)
}

// component is one of a CycloneDX list.
type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// sbom is the list of what is in the programs, in CycloneDX's JSON. It is read from the
// programs themselves, so it has what is linked into one of them, and nothing else.
func (r release) sbom(built []*buildinfo.BuildInfo) ([]byte, error) {
	modules := make(map[string]component)
	var module string
	for _, info := range built {
		module = info.Main.Path
		goVersion := strings.TrimPrefix(info.GoVersion, "go")
		modules["stdlib"] = library("stdlib", goVersion, "")
		for _, used := range info.Deps {
			if used.Replace != nil {
				used = used.Replace
			}
			one := library(used.Path, used.Version, used.Sum)
			modules[one.PURL] = one
		}
	}
	components := make([]component, 0, len(modules))
	for _, one := range modules {
		components = append(components, one)
	}
	slices.SortFunc(components, func(x, y component) int { return cmp.Compare(x.PURL, y.PURL) })
	harness := library(module, r.version, "")
	harness.Type, harness.Name = "application", "harness"
	harness.Properties = []property{{"git:commit", r.commit}}
	refs := make([]string, len(components))
	for n, one := range components {
		refs[n] = one.Ref
	}
	encoded, err := json.MarshalIndent(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"metadata":     map[string]any{"timestamp": r.date.Format(time.RFC3339), "component": harness},
		"components":   components,
		"dependencies": []map[string]any{{"ref": harness.Ref, "dependsOn": refs}},
	}, "", "  ")
	return append(encoded, '\n'), err
}

// library is a module. Its sum is that of go.sum.
func library(name, version, sum string) component {
	purl := "pkg:golang/" + name + "@" + strings.ReplaceAll(version, "+", "%2B")
	c := component{Type: "library", Ref: purl, Name: name, Version: version, PURL: purl}
	if sum != "" {
		c.Properties = []property{{"go:sum", sum}}
	}
	return c
}
