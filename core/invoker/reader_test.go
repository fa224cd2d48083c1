package invoker

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReadLines(t *testing.T) {
	long := strings.Repeat("x", 300_000)
	for name, test := range map[string]struct {
		input string
		want  []string
	}{
		"empty":         {"", nil},
		"one":           {"a\n", []string{"a"}},
		"blank between": {"a\n\nb\n", []string{"a", "b"}},
		"no end":        {"a\nb", []string{"a", "b"}},
		"long":          {long + "\n" + long + "y\nz\n", []string{long, long + "y", "z"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			err := readLines(iotest.HalfReader(strings.NewReader(test.input)), 1<<20, func(line []byte) { got = append(got, string(line)) })
			if err != nil || strings.Join(got, "|") != strings.Join(test.want, "|") {
				t.Errorf("%d lines, %v", len(got), err)
			}
		})
	}
}

func TestReadLinesBoundsALine(t *testing.T) {
	endless := io.LimitReader(endlessReader{}, 1<<30)
	if err := readLines(endless, 1<<20, func([]byte) {}); !errors.Is(err, errLineTooLong) {
		t.Errorf("error %v", err)
	}
}

type endlessReader struct{}

func (endlessReader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestTailKeepsTheEnd(t *testing.T) {
	var kept tail
	for range 100 {
		_, _ = kept.Write([]byte(strings.Repeat("-", 100)))
	}
	_, _ = kept.Write([]byte("the end\n"))
	got := kept.String()
	if !strings.HasPrefix(got, "…") || !strings.HasSuffix(got, "the end") || len(got) > tailSize+len("…") {
		t.Errorf("kept %q", got)
	}
}
