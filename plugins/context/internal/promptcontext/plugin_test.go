package promptcontext

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type settingsOf string

func (s settingsOf) Get(context.Context, *pluginsdk.GetSettingsRequest) (*pluginsdk.GetSettingsResponse, error) {
	return &pluginsdk.GetSettingsResponse{Settings: json.RawMessage(s)}, nil
}

// thread answers queries from rows as the store does for a run that comes after
// them all.
type thread struct {
	pluginsdk.Messages
	rows    []pluginsdk.Message
	queries []pluginsdk.MessageQuery
	err     error
}

func (th *thread) List(_ context.Context, request *pluginsdk.ListMessagesRequest) (*pluginsdk.ListMessagesResponse, error) {
	query := request.Query
	th.queries = append(th.queries, query)
	var found []pluginsdk.Message
	for _, row := range th.rows {
		if row.Kind == query.Kinds[0] {
			found = append(found, row)
		}
	}
	return &pluginsdk.ListMessagesResponse{Messages: found[max(0, len(found)-query.Limit):]}, th.err
}

func (th *thread) say(role pluginsdk.Role, kind pluginsdk.MessageKind, content string) {
	th.rows = append(th.rows, pluginsdk.Message{ID: int64(len(th.rows) + 1), Role: role, Kind: kind, Content: content})
}

type fixture struct {
	*testing.T
	dir    string
	thread *thread
	log    *bytes.Buffer
	plugin *Plugin
}

func start(t *testing.T) fixture {
	t.Helper()
	f := fixture{T: t, thread: new(thread), log: new(bytes.Buffer), plugin: new(Plugin)}
	workspace := t.TempDir()
	t.Setenv("HARNESS_WORKSPACE", workspace)
	f.dir = filepath.Join(workspace, "context")
	if err := f.plugin.Start(t.Context(), f.host(`{}`)); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f fixture) host(settings string) pluginsdk.Host {
	return pluginsdk.Host{
		Messages: f.thread, Settings: settingsOf(settings), Log: slog.New(slog.NewTextHandler(f.log, nil)),
	}
}

func (f fixture) write(name, content string) {
	f.Helper()
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(content), 0o600); err != nil {
		f.Fatal(err)
	}
}

// prompt is one of the primary thread.
func (f fixture) prompt(sessionID string) string {
	f.Helper()
	return f.promptIn(pluginsdk.Thread{ID: "T", Kind: pluginsdk.ThreadPrimary, Source: "web", SessionID: sessionID})
}

func (f fixture) promptIn(thread pluginsdk.Thread) string {
	f.Helper()
	got, err := f.plugin.OnBeforeInvoke(f.Context(), &pluginsdk.OnBeforeInvokeRequest{
		Call: pluginsdk.Call{RunID: "R"}, Thread: thread,
	})
	if err != nil {
		f.Fatal(err)
	}
	if got.Prefix == "" {
		return "HEADER\n\nhello"
	}
	return got.Prefix + pluginsdk.PromptSeparator + "HEADER\n\nhello"
}

func (f fixture) expect(sessionID, want string) {
	f.Helper()
	if got := f.prompt(sessionID); got != want {
		f.Errorf("prompt\n--- got\n%s\n--- want\n%s", got, want)
	}
}

func TestWholePrompt(t *testing.T) {
	f := start(t)
	f.write("system.md", "the system")
	f.write("zebra.md", "stripes")
	f.write("memory.md", "\n  likes tea\n\n")
	f.write("apple.md", "red")
	f.write("inbox.md", " \n")
	f.write("world-state.md", "sunny")
	f.write("thread-summaries.md", "none yet")
	f.write("notes.txt", "not shown")
	f.thread.say("user", "text", "hi")
	f.thread.say("assistant", "text", "hello\nthere")
	f.expect("", `# Context

## memory.md

likes tea

## world-state.md

sunny

## thread-summaries.md

none yet

## system.md

the system

## apple.md

red

## zebra.md

stripes

---

# Conversation History

[user]: hi

[assistant]: hello
there

---

HEADER

hello`)
}

