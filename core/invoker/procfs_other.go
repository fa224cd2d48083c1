//go:build !linux

package invoker

// Processes are found through /proc, on Linux only. Elsewhere what a CLI leaves
// running in groups of its own stays.

func alive(procID) bool { return false }

func descendants(int) []procID { return nil }

func ancestors(int) map[int]bool { return nil }

func marked(string) []procID { return nil }

func footprints([]int) map[int]footprint { return nil }
