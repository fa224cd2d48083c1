package launch

import (
	"log/slog"
	"reflect"
	"strings"
	"testing"
)

// A plugin that writes a line without end must not fill the daemon's memory.
func TestLongLinesAreCutAndTheNextIsWhole(t *testing.T) {
	var lines []string
	eachLine(strings.NewReader(strings.Repeat("x", 3*maxLine)+"\nnext\nlast"), func(line string) { lines = append(lines, line) })
	if len(lines) != 3 || len(lines[0]) != maxLine+len(" [cut]") || lines[1] != "next" || lines[2] != "last" {
		t.Errorf("%d lines, the first of %d bytes", len(lines), len(lines[0]))
	}
}

func TestOnlyTheLastLinesAreKept(t *testing.T) {
	out := newOutput(slog.New(slog.DiscardHandler), nil)
	for range 3 * keptLines {
		out.stderrLine("old")
	}
	out.stderrLine(strings.Repeat("x", 2*keptLine))
	out.stderrLine(`{"@level":"error","@message":"no token","@timestamp":"2026-01-02T03:04:05.000006Z","code":3}`)
	lines := out.lastLines()
	if len(lines) != keptLines || len(lines[keptLines-2]) != keptLine || lines[keptLines-1] != "ERROR no token code=3" {
		t.Errorf("kept %q", lines)
	}
}

// The trace of a panic is longer than what is kept: what an operator needs to read stands
// before it.
func TestTheFirstWordsOfAPanicAreKept(t *testing.T) {
	out := newOutput(slog.New(slog.DiscardHandler), nil)
	out.stderrLine("panic: an older one, which was recovered from")
	for _, line := range []string{"about to fail", "panic: no such map", "", "goroutine 1 [running]:"} {
		out.stderrLine(line)
	}
	for range 3 * keptLines {
		out.stderrLine("main.main()")
	}
	if got, want := strings.Join(out.lastWords(keptCrash), "|"), "panic: no such map|goroutine 1 [running]:|main.main()"; got != want {
		t.Errorf("last words are %q, want %q", got, want)
	}
	if got := out.lastWords(1); len(got) != 1 || got[0] != "panic: no such map" {
		t.Errorf("the last word is %q", got)
	}
}

func TestChunksBecomeLines(t *testing.T) {
	var lines []string
	w := &lineWriter{each: func(line string) { lines = append(lines, line) }}
	for _, chunk := range []string{"a", "b\nc\n\nd", "e\n", "unfinished"} {
		if n, err := w.Write([]byte(chunk)); n != len(chunk) || err != nil {
			t.Fatalf("wrote %d, %v", n, err)
		}
	}
	if want := []string{"ab", "c", "", "de"}; !reflect.DeepEqual(lines, want) {
		t.Errorf("lines %q", lines)
	}
	_, _ = w.Write([]byte(strings.Repeat("x", maxLine)))
	if len(lines) != 5 || len(w.pending) != 0 {
		t.Errorf("%d lines, %d bytes pending", len(lines), len(w.pending))
	}
}

func TestLinesOfTheLogAreRecognised(t *testing.T) {
	for _, row := range []struct {
		line  string
		level slog.Level
		ok    bool
	}{
		{`{"@level":"debug","@message":"m"}`, slog.LevelDebug, true},
		{`{"@level":"trace","@message":"m"}`, slog.LevelDebug, true},
		{`{"@level":"warn","@message":"m"}`, slog.LevelWarn, true},
		{`{"@level":"error","@message":"m","@timestamp":"yesterday"}`, slog.LevelError, true},
		{`{"@message":"m"}`, slog.LevelInfo, true},
		{`{"message":"another's"}`, 0, false},
		{`{"@message":`, 0, false},
		{`plain`, 0, false},
	} {
		record, ok := parseLine(row.line)
		if ok != row.ok || record.Level != row.level {
			t.Errorf("%s: %v, %s", row.line, ok, record.Level)
		}
	}
}

// A plugin's fields do not stand for what the daemon's log says of a line itself.
func TestALineOfAPluginSaysNotWhoseItIs(t *testing.T) {
	var text strings.Builder
	parser := logParser{log: slog.New(slog.NewTextHandler(&text, nil)).With("plugin", "flood")}
	parser.write(`{"@level":"info","@message":"m","plugin":"web","room":"daemon","level":"ERROR","time":"1","msg":"x","source":"s","mine":"2"}`)
	for _, want := range []string{"level=INFO msg=m plugin=flood ", " its_level=ERROR ", " its_plugin=web ", " its_room=daemon ", " mine=2"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in %s", want, text.String())
		}
	}
	for _, forged := range []string{" plugin=web", " room=", " level=ERROR", " msg=x", " source="} {
		if strings.Contains(text.String(), forged) {
			t.Errorf("%q is in %s", forged, text.String())
		}
	}
}

func TestTheTraceOfACrashIsAnError(t *testing.T) {
	var text strings.Builder
	parser := logParser{log: slog.New(slog.NewTextHandler(&text, nil))}
	for _, line := range []string{"ready", "panic: oh", "", "goroutine 1 [running]:"} {
		parser.write(line)
	}
	if got := strings.Count(text.String(), "level=ERROR"); got != 3 || !strings.Contains(text.String(), "level=INFO msg=ready") {
		t.Errorf("logged\n%s", text.String())
	}
}