func TestPartsThatAreEmptyLeaveNothing(t *testing.T) {
	f := start(t)
	f.expect("", "HEADER\n\nhello") // not even the directory is there
	f.thread.say("user", "text", "hi")
	f.expect("", "# Conversation History\n\n[user]: hi\n\n---\n\nHEADER\n\nhello")
	f.write("memory.md", "m")
	f.expect("session", "# Context\n\n## memory.md\n\nm\n\n---\n\nHEADER\n\nhello")
	if f.log.Len() > 0 {
		t.Errorf("log = %s", f.log)
	}
}

// The session holds the conversation already; repeating it would cost tokens
// with each message.
func TestHistoryIsNotReadForASession(t *testing.T) {
	f := start(t)
	f.thread.say("user", "text", "hi")
	f.expect("session", "HEADER\n\nhello")
	if len(f.thread.queries) > 0 {
		t.Errorf("queries = %v", f.thread.queries)
	}
}

func TestHistoryAsksForRunsBeforeThisOne(t *testing.T) {
	f := start(t)
	f.prompt("")
	want := pluginsdk.MessageQuery{
		ThreadID: "T", BeforeRunID: "R", Last: true, Limit: 50,
		Roles: []pluginsdk.Role{"user", "assistant"}, Kinds: []pluginsdk.MessageKind{"text"},
	}
	if got := f.thread.queries[len(f.thread.queries)-1]; !reflect.DeepEqual(got, want) {
		t.Errorf("query = %+v\n want %+v", got, want)
	}
}

func TestHistoryWithSummaries(t *testing.T) {
	f := start(t)
	f.thread.say("system", "summary", "first")
	f.thread.say("user", "text", "long ago")
	f.thread.say("system", "summary", "second")
	f.thread.say("system", "summary", "third")
	for i := range 30 {
		f.thread.say("user", "text", "m"+strconv.Itoa(i))
	}
	var want strings.Builder
	want.WriteString("# Conversation History\n\n[summary]: second\n\n[summary]: third")
	for i := 5; i < 30; i++ {
		want.WriteString("\n\n[user]: m" + strconv.Itoa(i))
	}
	want.WriteString("\n\n---\n\nHEADER\n\nhello")
	f.expect("", want.String())

	f.thread.rows = f.thread.rows[:4]
	f.expect("", "# Conversation History\n\n[summary]: second\n\n[summary]: third\n\n---\n\nHEADER\n\nhello")
}

