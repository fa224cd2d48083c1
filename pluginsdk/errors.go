package pluginsdk

import (
	"errors"
	"fmt"
)

// Code says what kind of outcome an error is. Codes survive the plugin wire;
// they are the names of the gRPC status codes they travel as
// (https://grpc.io/docs/guides/status-codes/).
type Code string

// The codes that the contract uses.
const (
	// CodeInvalid: the request itself is wrong; repeating it cannot help.
	CodeInvalid Code = "invalid_argument"
	// CodeNotFound: what the request names does not exist.
	CodeNotFound Code = "not_found"
	// CodeConflict: the key was used before with other content.
	CodeConflict Code = "already_exists"
	// CodeDenied: the caller lacks the capability; the message names it.
	CodeDenied Code = "permission_denied"
	// CodeStale: too late. The token is of a call that has ended, the run or the task has
	// gone on since.
	CodeStale Code = "failed_precondition"
	// CodeExhausted: a limit (queue, quota, size) is reached.
	CodeExhausted Code = "resource_exhausted"
	// CodeUnavailable: try again later.
	CodeUnavailable Code = "unavailable"
	// CodeDeadline: the call did not end within its deadline.
	CodeDeadline Code = "deadline_exceeded"
	// CodeCancelled: the caller gave up, or a person cancelled.
	CodeCancelled Code = "cancelled"
	// CodeUnimplemented: this side does not offer what was asked.
	CodeUnimplemented Code = "unimplemented"
	// CodeInternal: a fault of the other side.
	CodeInternal Code = "internal"
)

// Refuses reports whether an error of this code from OnCommand refuses the command: what was typed is wrong, names what is
// not there, or is not allowed, which is the answer to who gave it. It is shown as it is, and does not count as a failure of
// the plugin. An error of any other code is one.
func (c Code) Refuses() bool {
	switch c { //nolint:exhaustive // the others are failures
	case CodeInvalid, CodeNotFound, CodeConflict, CodeDenied, CodeStale, CodeExhausted:
		return true
	}
	return false
}

// Error is an error with a code for programs and a message for people.
type Error struct {
	Code    Code
	Message string
	// Cause, when set, is what Unwrap returns. It does not cross the wire.
	Cause error
}

// Errorf builds an Error. A %w verb sets Cause.
func Errorf(code Code, format string, args ...any) *Error {
	wrapped := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: wrapped.Error(), Cause: errors.Unwrap(wrapped)}
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns Cause.
func (e *Error) Unwrap() error { return e.Cause }

// CodeOf returns the code of the first Error in err's chain, CodeInternal for
// any other error, and the empty code for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}
