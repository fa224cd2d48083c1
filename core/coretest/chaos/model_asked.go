package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/chaos/check"
	"github.com/seed-706843ae/harness/core/fakeapi"
)

// deed answers for an agent that is told to do something nothing allows; is: it is. It
// calls a command that appends a line to a file, and says that it is done once it has a
// result, whatever that is. What it was told of an earlier attempt makes no difference: who
// keeps it from doing a thing twice is the question that it asks.
func (m *model) deed(t turn) (reply fakeapi.Reply, is bool) {
	deed := check.DeedMarker.FindString(t.newest)
	if deed == "" || t.results > 0 || len(t.markers) == 0 {
		return reply, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tries = append(m.tries, check.Try{Marker: t.markers[len(t.markers)-1], Deed: deed, At: time.Now()})
	return fakeapi.Reply{Tools: []fakeapi.ToolUse{{Name: "Bash", Input: encoded(map[string]string{
		"command": "echo " + deed + " $(date +%s%N) >> " + m.deeds, "description": "Do " + deed,
	})}}}, true
}

// tried is what of that agents have tried so far.
func (m *model) tried() []check.Try {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.tries)
}

// done reads the file of the deeds, in which a line is one that was done.
func (m *model) done() (deeds []check.Deed, err error) {
	file, err := os.Open(m.deeds)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		name, at, _ := strings.Cut(lines.Text(), " ")
		nanoseconds, err := strconv.ParseInt(at, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the file of the deeds has the line %q: %w", lines.Text(), err)
		}
		deeds = append(deeds, check.Deed{Name: name, At: time.Unix(0, nanoseconds)})
	}
	return deeds, lines.Err()
}
