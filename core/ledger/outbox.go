package ledger

import (
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Lane is what waits for one target of a plugin. Its deliveries are carried
// one at a time, in the order of their messages.
type Lane struct {
	Plugin string
	Target string // the plugin's own default when empty
	// NotBefore is when the first of them is due; zero: now.
	NotBefore time.Time
}

// Due is the delivery that a lane attempts next.
type Due struct {
	ID        string    // empty when nothing waits
	NotBefore time.Time // zero: now
}

// Outgoing is a delivery whose attempt is counted, with what it carries.
type Outgoing struct {
	// Found is false when the delivery does not wait any more.
	Found bool

	Delivery pluginsdk.Delivery
	Thread   pluginsdk.Thread
	// Message has no id when it is not stored any more.
	Message pluginsdk.Message
}
