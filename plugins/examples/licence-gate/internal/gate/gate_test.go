package gate

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// repository is a git repository with a commit, as the plugin worktree shows it.
type repository struct {
	*testing.T
	dir, base string
}

func newRepository(t *testing.T) repository {
	t.Helper()
	r := repository{T: t, dir: t.TempDir()}
	r.git("init", "-q")
	r.write("LICENSE", "MIT")
	r.write("main.go", "package main")
	r.git("add", "-A")
	r.git("-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "first")
	r.base = r.git("rev-parse", "HEAD")
	return r
}

func (r repository) git(arguments ...string) string {
	r.Helper()
	command := exec.CommandContext(r.Context(), "git", arguments...)
	command.Dir = r.dir
	said, err := command.CombinedOutput()
	if err != nil {
		r.Fatalf("git %s: %v: %s", strings.Join(arguments, " "), err, said)
	}
	return strings.TrimSpace(string(said))
}

func (r repository) write(file, content string) {
	r.Helper()
	file = filepath.Join(r.dir, file)
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		r.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		r.Fatal(err)
	}
}

// complete asks the gate about what is in the directory now.
func (r repository) complete(evidence ...pluginsdk.Evidence) (*pluginsdk.OnTaskCompleteResponse, error) {
	r.Helper()
	plugin := plugintest.NewHost().Serve(r.T, Plugin{})
	return plugin.OnTaskComplete(r.Context(), &pluginsdk.OnTaskCompleteRequest{Task: pluginsdk.Task{ID: "t", Cwd: r.dir}, Evidence: evidence})
}

func (r repository) shown() []pluginsdk.Evidence {
	r.Helper()
	r.git("add", "-A")
	return []pluginsdk.Evidence{{Kind: "tree", Tree: r.git("write-tree")}, {Kind: "base", Tree: r.base}}
}

// A licence that a task changes, moves or removes must not be merged; of other work the
// gate has no opinion, or work that nobody has looked at would count as looked at.
func TestNoTaskTouchesALicence(t *testing.T) {
	for name, row := range map[string]struct {
		change func(repository)
		names  string // the file; empty: no opinion
	}{
		"nothing":         {change: func(repository) {}},
		"another file":    {change: func(r repository) { r.write("main.go", "package other") }},
		"its text":        {change: func(r repository) { r.write("LICENSE", "mine") }, names: "LICENSE"},
		"it is gone":      {change: func(r repository) { r.git("rm", "-q", "LICENSE") }, names: "LICENSE"},
		"it is elsewhere": {change: func(r repository) { r.git("mv", "LICENSE", "a.txt") }, names: "LICENSE"},
		"another one":     {change: func(r repository) { r.write("lib/x y/Licence.md", "mine") }, names: "lib/x y/Licence.md"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t)
			row.change(r)
			answer, err := r.complete(r.shown()...)
			if err != nil {
				t.Fatal(err)
			}
			if rejected := answer.Verdict == pluginsdk.VerdictReject; rejected != (row.names != "") || !rejected && answer.Verdict != "" || !strings.Contains(answer.Feedback, row.names) {
				t.Errorf("it says %q: %s", answer.Verdict, answer.Feedback)
			}
		})
	}
}

// What the gate cannot see it must not let pass.
func TestWithoutEvidenceThereIsNoVerdict(t *testing.T) {
	r := newRepository(t)
	r.write("LICENSE", "mine")
	shown := r.shown()
	for name, evidence := range map[string][]pluginsdk.Evidence{
		"none": nil, "no base": shown[:1], "no tree": shown[1:],
		"an option": {shown[1], {Kind: "tree", Tree: "--output=x"}}, "not there": {shown[1], {Kind: "tree", Tree: strings.Repeat("0", 40)}},
	} {
		if answer, err := r.complete(evidence...); err == nil {
			t.Errorf("%s: %+v", name, answer)
		}
	}
	for _, task := range []pluginsdk.Task{{}, {Cwd: t.TempDir(), OwnDirectory: true}} {
		plugin := plugintest.NewHost().Serve(t, Plugin{})
		if answer, err := plugin.OnTaskComplete(t.Context(), &pluginsdk.OnTaskCompleteRequest{Task: task}); err != nil || answer != nil && answer.Verdict != "" {
			t.Errorf("a task that merges nothing: %+v, %v", answer, err)
		}
	}
}

// What an operator reads before the installation must be what the plugin says.
func TestPluginJSONIsTheManifest(t *testing.T) {
	raw, err := os.ReadFile("../../plugin.json")
	if err != nil {
		t.Fatal(err)
	}
	said, err := json.Marshal(plugintest.NewHost().Serve(t, Plugin{}).Manifest())
	if err != nil {
		t.Fatal(err)
	}
	var written, manifest map[string]any
	if err := json.Unmarshal(raw, &written); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(said, &manifest); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(written, manifest) {
		t.Errorf("plugin.json says\n%v, the plugin\n%v; run: go run . --describe > plugin.json", written, manifest)
	}
}
