'use strict';

// What a plugin of Harness in Node.js needs of the wire, which docs/wire.md of Harness describes. A plugin is an object:
//
//   {
//     manifest,                        // what plugin.json says
//     async start(host) {},            // optional: ready to answer; no effect outside of the process
//     async activate() {},             // optional: connect, listen, schedule
//     async deactivate() {},           // optional: takes activate back
//     hooks: {
//       async OnMessage(request, {host, signal, deadline, call}) {},   // one function for each declared hook
//     },
//   }
//
// A hook gets the request message of harness.plugin.v1 and returns the response message, nothing for an empty one.
// CallTool and the hooks of tasks have progress({done, total, message}) beside host; a call that may take as long as it
// likes is ended when it has reported nothing for 5 minutes. An error thrown is the call's status:
// fail(status.NOT_FOUND, '...') gives it a code.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const log = require('./log');
const { manifestOf } = require('./manifest');
const { watchHost } = require('./parent');

const PROTOCOL = '1';
const COOKIE = 'harness.plugin.v1';

// serve serves the plugin to the host that started the process, until the host ends it or is gone.
function serve(plugin) {
  const manifest = manifestOf(plugin.manifest);
  const argument = process.argv.length === 3 ? process.argv[2] : undefined;
  if (argument === '--describe') {
    process.stdout.write(JSON.stringify(manifest, null, 2) + '\n');
    return;
  }
  if (argument === '--debug') {
    debug(plugin);
    return;
  }
  if (process.env.HARNESS_PLUGIN !== COOKIE) {
    process.stderr.write(
      `This is ${manifest.name} ${manifest.version}, a plugin of Harness. It does not run by itself: the daemon starts it.\n` +
        `Install its package with:  harness plugin install PACKAGE\n`,
    );
    process.exitCode = 1;
    return;
  }
  process.on('SIGINT', () => {}); // Ctrl-C is the daemon's
  process.on('SIGTERM', () => process.exit(0));
  process.on('uncaughtException', (err) => {
    log.error('the plugin fails', { error: String(err?.stack ?? err) });
    process.exit(1);
  });
  watchHost();
  listen(plugin).catch((err) => {
    log.error('the plugin cannot be served', { error: err.message });
    process.exit(1);
  });
}

async function listen(plugin) {
  const versions = (process.env.PLUGIN_PROTOCOL_VERSIONS ?? PROTOCOL).split(',');
  if (!versions.includes(PROTOCOL)) throw new Error(`the host speaks version ${versions} of the protocol, this plugin ${PROTOCOL}`);
  const { start } = require('./server'); // gRPC is loaded only now: started by hand, the plugin needs none of it
  const { certificate } = await start(plugin, socketPath());
  process.stdout.write(`1|${PROTOCOL}|unix|${socketPath()}|grpc|${certificate}\n`);
}

// debug serves without a host having started the process, so that it can run under a debugger:
//
//   node --inspect-brk EXECUTABLE --debug
//
// It prints the command that makes a daemon in development mode take it. Nothing protects the connection but the
// directory of its socket, which is the user's alone.
async function debug(plugin) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'harness-debug')); // 0700
  process.on('exit', () => fs.rmSync(dir, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(0));
  delete process.env.PLUGIN_CLIENT_CERT;
  const socket = path.join(dir, 'node');
  await require('./server').start(plugin, socket);
  const { name } = plugin.manifest;
  process.stderr.write(
    `${name} serves, process ${process.pid}. A daemon that was started with --dev takes it with:\n` +
      `  harness plugin attach ${name} --pid ${process.pid} --address ${socket}\n` +
      `and gives it back with: harness plugin detach ${name}\n`,
  );
}

// socketPath is in the private directory that the host has made for this process.
function socketPath() {
  process.env.PLUGIN_UNIX_SOCKET_DIR ||= fs.mkdtempSync(path.join(os.tmpdir(), 'plugin'));
  return path.join(process.env.PLUGIN_UNIX_SOCKET_DIR, 'node');
}

module.exports = {
  serve,
  log,
  get fail() {
    return require('./errors').fail;
  },
  get status() {
    return require('./errors').status;
  },
  get json() {
    return require('./contract').json;
  },
};
