package memory

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
)

const (
	// MaxLines is how many lines memory.md has.
	MaxLines = 100
	// MaxBytes is how many bytes it has: the plugin context shows 64 KiB of a file.
	MaxBytes = 60 << 10
	// maxText is how many bytes an entry has.
	maxText = 400
	// share is which part of the entries, and of the lines, may fall out at a time: one in so many.
	entryShare, lineShare = 4, 2
)

// Line is a line of the inbox whose origin is known.
type Line struct {
	Item

	ID     string // by which the agent names it
	Day    string // of its origin, as 2006-01-02
	Origin string // such as "message 123"
	Thread string `json:",omitempty"` // of that message; empty: it is no message
}

// Entry is an entry of the memory, as the agent is shown it.
type Entry struct {
	Item

	ID string
}

// Input is what an agent was given.
type Input struct {
	Entries []Entry
	Lines   []Line
}

// Restore completes an input that was kept as JSON.
func (in *Input) Restore() {
	for i := range in.Entries {
		in.Entries[i].Text = textOf(in.Entries[i].Raw)
	}
	for i := range in.Lines {
		in.Lines[i].Text = textOf(in.Lines[i].Raw)
	}
}

// Answer is what the agent proposes.
type Answer struct {
	Entries []struct {
		Text     string   `json:"text"`
		Section  string   `json:"section"`
		Sources  []string `json:"sources"`
		Replaces []string `json:"replaces"`
	} `json:"entries"`
	Delete []Named `json:"delete"`
	Skip   []Named `json:"skip"`
}

// Named is an entry or a line that is to go, and why.
type Named struct {
	ID  string `json:"id"`
	Why string `json:"why"`
}

// Note is something that was done or refused, and why.
type Note struct {
	What, Why string

	Day, Origin, Thread string `json:",omitempty"` // as in Line; of an entry that was added
	Replaced            bool   `json:",omitempty"` // of an entry that was removed: another one has taken its place
}

// Plan is what is done of a proposal.
type Plan struct {
	Kept    int      // how many entries stay as they are
	Added   []Note   // the entry's line, and which lines of the inbox it is from
	Removed []Note   // the entry's line, and why
	Skipped []Note   // lines of the inbox that nothing is kept of
	Taken   []string // lines that leave the inbox, as they stand there
	Refused []Note
}

// planner carries out a proposal on the files as they are.
type planner struct {
	Plan

	in      Input
	memory  *Page
	entries int               // that there were
	spent   map[string]bool   // lines that an entry is from, or that are skipped
	gone    map[string]bool   // entries that are removed
	plains  map[string]string // of the texts of entries, as plainOf finds them
}

// Apply decides which of a proposal is done, and returns the files as they are then. An entry has a source among the lines
// that were given, says nothing that it does not have from there, and repeats no other; what is removed has a name, and is a
// part of all.
func Apply(memory, inbox string, in Input, answer Answer) (Plan, string, string) {
	p := &planner{in: in, memory: Parse(memory), spent: make(map[string]bool), gone: make(map[string]bool), plains: make(map[string]string)}
	p.entries = len(p.memory.Items())
	for _, named := range answer.Delete {
		p.remove(named.ID, named.Why)
	}
	for _, proposed := range answer.Entries {
		p.add(proposed.Text, proposed.Section, proposed.Sources, proposed.Replaces)
	}
	skipped := 0
	for _, named := range answer.Skip {
		line := p.line(named.ID)
		switch {
		case line == nil:
			p.refuse("nothing of "+named.ID, "no line of the inbox has this name")
		case p.spent[named.ID]:
			p.refuse(line.Raw, "an entry is from it, or it was named twice")
		case skipped >= max(1, len(in.Lines)/lineShare):
			p.refuse(line.Raw, fmt.Sprintf("of %d lines at most %d may be left aside at a time", len(in.Lines), max(1, len(in.Lines)/lineShare)))
		default:
			skipped++
			p.spent[named.ID] = true
			p.Skipped = append(p.Skipped, Note{What: line.Raw, Why: oneLine(named.Why)})
		}
	}
	box := Parse(inbox)
	for _, line := range in.Lines {
		if p.spent[line.ID] && box.Remove(line.Raw) {
			p.Taken = append(p.Taken, line.Raw)
		}
	}
	p.Kept = p.entries - len(p.gone)
	return p.Plan, p.memory.String(), box.String()
}

