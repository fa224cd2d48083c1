package events

import (
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Selection says which events a subscriber is told. The zero value is all.
type Selection struct {
	// Types are event types (a trailing * matches any rest); none means all.
	Types []string
	// Rules select from these: an event that matches any of them is told; none: all.
	// EventResync, of which the bus makes one for a subscriber, is always told.
	Rules []pluginsdk.EventRule
	// Sources are the thread sources that a rule with Own means.
	Sources []string
}

// ThreadLabel is what rules can say of a thread. It never changes.
type ThreadLabel struct {
	Kind   pluginsdk.ThreadKind
	Source string
}

// thread is the label of an event's thread.
type thread struct {
	ThreadLabel

	known bool // of an event of a thread; false: nobody has asked, or it could not be found out
}

// run is what is known of the run that an event is about.
type run struct {
	about bool // the event is about a run
	kind  pluginsdk.RunKind
}

// runOf reads what a payload says of its run.
func runOf(payload any) run {
	if of, ok := payload.(interface{ OfRun() pluginsdk.RunKind }); ok {
		return run{about: true, kind: of.OfRun()}
	}
	return run{}
}

// threadOf returns the label of a thread, while a rule needs it.
func (b *Bus) threadOf(id string) thread {
	if id == "" || b.config.Thread == nil || b.asking.Load() == 0 {
		return thread{}
	}
	label, known := b.config.Thread(id)
	return thread{label, known}
}

// count notes that a subscriber with a selection has come, or gone. The lock is held.
func (b *Bus) count(of selection, by int64) {
	if of.labels {
		b.asking.Add(by)
	}
}

// selection is a Selection, prepared for passes.
type selection struct {
	Selection

	rules  []rule
	labels bool // a rule needs the labels of threads
}

// rule is an EventRule, prepared for matches.
type rule struct {
	pluginsdk.EventRule

	threads map[string]struct{} // of Threads
}

func newSelection(of Selection) selection {
	return selection{Selection: of}.with(of.Rules)
}

// with returns the selection with other rules.
func (s selection) with(rules []pluginsdk.EventRule) selection {
	s.Rules, s.rules, s.labels = rules, make([]rule, len(rules)), false
	for n, of := range rules {
		s.rules[n] = rule{EventRule: of, threads: make(map[string]struct{}, len(of.Threads))}
		for _, id := range of.Threads {
			s.rules[n].threads[id] = struct{}{}
		}
		s.labels = s.labels || of.Own || len(of.ThreadKinds) > 0
	}
	return s
}

// passes reports whether the subscriber is to be told the event.
func (s selection) passes(event entry) bool {
	if !ofTypes(s.Types, event.Type) {
		return false
	}
	return len(s.rules) == 0 || event.Type == pluginsdk.EventResync ||
		slices.ContainsFunc(s.rules, func(r rule) bool { return r.matches(event, s.Sources) })
}

// matches reports whether all fields of the rule that are set match the event. What is not
// known of an event matches: it is better told than lost.
func (r rule) matches(event entry, sources []string) bool {
	if !ofTypes(r.Types, event.Type) {
		return false
	}
	if len(r.RunKinds) > 0 && (!event.run.about || event.run.kind != "" && !slices.Contains(r.RunKinds, event.run.kind)) {
		return false
	}
	if len(r.threads) == 0 && len(r.ThreadKinds) == 0 && !r.Own {
		return true
	}
	if event.ThreadID == "" {
		return false
	}
	if len(r.threads) > 0 {
		if _, named := r.threads[event.ThreadID]; !named {
			return false
		}
	}
	of := event.thread
	return !of.known || (len(r.ThreadKinds) == 0 || slices.Contains(r.ThreadKinds, of.Kind)) && (!r.Own || slices.Contains(sources, of.Source))
}

// ofTypes reports whether a type matches one of the patterns; all match when there are none.
func ofTypes(patterns []string, kind pluginsdk.EventType) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(pattern string) bool {
		prefix, open := strings.CutSuffix(pattern, "*")
		return string(kind) == pattern || open && strings.HasPrefix(string(kind), prefix)
	})
}
