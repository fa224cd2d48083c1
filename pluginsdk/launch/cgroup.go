package launch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// controllers are those that Limits need.
var controllers = []string{"memory", "pids", "cpu"}

const (
	// daemonLeaf is the cgroup that the daemon moves into: a cgroup that
	// hands out controllers must have no processes of its own (cgroups(7)).
	daemonLeaf = "daemon"
	// delegateHint is what helps against most of what can be wrong.
	delegateHint = "run the daemon as a systemd service with Delegate=yes, or with `systemd-run --user --scope -p Delegate=yes`"
)

// Cgroups is the part of the cgroup v2 hierarchy that has been delegated to
// the daemon. It makes a cgroup for every start of a plugin, and is safe for
// concurrent use. It reads and writes the kernel's files itself: the
// well-known libraries bring eBPF, D-Bus and v1 along for a dozen writes.
type Cgroups struct {
	dir  string // the daemon's own cgroup
	name string
	// rmdir removes a cgroup, whose files are not to be removed. A test's
	// imitation has real files.
	rmdir func(dir string) error
}

// OpenCgroups readies the cgroup that this process is in for limiting
// plugins: the process moves into a cgroup "daemon" below it, and what is
// below may use the controllers memory, pids and cpu. root is where cgroup v2
// is mounted, usually /sys/fs/cgroup. name is the installation's: the plugins'
// cgroups are called name.PLUGIN.RANDOM, and those of that name that are there
// already, which a dead predecessor left, are ended and removed.
//
// The error says why that cannot be, and what to do about it; nothing is
// changed then. Plugins can be launched all the same, without those limits.
func OpenCgroups(root, name string) (*Cgroups, error) {
	return openCgroups(root, name, "/proc/self/cgroup", os.Getpid(), os.Remove)
}

func openCgroups(root, name, membership string, pid int, rmdir func(string) error) (*Cgroups, error) {
	own, err := ownCgroup(membership)
	if err != nil {
		return nil, err
	}
	c := &Cgroups{dir: filepath.Join(root, own), name: fileName(name), rmdir: rmdir}
	if c.isSplit() {
		c.dir = filepath.Dir(c.dir)
	} else {
		if err := c.check(own, pid); err != nil {
			return nil, err
		}
		if err := c.split(pid); err != nil {
			return nil, err
		}
	}
	c.sweep()
	return c, nil
}

// isSplit reports whether this process is in a daemon's leaf already: one that
// an earlier start made, or systemd (DelegateSubgroup=daemon).
func (c *Cgroups) isSplit() bool {
	parent := filepath.Dir(c.dir)
	if _, err := os.Stat(filepath.Join(parent, "cgroup.kill")); err != nil || filepath.Base(c.dir) != daemonLeaf {
		return false
	}
	return handsOut(parent) || enable(parent) == nil
}

// ownCgroup reads the path of this process's cgroup v2.
func ownCgroup(membership string) (string, error) {
	data, err := os.ReadFile(membership)
	if err != nil {
		return "", pluginsdk.Errorf(pluginsdk.CodeUnimplemented, "limits by cgroup need Linux: %w", err)
	}
	for line := range strings.Lines(string(data)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return path, nil
		}
	}
	return "", pluginsdk.Errorf(pluginsdk.CodeUnimplemented, "this system has no cgroup v2")
}

// check finds out, without changing anything, whether the cgroup can be used.
func (c *Cgroups) check(own string, pid int) error {
	available, err := os.ReadFile(filepath.Join(c.dir, "cgroup.controllers"))
	if err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeUnimplemented, "%s is no cgroup v2 (does this system use v1?): %w", c.dir, err)
	}
	if _, err := os.Stat(filepath.Join(c.dir, "cgroup.kill")); err != nil {
		// The file is in every cgroup but the root, since Linux 5.14.
		return pluginsdk.Errorf(pluginsdk.CodeUnimplemented, "the daemon is in the root cgroup, or the kernel is older than 5.14; %s", delegateHint)
	}
	for _, controller := range controllers {
		if !slices.Contains(strings.Fields(string(available)), controller) {
			return pluginsdk.Errorf(pluginsdk.CodeUnimplemented, "the cgroup %s does not have the controller %s (it has: %s); %s",
				own, controller, strings.TrimSpace(string(available)), delegateHint)
		}
	}
	pids, err := members(c.dir)
	if err != nil {
		return err
	}
	for _, other := range pids {
		if other != pid {
			return pluginsdk.Errorf(pluginsdk.CodeUnimplemented, "the daemon shares the cgroup %s with other processes, such as %d; %s", own, other, delegateHint)
		}
	}
	return nil
}

// split moves the process into the daemon's leaf and lets leaves have limits.
// When that fails, it is undone.
func (c *Cgroups) split(pid int) error {
	leaf := filepath.Join(c.dir, daemonLeaf)
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "the cgroup %s is not delegated to the daemon: %w; %s", c.dir, err, delegateHint)
	}
	err := write(leaf, "cgroup.procs", strconv.Itoa(pid))
	if err == nil {
		if err = enable(c.dir); err == nil {
			return nil
		}
	}
	_ = write(c.dir, "cgroup.procs", strconv.Itoa(pid))
	_ = c.rmdir(leaf)
	return pluginsdk.Errorf(pluginsdk.CodeDenied, "the cgroup %s is not delegated to the daemon: %w; %s", c.dir, err, delegateHint)
}

// enable lets the children of a cgroup have limits.
func enable(dir string) error {
	return write(dir, "cgroup.subtree_control", "+"+strings.Join(controllers, " +"))
}

// handsOut reports whether they may have them.
func handsOut(dir string) bool {
	enabled, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	if err != nil {
		return false
	}
	have := strings.Fields(string(enabled))
	return !slices.ContainsFunc(controllers, func(name string) bool { return !slices.Contains(have, name) })
}

// sweep ends and removes the leaves of a predecessor. One that cannot be
// removed does no harm.
func (c *Cgroups) sweep() {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if entry.IsDir() && strings.HasPrefix(entry.Name(), c.name+".") {
			old := leaf{dir: filepath.Join(c.dir, entry.Name()), rmdir: c.rmdir}
			_ = old.remove()
		}
	}
}

// members are the processes in a cgroup, without those in the ones below.
func members(dir string) ([]int, error) {
	data, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil, fmt.Errorf("read the cgroup's processes: %w", err)
	}
	var pids []int
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		if pid, err := strconv.Atoi(lines.Text()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// write writes one value to one of a cgroup's files. The kernel takes a value
// in one write(2) or refuses it; it makes none of these files by O_CREATE.
func write(dir, file, value string) error {
	if err := os.WriteFile(filepath.Join(dir, file), []byte(value), 0o644); err != nil {
		return fmt.Errorf("write %q to %s: %w", value, filepath.Join(filepath.Base(dir), file), err)
	}
	return nil
}
