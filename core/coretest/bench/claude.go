package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/fakeapi"
)

// claudeTurns measures turns through the daemon beside turns of the same CLI
// driven bare with the same prompts, one after the other, so that the overhead
// is a difference within one run.
func (b *bench) claudeTurns() (err error) {
	if b.claude == "" {
		b.row("real CLI", "left out: HARNESS_TEST_CLAUDE is not set (.ci/test-env sets it)")
		return nil
	}
	api := fakeapi.New()
	if err := api.Listen("127.0.0.1:0"); err != nil {
		return err
	}
	defer api.Close()
	home, err := os.MkdirTemp("", "harness-bench-home")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	env := fakeapi.Env(api.URL(), home)
	d, err := b.start(append(env, "HARNESS_AGENT=claude", "HARNESS_CLAUDE="+b.claude))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	s, err := d.sequence()
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.turns(warmUp); err != nil {
		return err
	}
	seen := api.Requests(fakeapi.Main)
	bare, err := startBare(b.claude, env, filepath.Join(d.Dir, "workspace"), seen[len(seen)-1].Newest())
	if err != nil {
		return fmt.Errorf("bare CLI: %w", err)
	}
	defer bare.stop()
	if err := bare.turns(warmUp); err != nil {
		return fmt.Errorf("bare CLI: %w", err)
	}
	s.times, bare.times = stopwatch{}, nil
	for range b.turns {
		if err := errors.Join(s.turns(1), bare.turns(1)); err != nil {
			return err
		}
	}
	b.note(figureOverhead, ms(quantile(s.times.committed, 0.5)-quantile(bare.times, 0.5)), "ms")
	b.note(figureOverheadP99, ms(quantile(s.times.committed, 0.99)-quantile(bare.times, 0.99)), "ms")
	b.row("bare CLI: message -> result", "%s", spread(bare.times))
	b.row("Harness: POST -> reply committed", "%s", spread(s.times.committed))
	b.row("Harness: POST -> websocket complete", "%s", spread(s.times.complete))
	b.row("overhead, committed minus bare", "p50 %v, p99 %v",
		(quantile(s.times.committed, 0.5) - quantile(bare.times, 0.5)).Round(10*time.Microsecond),
		(quantile(s.times.committed, 0.99) - quantile(bare.times, 0.99)).Round(10*time.Microsecond))
	return nil
}

// bareCLI is the CLI driven as the daemon drives it, with nothing around it.
type bareCLI struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	message []byte
	times   []time.Duration
}

func startBare(binary string, env []string, dir string, prompt []string) (*bareCLI, error) {
	message, err := json.Marshal(map[string]any{
		"type": "user", "message": map[string]string{"role": "user", "content": strings.Join(prompt, "\n")},
	})
	if err != nil {
		return nil, err
	}
	c := &bareCLI{message: append(message, '\n')}
	c.command = exec.Command(binary, "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--include-partial-messages", "--permission-prompt-tool", "stdio", "--strict-mcp-config", "--model", "claude-sonnet-4-6")
	c.command.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	c.command.Dir = dir
	if c.in, err = c.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReaderSize(out, 1<<20)
	return c, c.command.Start()
}

func (c *bareCLI) turns(n int) error {
	for range n {
		began := time.Now()
		if _, err := c.in.Write(c.message); err != nil {
			return err
		}
		for {
			line, err := c.out.ReadBytes('\n')
			if err != nil {
				return err
			}
			if bytes.Contains(line, []byte(`"type":"result"`)) {
				break
			}
		}
		c.times = append(c.times, time.Since(began))
	}
	return nil
}

func (c *bareCLI) stop() {
	_ = c.in.Close()
	_ = c.command.Wait()
}
