'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { test } = require('node:test');
const grpc = require('@grpc/grpc-js');
const { createPlugin } = require('../examples/approvals');
const { load } = require('../lib/harness/contract');
const { fail, status, statusOf } = require('../lib/harness/errors');
const { Hooks } = require('../lib/harness/hooks');
const { connect } = require('../lib/harness/host');

const contract = load();

// served has the example between a host and a chat service; both calls and answers go through gRPC.
async function served(t, people = ['Ann', 'Bob']) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'approvals'));
  t.after(() => fs.rmSync(dir, { recursive: true }));
  const approval = {
    id: 'a1', kind: 'tool', state: 'open', title: 'Bash: make', text: 'make test', note: 'It may already have been done.', input: Buffer.from('{"command":"make test"}'),
    choices: [{ id: 'allow', label: 'Allow once', allow: true }, { id: 'rule:1', label: 'Allow make', allow: true, rule: 'make, in this thread' }, { id: 'deny', label: 'Deny' }],
  };
  const state = new Map();
  const decided = [];
  const decide = (by, choice) => {
    Object.assign(approval, { state: choice === 'deny' ? 'denied' : 'allowed', choice, author: by });
  };
  const answers = {
    'harness.host.v1.ApprovalService': {
      GetApproval: () => ({ approval }),
      DecideApproval: ({ request, metadata }) => {
        decided.push({ ...request, person: String(metadata.get('harness-person-bin')[0]), inHook: metadata.get('harness-call-bin').length > 0 });
        if (approval.state !== 'open') throw fail(status.FAILED_PRECONDITION, `it was ${approval.state} by ${approval.author}`);
        decide(decided.at(-1).person, request.choice);
        return { approval };
      },
    },
    'harness.host.v1.StateService': {
      GetState: ({ request: { key } }) => {
        if (!state.has(key)) throw fail(status.NOT_FOUND, `no ${key}`);
        return { entry: { key, value: state.get(key) } };
      },
      PutState: ({ request: { key, value } }) => (state.set(key, value), {}),
      DeleteState: ({ request: { key } }) => (state.delete(key), {}),
    },
  };
  const listen = async (name, services) => {
    const server = new grpc.Server();
    for (const [service, handlers] of Object.entries(services)) server.addService(contract[service], handlers);
    const address = `unix:${path.join(dir, name)}`;
    await new Promise((resolve, reject) => server.bindAsync(address, grpc.ServerCredentials.createInsecure(), (err) => (err ? reject(err) : resolve())));
    t.after(() => server.forceShutdown());
    return address;
  };
  const unary = (answer) => (call, callback) => {
    try {
      callback(null, answer(call));
    } catch (err) {
      callback(statusOf(err));
    }
  };
  const hosted = Object.entries(answers).map(([name, methods]) => [name, Object.fromEntries(Object.entries(methods).map(([method, answer]) => [method, unary(answer)]))]);
  const host = connect(await listen('host', Object.fromEntries(hosted)), grpc.credentials.createInsecure(), contract);

  const posts = new Map();
  let pressed;
  const service = {
    post: async (place, key, shown) => (posts.set(`${place}/${key}`, shown), `${place}/${key}`),
    edit: async (post, shown) => posts.set(post, shown),
    onPress: (handler) => (pressed = handler),
  };
  const plugin = createPlugin(service, people);
  await plugin.start(host.services());
  await plugin.activate();
  const address = await listen('plugin', new Hooks(plugin, () => host).services());
  const client = new grpc.Client(address, grpc.credentials.createInsecure());
  t.after(() => client.close());
  const call = (name, method, request) => {
    const { path: at, requestSerialize, responseDeserialize } = contract[`harness.plugin.v1.${name}Service`][method];
    return new Promise((resolve, reject) => {
      client.makeUnaryRequest(at, requestSerialize, responseDeserialize, request, (err, response) => (err ? reject(err) : resolve(response)));
    });
  };
  return {
    approval, decide, decided, posts, state,
    deliver: (asks = approval) => call('Delivery', 'Deliver', {
      call: { id: 'd1', runId: 'r1' }, delivery: { id: 'd1', place: 'room' }, thread: { id: 't' }, message: { content: 'The agent asks.' }, approval: asks,
    }),
    resolved: () => call('Broadcast', 'OnBroadcast', {
      call: { id: 'b' }, events: [{ type: 'approval:resolved', data: Buffer.from(JSON.stringify({ approvalId: 'a1', state: approval.state })) }],
    }),
    press: (button, person) => pressed({ post: 'room/d1', button, person }),
  };
}

test('what the agent asks is carried with its choices, and what a person presses is handed in', async (t) => {
  const { deliver, resolved, press, decided, posts, state } = await served(t);
  for (let i = 0; i < 2; i++) assert.deepEqual(await deliver(), { externalId: 'room/d1' }); // it comes at least once
  assert.deepEqual([...posts.values()], [{
    text: 'Bash: make\nmake test\nIt may already have been done.',
    buttons: [{ id: 'allow', label: 'Allow once' }, { id: 'rule:1', label: 'Allow make' }, { id: 'deny', label: 'Deny' }],
  }]);
  assert.equal(await press('rule:1', 'Ann'), 'allowed');
  assert.equal(decided.length, 1);
  const { id, choice, person, inHook } = decided[0];
  assert.deepEqual({ id, choice, person, inHook }, { id: 'a1', choice: 'rule:1', person: 'Ann', inHook: false });
  for (let i = 0; i < 2; i++) await resolved(); // an event may come twice
  assert.deepEqual([...posts.values()].map(({ buttons }) => buttons), [[]]);
  assert.match([...posts.values()][0].text, /allowed by Ann$/);
  assert.equal(state.size, 0);
  assert.equal(await press('deny', 'Ann'), 'This is over.');
});

test('who may not answer, or comes too late, is told so and decides nothing', async (t) => {
  const { approval, decide, decided, deliver, press } = await served(t);
  await deliver();
  assert.equal(await press('allow', 'Mallory'), 'You may not answer this.');
  assert.deepEqual(decided, []);
  decide('Bob', 'deny');
  assert.match(await press('allow', 'Ann'), /denied by Bob/);
  assert.equal(approval.choice, 'deny');
});

test('what is answered while it is posted has no buttons', async (t) => {
  const { approval, decide, deliver, posts, state } = await served(t);
  const asked = structuredClone({ ...approval, input: undefined });
  decide('Bob', 'allow');
  await deliver(asked);
  assert.deepEqual([...posts.values()].map(({ buttons }) => buttons), [[]]);
  assert.equal(state.size, 0);
});

test('what asks nothing is carried as it is', async (t) => {
  const { deliver, posts, state } = await served(t);
  await deliver(null);
  assert.deepEqual([...posts.values()], [{ text: 'The agent asks.', buttons: [] }]);
  assert.equal(state.size, 0);
});
