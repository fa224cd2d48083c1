package pluginhost

import (
	"io/fs"
	"syscall"
)

// identity differs when the file or its content does: whoever writes the file cannot set
// back the time of the change.
type identity struct {
	device, inode uint64
	size          int64
	changed       syscall.Timespec
}

// identityOf returns the zero identity when the file system tells none.
func identityOf(info fs.FileInfo) identity {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{}
	}
	return identity{device: stat.Dev, inode: stat.Ino, size: stat.Size, changed: stat.Ctim}
}
