package discord

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const runPrefix = "run/" // and a run's id: its record

// tokenTime is how long an interaction can be answered by its token.
// Source: interactions/receiving-and-responding#followup-messages.
const tokenTime = 14 * time.Minute

// unknownLive stands for a live message that was about to be posted: whether it was is not
// known.
const unknownLive = "?"

// record is what is kept of a run that was asked for on Discord, until some time after its
// end.
type record struct {
	Thread    string     `json:"thread"`
	Channel   string     `json:"channel"` // where the answer goes
	Questions []question `json:"questions,omitempty"`
	// Live is the message that shows the answer while it is written; unknownLive, or empty.
	// If there is one, it came after Since.
	Live  string `json:"live,omitempty"`
	Since string `json:"since,omitempty"`
	// Parked is when the run goes on that waits for a plan, as Live says, in Unix time;
	// parkedUnknown, or 0: it does not wait for one.
	Parked int64 `json:"parked,omitempty"`
	// Answer is the interaction that waits for the answer.
	Answer *pending `json:"answer,omitempty"`
	// Last is a delivery that has changed the record: carried again, nothing is left to do.
	Last *receipt `json:"last,omitempty"`
	// Dropped is why the run has no answer, while what is shown of it could not be ended.
	Dropped string `json:"dropped,omitempty"`
	// Over says that the answer is there: nothing more is shown of the run.
	Over bool `json:"over,omitempty"`

	parking bool // it is about to be shown that it waits for a plan

	begun bool // this process has shown that it is at work
	ends  bool // its end is being delivered: no view of it begins any more
}

// replyTo is the message that an answer is a reply to: the last question, where the answer
// goes to its channel.
func (r *record) replyTo() string {
	if n := len(r.Questions); n > 0 && r.Questions[n-1].Channel == r.Channel {
		return r.Questions[n-1].Message
	}
	return ""
}

// asked is a message that was there before anything of the run was shown.
func (r *record) asked() string {
	last := ""
	for _, each := range r.Questions {
		if wire.Later(each.Message, last) {
			last = each.Message
		}
	}
	if last == "" {
		last = wire.IDAt(time.Now().Add(-clockSkew))
	}
	return last
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

// receipt is a delivery that was carried out, and its last message.
type receipt struct {
	Delivery string `json:"delivery"`
	Message  string `json:"message"`
}

// runs keeps the records: all of them in the plugin's state, and in memory those of runs
// that are not over.
type runs struct {
	state pluginsdk.State
	log   *slog.Logger

	writing sync.Mutex // held while a record is changed and stored, so that the last change is stored last

	mu     sync.Mutex // guards what follows; writing is taken before it
	known  map[string]*record
	tidied time.Time
}

// begin makes a run's record, or adds to the one that is there.
func (r *runs) begin(ctx context.Context, run string, by func(*record)) error {
	if _, ok, err := r.get(ctx, run); err != nil {
		return err
	} else if !ok {
		r.mu.Lock()
		if r.known[run] == nil {
			r.known[run] = new(record)
		}
		r.mu.Unlock()
	}
	return r.change(ctx, run, by)
}

// get is a run's record; false: the run was not asked for on Discord, or is long over.
func (r *runs) get(ctx context.Context, run string) (record, bool, error) {
	if known, ok := r.cached(run); ok {
		return known, true, nil
	}
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
	if !read.Over {
		r.known[run] = read
	}
	return read.copy(), true, nil
}

// cached is a record that is in memory.
func (r *runs) cached(run string) (record, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.known[run]
	if !ok {
		return record{}, false
	}
	return known.copy(), true
}

// note changes a record for this process alone, if it is in memory.
func (r *runs) note(run string, by func(*record)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.known[run]; ok {
		by(known)
	}
}

// change changes a record, which outlasts the process. A run that has none is left alone.
func (r *runs) change(ctx context.Context, run string, by func(*record)) error {
	if _, ok, err := r.get(ctx, run); err != nil || !ok {
		return err
	}
	r.writing.Lock()
	defer r.writing.Unlock()
	r.mu.Lock()
	known, ok := r.known[run]
	if !ok { // it is over
		r.mu.Unlock()
		return nil
	}
	by(known)
	value, err := json.Marshal(known)
	r.mu.Unlock()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, hostTime)
	defer cancel()
	if _, err = r.state.Put(ctx, &pluginsdk.PutStateRequest{Key: runPrefix + run, Value: value}); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if known.Over {
		delete(r.known, run)
	}
	return nil
}

// forget drops a record.
func (r *runs) forget(ctx context.Context, run string) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	r.mu.Lock()
	delete(r.known, run)
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, hostTime)
	defer cancel()
	_, err := r.state.Delete(ctx, &pluginsdk.DeleteStateRequest{Key: runPrefix + run})
	return err
}

// merge gives the questions of a run that was merged to the one that answers them, and
// returns that one's record.
func (r *runs) merge(ctx context.Context, merged record, into string) (other record, err error) {
	other, ok, err := r.get(ctx, into)
	if err != nil || ok && other.Over {
		return other, err
	}
	err = r.begin(ctx, into, func(answers *record) {
		answers.Thread, answers.Channel = merged.Thread, merged.Channel
		for _, each := range merged.Questions {
			if !slices.Contains(answers.Questions, each) {
				answers.Questions = append(answers.Questions, each)
			}
		}
		other = answers.copy()
	})
	return other, err
}

// all are the runs with a record.
func (r *runs) all(ctx context.Context) (ids []string, err error) {
	for after := ""; ; {
		list, cancel := context.WithTimeout(ctx, hostTime)
		page, err := r.state.List(list, &pluginsdk.ListStateRequest{Prefix: runPrefix, After: after, Limit: pageSize, KeysOnly: true})
		cancel()
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
	if r.Last != nil {
		last := *r.Last
		c.Last = &last
	}
	return c
}
