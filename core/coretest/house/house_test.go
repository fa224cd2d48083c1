// Package house tests what the documents say of the code as a whole.
package house

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/shipped"
)

const root = "../../.."

// addition is something that people add to Harness, told by one that is there.
type addition struct {
	what    string         // as docs/architecture.md calls it
	example *regexp.Regexp // what the files that an addition touches are known by
	most    int            // files that it may touch
	// other is where the words are something else's, and users where the example is put
	// to use: that is why it was added, and no price of adding it.
	other, users []string
}

var additions = []addition{
	{
		what: "a hook", most: 9,
		example: regexp.MustCompile(`\b(On|Hook|on)?BeforeReply(Hook|Request|Response|RequestTo|RequestFrom|ResponseTo|ResponseFrom)?\b`),
	},
	{
		what: "a field", most: 8,
		example: regexp.MustCompile(`\.(Set|Get)?Instructions\b|\bInstructions:|\bInstructions +\*?string|"instructions"|\binstructions = `),
		other:   []string{"core/toolserver/session.go"},
		users: []string{
			"core/inbox/rights.go", "core/pipeline/prepare.go", "core/threads/command.go",
			"plugins/web/internal/pages/chat/say.go", "plugins/web/internal/pages/chat/settings.go", "plugins/web/internal/pages/chat/threads.go",
		},
	},
	{
		what: "a shipped plugin", most: 4,
		example: regexp.MustCompile(`"activity"`),
		other: []string{
			"core/daemon/retention.go", "core/store/prune.go", "pluginsdk/thread.go", // an order of threads, a kind of rows
			"plugins/web/internal/pages/overview/overview.go", "plugins/web/internal/pages/palette/palette.go",
			"plugins/web/internal/pages/tasks/tasks.go", "plugins/web/internal/site/nav.go",
		},
	},
}

// go test remembers the result of a package until something that it sees has changed. It does not see
// the sources of the programs that tests build and start, so these packages read a variable that is
// another one when the programs may be others.
func TestResultsAreRememberedWhileTheProgramsAreTheSame(t *testing.T) {
	build, others := regexp.MustCompile(`programs\.(Build|Installation)\(`), regexp.MustCompile(`"go", append|"make", "test"`)
	testMain := regexp.MustCompile(`func TestMain\(`)
	says := regexp.MustCompile(`(?m)^\s*(programs\.Used\(\)|_ = os\.Getenv\("HARNESS_TEST_PROGRAMS"\))`)
	tests := map[string]string{} // of packages
	for _, file := range slices.Concat(files(t, "core"), files(t, "plugins"), files(t, "pluginsdk")) {
		if strings.HasSuffix(file, "_test.go") && file != "core/coretest/house/house_test.go" {
			tests[filepath.Dir(file)] += string(read(t, file))
		}
	}
	var found []string
	for dir, text := range tests {
		// programs.Build says so itself, but not in TestMain.
		if others.MatchString(text) || build.MatchString(text) && testMain.MatchString(text) {
			found = append(found, dir)
			if !says.MatchString(text) {
				t.Errorf("the tests of %s start programs of this module, and none calls programs.Used", dir)
			}
		}
	}
	slices.Sort(found)
	want := []string{
		"core/cmd/harness/internal/scaffold", "core/coretest/chaos", "core/coretest/discord", "core/coretest/walk", "core/daemon",
		"plugins/examples", "plugins/web/internal/web",
	}
	if !slices.Equal(found, want) {
		t.Errorf("found are\n  %s\nwant\n  %s", strings.Join(found, "\n  "), strings.Join(want, "\n  "))
	}
}

// Who adds something reads in the documents which files that touches. The list is what
// the code has of the example, and is not to grow.
func TestWhatAnAdditionTouches(t *testing.T) {
	for _, a := range additions {
		touched, listed := a.touched(t), listed(t, a.what)
		if !slices.Equal(touched, listed) {
			t.Errorf("%s touches\n  %s\ndocs/architecture.md has\n  %s", a.what, strings.Join(touched, "\n  "), strings.Join(listed, "\n  "))
		}
		if len(touched) > a.most {
			t.Errorf("%s touches %d files; at most %d are what a newcomer keeps in mind", a.what, len(touched), a.most)
		}
		for _, name := range slices.Concat(a.other, a.users) {
			if slices.Contains(touched, name) || !a.example.Match(read(t, name)) {
				t.Errorf("%s: %s is no exception any more", a.what, name)
			}
		}
	}
}

