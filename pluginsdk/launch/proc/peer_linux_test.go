package proc_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-706843ae/harness/pluginsdk/launch/proc"
)

// The test binary plays the daemon, and those who connect, when its first argument says so.
const (
	playDaemon = "play-the-daemon"
	playClient = "play-a-client"
)

func TestMain(m *testing.M) {
	if len(os.Args) < 2 {
		os.Exit(m.Run())
	}
	switch os.Args[1] {
	case playDaemon:
		beDaemon()
	case playClient:
		beClient(os.Args[2], os.Args[3])
	default:
		os.Exit(m.Run())
	}
}

// beDaemon adopts, and runs each line of its stdin as a script in a group of its own. It says
// when that has ended. A line "adopted" counts what was adopted and lives.
func beDaemon() {
	release, err := proc.Adopt()
	if err != nil {
		panic(err)
	}
	defer release()
	forker := proc.NewForker()
	fmt.Println("up")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if lines.Text() == "end" {
			fmt.Println(proc.EndAdopted(10 * time.Second))
			continue
		}
		if address, ok := strings.CutPrefix(lines.Text(), "connect "); ok {
			fmt.Println(connectAndFork(address))
			continue
		}
		cmd := exec.Command("/bin/sh", "-c", lines.Text())
		cmd.SysProcAttr = proc.Attributes(syscall.SIGKILL)
		err := forker.Run(context.Background(), func() error { return proc.Start(cmd) })
		if err == nil {
			err = proc.Lead(cmd.Process).Wait(nil, func() error { return proc.Wait(cmd) })
		}
		fmt.Println(err)
	}
}

// connectAndFork connects, starts a process that holds the connection as well, and says hello.
func connectAndFork(address string) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	file, err := conn.(*net.TCPConn).File()
	if err != nil {
		return err
	}
	child := exec.Command("/bin/sh", "-c", "read line")
	child.ExtraFiles, child.SysProcAttr = []*os.File{file}, proc.Attributes(syscall.SIGKILL)
	stdin, err := child.StdinPipe()
	if err = errors.Join(err, proc.Start(child)); err != nil {
		return err
	}
	if _, err := conn.Write([]byte("hello\n")); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, conn) // until the server has done with it
		_ = stdin.Close()
		_ = proc.Wait(child)
	}()
	return nil
}

// beClient connects, says hello, and reads until the server has done with it.
func beClient(how, address string) {
	if how == "hidden" {
		_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	}
	if how == "relayed" {
		relay(address)
		return
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		panic(err)
	}
	_, _ = conn.Write([]byte("hello\n"))
	switch how {
	case "closed":
		_ = conn.Close()
	case "on its way":
		// The descriptor lies in a socket's queue, and no process has it.
		pair, _ := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		file, _ := conn.(*net.TCPConn).File()
		_ = unix.Sendmsg(pair[0], []byte("x"), unix.UnixRights(int(file.Fd())), nil, 0)
		_ = file.Close()
		_ = conn.Close()
		_, _ = net.Dial("tcp", address) // tells the server that it is so far
		_, _ = io.Copy(io.Discard, os.Stdin)
		<-time.After(time.Minute)
	default:
		_, _ = io.Copy(io.Discard, conn)
	}
}

// relay carries what another one says.
func relay(address string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go func() {
		near, _ := listener.Accept()
		far, _ := net.Dial("tcp", address)
		go func() { _, _ = io.Copy(far, near) }()
		_, _ = io.Copy(near, far)
		_ = near.Close()
	}()
	beClient("plain", listener.Addr().String())
}

type played struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.Writer
	lines *bufio.Scanner
}

func daemonPlayed(t *testing.T) *played {
	t.Helper()
	linux(t)
	d := &played{t: t, cmd: exec.Command(os.Args[0], playDaemon)}
	stdin, err := d.cmd.StdinPipe()
	stdout, wrong := d.cmd.StdoutPipe()
	if err = errors.Join(err, wrong, d.cmd.Start()); err != nil {
		t.Fatal(err)
	}
	d.stdin, d.lines = stdin, bufio.NewScanner(stdout)
	t.Cleanup(func() {
		d.say("end")
		_ = stdin.Close()
		_ = d.cmd.Wait()
	})
	d.expect("up")
	return d
}

func (d *played) expect(want string) {
	d.t.Helper()
	if !d.lines.Scan() || d.lines.Text() != want {
		d.t.Fatalf("the daemon says %q; want %q", d.lines.Text(), want)
	}
}

func (d *played) say(line string) string {
	d.t.Helper()
	_, _ = fmt.Fprintln(d.stdin, line)
	d.lines.Scan()
	return d.lines.Text()
}

// server takes one connection after the other.
func server(t *testing.T, network, address string) (*net.TCPListener, string) {
	t.Helper()
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener.(*net.TCPListener), listener.Addr().String()
}

// meet returns where the one stands who connects next and says hello.
func meet(t *testing.T, peers *proc.Peers, listener *net.TCPListener, settled func(net.Conn)) proc.Standing {
	t.Helper()
	_ = listener.SetDeadline(time.Now().Add(time.Minute))
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	if _, err := in.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if settled != nil {
		settled(conn)
	}
	return peers.Peer(conn.LocalAddr().(*net.TCPAddr).AddrPort(), conn.RemoteAddr().(*net.TCPAddr).AddrPort())
}

