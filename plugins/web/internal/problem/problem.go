// Package problem answers requests that went wrong with problem documents
// (RFC 9457, https://www.rfc-editor.org/rfc/rfc9457).
package problem

import (
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Type is the content type of a problem document.
const Type = "application/problem+json"

// Write answers with a problem document: the status, its text as the title, and
// detail, words that say what is wrong and what to do.
func Write(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", Type)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(&huma.ErrorModel{ //nolint:errchkjson // plain strings; the client may be gone
		Title: http.StatusText(status), Status: status, Detail: detail,
	})
}

// statuses is what each outcome of a call to the host is in HTTP.
var statuses = map[pluginsdk.Code]int{
	pluginsdk.CodeInvalid:       http.StatusUnprocessableEntity,
	pluginsdk.CodeNotFound:      http.StatusNotFound,
	pluginsdk.CodeConflict:      http.StatusConflict,
	pluginsdk.CodeDenied:        http.StatusForbidden,
	pluginsdk.CodeStale:         http.StatusConflict,
	pluginsdk.CodeExhausted:     http.StatusTooManyRequests,
	pluginsdk.CodeUnavailable:   http.StatusServiceUnavailable,
	pluginsdk.CodeDeadline:      http.StatusGatewayTimeout,
	pluginsdk.CodeCancelled:     http.StatusServiceUnavailable,
	pluginsdk.CodeUnimplemented: http.StatusNotImplemented,
	pluginsdk.CodeInternal:      http.StatusInternalServerError,
}

// Status returns the HTTP status of an error of the host.
func Status(err error) int {
	if status, ok := statuses[pluginsdk.CodeOf(err)]; ok {
		return status
	}
	return http.StatusInternalServerError
}
