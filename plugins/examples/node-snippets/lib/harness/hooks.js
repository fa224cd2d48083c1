'use strict';

const { statusOf } = require('./errors');
const log = require('./log');

// SERVICE says which service of harness.plugin.v1 a hook belongs to.
const SERVICE = {
  OnBeforeRun: 'Pipeline',
  OnPipelineStart: 'Pipeline',
  OnMessage: 'Pipeline',
  OnBeforeInvoke: 'Pipeline',
  OnAfterInvoke: 'Pipeline',
  OnBeforeReply: 'Pipeline',
  OnPipelineComplete: 'Pipeline',
  OnCommand: 'Command',
  OnTaskCreate: 'Task',
  OnTaskComplete: 'Task',
  OnTaskValidated: 'Task',
  OnTaskFailed: 'Task',
  OnSettingsChange: 'Settings',
  OnBroadcast: 'Broadcast',
  OnCheck: 'Check',
  Deliver: 'Delivery',
  CallTool: 'Tool',
};

// STREAMING are the services whose hooks answer with a stream: any number of progress reports, then one response.
const STREAMING = ['Task', 'Tool'];

const MAX_TIMER = 2 ** 31 - 1;

// Hooks answers the host's hook calls with the plugin's functions, and knows which of them have not returned.
class Hooks {
  #plugin;
  #host; // () => what connect returned, undefined before Start
  #running = new Map();

  constructor(plugin, host) {
    this.#plugin = plugin;
    this.#host = host;
  }

  // services returns the handlers of every service of harness.plugin.v1 but Lifecycle, by its full name. A hook that the
  // plugin does not declare has none; grpc-js then answers UNIMPLEMENTED.
  services() {
    const services = {};
    for (const service of new Set(Object.values(SERVICE))) services[`harness.plugin.v1.${service}Service`] = {};
    for (const hook of this.#plugin.manifest.hooks ?? []) {
      if (!SERVICE[hook]) throw new Error(`plugin.json: there is no hook ${hook}`);
      if (!this.#plugin.hooks[hook]) throw new Error(`plugin.json declares the hook ${hook}, which has no function`);
      const handler = STREAMING.includes(SERVICE[hook]) ? this.#streaming(hook) : this.#unary(hook);
      services[`harness.plugin.v1.${SERVICE[hook]}Service`][hook] = handler;
    }
    return services;
  }

  // inFlight lists the calls that have not returned, the oldest first, also those whose caller has given up.
  inFlight() {
    return [...this.#running.values()];
  }

  #unary(hook) {
    return (call, callback) => {
      this.#run(hook, call).then(
        (response) => callback(null, response ?? {}),
        (err) => callback(statusOf(err)),
      );
    };
  }

  #streaming(hook) {
    return (call) => {
      let open = true;
      const progress = (report) => {
        if (open && !call.cancelled) call.write({ progress: report });
      };
      this.#run(hook, call, { progress }).then(
        (response) => {
          open = false;
          call.write({ response: response ?? {} });
          call.end();
        },
        (err) => {
          open = false;
          call.emit('error', statusOf(err));
        },
      );
    };
  }

  // run calls the plugin's function. What it is given beside the request ends with the call: signal is aborted when the
  // host gives up or the deadline has passed.
  async #run(hook, call, more) {
    const { request } = call;
    const abort = new AbortController();
    const deadline = Math.min(milliseconds(request.call?.deadline), Number(call.getDeadline()));
    const timer = deadline === Infinity ? undefined : setTimeout(() => abort.abort(), clamp(deadline - Date.now()));
    call.on('cancelled', () => abort.abort());
    const key = Symbol(hook);
    this.#running.set(key, { callId: request.call?.id ?? '', hook, startedAt: timestamp(Date.now()) });
    const context = { ...more, signal: abort.signal, deadline, call: request.call };
    context.host = this.#host()?.services(context);
    try {
      return await this.#plugin.hooks[hook](request, context);
    } catch (err) {
      if (!Number.isInteger(err?.code)) log.error(`${hook} failed`, { error: String(err?.stack ?? err) });
      throw err;
    } finally {
      this.#running.delete(key);
      clearTimeout(timer);
    }
  }
}

function milliseconds(stamp) {
  return stamp ? stamp.seconds * 1000 + stamp.nanos / 1e6 : Infinity;
}

function timestamp(ms) {
  return { seconds: Math.floor(ms / 1000), nanos: (ms % 1000) * 1e6 };
}

function clamp(ms) {
  return Math.max(0, Math.min(ms, MAX_TIMER));
}

module.exports = { Hooks, SERVICE };
