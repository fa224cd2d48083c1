// Command fakeapi serves the fake Messages API on an address, for trying the
// Claude Code CLI, or Harness with it, by hand and without an account.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/seed-706843ae/harness/core/fakeapi"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8089", "address to serve on")
	home := flag.String("home", "/tmp/fakeapi-home", "HOME to suggest for the CLI")
	flag.Parse()
	if err := run(*addr, *home); err != nil {
		fmt.Fprintln(os.Stderr, "fakeapi:", err)
		os.Exit(1)
	}
}

func run(addr, home string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	server := fakeapi.New()
	if err := server.Listen(addr); err != nil {
		return err
	}
	fmt.Println("The fake Messages API is served. Run the CLI with:")
	fmt.Println("  env", strings.Join(fakeapi.Env(server.URL(), home), " "), "claude")
	<-ctx.Done()
	return server.Close()
}
