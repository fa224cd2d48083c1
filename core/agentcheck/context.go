package agentcheck

import (
	"bytes"
	"image"
	"image/png"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/core/ledger"
)

// What the model is shown: the manual, files, and nothing that was not put before it.

func manualIsInThePrompt(w *world) string {
	w.lay(w.work, "CLAUDE.md", "Be brief. FIRST-MANUAL\n")
	t := w.say("say:one", "one")
	w.expect(strings.Contains(t.main()[0].System, "FIRST-MANUAL"), "CLAUDE.md of the working directory is not in the prompt")
	return ""
}

func changedManualHolds(w *world) string {
	w.lay(w.work, "CLAUDE.md", "Be brief. FIRST-MANUAL\n")
	w.say("say:one", "one")
	before := w.session
	for _, next := range []struct {
		words   string
		restart bool
	}{{"SECOND-MANUAL", false}, {"THIRD-MANUAL", true}} {
		w.lay(w.work, "CLAUDE.md", "Be brief. "+next.words+"\n")
		when := "in a warm session"
		if next.restart {
			w.must(w.stop())
			when = "in a resumed session"
		}
		t := w.say("say:two", "two")
		w.expect(fakeapi.Seeing(next.words)(t.main()[0]), "the model does not see an edited CLAUDE.md in the next turn %s", when)
		w.remembers(t, "say:one")
	}
	w.expect(w.session == before, "after an edit of CLAUDE.md the session is replaced")
	command, release, err := w.agent.Command(w.request(""))
	w.must(err)
	defer release()
	if slices.ContainsFunc(command.Args, func(arg string) bool { return strings.HasPrefix(arg, "--system-prompt-snapshot") }) {
		return "the CLI would keep the CLAUDE.md of the session's beginning; Harness makes it take the new one (--system-prompt-snapshot=off)"
	}
	return ""
}

func fileIsShown(w *world) string {
	w.began()
	var picture bytes.Buffer
	w.must(png.Encode(&picture, image.NewGray(image.Rect(0, 0, 8, 8))))
	path := w.lay(w.dir, "picture.png", picture.String())
	w.api.Handle(func(fakeapi.Request) fakeapi.Reply { return fakeapi.Reply{Text: "seen"} })
	request := w.request("look")
	request.Files = []ledger.AgentFile{{Path: path, Name: "picture.png", Type: "image/png", Size: int64(picture.Len())}}
	t := w.invoke(request)
	w.answered(t, "seen")
	w.expect(showsImage(t.main()[0]), "the model does not see an image that came with a message")
	return ""
}

// showsImage reports whether a message has an image in it, perhaps of another kind than it
// was: the CLI makes smaller ones.
func showsImage(r fakeapi.Request) bool {
	return slices.ContainsFunc(r.Messages, func(m fakeapi.Message) bool {
		return slices.ContainsFunc(m.Content, func(b fakeapi.Block) bool { return b.Type == "image" })
	})
}

func nothingRemembers(w *world) string {
	w.began()
	t := w.say("say:hm", "hm")
	for _, call := range t.main() {
		w.expect(!fakeapi.Seeing("/.claude/projects/")(call), "the CLI tells the model to keep a memory of its own, beside that of Harness")
	}
	request := w.request("")
	request.ThreadID, request.SessionID, request.Resume = uuid.NewString(), uuid.NewString(), false
	r := w.open(request)
	defer r.close()
	for kind, path := range r.begin("say:hm").Memory {
		w.expect(path == "" || path == nil, "the CLI says that it keeps a memory of its own, beside that of Harness (%s: %v)", kind, path)
	}
	return ""
}
