'use strict';

const log = require('./log');

const INTERVAL = 1000;

// watchHost ends the process when its parent has changed or the host is gone. On Linux the host also sets a signal for
// that, but only for its own child, which a wrapping script would be.
function watchHost() {
  const parent = process.ppid;
  const host = Number(process.env.HARNESS_HOST_PID) || parent;
  setInterval(() => {
    if (process.ppid === parent && alive(host)) return;
    log.warn('the host is gone, ending');
    process.exit(1);
  }, INTERVAL).unref();
}

function alive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (err) {
    return err.code !== 'ESRCH';
  }
}

module.exports = { watchHost };
