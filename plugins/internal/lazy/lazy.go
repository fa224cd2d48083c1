// Package lazy has regular expressions that are compiled when they are first used. All shipped
// plugins are one program, and each of its processes would otherwise compile those of all.
package lazy

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression. Its methods are those of regexp.Regexp.
type Pattern struct{ compiled func() *regexp.Regexp }

// Regexp returns the pattern of a text. The first use of one that is wrong panics.
func Regexp(text string) *Pattern {
	return &Pattern{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

// Compiled returns the regular expression, for what wants one.
func (p *Pattern) Compiled() *regexp.Regexp { return p.compiled() }

// FindAllString is that of regexp.Regexp.
func (p *Pattern) FindAllString(text string, n int) []string {
	return p.compiled().FindAllString(text, n)
}

// FindAllStringIndex is that of regexp.Regexp.
func (p *Pattern) FindAllStringIndex(text string, n int) [][]int {
	return p.compiled().FindAllStringIndex(text, n)
}

// FindAllStringSubmatch is that of regexp.Regexp.
func (p *Pattern) FindAllStringSubmatch(text string, n int) [][]string {
	return p.compiled().FindAllStringSubmatch(text, n)
}

// FindAllStringSubmatchIndex is that of regexp.Regexp.
func (p *Pattern) FindAllStringSubmatchIndex(text string, n int) [][]int {
	return p.compiled().FindAllStringSubmatchIndex(text, n)
}

// FindAllSubmatchIndex is that of regexp.Regexp.
func (p *Pattern) FindAllSubmatchIndex(text []byte, n int) [][]int {
	return p.compiled().FindAllSubmatchIndex(text, n)
}

// FindString is that of regexp.Regexp.
func (p *Pattern) FindString(text string) string { return p.compiled().FindString(text) }

// FindStringIndex is that of regexp.Regexp.
func (p *Pattern) FindStringIndex(text string) []int { return p.compiled().FindStringIndex(text) }

// FindStringSubmatch is that of regexp.Regexp.
func (p *Pattern) FindStringSubmatch(text string) []string {
	return p.compiled().FindStringSubmatch(text)
}

// FindStringSubmatchIndex is that of regexp.Regexp.
func (p *Pattern) FindStringSubmatchIndex(text string) []int {
	return p.compiled().FindStringSubmatchIndex(text)
}

// MatchString is that of regexp.Regexp.
func (p *Pattern) MatchString(text string) bool { return p.compiled().MatchString(text) }

// ReplaceAllString is that of regexp.Regexp.
func (p *Pattern) ReplaceAllString(text, with string) string {
	return p.compiled().ReplaceAllString(text, with)
}

// ReplaceAllStringFunc is that of regexp.Regexp.
func (p *Pattern) ReplaceAllStringFunc(text string, with func(string) string) string {
	return p.compiled().ReplaceAllStringFunc(text, with)
}
