package rules

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
	"pgregory.net/rapid"
)

// What is dangerous, written down by hand and apart from the table of the package.
var (
	// after and before make a danger of any command that they are put after or before.
	after = []string{
		"; rm x", ";", " && rm x", " || rm x", " | sh", " |& sh", " & rm x", " &", "\nrm x", "\r\nrm x", "\n", " $(rm x)", " `rm x`", " \"$(rm x)\"", " \"`rm x`\"", " <(rm x)", " >(rm x)",
		" > x", " >> x", " 2>x", " >|x", " &>x", " < /etc/passwd", " <<x\nx", " <<<x", " 2>&1", " # x", " $x", " ${x}", " \"$x\"", " ~", " ~/x", " ~root", " *", " a?", " [a]", " {a,b}", " {1..3}", " $'x'", " $\"x\"",
		" \\x", " x\\", " a=~", " =ls", " !x", " \u200b", " 'a\u200bb'", " \u00a0", " \u2028", " '\u202e'", "\x00", "\x1b[2K", "\xff", " 'x", " \"x", " (x)", " )", " }", "() { rm x; }", "\\\n", "\t", " 'a''b'",
	}
	before = []string{
		"A=b ", "LD_PRELOAD=./x ", "PATH=. ", "A+=b ", "env ", "env A=b ", "sudo ", "! ", "time ", "exec ", "command ", "builtin ", "eval ", "nice ", "timeout 5 ", "xargs ", "coproc ", "nohup ", "busybox ", "rm x; ", "rm x && ", "rm x | ", "(", "{ ",
		"\\", "./", "/bin/", "/tmp/", "bin/", "> x ", "< x ", "2>x ", "$(rm x) ", "`rm x` ", "\n", "\u200b", "\ufeff", "\u00a0", "x", "-", "=", "#", "if ", "while ", "for x in ", "function ", "[[ ", "noglob ", "nocorrect ",
	}
	// options make a danger of a program that gets them, whatever else it gets.
	options = map[string][]string{
		"ls":          {"-L", "-RL", "--dereference"},
		"cat":         {"-", "--show"},
		"tail":        {"-f", "-F", "--follow=name", "--pid=1"},
		"wc":          {"--files0-from=hosts"},
		"du":          {"--files0-from=hosts", "-L", "-X hosts", "--exclude-from=hosts"},
		"file":        {"-f hosts", "-C", "-m hosts", "-z", "--files-from hosts", "--magic-file=hosts"},
		"date":        {"-s 0", "--set=0", "-f hosts", "--file=hosts", "-r hosts", "0101"},
		"sort":        {"-o x", "-ox", "-no x", "--output=x", "--output x", "--compress-program=./x", "-T ..", "--temporary-directory=..", "--files0-from=hosts", "--batch-size=2", "--random-source=hosts"},
		"diff":        {"-l", "-r", "--paginate", "--recursive", "-X hosts", "--from-file=hosts", "--to-file=hosts", "-ul"},
		"grep":        {"-f hosts", "-fhosts", "-rf hosts", "-R", "-nR", "--file=hosts", "--dereference-recursive", "-D read", "--devices=read", "--exclude-from=hosts", "-S", "-z"},
		"rg":          {"--pre ./x", "--pre=./x", "--hostname-bin=./x", "-z", "-nz", "--search-zip", "-L", "--follow", "-f hosts", "-fhosts", "--file=hosts", "--ignore-file=hosts", "--files", "--type-add=x:y", "--config=x"},
		"git":         {"--output=x", "--output x", "--ext-diff", "--textconv", "--no-index", "-O hosts", "-Ohosts", "--show-signature", "--format=%GG", "--contents=hosts", "-X hosts", "--exclude-from=hosts", "--pathspec-from-file=hosts", "-p -- ../beside", "--interactive", "--edit", "--amend", "-F hosts", "--file=hosts", "-D main", "--delete main", "--edit-description", "--chmod=+x", "--git-path ../x", "--exec=x", "--upload-pack=x", "--stdin"},
		"go":          {"-exec ./x", "-exec=./x", "--exec=./x", "-toolexec ./x", "-toolexec=./x", "-vettool=./x", "-o x", "-o=x", "-C ..", "-overlay=x", "-modfile=x", "-mod=mod", "-ldflags=-extld=./x", "-gcflags=x", "-args", "-c", "-coverprofile=x", "-cpuprofile=x", "-outputdir=..", "-pkgdir=..", "-fuzz=F", "-w"},
		"gofmt":       {"-w", "-cpuprofile=x", "-lw", "--w"},
		"make":        {"SHELL=./x", "'SHELL=./x'", "-f hosts", "-C ..", "--eval=x", "--eval x", "-e", "-I ..", "--makefile=x", "--file=x", "--directory=..", "CC=x"},
		"npm":         {"--script-shell=./x", "--prefix ..", "--prefix=..", "-- x", "--node-options=x", "-C ..", "--userconfig=x"},
		"cargo":       {"--config x", "--config=x", "--manifest-path=../x", "--target-dir=..", "-Z x", "-Zx", "--fix", "--out-dir=..", "--artifact-dir=..", "-C ..", "--", "--lockfile-path=x"},
		"pytest":      {"-p x", "-px", "-c x", "-o a=b", "--basetemp=..", "--rootdir=..", "--junitxml=x", "--pdbcls=x:y", "--confcutdir=..", "@hosts", "--override-ini=x=y", "--pastebin=all", "--log-file=x", "--debug=x", "--import-mode=x"},
		"whoami":      {"x"},
		"pwd":         {"x"},
		"which":       {"./x", "/bin/x"},
		"echo":        {"-e", "-ne"},
		"stat":        {"--printf=x -x"},
		"head":        {"-n x", "--bytes=x"},
		"cmp":         {"--ignore-initial=x", "-i 5"},
		"nl":          {"-d hosts", "--body-numbering=x"},
		"cut":         {"--output-delimiter=x"},
		"git commit":  {"-a", "--no-verify", "-n", "main.go"},
		"git branch":  {"x", "-d", "-m", "-M", "-c", "-f", "-u x", "--set-upstream-to=x"},
		"git add":     {"-p", "-i", "-e", "-f", "--force"},
		"go version":  {"hosts", "main.go"},
		"git blame":   {"-S hosts", "-S /etc"},
		"git log":     {"--exec", "--output-indicator-new=x"},
		"cargo build": {"main"},
	}
	// elsewhere are operands that lead out of the project, for programs that take paths.
	elsewhere = []string{
		"/etc/passwd", "/", "..", "../beside/secret.txt", "sub/../../beside/secret.txt", "./../beside", "out", "out/secret.txt", "'out/secret.txt'", "o'ut'/secret.txt", "hosts", "dangling", "dangling/x", "CWD/..", "CWD/out/x", "'~/x'", "''", "'ma\u0301in'", "/proc/self/environ", "sub/../main.go", "'sub/ou\u200bt'", "//etc/passwd", "/./etc/passwd",
	}
	// reads are the programs that take paths.
	reads = []string{"ls", "cat", "head", "tail", "wc", "stat", "file", "du", "df", "diff", "cmp", "grep", "rg", "sort", "cut", "nl", "git status", "git log", "git show", "git diff", "git blame", "git ls-files", "git add", "go build", "go test", "go vet", "go list", "gofmt", "pytest"}
	// lookAlikes are letters that people take for others.
	lookAlikes = map[rune]string{'a': "аａ", 'c': "сⅽ", 'e': "её", 'g': "ɡ", 'i': "іı", 'o': "оο", 'p': "рρ", 's': "ѕ", 't': "ｔ", 'l': "ⅼI", 'h': "һ", 'm': "ｍ", 'k': "к", 'n': "ո", 'd': "ԁ", 'r': "г", 'w': "ԝ", 'f': "ｆ", 'u': "ս", 'y': "у", 'b': "ƅ", 'q': "ԛ"}
)

