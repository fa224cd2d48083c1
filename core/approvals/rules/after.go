package rules

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// What may stand behind the words of an operator's rule. Of the programs in behind only the
// options that are listed are let through without a question; every other program is the
// operator's to judge, who allowed it with any words.

// extra is what may follow the words of a rule.
type extra struct {
	one     *regexp.Regexp            // options of one word
	two     map[string]*regexp.Regexp // options with a value behind them
	operand *regexp.Regexp            // nil: any
}

var (
	anyValue = whole(`[\s\S]*`)
	noFile   = whole(`[^@][\s\S]*`)
	notExt   = whole(`(?:[^:]|:[^:])*:?`) // no ext::, by which git runs a program
)

// values are options that have any value behind them.
func values(names string) map[string]*regexp.Regexp {
	two := make(map[string]*regexp.Regexp)
	for _, name := range strings.Fields(names) {
		two[name] = anyValue
	}
	return two
}

// with returns options, and one more with its value.
func with(two map[string]*regexp.Regexp, name string, value *regexp.Regexp) map[string]*regexp.Regexp {
	two = maps.Clone(two)
	two[name] = value
	return two
}

// scripts are programs that run what package.json says.
var scripts = extra{one: whole(`--silent|-s|--if-present|--workspaces|-ws|-r|--recursive|--`), operand: whole(`[A-Za-z0-9_][A-Za-z0-9_:.@/-]*`)}

