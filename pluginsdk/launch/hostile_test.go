package launch_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// hostilePlugin does what no operator wants, when a test asks for it.
type hostilePlugin struct {
	host pluginsdk.Host
	held []net.Conn
}

func (*hostilePlugin) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{Name: "hostile", Version: "1", Description: "for tests"}
}

func (p *hostilePlugin) Start(_ context.Context, host pluginsdk.Host) error {
	p.host = host
	return nil
}

func (p *hostilePlugin) OnBeforeInvoke(ctx context.Context, request *pluginsdk.OnBeforeInvokeRequest) (*pluginsdk.OnBeforeInvokeResponse, error) {
	answer, err := p.act(ctx, request.Prompt)
	return &pluginsdk.OnBeforeInvokeResponse{Prompt: &answer}, err
}

func (p *hostilePlugin) act(ctx context.Context, prompt string) (string, error) {
	verb, rest, _ := strings.Cut(prompt, " ")
	number, _ := strconv.Atoi(rest)
	switch verb {
	case "read":
		content, err := os.ReadFile(rest)
		return string(content), err
	case "burn":
		for until := time.Now().Add(time.Duration(number) * time.Millisecond); time.Now().Before(until); {
		}
	case "spawn":
		return spawn(rest)
	case "print":
		return "", printLines(os.NewFile(1, "stdout"), number)
	case "print-stderr":
		return "", printLines(os.NewFile(2, "stderr"), number)
	case "print-through-sdk":
		return "", printLines(os.Stdout, number)
	case "hold-connections":
		return "", p.connect(number, true)
	case "reconnect":
		return "", p.connect(number, false)
	case "call-host":
		return p.callHost(ctx, number), nil
	}
	return "", nil
}

// spawn starts a process in a session of its own that ends by SIGKILL only,
// with this process's environment, and returns its id.
func spawn(mode string) (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), modeKey+"="+mode)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if mode == "escapes-twice" {
		pid, err := cmd.Output()
		return string(pid), err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	return strconv.Itoa(cmd.Process.Pid), nil
}

// escapeAgain starts a process, prints its id, and ends: nothing but its
// environment says where it came from.
func escapeAgain() {
	pid, err := spawn("never-handshakes")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	fmt.Print(pid)
}

// bequeath shakes hands and ends. What is dialled then is a socket that is held
// by a process without a trace of where it came from, and that nobody serves.
func bequeath() {
	listener := unixSocket(filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "s"))
	file, err := listener.(*net.UnixListener).File()
	if err != nil {
		return
	}
	path, _ := os.Executable()
	heir := exec.Command(path)
	heir.Env, heir.ExtraFiles = []string{modeKey + "=lingers"}, []*os.File{file}
	heir.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := heir.Start(); err != nil {
		return
	}
	fmt.Printf("1|1|unix|%s|grpc|\n", listener.Addr())
	os.Exit(0) // without removing the socket
}

func printLines(file *os.File, n int) error {
	for i := range n {
		if _, err := fmt.Fprintf(file, "line %d\n", i+1); err != nil {
			return err
		}
	}
	return nil
}

// connect dials every socket there is as often as asked, and holds on to the
// connections or not.
func (p *hostilePlugin) connect(n int, hold bool) error {
	sockets, err := filepath.Glob(filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "*"))
	if err != nil {
		return err
	}
	for range n {
		for _, socket := range sockets {
			conn, err := net.Dial("unix", socket)
			if err != nil {
				continue // the door is closed
			}
			if hold {
				p.held = append(p.held, conn)
			} else {
				_ = conn.Close()
			}
		}
	}
	return nil
}

// callHost makes calls at once, and returns how many were refused.
func (p *hostilePlugin) callHost(ctx context.Context, n int) string {
	var calls sync.WaitGroup
	var mu sync.Mutex
	refused := 0
	for i := range n {
		calls.Go(func() {
			_, err := p.host.State.Put(ctx, &pluginsdk.PutStateRequest{Key: fmt.Sprint("key-", i)})
			var coded *pluginsdk.Error
			mu.Lock()
			defer mu.Unlock()
			if errors.As(err, &coded) && coded.Code == pluginsdk.CodeExhausted {
				refused++
				p.host.Log.Info("refused")
			}
		})
	}
	calls.Wait()
	return strconv.Itoa(refused)
}