// A file that the agent has written past what prompts have of it is named, and so are those that have no room: nothing is cut in
// silence.
func TestWhatPromptsDoNotHaveIsSaid(t *testing.T) {
	f := start(t)
	checks := func() []pluginsdk.Check {
		t.Helper()
		answer, err := f.plugin.OnCheck(t.Context(), &pluginsdk.OnCheckRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return answer.Checks
	}
	f.write("memory.md", strings.Repeat("x", defaultFileBytes))
	if got := checks(); len(got) != 0 {
		t.Errorf("of a file that fits: %+v", got)
	}
	f.write("memory.md", strings.Repeat("x", defaultFileBytes+1))
	got := checks()
	if len(got) != 1 || got[0].Name != "memory.md" || got[0].State != pluginsdk.CheckWarning || !strings.Contains(got[0].Detail, "65537 bytes, and prompts have the first 65536") {
		t.Errorf("of a file that is too long: %+v", got)
	}
	if prompt := f.prompt("session"); !strings.Contains(prompt, "[cut: the first 65536 of 65537 bytes of memory.md]") {
		t.Error("the prompt does not say that it is cut")
	}
	for i := range 8 {
		f.write(fmt.Sprintf("more-%d.md", i), strings.Repeat("x", defaultFileBytes))
	}
	got = checks()
	if len(got) != 2 || got[1].Name != "context files" || !strings.HasSuffix(got[1].Detail, "cut or left out: more-7.md") {
		t.Errorf("of files that are too long together: %+v", got)
	}
	if prompt := f.prompt("session"); !strings.Contains(prompt, "bytes of more-7.md]") && !strings.Contains(prompt, "are too long: more-7.md]") {
		t.Error("the prompt does not say what it is without")
	}
}

// What a summary says that it does not tell of, such as what a schedule has said, a new session is shown as it is.
func TestASummaryDoesNotHideWhatItLeavesOut(t *testing.T) {
	f := start(t)
	f.thread.say("user", "text", "hello")
	f.thread.say("user", "text", "look at the pond")
	f.thread.say("assistant", "text", "The pond leaks.")
	var ids []int64
	for _, row := range f.thread.rows[1:] {
		ids = append(ids, row.ID)
	}
	f.thread.say("system", "summary", "they have said hello")
	metadata, err := json.Marshal(pluginsdk.SummaryMetadata{LeavesOut: ids})
	if err != nil {
		t.Fatal(err)
	}
	f.thread.rows[3].Metadata = metadata
	for range 30 {
		f.thread.say("user", "text", "more")
	}
	f.expect("", "# Conversation History\n\n[summary]: they have said hello\n\n[user]: look at the pond\n\n[assistant]: The pond leaks."+strings.Repeat("\n\n[user]: more", 30)+"\n\n---\n\nHEADER\n\nhello")
}

// Fifty enormous messages must not make a prompt that no model takes.
func TestLongHistoryIsCut(t *testing.T) {
	f := start(t)
	for range 20 {
		f.thread.say("user", "text", strings.Repeat("x", maxMessageBytes+7))
	}
	f.thread.say("user", "text", "the newest")
	got := f.prompt("")
	if len(got) > maxHistoryBytes+1024 {
		t.Errorf("prompt has %d bytes", len(got))
	}
	for _, want := range []string{"[left out: 13 older messages]", "[cut: 7 more bytes]", "[user]: the newest"} {
		if !strings.Contains(got, want) {
			t.Errorf("prompt lacks %q", want)
		}
	}
}

func TestUnreadableHistoryDoesNotStopThePrompt(t *testing.T) {
	f := start(t)
	f.write("memory.md", "m")
	f.thread.err = errors.New("database is away")
	f.expect("", "# Context\n\n## memory.md\n\nm\n\n---\n\nHEADER\n\nhello")
	if !strings.Contains(f.log.String(), "database is away") {
		t.Errorf("log = %s", f.log)
	}
}

func TestSettings(t *testing.T) {
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "memory.md"), []byte("elsewhere"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := start(t)
	f.write("memory.md", "here")
	change := func(raw string) error {
		_, err := f.plugin.OnSettingsChange(t.Context(), &pluginsdk.OnSettingsChangeRequest{Settings: json.RawMessage(raw)})
		return err
	}
	if err := change(`{"dir":"` + other + `","maxFileBytes":4}`); err != nil {
		t.Fatal(err)
	}
	want := "# Context\n\n## memory.md\n\nelse\n\n[cut: the first 4 of 9 bytes of memory.md]\n\n---\n\nHEADER\n\nhello"
	f.expect("session", want)
	for raw, wrong := range map[string]string{
		`{"dir":"relative"}`:          `"relative"`,
		`{"maxFileBytes":0}`:          "maxFileBytes is 0",
		`{"maxFileBytes":-1}`:         "maxFileBytes is -1",
		`{"maxFileBytes":1000000000}`: "maxFileBytes is 1000000000",
		`{"maxFileByte":100}`:         "maxFileByte",
		`{"maxFileBytes":"big"}`:      "maxFileBytes",
	} {
		if err := change(raw); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v", raw, err)
		}
		if err := new(Plugin).Start(t.Context(), f.host(raw)); err == nil {
			t.Errorf("Start takes %s", raw)
		}
	}
	f.expect("session", want) // the last good ones stay
}

