package agentcheck

import (
	"bytes"
	"image"
	"image/png"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/core/ledger"
)

// What the model is shown: the manual, files, and nothing that was not put before it.

func manualIsInThePrompt(w *world) string {
	t := w.resumed().first
	w.answered(t, "first-word")
	w.expect(strings.Contains(t.main()[0].System, "FIRST-MANUAL"), "CLAUDE.md of the working directory is not in the prompt")
	return ""
}

func changedManualHolds(w *world) string {
	r := w.resumed()
	w.answered(r.second, "second-word")
	w.expect(fakeapi.Seeing("SECOND-MANUAL")(r.second.main()[0]), "the model does not see an edited CLAUDE.md in the next turn in a warm session")
	w.expect(r.second.SessionID == r.first.SessionID, "after an edit of CLAUDE.md the session is replaced")
	w.expect(len(r.rawCalls) > 0, "a resumed turn does not reach the model: %s", r.raw)
	w.expect(fakeapi.Seeing("THIRD-MANUAL")(r.rawCalls[0]), "the model does not see an edited CLAUDE.md in the next turn in a resumed session")
	command, release, err := w.start().Command(w.request(""))
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
	for kind, path := range w.besides().begun.Memory {
		w.expect(path == "" || path == nil, "the CLI says that it keeps a memory of its own, beside that of Harness (%s: %v)", kind, path)
	}
	return ""
}
