package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seed-706843ae/harness/core/ledger"
)

// Catalog lists the bytes that rows refer to.
type Catalog interface {
	FileBytes(ctx context.Context, after string, limit int) ([]ledger.FileBytes, error)
}

// Inspection is what Inspect has found.
type Inspection struct {
	Count    int   // of the bytes that rows refer to, each once
	Bytes    int64 // that these have
	Problems []string
}

// Inspect reads all bytes that rows refer to, and says which are missing or are not what
// was kept. It changes nothing, and the daemon may be up.
func Inspect(ctx context.Context, dir string, catalog Catalog) (found Inspection, err error) {
	for after := ""; ; {
		list, err := catalog.FileBytes(ctx, after, 1000)
		if err != nil || len(list) == 0 {
			return found, err
		}
		for _, one := range list {
			found.Count++
			found.Bytes += one.Size
			problem, err := inspect(ctx, dir, one)
			if err != nil {
				return found, err
			}
			if problem != "" {
				found.Problems = append(found.Problems, problem)
			}
			after = one.SHA256
		}
	}
}

func inspect(ctx context.Context, dir string, of ledger.FileBytes) (problem string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if !isSum(of.SHA256) {
		return fmt.Sprintf("%.100q is no SHA-256", of.SHA256), nil
	}
	path := filepath.Join(dir, of.SHA256[:2], of.SHA256)
	file, err := os.Open(path) //nolint:gosec // a file of the daemon's own
	if errors.Is(err, fs.ErrNotExist) {
		return path + " is missing", nil
	}
	if err != nil {
		return "", err
	}
	defer file.Close() // it was only read
	digest := sha256.New()
	size, err := io.Copy(digest, file)
	switch {
	case err != nil:
		return fmt.Sprintf("%s cannot be read: %s", path, err), nil
	case size != of.Size:
		return fmt.Sprintf("%s has %d bytes instead of %d", path, size, of.Size), nil
	case hex.EncodeToString(digest.Sum(nil)) != of.SHA256:
		return path + " has other bytes than those that were kept", nil
	}
	return "", nil
}
