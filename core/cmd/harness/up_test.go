package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/coretest/ports"
)

func freePort(t *testing.T) string {
	t.Helper()
	free, err := ports.Free()
	if err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(free)
}

// notified listens as systemd does and hands out what it is told.
func notified(t *testing.T) <-chan string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	t.Setenv("NOTIFY_SOCKET", socket)
	told := make(chan string, 16)
	go func() {
		buffer := make([]byte, 256)
		for {
			n, err := conn.Read(buffer)
			if err != nil {
				return
			}
			told <- string(buffer[:n])
		}
	}()
	return told
}

// The whole of a daemon's life, without plugins, so without an API.
func TestUpRunsUntilItIsToldToStop(t *testing.T) {
	data := isolate(t)
	told := notified(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan result, 1)
	port := freePort(t)
	go func() {
		ended <- harnessIn(ctx, "", "up", "--data", data, "--port", port, "--plugins", t.TempDir(), "--agent", "demo")
	}()
	select {
	case state := <-told:
		if state != "READY=1" {
			t.Fatalf("systemd is told %q first; want READY=1", state)
		}
	case got := <-ended:
		t.Fatalf("up ended: %+v", got)
	}
	second := harness(t, "", "up", "--data", data, "--port", port, "--plugins", t.TempDir(), "--agent", "demo")
	second.want(t, exitFailed, "", fmt.Sprintf("in use by pid %d, installation ", os.Getpid()))
	stop()
	if state := <-told; state != "STOPPING=1" {
		t.Errorf("systemd is told %q; want STOPPING=1", state)
	}
	got := <-ended
	got.want(t, 0, "http://127.0.0.1:"+port, "msg=stopping")
	for _, want := range []string{data, "THIS IS THE DEMO AGENT", "--agent demo", "The API does not answer"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("the welcome lacks %q:\n%s", want, got.out)
		}
	}
}

func TestUpThatCannotStartSaysWhyOnOneLine(t *testing.T) {
	data := isolate(t)
	got := harness(t, "", "up", "--data", data, "--agent", "demo", "--plugins", filepath.Join(data, "nowhere"))
	got.want(t, exitFailed, "", "harness: ")
	last := got.err[strings.LastIndex(strings.TrimSpace(got.err), "\n")+1:]
	if !strings.Contains(last, "nowhere does not exist") || !strings.Contains(last, "make build") {
		t.Errorf("the last line is %q; want the directory and the remedy", last)
	}
}
