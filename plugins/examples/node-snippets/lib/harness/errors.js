'use strict';

const { status } = require('@grpc/grpc-js');

// The message of an error travels in a header, so it is bounded.
const MAX_ERROR_CHARACTERS = 4096;

// fail returns an error with a status code, for a hook to throw. Codes mean something to the host: see docs/wire.md.
function fail(code, message) {
  return Object.assign(new Error(message), { code });
}

// statusOf turns what a hook threw into a gRPC status. An error without a code is a fault of the plugin.
function statusOf(err) {
  const known = Number.isInteger(err?.code) && err.code > status.OK && err.code <= status.UNAUTHENTICATED;
  const text = String(err?.details ?? err?.message ?? err);
  return {
    code: known ? err.code : status.INTERNAL,
    details: text.length > MAX_ERROR_CHARACTERS ? text.slice(0, MAX_ERROR_CHARACTERS) + ' [cut]' : text,
  };
}

module.exports = { fail, status, statusOf };
