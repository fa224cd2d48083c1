package launch_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch"
)

func TestAPluginHasTheRlimitsThatItIsGiven(t *testing.T) {
	cfg := config(t, "hostile")
	cfg.Limits.OpenFiles = 100
	limits := do(t, started(t, cfg), "read /proc/self/limits")
	for _, want := range []string{`Max open files +100 +100 `, `Max core file size +0 +0 `} {
		if !regexp.MustCompile(want).MatchString(limits) {
			t.Errorf("%q is not in its limits:\n%s", want, limits)
		}
	}
}

func TestLimitsThatMakeNoSenseAreRefused(t *testing.T) {
	cfg := config(t, "plugin")
	cfg.Limits.MemoryBytes = -1
	_, err := newLauncher(t).Launch(t.Context(), cfg)
	if pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), "Limits.MemoryBytes is -1") {
		t.Errorf("error is %v", err)
	}
}

// imitation is a directory tree that looks like a cgroup v2 hierarchy, in which
// this process is in /own.
type imitation struct {
	t    testing.TB
	root string
}

func newImitation(t testing.TB) imitation {
	t.Helper()
	i := imitation{t: t, root: t.TempDir()}
	i.write("membership", "9:pids:/elsewhere\n0::/own\n")
	i.write("own/cgroup.controllers", "cpuset cpu io memory pids\n")
	i.write("own/cgroup.procs", strconv.Itoa(os.Getpid())+"\n")
	i.write("own/cgroup.subtree_control", "")
	i.write("own/cgroup.kill", "")
	return i
}

func (i imitation) write(path, content string) {
	i.t.Helper()
	path = filepath.Join(i.root, path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o600)); err != nil {
		i.t.Fatal(err)
	}
}

func (i imitation) read(path string) string {
	i.t.Helper()
	content, err := os.ReadFile(filepath.Join(i.root, path))
	if err != nil {
		i.t.Error(err)
	}
	return string(content)
}

func (i imitation) remove(path string) {
	i.t.Helper()
	if err := os.RemoveAll(filepath.Join(i.root, path)); err != nil {
		i.t.Fatal(err)
	}
}

func (i imitation) open() (*launch.Cgroups, error) {
	return launch.OpenImitation(i.root, "installation-1", filepath.Join(i.root, "membership"), os.Getpid(), os.RemoveAll)
}

// leaves are the plugins' cgroups.
func (i imitation) leaves() []string {
	i.t.Helper()
	paths, err := filepath.Glob(filepath.Join(i.root, "own", "installation_1.*"))
	if err != nil {
		i.t.Fatal(err)
	}
	for n := range paths {
		paths[n] = strings.TrimPrefix(paths[n], i.root+"/")
	}
	return paths
}

func TestTheDaemonMovesIntoALeafOfItsCgroup(t *testing.T) {
	tree := newImitation(t)
	tree.write("own/installation_1.old.abc/below/cgroup.procs", "")
	tree.write("own/neighbour/cgroup.procs", "")
	if _, err := tree.open(); err != nil {
		t.Fatal(err)
	}
	if got := tree.read("own/daemon/cgroup.procs"); got != strconv.Itoa(os.Getpid()) {
		t.Errorf("moved %q", got)
	}
	if got := tree.read("own/cgroup.subtree_control"); got != "+memory +pids +cpu" {
		t.Errorf("enabled %q", got)
	}
	if left := tree.leaves(); len(left) != 0 {
		t.Errorf("what an earlier daemon left is still there: %v", left)
	}
	_ = tree.read("own/neighbour/cgroup.procs")

	// A daemon that is started by this one, or again, is where it should be.
	tree.write("membership", "0::/own/daemon\n")
	tree.write("own/cgroup.subtree_control", "cpu memory pids\n")
	if _, err := tree.open(); err != nil {
		t.Error(err)
	}
}

