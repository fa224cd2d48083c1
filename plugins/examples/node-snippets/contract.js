'use strict';

// Writes contract.json: the proto files of Harness and of go-plugin, parsed once, so that a plugin reads one file
// when it starts and needs nothing of a checkout. Usage: node contract.js [HARNESS/proto]

const fs = require('node:fs');
const path = require('node:path');
const protobuf = require('protobufjs');

const harness = path.resolve(process.argv[2] ?? path.join(__dirname, '..', '..', '..', 'proto'));

function protosIn(folder) {
  const names = fs.readdirSync(path.join(harness, folder)).filter((name) => name.endsWith('.proto'));
  if (names.length === 0) throw new Error(`there are no .proto files in ${path.join(harness, folder)}`);
  return names.map((name) => `${folder}/${name}`);
}

// Imports name a file by its path from one of three folders.
function folderOf(target) {
  if (target.startsWith('harness/')) return harness;
  if (target.startsWith('google/')) return path.dirname(require.resolve('protobufjs/package.json'));
  return path.join(__dirname, 'proto');
}

const root = new protobuf.Root();
root.resolvePath = (_origin, target) => path.resolve(folderOf(target), target);
root.loadSync([...protosIn('harness/plugin/v1'), ...protosIn('harness/host/v1'), 'goplugin.proto', 'health.proto']);
root.resolveAll();
fs.writeFileSync(path.join(__dirname, 'contract.json'), JSON.stringify(root.toJSON()) + '\n');
