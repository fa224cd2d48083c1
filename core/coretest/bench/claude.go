package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/fakeapi"
)

// claudeTurns measures turns through the daemon beside turns of the same CLI
// driven bare, so that the overhead is a difference within one run.
func (b *bench) claudeTurns() error {
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
	defer os.RemoveAll(home) //nolint:errcheck // a temporary directory
	env := fakeapi.Env(api.URL(), home)

	bare, err := b.bareTurns(env, home)
	if err != nil {
		return fmt.Errorf("bare CLI: %w", err)
	}
	b.row("bare CLI: message -> result", "%s", spread(bare))
	d, err := start(append(env, "HARNESS_AGENT=claude", "HARNESS_CLAUDE="+b.claude))
	if err != nil {
		return err
	}
	times, err := d.sequence(b.turns)
	if err != nil {
		return err
	}
	b.row("Harness: POST -> reply committed", "%s", spread(times.committed))
	b.row("Harness: POST -> websocket complete", "%s", spread(times.complete))
	b.row("overhead, committed minus bare", "p50 %v, p99 %v",
		quantile(times.committed, 0.5)-quantile(bare, 0.5), quantile(times.committed, 0.99)-quantile(bare, 0.99))
	return d.stop()
}

// bareTurns drives the CLI as the daemon does, with nothing around it.
func (b *bench) bareTurns(env []string, dir string) ([]time.Duration, error) {
	command := exec.Command(b.claude, "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--include-partial-messages", "--permission-prompt-tool", "stdio", "--strict-mcp-config", "--model", "claude-sonnet-4-6")
	command.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	command.Dir = dir
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	defer command.Wait() //nolint:errcheck // its answers are what counts
	defer in.Close()     //nolint:errcheck // ends the CLI
	reader := bufio.NewReaderSize(out, 1<<20)
	var times []time.Duration
	const warmUp = 10
	for n := range b.turns + warmUp {
		began := time.Now()
		if _, err := io.WriteString(in, `{"type":"user","message":{"role":"user","content":"hello"}}`+"\n"); err != nil {
			return nil, err
		}
		for {
			line, err := reader.ReadBytes('\n')
			if err != nil {
				return nil, err
			}
			if bytes.Contains(line, []byte(`"type":"result"`)) {
				break
			}
		}
		if n >= warmUp {
			times = append(times, time.Since(began))
		}
	}
	return times, nil
}
