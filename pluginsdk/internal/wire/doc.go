// Package wire puts the contract of pluginsdk on gRPC, for both sides: what a
// plugin serves and the host calls (PluginServer, PluginClient), and what the
// host serves and a plugin calls (RegisterHost, NewHost). It is the only
// importer of generated protocol code; serve, launch and plugintest go through
// it.
//
// A type has one pair of conversions, xTo and xFrom, in convert*.go; the test
// beside them walks every field. A hook or a host service has its server and
// its client in one file, so that they change together.
package wire