func (p *planner) refuse(what, why string) {
	p.Refused = append(p.Refused, Note{What: oneLine(what), Why: why})
}

func (p *planner) line(id string) *Line {
	if i := slices.IndexFunc(p.in.Lines, func(l Line) bool { return l.ID == id }); i >= 0 {
		return &p.in.Lines[i]
	}
	return nil
}

func (p *planner) entry(id string) *Entry {
	if i := slices.IndexFunc(p.in.Entries, func(e Entry) bool { return e.ID == id }); i >= 0 {
		return &p.in.Entries[i]
	}
	return nil
}

// mayRemove says why an entry may not be removed; empty: it may be.
func (p *planner) mayRemove(id string) string {
	entry := p.entry(id)
	most := max(1, p.entries/entryShare)
	switch {
	case entry == nil:
		return "no entry of the memory has the name " + oneLine(id)
	case p.gone[id]:
		return "it is removed already"
	case !slices.ContainsFunc(p.memory.Items(), func(i Item) bool { return i.Raw == entry.Raw }):
		return "it is not in the memory any more"
	case len(p.gone) >= most || p.entries < 2:
		return fmt.Sprintf("of %d entries at most %d may fall out at a time", p.entries, min(most, max(0, p.entries-1)))
	}
	return ""
}

func (p *planner) remove(id, why string) {
	if refused := p.mayRemove(id); refused != "" {
		what := "without " + id
		if entry := p.entry(id); entry != nil {
			what = entry.Raw
		}
		p.refuse(what, refused)
		return
	}
	p.take(id, why, false)
}

func (p *planner) take(id, why string, replaced bool) {
	entry := p.entry(id)
	p.memory.Remove(entry.Raw)
	p.gone[id] = true
	p.Removed = append(p.Removed, Note{What: entry.Raw, Why: oneLine(why), Replaced: replaced})
}

// suffix is how an entry says where it is from.
var suffix = lazy.Regexp(`\s*\((\d{4}-\d{2}-\d{2}), ((?:message|edit) \d+)\)$`)

// bare is the text of an entry without where it is from.
func bare(text string) string {
	if !strings.HasSuffix(text, ")") { // of most of what was written by hand; the expression would look at each space of it
		return text
	}
	return suffix.ReplaceAllString(text, "")
}

// OriginOf is what an entry says of where it is from: the day, and such as "message 123"; empty: it says nothing.
func OriginOf(raw string) (day, origin string) {
	if found := suffix.FindStringSubmatch(raw); found != nil {
		return found[1], found[2]
	}
	return "", ""
}

// add adds an entry in the place of those that it replaces, or refuses it.
func (p *planner) add(text, section string, sources, replaces []string) {
	text = oneLine(strings.TrimLeft(strings.TrimSpace(text), "-* "))
	newest, from, why := p.sources(sources)
	var known []string // what the entry may say
	for _, line := range from {
		known = append(known, line.Text, line.Day)
	}
	for i, id := range replaces {
		if why == "" {
			why = p.mayRemove(id)
		}
		if why == "" && slices.Contains(replaces[:i], id) {
			why = "it names " + id + " twice"
		}
		if why == "" && len(p.gone)+i >= max(1, p.entries/entryShare) { // each is allowed, and not all of them
			why = "it would replace too many entries at once"
		}
		if entry := p.entry(id); entry != nil {
			known = append(known, bare(entry.Text))
		}
	}
	if why == "" {
		why = p.wrong(text, strings.Join(known, " "), replaces)
	}
	if why == "" && newest != nil {
		raw := fmt.Sprintf("- %s (%s, %s)", text, newest.Day, newest.Origin)
		if why = p.room(raw, section, replaces); why == "" {
			for _, id := range replaces {
				p.take(id, "replaced by: "+text, true)
			}
			p.memory.Add(p.section(section), raw)
			for _, line := range from {
				p.spent[line.ID] = true
			}
			p.Added = append(p.Added, Note{What: raw, Why: strings.Join(sources, ", "), Day: newest.Day, Origin: newest.Origin, Thread: newest.Thread})
			return
		}
	}
	p.refuse(text, why)
}

