//go:build !linux

package daemon

// Harden does nothing here: only Linux has what it needs.
func Harden() error { return nil }