// A mistyped directory must not be taken: prompts would go without the agent's memory, and
// nobody would know.
func TestADirectoryThatIsNotThereIsRefused(t *testing.T) {
	f := start(t)
	file, locked := filepath.Join(t.TempDir(), "file"), filepath.Join(t.TempDir(), "locked")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Mkdir(locked, 0)); err != nil {
		t.Fatal(err)
	}
	gone := filepath.Join(t.TempDir(), "gone")
	for dir, want := range map[string]struct {
		words string
		start pluginsdk.Code
	}{
		gone:                         {"no such directory; make it, or name another", pluginsdk.CodeUnavailable},
		filepath.Join(gone, "below"): {"no such directory; make it, or name another", pluginsdk.CodeUnavailable},
		file:                         {"which is no directory; name one", pluginsdk.CodeInvalid},
		filepath.Join(file, "below"): {"which is no directory; name one", pluginsdk.CodeInvalid},
		locked:                       {"let the daemon's user read it", pluginsdk.CodeInvalid},
		gone + "\x00":                {"cannot be read", pluginsdk.CodeInvalid},
	} {
		if dir == locked && os.Geteuid() == 0 {
			continue // root reads it
		}
		raw, err := json.Marshal(map[string]string{"dir": dir})
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.plugin.OnSettingsChange(t.Context(), &pluginsdk.OnSettingsChangeRequest{Settings: raw})
		if pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), want.words) {
			t.Errorf("%q: %v", dir, err)
		}
		if err := new(Plugin).Start(t.Context(), f.host(string(raw))); pluginsdk.CodeOf(err) != want.start || !strings.Contains(err.Error(), want.words) {
			t.Errorf("Start with %q: %v", dir, err)
		}
	}
}

func TestADirectoryThatVanishesIsLoggedOnce(t *testing.T) {
	f := start(t)
	dir := filepath.Join(t.TempDir(), "mounted")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := f.plugin.OnSettingsChange(t.Context(), &pluginsdk.OnSettingsChangeRequest{Settings: json.RawMessage(`{"dir":"` + dir + `"}`)}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		f.expect("", "HEADER\n\nhello") // prompts go on without the files
	}
	if strings.Count(f.log.String(), dir) == 0 || strings.Count(f.log.String(), "is skipped") != 1 {
		t.Errorf("log = %s", f.log)
	}
}

func TestNoWorkspaceIsSaidOnce(t *testing.T) {
	t.Setenv("HARNESS_WORKSPACE", "")
	f := fixture{T: t, thread: new(thread), log: new(bytes.Buffer), plugin: new(Plugin)}
	if err := f.plugin.Start(t.Context(), f.host(`{}`)); err != nil {
		t.Fatal(err)
	}
	f.expect("", "HEADER\n\nhello")
	if strings.Count(f.log.String(), "HARNESS_WORKSPACE") != 1 {
		t.Errorf("log = %s", f.log)
	}
}

func TestManifest(t *testing.T) {
	manifest := new(Plugin).Manifest()
	if manifest.Name != "context" || !json.Valid(manifest.SettingsSchema) {
		t.Errorf("manifest = %+v", manifest)
	}
	var schema struct {
		Properties map[string]struct {
			Default json.RawMessage `json:"default"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(manifest.SettingsSchema, &schema); err != nil {
		t.Fatal(err)
	}
	// What an operator is told of the defaults is what holds without settings.
	told := make(map[string]json.RawMessage)
	for name, property := range schema.Properties {
		if property.Default != nil {
			told[name] = property.Default
		}
	}
	raw, err := json.Marshal(told)
	if err != nil {
		t.Fatal(err)
	}
	declared, err := parseConfig(raw, "/w")
	defaults, otherErr := parseConfig(nil, "/w")
	if len(declared.FilesForOthers) == 0 {
		declared.FilesForOthers = nil
	}
	if err != nil || otherErr != nil || len(told) != 3 || !reflect.DeepEqual(declared, defaults) {
		t.Errorf("the schema's defaults are %+v (%v), the plugin's %+v (%v)", declared, err, defaults, otherErr)
	}
	if len(manifest.Capabilities) != 1 || manifest.Capabilities[0].Capability != pluginsdk.CapMessagesRead {
		t.Errorf("capabilities = %v", manifest.Capabilities)
	}
	if len(manifest.Environment) != 1 || manifest.Environment[0].Name != "HARNESS_WORKSPACE" || manifest.Environment[0].Reason == "" {
		t.Errorf("environment = %v", manifest.Environment)
	}
	var plugin any = new(Plugin)
	if _, ok := plugin.(pluginsdk.BeforeInvokeHook); !ok {
		t.Error("OnBeforeInvoke is not answered")
	}
	if _, ok := plugin.(pluginsdk.SettingsChangeHook); !ok {
		t.Error("OnSettingsChange is not answered")
	}
}
