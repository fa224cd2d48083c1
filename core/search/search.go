// Package search finds what was said: texts, notifications and summaries, by the words in
// them. It makes the words (split), asks the database's index for the messages that may have
// them, and looks at those. The index follows what is said in small batches (indexer.go);
// what it does not have yet is read as it is.
package search

import (
	"cmp"
	"context"

	"log/slog"

	"slices"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Kinds are the kinds of messages that can be found.
var Kinds = []pluginsdk.MessageKind{pluginsdk.MessageText, pluginsdk.MessageNotification, pluginsdk.MessageSummary}

// roles are those that messages have.
var roles = []pluginsdk.Role{pluginsdk.RoleUser, pluginsdk.RoleAssistant, pluginsdk.RoleSystem}

// Store is what searching needs of the database.
type Store interface {
	// IndexMark says how far the index has come.
	IndexMark(ctx context.Context) (ledger.IndexMark, error)
	// IndexHorizon returns an id up to which no message can appear any more that is not
	// there now.
	IndexHorizon(ctx context.Context) (int64, error)
	// AddToIndex stores entries and moves the mark from where it is up to an id, together.
	// CodeConflict: it is elsewhere.
	AddToIndex(ctx context.Context, from ledger.IndexMark, upTo int64, entries []ledger.IndexEntry) error
	// SettleIndex brings what was added to the index where it is found fastest.
	SettleIndex(ctx context.Context) error
	// ResetIndex empties the index, for tokens by other rules.
	ResetIndex(ctx context.Context, rules int) error
	// IndexSpan returns ids between which, both exclusive, every message of the index lies
	// that was made from since on and before until. Zero times do not restrict.
	IndexSpan(ctx context.Context, since, until time.Time) (after, before int64, err error)
	// Indexed returns the ids of messages that the index has.
	Indexed(ctx context.Context, query ledger.IndexQuery) ([]int64, error)

	// SaidBetween calls each with what was said after one id and before another, until it
	// returns false: the newest first with newest, at most limit.
	SaidBetween(ctx context.Context, after, before int64, newest bool, limit int, each func(ledger.Said) bool) error
	// SaidOf calls each with what was said in the messages of these ids, the newest first,
	// until it returns false. What is not there any more is left out.
	SaidOf(ctx context.Context, ids []int64, each func(ledger.Said) bool) error
	// NewestMessage returns the greatest id of a message, 0 when there is none.
	NewestMessage(ctx context.Context) (int64, error)
	// ThreadNames returns the names of threads by id.
	ThreadNames(ctx context.Context, ids []string) (map[string]string, error)
}

// The bounds of one search. A field of Config that is zero is one of these.
const (
	defaultRanked    = 10_000
	defaultUnindexed = 10_000
	// defaultRead bounds the bytes of messages that one search reads, and beside them the words
	// of phrases that it compares: of a phrase that repeats itself, many with each word.
	defaultRead = 64 << 20
	// atATime is how many searches are made at a time: they read a lot, and turns read too.
	atATime = 2
	// defaultLimit and maxLimit are of a page; maxThreads of a query.
	defaultLimit = 20
	maxLimit     = 100
	maxThreads   = 1000
)

// Config says how to search and index. The zero one is right for a daemon.
type Config struct {
	// Ranked is how many of the newest messages that fit are ranked, and Unindexed how many
	// are read that the index does not have yet.
	Ranked, Unindexed int
	// Read is how many bytes one search reads, and how many words it compares beside them.
	Read int
	// Delay is how long the indexer waits for more to be said; Sweep how often it looks
	// although nobody has said that there is something.
	Delay, Sweep time.Duration
	// Fault, when set, is called between the steps of the indexer. Tests end it there.
	Fault func(step string)
	Log   *slog.Logger
}

// Room searches, and keeps the index. Its methods may be called concurrently.
type Room struct {
	config  Config
	store   Store
	places  chan struct{}
	indexer guard.Loop // woken: something was said
}

// New returns a room. It finds before Start and after Stop as well.
func New(config Config, store Store) *Room {
	config.Ranked = cmp.Or(config.Ranked, defaultRanked)
	config.Unindexed = cmp.Or(config.Unindexed, defaultUnindexed)
	config.Read = cmp.Or(config.Read, defaultRead)
	config.Delay = cmp.Or(config.Delay, 2*time.Second)
	config.Sweep = cmp.Or(config.Sweep, 30*time.Second)
	if config.Fault == nil {
		config.Fault = func(string) {}
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	return &Room{config: config, store: store, places: make(chan struct{}, atATime)}
}

// Search answers a query.
func (r *Room) Search(ctx context.Context, asked pluginsdk.SearchQuery) (*pluginsdk.SearchMessagesResponse, error) {
	asked, err := checked(asked)
	if err != nil {
		return nil, err
	}
	from, err := parseCursor(asked.After, asked.Order)
	if err != nil {
		return nil, err
	}
	s := &searching{Room: r, asked: asked, query: parse(asked.Text), from: from}
	if len(s.query.phrases) == 0 {
		return &pluginsdk.SearchMessagesResponse{}, nil
	}
	select {
	case r.places <- struct{}{}:
		defer func() { <-r.places }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for {
		s.matcher = s.query.matcher()
		if s.mark, err = r.mark(ctx); err != nil {
			return nil, err
		}
		response, err := s.page(ctx)
		if err != nil {
			return nil, err
		}
		// An index that was begun anew meanwhile may have been empty when it was asked.
		now, err := r.mark(ctx)
		if err != nil || now.Epoch == s.mark.Epoch {
			return response, err
		}
	}
}

// checked refuses a query with fields that say nothing, and fills in what it leaves out.
func checked(q pluginsdk.SearchQuery) (pluginsdk.SearchQuery, error) {
	q.Order = cmp.Or(q.Order, pluginsdk.SearchRanked)
	if q.Order != pluginsdk.SearchRanked && q.Order != pluginsdk.SearchNewest {
		return q, pluginsdk.Errorf(pluginsdk.CodeInvalid, "order: %.100q is none; want ranked or newest", q.Order)
	}
	for _, kind := range q.Kinds {
		if !slices.Contains(Kinds, kind) {
			return q, pluginsdk.Errorf(pluginsdk.CodeInvalid, "kinds: messages of the kind %.100q are not searched; want text, notification or summary", kind)
		}
	}
	for _, role := range q.Roles {
		if !slices.Contains(roles, role) {
			return q, pluginsdk.Errorf(pluginsdk.CodeInvalid, "roles: %.100q is none; want user, assistant or system", role)
		}
	}
	q.Kinds, q.Roles = onceEach(q.Kinds), onceEach(q.Roles)
	if len(q.ThreadIDs) > maxThreads {
		return q, pluginsdk.Errorf(pluginsdk.CodeInvalid, "threadIds: at most %d, these are %d", maxThreads, len(q.ThreadIDs))
	}
	if q.Limit < 0 {
		return q, pluginsdk.Errorf(pluginsdk.CodeInvalid, "limit: %d is less than nothing", q.Limit)
	}
	q.Limit = min(cmp.Or(q.Limit, defaultLimit), maxLimit)
	return q, nil
}

// onceEach returns the values without repetitions.
func onceEach[T cmp.Ordered](values []T) []T {
	return slices.Compact(slices.Sorted(slices.Values(values)))
}

// mark is how far the index has come that can be asked: one by other rules cannot.
func (r *Room) mark(ctx context.Context) (ledger.IndexMark, error) {
	mark, err := r.store.IndexMark(ctx)
	if mark.Rules != Rules {
		mark.MessageID = 0
	}
	return mark, err
}

// searching is one search.
type searching struct {
	*Room

	asked   pluginsdk.SearchQuery
	query   *query
	matcher *matcher
	from    cursor
	mark    ledger.IndexMark
	read    int // bytes of messages, and comparisons
}

// found is a message that the query asks for. Its text is read again when it is shown.
type found struct {
	id    int64
	score float64
}

// isBetter says which of two comes first when they are ranked.
func (f found) isBetter(than found) bool {
	return f.score > than.score || f.score == than.score && f.id > than.id
}

func (s *searching) page(ctx context.Context) (*pluginsdk.SearchMessagesResponse, error) {
	if s.asked.Order == pluginsdk.SearchNewest {
		return s.newest(ctx)
	}
	return s.ranked(ctx)
}

// newest reads from the newest message on until a page is full.
func (s *searching) newest(ctx context.Context) (*pluginsdk.SearchMessagesResponse, error) {
	page, cut, err := s.walk(ctx, s.from.ID, s.asked.Limit+1)
	if err != nil {
		return nil, err
	}
	next := ""
	if len(page) > s.asked.Limit {
		page = page[:s.asked.Limit]
		next = cursor{ID: page[len(page)-1].id}.String()
	}
	hits, err := s.hits(ctx, page)
	return &pluginsdk.SearchMessagesResponse{Hits: hits, Next: next, Newest: cut}, err
}

// ranked ranks the newest messages that fit, and returns those behind the cursor.
func (s *searching) ranked(ctx context.Context) (*pluginsdk.SearchMessagesResponse, error) {
	top := s.from.Top
	if top == 0 {
		var err error
		if top, err = s.store.NewestMessage(ctx); err != nil {
			return nil, err
		}
	}
	fit, cut, err := s.walk(ctx, top+1, s.config.Ranked+1)
	if err != nil {
		return nil, err
	}
	if len(fit) > s.config.Ranked {
		fit, cut = fit[:s.config.Ranked], true
	}
	if s.asked.After != "" {
		before := found{s.from.ID, s.from.Score}
		fit = slices.DeleteFunc(fit, func(f found) bool { return f == before || f.isBetter(before) })
	}
	slices.SortFunc(fit, func(a, b found) int {
		if a.isBetter(b) {
			return -1
		}
		return 1
	})
	next := ""
	if len(fit) > s.asked.Limit {
		fit = fit[:s.asked.Limit]
		last := fit[len(fit)-1]
		next = cursor{ID: last.id, Score: last.score, Top: top}.String()
	}
	hits, err := s.hits(ctx, fit)
	return &pluginsdk.SearchMessagesResponse{Hits: hits, Next: next, Newest: cut}, err
}

// walk returns the newest messages before an id that the query asks for, at most limit.
// Cut says that there may be more although these are fewer.
func (s *searching) walk(ctx context.Context, before int64, limit int) (all []found, cut bool, err error) {
	look := func(said ledger.Said) bool {
		s.read += len(said.Content)
		if s.selects(said) {
			if score, ok := s.matcher.match(said.Content, nil); ok {
				all = append(all, found{said.ID, score})
			}
			s.read += s.matcher.work
		}
		return len(all) < limit && s.read < s.config.Read && ctx.Err() == nil
	}
	if before > s.mark.MessageID+1 { // what is not indexed yet
		seen, oldest := 0, before
		if err := s.store.SaidBetween(ctx, s.mark.MessageID, before, true, s.config.Unindexed, func(said ledger.Said) bool {
			seen, oldest = seen+1, said.ID
			return look(said)
		}); err != nil {
			return nil, false, err
		}
		if s.done(len(all), limit) {
			return all, s.read >= s.config.Read, ctx.Err()
		}
		cut = seen == s.config.Unindexed && oldest > s.mark.MessageID+1
		before = s.mark.MessageID + 1
	}
	after, end, err := s.store.IndexSpan(ctx, s.asked.Since, s.asked.Until)
	if err != nil {
		return nil, false, err
	}
	ask := ledger.IndexQuery{All: s.query.terms(s.asked), After: after, Before: min(before, end), Limit: min(2*limit, s.config.Ranked+1)}
	for {
		ids, err := s.store.Indexed(ctx, ask)
		if err != nil {
			return nil, false, err
		}
		if err := s.store.SaidOf(ctx, ids, look); err != nil {
			return nil, false, err
		}
		if s.done(len(all), limit) || len(ids) < ask.Limit {
			return all, cut || s.read >= s.config.Read, ctx.Err()
		}
		ask.Before = ids[len(ids)-1]
		ask.Limit = min(4*ask.Limit, s.config.Ranked)
	}
}

func (s *searching) done(found, limit int) bool { return found >= limit || s.read >= s.config.Read }

// selects reports whether a message is one of those that the query looks at.
func (s *searching) selects(said ledger.Said) bool {
	q := s.asked
	return !said.Going && (len(q.ThreadIDs) == 0 || slices.Contains(q.ThreadIDs, said.ThreadID)) &&
		(len(q.Roles) == 0 || slices.Contains(q.Roles, said.Role)) &&
		(len(q.Kinds) == 0 || slices.Contains(q.Kinds, said.Kind)) &&
		(q.Author == "" || q.Author == said.Author) &&
		(q.Since.IsZero() || !said.CreatedAt.Before(q.Since)) &&
		(q.Until.IsZero() || said.CreatedAt.Before(q.Until))
}

// hits shows what was found, in its order. What has been deleted meanwhile is left out.
func (s *searching) hits(ctx context.Context, page []found) ([]pluginsdk.SearchHit, error) {
	ids := make([]int64, len(page))
	for i, f := range page {
		ids[i] = f.id
	}
	slices.SortFunc(ids, func(a, b int64) int { return cmp.Compare(b, a) })
	shown, threads := make(map[int64]pluginsdk.SearchHit), make(map[string]bool)
	err := s.store.SaidOf(ctx, ids, func(said ledger.Said) bool {
		if said.Going {
			return true
		}
		text, marks := snippet(s.matcher, said.Content)
		shown[said.ID] = pluginsdk.SearchHit{
			MessageID: said.ID, ThreadID: said.ThreadID, Role: said.Role, Kind: said.Kind, Author: said.Author, RunID: said.RunID,
			Snippet: text, Marks: marks, CreatedAt: said.CreatedAt,
		}
		threads[said.ThreadID] = true
		return true
	})
	if err != nil || len(shown) == 0 {
		return nil, err
	}
	var named []string
	for id := range threads {
		named = append(named, id)
	}
	names, err := s.store.ThreadNames(ctx, named)
	if err != nil {
		return nil, err
	}
	var hits []pluginsdk.SearchHit
	for _, f := range page {
		if hit, ok := shown[f.id]; ok {
			hit.ThreadName = names[hit.ThreadID]
			hits = append(hits, hit)
		}
	}
	return hits, nil
}
