// Package text makes the agent's long Markdown answers into Discord messages: parts of
// at most 2000 UTF-16 units that each render by themselves, in the Markdown that Discord
// knows. It is pure functions: the same text gives the same parts.
package text

import (
	"strings"
	"unicode/utf16"
)

// Limit is how long a message may be, in UTF-16 code units, as Discord counts
// (resources/message#create-message).
const Limit = 2000

// least is the smallest part that Markdown can be mended in.
const least = 200

// summaryUnits is how long a summary may be.
const summaryUnits = 600

// Units is the length of s in UTF-16 code units.
func Units(s string) int {
	n := 0
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

// Split cuts a Markdown text into messages of 1 to limit units, none of them only
// whitespace; nil when there is nothing to say. Limit is 200 or more.
//
// It cuts where a reader would: between paragraphs, else between items, lines, sentences,
// words, and only in a word longer than a part between letters. What must be cut is mended:
// a fence is closed and opens again with its language, bold and the like are closed and
// open again, a quote goes on as a quote, a list's item as "3. …", a table with its first
// lines. No part ends with a heading that something follows. What Discord does not know is
// written in what it knows (see read); what is in code stays, but for a zero-width space
// in three backticks in a row, which would end it.
func Split(markdown string, limit int) []string {
	return pack(read(markdown, max(limit, least)), max(limit, least))
}

// pack cuts rows into parts.
func pack(rows []row, limit int) []string {
	var parts []string
	p := packer{rows: rows, limit: limit}
	for p.i < len(rows) {
		if part := p.next(); strings.TrimSpace(part) != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// Live is what of an unfinished text fits into one message: its end, from the beginning of
// a line if a line fits, behind "…" when something was before it. Limit is 200 or more.
func Live(markdown string, limit int) string {
	limit = max(limit, least)
	rows := read(markdown, limit)
	if len(rows) == 0 {
		return ""
	}
	from, units := len(rows), 0
	for from > 0 && units <= limit {
		from--
		units += Units(rows[from].text) + 1
	}
	for ; from < len(rows); from++ {
		room, before := limit, ""
		if from > 0 {
			room, before = limit-2, "…\n"
		}
		p := packer{rows: rows, limit: room, i: from}
		if part := p.next(); p.i == len(rows) {
			return before + part
		}
	}
	// The last line is longer than a message.
	last := len(rows) - 1
	for want := limit - 20; want > 0; want -= 40 {
		p := packer{rows: rows, limit: limit - 2, i: last, at: rows[last].end(want)}
		if part := p.next(); p.i == len(rows) && part != "" {
			return "…\n" + part
		}
	}
	return "…"
}

// Summary is how a long answer begins, in at most 600 units: what it says before its first
// code or table, and all of that it can hold.
func Summary(markdown string) string {
	rows := read(markdown, summaryUnits)
	for k, r := range rows {
		if r.code != nil && k > 0 {
			rows = rows[:k]
			break
		}
	}
	for n := len(rows); n > 1 && rows[n-1].heading(); n-- {
		rows = rows[:n-1]
	}
	if parts := pack(rows, summaryUnits); parts != nil {
		return parts[0]
	}
	return ""
}
