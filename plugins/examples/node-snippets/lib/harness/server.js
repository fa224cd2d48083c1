'use strict';

const grpc = require('@grpc/grpc-js');
const { selfSigned } = require('./certificate');
const { channelOptions, load } = require('./contract');
const { fail, status, statusOf } = require('./errors');
const { Broker, controller, health, stdio } = require('./goplugin');
const { Hooks } = require('./hooks');
const { connect } = require('./host');
const { manifestOf, toMessage } = require('./manifest');

// start serves the plugin on a unix socket. It returns the certificate for the handshake line: DER in base64 without
// padding, empty when the host has sent none of its own and so wants no TLS.
async function start(plugin, socket) {
  const contract = load();
  const broker = new Broker();
  const tls = credentials(process.env.PLUGIN_CLIENT_CERT);
  let host;
  const hooks = new Hooks(plugin, () => host);
  const dial = async (id) => {
    host = connect(await broker.address(id), tls.client, contract);
    return host.services();
  };

  const server = new grpc.Server(channelOptions);
  server.addService(contract['grpc.health.v1.Health'], health);
  server.addService(contract['plugin.GRPCStdio'], stdio);
  server.addService(contract['plugin.GRPCBroker'], { StartStream: broker.StartStream });
  server.addService(contract['plugin.GRPCController'], controller(() => setImmediate(() => process.exit(0))));
  server.addService(contract['harness.plugin.v1.LifecycleService'], lifecycle(plugin, hooks, dial));
  for (const [name, handlers] of Object.entries(hooks.services())) server.addService(contract[name], handlers);
  await new Promise((resolve, reject) => {
    server.bindAsync(`unix:${socket}`, tls.server, (err) => (err ? reject(err) : resolve()));
  });
  return { certificate: tls.handshake };
}

// credentials are of both directions: each side trusts the other's certificate and nothing else, and the host is asked
// for its own.
function credentials(hostCertificate) {
  if (!hostCertificate) {
    return { server: grpc.ServerCredentials.createInsecure(), client: grpc.credentials.createInsecure(), handshake: '' };
  }
  const own = selfSigned();
  const [roots, key, certificate] = [hostCertificate, own.key, own.certificate].map((pem) => Buffer.from(pem));
  return {
    server: grpc.ServerCredentials.createSsl(roots, [{ private_key: key, cert_chain: certificate }], true),
    client: grpc.credentials.createSsl(roots, key, certificate),
    handshake: own.der.toString('base64').replace(/=+$/, ''),
  };
}

function lifecycle(plugin, hooks, dial) {
  const manifest = toMessage(manifestOf(plugin.manifest));
  let started = false;
  return {
    Describe: answering(() => ({ manifest })),
    Start: answering(async ({ hostBrokerId }) => {
      if (started) throw fail(status.FAILED_PRECONDITION, 'the plugin was started before');
      started = true;
      const services = await dial(hostBrokerId);
      await plugin.start?.(services);
    }),
    Activate: answering(async () => void (await plugin.activate?.())),
    Deactivate: answering(async () => void (await plugin.deactivate?.())),
    InFlight: answering(() => ({ calls: hooks.inFlight() })),
  };
}

function answering(answer) {
  return async (call, callback) => {
    try {
      callback(null, (await answer(call.request)) ?? {});
    } catch (err) {
      callback(statusOf(err));
    }
  };
}

module.exports = { start };