// behind has the programs whose words can write, run or send more than a prefix says: by
// program and subcommand, or under "" for all others. What the table of commands has is let
// through as well. A subcommand that neither has is asked about.
var behind = map[string]map[string]extra{
	"npm": {"": scripts}, "pnpm": {"": scripts}, "yarn": {"": scripts},
	"git": {
		"log": gitShows, "show": gitShows, "diff": gitShows, "status": {one: whole(`-.+`)}, "blame": {one: whole(`-[A-Za-z0-9,+]+|--(?:date|porcelain|line-porcelain|since).*`)},
		"add":    {one: whole(`-[AunfvN]+|--(?:all|update|force|verbose|dry-run|intent-to-add)`)},
		"commit": {one: whole(`-[aqvs]+|-m[\s\S]+|-am|--(?:all|amend|no-edit|quiet|signoff|allow-empty)|--message=[\s\S]+`), two: values("-m -am --message")},
		"push":   {one: whole(`-u|-q|-v|--set-upstream|--tags|--quiet|--dry-run`), operand: notExt},
		"fetch":  {one: whole(`-[pqvat]+|--(?:all|tags|prune|quiet|depth=[0-9]+)`), operand: notExt},
		"pull":   {one: whole(`-q|-v|--(?:rebase|ff-only|no-rebase|quiet|prune)`), operand: notExt},
		"merge":  {one: whole(`--(?:no-ff|ff-only|ff|no-edit|abort|continue|squash)`)},
		"rebase": {one: whole(`--(?:abort|continue|skip|autostash|onto)`)},
		"branch": {one: whole(`-[aravdDmMf]+|--(?:all|list|show-current|delete)`)}, "tag": {one: whole(`-[adlm]+|--list|--delete`), two: values("-m")},
		"checkout": {one: whole(`-[bBqf]+|--|--(?:quiet|ours|theirs|detach)`)}, "switch": {one: whole(`-[cCqd]+|--(?:create|detach)`)},
		"restore": {one: whole(`-[SW]+|--|--(?:staged|worktree)|--source=.+`), two: values("-s --source")},
		"reset":   {one: whole(`-q|--|--(?:hard|soft|mixed)`)}, "stash": {one: whole(`-[uaqm]+|--include-untracked`)}, "rm": {one: whole(`-[rfqn]+|--cached|--`)}, "mv": {one: whole(`-[fkv]+`)},
		"remote": {one: whole(`-v`), operand: notExt}, "ls-files": {one: whole(`-[a-z]+|--[a-z-]+`)}, "rev-parse": {one: whole(`--[a-z-]+(?:=[0-9]+)?`)},
		"grep": {one: whole(`-[abcEFGhHiIlLnopPqrvwz0-9ABC]+|--|--(?:cached|untracked|count|line-number|ignore-case)`), two: values("-e -A -B -C -m")},
	},
	"find": {"": {one: whole(`-(?:[HLP]|a|o|and|or|not|print|print0|ls|prune|quit|empty|depth|xdev|mount|daystart|true|false|readable|writable|executable)`),
		two: values("-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -size -mtime -mmin -atime -amin -ctime -cmin -newer -perm -user -group -uid -gid -maxdepth -mindepth -printf -samefile -links -inum -lname")}},
	"make":  {"": {one: whole(`-[jknsBiq0-9]+|--(?:jobs|keep-going|dry-run|silent|always-make)(?:=[0-9]+)?`), two: map[string]*regexp.Regexp{"-j": number}, operand: whole(`[^=]*`)}},
	"gmake": {"": {one: whole(`-[jknsBiq0-9]+`), operand: whole(`[^=]*`)}},
	"go": {
		"test": goWords, "build": goBuilds, "vet": goWords, "list": {one: whole(`-(?:m|json|deps|test|e|u|versions)|-f=.+`), two: values("-f -tags")}, "fmt": {one: whole(`-[nx]`)},
		"doc": {one: whole(`-(?:all|c|cmd|short|src|u)`)}, "version": {one: whole(`-[mv]`)}, "env": {operand: whole(`[A-Z0-9_]+`)}, "mod": {one: whole(`-[ve]`), operand: whole(`tidy|verify|download|graph|why|[a-z0-9./@_-]+`)},
	},
	"cargo": {"": {one: whole(cargoOptions + `|--doc|--no-run|--no-fail-fast`), two: cargoValues, operand: whole(`[A-Za-z0-9_][A-Za-z0-9_:-]*`)}},
	"rg": {"": {one: whole(`-[aciFHIlnNoPpqsSuUvwxLz.]*[aciFHIlnNoPpqsSuUvwx.]|-[ABCmMgtT].+|--(?:glob|iglob|type|type-not|max-count|max-depth|max-columns|context|sort|color)=.+|` +
		`--(?:files|hidden|no-ignore|no-heading|heading|count|json|stats|multiline|ignore-case|smart-case|fixed-strings|word-regexp|line-number|no-line-number|files-with-matches|only-matching|follow)|--`),
		two: values("-e -g --glob -t -T --type -A -B -C -m")}},
	"sort":  {"": {one: whole(`-[bcdfghiMnRrsuVz]+|-k.+|-t.`), two: values("-k -t")}},
	"uniq":  {"": {one: whole(`-[cdDuiz]+|-[fsw][0-9]+`)}},
	"tar":   {"": {one: whole(`-?[txvzjJf]+|--(?:list|gzip|verbose)|--file=.+`)}},
	"rsync": {"": {one: whole(`-[avznrtlpgoDhPiucx]+|--(?:archive|dry-run|verbose|progress|stats|delete|checksum)|--(?:exclude|include)=.+`), operand: whole(`[^:]*`)}},
	"sed":   {"": {one: whole(`-[nErsz]+|--(?:quiet|silent|regexp-extended)`), two: map[string]*regexp.Regexp{"-e": sedScript}}},
	"awk":   {"": awkWords}, "gawk": {"": awkWords}, "mawk": {"": awkWords},
	"curl": {"": {one: whole(`-[sSfLiIvkG46#]+|--(?:silent|show-error|fail|location|include|head|verbose|compressed|get)|-X[A-Z]+`),
		two:     map[string]*regexp.Regexp{"-X": name, "--request": name, "-H": noFile, "--header": noFile, "-m": number, "--max-time": number},
		operand: whole(`https?://[^{}]+|[^:/{}]+(?::[0-9]+)?(?:/[^{}]*)?`)}},
	"wget": {"": {one: whole(`-q|-nv|-S|--spider|-qO-|-O-`), two: map[string]*regexp.Regexp{"-O": whole(`-`)}}},
	"ssh":  {"": {one: whole(`-[46aCkNnqTtvxA]+`), two: map[string]*regexp.Regexp{"-p": number, "-l": name}}},
	"scp":  {"": {one: whole(`-[346BCpqrv]+`), two: map[string]*regexp.Regexp{"-P": number}}},
	"tree": {"": {one: whole(`-[adfisupghDCFtrcvL0-9]+`), two: map[string]*regexp.Regexp{"-L": number, "-I": anyValue, "-P": anyValue}}},
}

