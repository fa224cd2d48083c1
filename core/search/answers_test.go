package search_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/search"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Who restricts a search gets nothing else, and all of that, whether the index has it or
// not.
func TestASearchIsRestricted(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		one, two := newThread(t, s, "one"), newThread(t, s, "two")
		user := say(t, s, one, "found by a person")[0]
		agent := sayAs(t, s, one, pluginsdk.NewMessage{Role: pluginsdk.RoleAssistant, Kind: pluginsdk.MessageText, Content: "found by the agent"})
		summary := sayAs(t, s, two, pluginsdk.NewMessage{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageSummary, Content: "found in a summary"})
		sayAs(t, s, two, pluginsdk.NewMessage{Role: pluginsdk.RoleAssistant, Kind: pluginsdk.MessageThinking, Content: "found nowhere"})
		said, err := s.Accept(ctx, ledger.Acceptance{RunID: "R", Kind: pluginsdk.RunMessage, MaxWaiting: 9, Submission: pluginsdk.Submission{
			ThreadID: two, Source: "web", Key: "k", Content: "found by ann", Author: "ann",
		}})
		if err != nil {
			t.Fatal(err)
		}
		ann, now := said.MessageID, time.Now()
		room := search.New(search.Config{}, s)
		for range 2 {
			for name, c := range map[string]struct {
				query pluginsdk.SearchQuery
				want  []int64
			}{
				"nothing":                {pluginsdk.SearchQuery{}, []int64{ann, summary, agent, user}},
				"a thread":               {pluginsdk.SearchQuery{ThreadIDs: []string{one}}, []int64{agent, user}},
				"threads":                {pluginsdk.SearchQuery{ThreadIDs: []string{one, two, "none"}}, []int64{ann, summary, agent, user}},
				"roles":                  {pluginsdk.SearchQuery{Roles: []pluginsdk.Role{pluginsdk.RoleAssistant, pluginsdk.RoleSystem}}, []int64{summary, agent}},
				"a role again and again": {pluginsdk.SearchQuery{Roles: slices.Repeat([]pluginsdk.Role{pluginsdk.RoleAssistant}, 50_000)}, []int64{agent}},
				"a kind again and again": {pluginsdk.SearchQuery{Kinds: slices.Repeat([]pluginsdk.MessageKind{pluginsdk.MessageSummary}, 50_000)}, []int64{summary}},
				"a kind":                 {pluginsdk.SearchQuery{Kinds: []pluginsdk.MessageKind{pluginsdk.MessageSummary}}, []int64{summary}},
				"an author":              {pluginsdk.SearchQuery{Author: "ann"}, []int64{ann}},
				"since":                  {pluginsdk.SearchQuery{Since: now.Add(time.Hour)}, nil},
				"until":                  {pluginsdk.SearchQuery{Until: now.Add(-time.Hour)}, nil},
				"since and until":        {pluginsdk.SearchQuery{Since: now.Add(-time.Hour), Until: now.Add(time.Hour)}, []int64{ann, summary, agent, user}},
			} {
				c.query.Text, c.query.Order = "found", pluginsdk.SearchNewest
				if got := all(t, room, c.query, 3); !slices.Equal(got, c.want) {
					t.Errorf("%s: found %d, want %d", name, got, c.want)
				}
			}
			if err := room.Finish(ctx, nil); err != nil {
				t.Fatal(err)
			}
		}
		hit := must[*pluginsdk.SearchMessagesResponse](t)(room.Search(ctx, pluginsdk.SearchQuery{Text: "ann"})).Hits[0]
		if hit.ThreadName != "two" || hit.Author != "ann" || hit.RunID != "R" || hit.Role != pluginsdk.RoleUser || hit.CreatedAt.IsZero() {
			t.Errorf("shown %+v", hit)
		}
		for name, query := range map[string]pluginsdk.SearchQuery{
			"a kind that is not searched": {Text: "x", Kinds: []pluginsdk.MessageKind{pluginsdk.MessageThinking}},
			"an order":                    {Text: "x", Order: "oldest"},
			"a limit":                     {Text: "x", Limit: -1},
			"no page's next":              {Text: "x", After: "!"},
			"another order's next":        {Text: "x", After: "eyJpIjoxfQ"},
			"threads without end":         {Text: "x", ThreadIDs: make([]string, 2000)},
			"a role that there is not":    {Text: "x", Roles: []pluginsdk.Role{"root"}},
		} {
			if _, err := room.Search(ctx, query); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// A phrase that says the same again and again costs no more than any other query: less is
// looked at, which is said.
func TestAPhraseOfRepetitionsIsBounded(t *testing.T) {
	s := storetest.Open(t)
	thread := newThread(t, s, "one")
	for range 8 {
		say(t, s, thread, strings.Repeat("a ", 2000)+"end")
	}
	room := search.New(search.Config{Read: 1 << 20}, s)
	query := pluginsdk.SearchQuery{Text: `"` + strings.Repeat("a ", 200) + `end"`, Order: pluginsdk.SearchNewest}
	page := must[*pluginsdk.SearchMessagesResponse](t)(room.Search(t.Context(), query))
	if n := len(page.Hits); n == 0 || n > 3 || !page.Newest {
		t.Errorf("%d hits, only the newest: %v", n, page.Newest)
	}
	query.Text = `"a end"`
	if page := must[*pluginsdk.SearchMessagesResponse](t)(room.Search(t.Context(), query)); len(page.Hits) != 8 || page.Newest {
		t.Errorf("of a short one %d hits, only the newest: %v", len(page.Hits), page.Newest)
	}
}

// What fits best comes first: more of the words in less text. Of what is too much only the
// newest is ranked, and who searches is told so.
func TestWhatFitsBestComesFirst(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "one")
		ids := say(t, s, thread,
			"cats and a cat, and again a cat", "one cat"+strings.Repeat(" and much else", 60), "the cat", "the cat", "no dog")
		room := search.New(search.Config{Ranked: 3}, s)
		for range 2 {
			page := must[*pluginsdk.SearchMessagesResponse](t)(room.Search(ctx, pluginsdk.SearchQuery{Text: "cat"}))
			if got := all(t, room, pluginsdk.SearchQuery{Text: "cat"}, 1); !slices.Equal(got, []int64{ids[3], ids[2], ids[1]}) || !page.Newest {
				t.Errorf("ranked %d of %d, only the newest: %v", got, ids, page.Newest)
			}
			wide := search.New(search.Config{}, s)
			page = must[*pluginsdk.SearchMessagesResponse](t)(wide.Search(ctx, pluginsdk.SearchQuery{Text: "cat"}))
			if got := all(t, wide, pluginsdk.SearchQuery{Text: "cat"}, 1); !slices.Equal(got, []int64{ids[0], ids[3], ids[2], ids[1]}) || page.Newest {
				t.Errorf("ranked %d of %d, only the newest: %v", got, ids, page.Newest)
			}
			if err := room.Finish(ctx, nil); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A character can count as two words: ½ is 1 and 2. A * behind it asks for words that begin
// with the second one.
func TestAStarBehindACharacterOfTwoWords(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		room := search.New(search.Config{}, s)
		thread := newThread(t, s, "halves")
		say(t, s, thread, "12 eggs, 2 pans")
		want := say(t, s, thread, "1 egg, 24 pans")
		if got := all(t, room, pluginsdk.SearchQuery{Text: "½*", Order: pluginsdk.SearchNewest}, 7); !slices.Equal(got, want) {
			t.Errorf("found %d, want %d", got, want)
		}
	})
}

// A page goes on where the one before ended, also when more is said between them.
func TestPagesHaveNoGapsAndRepeatNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		thread := newThread(t, s, "one")
		room := search.New(search.Config{}, s)
		for _, order := range []pluginsdk.SearchOrder{pluginsdk.SearchNewest, pluginsdk.SearchRanked} {
			word := "word" + string(order)
			for i := range 30 {
				say(t, s, thread, word+strings.Repeat(" filler", i%7)+" "+strconv.Itoa(i))
			}
			query := pluginsdk.SearchQuery{Text: word, Order: order, Limit: 7}
			seen := make(map[int64]bool)
			for {
				page := must[*pluginsdk.SearchMessagesResponse](t)(room.Search(context.Background(), query))
				for _, hit := range page.Hits {
					if seen[hit.MessageID] {
						t.Errorf("%s: %d again", order, hit.MessageID)
					}
					seen[hit.MessageID] = true
				}
				say(t, s, thread, word, word+" "+word)
				if err := room.Finish(context.Background(), nil); err != nil {
					t.Fatal(err)
				}
				if query.After = page.Next; query.After == "" {
					break
				}
			}
			if len(seen) != 30 {
				t.Errorf("%s: %d of 30 on all pages", order, len(seen))
			}
		}
	})
}

