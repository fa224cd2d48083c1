'use strict';

const { status } = require('./harness');

// Counter counts in the plugin's own store of the host. A hook call may be repeated, with the same id, after a crash:
// the last call counted is kept beside the count, so that it counts once. Hooks of different threads arrive at the same
// time, so one change waits for the other.
class Counter {
  #last = Promise.resolve();

  // read returns the count of a name.
  async read(host, name) {
    return (await load(host, name)).count;
  }

  // add counts one use of a name.
  add(host, name, callId) {
    const added = this.#last.then(async () => {
      const { count, call } = await load(host, name);
      if (callId !== '' && call === callId) return;
      await host.State.PutState({ key: key(name), value: Buffer.from(JSON.stringify({ count: count + 1, call: callId })) });
    });
    this.#last = added.catch(() => {}); // the caller has the error; the next one goes on
    return added;
  }
}

async function load(host, name) {
  try {
    const { value } = await host.State.GetState({ key: key(name) });
    return JSON.parse(value.toString('utf8'));
  } catch (err) {
    if (err.code === status.NOT_FOUND) return { count: 0, call: '' };
    throw err;
  }
}

const key = (name) => `used/${name}`;

module.exports = { Counter };
