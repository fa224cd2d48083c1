package pluginhost

import (
	"io/fs"
	"syscall"
)

// identity is another one when the file is, or its content. (The time of change
// cannot be set back by who writes the file.)
type identity struct {
	device, inode uint64
	size          int64
	changed       syscall.Timespec
}

// identityOf returns the zero identity of what has none.
func identityOf(info fs.FileInfo) identity {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{}
	}
	return identity{device: stat.Dev, inode: stat.Ino, size: stat.Size, changed: stat.Ctim}
}