// A snippet shows what was found, is short, whole characters, on one line.
func TestSnippetsShowWhatWasFound(t *testing.T) {
	s := storetest.Open(t)
	thread := newThread(t, s, "one")
	room := search.New(search.Config{}, s)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 150 {
		needle := fmt.Sprintf("nädel%d", i)
		text := randomText(random, 1+random.IntN(200)) + " " + needle + " " + randomText(random, 1+random.IntN(200))
		say(t, s, thread, text)
		page := must[*pluginsdk.SearchMessagesResponse](t)(room.Search(context.Background(), pluginsdk.SearchQuery{Text: "NADEL" + strconv.Itoa(i)}))
		if len(page.Hits) != 1 || len(page.Hits[0].Marks) == 0 {
			t.Fatalf("found %+v", page.Hits)
		}
		hit := page.Hits[0]
		if len(hit.Snippet) > 300 || !utf8.ValidString(hit.Snippet) || strings.ContainsAny(hit.Snippet, "\n\t\x1b") {
			t.Errorf("%d bytes: %q", len(hit.Snippet), hit.Snippet)
		}
		for _, mark := range hit.Marks {
			if mark.Start < 0 || mark.End > len(hit.Snippet) || mark.Start >= mark.End || hit.Snippet[mark.Start:mark.End] != needle {
				t.Errorf("marked %q (%+v) in %q", hit.Snippet[max(mark.Start, 0):min(mark.End, len(hit.Snippet))], mark, hit.Snippet)
			}
		}
	}
	say(t, s, thread, strings.Repeat("x", 5000)+" "+strings.Repeat("學", 2000))
	for _, query := range []string{strings.Repeat("x", 5000), strings.Repeat("學", 300)} {
		page := must[*pluginsdk.SearchMessagesResponse](t)(room.Search(context.Background(), pluginsdk.SearchQuery{Text: query}))
		if len(page.Hits) != 1 || len(page.Hits[0].Snippet) > 300 || !utf8.ValidString(page.Hits[0].Snippet) || len(page.Hits[0].Marks) != 1 {
			t.Errorf("found %+v", page.Hits)
		}
	}
}