// A worker that could pass for a person would accept its own work.
func TestWhoIsBelowADaemonIsKnownHoweverDetached(t *testing.T) {
	d := daemonPlayed(t)
	peers := proc.NewPeers(d.cmd.Process.Pid)
	closed := func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) } // until the other end is closed
	for name, c := range map[string]struct {
		script  string
		settled func(net.Conn)
		want    proc.Standing
	}{
		"plainly":                 {script: "CLIENT plain ADDRESS &", want: proc.Below},
		"in a session of its own": {script: "setsid CLIENT plain ADDRESS >/dev/null 2>&1 &", want: proc.Below},
		"forked twice":            {script: "( ( CLIENT plain ADDRESS & ) & )", want: proc.Below},
		"without an environment":  {script: "setsid env -i CLIENT plain ADDRESS </dev/null >/dev/null 2>&1 &", want: proc.Below},
		"forked twice, in a session of its own, without an environment": {
			script: "( setsid env -i sh -c '( CLIENT plain ADDRESS & ) &' </dev/null >/dev/null 2>&1 & )", want: proc.Below,
		},
		"with nohup":      {script: "cd /; nohup CLIENT plain ADDRESS >/dev/null 2>&1 &", want: proc.Below},
		"through a relay": {script: "setsid CLIENT relayed ADDRESS >/dev/null 2>&1 &", want: proc.Below},
		"hidden":          {script: "setsid CLIENT hidden ADDRESS >/dev/null 2>&1 &", want: proc.Below},
		"closed at once":  {script: "CLIENT closed ADDRESS &", settled: closed, want: proc.Unseen},
	} {
		t.Run(name, func(t *testing.T) {
			listener, address := server(t, "tcp", "127.0.0.1:0")
			script := strings.NewReplacer("CLIENT", os.Args[0]+" "+playClient, "ADDRESS", address).Replace(c.script)
			if said := d.say(script); said != "<nil>" {
				t.Fatal(said)
			}
			got := meet(t, peers, listener, c.settled)
			if name == "hidden" && got == proc.Unseen {
				return // who may not look at all processes sees nobody there
			}
			if got != c.want {
				t.Errorf("it stands %d; want %d", got, c.want)
			}
		})
	}
	t.Run("a descriptor on its way", func(t *testing.T) {
		listener, address := server(t, "tcp", "127.0.0.1:0")
		d.say("setsid " + os.Args[0] + " " + playClient + " 'on its way' " + address + " >/dev/null 2>&1 </dev/null &")
		got := meet(t, peers, listener, func(net.Conn) {
			second, err := listener.Accept()
			if err != nil {
				t.Fatal(err)
			}
			_ = second.Close()
		})
		if got != proc.Unseen {
			t.Errorf("it stands %d", got)
		}
	})
}

// A person beside the daemon goes on, on every address of this machine.
func TestWhoIsBesideADaemonIsNoneOfIts(t *testing.T) {
	d := daemonPlayed(t)
	peers := proc.NewPeers(d.cmd.Process.Pid)
	for _, at := range []struct{ network, address, dialled string }{
		{"tcp4", "127.0.0.1:0", "127.0.0.1"}, {"tcp6", "[::1]:0", "::1"}, {"tcp", ":0", "127.0.0.1"}, {"tcp", ":0", "::1"},
	} {
		for range 2 { // the second time it may be remembered
			listener, _ := server(t, at.network, at.address)
			address := net.JoinHostPort(at.dialled, fmt.Sprint(listener.Addr().(*net.TCPAddr).Port))
			client := exec.Command(os.Args[0], playClient, "plain", address)
			if err := client.Start(); err != nil {
				t.Fatal(err)
			}
			if got := meet(t, peers, listener, nil); got != proc.Beside {
				t.Errorf("%v: it stands %d", at, got)
			}
			_ = listener.Close()
			_ = client.Wait()
			d.say(os.Args[0] + " " + playClient + " plain " + address + " & :") // nobody listens: it ends
		}
	}
}

// A process that the daemon has just forked holds all that the daemon holds.
func TestADaemonThatConnectsItselfIsNotBelowItself(t *testing.T) {
	d := daemonPlayed(t)
	listener, address := server(t, "tcp", "127.0.0.1:0")
	if said := d.say("connect " + address); said != "<nil>" {
		t.Fatal(said)
	}
	if got := meet(t, proc.NewPeers(d.cmd.Process.Pid), listener, nil); got != proc.Beside {
		t.Errorf("it stands %d", got)
	}
}

// What was adopted is waited for when it ends, and ended with the daemon; who starts processes
// still learns how they end.
func TestAdoptedProcessesAreWaitedForAndEnded(t *testing.T) {
	d := daemonPlayed(t)
	daemon, _ := proc.Of(d.cmd.Process.Pid)
	for range 50 {
		if said := d.say("( setsid sh -c 'exit 3' & ) ; exit 7"); said != "exit status 7" {
			t.Fatalf("a child has ended: %s", said)
		}
	}
	var r proc.Reader
	deadline := time.Now().Add(time.Minute)
	for dead := -1; dead != 0; {
		dead = 0
		for _, pid := range proc.All() {
			if stat, ok := r.Stat(pid); ok && stat.Parent == daemon.PID && stat.Dead() {
				dead++
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d adopted processes were not waited for", dead)
		}
	}
	d.say("( setsid env -i sleep 3600 >/dev/null 2>&1 </dev/null & )")
	// On a busy machine some of the others may be there yet.
	if ended := d.say("end"); ended == "0" {
		t.Error("no process was ended")
	}
}
