package prices

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The bounds of a file: what is beyond them is a mistake.
const (
	maxSize    = 1 << 20
	maxDepth   = 8
	maxPrice   = 100_000 // USD for a million tokens
	maxText    = 500     // bytes of a name or a source
	maxEntries = 1000    // models, and prices of a model
)

// Parse reads a table. The error names the line and the field that are wrong.
func Parse(data []byte) (*Table, error) {
	if len(data) > maxSize {
		return nil, fmt.Errorf("the file has more than %d KiB; a table of prices has fewer", maxSize>>10)
	}
	root, err := readTree(data)
	if err != nil {
		return nil, err
	}
	table, r := &Table{}, &reader{}
	r.object(root, "", map[string]func(node, string){
		"checked": func(n node, at string) { table.Checked = r.day(n, at) },
		"models": func(n node, at string) {
			r.list(n, at, func(n node, at string) { table.Entries = append(table.Entries, r.entry(n, at)) })
		},
	}, "models")
	if r.err != nil {
		return nil, r.err
	}
	return table, nil
}

// reader reads a tree. The first error stays.
type reader struct {
	err  error
	seen []string // models
}

// wrong says what is wrong with a field.
func (r *reader) wrong(n node, at, format string, args ...any) {
	if r.err == nil {
		where := fmt.Sprintf("line %d", n.line)
		if at != "" {
			where += ": " + at
		}
		r.err = fmt.Errorf("%s: %s", where, fmt.Sprintf(format, args...))
	}
}

func (r *reader) object(n node, at string, fields map[string]func(node, string), needed ...string) {
	members, ok := n.value.([]member)
	if !ok {
		r.wrong(n, at, "must be an object, got %s", n)
		return
	}
	var seen []string
	for _, m := range members {
		path := strings.TrimPrefix(at+"."+short(m.name), ".")
		read, known := fields[m.name]
		switch {
		case !known:
			r.wrong(m.node, path, "there is no such field; there are %s", names(fields))
		case slices.Contains(seen, m.name):
			r.wrong(m.node, path, "is there twice")
		default:
			read(m.node, path)
		}
		seen = append(seen, m.name)
	}
	for _, name := range needed {
		if !slices.Contains(seen, name) {
			r.wrong(n, at, "%s is missing", name)
		}
	}
}

