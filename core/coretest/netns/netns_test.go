package netns_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/netns"
)

// asked is where this test's program asks when it plays the other machine.
const asked = "HARNESS_TEST_NETNS_ASKS"

// A test that believes itself elsewhere and is not would prove nothing.
func TestTheOtherMachineReachesThisOneByTheCableOnly(t *testing.T) {
	if url := os.Getenv(asked); url != "" {
		client := http.Client{Timeout: 10 * time.Second}
		answer, err := client.Get(url) //nolint:noctx // bounded above
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		return
	}
	machine := netns.New(t)
	from := make(chan string, 2)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { from <- r.RemoteAddr }))
	listener, err := net.Listen("tcp", ":0") //nolint:noctx,gosec // of every address, which is what is tried
	if err != nil {
		t.Fatal(err)
	}
	_ = server.Listener.Close()
	server.Listener = listener
	server.Start()
	defer server.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	ask := func(host string) error {
		command := machine.Command(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		command.Env = append(os.Environ(), asked+"=http://"+net.JoinHostPort(host, port))
		return command.Run()
	}
	if err := ask(machine.Here); err != nil {
		t.Fatalf("by the cable: %s", err)
	}
	if host, _, _ := net.SplitHostPort(<-from); host != machine.There {
		t.Errorf("it came from %s, not from %s", host, machine.There)
	}
	if err := ask("127.0.0.1"); err == nil {
		t.Error("the other machine's loopback is this one's")
	}
}
