'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { status } = require('../lib/harness');
const { createPlugin } = require('../lib/snippets');

// fakeHost keeps settings and metrics in memory, as the daemon does.
function fakeHost(settings = {}) {
  const metrics = [];
  const known = new Set();
  return {
    // apply stores the effects of a run, once for each key, as the core does.
    apply: (run, effects) => {
      if (!effects || known.has(`${run}/${effects.key}`)) return;
      known.add(`${run}/${effects.key}`);
      for (const metric of effects.metrics) metrics.push({ id: metrics.length + 1, ...metric });
    },
    Settings: { GetSettings: async () => ({ settings: Buffer.from(JSON.stringify(settings)) }) },
    Metric: {
      QueryMetrics: async ({ query }) => ({
        metrics: metrics.filter(({ id, name }) => id > query.after && name === query.name).slice(0, 2), // small pages
      }),
    },
  };
}

async function started(settings) {
  const host = fakeHost(settings);
  const plugin = createPlugin();
  await plugin.start(host);
  let runs = 0;
  return {
    host,
    hooks: plugin.hooks,
    // say is a person's message on its way to the agent.
    say: async (content, run = `run-${++runs}`) => {
      const { prompt, effects } = await plugin.hooks.OnBeforeInvoke({ prompt: content, message: { content } }, { host });
      host.apply(run, effects);
      return prompt;
    },
    command: async (body) => (await plugin.hooks.OnCommand({ name: 'snippets', body }, { host })).reply,
    lookup: async (input) => (await plugin.hooks.CallTool({ name: 'lookup', input: Buffer.from(JSON.stringify(input)) }, { host })).result,
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
  await say(';;a ;;a', 'run-x');
  await say(';;a ;;a', 'run-x');
  await Promise.all([say(';;a', 'run-y'), say(';;a', 'run-z'), say('no snippet')]);
  assert.equal(await command(''), 'In the last 30 days:\n;;a (used 3 times): A');
});

test('the command shows one, and names what there is', async () => {
  const { command } = await started({ snippets: { a: 'A', b: 'B\nmore' } });
  assert.equal(await command(' ;;b '), 'B\nmore');
  assert.match(await command('c'), /no snippet c.*a, b/);
  assert.equal(await command(''), 'In the last 30 days:\n;;a (used 0 times): A\n;;b (used 0 times): B');
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
