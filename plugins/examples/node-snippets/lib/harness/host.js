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
//   await services.as('Ann').Approval.DecideApproval({ id, choice }); // in a person's name, which stands in the audit log
//
// A refusal is an error whose code is one of grpc-js's status.
function connect(address, credentials, contract) {
  const client = new grpc.Client(address, credentials, {
    ...channelOptions,
    'grpc.ssl_target_name_override': 'localhost',
    'grpc.default_authority': 'localhost',
  });
  const encodeCall = contract['harness.types.v1.Call'].serialize;

  function invoke(method, request, hook, person) {
    const metadata = new grpc.Metadata();
    if (hook) metadata.set('harness-call-bin', encodeCall(hook.call));
    if (person) metadata.set('harness-person-bin', Buffer.from(person));
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

  function services(hook, person) {
    const made = { as: (name) => services(hook, name) };
    for (const [name, methods] of hostServices(contract)) {
      made[name] = {};
      for (const [method, definition] of Object.entries(methods)) {
        made[name][method] = (request = {}) => invoke(definition, request, hook, person);
      }
    }
    return made;
  }

  return { services: (hook) => services(hook) };
}

function* hostServices(contract) {
  for (const [name, definition] of Object.entries(contract)) {
    const match = /^harness\.host\.v1\.(\w+)Service$/.exec(name);
    if (match) yield [match[1], definition];
  }
}

module.exports = { connect };