// offersOfHarmless returns all rules that are offered for the harmless commands, but for
// those that are for exactly one call.
func offersOfHarmless(t *testing.T, cwd string) []pluginsdk.ApprovalRule {
	t.Helper()
	var rules []pluginsdk.ApprovalRule
	for _, command := range harmless {
		for _, rule := range Offers(bash(cwd, at(cwd, command))) {
			if rule.Kind != KindCall {
				rules = append(rules, rule)
			}
		}
	}
	return rules
}

// firstWords are the program and the subcommand of a command.
func firstWords(command string) (program, both string) {
	words := strings.Fields(command)
	if len(words) == 1 {
		return words[0], words[0]
	}
	return words[0], words[0] + " " + words[1]
}

// twisted draws a harmless command and makes a danger of it.
func twisted(t *rapid.T, cwd string) (harmlessOne, danger string) {
	base := at(cwd, rapid.SampledFrom(harmless).Draw(t, "harmless"))
	program, both := firstWords(base)
	words := regexp.MustCompile(`(?:[^ '"]|'[^']*'|"[^"]*")+`).FindAllString(base, -1)
	// put inserts words somewhere after the first ones, not behind a `--`.
	put := func(more string) string {
		last := len(words)
		if end := slices.Index(words, "--"); end >= 0 {
			last = end
		}
		first := 1
		if both == base || strings.Contains("git go npm cargo", program) {
			first = min(2, last)
		}
		place := rapid.IntRange(first, last).Draw(t, "place")
		return strings.Join(slices.Insert(slices.Clone(words), place, more), " ")
	}
	switch rapid.IntRange(0, 6).Draw(t, "twist") {
	case 0:
		return base, base + rapid.SampledFrom(after).Draw(t, "after")
	case 1:
		return base, rapid.SampledFrom(before).Draw(t, "before") + base
	case 2: // an option, perhaps only the beginning of its name
		dangers := slices.Concat(options[program], options[both])
		if len(dangers) == 0 {
			return base, base + ";x"
		}
		option := rapid.SampledFrom(dangers).Draw(t, "option")
		if name, value, ok := strings.Cut(option, "="); ok && strings.HasPrefix(name, "--") && len(name) > 6 {
			short := rapid.IntRange(6, len(name)).Draw(t, "short")
			if name[:short] != "--exclude" { // which grep has, and means what it says
				option = name[:short] + "=" + value
			}
		}
		return base, put(option)
	case 3: // a path
		if !slices.Contains(reads, program) && !slices.Contains(reads, both) {
			return base, base + " `x`"
		}
		return base, base + " " + strings.ReplaceAll(rapid.SampledFrom(elsewhere).Draw(t, "path"), cwdMark, cwd)
	case 4: // a name that looks alike, quoted or not
		letters := []rune(program)
		place := rapid.IntRange(0, len(letters)-1).Draw(t, "letter")
		alike := rapid.SampledFrom([]rune(lookAlikes[letters[place]]+strings.ToUpper(string(letters[place])))).Draw(t, "alike")
		letters[place] = alike
		quote := rapid.SampledFrom([]string{"", "'", `"`}).Draw(t, "quote")
		return base, quote + string(letters) + quote + base[len(program):]
	case 5: // an expansion in the middle, but in single quotes, where it is text
		place := rapid.IntRange(0, len(base)).Draw(t, "place")
		if strings.Count(base[:place], "'")%2 == 1 {
			place = len(base)
		}
		return base, base[:place] + rapid.SampledFrom([]string{"\\", "$(x)", "`x`", "${x}", "$x", "$((1))"}).Draw(t, "expansion") + base[place:]
	default: // a character that is not seen, or the whole in quotes
		if rapid.Bool().Draw(t, "quoted") && len(words) > 1 {
			return base, `"` + strings.NewReplacer(`"`, "", "'", "").Replace(base) + `"`
		}
		place := rapid.IntRange(0, len(base)).Draw(t, "place")
		return base, base[:place] + rapid.SampledFrom([]string{"\u200b", "\u200d", "\u2060", "\ufeff", "\u202e", "\u00ad", "\x00", "\x08", "\n", "\r", "\t", "\v", "\u0085", "\u2028", "\u3000", "\xff"}).Draw(t, "unseen") + base[place:]
	}
}

