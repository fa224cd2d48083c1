'use strict';

// A use of a snippet is a metric that the hook leaves with its run, as an effect: the core stores it together with the
// run, once, although the hook may be called again after a crash. Nothing is written from here.

const METRIC = 'snippet-used';
const DAYS = 30;
const PAGE = 1000;

// effects say which snippets a message uses; nothing when it uses none.
function effects(names) {
  if (names.length === 0) return undefined;
  return { key: 'uses', metrics: names.map((name) => ({ name: METRIC, value: 1, tags: { snippet: name } })) };
}

// counted returns how often each snippet was used in the last days, by name.
async function counted(host, plugin) {
  const since = { seconds: Math.floor(Date.now() / 1000) - DAYS * 24 * 3600, nanos: 0 };
  const counts = new Map();
  for (let after = 0; ; ) {
    const { metrics } = await host.Metric.QueryMetrics({ query: { plugin, name: METRIC, since, after, limit: PAGE } });
    if (metrics.length === 0) return counts;
    for (const { id, value, tags } of metrics) {
      counts.set(tags.snippet, (counts.get(tags.snippet) ?? 0) + value);
      after = id;
    }
  }
}

module.exports = { DAYS, counted, effects };
