'use strict';

// What the agent asks people, carried to a chat service with its choices as buttons. The service is whatever has
//
//   async post(place, key, { text, buttons: [{ id, label }] })   the id of the post; the same key posts once
//   async edit(post, { text, buttons })
//   onPress(async ({ post, button, person }) => words)           words: what the person is shown
//
// people are the names of those who may answer: to know who presses is the service's part, and who may is this one's.

const { fail, json, status } = require('../lib/harness');

const NAME = 'doorbell';

function createPlugin(service, people) {
  let host; // of calls outside of hooks

  // The post of an approval, and the approval of a post, are kept where a restart does not lose them.
  const keyOf = (approval) => `approval/${approval}`;
  const keyAt = (post) => `post/${post}`;

  async function kept(key) {
    try {
      return String((await host.State.GetState({ key })).entry.value);
    } catch (err) {
      if (err.code === status.NOT_FOUND) return undefined;
      throw err;
    }
  }

  // show returns what people see of an approval: what is asked while it is open, then what became of it.
  function show({ title, text, note, state, choices, questions, author }) {
    const lines = [title, text, note].filter((line) => line);
    if (state !== 'open') return { text: [...lines, `${state}${author ? ` by ${author}` : ''}`].join('\n'), buttons: [] };
    // Several questions at once want an answer each, which buttons cannot give.
    if (questions.length > 1) lines.push('Answer with: harness approvals show, or in the dashboard.');
    return { text: lines.join('\n'), buttons: choices.map(({ id, label }) => ({ id, label })) };
  }

  // press hands an answer in. It comes from a person, and from no run: in a hook of one it would be refused.
  async function press({ post, button, person }) {
    if (!people.includes(person)) return 'You may not answer this.';
    const id = await kept(keyAt(post));
    if (!id) return 'This is over.';
    try {
      const { approval } = await host.as(person).Approval.DecideApproval({ id, choice: button });
      await service.edit(post, show(approval));
      return approval.state;
    } catch (err) {
      if (err.code === status.FAILED_PRECONDITION) return err.details; // somebody was faster, and this says who
      throw err;
    }
  }

  // settle takes the buttons away of an approval that is over.
  async function settle(id) {
    const post = await kept(keyOf(id));
    if (!post) return; // not carried from here, or done
    const { approval } = await host.Approval.GetApproval({ id });
    if (approval.state === 'open') return;
    await service.edit(post, show(approval));
    await host.State.DeleteState({ key: keyAt(post) });
    await host.State.DeleteState({ key: keyOf(id) });
  }

  return {
    manifest: {
      name: NAME,
      version: '0.1.0',
      description: 'Carries what the agent asks people',
      hooks: ['Deliver', 'OnBroadcast'],
      sources: [NAME],
      events: ['approval:resolved'],
      capabilities: [
        { capability: 'approvals.read', reason: 'says what became of what was asked' },
        { capability: 'approvals.decide', reason: 'hands in what people press' },
        { capability: 'events.read', reason: 'learns that what a task below one of its threads asked is over' },
        { capability: 'state', reason: 'knows after a restart which post asks what' },
      ],
    },

    async start(given) {
      host = given;
    },

    async activate() {
      service.onPress(press);
    },

    hooks: {
      // The delivery's id is the key of the post: what comes again is posted once.
      async Deliver({ delivery, message, approval }) {
        if (!delivery.place) throw fail(status.INVALID_ARGUMENT, 'there is no place to post to');
        const shown = approval ? show(approval) : { text: message.content, buttons: [] };
        const post = await service.post(delivery.place, delivery.id, shown);
        if (approval) {
          await host.State.PutState({ key: keyAt(post), value: Buffer.from(approval.id) });
          await host.State.PutState({ key: keyOf(approval.id), value: Buffer.from(post) });
          await settle(approval.id); // it may have been answered meanwhile
        }
        return { externalId: post };
      },

      // Answered elsewhere, expired or withdrawn: the buttons go. An event may come twice.
      async OnBroadcast({ events }) {
        for (const event of events.filter(({ type }) => type === 'approval:resolved')) {
          await settle(json(event.data).approvalId);
        }
      },
    },
  };
}

module.exports = { createPlugin };