// A promise is kept by its tests: who renames one takes it along.
func TestThePromisesNameTestsThatThereAre(t *testing.T) {
	there := make(map[string]bool)
	declared := regexp.MustCompile(`(?m)^func (Test\w+|Benchmark\w+)\(`)
	for _, dir := range []string{"core", "pluginsdk", "plugins"} {
		for _, name := range files(t, dir) {
			if strings.HasSuffix(name, "_test.go") {
				for _, match := range declared.FindAllSubmatch(read(t, name), -1) {
					there[string(match[1])] = true
				}
			}
		}
	}
	named := regexp.MustCompile("`(Test\\w+|Benchmark\\w+)`").FindAllSubmatch(read(t, "docs/promises.md"), -1)
	if len(named) < 100 {
		t.Fatalf("only %d tests are named", len(named))
	}
	for _, match := range named {
		if !there[string(match[1])] {
			t.Errorf("docs/promises.md names %s, which is not there", match[1])
		}
	}
}

// Who builds an alarm reads in the documents what a figure means: each that the daemon
// or a plugin tells is there, and none that it does not tell, which nobody would ever be woken by.
func TestEveryFigureIsInTheDocuments(t *testing.T) {
	var counted, listed []string
	for _, name := range sources(t) {
		if strings.HasSuffix(name, "/figures.go") {
			var own []string
			for _, match := range regexp.MustCompile(`"(harness_\w+)"`).FindAllSubmatch(read(t, name), -1) {
				own = append(own, string(match[1]))
			}
			if strings.HasPrefix(name, "plugins/") { // whose code may name a figure more than once
				slices.Sort(own)
				own = slices.Compact(own)
			}
			counted = append(counted, own...)
		}
	}
	_, section, _ := strings.Cut(string(read(t, "docs/operating.md")), "\n## Metrics\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, row := range regexp.MustCompile(`(?m)^\| (.+?) \|`).FindAllStringSubmatch(section, -1) {
		for _, match := range regexp.MustCompile("`(harness_\\w+)`").FindAllStringSubmatch(row[1], -1) {
			listed = append(listed, match[1])
		}
	}
	slices.Sort(counted)
	slices.Sort(listed)
	if len(counted) < 20 || !slices.Equal(counted, listed) {
		t.Errorf("the rooms count\n  %s\ndocs/operating.md has\n  %s", strings.Join(counted, "\n  "), strings.Join(listed, "\n  "))
	}
}

// Who makes charts of the table metrics reads in the documents which rows there are.
func TestEveryRowOfMetricsIsInTheDocuments(t *testing.T) {
	var kept, listed []string
	for _, match := range regexp.MustCompile(`"(harness_\w+)"`).FindAllSubmatch(read(t, "plugins/metrics/internal/rows/rows.go"), -1) {
		kept = append(kept, string(match[1]))
	}
	_, section, _ := strings.Cut(string(read(t, "docs/operating.md")), "\n## Rows of metrics\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, row := range regexp.MustCompile("(?m)^\\| `(harness_\\w+)` \\|").FindAllStringSubmatch(section, -1) {
		listed = append(listed, row[1])
	}
	slices.Sort(kept)
	slices.Sort(listed)
	if len(kept) < 5 || !slices.Equal(kept, listed) {
		t.Errorf("the plugin keeps\n  %s\ndocs/operating.md has\n  %s", strings.Join(kept, "\n  "), strings.Join(listed, "\n  "))
	}
}

// activity are the folders of that plugin: its own, and the one of its program.
var activity = []string{"plugins/activity/", "plugins/cmd/activity/"}

// What the program of the shipped plugins plays, and what the core enables, is written in two
// places, since the core imports no plugin: a daemon would wait for one that nobody plays.
func TestTheProgramOfPluginsPlaysWhatTheCoreShips(t *testing.T) {
	const all = "harness-plugins"
	want := slices.Sorted(slices.Values(shipped.Plugins.Names()))
	var played []string
	for _, match := range regexp.MustCompile(`(?m)^\t"(\w+)": +\w+\.New,$`).FindAllSubmatch(read(t, "plugins/cmd/"+all+"/main.go"), -1) {
		played = append(played, string(match[1]))
	}
	if !slices.Equal(played, want) {
		t.Errorf("%s plays\n  %v\ncore/shipped has\n  %v", all, played, want)
	}
	folders, err := os.ReadDir(filepath.Join(root, "plugins/cmd"))
	if err != nil {
		t.Fatal(err)
	}
	var alone []string
	for _, folder := range folders {
		if folder.Name() != all {
			alone = append(alone, folder.Name())
		}
	}
	if !slices.Equal(alone, want) {
		t.Errorf("plugins/cmd has\n  %v\ncore/shipped has\n  %v", alone, want)
	}
}