// Whatever a harmless command is twisted into, no rule that was offered for any harmless
// command allows it. A person would otherwise have allowed what they never saw.
func TestTwistedCommandsAreAsked(t *testing.T) {
	cwd := newTree(t)
	rules := offersOfHarmless(t, cwd)
	check := func(t *rapid.T) {
		base, danger := twisted(t, cwd)
		use := bash(cwd, danger)
		if rule, ok := Find(rules, use); ok {
			t.Fatalf("%q is allowed by %s", danger, rule.Text)
		}
		if offered(KindCommand, use) {
			t.Fatalf("%q is offered by its first words", danger)
		}
		if Allows(offer(t, KindCall, bash(cwd, base)), use) {
			t.Fatalf("%q is taken for %q", danger, base)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			check(t)
		}
	})
}

// What a rule for first words allows, the real shell runs as that one program with those
// words, and nothing besides.
func TestAllowedCommandsRunAsRead(t *testing.T) {
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash to compare with")
	}
	cwd := newTree(t)
	stubs, log := t.TempDir(), filepath.Join(t.TempDir(), "log")
	for _, program := range []string{"git", "cat", "grep", "make", "rm", "sh"} {
		content := "#!/bin/sh\nprintf '%s\\0' \"${0##*/}\" \"$@\" END >>" + log + "\n"
		must(t, os.WriteFile(filepath.Join(stubs, program), []byte(content), 0o700))
	}
	piece := rapid.SampledFrom([]string{
		"git", "status", "log", "commit", "-m", "cat", "grep", "-e", "make", "rm", "sh", "x", "main.go", "sub/a.txt", "--", "-n", "'", "'a b'", "'$x'", "'$(rm x)'", "'`rm`'", "'a;b'", "'*'", `"`, `"a b"`, `"'"`, `'"'`, `"~"`, `"a"'b'c`, "\\", ";", "&", "|", ">", "<", "$", "$(", ")", "(", "`",
		"{", "}", "*", "?", "[", "]", "~", "!", "#", "=", "a=b", "%", "^", "HEAD~1", "HEAD^", "@", "+", ":", ",", "\n", "\t", "ü", "'ü'", "\u200b", "''", "a~", "=~", ":~", "5", "-5", "--oneline",
	})
	commands := rapid.Custom(func(t *rapid.T) string {
		start := rapid.SampledFrom([]string{"git log ", "cat ", "grep ", "grep -e x ", "git commit -m ", "make ", "", "git status "}).Draw(t, "start")
		glue := rapid.SampledFrom([]string{" ", " ", " ", ""})
		var line strings.Builder
		line.WriteString(start)
		for range rapid.IntRange(0, 5).Draw(t, "pieces") {
			line.WriteString(piece.Draw(t, "piece") + glue.Draw(t, "glue"))
		}
		return line.String()
	})
	ran := 0
	rapid.Check(t, func(t *rapid.T) {
		command := commands.Draw(t, "command")
		if !offered(KindCommand, bash(cwd, command)) {
			return
		}
		ran++
		read, _ := commandWords(command)
		before := listing(cwd)
		_ = os.Remove(log)
		process := exec.Command(shell, "-c", `eval "$1" </dev/null`, "-", command)
		process.Dir, process.Env = cwd, []string{"PATH=" + stubs, "HOME=" + filepath.Dir(cwd)}
		if output, err := process.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", command, err, output)
		}
		seen, _ := os.ReadFile(log)
		want := strings.Join(append(read, "END"), "\x00") + "\x00"
		if string(seen) != want {
			t.Fatalf("%q was read as %q and run as %q", command, read, seen)
		}
		if now := listing(cwd); !slices.Equal(now, before) {
			t.Fatalf("%q has changed the directory: %q", command, now)
		}
	})
	if ran == 0 {
		t.Error("no command was offered: the generator shows nothing")
	}
}

