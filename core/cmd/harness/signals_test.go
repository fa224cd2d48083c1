package main

import (
	"os"
	"syscall"
	"testing"
)

// The first signal stops, the second hurries: an operator who presses Ctrl-C
// twice does not wait for the grace.
func TestSecondSignalHurries(t *testing.T) {
	ctx, hurry, release := untilSignalled(t.Context())
	defer release()
	tell := func() {
		t.Helper()
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	tell()
	<-ctx.Done()
	if hurry.Err() != nil {
		t.Error("the first signal hurries already")
	}
	tell()
	<-hurry.Done()
}
