package daemon_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/seed-706843ae/harness/core/coretest/programs"
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
	case looperName:
		runLooper()
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
	err = errors.Join(
		programs.Build(dir, "plugins/activity", "plugins/context", "plugins/time", "plugins/web", "plugins/delegation", "plugins/worktree",
			"plugins/validation", "plugins/discord", "plugins/cron", "plugins/metrics", "plugins/workflow", "plugins/summaries", "plugins/summaries/internal/ahead", "plugins/examples/licence-gate", "core/coretest/gallery"),
		makeParts(filepath.Join(dir, partsName)),
	)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func makeParts(path string) error {
	if raced {
		command := exec.Command("go", "test", "-c", "-trimpath", "-ldflags", "-s -w", "-o", path, ".") // as the programs are made
		command.Env = append(os.Environ(), "CGO_ENABLED=0")
		if output, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("make the parts: %w\n%s", err, output)
		}
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return os.Symlink(self, path)
}
