package daemon_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The test binary plays other parts when it is started under their names: the
// daemon that is killed in mid-run, the plugin that misbehaves, the one that
// carries messages, the one with tools, the one with tasks, and the one that is
// upgraded.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case doomedName:
		runDoomed()
	case hostileName:
		runHostile()
	case courierName:
		runCourier()
	case leakyName:
		runLeaky()
	case workbenchName:
		runWorkbench()
	case ferryName:
		runFerry()
	case foremanName:
		runForeman()
	default:
		os.Exit(run(m))
	}
}

// pluginDir holds the shipped plugins and the gallery of hostile ones, built once.
var pluginDir string

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "harness-plugins")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	pluginDir = dir
	build := exec.Command("go", "build", "-o", dir+string(filepath.Separator),
		"../../plugins/activity", "../../plugins/context", "../../plugins/time", "../../plugins/web", "../coretest/gallery")
	if output, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the plugins: %v\n%s", err, output)
		return 1
	}
	return m.Run()
}
