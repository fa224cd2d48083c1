package checks

import (
	"path"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
)

// makeRule is the line of targets of a rule.
var makeRule = lazy.Regexp(`^([^\s#=:][^=:#]*?)[ \t]*::?((?:[^=:].*)?)$`)

// makefile counts what checks come to by a Makefile.
func (s *search) makefile(file, content string) {
	content = strings.ReplaceAll(content, "\\\n", " ")
	expand := expansion(content)
	s.words(path.Dir(file), s.ofMakefile(content, expand), false)
	s.upToDate(file, expand(content))
}

// ofMakefile is what of a Makefile checks come to: all but the rules of other targets, with its
// variables in place of their names.
func (s *search) ofMakefile(content string, expand func(string) string) string {
	var text strings.Builder
	counts := true
	for line := range strings.Lines(content) {
		if match := makeRule.FindStringSubmatch(strings.TrimRight(line, "\r\n")); match != nil {
			counts = false
			for _, target := range strings.Fields(match[1]) {
				counts = counts || s.goals[target] || strings.ContainsAny(target, "$%.") && !strings.HasPrefix(target, ".PHONY")
			}
			if counts {
				before, _, _ := strings.Cut(match[2], ";")
				for _, goal := range strings.Fields(expand(before)) {
					s.goals[goal] = true
				}
			}
		} else if !strings.HasPrefix(line, "\t") && strings.TrimSpace(line) != "" {
			text.WriteString(line) // what is no rule
			continue
		}
		if counts {
			text.WriteString(line)
		}
	}
	return expand(text.String())
}

// expansion returns how a Makefile's variables are put in place of their names in a text of it.
func expansion(content string) (expand func(text string) string) {
	values := make(map[string]string)
	for _, set := range variable.FindAllStringSubmatch(content, -1) {
		if len(values[set[1]]) < maxVariable {
			values[set[1]] += " " + set[2]
		}
	}
	left := 2 * maxFile
	return func(text string) string {
		for range 5 {
			if !strings.Contains(text, "$") {
				break
			}
			text = use.ReplaceAllStringFunc(text, func(used string) string {
				if value, ok := values[used[2:len(used)-1]]; ok && left > len(value) {
					left -= len(value)
					return strings.TrimSpace(value)
				}
				return used
			})
		}
		return text
	}
}

// upToDate counts what is new and has make run nothing, or something else, for what checks come to: what is called
// as a target that is not said to be phony, which is up to date then, and that from which a rule of a pattern makes
// anew what was there before.
func (s *search) upToDate(file, content string) {
	wanted := map[string]bool{path.Base(file): true} // make makes what it reads, too
	ruled, recipes, phony := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	var own []pattern
	var targets []string // of the rule whose recipe may follow
	for line := range strings.Lines(content) {
		line = strings.TrimRight(line, "\r\n")
		if include.MatchString(line) {
			for _, name := range strings.Fields(line)[1:] {
				wanted[name] = true
			}
		}
		if strings.HasPrefix(line, "\t") {
			for _, target := range targets {
				recipes[target] = true
			}
			targets = nil
		}
		match := makeRule.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		before, _, recipe := strings.Cut(match[2], ";")
		needs := strings.Fields(before)
		targets = strings.Fields(match[1])
		if slices.Contains(targets, ".PHONY") {
			if strings.Contains(before, "$") {
				return // any of them may be
			}
			for _, target := range needs {
				phony[target] = true
			}
			continue
		}
		for _, target := range targets {
			ruled[target], recipes[target] = true, recipes[target] || recipe
			for _, need := range append([]string{""}, needs...) {
				if strings.Contains(target, "%") && len(own) < maxPatterns {
					own = append(own, pattern{target, need})
				}
			}
		}
		for _, name := range slices.Concat(targets, needs) {
			wanted[name] = wanted[name] || s.goals[name]
		}
	}
	dir := path.Dir(file)
	for name := range wanted {
		at := path.Join(dir, name)
		if !wanted[name] || phony[name] || !slices.Contains(s.folded[strings.ToLower(at)], at) {
			continue
		}
		for _, rule := range slices.Concat(own, builtIn) {
			source, matches := rule.source(name)
			switch {
			case !matches:
			case s.before[at] && !recipes[name] && !s.before[path.Join(dir, source)]:
				s.add(path.Join(dir, source))
			case !s.before[at] && rule.makes != "%":
				ruled[name] = true
			}
		}
		if !s.before[at] && ruled[name] {
			s.follow(at)
		}
	}
}

// pattern is a rule by which make makes files of such names, and from what: % stands for the same in both.
type pattern struct{ makes, from string }

// source is what a rule makes a file from, if it matches its name. A rule that names no directory is for those of all.
func (p pattern) source(name string) (from string, matches bool) {
	dir := ""
	if !strings.Contains(p.makes, "/") {
		dir, name = path.Split(name)
	}
	before, after, _ := strings.Cut(p.makes, "%")
	if len(name) <= len(before)+len(after) || !strings.HasPrefix(name, before) || !strings.HasSuffix(name, after) {
		return "", false
	}
	return dir + strings.Replace(p.from, "%", name[len(before):len(name)-len(after)], 1), true
}

// builtIn are those by which GNU make makes a program or a script, or gets a file out of RCS or SCCS.
var builtIn = func() (all []pattern) {
	for _, from := range strings.Fields("%.sh %.o %.c %.cc %.C %.cpp %.p %.f %.F %.m %.r %.s %.S %.mod %.y %.l %,v RCS/%,v RCS/% s.% SCCS/s.%") {
		all = append(all, pattern{"%", from})
	}
	return all
}()
