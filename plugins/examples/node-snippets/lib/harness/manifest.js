'use strict';

const FIELDS = [
  'name', 'version', 'description', 'hooks', 'onFailure', 'needs', 'sources', 'commands', 'tools', 'events', 'eventRules', 'capabilities', 'environment',
  'settingsSchema', 'exclusive',
];

// manifestOf returns what plugin.json says of the plugin, without what only the package needs ("executable").
function manifestOf(file) {
  return Object.fromEntries(FIELDS.filter((field) => field in file).map((field) => [field, file[field]]));
}

// toMessage returns a manifest as harness.types.v1.Manifest, where JSON Schemas are bytes and a hook's parts a message.
function toMessage(manifest) {
  return {
    ...manifest,
    needs: Object.fromEntries(Object.entries(manifest.needs ?? {}).map(([hook, names]) => [hook, { names }])),
    tools: manifest.tools?.map((tool) => ({ ...tool, inputSchema: bytes(tool.inputSchema) })),
    settingsSchema: manifest.settingsSchema && bytes(manifest.settingsSchema),
  };
}

function bytes(value) {
  return Buffer.from(JSON.stringify(value));
}

module.exports = { manifestOf, toMessage };