// A message of which the index would have to keep the most, for its length, stops nothing:
// it is found by how it begins, and so is what is said after it.
func TestNoMessageStopsTheIndex(t *testing.T) {
	var letters []rune // of two bytes each, no two of which are the same when folded
	for r := rune(0x0400); r < 0x0800; r++ {
		if unicode.IsLower(r) && r < 0x0460 || unicode.Is(unicode.Lo, r) && norm.NFKD.IsNormalString(string(r)) {
			letters = append(letters, r)
		}
	}
	storetest.EachConfig(t, func(t *testing.T, config store.Config) {
		ctx := t.Context()
		s := storetest.OpenConfig(t, config)
		if config.URL != "" { // as after very many messages: the index has their era before each word
			if _, err := database(t, config).ExecContext(ctx, "SELECT setval('messages_id_seq', $1)", int64(1)<<28); err != nil {
				t.Fatal(err)
			}
		}
		random := rand.New(rand.NewPCG(5, 6))
		var short, mixed strings.Builder
		for short.Len() < 400<<10 {
			short.WriteRune(letters[random.IntN(len(letters))])
			short.WriteByte(' ')
		}
		for mixed.Len() < 400<<10 {
			mixed.WriteRune(rune(0x4E00 + random.IntN(20_000)))
			mixed.WriteByte("abcdefghijklmnopqrstuvwxyz0123456789"[random.IntN(36)])
		}
		ids := say(t, s, newThread(t, s, "one"), "begins "+short.String(), "begins "+mixed.String(), "begins, and says no more")
		room := search.New(search.Config{}, s)
		if err := room.Finish(ctx, nil); err != nil {
			t.Fatal(err)
		}
		slices.Reverse(ids)
		if got := all(t, room, pluginsdk.SearchQuery{Text: "begins", Order: pluginsdk.SearchNewest}, 10); !slices.Equal(got, ids) {
			t.Errorf("found %d, want %d", got, ids)
		}
	})
}

// The longest message can be stored in the index, whatever is in it, and is found by how it
// begins.
func TestLongMessagesAreIndexed(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "one")
		random := rand.New(rand.NewPCG(3, 4))
		var words, chinese strings.Builder
		for words.Len() < 300<<10 {
			fmt.Fprintf(&words, "%s ", strconv.FormatInt(random.Int64N(1<<20), 36))
		}
		for chinese.Len() < 300<<10 {
			chinese.WriteRune(rune(0x4E00 + random.IntN(20_000)))
		}
		ids := say(t, s, thread, "begins "+words.String(), "begins "+chinese.String(), "begins "+strings.Repeat("ﷺ", 30_000), "begins "+strings.Repeat("éß ", 100_000))
		room := search.New(search.Config{}, s)
		if err := room.Finish(ctx, nil); err != nil {
			t.Fatal(err)
		}
		slices.Reverse(ids)
		if got := indexed(t, s, "begins"); !slices.Equal(got, ids) {
			t.Errorf("indexed %d, want %d", got, ids)
		}
		if got := all(t, room, pluginsdk.SearchQuery{Text: "begins", Order: pluginsdk.SearchNewest}, 10); !slices.Equal(got, ids) {
			t.Errorf("found %d, want %d", got, ids)
		}
	})
}