var (
	gitShows = extra{one: whole(gitLogOptions + `|--|--cached|--staged|--merge-base|--exit-code|--quiet|--(?:pretty|format)=[A-Za-z]+|--name-only|--left-right|--cherry-pick|--no-pager|--stat=[0-9,]+|--color(?:=always)?|--format=.*`), two: gitValues}
	goWords  = extra{one: whole(`-(?:v|x|n|a|race|short|failfast|json|cover|benchmem|trimpath|msan|asan)|-(?:p|count|cpu|parallel|timeout|shuffle|vet|run|skip|bench|tags|benchtime|fuzz|fuzztime|covermode)=.+`),
		two: values("-run -skip -bench -count -p -parallel -timeout -tags -benchtime -shuffle -fuzz -fuzztime -covermode -cpu")}
	goBuilds = extra{one: goWords.one, two: with(goWords.two, "-o", whole(`/dev/null|(?:\./)?(?:bin|build|dist|out|target)/[A-Za-z0-9_][A-Za-z0-9_.-]*`))}
	// A script of sed that prints, deletes or replaces, and neither writes, reads nor runs.
	sedScript = whole(`(?:[0-9$]+(?:,\+?[0-9$]+)?|/[^/]*/(?:,/[^/]*/)?)?[pdq=]|s([/|,#])[^\n;]*`)
	awkWords  = extra{one: whole(`-F.+`), two: values("-F")}
)

// afterPrefix returns the objection to the words of a command that a rule allows by its first
// words, of which there are given.
func afterPrefix(words []string, given int) string {
	subcommands, ok := behind[filepath.Base(words[0])]
	if !ok || given >= len(words) {
		return ""
	}
	spec, at := subcommands[""], 1
	if _, general := subcommands[""]; !general {
		if len(words) < 2 {
			return ""
		}
		if spec, ok = subcommands[words[1]]; !ok {
			return "A rule allows " + shown(strings.Join(words[:given], " ")) + "; what " + shown(words[1]) + " can do is not known to be harmless."
		}
		at = 2
	}
	if word := spec.refuses(filepath.Base(words[0]), words[max(at, given):]); word != "" {
		return "A rule allows " + shown(strings.Join(words[:given], " ")) + "; what " + shown(word) + " makes of it is not known to be harmless."
	}
	return ""
}

// refuses returns the first word that is not known to be harmless.
func (e extra) refuses(program string, words []string) string {
	operands := 0
	for i := 0; i < len(words); i++ {
		word := words[i]
		shape, two := e.two[word]
		switch {
		case strings.HasPrefix(word, "-") && len(word) > 1 && e.one != nil && e.one.MatchString(word):
		case strings.HasPrefix(word, "-") && two:
			if i++; i == len(words) || !shape.MatchString(words[i]) || program == "sed" && !harmlessScript(program, words[i]) {
				return word
			}
			if word == "-e" { // the script
				operands++
			}
		case strings.HasPrefix(word, "-") && len(word) > 1:
			return word
		case e.operand != nil && !e.operand.MatchString(word):
			return word
		default:
			if operands == 0 && !harmlessScript(program, word) || operands > 0 && program == "uniq" {
				return word
			}
			operands++
		}
	}
	return ""
}

