// Gallery is every plugin that an operator should not have to fear, in one
// program: which one it is, is what it is called. The daemon's tests start it
// under those names.
//
// An exhibit keeps what it has to remember in files beside itself, as far as
// it is asked to show something.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

func main() {
	name := filepath.Base(os.Args[0])
	become, known := exhibits()[name]
	if !known {
		fmt.Fprintf(os.Stderr, "there is no exhibit %q\n", name)
		os.Exit(2)
	}
	become(name)
}

// exhibits are the plugins, and what they start, by name.
func exhibits() map[string]func(name string) {
	return map[string]func(string){
		"witness":       witness,
		"mute":          func(string) { lurk() },
		"sulker":        sulker,
		"babbler":       babbler,
		"glutton":       glutton,
		"forker":        forker,
		"lurker":        func(string) { lurk() },
		"stubborn":      foreigner,
		"sleeper":       sleeper,
		"oversized":     foreigner,
		"tardy":         tardy,
		"impostor":      impostor,
		"liar":          liar,
		"fickle":        fickle,
		"greedy":        greedy,
		"recursive":     recursive,
		"launderer":     launderer,
		"nester":        nester,
		"leaker":        leaker,
		"brokerage":     foreigner,
		"moth":          moth,
		"crasher":       crasher,
		"windbag":       windbag,
		"hoarder":       hoarder,
		"climber":       climber,
		"forger":        forger,
		"ventriloquist": ventriloquist,
		"dawdler":       dawdler,
		"peddler":       peddler,
		"modest":        modest,
		"reader":        reader,
		"reformed":      reformed,
		"packrat":       packrat,
		"burrower":      burrower,
		"usurper":       usurper,
		"rummager":      rummager,
	}
}

// beside is a file in the directory that the exhibit lies in.
func beside(name string) string { return filepath.Join(filepath.Dir(os.Args[0]), name) }

// exists reports whether there is a file beside the exhibit.
func exists(name string) bool {
	_, err := os.Stat(beside(name))
	return err == nil
}

// once reports whether this is the first time that an exhibit asks, over all
// of its starts.
func once(mark string) bool {
	file, err := os.OpenFile(beside(mark), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return false
	}
	return file.Close() == nil
}

// note adds a line to a file beside the exhibit.
func note(file, line string) {
	out, err := os.OpenFile(beside(file), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer out.Close()
	_, _ = out.WriteString(line + "\n")
}

// cry writes to the file descriptor: what is written to os.Stderr, which
// go-plugin has replaced by a pipe of its own, is lost when the process ends.
func cry(words string) { _, _ = os.NewFile(2, "stderr").WriteString(words + "\n") }

// lurk never ends but by SIGKILL.
func lurk() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals)
	for range signals {
	}
}
