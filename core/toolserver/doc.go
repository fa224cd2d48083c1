// Package toolserver is how the plugins' tools are called: by the agent, over
// one MCP server on loopback (Streamable HTTP), by plugins, and by the demo
// agent. All of them go the same way: the input is checked against the tool's
// schema, the call gets a deadline and a run token, and whatever goes wrong is
// an error with a code, never the end of anything else.
//
// Each process of the agent's CLI has a Session: a token of its own and the
// list of tools as it was when its turn began. A turn is made known with
// Server.Begin by whoever runs it, and taken up by the session in which it
// runs, so that a call knows its thread and run.
package toolserver
