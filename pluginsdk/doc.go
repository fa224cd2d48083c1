// Package pluginsdk is the contract between Harness and its plugins.
//
// It holds the domain types (Thread, Message, Run, Task, StreamEvent,
// InvokeResult, Event, ...), the hook interfaces a plugin may implement, and
// Host, what a plugin may ask of the core. It imports nothing but the standard
// library, so that depending on the contract costs an author nothing.
//
// A plugin is a struct. Which hooks it answers is which interfaces it
// implements, found once at start. Its main function is one call to
// serve.Main; see package pluginsdk/serve.
package pluginsdk
