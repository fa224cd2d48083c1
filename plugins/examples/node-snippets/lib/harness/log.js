'use strict';

// Lines of JSON on stderr in the form of hclog, which the daemon reads: they land in its log with their level, under
// the plugin's name. Any other line is logged too, as information.

function write(level, message, fields) {
  const line = { '@level': level, '@message': String(message), '@timestamp': new Date().toISOString(), ...fields };
  process.stderr.write(JSON.stringify(line) + '\n'); // a pipe is written to at once, so nothing is lost at the end
}

module.exports = {
  debug: (message, fields) => write('debug', message, fields),
  info: (message, fields) => write('info', message, fields),
  warn: (message, fields) => write('warn', message, fields),
  error: (message, fields) => write('error', message, fields),
};
