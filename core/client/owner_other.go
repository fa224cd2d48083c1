//go:build !linux

package client

// ownListener is not known here, and taken for true.
func ownListener(string) bool { return true }