// listing returns the paths below a directory.
func listing(directory string) []string {
	var found []string
	_ = filepath.WalkDir(directory, func(path string, _ fs.DirEntry, _ error) error {
		found = append(found, path)
		return nil
	})
	return found
}

// What a rule for a directory allows to be written, the real file system puts there, and
// into no file that is kept from rules; whatever symlinks there are by then.
func TestAllowedWritesStayBelow(t *testing.T) {
	name := rapid.SampledFrom([]string{"sub", "inner", "out", "dangling", "hosts", ".git", "..", ".", "", "main.go", "Makefile", "makefile", "new", "-n", "CLAUDE.md", ".github", ".claude", "config", "link", "deep", "a.txt", "package.json", "~", "über"})
	// forbidden is the oracle's own list.
	forbidden := []string{".git", ".github", ".claude", "Makefile", "makefile", "CLAUDE.md", "package.json"}
	wrote := 0
	rapid.Check(t, func(r *rapid.T) {
		cwd := newTree(t)
		home := filepath.Dir(cwd)
		path := rapid.Custom(func(r *rapid.T) string {
			begin := rapid.SampledFrom([]string{"", "", "", cwd + "/", home + "/", "./", "/"}).Draw(r, "begin")
			return begin + strings.Join(rapid.SliceOfN(name, 1, 4).Draw(r, "names"), "/")
		})
		var rules []pluginsdk.ApprovalRule
		for _, first := range append(rapid.SliceOfN(path, 1, 3).Draw(r, "offered"), cwd+"/main.go") {
			for _, rule := range Offers(write(cwd, first)) {
				if !Allows(rule, write(cwd, first)) {
					r.Fatalf("%s does not allow its own call", rule.Text)
				}
				if rule.Kind == KindDirectory {
					rules = append(rules, rule)
				}
			}
		}
		// Meanwhile somebody moves links about.
		for _, link := range rapid.SliceOfN(rapid.SampledFrom([]string{"sub", "inner", "link", "sub/link", "sub/deep", "new"}), 0, 3).Draw(r, "links") {
			target := rapid.SampledFrom([]string{"..", "../beside", ".git", cwd, home, "Makefile", "nowhere", "sub", "link", "../new", cwd + "/.git", "main.go"}).Draw(r, "target")
			_ = os.RemoveAll(filepath.Join(cwd, link))
			_ = os.Symlink(target, filepath.Join(cwd, link))
		}
		use := path.Draw(r, "path")
		rule, ok := Find(rules, write(cwd, use))
		if !ok {
			return
		}
		// The file system's own opinion. Only what is below the home of this test is written.
		if !filepath.IsAbs(use) {
			use = cwd + "/" + use
		}
		if !strings.HasPrefix(use, home+"/") {
			if !strings.HasPrefix(filepath.Clean(use)+"/", rule.Value+"/") {
				r.Fatalf("%s is allowed by %s", use, rule.Text)
			}
			return // it was offered for a directory elsewhere, where the test writes nothing
		}
		_ = os.MkdirAll(filepath.Dir(use), 0o700)
		if os.WriteFile(use, []byte("NONCE"), 0o600) != nil {
			return // a directory, or below a file: nothing is written
		}
		wrote++
		found := ""
		_ = filepath.WalkDir(home, func(path string, entry fs.DirEntry, _ error) error {
			if content, err := os.ReadFile(path); entry.Type().IsRegular() && err == nil && string(content) == "NONCE" {
				found = path
			}
			return nil
		})
		relative, err := filepath.Rel(rule.Value, found)
		if found == "" || err != nil || relative == ".." || strings.HasPrefix(relative, "../") {
			r.Fatalf("%s is allowed by %s and has written %q", use, rule.Text, found)
		}
		inProject, _ := filepath.Rel(home, found)
		for _, part := range strings.Split(inProject, "/") {
			if slices.Contains(forbidden, part) {
				r.Fatalf("%s is allowed by %s and has written %s", use, rule.Text, found)
			}
		}
	})
	if wrote == 0 {
		t.Error("nothing was allowed: the generator shows nothing")
	}
}

