package launch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

// become turns the test binary into what a mode says.
func become(mode string) {
	switch mode {
	case "plugin":
		serve.Main(&testPlugin{})
	case "wrong-manifest":
		serve.Main(&wrongPlugin{})
	case "dies-at-once":
		fmt.Fprintln(os.Stderr, "no such token")
		os.Exit(2)
	case "dies-slowly": // as an interpreter does, which tidies up after it has closed its output
		fmt.Fprintln(os.Stderr, "no such module")
		_ = os.Stdout.Close()
		<-time.After(50 * time.Millisecond)
		os.Exit(3)
	case "never-handshakes":
		ignoreEverything()
	case "not-a-plugin":
		fmt.Println("hello, I am a web server")
		ignoreEverything()
	case "foreign", "stubborn", "oversized", "in-clear", "names-another", "floods-broker", "floods-stdio":
		serveForeign(mode)
	case "daemon":
		beDaemon()
	case "bare":
		serveBare()
	case "hostile":
		serve.Main(&hostilePlugin{})
	case "garbage":
		fmt.Println(strings.Repeat("|", 100<<10))
		ignoreEverything()
	case "stops-itself":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	case "ends-after-handshake":
		fmt.Printf("1|1|unix|%s|grpc|\n", unixSocket(filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "s")).Addr())
	case "names-elsewhere":
		fmt.Println("1|1|tcp|192.0.2.1:443|grpc|")
		ignoreEverything()
	case "bequeaths":
		bequeath()
	case "lingers":
		<-time.After(time.Second)
	case "escapes-twice":
		escapeAgain()
	default:
		fmt.Fprintln(os.Stderr, "unknown mode", mode)
		os.Exit(2)
	}
}

// ignoreEverything never ends but by SIGKILL.
func ignoreEverything() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals)
	for range signals {
	}
}

// beDaemon launches the plugin at a path, prints the plugin's own process id,
// and stays.
func beDaemon() {
	launcher := launch.NewLauncher()
	launcher.Start()
	path, _ := os.Executable()
	plugin, err := launcher.Launch(context.Background(), launch.Config{
		Path: os.Getenv(pathKey), Env: []string{modeKey + "=plugin", pathKey + "=" + path}, Log: newRecorder().logger(),
	})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	pid, err := answerTo(context.Background(), plugin, "pid")
	fmt.Println(pid, err)
	ignoreEverything()
}

// testPlugin does in OnMessage what the message says.
type testPlugin struct {
	host pluginsdk.Host
}

func (*testPlugin) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{
		Name: "test", Version: "1.2.3", Description: "for tests",
		Tools: []pluginsdk.ToolSpec{{Name: "wait", Description: "waits for ever", InputSchema: json.RawMessage(`{"type":"object"}`)}},
	}
}

// CallTool says that it waits, and does.
func (*testPlugin) CallTool(ctx context.Context, _ *pluginsdk.CallToolRequest) (*pluginsdk.CallToolResponse, error) {
	pluginsdk.ReportProgress(ctx, pluginsdk.Progress{Message: "waiting"})
	select {}
}

// OnTaskComplete reports each word of the task's prompt, and waits for the end of
// its context where that is "wait".
func (*testPlugin) OnTaskComplete(ctx context.Context, request *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
	for _, word := range strings.Fields(request.Task.Prompt) {
		pluginsdk.ReportProgress(ctx, pluginsdk.Progress{Message: word})
		if word == "wait" {
			<-ctx.Done()
		}
	}
	return &pluginsdk.OnTaskCompleteResponse{Verdict: pluginsdk.VerdictAccept}, nil
}

func (p *testPlugin) Start(_ context.Context, host pluginsdk.Host) error {
	p.host = host
	return nil
}

func (p *testPlugin) OnMessage(ctx context.Context, request *pluginsdk.OnMessageRequest) (*pluginsdk.OnMessageResponse, error) {
	return nil, p.act(ctx, request.Message.Content)
}

func (p *testPlugin) act(ctx context.Context, message string) error {
	verb, rest, _ := strings.Cut(message, " ")
	switch verb {
	case "exit":
		p.host.Log.Error("last words", "code", rest)
		code, _ := strconv.Atoi(rest)
		os.Exit(code)
	case "panic":
		panic(rest)
	case "crash":
		crashed := make(chan struct{})
		go func() { panic(rest) }()
		<-crashed
	case "hang":
		<-make(chan struct{})
	case "unavailable":
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%s", rest)
	case "call-host":
		_, err := p.host.State.Put(ctx, &pluginsdk.PutStateRequest{Key: rest, Value: []byte("value")})
		return err
	case "store":
		n, _ := strconv.Atoi(rest)
		_, err := p.host.State.Put(ctx, &pluginsdk.PutStateRequest{Key: "large", Value: make([]byte, n)})
		return err
	case "log":
		p.host.Log.Warn(rest, "n", 7)
		p.host.Log.WithGroup("g").Debug("grouped", "k", "v")
	case "print":
		fmt.Println("through stdout:", rest)
		fmt.Fprintln(os.Stderr, "through stderr:", rest)
	}
	return nil
}

// OnBeforeInvoke answers with the text, or as many bytes as it says, or what a
// test asks for.
func (*testPlugin) OnBeforeInvoke(_ context.Context, request *pluginsdk.OnBeforeInvokeRequest) (*pluginsdk.OnBeforeInvokeResponse, error) {
	answer, err := answerOf(request.Prompt)
	return &pluginsdk.OnBeforeInvokeResponse{Prompt: &answer}, err
}

func answerOf(prompt string) (string, error) {
	verb, rest, _ := strings.Cut(prompt, " ")
	switch verb {
	case "bytes":
		n, _ := strconv.Atoi(rest)
		return strings.Repeat("x", n), nil
	case "environment":
		return strings.Join(os.Environ(), "\n"), nil
	case "pid":
		return strconv.Itoa(os.Getpid()), nil
	case "child":
		return startChild(rest == "escapes")
	}
	return prompt, nil
}

// startChild starts a process that holds stderr and ends by SIGKILL only, and
// returns its id. One that escapes leaves the process group.
func startChild(escapes bool) (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	cmd := exec.Command(path)
	cmd.Env = []string{modeKey + "=never-handshakes"}
	stderr, err := syscall.Dup(2)
	if err != nil {
		return "", err
	}
	cmd.Stderr = os.NewFile(uintptr(stderr), "stderr")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: escapes}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	return strconv.Itoa(cmd.Process.Pid), nil
}

// wrongPlugin declares what it does not answer.
type wrongPlugin struct{}

func (*wrongPlugin) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{Name: "wrong", Version: "1", Commands: []pluginsdk.CommandSpec{{Name: "x"}}}
}

func unixSocket(path string) net.Listener {
	listener, err := net.Listen("unix", path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return listener
}
