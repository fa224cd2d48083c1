package main

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// babbler prints without end, on both streams.
func babbler(name string) {
	g := newGuest(name)
	g.start = func(pluginsdk.Host) {
		for _, fd := range []uintptr{1, 2} {
			file := os.NewFile(fd, "")
			go func() {
				for {
					_, _ = file.WriteString(strings.Repeat("blah ", 20) + "\n")
				}
			}()
		}
	}
	g.serve()
}

const (
	bite    = 16 << 20
	stomach = 1 << 30 // more would take the machine along where nothing stops it
)

// glutton eats memory until it is stopped.
func glutton(name string) {
	g := newGuest(name)
	var eaten [][]byte
	g.start = func(pluginsdk.Host) {
		go func() {
			for range stomach / bite {
				piece := make([]byte, bite)
				for i := 0; i < len(piece); i += os.Getpagesize() {
					piece[i] = 1
				}
				eaten = append(eaten, piece)
				<-time.After(10 * time.Millisecond)
			}
		}()
	}
	g.serve()
}

// forker leaves children behind when it is first asked something: one in its
// own group and one that went away, both holding its pipes for ever.
func forker(name string) {
	g := newGuest(name)
	g.each = func(context.Context, visit) error {
		leave(false)
		leave(true)
		os.Exit(1)
		return nil
	}
	g.serve()
}

func leave(away bool) {
	path, err := os.Executable()
	if err != nil {
		return
	}
	child := exec.Command(path)
	child.Args = []string{"lurker"}
	child.Stdout, child.Stderr = os.NewFile(1, "stdout"), os.NewFile(2, "stderr")
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: away}
	_ = child.Start()
}

// leaker connects to its host again and again, and lets go of nothing.
func leaker(name string) {
	g := newGuest(name)
	var held []net.Conn
	g.start = func(pluginsdk.Host) {
		go func() {
			for {
				sockets, _ := filepath.Glob(filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "*"))
				for _, socket := range sockets {
					if conn, err := net.Dial("unix", socket); err == nil {
						held = append(held, conn)
					}
				}
				<-time.After(time.Millisecond)
			}
		}()
	}
	g.serve()
}

// moth replaces its own executable when it is first asked something, and dies.
func moth(name string) {
	g := newGuest(name)
	g.each = func(context.Context, visit) error {
		path := os.Args[0]
		_ = os.Chmod(filepath.Dir(path), 0o700) //nolint:gosec // the depot's directories are read-only
		hole := filepath.Join(filepath.Dir(path), "hole")
		if os.WriteFile(hole, []byte("#!/bin/sh\nexec sleep 1000\n"), 0o700) == nil { //nolint:gosec // an executable
			_ = os.Rename(hole, path)
		}
		os.Exit(1)
		return nil
	}
	g.serve()
}
