package wire

import "github.com/seed-706843ae/harness/pluginsdk"

// What both sides of go-plugin's handshake agree on. The cookie is no secret:
// it only tells a plugin that was started by a host from one started by hand.
const (
	ProtocolVersion = pluginsdk.ContractVersion
	CookieKey       = "HARNESS_PLUGIN"
	CookieValue     = "harness.plugin.v1"
	// DispenseName is the name that the plugin is registered under.
	DispenseName = "harness"
	// HostPIDKey names the environment variable with the host's process id,
	// so that a plugin can tell that its host is gone.
	HostPIDKey = "HARNESS_HOST_PID"
)
