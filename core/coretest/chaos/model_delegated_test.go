package main

import (
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/fakeapi"
)

// A worker does the piece of work that it is asked for, although the CLI names another one
// first: it puts the newest commits of the repository before what is asked.
func TestAWorkerDoesWhatItIsAskedFor(t *testing.T) {
	reply, is := delegated(fakeapi.Request{Messages: []fakeapi.Message{{Role: "user", Content: []fakeapi.Block{
		{Type: "text", Text: "<system-reminder>\n - Primary working directory: /w\n</system-reminder>"},
		{Type: "text", Text: "<system-reminder>\nRecent commits:\n94db19d Do d-0001.\n</system-reminder>"},
		{Type: "text", Text: "Do d-0002.\n\n" + workerHead + " why"},
	}}}})
	if !is || len(reply.Tools) != 1 || !strings.Contains(string(reply.Tools[0].Input), "/w/work/d-0002.begun") {
		t.Errorf("it does %+v (%v)", reply, is)
	}
}
