package daemon_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
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
	case turnerName:
		runTurner()
	case foremanName:
		runForeman()
	case scribeName:
		runScribe()
	case censusName:
		runCensus()
	case purserName:
		runPurser()
	case deskName:
		runDesk()
	default:
		if pluginDir = os.Getenv(apartVariable); pluginDir != "" {
			os.Exit(m.Run())
		}
		os.Exit(run(m))
	}
}

// pluginDir holds the shipped plugins, the gallery of hostile ones, and the parts
// that this binary plays, built once.
var pluginDir string

// partsName is a program that plays the parts: this one, without the race detector. It
// looks for races in the daemon, whose plugins are anybody's; with it, a process takes
// a multiple of the time to start and to answer.
const partsName = "parts"

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "harness-plugins")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	pluginDir = dir
	into := dir + string(filepath.Separator)
	err = errors.Join(
		build("build", "-o", into, "../../plugins/activity", "../../plugins/context", "../../plugins/time", "../../plugins/web",
			"../../plugins/delegation", "../../plugins/worktree", "../../plugins/validation", "../../plugins/discord",
			"../../plugins/examples/licence-gate", "../coretest/gallery"),
		makeParts(into+partsName),
	)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func makeParts(path string) error {
	if raced {
		return build("test", "-c", "-o", path, ".")
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return os.Symlink(self, path)
}

// build runs go as `make build` does, so that nothing is compiled once more.
func build(arguments ...string) error {
	command := exec.Command("go", slices.Insert(arguments, 1, "-trimpath", "-ldflags", "-s -w")...)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(arguments, " "), err, output)
	}
	return nil
}