func names(fields map[string]func(node, string)) string {
	all := make([]string, 0, len(fields))
	for name := range fields {
		all = append(all, name)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func (r *reader) list(n node, at string, each func(node, string)) {
	items, ok := n.value.([]node)
	switch {
	case !ok:
		r.wrong(n, at, "must be a list, got %s", n)
	case len(items) > maxEntries:
		r.wrong(n, at, "has %d entries; %d are the most", len(items), maxEntries)
	default:
		for i, item := range items {
			each(item, fmt.Sprintf("%s[%d]", at, i))
		}
	}
}

func (r *reader) text(n node, at string) string {
	text, ok := n.value.(string)
	switch {
	case !ok || strings.TrimSpace(text) == "":
		r.wrong(n, at, "must be a text, got %s", n)
	case len(text) > maxText:
		r.wrong(n, at, "has %d bytes; %d are the most", len(text), maxText)
	}
	return text
}

func (r *reader) day(n node, at string) time.Time {
	text, _ := n.value.(string)
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		r.wrong(n, at, "must be a day such as 2006-01-31, got %s", n)
	}
	return day
}

func (r *reader) number(n node, at string, most float64) float64 {
	number, ok := n.value.(json.Number)
	value, err := strconv.ParseFloat(string(number), 64)
	if !ok || err != nil || math.IsNaN(value) || value < 0 || value > most {
		r.wrong(n, at, "must be a number from 0 to %s, got %s", strconv.FormatFloat(most, 'f', -1, 64), n)
	}
	return value
}

func (r *reader) entry(n node, at string) (entry Entry) {
	r.object(n, at, map[string]func(node, string){
		"model": func(n node, at string) {
			entry.Model = r.text(n, at)
			if slices.Contains(r.seen, entry.Model) {
				r.wrong(n, at, "%q is there twice; all prices of a model belong into one list", short(entry.Model))
			}
			r.seen = append(r.seen, entry.Model)
		},
		"prices": func(n node, at string) {
			r.list(n, at, func(n node, at string) { entry.Prices = append(entry.Prices, r.dated(n, at, entry.Prices)) })
			if len(entry.Prices) == 0 {
				r.wrong(n, at, "has no price")
			}
		},
	}, "model", "prices")
	slices.SortFunc(entry.Prices, func(a, b Dated) int { return a.From.Compare(b.From) })
	return entry
}

// dated reads a price that is none of a day of the earlier ones.
func (r *reader) dated(n node, at string, earlier []Dated) (price Dated) {
	fields := r.price(&price.Price)
	fields["from"] = func(n node, at string) {
		price.From = r.day(n, at)
		if slices.ContainsFunc(earlier, func(other Dated) bool { return other.From.Equal(price.From) }) {
			r.wrong(n, at, "two prices of one model hold from %s on", price.From.Format(time.DateOnly))
		}
	}
	fields["source"] = func(n node, at string) { price.Source = r.text(n, at) }
	fields["long"] = func(n node, at string) {
		price.Long = &Price{}
		fields := r.price(price.Long)
		fields["above"] = func(n node, at string) { price.LongAbove = int64(r.number(n, at, 1e9)) }
		r.object(n, at, fields, "above", "input", "output")
		price.Long.complete()
	}
	r.object(n, at, fields, "from", "input", "output", "source")
	price.complete()
	return price
}

// unsaid is a price of the cache that a file does not say.
const unsaid = -1

func (r *reader) price(p *Price) map[string]func(node, string) {
	*p = Price{CacheWrite: unsaid, CacheWrite1h: unsaid, CacheRead: unsaid}
	into := func(field *float64) func(node, string) {
		return func(n node, at string) { *field = r.number(n, at, maxPrice) }
	}
	return map[string]func(node, string){
		"input": into(&p.Input), "output": into(&p.Output),
		"cacheWrite": into(&p.CacheWrite), "cacheWriteHour": into(&p.CacheWrite1h), "cacheRead": into(&p.CacheRead),
	}
}

// complete derives what was not said from the price of the input: 1.25 of it for caching for five
// minutes, 2 for an hour, 0.1 for reading the cache.
func (p *Price) complete() {
	for _, of := range []struct {
		field *float64
		part  float64
	}{{&p.CacheWrite, 1.25}, {&p.CacheWrite1h, 2}, {&p.CacheRead, 0.1}} {
		if *of.field == unsaid {
			*of.field = of.part * p.Input
		}
	}
}

// node is a value of JSON with the line on which it ends.
type node struct {
	line  int
	value any // []member, []node, json.Number, string, bool or nil
}

// member is a field of an object.
type member struct {
	name string
	node
}

// String is the value for people.
func (n node) String() string {
	switch value := n.value.(type) {
	case []member:
		return "an object"
	case []node:
		return "a list"
	case nil:
		return "null"
	case string:
		return strconv.Quote(short(value))
	default:
		return short(fmt.Sprint(value))
	}
}

// short is a text that may be anything, as far as an error shows it.
func short(text string) string {
	const most = 40
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
}

// readTree reads JSON.
func readTree(data []byte) (node, error) {
	lineOf := func(offset int64) int {
		return 1 + bytes.Count(data[:min(max(offset, 0), int64(len(data)))], []byte("\n"))
	}
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil {
		line := lineOf(int64(len(data)))
		if at := (*json.SyntaxError)(nil); errors.As(err, &at) {
			line = lineOf(at.Offset - 1)
		}
		return node{}, fmt.Errorf("line %d: the file is not JSON: %w", line, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	return readNode(decoder, lineOf, 0)
}

func readNode(decoder *json.Decoder, lineOf func(int64) int, depth int) (n node, err error) {
	token, err := decoder.Token()
	n.line = lineOf(decoder.InputOffset())
	if err != nil {
		return n, err
	}
	delimiter, ok := token.(json.Delim)
	if !ok {
		n.value = token
		return n, nil
	}
	if depth == maxDepth {
		return n, fmt.Errorf("line %d: lists and objects stand in each other deeper than %d", n.line, maxDepth)
	}
	if delimiter == '[' {
		n.value, err = readItems(decoder, lineOf, depth)
	} else {
		n.value, err = readMembers(decoder, lineOf, depth)
	}
	return n, err
}

func readItems(decoder *json.Decoder, lineOf func(int64) int, depth int) (items []node, err error) {
	items = []node{}
	for decoder.More() {
		item, err := readNode(decoder, lineOf, depth+1)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	_, err = decoder.Token()
	return items, err
}

func readMembers(decoder *json.Decoder, lineOf func(int64) int, depth int) (members []member, err error) {
	members = []member{}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		value, err := readNode(decoder, lineOf, depth+1)
		if err != nil {
			return nil, err
		}
		members = append(members, member{fmt.Sprint(name), value})
	}
	_, err = decoder.Token()
	return members, err
}
