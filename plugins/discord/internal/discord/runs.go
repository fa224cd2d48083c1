package discord

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const runPrefix = "run/" // and a run's id: its record

// tokenTime is how long an interaction can be answered by its token.
// Source: interactions/receiving-and-responding#followup-messages.
const tokenTime = 14 * time.Minute

// unknownLive stands for a live message that was about to be posted: whether it was is not
// known.
const unknownLive = "?"

// record is what is kept of a run that was asked for on Discord, until its answer is there.
type record struct {
	Thread    string     `json:"thread"`
	Channel   string     `json:"channel"` // where the answer goes
	Questions []question `json:"questions,omitempty"`
	// Live is the message that shows the answer while it is written; unknownLive, or empty.
	Live string `json:"live,omitempty"`
	// Answer is the interaction that waits for the answer.
	Answer *pending `json:"answer,omitempty"`
}

// replyTo is the message that an answer is a reply to: the last question, where the answer
// goes to its channel.
func (r *record) replyTo() string {
	if n := len(r.Questions); n > 0 && r.Questions[n-1].Channel == r.Channel {
		return r.Questions[n-1].Message
	}
	return ""
}

// question is a message that is answered.
type question struct {
	Channel string `json:"channel"`
	Message string `json:"message"`
}

// pending is an interaction that Discord was told will be answered.
type pending struct {
	App   string    `json:"app"`
	Token string    `json:"token"`
	Until time.Time `json:"until"`
}

// runs keeps the records, in memory and in the plugin's state.
type runs struct {
	state pluginsdk.State
	log   *slog.Logger

	mu    sync.Mutex
	known map[string]*record // by run
}

// begin makes a run's record, or adds to the one that is there.
func (r *runs) begin(ctx context.Context, run string, note func(*record)) error {
	if _, _, err := r.get(ctx, run); err != nil {
		return err
	}
	return r.change(ctx, run, true, note)
}

// get is a run's record; false: the run was not asked for on Discord, or is over.
func (r *runs) get(ctx context.Context, run string) (record, bool, error) {
	r.mu.Lock()
	known, ok := r.known[run]
	if ok {
		defer r.mu.Unlock()
		return known.copy(), true, nil
	}
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, hostTime)
	defer cancel()
	entry, err := r.state.Get(ctx, &pluginsdk.GetStateRequest{Key: runPrefix + run})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
		return record{}, false, nil
	}
	if err != nil {
		return record{}, false, err
	}
	read := new(record)
	if err := json.Unmarshal(entry.Entry.Value, read); err != nil {
		r.log.Error("what was kept of a run cannot be read", "run", run, "err", err)
		return record{}, false, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.known[run]; ok { // somebody was faster
		return known.copy(), true, nil
	}
	r.known[run] = read
	return read.copy(), true, nil
}

// change changes a run's record; stored says whether that has to outlast the process. A run
// that has none gets one.
func (r *runs) change(ctx context.Context, run string, stored bool, by func(*record)) error {
	r.mu.Lock()
	known, ok := r.known[run]
	if !ok {
		known = new(record)
		r.known[run] = known
	}
	by(known)
	value, err := json.Marshal(known)
	r.mu.Unlock()
	if err != nil || !stored {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, hostTime)
	defer cancel()
	_, err = r.state.Put(ctx, &pluginsdk.PutStateRequest{Key: runPrefix + run, Value: value})
	return err
}

// forget drops the record of a run whose answer is there.
func (r *runs) forget(ctx context.Context, run string) error {
	r.mu.Lock()
	delete(r.known, run)
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, hostTime)
	defer cancel()
	_, err := r.state.Delete(ctx, &pluginsdk.DeleteStateRequest{Key: runPrefix + run})
	return err
}

// merge gives the questions of a run that was merged to the one that answers them.
func (r *runs) merge(ctx context.Context, run, into string) error {
	merged, ok, err := r.get(ctx, run)
	if err != nil || !ok {
		return err
	}
	if err := r.begin(ctx, into, func(other *record) {
		other.Thread, other.Channel = merged.Thread, merged.Channel
		if other.Answer == nil {
			other.Answer = merged.Answer
		}
		for _, each := range merged.Questions {
			if !slices.Contains(other.Questions, each) {
				other.Questions = append(other.Questions, each)
			}
		}
	}); err != nil {
		return err
	}
	return r.forget(ctx, run)
}

// all are the runs with a record.
func (r *runs) all(ctx context.Context) (ids []string, err error) {
	for after := ""; ; {
		page, err := r.state.List(ctx, &pluginsdk.ListStateRequest{Prefix: runPrefix, After: after, Limit: pageSize, KeysOnly: true})
		if err != nil {
			return nil, err
		}
		for _, entry := range page.Entries {
			ids, after = append(ids, strings.TrimPrefix(entry.Key, runPrefix)), entry.Key
		}
		if !page.More {
			return ids, nil
		}
	}
}

func (r *record) copy() record {
	c := *r
	c.Questions = slices.Clone(r.Questions)
	if r.Answer != nil {
		answer := *r.Answer
		c.Answer = &answer
	}
	return c
}
