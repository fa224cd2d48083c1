'use strict';

const assert = require('node:assert/strict');
const crypto = require('node:crypto');
const { execFileSync, spawn, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');
const grpc = require('@grpc/grpc-js');
const { selfSigned } = require('../lib/harness/certificate');
const { load } = require('../lib/harness/contract');
const { status, statusOf } = require('../lib/harness/errors');
const { Hooks } = require('../lib/harness/hooks');

const executable = path.join(__dirname, '..', 'snippets');

test('the certificate is what Go accepts', () => {
  for (let i = 0; i < 20; i++) { // lengths in DER depend on chance
    const { certificate, der, key } = selfSigned();
    const read = new crypto.X509Certificate(certificate);
    assert.ok(read.raw.equals(der));
    assert.ok(read.verify(read.publicKey), 'its signature');
    assert.ok(read.checkPrivateKey(crypto.createPrivateKey(key)), 'its key');
    assert.equal(read.checkHost('localhost'), 'localhost');
    assert.ok(new Date(read.validFrom) < new Date() && new Date() < new Date(read.validTo));
  }
});

test('an error has a code and a bounded message', () => {
  assert.deepEqual(statusOf(new Error('x')), { code: status.INTERNAL, details: 'x' });
  assert.deepEqual(statusOf(undefined), { code: status.INTERNAL, details: 'undefined' });
  assert.equal(statusOf(Object.assign(new Error('x'), { code: status.NOT_FOUND })).code, status.NOT_FOUND);
  assert.equal(statusOf(Object.assign(new Error('x'), { code: 'ENOENT' })).code, status.INTERNAL);
  assert.ok(statusOf(new Error('x'.repeat(1e6))).details.length < 5000);
});

// served calls a hook of a plugin as the server does.
function served(hook, answer) {
  const hooks = new Hooks({ manifest: { hooks: [hook] }, hooks: { [hook]: answer } }, () => undefined);
  const handler = Object.values(hooks.services()).find((service) => service[hook])[hook];
  const listeners = {};
  const call = { request: { call: { id: 'c' } }, getDeadline: () => Infinity, on: (event, listener) => (listeners[event] = listener) };
  const answered = new Promise((resolve) => handler(call, (err, response) => resolve({ err, response })));
  return { answered, cancel: () => listeners.cancelled(), hooks };
}

test('a call is in flight until its function has returned, whoever gave up', async () => {
  let gaveUp, finish;
  const aborted = new Promise((resolve) => (gaveUp = resolve));
  const { answered, cancel, hooks } = served('OnMessage', async (_request, { signal }) => {
    signal.addEventListener('abort', gaveUp);
    await new Promise((resolve) => (finish = resolve));
  });
  cancel();
  await aborted;
  assert.deepEqual(hooks.inFlight().map(({ callId, hook }) => [callId, hook]), [['c', 'OnMessage']]);
  finish();
  assert.deepEqual((await answered).response, {});
  assert.deepEqual(hooks.inFlight(), []);
});

test('the hook of a task reports that it is alive, then answers', async () => {
  const hooks = new Hooks(
    {
      manifest: { hooks: ['OnTaskComplete'] },
      hooks: {
        OnTaskComplete: async (_request, { progress }) => {
          progress({ done: 1, total: 2 });
          setImmediate(() => progress({ done: 2 })); // too late
          return { verdict: 'accept' };
        },
      },
    },
    () => undefined,
  );
  const written = [];
  await new Promise((resolve) => {
    hooks.services()['harness.plugin.v1.TaskService'].OnTaskComplete({
      request: {}, getDeadline: () => Infinity, on: () => {}, write: (update) => written.push(update), end: () => setImmediate(resolve),
    });
  });
  assert.deepEqual(written, [{ progress: { done: 1, total: 2 } }, { response: { verdict: 'accept' } }]);
});

test('what a hook throws at once is an answer too', async () => {
  const { answered, hooks } = served('OnMessage', () => {
    throw Object.assign(new Error('no'), { code: status.ABORTED });
  });
  assert.deepEqual((await answered).err, { code: status.ABORTED, details: 'no' });
  assert.deepEqual(hooks.inFlight(), []);
});

test('a hook that is declared and not there is found at the start', () => {
  assert.throws(() => new Hooks({ manifest: { hooks: ['OnMessage'] }, hooks: {} }).services(), /OnMessage, which has no function/);
  assert.throws(() => new Hooks({ manifest: { hooks: ['OnMassage'] }, hooks: {} }).services(), /there is no hook OnMassage/);
});

test('it describes itself, and explains itself when started by hand', () => {
  const { executable: _, ...manifest } = require('../plugin.json');
  assert.deepEqual(JSON.parse(execFileSync(executable, ['--describe'])), manifest);
  const { status: exit, stderr } = spawnSync(executable, { encoding: 'utf8', env: { PATH: process.env.PATH } });
  assert.equal(exit, 1);
  assert.match(stderr, /snippets 0\.1\.0, a plugin of Harness/);
});

test('for a debugger it serves by itself, and leaves nothing', async () => {
  const plugin = spawn(executable, ['--debug']);
  const ended = new Promise((resolve) => plugin.on('close', resolve));
  try {
    const said = await new Promise((resolve) => plugin.stderr.once('data', (text) => resolve(String(text))));
    const [, address] = /attach snippets --pid \d+ --address (\S+)/.exec(said) ?? assert.fail(said);
    assert.equal(fs.statSync(path.dirname(address)).mode & 0o777, 0o700);
    const { manifest } = await asked(address, 'harness.plugin.v1.LifecycleService', 'Describe', {});
    assert.equal(manifest.name, 'snippets');
    assert.equal((await asked(address, 'grpc.health.v1.Health', 'Check', { service: 'plugin' })).status, 'SERVING');
    await assert.rejects(asked(address, 'harness.plugin.v1.PipelineService', 'OnMessage', {}), { code: status.UNIMPLEMENTED });
    plugin.kill('SIGTERM');
    assert.equal(await ended, 0);
    assert.ok(!fs.existsSync(path.dirname(address)));
  } finally {
    plugin.kill('SIGKILL');
  }
});

// asked calls a method of a plugin that serves without TLS.
async function asked(address, service, method, request) {
  const { path: name, requestSerialize, responseDeserialize } = load()[service][method];
  const client = new grpc.Client(`unix:${address}`, grpc.credentials.createInsecure());
  try {
    return await new Promise((resolve, reject) => {
      client.makeUnaryRequest(name, requestSerialize, responseDeserialize, request, (err, response) => (err ? reject(err) : resolve(response)));
    });
  } finally {
    client.close();
  }
}
