// Package wire puts the contract of pluginsdk on gRPC, for both sides: what a
// plugin serves and the host calls (PluginServer, PluginClient), and what the
// host serves and a plugin calls (RegisterHost, NewHost). It is the only
// importer of generated protocol code; serve, launch and plugintest go through
// it.
//
// A type has one pair of conversions, xTo and xFrom, in convert*.go; the test
// beside them walks every field. A method of a hook or of a host service has its
// server and its client side by side (hook_*.go, host_*.go), each a line over what
// all methods share (method.go, and stream.go for those that report progress).
package wire
