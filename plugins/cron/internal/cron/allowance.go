package cron

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// wordsAnHour is how many times in words one person, or one plugin, has translated in an hour. Each costs a turn.
	wordsAnHour = 30
	// wordsOfAll is how many all of them have in an hour: the names that people write under are not proven everywhere.
	wordsOfAll = 120
)

// allowance counts the translations of the last hour, by whom they are for. A process that begins counts anew.
type allowance map[string][]time.Time

// take counts a translation, or says why it may not be made. The lock is held.
func (a allowance) take(who string, now time.Time) error {
	all := 0
	for one, times := range a {
		a[one] = slices.DeleteFunc(times, func(at time.Time) bool { return !at.After(now.Add(-time.Hour)) || at.After(now) })
		all += len(a[one])
	}
	maps.DeleteFunc(a, func(_ string, times []time.Time) bool { return len(times) == 0 })
	switch {
	case len(a[who]) >= wordsAnHour:
		return pluginsdk.Errorf(pluginsdk.CodeExhausted, "the agent has translated %d times in words for you in an hour, as many as it may. %s", wordsAnHour, formsThatWork)
	case all >= wordsOfAll:
		return pluginsdk.Errorf(pluginsdk.CodeExhausted, "the agent has translated %d times in words in an hour, as many as it may for all people together. %s", wordsOfAll, formsThatWork)
	}
	a[who] = append(a[who], now)
	return nil
}

// mayTranslate counts a translation for who gives a command, or says why it may not be made.
func (p *Plugin) mayTranslate(request *pluginsdk.OnCommandRequest) error {
	from := request.Message
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.words == nil {
		p.words = make(allowance)
	}
	return p.words.take(cmp.Or(from.Plugin, from.Source)+":"+from.Author, p.now())
}