// Of any call with any input, each offer allows it, and neither question panics.
func TestOffersAllowTheirOwnCall(t *testing.T) {
	cwd := newTree(t)
	values := rapid.OneOf(rapid.String().AsAny(), rapid.Int().AsAny(), rapid.Bool().AsAny(), rapid.Just[any](nil), rapid.SampledFrom([]any{"ls", "main.go", "https://example.com/x", "sub/**", []any{"a"}, map[string]any{"a": 1}, strings.Repeat("[", 100), "git log"}))
	fields := rapid.SampledFrom([]string{"command", "Command", "file_path", "path", "pattern", "url", "prompt", "content", "description", "timeout", "notebook_path", "query", "x"})
	tools := rapid.SampledFrom([]string{"Bash", "Write", "Edit", "Read", "Glob", "Grep", "WebFetch", "WebSearch", "mcp__a__b", "Skill", "NotebookEdit", "Agent", "", "mcp__", "Bäsh", "\x00"})
	rapid.Check(t, func(t *rapid.T) {
		input, err := json.Marshal(rapid.MapOfN(fields, values, 0, 4).Draw(t, "input"))
		if err != nil {
			t.Fatal(err)
		}
		if cut := rapid.IntRange(0, 20).Draw(t, "cut"); cut < len(input) && cut > 15 {
			input = input[:cut]
		}
		use := Call{Tool: tools.Draw(t, "tool"), Input: input, Cwd: rapid.SampledFrom([]string{cwd, cwd, "", "/", "relative", "\x00", cwd + "/main.go"}).Draw(t, "cwd"), Guarded: rapid.IntRange(0, 9).Draw(t, "guarded") == 0}
		for _, rule := range Offers(use) {
			if !Allows(rule, use) {
				t.Fatalf("%+v does not allow %s %s", rule, use.Tool, use.Input)
			}
		}
		wild := pluginsdk.ApprovalRule{Tool: use.Tool, Kind: rapid.SampledFrom([]string{KindCall, KindCommand, KindDirectory, KindHost, "", "x"}).Draw(t, "kind"), Value: rapid.SampledFrom([]string{"", "{}", "null", "*", "/", ".", "\x00", `{"words":[],"cwd":""}`}).Draw(t, "value")}
		if Allows(wild, use) {
			t.Fatalf("%+v allows %s %s", wild, use.Tool, use.Input)
		}
	})
}

