package heard

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
)

// found stands in a text for what was taken out of it because it was said.
const found = " \x00 "

// fold makes letters small, takes their accents off and gives digits of all scripts the same form. What is not seen is left out.
func fold(text string) string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(strings.ToLower(strings.ToValidUTF8(text, " "))) {
		switch {
		case unicode.Is(unicode.Mn, r), unicode.Is(unicode.Cf, r):
		case r == 'ß':
			b.WriteString("ss")
		case unicode.IsDigit(r):
			b.WriteByte(digit(r))
		case unicode.IsControl(r), unicode.IsSpace(r):
			b.WriteByte(' ')
		case r == '’', r == '‘':
			b.WriteByte('\'')
		case unicode.Is(unicode.Pd, r) && r != '—', r == '−':
			b.WriteByte('-')
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// digit is a digit of any script as one of ASCII: those of a script follow each other, from zero on.
func digit(r rune) byte {
	if r >= '0' && r <= '9' {
		return byte(r)
	}
	for _, digits := range unicode.Nd.R16 {
		if r >= rune(digits.Lo) && r <= rune(digits.Hi) {
			return '0' + byte((r-rune(digits.Lo))%10)
		}
	}
	for _, digits := range unicode.Nd.R32 {
		if r >= rune(digits.Lo) && r <= rune(digits.Hi) {
			return '0' + byte((r-rune(digits.Lo))%10)
		}
	}
	return '0'
}

// atomsOf is a text as runs of letters and runs of digits, with a space around each.
func atomsOf(folded string) string {
	return " " + strings.Join(atoms.FindAllString(folded, -1), " ") + " "
}

var atoms = lazy.Regexp(`\p{L}+|[0-9]+`)

// wordsOf are the runs of letters. Of scripts that do not separate words they are each two letters beside each other.
func wordsOf(folded string) (words []string) {
	for _, run := range strings.FieldsFunc(folded, func(r rune) bool { return !unicode.IsLetter(r) }) {
		for run != "" {
			part := run
			if i := strings.IndexFunc(run, func(r rune) bool { return isUnseparated(r) != unseparated(run) }); i > 0 {
				part = run[:i]
			}
			run = run[len(part):]
			letters := []rune(part)
			if !unseparated(part) || len(letters) < 3 {
				words = append(words, part)
				continue
			}
			for i := range letters[1:] {
				words = append(words, string(letters[i:i+2]))
			}
		}
	}
	return words
}

// isUnseparated reports whether a letter is of a script that does not separate words, or in which they are as short as two letters.
func isUnseparated(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

func unseparated(word string) bool {
	for _, r := range word {
		return isUnseparated(r)
	}
	return false
}

// clausesOf divides a text where one thought ends and the next begins.
func clausesOf(folded string) []string {
	return strings.FieldsFunc(folded, func(r rune) bool {
		return strings.ContainsRune(".,;:!?()[]{}<>|\"—–/=+&*#~^`·•→…«»“”„。、，；：！？", r)
	})
}

// endings are those of words that are taken off, the longest first.
var endings = []string{"ings", "ing", "ies", "ied", "est", "ed", "es", "er", "en", "em", "ly", "s", "e", "y", "n"}

// stem is a word without its ending.
func stem(word string) string {
	for _, ending := range endings {
		if rest, ok := strings.CutSuffix(word, ending); ok && len([]rune(rest)) >= 3 {
			if n := len(rest); rest[n-1] == rest[n-2] { // running, planned
				rest = rest[:n-1]
			}
			return rest
		}
	}
	return word
}

const (
	// headLength is how many letters two words begin with in common at least that differ in their endings, and latinHead how many
	// in Latin letters, of which a language needs fewer endings.
	headLength, latinHead = 3, 4
	// longestEnding is how many letters follow them at most.
	longestEnding = 3
)

func headOf(word string) string {
	if letters := []rune(word); len(letters) >= headLength && !unseparated(word) {
		return string(letters[:headLength])
	}
	return ""
}

// alike reports whether two words differ in their endings only.
func alike(a, b string) bool {
	x, y := []rune(a), []rune(b)
	same := 0
	for same < min(len(x), len(y)) && x[same] == y[same] {
		same++
	}
	least, longer := headLength, max(len(x), len(y))
	if unicode.Is(unicode.Latin, x[0]) {
		least = latinHead
	}
	return same >= least && longer-same <= longestEnding && same*10 >= longer*6
}

// number is one that stands in a text.
type number struct {
	raw    string // without the letters around it
	prefix string // the letters that stand right before it, as in "de99"
	value  string // without the marks between thousands, and without zeros that say nothing
	digits string
}

var numbers = lazy.Regexp(`(\p{L}*)([0-9]+(?:[.,'][0-9]+)*)`)

func numbersOf(folded string) (all []number) {
	for _, parts := range numbers.FindAllStringSubmatch(folded, -1) {
		all = append(all, number{raw: parts[2], prefix: parts[1], value: valueOf(parts[2]), digits: digitsOf(parts[2])})
	}
	return all
}

// valueOf is a number as everybody writes it: 1,200.50 and 1.200,50 are 1200.5.
func valueOf(raw string) string {
	parts := strings.FieldsFunc(raw, isMark)
	marks := strings.FieldsFunc(raw, unicode.IsDigit)
	last := len(parts) - 1
	threes := last > 0 && len(parts[0]) <= 3
	for i := 1; i < last; i++ {
		threes = threes && len(parts[i]) == 3
	}
	whole, rest := strings.Join(parts, ""), ""
	switch {
	case last == 0:
	case threes && len(parts[last]) == 3 && !slices.ContainsFunc(marks, func(mark string) bool { return mark != marks[0] }):
	case last == 1 || threes && marks[last-1] != marks[0]:
		whole, rest = strings.Join(parts[:last], ""), strings.TrimRight(parts[last], "0")
	default:
		return raw // such as a version
	}
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	if rest != "" {
		return whole + "." + rest
	}
	return whole
}

func isMark(r rune) bool { return r < '0' || r > '9' }

// digitsOf are the digits of a number.
func digitsOf(raw string) string {
	return strings.Join(strings.FieldsFunc(raw, isMark), "")
}

// longNumber is how many digits a number has that is written in groups: of a telephone, an account.
const longNumber = 7

var groups = lazy.Regexp(`[0-9]+(?:[ ./()-]{1,2}[0-9]+)+`)

// groupsOf are the long numbers that are written in groups.
func groupsOf(folded string) []string {
	return slices.DeleteFunc(groups.FindAllString(folded, -1), func(group string) bool { return len(digitsOf(group)) < longNumber })
}

// stamps is how a note says when it was written, and where.
var stamps = lazy.Regexp(`^\s*(?:([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[ t]+[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?z?)?)?\s*(?:\(([^()]*)\))?\s*:?`)

// withoutStamp takes the stamp off a note. What only looks like one stays.
func withoutStamp(folded string, written time.Time, names []string) string {
	at := stamps.FindAllStringSubmatchIndex(folded, 1)
	if len(at) == 0 {
		return folded
	}
	one := at[0]
	if one[2] >= 0 {
		day, err := time.Parse(time.DateOnly, folded[one[2]:one[3]])
		if err != nil || !within(day, written, 1) {
			return folded
		}
	}
	if one[4] >= 0 && !slices.ContainsFunc(names, func(name string) bool { return plain(fold(name)) == plain(folded[one[4]:one[5]]) }) {
		return folded[one[4]:]
	}
	return folded[one[1]:]
}

func plain(folded string) string { return strings.Join(strings.Fields(atomsOf(folded)), " ") }

// address is what has to be there letter for letter: of mail, of a page, of a file.
func address(token string) bool {
	return strings.ContainsAny(token, "@_\\") || strings.Contains(token, "://") || strings.HasPrefix(token, "~/") ||
		strings.HasPrefix(token, "/") && len(token) > 1 || dotted.MatchString(token)
}

var dotted = lazy.Regexp(`\p{L}{2}\.\p{L}{2}`)

// takeAddresses takes out the addresses, and returns those that were not said.
func (w *Words) takeAddresses(text string) (rest string, missing []string) {
	tokens := strings.Fields(text)
	for i, token := range tokens {
		token = strings.Trim(token, ".,;:!?()[]{}<>\"'*`")
		if !address(token) {
			continue
		}
		bare := strings.TrimSuffix(token, "/")
		if _, after, ok := strings.Cut(bare, "://"); ok {
			bare = after
		}
		if bare = strings.TrimPrefix(bare, "www."); bare == "" || !w.stands(bare) {
			missing = append(missing, token)
		}
		tokens[i] = found
	}
	return strings.Join(tokens, " "), missing
}

// stands reports whether an address was said, and not only as a part of a longer one.
func (w *Words) stands(address string) bool {
	for at := 0; ; {
		i := strings.Index(w.literal[at:], address)
		if i < 0 {
			return false
		}
		from, to := at+i, at+i+len(address)
		before, after := w.literal[:from], w.literal[to:]
		if !strings.HasSuffix(before, "-") && !strings.HasSuffix(before, "@") && !endsInWord(before) && !beginsWithWord(after) {
			return true
		}
		at = from + 1
	}
}

func endsInWord(text string) bool {
	letters := []rune(text[max(0, len(text)-8):])
	return len(letters) > 0 && isWord(letters[len(letters)-1])
}

func beginsWithWord(text string) bool {
	for i, r := range text {
		if i == 0 && (r == '.' || r == '-') {
			continue // the end of a sentence, perhaps
		}
		return isWord(r) && (i == 0 || i == 1)
	}
	return false
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
