package search_test

import (
	"context"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/search"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// must returns the value of a call that the test does not expect to fail.
func must[T any](t testing.TB) func(value T, err error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func newThread(t testing.TB, s *store.Store, name string) string {
	t.Helper()
	thread, _, err := s.CreateThread(context.Background(), pluginsdk.NewThread{Source: "web", SourceID: name, Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return thread.ID
}

// say stores texts and returns their ids.
func say(t testing.TB, s *store.Store, thread string, texts ...string) (ids []int64) {
	t.Helper()
	for _, text := range texts {
		ids = append(ids, sayAs(t, s, thread, pluginsdk.NewMessage{Role: pluginsdk.RoleUser, Kind: pluginsdk.MessageText, Content: text}))
	}
	return ids
}

func sayAs(t testing.TB, s *store.Store, thread string, message pluginsdk.NewMessage) int64 {
	t.Helper()
	done, err := s.Append(context.Background(), ledger.Append{ThreadID: thread, Rows: []pluginsdk.NewMessage{message}})
	if err != nil {
		t.Fatal(err)
	}
	return done.Messages[0].ID
}

// sound wants nothing to be wrong with the database and the index.
func sound(t testing.TB, s *store.Store) {
	t.Helper()
	problems := must[[]string](t)(s.Integrity(context.Background()))
	_, astray, err := s.IndexIntegrity(context.Background())
	if problems = append(problems, astray...); err != nil || len(problems) > 0 {
		t.Errorf("problems %q, %v", problems, err)
	}
}

// all are the ids that a query finds on all its pages, which have so many hits.
func all(t testing.TB, r *search.Room, query pluginsdk.SearchQuery, pages int) (ids []int64) {
	t.Helper()
	query.Limit = pages
	for {
		page, err := r.Search(context.Background(), query)
		if err != nil {
			t.Fatalf("%q: %s", query.Text, err)
		}
		for _, hit := range page.Hits {
			ids = append(ids, hit.MessageID)
		}
		if page.Next == "" {
			return ids
		}
		if len(page.Hits) != pages {
			t.Fatalf("%q: a page of %d hits is not the last", query.Text, len(page.Hits))
		}
		query.After = page.Next
	}
}

// The plain scan: what a search should find, by whole texts and regular expressions,
// written without a look at how the room does it.

var (
	quotes  = regexp.MustCompile("[\"“”„]")
	written = regexp.MustCompile(`[\p{L}\p{N}\p{M}]+`)
	eastern = regexp.MustCompile(`[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}ー]`)
)

// plainly is a text as it is compared.
func plainly(text string) string {
	bare := func(text string) string {
		return strings.Map(func(r rune) rune {
			if unicode.Is(unicode.M, r) && r != '\u3099' && r != '\u309a' {
				return -1
			}
			return r
		}, norm.NFKD.String(text))
	}
	return norm.NFC.String(bare(cases.Fold().String(bare(text))))
}

// plainWords are the words of a text.
func plainWords(text string) []string {
	text = eastern.ReplaceAllString(plainly(text), " $0 ")
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	for i, word := range words {
		for len(word) > 64 { // so much of a word counts
			_, size := utf8.DecodeLastRuneInString(word)
			word = word[:len(word)-size]
		}
		words[i] = word
	}
	return words
}

// plainQuery are the phrases that a query asks for. A word that ends in * is a beginning.
func plainQuery(text string) (phrases [][]string) {
	for i, part := range quotes.Split(text, -1) {
		var quoted []string
		for _, at := range written.FindAllStringIndex(part, -1) {
			words := plainWords(part[at[0]:at[1]])
			rest := []rune(part[at[1]:])
			if n := len(words) - 1; n >= 0 && len(rest) > 0 && rest[0] == '*' && !eastern.MatchString(words[n]) &&
				(len(rest) == 1 || !unicode.IsLetter(rest[1]) && !unicode.IsNumber(rest[1])) {
				words[n] += "*"
			}
			quoted = append(quoted, words...)
			if i%2 == 1 {
				continue
			}
			var run []string // of characters without spaces
			for _, word := range words {
				if eastern.MatchString(word) {
					run = append(run, word)
					continue
				}
				phrases = append(phrases, run, []string{word})
				run = nil
			}
			phrases = append(phrases, run)
		}
		if i%2 == 1 {
			phrases = append(phrases, quoted)
		}
	}
	return slices.DeleteFunc(phrases, func(phrase []string) bool { return len(phrase) == 0 })
}

// plainlyFound says whether a text has all phrases.
func plainlyFound(words []string, phrases [][]string) bool {
	for _, phrase := range phrases {
		stands := false
		for i := 0; i+len(phrase) <= len(words) && !stands; i++ {
			stands = true
			for k, want := range phrase {
				begin, prefix := strings.CutSuffix(want, "*")
				stands = stands && (words[i+k] == want || prefix && strings.HasPrefix(words[i+k], begin))
			}
		}
		if !stands {
			return false
		}
	}
	return len(phrases) > 0
}

// What random messages and queries are made of.
var vocabulary = []string{
	"the", "a", "and", "cat", "catalog", "Cathedral", "naïve", "naive", "Straße", "STRASSE", "élan", "e\u0301lan", "ﬁle", "file", "don't", "x", "I", "12", "123", "½", "Ⅷ", "ＦＵＬＬ", "full",
	"你好", "世界", "你好世界", "北京大学", "大学", "北", "京", "学生。", "東京タワー", "ﾀﾜｰ", "か", "が", "か\u3099", "ひらがな", "안녕하세요", "안녕", "\u1112\u1161\u11ab", "한", "สวัสดี", "สวัส",
	"مرحبا", "مَرْحَبًا", "العالم", "أهلا", "اهلا", "привет", "Привет", "ПРИВЕТ", "мир", "ёлка", "елка", "Σίσυφος", "ΣΊΣΥΦΟΣ", "İstanbul", "istanbul",
	"snake_case", "case", "fmt.Println(\"hi\")", "for(i=0;i<n;i++)", "x*y", "http://a.example/b?c=d", "C++", "[]byte{0x1f}", "SELECT", "OR", "NOT", "NEAR", "NULL", "null",
	"😀", "👩‍👩‍👧", "🇩🇪", "abc😀def", "a\u200db", "—", "…", "\t", "\n",
	strings.Repeat("long", 40), strings.Repeat("long", 41), strings.Repeat("長", 100),
}

func randomText(random *rand.Rand, most int) string {
	var b strings.Builder
	for range 1 + random.IntN(most) {
		b.WriteString(vocabulary[random.IntN(len(vocabulary))])
		b.WriteString([]string{" ", " ", " ", "", "-", "\n"}[random.IntN(6)])
	}
	return b.String()
}

// randomQuery is a word, words, a phrase, a beginning, or rubbish.
func randomQuery(random *rand.Rand, said []string) string {
	part := func(text string) string { // some characters of it
		runes := []rune(text)
		from := random.IntN(len(runes))
		return string(runes[from : from+1+random.IntN(min(len(runes)-from, 12))])
	}
	one := said[random.IntN(len(said))]
	switch random.IntN(9) {
	case 0:
		return vocabulary[random.IntN(len(vocabulary))]
	case 1:
		return randomText(random, 3)
	case 2:
		return `"` + strings.ReplaceAll(part(one), `"`, " ") + `"`
	case 3:
		return `"` + randomText(random, 2)
	case 4:
		return part(one) + "*"
	case 5:
		return part(one) + " " + part(said[random.IntN(len(said))])
	case 6:
		return `"` + part(one) + `*" ` + part(one) + `* “` + part(one) + `”`
	case 7:
		rubbish := []string{`"`, `*`, `""`, `" "`, ` NEAR/2 `, ` OR `, ` NOT `, `-`, `:`, `words:`, `^`, `+`, `(`, `)`, `{`, `\`, `'`, `''`, `&`, `|`, `!`, `<->`, `:*`, "\x00", "\xff", "\u202e", `%`, `_`, `___p`, `;--`, `$1`, "́"}
		var b strings.Builder
		for range 1 + random.IntN(12) {
			b.WriteString(rubbish[random.IntN(len(rubbish))])
			if random.IntN(3) == 0 {
				b.WriteString(part(one))
			}
		}
		return b.String()
	}
	return part(one)
}

// Whatever was said and whatever is asked for: what is found is what a plain scan finds, on
// both databases, whether the index has it or not, and no query is an error.
func TestSearchFindsWhatAPlainScanFinds(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	storetest.EachConfig(t, func(t *testing.T, config store.Config) {
		random := rand.New(rand.NewPCG(seed, 1)) // the same on both
		ctx := context.Background()
		s := storetest.OpenConfig(t, config)
		db := database(t, config)
		skip := "UPDATE sqlite_sequence SET seq = seq + $1 WHERE name = 'messages'"
		if config.URL != "" {
			skip = "SELECT setval('messages_id_seq', (SELECT last_value FROM messages_id_seq) + $1)"
		}
		room := search.New(search.Config{}, s)
		threads := []string{newThread(t, s, "one"), newThread(t, s, "two")}
		var texts []string
		var ids []int64
		const many = 300
		for i := range many {
			text := randomText(random, 12)
			texts = append(texts, text)
			ids = append(ids, say(t, s, threads[i%2], text)...)
			if random.IntN(20) == 0 { // as when others had been said and deleted: the index has parts by ids
				if _, err := db.ExecContext(ctx, skip, 1<<(10+random.IntN(9))); err != nil {
					t.Fatal(err)
				}
			}
			if i == many*2/3 {
				if err := room.Finish(ctx, nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		words := make([][]string, len(texts))
		for i, text := range texts {
			words[i] = plainWords(text)
		}
		found := 0
		for range 200 {
			query := randomQuery(random, texts)
			phrases := plainQuery(strings.ToValidUTF8(query, "\ufffd"))
			var want []int64
			for i := range texts {
				if plainlyFound(words[i], phrases) {
					want = append(want, ids[i])
				}
			}
			found += len(want)
			slices.Reverse(want)
			if got := all(t, room, pluginsdk.SearchQuery{Text: query, Order: pluginsdk.SearchNewest}, 7); !slices.Equal(got, want) {
				t.Fatalf("%q %q: found %d, want %d", query, phrases, got, want)
			}
			got := all(t, room, pluginsdk.SearchQuery{Text: query}, 11)
			slices.SortFunc(got, func(a, b int64) int { return int(b - a) })
			if !slices.Equal(got, want) {
				t.Fatalf("%q %q: ranked %d, want %d", query, phrases, got, want)
			}
		}
		if found < 1000 {
			t.Errorf("the queries find only %d messages in all: they test nothing", found)
		}
		for _, query := range []string{strings.Repeat("x ", 50_000), strings.Repeat(`"`, 100_000), strings.Repeat("學", 40_000), strings.Repeat("a* ", 400), ""} {
			if _, err := room.Search(ctx, pluginsdk.SearchQuery{Text: query}); err != nil {
				t.Errorf("a query of %d bytes: %s", len(query), err)
			}
		}
	})
}

// What was said in a thread that was deleted is not found from that moment on, whether the
// index has it or not, although its rows go later.
func TestWhatIsGoingIsNotFound(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		r := search.New(search.Config{}, s)
		indexed, tail, kept := newThread(t, s, "indexed"), newThread(t, s, "tail"), newThread(t, s, "kept")
		say(t, s, indexed, "a walrus on the shore")
		want := say(t, s, kept, "a walrus at sea")
		if err := r.Finish(ctx, nil); err != nil {
			t.Fatal(err)
		}
		say(t, s, tail, "a walrus in the air")
		if found := all(t, r, pluginsdk.SearchQuery{Text: "walrus"}, 2); len(found) != 3 {
			t.Fatalf("found %v before anything is deleted", found)
		}
		for _, id := range []string{indexed, tail} {
			must[pluginsdk.Thread](t)(s.DeleteThread(ctx, id, "ann"))
		}
		for _, left := range []string{"everything", "nothing"} {
			for _, order := range []pluginsdk.SearchOrder{pluginsdk.SearchNewest, pluginsdk.SearchRanked} {
				if found := all(t, r, pluginsdk.SearchQuery{Text: "walrus", Order: order}, 2); !slices.Equal(found, want) {
					t.Errorf("%s, with %s of it left: found %v, want %v", order, left, found, want)
				}
			}
			for _, id := range []string{indexed, tail} {
				if err := s.RemoveThread(ctx, id); err != nil {
					t.Fatal(err)
				}
			}
		}
		sound(t, s)
	})
}