// sedFlags matches what sed would write to or run, behind the last separator of a replacement.
var sedFlags = regexp.MustCompile(`[^gpIi0-9]`)

// harmlessScript reports whether the first operand of a program that takes a script writes,
// reads and runs nothing.
func harmlessScript(program, script string) bool {
	switch program {
	case "sed":
		if !sedScript.MatchString(script) {
			return false
		}
		if script[0] != 's' {
			return true
		}
		parts := strings.Split(script, script[1:2])
		return len(parts) == 4 && !sedFlags.MatchString(parts[3])
	case "awk", "gawk", "mawk":
		return !strings.ContainsAny(script, "|>@") && !strings.Contains(script, "system") && !strings.Contains(script, "getline")
	}
	return true
}

// fileObjection returns the objection to a call of a file tool that a rule of an operator's
// would allow by a path that differs from the call's in capitals. The CLI does not tell them
// apart; the file system does, unless both are the same file.
func fileObjection(c Command) string {
	fields, ok := read(c.Call)
	path, isText := fields[fileTools[c.Tool].path].(string)
	if !ok || !isText {
		return ""
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.Cwd, path)
	}
	folds := ""
	for _, rule := range c.Rules {
		pattern, ok := pathOf(rule, c.Cwd)
		if !ok {
			if rule == c.Tool {
				return ""
			}
			continue
		}
		switch patternMeans(pattern, filepath.Clean(path)) {
		case meansExactly:
			return ""
		case meansFolded:
			folds = rule
		}
	}
	if folds == "" {
		return ""
	}
	return "The rule " + shown(folds) + " is for a path with other capitals than " + shown(path) + "."
}

// pathOf returns the path of a rule for files as an absolute pattern.
func pathOf(rule, cwd string) (string, bool) {
	name, specifier, ok := strings.Cut(strings.TrimSuffix(rule, ")"), "(")
	if !ok || !slices.Contains([]string{"Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "Glob", "Grep"}, name) {
		return "", false
	}
	if absolute, ok := strings.CutPrefix(specifier, "//"); ok {
		return "/" + absolute, true
	}
	if rest, ok := strings.CutPrefix(specifier, "~/"); ok {
		home, err := os.UserHomeDir()
		return filepath.Join(home, rest), err == nil
	}
	return filepath.Join(cwd, specifier), true
}

// How a rule's pattern means a path.
type meaning int

const (
	meansOther   meaning = iota // another path, as far as its names tell
	meansExactly                // its names are in the path as they are written
	meansFolded                 // its names are in the path only when capitals do not count
)

// patternMeans compares the names of a pattern that have no wildcards with those of a path,
// in their order.
func patternMeans(pattern, path string) meaning {
	real := "/"
	at, exact, wild := 0, true, false
	names := parts(path)
	for _, want := range parts(pattern) {
		if strings.ContainsAny(want, "*?[") {
			wild = true
			continue
		}
		found := -1
		for i := at; i < len(names) && (wild || i == at); i++ {
			if folded(names[i]) == folded(want) {
				found = i
				break
			}
		}
		if found < 0 {
			return meansOther
		}
		if names[found] != want {
			exact = exact && !wild && sameFile(filepath.Join(real, want), filepath.Join(real, names[found]))
		}
		at, real = found+1, filepath.Join(real, want)
	}
	if exact {
		return meansExactly
	}
	return meansFolded
}

func sameFile(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// Looked returns the names of the tools whose calls have to be looked at under these rules.
func Looked(rules []string) []string {
	tools := []string{"Bash"}
	if slices.ContainsFunc(rules, func(rule string) bool { _, ok := pathOf(rule, "/"); return ok }) {
		tools = append(tools, slices.Sorted(maps.Keys(fileTools))...)
	}
	return tools
}