// Huge and deep inputs are answered, with a digest and without a rule.
func TestHugeInputs(t *testing.T) {
	cwd := newTree(t)
	for _, use := range []Call{
		bash(cwd, strings.Repeat("a ", maxInput)), bash(cwd, "cat "+strings.Repeat("x/", maxCommand)), bash(cwd, strings.Repeat("(", maxCommand-1)), bash(cwd, strings.Repeat("$(", 2000)),
		bash(cwd, "cat "+strings.Repeat(`"`, 4001)), {Tool: "Bash", Cwd: cwd, Input: []byte(`{"command":` + strings.Repeat("[", 500_000))},
		{Tool: "Bash", Cwd: cwd, Input: []byte(`{"command":"ls","x":` + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000) + `}`)}, write(cwd, strings.Repeat("x", 1<<18)), fetch("https://" + strings.Repeat("a.", 1<<18) + "com"),
	} {
		if offered(KindCommand, use) || offered(KindDirectory, use) || offered(KindHost, use) || len(Digest(use)) != 64 {
			t.Errorf("%.60s is offered lastingly", use.Input)
		}
	}
}

// FuzzCommand looks for a command line that is allowed although it is more than literal
// words, by a reading of quotes that knows nothing else of shells.
func FuzzCommand(f *testing.F) {
	for _, command := range slices.Concat(harmless, dangerous) {
		f.Add(command)
	}
	cwd := f.TempDir()
	f.Setenv("HOME", filepath.Join(cwd, "home"))
	f.Fuzz(func(t *testing.T, command string) {
		use := bash(cwd, command)
		for _, rule := range Offers(use) {
			if !Allows(rule, use) {
				t.Fatalf("%+v does not allow %q", rule, command)
			}
		}
		if !offered(KindCommand, use) {
			return
		}
		var quote rune
		for _, r := range command {
			switch {
			case quote == 0 && (r == '\'' || r == '"'):
				quote = r
			case r == quote:
				quote = 0
			case quote == 0 && strings.ContainsRune(";&|<>()$`\\\n\r\t*?[]{}#!", r), quote == '"' && strings.ContainsRune("$`\\!", r), r < ' ', r == 0x7f:
				t.Fatalf("%q is offered by its first words", command)
			}
		}
		if quote != 0 {
			t.Fatalf("%q does not end its quotes", command)
		}
	})
}

// FuzzInput looks for an input that panics, or that does not allow what it is offered.
func FuzzInput(f *testing.F) {
	f.Add("Bash", `{"command":"ls"}`)
	f.Add("Write", `{"file_path":"x","content":"\ud800"}`)
	f.Add("WebFetch", `{"url":"https://example.com","prompt":""}`)
	f.Add("Glob", `{"pattern":"{a,b}/**"}`)
	cwd := f.TempDir()
	f.Fuzz(func(t *testing.T, tool, input string) {
		use := Call{Tool: tool, Input: []byte(input), Cwd: cwd}
		for _, rule := range Offers(use) {
			if !Allows(rule, use) {
				t.Fatalf("%+v does not allow %s", rule, input)
			}
		}
		if len(Digest(use)) != 64 {
			t.Fatal("no digest")
		}
	})
}
