package conform

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/seed-706843ae/harness/pluginsdk/launch/proc"
)

// child is a process of the plugin's, as it is named in a report.
type child struct {
	proc.Stat
	name string
}

func (c child) String() string { return fmt.Sprintf("%s (process %d)", c.name, c.ID.PID) }

// seesProcesses reports whether this system shows processes in /proc.
func seesProcesses() bool {
	_, err := os.Stat("/proc/self/stat")
	return err == nil
}

// leftOf returns the living processes of a group, and those with the mark,
// without the group's leader.
func leftOf(group int, mark string) []child {
	var r proc.Reader
	var left []child
	for _, pid := range proc.All() {
		if stat, ok := r.Stat(pid); ok && !stat.Dead() && stat.Group == group && pid != group {
			left = append(left, child{stat, r.Name(pid)})
		}
	}
	for _, c := range marked(mark) {
		if c.Group != group {
			left = append(left, c)
		}
	}
	return left
}

// marked returns the living processes that have the mark in their environment.
func marked(mark string) []child {
	var r proc.Reader
	var found []child
	for _, id := range proc.Marked(OwnerVariable, mark) {
		if stat, ok := r.Stat(id.PID); ok && stat.ID == id {
			found = append(found, child{stat, r.Name(id.PID)})
		}
	}
	return found
}

// killMarked ends what has the mark. Where /proc is missing, it finds nothing.
func killMarked(mark string) {
	for _, id := range proc.Marked(OwnerVariable, mark) {
		id.Signal(os.Kill)
	}
}

// gone reports whether a process has ended.
func gone(pid int) bool {
	if seesProcesses() {
		var r proc.Reader
		stat, ok := r.Stat(pid)
		return !ok || stat.Dead()
	}
	return syscall.Kill(pid, 0) != nil
}

func names(children []child) string {
	texts := make([]string, len(children))
	for n, c := range children {
		texts[n] = c.String()
	}
	return strings.Join(texts, ", ")
}
