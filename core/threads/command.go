package threads

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// The command /thread: what people do to the thread that they write in.

// newSource is the source of the threads that people make by hand, wherever they type it:
// the API's, through which everybody can talk in them. In a channel of its own each other
// source has no place for such a thread.
const newSource = "web"

// confirming is how many of the last characters of a thread's id confirm its deletion.
const confirming = 8

// shownWords is how much of the instructions is shown, in characters.
const shownWords = 300

// setting is a field of a thread that /thread shows and sets.
type setting struct {
	verb, what string
	is         func(pluginsdk.Thread) string
	unset      string // what an empty one means, for people
	rights     bool   // it is what a thread may do: audited
	patch      func(value string) pluginsdk.ThreadPatch
}

var settings = []setting{
	{
		"model", "model", func(t pluginsdk.Thread) string { return t.Model }, "the default one", false,
		func(v string) pluginsdk.ThreadPatch { return pluginsdk.ThreadPatch{Model: &v} },
	},
	{
		"effort", "effort", func(t pluginsdk.Thread) string { return t.Effort }, "the model's own", false,
		func(v string) pluginsdk.ThreadPatch { return pluginsdk.ThreadPatch{Effort: &v} },
	},
	{
		"permission", "permission mode", func(t pluginsdk.Thread) string { return t.PermissionMode }, "the configured one", true,
		func(v string) pluginsdk.ThreadPatch { return pluginsdk.ThreadPatch{PermissionMode: &v} },
	},
	{
		"dir", "directory", func(t pluginsdk.Thread) string { return t.Cwd }, "the workspace", true,
		func(v string) pluginsdk.ThreadPatch { return pluginsdk.ThreadPatch{Cwd: &v} },
	},
	{
		"account", "account", func(t pluginsdk.Thread) string { return t.Account }, "the default one", true,
		func(v string) pluginsdk.ThreadPatch { return pluginsdk.ThreadPatch{Account: &v} },
	},
	{
		"ask", "tools that ask", func(t pluginsdk.Thread) string { return t.AskTools }, "the configured ones", false,
		func(v string) pluginsdk.ThreadPatch { return pluginsdk.ThreadPatch{AskTools: &v} },
	},
	{
		"busy", "way of a message that comes while it is busy", func(t pluginsdk.Thread) string { return string(t.BusyMode) }, string(pluginsdk.BusyQueue), false,
		func(v string) pluginsdk.ThreadPatch {
			return pluginsdk.ThreadPatch{BusyMode: new(cmp.Or(pluginsdk.BusyMode(v), pluginsdk.BusyQueue))}
		},
	},
	{
		"instructions", "instructions", func(t pluginsdk.Thread) string { return t.Instructions }, "none", false,
		func(v string) pluginsdk.ThreadPatch { return pluginsdk.ThreadPatch{Instructions: &v} },
	},
}

// settingOf returns the setting that a verb names; false: it names none.
func settingOf(verb string) (setting, bool) {
	at := slices.IndexFunc(settings, func(s setting) bool { return s.verb == verb })
	if at < 0 {
		return setting{}, false
	}
	return settings[at], true
}

// Verbs returns the words that can stand behind /thread.
func (*Room) Verbs() []string {
	verbs := []string{"new", "rename", "archive", "unarchive", "branch", "delete"}
	for _, of := range settings {
		verbs = append(verbs, of.verb)
	}
	return verbs
}

// typed is what stands behind /thread.
type typed struct{ verb, rest string }

func parse(args string) typed {
	verb, rest, _ := strings.Cut(strings.TrimSpace(args), " ")
	if first, more, ok := strings.Cut(verb, "\n"); ok { // instructions may begin on a line of their own
		verb, rest = first, more+" "+rest
	}
	return typed{verb, strings.TrimSpace(rest)}
}

// Word returns the word of what is typed behind /thread, by which the inbox knows what it
// needs; empty: it only looks.
func (*Room) Word(args string) string {
	command := parse(args)
	if _, ok := settingOf(command.verb); ok && command.rest == "" {
		return ""
	}
	return command.verb
}

