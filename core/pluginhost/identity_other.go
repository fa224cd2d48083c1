//go:build !linux

package pluginhost

import (
	"io/fs"
)

// identity is not known here: every start hashes.
type identity struct{}

func identityOf(fs.FileInfo) identity { return identity{} }
