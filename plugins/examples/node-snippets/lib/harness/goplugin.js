'use strict';

// The services of go-plugin that the host expects beside those of Harness.

const { status } = require('@grpc/grpc-js');

const ANNOUNCE_TIMEOUT = 5000;

// health says that the plugin serves.
const health = {
  Check(call, callback) {
    const { service } = call.request;
    if (service === '' || service === 'plugin') callback(null, { status: 'SERVING' });
    else callback({ code: status.NOT_FOUND, details: `there is no service ${service}` });
  },
  Watch(call) {
    call.write({ status: 'SERVING' });
    call.on('cancelled', () => call.end());
  },
};

// stdio is held open and says nothing: the host reads the process's own stdout and stderr.
const stdio = {
  StreamStdio(call) {
    call.on('cancelled', () => call.end());
  },
};

// controller ends the process when the host asks for it.
function controller(end) {
  return {
    Shutdown(_call, callback) {
      callback(null, {});
      end();
    },
  };
}

// Broker learns where the host serves what it has announced under a number. The announcement may come before or after
// it is asked for.
class Broker {
  #announced = new Map();
  #waiting = new Map();

  // StartStream is the host's stream of announcements; it stays open.
  StartStream = (call) => {
    call.on('data', (info) => {
      this.#announced.set(info.serviceId, info);
      this.#waiting.get(info.serviceId)?.(info);
    });
    call.on('end', () => call.end());
    call.on('error', () => {}); // the host is gone; the process will be, too
  };

  // address returns the address announced under the number, as grpc-js wants it.
  async address(id) {
    const info = this.#announced.get(id) ?? (await this.#announcement(id));
    if (info.network !== 'unix') throw new Error(`the host serves on ${info.network}, which this plugin does not speak`);
    return `unix:${info.address}`;
  }

  #announcement(id) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`the host did not announce its service ${id}`)), ANNOUNCE_TIMEOUT);
      this.#waiting.set(id, (info) => {
        clearTimeout(timer);
        this.#waiting.delete(id);
        resolve(info);
      });
    });
  }
}

module.exports = { Broker, controller, health, stdio };
