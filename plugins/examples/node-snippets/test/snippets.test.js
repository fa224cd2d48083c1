'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { status } = require('../lib/harness');
const { createPlugin } = require('../lib/snippets');

// fakeHost keeps settings and state in memory, as the daemon does.
function fakeHost(settings = {}) {
  const state = new Map();
  const host = {
    fail: undefined, // what State answers instead
    Settings: { GetSettings: async () => ({ settings: Buffer.from(JSON.stringify(settings)) }) },
    State: {
      GetState: async ({ key }) => {
        if (host.fail) throw host.fail;
        if (!state.has(key)) throw Object.assign(new Error('no such key'), { code: status.NOT_FOUND });
        return { value: state.get(key) };
      },
      PutState: async ({ key, value }) => {
        if (host.fail) throw host.fail;
        state.set(key, value);
        return {};
      },
    },
  };
  return host;
}

async function started(settings) {
  const host = fakeHost(settings);
  const plugin = createPlugin();
  await plugin.start(host);
  let calls = 0;
  return {
    host,
    hooks: plugin.hooks,
    // say is a person's message on its way to the agent.
    say: async (text, id = `call-${++calls}`) =>
      (await plugin.hooks.OnBeforeInvoke({ text, message: { content: text } }, { host, call: { id } })).text,
    command: async (body) => (await plugin.hooks.OnCommand({ name: 'snippets', body }, { host })).result.reply,
    lookup: (input) => plugin.hooks.CallTool({ name: 'lookup', input: Buffer.from(JSON.stringify(input)) }, { host }),
  };
}

test('a shortcut is what it stands for, anything else stays', async () => {
  const { say } = await started({ snippets: { sig: 'Yours, $& A.', 'two-words': 'x' } });
  const rows = [
    [';;sig', 'Yours, $& A.'],
    ['a ;;sig\n;;two-words.', 'a Yours, $& A.\nx.'],
    [';;unknown ;;Sig a;;sig ;sig', ';;unknown ;;Sig a;;sig ;sig'],
    ['', ''],
  ];
  for (const [text, want] of rows) assert.equal(await say(text), want);
});

test('there are snippets before an operator sets any', async () => {
  const { say } = await started();
  assert.match(await say(';;brief'), /three sentences/);
});

test('uses are counted once, also when a call is repeated', async () => {
  const { say, command } = await started({ snippets: { a: 'A' } });
  await say(';;a ;;a', 'call-x');
  await say(';;a', 'call-x');
  await Promise.all([say(';;a', 'call-y'), say(';;a', 'call-z')]);
  assert.equal(await command(''), ';;a (used 3 times): A');
});

test('a prompt is expanded although its uses cannot be counted', async () => {
  const { say, host } = await started({ snippets: { a: 'A' } });
  host.fail = Object.assign(new Error('lacks state'), { code: status.PERMISSION_DENIED });
  assert.equal(await say(';;a'), 'A');
});

test('the command shows one, and names what there is', async () => {
  const { command } = await started({ snippets: { a: 'A', b: 'B\nmore' } });
  assert.equal(await command(' ;;b '), 'B\nmore');
  assert.match(await command('c'), /no snippet c.*a, b/);
  assert.equal(await command(''), ';;a (used 0 times): A\n;;b (used 0 times): B');
});

test('the tool tells the agent what is wrong', async () => {
  const { lookup } = await started({ snippets: { a: 'A' } });
  assert.deepEqual(await lookup({ name: 'a' }), { text: 'A' });
  assert.equal((await lookup({ name: 'b' })).isError, true);
  assert.equal((await lookup({})).isError, true);
});

test('wrong settings are refused, and the last good ones stay', async () => {
  const { say, hooks } = await started({ snippets: { a: 'A' } });
  for (const snippets of [{ 'Not a name': 'x' }, { a: 5 }]) {
    await assert.rejects(hooks.OnSettingsChange({ settings: Buffer.from(JSON.stringify({ snippets })) }), { code: status.INVALID_ARGUMENT });
  }
  assert.equal(await say(';;a'), 'A');
  await hooks.OnSettingsChange({ settings: Buffer.from('{"snippets":{"a":"new"}}') });
  assert.equal(await say(';;a'), 'new');
});
