// Package invoker is the agent: Claude, a pool of warm sessions of the Claude
// Code CLI, and Demo, which answers without one.
//
// Both are used alike: Start, then Invoke for each turn, from as many
// goroutines as there are threads, then Stop. A turn never ends in a Go error:
// what went wrong is in the result's Failure.
//
// The package keeps what the CLI does to itself: the lines it writes are
// turned into pluginsdk.StreamEvents, its many ways of failing into
// pluginsdk.Failure, its processes and what they leave behind are ended here.
package invoker
