package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/chaos/courier"
)

const (
	// places is how many runs of the daemon may be at work at a time, and crowdOfEach
	// how many of each class come at once to see whether they still can: some places are
	// kept for each class.
	places      = 4
	crowdOfEach = 3
	// crowdPatience is how long a crowd may take to fill the places.
	crowdPatience = 30 * time.Second
)

// gather returns those who will be the people of a crowd.
func (w *world) gather(ctx context.Context, o options) (people []*talker, err error) {
	for n := range crowdOfEach {
		t, err := newTalker(ctx, w, numberInCrowd(o, n))
		if err != nil {
			return nil, err
		}
		people = append(people, t)
	}
	return people, nil
}

// numberInCrowd is the number of a thread of the crowd's (from 0): above those that talk,
// and one whose part is cast's first.
func numberInCrowd(o options, n int) int { return (1+(o.threads-1)/len(cast)+n)*len(cast) + 1 }

// jobInCrowd is the key of a job of the crowd's (from 0).
func jobInCrowd(n int) string { return fmt.Sprintf("w-9%03d", n) }

// script makes the demo agent take its time with what a crowd says, as the model does.
func script(o options) ([]byte, error) {
	type rule struct {
		Match string `json:"match"`
		Delay int64  `json:"delay"` // milliseconds
		Text  string `json:"text"`
	}
	var rules []rule
	slow := func(marker string) {
		rules = append(rules, rule{Match: marker, Delay: longTurn.Milliseconds(), Text: "I have read " + marker + "."})
	}
	for n := range crowdOfEach {
		slow(fmt.Sprintf("m-T%02d-0001", numberInCrowd(o, n)))
		slow(jobInCrowd(2 * n))
		slow(jobInCrowd(2*n + 1))
	}
	return json.Marshal(rules)
}

// crowd has more come at once, when all is quiet, than there are places, and returns how
// many runs were at work at a time, at most. It returns once each has said what it
// wants.
func (w *world) crowd(ctx context.Context, people []*talker, e *employer) (atOnce int, err error) {
	for n, t := range people {
		if err := e.hire(courier.Job{Key: jobInCrowd(2 * n)}, ", "+wordLong); err != nil {
			return 0, err
		}
		if err := e.hire(courier.Job{Key: jobInCrowd(2*n + 1), Task: true, SourceID: "W1"}, ", "+wordLong); err != nil {
			return 0, err
		}
		m := t.next(1)
		m.content = "Please answer " + m.marker + ", " + wordLong + "."
		if err := t.say(ctx, m); err != nil {
			return 0, err
		}
	}
	_, err = until(ctx, crowdPatience, func() bool {
		n, err := w.database.atWork(ctx)
		if err != nil {
			return false // the writer is busy: ask again
		}
		atOnce = max(atOnce, n)
		return atOnce >= places
	})
	w.note("%d runs were at work at once", atOnce)
	return atOnce, err
}
