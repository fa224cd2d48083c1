'use strict';

const { fail, json, status } = require('./harness');
const { DAYS, counted, effects } = require('./uses');
const manifest = require('../plugin.json');

const DEFAULTS = manifest.settingsSchema.properties.snippets.default;
const NAME = /^[a-z][a-z0-9-]*$/;
const SHORTCUT = /(?<=^|\s);;([a-z][a-z0-9-]*)/g;

// createPlugin returns the plugin, with a state of its own.
function createPlugin() {
  let snippets = new Map();

  // configure takes settings whole or not at all: after wrong ones, the last good ones stay in force.
  function configure(settings) {
    const entries = Object.entries(settings.snippets ?? DEFAULTS);
    for (const [name, text] of entries) {
      if (!NAME.test(name)) {
        throw fail(status.INVALID_ARGUMENT, `snippets: the name ${JSON.stringify(name)} wants a lower case letter, then letters, digits and hyphens`);
      }
      if (typeof text !== 'string') throw fail(status.INVALID_ARGUMENT, `snippets: ${name} is not a text`);
    }
    snippets = new Map(entries);
  }

  function expand(text) {
    return text.replace(SHORTCUT, (written, name) => snippets.get(name) ?? written);
  }

  function used(text) {
    const names = [...text.matchAll(SHORTCUT)].map((match) => match[1]);
    return [...new Set(names)].filter((name) => snippets.has(name));
  }

  function unknown(name) {
    return `There is no snippet ${name}. There are: ${[...snippets.keys()].sort().join(', ') || 'none'}.`;
  }

  async function list(host) {
    if (snippets.size === 0) return 'There are no snippets yet. Set them with: harness plugin settings snippets';
    const uses = await counted(host, manifest.name);
    const lines = [...snippets].sort().map(([name, text]) => {
      const count = uses.get(name) ?? 0;
      return `;;${name} (used ${count === 1 ? 'once' : `${count} times`}): ${text.split('\n', 1)[0]}`;
    });
    return [`In the last ${DAYS} days:`, ...lines].join('\n');
  }

  return {
    manifest,

    async start(host) {
      const { settings } = await host.Settings.GetSettings();
      configure(json(settings));
    },

    hooks: {
      async OnSettingsChange({ settings }) {
        configure(json(settings));
      },

      // The whole prompt is expanded: it may repeat earlier messages to an agent that has not seen them. Only what the
      // person has written now is counted; plugin.json asks for it under needs.
      async OnBeforeInvoke({ prompt, message }) {
        return { prompt: expand(prompt), effects: effects(used(message?.content ?? '')) };
      },

      async OnCommand({ name, body }, { host }) {
        if (name !== 'snippets') return {};
        const wanted = body.trim().replace(/^;;/, '');
        const reply = wanted === '' ? await list(host) : (snippets.get(wanted) ?? unknown(wanted));
        return { handled: true, reply };
      },

      async CallTool({ name, input }) {
        if (name !== 'lookup') throw fail(status.NOT_FOUND, `there is no tool ${name}`);
        const wanted = json(input).name;
        if (typeof wanted !== 'string') return { result: { text: 'name: want a text', isError: true } };
        const text = snippets.get(wanted);
        return { result: text === undefined ? { text: unknown(wanted), isError: true } : { text } };
      },
    },
  };
}

module.exports = { createPlugin };
