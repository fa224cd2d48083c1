package proc_test

import (
	"net"
	"os/exec"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk/launch/proc"
)

// What it costs to find out who is there, once for a connection.
func BenchmarkPeer(b *testing.B) {
	daemon := exec.Command("sleep", "3600")
	if err := daemon.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = daemon.Process.Kill(); _ = daemon.Wait() })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	client := exec.Command("/bin/bash", "-c", "exec 5<>/dev/tcp/127.0.0.1/"+listener.Addr().String()[len("127.0.0.1:"):]+"; exec sleep 3600")
	if err := client.Start(); err != nil {
		b.Skip(err)
	}
	b.Cleanup(func() { _ = client.Process.Kill(); _ = client.Wait() })
	conn, err := listener.Accept()
	if err != nil {
		b.Fatal(err)
	}
	peers := proc.NewPeers(daemon.Process.Pid)
	for b.Loop() {
		if got := peers.Peer(conn.LocalAddr().(*net.TCPAddr).AddrPort(), conn.RemoteAddr().(*net.TCPAddr).AddrPort()); got != proc.Beside {
			b.Fatal(got)
		}
	}
}
