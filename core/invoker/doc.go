// Package invoker is the agent: Claude, a pool of warm sessions of the Claude Code CLI,
// and Demo, which answers without one.
//
// Both are used alike: Start, then Invoke for each turn, from as many goroutines as there
// are threads, then Stop. Invoke returns no Go error: the result's Failure says what went
// wrong.
//
// Nothing outside of the package depends on the CLI's behaviour. The package turns the
// lines that the CLI writes into pluginsdk.StreamEvents and its failures into
// pluginsdk.Failure, and ends its processes with all that they have started.
package invoker