// Command carries out what is typed behind /thread in a thread, and returns the answer. The
// caller has checked that it was typed by somebody who may. deleted says
// that the thread is gone: the answer has no place in it.
func (r *Room) Command(ctx context.Context, thread pluginsdk.Thread, by ledger.By, args string) (text string, deleted bool, err error) {
	command := parse(args)
	if of, ok := settingOf(command.verb); ok {
		text, err = r.set(ctx, thread, by, of, command.rest)
		return text, false, err
	}
	switch command.verb {
	case "":
		return show(thread), false, nil
	case "new":
		made, _, err := r.Create(ctx, pluginsdk.NewThread{Source: newSource, SourceID: rand.Text(), Name: command.rest})
		return fmt.Sprintf("The thread %s is made. `harness chat --thread %s` talks in it.", called(made), made.ID), false, err
	case "rename":
		if command.rest == "" {
			return "", false, errors.New("what shall it be called? /thread rename NAME")
		}
		after, err := r.Update(ctx, thread.ID, pluginsdk.ThreadPatch{Name: &command.rest})
		return fmt.Sprintf("This thread is called %q now.", after.Name), false, err
	case "archive":
		_, err := r.Update(ctx, thread.ID, pluginsdk.ThreadPatch{Status: new(pluginsdk.ThreadArchived)})
		return "This thread is archived. A message brings it back.", false, err
	case "unarchive":
		_, err := r.Update(ctx, thread.ID, pluginsdk.ThreadPatch{Status: new(pluginsdk.ThreadActive)})
		return "This thread is in use again.", false, err
	case "branch":
		text, err = r.branch(ctx, thread, command.rest)
		return text, false, err
	case "delete":
		return r.delete(ctx, thread, by, command.rest)
	}
	return "", false, fmt.Errorf("%.50q is not understood; /thread shows this thread, and behind it can stand %s", command.verb, strings.Join(r.Verbs(), ", "))
}

// set shows or sets one setting of a thread.
func (r *Room) set(ctx context.Context, thread pluginsdk.Thread, by ledger.By, of setting, value string) (string, error) {
	if value == "" {
		return fmt.Sprintf("The %s of this thread: %s.", of.what, cmp.Or(of.is(thread), of.unset)), nil
	}
	if value == "default" {
		value = ""
	}
	if strings.ContainsAny(value, " \t\n") && (of.verb == "model" || of.verb == "effort") {
		return "", fmt.Errorf("the %s has no spaces in it: %.100q", of.what, value)
	}
	var after pluginsdk.Thread
	var err error
	if of.rights && of.is(thread) != value {
		detail := fmt.Sprintf("%s from %.100q to %.100q", of.what, of.is(thread), value)
		after, err = r.Permit(ctx, thread.ID, of.patch(value), by.AuditName(), detail)
	} else {
		after, err = r.Update(ctx, thread.ID, of.patch(value))
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("The %s of this thread, from its next turn on: %s.", of.what, cmp.Or(of.is(after), of.unset)), nil
}

// branch makes a thread of what was said up to a message.
func (r *Room) branch(ctx context.Context, thread pluginsdk.Thread, at string) (string, error) {
	var last int64
	if at != "" {
		id, err := strconv.ParseInt(strings.TrimPrefix(at, "#"), 10, 64)
		if err != nil || id <= 0 {
			return "", fmt.Errorf("%.50q is not the id of a message: /thread branch [MESSAGE]", at)
		}
		last = id
	}
	made, _, err := r.Branch(ctx, ledger.Branch{
		From: thread.ID, LastMessageID: last, Thread: pluginsdk.NewThread{Source: newSource, SourceID: rand.Text()},
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("The thread %s has what was said here. `harness chat --thread %s` goes on in it.", called(made), made.ID), nil
}

// delete deletes a thread, once the person has confirmed that it is this one.
func (r *Room) delete(ctx context.Context, thread pluginsdk.Thread, by ledger.By, confirmed string) (text string, deleted bool, err error) {
	word := thread.ID[max(0, len(thread.ID)-confirming):]
	if confirmed != word {
		return fmt.Sprintf("This removes the thread %s for good, with its messages and files. If that is meant: /thread delete %s", called(thread), word), false, nil
	}
	if err := r.Delete(ctx, thread.ID, by.AuditName()); err != nil {
		return "", false, err
	}
	return fmt.Sprintf("The thread %s is deleted.", called(thread)), true, nil
}

// called is a thread by its id, and its name if it has one.
func called(thread pluginsdk.Thread) string {
	if thread.Name == "" {
		return thread.ID
	}
	return fmt.Sprintf("%s (%.80s)", thread.ID, thread.Name)
}

// show says what a thread is and does.
func show(thread pluginsdk.Thread) string {
	lines := []string{fmt.Sprintf("Thread %s: %s, of %s, %s.", called(thread), thread.Kind, thread.Source, thread.Status)}
	for _, of := range settings {
		value := []rune(cmp.Or(of.is(thread), of.unset))
		if len(value) > shownWords {
			value = append(value[:shownWords-1], '…')
		}
		lines = append(lines, fmt.Sprintf("%s: %s", of.verb, string(value)))
	}
	return strings.Join(append(lines, "/thread NAME VALUE sets one of these, `default` clears it."), "\n")
}