// sources finds the lines that an entry is from, and the newest of them.
func (p *planner) sources(ids []string) (newest *Line, from []Line, why string) {
	for _, id := range ids {
		line := p.line(id)
		if line == nil {
			return nil, from, "its source " + oneLine(id) + " is no line of the inbox that was given"
		}
		from = append(from, *line)
		if newest == nil || line.Day >= newest.Day {
			newest = line
		}
	}
	if newest == nil {
		why = "it has no source"
	}
	return newest, from, why
}

// wrong says what is wrong with the words of an entry; empty: nothing.
func (p *planner) wrong(text, known string, replaces []string) string {
	switch {
	case text == "":
		return "it is empty"
	case len(text) > maxText:
		return fmt.Sprintf("it has %d bytes, and may have %d", len(text), maxText)
	case suffix.MatchString(text):
		return "it says by itself where it is from"
	}
	is := plain(text)
	for _, item := range p.memory.Items() {
		replaced := slices.ContainsFunc(replaces, func(id string) bool { e := p.entry(id); return e != nil && e.Raw == item.Raw })
		if !replaced && p.plainOf(item.Text) == is {
			return "the memory has it already"
		}
	}
	return ungrounded(text, known)
}

// plainOf is plain of the text of an entry without where it is from. Each entry is compared with all that are proposed.
func (p *planner) plainOf(text string) string {
	found, ok := p.plains[text]
	if !ok {
		found = plain(bare(text))
		p.plains[text] = found
	}
	return found
}

// room says why an entry has no room; empty: it has.
func (p *planner) room(raw, section string, replaces []string) string {
	trial := Parse(p.memory.String())
	before := trial.Lines()
	for _, id := range replaces {
		trial.Remove(p.entry(id).Raw)
	}
	trial.Add(p.section(section), raw)
	if after := trial.Lines(); after > MaxLines && after > before || len(trial.String()) > MaxBytes {
		return fmt.Sprintf("memory.md would have %d lines and %d bytes, and may have %d and %d: something has to fall out first", after, len(trial.String()), MaxLines, MaxBytes)
	}
	return ""
}

// section is the one of that name that there is, or Other.
func (p *planner) section(words string) string {
	words = oneLine(strings.Trim(words, "# "))
	for _, one := range p.memory.blocks {
		if one.heading && words != "" && strings.EqualFold(one.section, words) {
			return one.section
		}
	}
	return "Other"
}

// ungrounded says what an entry says that its sources do not: a number, or most of its words.
func ungrounded(text, known string) string {
	has := make(map[string]bool)
	for _, word := range words(known) {
		has[stem(word)] = true
	}
	said := words(text)
	if len(said) == 0 {
		return "it has no words"
	}
	short := !slices.ContainsFunc(said, long)
	all, found := 0, 0
	for _, word := range said {
		if strings.ContainsFunc(word, unicode.IsDigit) && !has[stem(word)] {
			return "its sources do not say " + word
		}
		if short || long(word) {
			if all++; has[stem(word)] {
				found++
			}
		}
	}
	if found*2 < all {
		return "its sources do not say most of it"
	}
	return ""
}

// long reports whether a word says something by itself. Where an entry has none, each of its words counts.
func long(word string) bool { return len([]rune(word)) >= 4 }

func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// stem is the beginning of a word; a number is whole.
func stem(word string) string {
	if strings.ContainsFunc(word, unicode.IsDigit) {
		return word
	}
	runes := []rune(word)
	return string(runes[:min(5, len(runes))])
}

func plain(text string) string { return strings.Join(words(text), " ") }

// oneLine is words on one line.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "\uFFFD"), func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
}
