'use strict';

const grpc = require('@grpc/grpc-js');
const { channelOptions } = require('./contract');

// Outside of a hook nothing else bounds a call.
const DEFAULT_TIMEOUT = 10_000;

// connect dials the host, once for the life of the process. The result makes the host's services:
//
//   host.services()                  for calls outside of a hook
//   host.services({call, signal})    for calls inside of one: they carry its Call, and end with it
//
// A service is an object of functions, named as in harness.host.v1 without "Service":
//
//   const { value } = await services.State.GetState({ key: 'k' });
//
// A refusal is an error whose code is one of grpc-js's status.
function connect(address, credentials, contract) {
  const client = new grpc.Client(address, credentials, {
    ...channelOptions,
    'grpc.ssl_target_name_override': 'localhost',
    'grpc.default_authority': 'localhost',
  });
  const encodeCall = contract['harness.types.v1.Call'].serialize;

  function invoke(method, request, hook) {
    const metadata = new grpc.Metadata();
    if (hook) metadata.set('harness-call-bin', encodeCall(hook.call));
    const deadline = hook?.deadline ?? Date.now() + DEFAULT_TIMEOUT;
    return new Promise((resolve, reject) => {
      const done = (err, response) => {
        hook?.signal.removeEventListener('abort', cancel);
        if (err) reject(err);
        else resolve(response);
      };
      const call = client.makeUnaryRequest(
        method.path, method.requestSerialize, method.responseDeserialize, request, metadata, { deadline }, done,
      );
      const cancel = () => call.cancel();
      hook?.signal.addEventListener('abort', cancel);
      if (hook?.signal.aborted) cancel();
    });
  }

  return {
    services(hook) {
      const services = {};
      for (const [name, methods] of hostServices(contract)) {
        services[name] = {};
        for (const [method, definition] of Object.entries(methods)) {
          services[name][method] = (request = {}) => invoke(definition, request, hook);
        }
      }
      return services;
    },
  };
}

function* hostServices(contract) {
  for (const [name, definition] of Object.entries(contract)) {
    const match = /^harness\.host\.v1\.(\w+)Service$/.exec(name);
    if (match) yield [match[1], definition];
  }
}

module.exports = { connect };