// touched are the files written by hand, without tests, that have something of the
// example. A folder of a plugin counts as one.
func (a addition) touched(t *testing.T) (touched []string) {
	t.Helper()
	for _, name := range sources(t) {
		if slices.Contains(a.other, name) || slices.Contains(a.users, name) {
			continue
		}
		folder := slices.IndexFunc(activity, func(dir string) bool { return strings.HasPrefix(name, dir) })
		if a.what == "a shipped plugin" && folder >= 0 {
			name = activity[folder]
		} else if !a.example.Match(read(t, name)) {
			continue
		}
		if !slices.Contains(touched, name) {
			touched = append(touched, name)
		}
	}
	slices.Sort(touched)
	return touched
}

// sources are the files in Go and of the protocol that people write, but for those that
// only tests use, and examples.
func sources(t *testing.T) (names []string) {
	t.Helper()
	for _, dir := range []string{"core", "ent/schema", "pluginsdk", "plugins", "proto"} {
		names = append(names, files(t, dir)...)
	}
	return slices.DeleteFunc(names, func(name string) bool {
		return strings.HasPrefix(name, "core/coretest/") || strings.HasPrefix(name, "plugins/examples/") ||
			strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, ".pb.go") || strings.HasSuffix(name, "_templ.go") ||
			!strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, ".proto")
	})
}

// files are all files below a directory, but for test data and what others have written.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if entry.Name() == "testdata" || entry.Name() == "node_modules" {
				return filepath.SkipDir
			}
			return nil
		}
		name, err := filepath.Rel(root, path)
		names = append(names, filepath.ToSlash(name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// listed are the files in the documents' list of an addition.
func listed(t *testing.T, what string) (names []string) {
	t.Helper()
	_, list, found := strings.Cut(string(read(t, "docs/architecture.md")), "\n**"+strings.ToUpper(what[:1])+what[1:]+"**")
	if !found {
		t.Fatalf("docs/architecture.md has no list of what %s touches", what)
	}
	_, list, _ = strings.Cut(list, "\n\n")
	list, _, _ = strings.Cut(list, "\n\n")
	for _, row := range regexp.MustCompile("(?m)^- `([^`]+)`").FindAllStringSubmatch(list, -1) {
		names = append(names, row[1])
	}
	slices.Sort(names)
	return names
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// The versions of the Claude CLI stand in one file. What the tests install is pinned to
// them, with checksums: otherwise Harness would be verified with another one than it says.
func TestThePinnedCLIsAreThoseThatHarnessIsVerifiedWith(t *testing.T) {
	const name = "@anthropic-ai/claude-code"
	said := strings.Fields(string(read(t, "core/invoker/verified.txt")))
	if len(said) != 4 || said[0] != "oldest" || said[2] != "newest" {
		t.Fatalf("core/invoker/verified.txt has %q", said)
	}
	for n := 0; n < len(said); n += 2 {
		which, version := said[n], said[n+1]
		var pins struct {
			Dependencies map[string]string
		}
		var lock struct {
			Packages map[string]struct {
				Version, Integrity string
				Dependencies       map[string]string
			}
		}
		for file, into := range map[string]any{"package.json": &pins, "package-lock.json": &lock} {
			if err := json.Unmarshal(read(t, ".ci/claude/"+which+"/"+file), into); err != nil {
				t.Fatalf("%s of the %s: %v", file, which, err)
			}
		}
		if pins.Dependencies[name] != version || lock.Packages[""].Dependencies[name] != version {
			t.Errorf("the %s pinned CLI is %s, verified is %s", which, pins.Dependencies[name], version)
		}
		for path, locked := range lock.Packages {
			if path != "" && (locked.Version != version || !strings.HasPrefix(locked.Integrity, "sha512-")) {
				t.Errorf("%s: %s is locked to %s with the checksum %q", which, path, locked.Version, locked.Integrity)
			}
		}
		if len(lock.Packages) < 3 {
			t.Errorf("%s: only %d packages are locked", which, len(lock.Packages))
		}
	}
}
