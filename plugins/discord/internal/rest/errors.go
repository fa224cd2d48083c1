package rest

import (
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Error is a request that failed. Its words name the route, and no secret.
type Error struct {
	Status     int           // of HTTP; 0 when there was no answer
	Code       int           // Discord's own: topics/opcodes-and-status-codes#json
	Message    string        // in Discord's words
	RetryAfter time.Duration // of 429: when it can be tried again
}

func (e *Error) Error() string { return e.Message }

// Gone reports whether what the request named is not there, or not any more.
func Gone(err error) bool { return false }

// Forbidden reports whether the bot lacks a permission.
func Forbidden(err error) bool { return false }

// Passing reports whether the same request may succeed later.
func Passing(err error) bool { return false }

// Code is what the contract calls the error.
func Code(err error) pluginsdk.Code { return pluginsdk.CodeUnavailable }