func TestCgroupsThatCannotBeUsedSayWhy(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(imitation)
		want   string
	}{
		{"there is only v1", func(i imitation) { i.write("membership", "9:pids:/\n") }, "no cgroup v2"},
		{"it is not mounted", func(i imitation) { i.write("membership", "0::/other\n") }, "is no cgroup v2 (does this system use v1?)"},
		{"it is not Linux", func(i imitation) { i.remove("membership") }, "need Linux"},
		{"it is the root", func(i imitation) { i.remove("own/cgroup.kill") }, "is in the root cgroup, or the kernel is older"},
		{"a controller is missing", func(i imitation) { i.write("own/cgroup.controllers", "cpu pids\n") }, "does not have the controller memory (it has: cpu pids)"},
		{"others are there", func(i imitation) { i.write("own/cgroup.procs", strconv.Itoa(os.Getpid())+"\n1\n") }, "with other processes, such as 1;"},
		{"it is not delegated", func(i imitation) {
			i.remove("own/cgroup.subtree_control")
			i.write("own/cgroup.subtree_control/not-a-file", "")
		}, "is not delegated to the daemon"},
	} {
		t.Run(row.name, func(t *testing.T) {
			tree := newImitation(t)
			row.change(tree)
			_, err := tree.open()
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error is %v, want %q", err, row.want)
			}
			if _, err := os.Stat(filepath.Join(tree.root, "own", launch.DaemonLeaf)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the daemon's leaf was left behind: %v", err)
			}
		})
	}
}

// limitedTo launches the hostile plugin in an imitated cgroup.
func limitedTo(t *testing.T, tree imitation, limits launch.Limits) *launch.Plugin {
	t.Helper()
	cgroups, err := tree.open()
	if err != nil {
		t.Fatal(err)
	}
	cfg := config(t, "hostile")
	cfg.Name, cfg.Limits, cfg.Cgroups = "hostile", limits, cgroups
	return started(t, cfg)
}

func TestAPluginIsInACgroupWithItsLimits(t *testing.T) {
	tree := newImitation(t)
	plugin := limitedTo(t, tree, launch.Limits{MemoryBytes: 200 << 20, CPUPercent: 150, Processes: 30})
	leaves := tree.leaves()
	if len(leaves) != 1 || !strings.Contains(leaves[0], ".hostile.") {
		t.Fatalf("its cgroups are %v", leaves)
	}
	for file, want := range map[string]string{
		"memory.max": "209715200", "memory.swap.max": "0", "memory.oom.group": "1",
		"pids.max": "30", "cpu.max": "150000 100000", "cgroup.procs": strconv.Itoa(plugin.PID()),
	} {
		if got := tree.read(filepath.Join(leaves[0], file)); got != want {
			t.Errorf("%s is %q, want %q", file, got, want)
		}
	}
	_ = plugin.Stop(ended())
	if left := tree.leaves(); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// An operator who reads only "signal: killed" looks for who did it.
func TestAnEndByTheMemoryLimitSaysSo(t *testing.T) {
	tree := newImitation(t)
	plugin := limitedTo(t, tree, launch.Limits{MemoryBytes: 200 << 20})
	tree.write(filepath.Join(tree.leaves()[0], "memory.events"), "low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\n")
	if err := syscall.Kill(plugin.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitDone(t, plugin)
	var exit *exec.ExitError
	err := plugin.ExitError()
	if err == nil || err.Error() != "was killed by the memory limit of 200 MiB (signal: killed)" || !errors.As(err, &exit) {
		t.Errorf("it ended with %v", err)
	}
	if _, err := plugin.OnBeforeInvoke(t.Context(), nil); err == nil {
		t.Error("the dead answer")
	}
}

// A plugin that cannot be started leaves no cgroup.
func TestALaunchThatFailsLeavesNoCgroup(t *testing.T) {
	tree := newImitation(t)
	cgroups, err := tree.open()
	if err != nil {
		t.Fatal(err)
	}
	for _, cfg := range []launch.Config{config(t, "dies-at-once"), at(config(t, "plugin"), filepath.Join(tree.root, "absent"))} {
		cfg.Cgroups = cgroups
		if _, err := newLauncher(t).Launch(t.Context(), cfg); err == nil {
			t.Error("it was launched")
		}
		if left := tree.leaves(); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}
