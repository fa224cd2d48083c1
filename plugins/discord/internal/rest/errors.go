package rest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Error is a request that failed. Its words name the route, and hold no secret: neither
// the bot's token nor those of interactions, which are in addresses.
type Error struct {
	Status     int           // of HTTP; 0 when there was no answer
	Code       int           // Discord's own: topics/opcodes-and-status-codes#json
	Message    string        // in Discord's words, or what kept an answer from coming
	RetryAfter time.Duration // of 429: when it can be tried again
	route      string
	cause      error // the context's end
}

// Error says what was asked and what came of it.
func (e *Error) Error() string {
	words := e.Message
	switch {
	case e.Status == http.StatusUnauthorized && !slices.Contains(gone, e.Code):
		words = fmt.Sprintf("Discord refuses the bot's token (401 %s); set the token that the Developer Portal shows", words)
	case e.Status == http.StatusTooManyRequests:
		words = fmt.Sprintf("Discord's rate limit: %s; it can be tried again in %s", words, e.RetryAfter.Round(time.Millisecond))
	case e.Code != 0:
		words = fmt.Sprintf("Discord answered %d: %s (%d)", e.Status, words, e.Code)
	case e.Status != 0:
		words = fmt.Sprintf("Discord answered %d: %s", e.Status, words)
	}
	if e.route == "" {
		return words
	}
	return e.route + ": " + words
}

// Unwrap is the context's end, when that was it.
func (e *Error) Unwrap() error { return e.cause }

// Discord's own codes for what is not there: accounts, applications, channels, guilds,
// messages, users, emojis, webhooks, interactions, commands, and the token of an interaction that is over.
// Source: topics/opcodes-and-status-codes#json.
var gone = []int{10002, 10003, 10004, 10008, 10013, 10014, 10015, 10062, 10063, 50027}

// Gone reports whether Discord says that what the request named is not there, or not any
// more. A 404 that is not in Discord's words, such as that of a wrong Base, is not that.
func Gone(err error) bool {
	var e *Error
	return errors.As(err, &e) && slices.Contains(gone, e.Code)
}

// Forbidden reports whether the bot lacks a permission.
func Forbidden(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == http.StatusForbidden
}

// Passing reports whether the same request may succeed later, and nobody need do
// anything for it: no answer, Discord's own trouble, a rate limit.
func Passing(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Status == 0 || e.Status == http.StatusTooManyRequests || e.Status >= 500)
}

// Code is what the contract calls the error. A token that is refused is unavailable: a
// new one makes the same request succeed.
func Code(err error) pluginsdk.Code {
	var e *Error
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &e):
		return pluginsdk.CodeInternal
	case Gone(err), e.Status == http.StatusNotFound:
		return pluginsdk.CodeNotFound
	case Forbidden(err):
		return pluginsdk.CodeDenied
	case e.Status == http.StatusTooManyRequests:
		return pluginsdk.CodeExhausted
	case e.Status >= 300 && e.Status < 500 && e.Status != http.StatusUnauthorized:
		return pluginsdk.CodeInvalid
	}
	return pluginsdk.CodeUnavailable
}

// refusal is what Discord says in the body of a refusal.
// Source: reference#error-messages, topics/rate-limits#exceeding-a-rate-limit.
type refusal struct {
	Code       int             `json:"code"`
	Message    string          `json:"message"`
	Errors     json.RawMessage `json:"errors"`
	RetryAfter float64         `json:"retry_after"` // seconds
	Global     bool            `json:"global"`
}

// maxWords bounds what is repeated of Discord's words, in bytes.
const maxWords = 500

// words are the refusal's, with the fields that are wrong. status stands in for those of
// an answer that is not Discord's JSON.
func (r refusal) words(status int) string {
	words := r.Message
	if words == "" {
		words = http.StatusText(status)
	}
	var tree map[string]any
	if json.Unmarshal(r.Errors, &tree) == nil {
		if wrong := fields("", tree); len(wrong) > 0 {
			slices.Sort(wrong)
			words += ": " + strings.Join(wrong, "; ")
		}
	}
	if len(words) > maxWords {
		words = strings.ToValidUTF8(words[:maxWords], "") + "…"
	}
	return words
}

// fields are the leaves of a tree of errors, with their paths.
func fields(path string, tree map[string]any) []string {
	var wrong []string
	for name, below := range tree {
		switch below := below.(type) {
		case map[string]any:
			wrong = append(wrong, fields(strings.TrimPrefix(path+"."+name, "."), below)...)
		case []any: // _errors
			for _, item := range below {
				if leaf, ok := item.(map[string]any); ok {
					wrong = append(wrong, fmt.Sprintf("%s: %v", path, leaf["message"]))
				}
			}
		}
	}
	return wrong
}
