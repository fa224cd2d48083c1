package gateway

import (
	"fmt"
	"time"

	"github.com/gorilla/websocket"
)

// Fatal is an end after which connecting again cannot help until a person has done
// something.
type Fatal struct {
	Code   int    // of the websocket's close
	Reason string // what happened and what to do
}

func (f *Fatal) Error() string { return fmt.Sprintf("%s (%d)", f.Reason, f.Code) }

// fatal are the codes after which nobody may connect again.
// Source: topics/opcodes-and-status-codes#gateway-gateway-close-event-codes.
var fatal = map[int]string{
	4004: "Discord refuses the bot's token; set the token that the Developer Portal shows",
	4010: "Discord refuses the shard",
	4011: "the bot is in too many servers for one connection; Discord demands sharding, which is not supported",
	4012: "Discord does not offer version 10 of its gateway any more; a newer version of this plugin is needed",
	4013: "Discord does not know the intents",
	4014: "Discord does not allow the intents; switch them on in the Developer Portal, at Bot, Privileged Gateway Intents",
}

// over are the codes after which a session cannot be resumed, but another begun.
var over = map[int]bool{
	4007: true, // invalid seq
	4009: true, // timed out
}

// ended is why a connection ended that had been opened.
type ended struct {
	words       string
	established time.Time // when the session was ready or resumed; zero: it never was
	resuming    bool      // it was to be resumed
	invalid     bool      // op 9
	sessionOver bool      // another is to be begun
}

func (e *ended) Error() string { return e.words }

// closedBy is what the close code of Discord's means.
func closedBy(closed *websocket.CloseError, end *ended) error {
	if reason, ok := fatal[closed.Code]; ok {
		return &Fatal{Code: closed.Code, Reason: reason}
	}
	end.sessionOver = over[closed.Code]
	end.words = fmt.Sprintf("Discord closed the connection: %d", closed.Code)
	if closed.Text != "" {
		end.words += " " + closed.Text
	}
	return end
}
