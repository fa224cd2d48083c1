package live

import (
	"encoding/json"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// eventHello is the first frame of a connection. It has no payload: its
// position is where the client's subscription begins.
const eventHello pluginsdk.EventType = "hello"

// frame is an event as it goes over the wire, encoded once for all clients.
type frame struct {
	kind     pluginsdk.EventType
	threadID string
	above    []string // of an approval: the threads above that one, who follows them is told too
	position pluginsdk.Position
	delta    bool // a fragment that a later event repeats whole
	text     []byte
}

func newFrame(event pluginsdk.Event) (frame, error) {
	text, err := json.Marshal(event)
	if err != nil {
		return frame{}, err
	}
	var approval pluginsdk.ApprovalPayload
	if event.Type == pluginsdk.EventApprovalRequested || event.Type == pluginsdk.EventApprovalResolved {
		_ = json.Unmarshal(event.Data, &approval) // without it, only its own thread's followers are told
	}
	return frame{
		above:    approval.AboveThreadIDs,
		kind:     event.Type,
		threadID: event.ThreadID,
		position: pluginsdk.Position{Boot: event.Boot, Seq: event.Seq},
		delta:    event.Delta(),
		text:     text,
	}, nil
}

// markFrame is a frame without payload at a position: hello or resync.
func markFrame(kind pluginsdk.EventType, at pluginsdk.Position) frame {
	made, _ := newFrame(pluginsdk.Event{ // it has no payload that could be wrong
		Type: kind, Timestamp: time.Now().UTC(), Boot: at.Boot, Seq: at.Seq,
	})
	return made
}

// reached reports whether an event at position p is behind or at last, so that
// who knows last knows it. Positions of different boots cannot be compared.
func reached(last, p pluginsdk.Position) bool {
	return p.Boot != "" && p.Boot == last.Boot && p.Seq <= last.Seq
}
