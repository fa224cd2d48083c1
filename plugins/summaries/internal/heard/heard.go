// Package heard decides whether a note says only what people have said. It compares words, numbers, dates and addresses, not
// meaning, and knows neither host nor clock.
package heard

import (
	"slices"
	"strings"
	"time"
)

// Message is what a person has said, and when.
type Message struct {
	Text string
	At   time.Time
}

// Words are what people have said, taken apart for comparison.
type Words struct {
	literal string // folded
	atoms   string // folded: runs of letters and runs of digits, with a space around each
	words   map[string]bool
	stems   map[string]bool
	heads   map[string][]string // words by their first letters
	numbers map[string]bool
	long    map[string]bool // the digits of long numbers, also of those that were written in groups
	times   map[int]bool    // minutes of the day
	dates   []spoken        // of each message
}

// New takes messages apart.
func New(messages ...Message) *Words {
	w := &Words{
		words: make(map[string]bool), stems: make(map[string]bool), heads: make(map[string][]string),
		numbers: make(map[string]bool), long: make(map[string]bool), times: make(map[int]bool),
	}
	for _, message := range messages {
		w.Add(message)
	}
	return w
}

// mostText is how many bytes of a message count.
const mostText = 256 << 10

// Add takes one more message apart.
func (w *Words) Add(message Message) {
	folded := fold(message.Text[:min(len(message.Text), mostText)])
	w.literal += folded + "\n"
	w.atoms += atomsOf(folded)
	w.dates = append(w.dates, w.spokenOf(folded, message.At))
	for _, minutes := range timesOf(folded) {
		w.times[minutes] = true
	}
	for _, number := range numbersOf(folded) {
		w.numbers[number.value] = true
		w.long[number.digits] = true
	}
	for _, group := range groupsOf(folded) {
		w.long[digitsOf(group)] = true
	}
	for _, word := range wordsOf(folded) {
		if number := numerals()[word]; number != "" {
			w.numbers[number] = true
		}
		if w.words[word] || frames(word) {
			continue
		}
		w.words[word] = true
		w.stems[stem(word)] = true
		if head := headOf(word); head != "" {
			w.heads[head] = append(w.heads[head], word)
		}
	}
}

// has reports whether a word was said, in this form or with another ending.
func (w *Words) has(word string) bool {
	return w.words[word] || w.stems[stem(word)] ||
		slices.ContainsFunc(w.heads[headOf(word)], func(other string) bool { return alike(word, other) })
}

// Missing is what a note says and nobody has said; empty: people have said what it says. All numbers, dates and addresses of the
// note have to be in what was said, and more than two thirds of the words that carry meaning: no two beside each other may be
// missing, and no half of a clause. A note may begin with a stamp: the day on which it was written, a time, and one of the names in
// parentheses.
func (w *Words) Missing(note string, written time.Time, names ...string) []string {
	text := withoutStamp(fold(note), written, names)
	text, missing := w.takeAddresses(text)
	text, dates := w.takeDates(text, written)
	text, times := w.takeTimes(text)
	missing = slices.Concat(missing, dates, times, w.missingNumbers(text))
	if len(missing) > 0 {
		return missing
	}
	return w.missingWords(text)
}

// missingNumbers are the numbers that were not said.
func (w *Words) missingNumbers(text string) (missing []string) {
	for _, group := range groupsOf(text) {
		if w.long[digitsOf(group)] { // a number that is written in other groups than it was said
			text = strings.Replace(text, group, " ", 1)
		}
	}
	for _, number := range numbersOf(text) {
		long := len(number.digits) >= longNumber
		coded := number.prefix == "" || long || strings.Contains(w.atoms, atomsOf(number.prefix+number.raw))
		wasSaid := w.numbers[number.value] || long && w.long[number.digits]
		if !coded || !wasSaid {
			missing = append(missing, number.prefix+number.raw)
		}
	}
	return missing
}

// missingWords are the words that were not said, when they are too many. The numbers of the text were.
func (w *Words) missingWords(text string) (missing []string) {
	text = numbers.ReplaceAllString(text, "$1"+found)
	all, run := 0, 0 // run is how many words beside each other are missing
	for _, clause := range clausesOf(text) {
		counted := slices.DeleteFunc(wordsOf(clause), func(word string) bool { return !counts(word) })
		if len(counted) < 2 { // each word counts that says something, however short
			counted = slices.DeleteFunc(wordsOf(clause), func(word string) bool { return frames(word) })
		}
		before := len(missing)
		for _, word := range counted {
			all++
			if w.has(word) {
				run = 0
				continue
			}
			missing = append(missing, word)
			if run++; run > most(word) {
				return missing
			}
		}
		if len(counted) > 1 && (len(missing)-before)*2 >= len(counted) {
			return missing
		}
	}
	switch {
	case all == 0 && !strings.Contains(text, found):
		return []string{"any word"}
	case len(missing)*3 < all || len(missing) == 0:
		return nil
	}
	return missing
}

// most is how many words like this one may be missing beside each other. Where words are not separated they are compared by two
// letters at a time, and one letter more makes two that are not there.
func most(word string) int {
	if unseparated(word) {
		return 2
	}
	return 1
}

// frames reports whether notes of all kinds have a word, in this form or without its ending.
func frames(word string) bool {
	short := stem(word)
	return framing()[word] || len([]rune(short)) >= 4 && framing()[short]
}

// counts reports whether a word carries meaning.
func counts(word string) bool {
	return !frames(word) && (len([]rune(word)) >= 4 || unseparated(word))
}
