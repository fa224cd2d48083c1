// Command serve is the fake Discord as a program, for tests that cannot import it. Its
// first line on standard output is its address, http://HOST:PORT; it ends when its
// standard input does, if -stdin is given, or when it is stopped.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/seed-706843ae/harness/plugins/discord/internal/fake"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

func run() error {
	addr := flag.String("addr", "127.0.0.1:0", "where to listen")
	token := flag.String("token", "", "the bot's token (default token)")
	config := flag.String("config", "{}", "fake.Config as JSON, durations in nanoseconds")
	stdin := flag.Bool("stdin", false, "end when standard input ends")
	flag.Parse()
	var c fake.Config
	if err := json.Unmarshal([]byte(*config), &c); err != nil {
		return fmt.Errorf("-config: %w", err)
	}
	if *token != "" {
		c.Token = *token
	}
	server := fake.New(c)
	defer server.Close()
	base, err := server.Listen(*addr)
	if err != nil {
		return err
	}
	fmt.Println(base)
	end := make(chan os.Signal, 1)
	signal.Notify(end, os.Interrupt, syscall.SIGTERM)
	if *stdin {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin) // its end is what counts
			end <- os.Interrupt
		}()
	}
	<-end
	return nil
}
