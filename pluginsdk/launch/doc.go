// Package launch is the host's side of the wire: it starts a plugin's
// executable, shakes hands, and gives its hooks. It is the only client of
// go-plugin, and keeps what go-plugin does not: every call and every stop
// ends with its context, a plugin never outlives its host, and nothing of a
// stopped plugin is left (its process group and what left it, goroutines, socket
// files).
//
// The plugin may be hostile. What it can take of the machine has Limits; of
// the daemon, bounds: connections and calls to the host (serve_host.go), output
// (flood.go), go-plugin's own streams (watch.go), the size of a message (wire).
//
// A plugin in any language can be launched. It must check the cookie, print
// go-plugin's handshake line (1|1|unix|PATH|grpc|CERTIFICATE), serve the gRPC
// health service, plugin.GRPCController, plugin.GRPCStdio, plugin.GRPCBroker
// and the services of harness.plugin.v1.
package launch
