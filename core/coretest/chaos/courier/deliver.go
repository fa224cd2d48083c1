package courier

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Conduct is what the courier does with a delivery.
type Conduct string

// The ways to treat a delivery.
const (
	Acknowledge Conduct = "acknowledge" // carry it and say so
	Refuse      Conduct = "refuse"      // do not carry it; it is to be tried again
	Hang        Conduct = "hang"        // carry it and say nothing until well past the deadline
	Exit        Conduct = "exit"        // carry it and die before saying so
)

// overtime is how far past its deadline a call hangs.
const overtime = 3 * time.Second

// Call is one attempt of a delivery, as the courier writes it down before it
// answers.
type Call struct {
	DeliveryID string    `json:"deliveryId"`
	MessageID  int64     `json:"messageId"`
	Target     string    `json:"target"`
	Attempt    int       `json:"attempt"`
	Conduct    Conduct   `json:"conduct"`
	Content    string    `json:"content"`
	At         time.Time `json:"at"`
}

// Carried reports whether the person got the message.
func (c Call) Carried() bool { return c.Conduct != Refuse }

// about is what the conduct depends on, besides the seed: ids differ from one
// campaign to the next.
func (c Call) about() string { return c.Target + "\x00" + c.Content }

// Deliver carries a message, or not.
func (p *Plugin) Deliver(ctx context.Context, request *pluginsdk.DeliverRequest) (*pluginsdk.DeliverResponse, error) {
	call := Call{
		DeliveryID: request.Delivery.ID, MessageID: request.Message.ID, Target: request.Delivery.Place,
		Attempt: request.Delivery.Attempt, Content: request.Message.Content, At: time.Now(),
	}
	p.mu.Lock()
	call.Conduct = p.settings.conduct(call.about(), p.tries[call.about()])
	p.tries[call.about()]++
	if (call.Conduct == Exit || call.Conduct == Hang) && !p.mayDie() {
		call.Conduct = Acknowledge
	}
	err := record(p.settings.Dir, logFile, call)
	p.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("write down the delivery: %w", err)
	}
	switch call.Conduct {
	case Acknowledge:
	case Refuse:
		return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "refused on purpose")
	case Hang:
		<-ctx.Done()
		<-time.After(overtime)
		return nil, ctx.Err()
	case Exit:
		die()
	}
	return &pluginsdk.DeliverResponse{ExternalID: fmt.Sprintf("%s/%d", call.Target, call.MessageID)}, nil
}

// conduct decides how the courier treats its try (from 0) of something. From
// the fourth on it behaves.
func (s Settings) conduct(about string, try int) Conduct {
	const patience = 3
	if try >= patience {
		return Acknowledge
	}
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(about))                                  // never fails
	random := rand.New(rand.NewPCG(s.Seed, hash.Sum64()+uint64(try))) //nolint:gosec // a schedule, not a secret
	switch n := random.IntN(100); {
	case n < 10:
		return Refuse
	case n < 13:
		return Hang
	case n < 20:
		return Exit
	}
	return Acknowledge
}
