package wire

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/seed-706843ae/harness/pluginsdk"
	pluginv1 "github.com/seed-706843ae/harness/proto/harness/plugin/v1"
)

// What a caller does with an error depends on its code: one that changes on
// the way is a delivery that is repeated for ever, or never.
func TestErrorCodesSurviveTheWire(t *testing.T) {
	for _, code := range []pluginsdk.Code{
		pluginsdk.CodeInvalid, pluginsdk.CodeNotFound, pluginsdk.CodeConflict, pluginsdk.CodeDenied,
		pluginsdk.CodeStale, pluginsdk.CodeExhausted, pluginsdk.CodeUnavailable, pluginsdk.CodeDeadline,
		pluginsdk.CodeCancelled, pluginsdk.CodeUnimplemented, pluginsdk.CodeInternal,
	} {
		sent := fmt.Errorf("while looking: %w", pluginsdk.Errorf(code, "the %s one", "ninth"))
		got := errorFrom(statusFrom(sent))
		if pluginsdk.CodeOf(got) != code {
			t.Errorf("code %s became %s", code, pluginsdk.CodeOf(got))
		}
		if got.Error() != "while looking: the ninth one" {
			t.Errorf("code %s: message became %q", code, got)
		}
	}
}

func TestErrorsWithoutACode(t *testing.T) {
	for _, row := range []struct {
		err  error
		want pluginsdk.Code
	}{
		{errors.New("plain"), pluginsdk.CodeInternal},
		{fmt.Errorf("ask: %w", context.DeadlineExceeded), pluginsdk.CodeDeadline},
		{fmt.Errorf("ask: %w", context.Canceled), pluginsdk.CodeCancelled},
		{&pluginsdk.Error{Code: "of_tomorrow", Message: "unknown code"}, pluginsdk.CodeInternal},
	} {
		got := errorFrom(statusFrom(row.err))
		if pluginsdk.CodeOf(got) != row.want || got.Error() != row.err.Error() {
			t.Errorf("%v became %s %q, want %s", row.err, pluginsdk.CodeOf(got), got, row.want)
		}
	}
}

func TestNoErrorStaysNoError(t *testing.T) {
	if statusFrom(nil) != nil || errorFrom(nil) != nil {
		t.Error("nil became an error")
	}
}

func TestEndedCallsAreFoundByErrorsIs(t *testing.T) {
	if err := errorFrom(status.Error(codes.DeadlineExceeded, "late")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v is not context.DeadlineExceeded", err)
	}
	if err := errorFrom(status.Error(codes.Canceled, "gone")); !errors.Is(err, context.Canceled) {
		t.Errorf("%v is not context.Canceled", err)
	}
}

// A plugin in another language may use codes that the contract does not.
func TestForeignCodesBecomeTheNearest(t *testing.T) {
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		if got := pluginsdk.CodeOf(errorFrom(status.Error(code, "x"))); got == "" {
			t.Errorf("%s has no code", code)
		}
	}
}

// An error travels in a header: too long, or not UTF-8, and the call would
// fail with a fault of the transport instead.
func TestLongAndBrokenMessagesAreClipped(t *testing.T) {
	got := clip(strings.Repeat("ä", maxErrorBytes))
	if len(got) > maxErrorBytes+len(" [cut]") || !utf8.ValidString(got) || !strings.HasSuffix(got, " [cut]") {
		t.Errorf("a long message became %d bytes ending in %q", len(got), got[len(got)-10:])
	}
	if got := clip("a\xffb"); got != "a\uFFFDb" {
		t.Errorf("a broken message became %q", got)
	}
}

// A call that meets a connection which was closed because the plugin died has
// not been cancelled by anybody: a gate must not take it for a verdict.
func TestClosedConnectionIsUnavailable(t *testing.T) {
	conn, err := grpc.NewClient("passthrough:///nowhere", grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	err = codedConn{conn}.Invoke(t.Context(), "/harness.Nothing/Nothing", &pluginv1.DescribeRequest{}, nil)
	if pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
		t.Errorf("got %v (%s)", err, pluginsdk.CodeOf(err))
	}
}
