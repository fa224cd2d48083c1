// Package fakeapi is a Messages API (https://docs.anthropic.com/en/api/messages)
// on loopback whose replies a test scripts. The real Claude Code CLI runs end
// to end against it, without an account.
//
// What it answers is decided by Server.Handle when that is set, else by
// directives in the prompt (Request.Prompt), each at the start of a line:
//
//	say:TEXT          the reply, to the end of the message or the next directive
//	think:TEXT        thinking before the reply; TEXT may be empty
//	usetool:NAME JSON a tool call instead of the reply
//	then:TEXT         the reply once the tool has its result
//	slow:MS           wait so long before answering
//	block:NAME        wait for Server.Release(NAME) before answering
//	apierror:STATUS   an error instead of a reply
//	usage:IN [OUT [READ [WRITE [OF-AN-HOUR]]]]   the tokens that the reply is charged
//	window:NAME USED [STATUS [SECONDS]]          a window of the plan in the answer's headers,
//	                  that opens in so many seconds; rejected refuses the call (429)
//
// think:, slow: and block: may stand before another directive on the same line,
// as in "think: say:Hello". Without a directive the reply is DefaultText.
//
// The server counts by itself what every call costs (Server.Billed), tells of a plan's
// windows (Server.SetWindows), and knows which models there are (Server.SetModels).
package fakeapi
