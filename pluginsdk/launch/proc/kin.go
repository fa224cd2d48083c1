package proc

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
)

// kinTries is how often the line of parents is read again when it changes meanwhile.
const kinTries = 20

// Of returns the process that has a number at this moment.
func Of(pid int) (ID, bool) {
	var r Reader
	stat, ok := r.Stat(pid)
	return stat.ID, ok && !stat.Dead()
}

// Below reports whether a process is a descendant of another, and not that one itself. known
// is false when that cannot be found out: the process has ended, or there is no /proc.
func (r *Reader) Below(pid int, above ID) (below, known bool) {
	for range kinTries {
		if below, known, steady := r.climb(pid, above); steady {
			return below, known
		}
	}
	return false, false
}

// climb walks from parent to parent. It is not steady when a parent ended on the way: its
// children have another parent then.
func (r *Reader) climb(pid int, above ID) (below, known, steady bool) {
	stat, ok := r.Stat(pid)
	if !ok {
		return false, false, true
	}
	for stat.Parent > 0 {
		parent, ok := r.Stat(stat.Parent)
		again, lives := r.Stat(stat.ID.PID)
		if !ok || !lives || again.ID != stat.ID || again.Parent != stat.Parent {
			return false, false, false
		}
		if parent.ID == above {
			return true, true, true
		}
		stat = parent
	}
	return false, true, true
}

// family are the processes of the system, by the number of their parent.
type family map[int][]Stat

func (r *Reader) family() family {
	children := family{}
	for _, pid := range All() {
		if stat, ok := r.Stat(pid); ok {
			children[stat.Parent] = append(children[stat.Parent], stat)
		}
	}
	return children
}

// below returns the living descendants of the processes that are given.
func (f family) below(processes ...Stat) (found []Stat) {
	for queue := processes; len(queue) > 0; queue = queue[1:] {
		for _, child := range f[queue[0].ID.PID] {
			if !child.Dead() {
				found = append(found, child)
			}
			queue = append(queue, child)
		}
	}
	return found
}

// descriptor returns the number of a process's descriptor that leads to target, as readlink(2)
// shows it; empty: it has none. known is false when its descriptors may not be read.
func (r *Reader) descriptor(pid int, target string) (number string, known bool) {
	directory := path(pid, "fd")
	names, err := namesIn(directory)
	if err != nil {
		return "", errors.Is(err, os.ErrNotExist)
	}
	for _, name := range names {
		if leads(directory+"/"+name, target) {
			return name, true
		}
	}
	return "", true
}

// leads reports whether a descriptor leads to target, as readlink(2) shows it.
func leads(descriptor, target string) bool {
	to, err := os.Readlink(descriptor)
	return err == nil && to == target
}

func namesIn(directory string) ([]string, error) {
	dir, err := os.Open(directory)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	return dir.Readdirnames(-1)
}

// actsFor reports whether a user is one of those that a process acts for.
func (r *Reader) actsFor(pid int, user uint32) bool {
	for line := range bytes.Lines(r.read(path(pid, "status"))) {
		if users, ok := bytes.CutPrefix(line, []byte("Uid:")); ok {
			return slices.Contains(fieldsOf(users), strconv.FormatUint(uint64(user), 10))
		}
	}
	return false
}

func fieldsOf(line []byte) (fields []string) {
	for field := range bytes.FieldsSeq(line) {
		fields = append(fields, string(field))
	}
	return fields
}
