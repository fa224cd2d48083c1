// What happens elsewhere while somebody works here: a line in the corner, a number in the
// title, and, for who wants it, a notification of the system while the page is out of sight.
"use strict";

(() => {
  const { ask, toast } = window.harness;
  const here = document.body.dataset.follows || "";
  const path = (thread) => "/chat/" + encodeURIComponent(thread);

  // --- the title ---

  let title = document.title;
  let count = 0;
  function show() {
    const own = count ? "(" + count + ") " + title : title;
    if (document.title !== own) document.title = own;
  }
  new MutationObserver(() => {
    const bare = document.title.replace(/^\(\d+\) /, "");
    if (bare !== title) {
      title = bare;
      show();
    }
  }).observe(document.querySelector("title"), { childList: true });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return;
    count = 0;
    show();
  });

  // --- the system's notifications ---

  const wish = "harness-notify";
  const can = "Notification" in window && window.isSecureContext;
  const wanted = () => can && Notification.permission === "granted" && localStorage.getItem(wish) === "1";
  const buttons = document.querySelectorAll("[data-notify]");
  function tellButtons() {
    for (const button of buttons) {
      button.hidden = false;
      button.setAttribute("aria-pressed", String(wanted()));
      button.title = "The system tells you when the agent is done or asks, while this page is out of sight." + (wanted() ? " Press to end that." : "");
    }
  }
  if (can && buttons.length) tellButtons();
  for (const button of buttons) {
    button.addEventListener("click", async () => {
      if (wanted()) localStorage.removeItem(wish);
      else if ((await Notification.requestPermission()) === "granted") localStorage.setItem(wish, "1");
      else toast("The browser does not allow notifications of this site. Its settings for the site can.", { bad: true });
      tellButtons();
    });
  }
  function notify(words, thread, tag) {
    if (!document.hidden || !wanted()) return;
    const one = new Notification("Harness", { body: words, tag }); // of several pages with the same one, one is shown
    one.addEventListener("click", () => {
      focus();
      if (thread !== here) location.href = path(thread);
      one.close();
    });
  }

  // --- what happens ---

  // threads are what is known of threads: what people call them, and of which kind they are.
  const threads = new Map();
  async function about(id) {
    if (threads.size > 200) threads.clear();
    if (!threads.has(id)) {
      threads.set(id, ask("/api/threads/" + encodeURIComponent(id)).then((answer) => answer.json()).catch(() => {
        threads.delete(id);
        return { name: "", kind: "" };
      }));
    }
    const thread = await threads.get(id);
    return { kind: thread.kind, name: thread.name || (thread.kind === "primary" ? "the main conversation" : "a thread") };
  }

  let lately = 0;
  // tell says something of a thread: here if it is another one's, and in the title if nobody
  // looks.
  async function tell(words, id, tag, { quiet = false } = {}) {
    const thread = await about(id);
    if (quiet && thread.kind !== "primary" && thread.kind !== "general") return;
    const said = words.replace("THREAD", () => thread.name);
    if (document.hidden) {
      count++;
      show();
      notify(said, id, tag);
    }
    if (id === here || performance.now() - lately < 700) return;
    lately = performance.now();
    toast(said, { href: path(id) });
  }

  document.addEventListener("harness:event", ({ detail: { event, data, threadId } }) => {
    switch (event) {
      case "thread:message":
        if (data.kind === "notification") tell("News in THREAD", threadId, "m" + data.messageId);
        break;
      case "pipeline:complete":
        if (threadId !== here && data.messageId) tell("The agent has answered in THREAD", threadId, data.runId, { quiet: true });
        else if (document.hidden) {
          count++;
          show();
          if (data.durationMs > 20000) about(threadId).then((thread) => notify("The agent is done in " + thread.name, threadId, data.runId));
        }
        break;
      case "pipeline:error":
        tell("It did not work in THREAD", threadId, data.runId, { quiet: true });
        break;
      case "approval:requested":
        if ((data.aboveThreadIds || []).includes(here)) notify("The agent asks: " + data.title, here, data.approvalId);
        else tell("The agent asks in THREAD: " + data.title, threadId, data.approvalId);
    }
  });
})();
