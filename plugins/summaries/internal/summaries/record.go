package summaries

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/summaries/internal/memory"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// openKey is where the record is kept of what is at work: one at a time. What is over is under recordPrefix and its number.
	openKey, recordPrefix = "memory-open", "memory/"
	// nextKey is where the number of the next record is.
	nextKey = "memory-next"
	// mostRecords is how many records are kept.
	mostRecords = 100
	// mostRecord is how many bytes a record has at most: an entry of the state has 1 MiB.
	mostRecord = 1<<20 - 1<<10
)

// errAtWork refuses to begin something while something else is at work.
var errAtWork = pluginsdk.Errorf(pluginsdk.CodeStale, "a consolidation, or its reverting, is at work already: /memory log shows what becomes of it")

// errTooLong says that a record is longer than what can be kept.
var errTooLong = errors.New("what would have to be kept of it is too long")

// phase says what is to be done next of a consolidation, or what has become of it.
type phase string

// The phases. From each that is not over, one step leads on: see Plugin.advance.
const (
	phaseAsked     phase = "asked"     // the files are to be read
	phaseTurning   phase = "turning"   // the agent is to be asked, or was
	phaseWriting   phase = "writing"   // it is decided what the files become
	phaseReverting phase = "reverting" // the files become again what they were

	phaseDone     phase = "done"
	phaseNothing  phase = "nothing to do"
	phaseFailed   phase = "failed"
	phaseReverted phase = "reverted"
)

// record is all that is known of a consolidation.
type record struct {
	N     int
	At    time.Time
	By    string // who has asked for it
	Phase phase
	Why   string // it has failed, or could not be reverted

	Request pluginsdk.StartTurnRequest
	Input   memory.Input
	LeftOut []memory.Note // lines without a person's message behind them
	Answer  memory.Answer
	Plan    memory.Plan
	CostUSD float64

	Tries         int   // how often a file was changed by somebody else while it was to be written
	Base          int64 // the newest change of the workspace before the files are written
	Memory, Inbox texts
	RevertedBy    string
	RevertedAt    time.Time
	RevertedInbox texts // what reverting makes of the inbox
}

// texts are what a file is before and after something.
type texts struct{ Before, After string }

func recordKey(n int) string { return fmt.Sprintf("%s%08d", recordPrefix, n) }

// open reads what is at work; nil: nothing is.
func (p *Plugin) open(ctx context.Context) (*record, error) { return p.record(ctx, openKey) }

func (p *Plugin) record(ctx context.Context, key string) (*record, error) {
	answer, err := p.host.State.Get(ctx, &pluginsdk.GetStateRequest{Key: key})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := new(record)
	if err := json.Unmarshal(answer.Entry.Value, r); err != nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInternal, "the record %s cannot be read: %w", key, err)
	}
	r.Input.Restore()
	return r, nil
}

// put keeps a record. One that is too long is errTooLong.
func (p *Plugin) put(ctx context.Context, key string, r *record, condition *pluginsdk.StateCondition) error {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false) // which makes six bytes of some characters
	if err := encoder.Encode(r); err != nil {
		return err
	}
	if encoded.Len() > mostRecord {
		return fmt.Errorf("consolidation %d: %w (%d bytes; %d are kept)", r.N, errTooLong, encoded.Len(), mostRecord)
	}
	_, err := p.host.State.Put(ctx, &pluginsdk.PutStateRequest{Key: key, Value: encoded.Bytes(), If: condition})
	return err
}

// enter puts a record to work, unless another one is.
func (p *Plugin) enter(ctx context.Context, r *record) error {
	err := p.put(ctx, openKey, r, &pluginsdk.StateCondition{})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeConflict {
		return errAtWork
	}
	if err == nil {
		p.memory.Store(true)
		p.soon()
	}
	return err
}

// leave keeps a record that is over among the others, and forgets the oldest.
func (p *Plugin) leave(ctx context.Context, r *record) error {
	r.Request, r.Input, r.Answer = pluginsdk.StartTurnRequest{}, memory.Input{}, memory.Answer{} // nobody needs them any more
	if err := p.put(ctx, recordKey(r.N), r, nil); err != nil {
		return err
	}
	keys, err := p.numbers(ctx)
	if err != nil {
		return err
	}
	for _, n := range keys[:max(0, len(keys)-mostRecords)] {
		if _, err := p.host.State.Delete(ctx, &pluginsdk.DeleteStateRequest{Key: recordKey(n)}); err != nil {
			return err
		}
	}
	_, err = p.host.State.Delete(ctx, &pluginsdk.DeleteStateRequest{Key: openKey})
	return err
}

// numbers are those of the records that are kept, in order.
func (p *Plugin) numbers(ctx context.Context) (all []int, err error) {
	page, err := p.host.State.List(ctx, &pluginsdk.ListStateRequest{Prefix: recordPrefix, Limit: 1000, KeysOnly: true})
	if err != nil {
		return nil, err
	}
	for _, entry := range page.Entries {
		n := 0
		if _, err := fmt.Sscanf(strings.TrimPrefix(entry.Key, recordPrefix), "%d", &n); err == nil {
			all = append(all, n)
		}
	}
	return all, nil
}

// next takes the number of the next record. Whoever takes one at the same time gets another; one that is not used in the end is
// left out.
func (p *Plugin) next(ctx context.Context) (n int, err error) {
	for range mostTries {
		condition := &pluginsdk.StateCondition{}
		kept, err := p.host.State.Get(ctx, &pluginsdk.GetStateRequest{Key: nextKey})
		switch pluginsdk.CodeOf(err) { //nolint:exhaustive // the others pass
		case "":
			condition.Revision = kept.Entry.Revision
			if n, err = strconv.Atoi(string(kept.Entry.Value)); err != nil {
				return 0, pluginsdk.Errorf(pluginsdk.CodeInternal, "the number of the next consolidation cannot be read: %w", err)
			}
		case pluginsdk.CodeNotFound:
			all, err := p.numbers(ctx)
			if err != nil {
				return 0, err
			}
			if n = 1; len(all) > 0 {
				n = all[len(all)-1] + 1
			}
		default:
			return 0, err
		}
		_, err = p.host.State.Put(ctx, &pluginsdk.PutStateRequest{Key: nextKey, Value: []byte(strconv.Itoa(n + 1)), If: condition})
		if pluginsdk.CodeOf(err) != pluginsdk.CodeConflict {
			return n, err
		}
	}
	return 0, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "others have asked for a consolidation %d times at the same moment; ask again", mostTries)
}
