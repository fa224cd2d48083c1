'use strict';

const fs = require('node:fs');
const path = require('node:path');
const loader = require('@grpc/proto-loader');

const file = path.join(__dirname, '..', '..', 'contract.json');

// MAX_MESSAGE_BYTES is the largest message either side sends or accepts.
const MAX_MESSAGE_BYTES = 16 << 20;

const channelOptions = {
  'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
  'grpc.max_send_message_length': MAX_MESSAGE_BYTES,
};

// load returns the services and messages of contract.json by their full names. Fields have camel case names; a field
// of type bytes is a Buffer; an int64 is a number (ids stay far below 2^53); a Timestamp is {seconds, nanos}.
function load() {
  let json;
  try {
    json = JSON.parse(fs.readFileSync(file, 'utf8'));
  } catch (err) {
    throw new Error(`read ${file}: ${err.message}; it is made by "npm run contract"`);
  }
  return loader.fromJSON(json, { longs: Number, enums: String, defaults: true, oneofs: true });
}

// json reads a field that holds JSON as bytes; nothing and null are the empty object.
function json(bytes) {
  return (bytes && bytes.length > 0 ? JSON.parse(bytes.toString('utf8')) : null) ?? {};
}

module.exports = { channelOptions, json, load };
