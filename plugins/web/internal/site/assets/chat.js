// A conversation that goes on: what is new in it, what the agent does, where the reader is.
// The server says how everything looks; what the agent says this very moment is put behind
// that as plain text, until the server has it too.
"use strict";

(() => {
  const chat = document.querySelector(".chat");
  const { ask, parse, morph, prepare, toast, position } = window.harness;
  if (!chat) {
    keepList("");
    return;
  }
  const thread = chat.dataset.thread;
  const base = "/chat/" + encodeURIComponent(thread);
  const mayChat = chat.dataset.mayChat === "true";
  const atTail = chat.dataset.tail === "true";
  const scroll = document.getElementById("scroll");
  const log = document.getElementById("log");
  const list = document.getElementById("said-list");
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  let last = Number(list.dataset.last);

  // --- where the reader is ---

  const atBottom = () => scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 48;
  let sticking = !location.hash && atTail;
  const toBottom = () => (scroll.scrollTop = scroll.scrollHeight);
  // changing changes the page and leaves what is read where it is: the end, or the first
  // message that is in sight.
  function changing(change) {
    if (sticking) {
      change();
      toBottom();
      return;
    }
    const top = scroll.getBoundingClientRect().top;
    const seen = [...list.children].find((one) => one.getBoundingClientRect().bottom > top);
    const before = seen?.getBoundingClientRect().top;
    change();
    if (seen?.isConnected) scroll.scrollTop += seen.getBoundingClientRect().top - before;
  }
  scroll.addEventListener("scroll", () => {
    sticking = atBottom();
    if (sticking) seenAll();
  }, { passive: true });
  // aimed is the message that the address names. It stays in sight while pictures above it come
  // in, until the reader scrolls.
  let aimed = location.hash.startsWith("#m") ? document.getElementById(location.hash.slice(1)) : null;
  for (const by of ["wheel", "touchmove", "pointerdown", "keydown"]) {
    scroll.addEventListener(by, () => (aimed = null), { passive: true });
  }
  const settle = () => {
    if (aimed) aimed.scrollIntoView({ block: "center" });
    else if (sticking) toBottom();
  };
  new ResizeObserver(settle).observe(scroll.firstElementChild);
  new ResizeObserver(settle).observe(scroll);
  if (aimed) settle();
  else if (atTail && !location.hash.startsWith("#m")) {
    sticking = true;
    toBottom();
  }
  scroll.classList.add("ready");

  // --- what was not seen yet ---

  const button = document.getElementById("new");
  let unseen = 0;
  function seenAll() {
    unseen = 0;
    button.hidden = true;
    read();
  }
  function addUnseen(count) {
    unseen += count;
    if (!unseen) return;
    button.hidden = false;
    button.querySelector("span").textContent = unseen === 1 ? "1 new message" : unseen + " new messages";
  }
  button.addEventListener("click", () => {
    aimed = null;
    sticking = true;
    const far = scroll.scrollHeight - scroll.scrollTop > 3 * scroll.clientHeight;
    scroll.scrollTo({ top: scroll.scrollHeight, behavior: far || still.matches ? "auto" : "smooth" });
    seenAll();
  });

  let told = Number(chat.dataset.read);
  let telling = 0;
  // read tells the server how far a person has read: to the end, when that is in sight.
  function read() {
    if (!mayChat || !atTail || !sticking || document.hidden || last <= told) return;
    clearTimeout(telling);
    telling = setTimeout(async () => {
      if (document.hidden || !sticking) return;
      const upTo = last;
      try {
        await ask("/api/threads/" + encodeURIComponent(thread), { method: "PATCH", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ lastReadMessageId: upTo }) });
        told = upTo;
      } catch {
        // it is told with the next message
      }
    }, 300);
  }
  document.addEventListener("visibilitychange", read);
  read();

  // --- what the agent says this moment ---

  // heard are the pieces that came since the server last said what the turn is.
  let heard = [];
  let painting = false;
  const known = () => {
    const turn = document.getElementById("turn");
    return { boot: turn.dataset.boot, seq: Number(turn.dataset.seq), run: turn.dataset.run };
  };
  function hear(frame) {
    const event = frame.data.event;
    const delta = event.type === "text_delta" || event.type === "thinking_delta";
    const at = known();
    if (frame.boot === at.boot && frame.seq <= at.seq) return;
    heard.push({ boot: frame.boot, seq: frame.seq, run: frame.data.runId, kind: delta ? event.type.slice(0, -6) : "", text: event.text || "" });
    if (delta) paint();
    askTurn(delta);
  }
  function paint() {
    if (painting) return;
    painting = true;
    requestAnimationFrame(() => {
      painting = false;
      const tail = tailOf();
      if (tail) changing(() => putTail(tail));
    });
  }
  // tailOf is what is being said since the last thing that came whole.
  function tailOf() {
    let tail = null;
    for (const piece of heard) {
      if (!piece.kind) tail = null;
      else if (tail && tail.kind === piece.kind) tail.text += piece.text;
      else tail = { kind: piece.kind, text: piece.text, run: piece.run };
    }
    return tail;
  }
  function putTail({ kind, text, run }) {
    const turn = document.getElementById("turn");
    if (turn.dataset.run && turn.dataset.run !== run) return;
    let span = turn.querySelector(".tail");
    if (span && span.dataset.kind === kind) {
      if (span.firstChild && text.startsWith(span.firstChild.data)) span.firstChild.appendData(text.slice(span.firstChild.length));
      else span.textContent = text;
      return;
    }
    span?.remove();
    span = document.createElement("span");
    span.className = "tail";
    span.dataset.kind = kind;
    span.textContent = text;
    place(turn, kind, span);
  }
  // place puts what is said behind what the server has shown of it.
  function place(turn, kind, span) {
    let steps = turn.querySelector(":scope > .steps");
    if (!steps) {
      steps = document.createElement("ul");
      steps.className = "steps";
      turn.append(steps);
    }
    const open = steps.querySelector(`:scope > [data-writing="${kind}"]`);
    if (open && kind === "text") {
      let into = open.querySelector(".words");
      for (let next = into.lastElementChild; next && next.matches("p, ul, ol, li, blockquote, pre, code, .code, h3, h4, h5, h6, strong, em, a"); next = next.lastElementChild) into = next;
      into.append(span);
    } else if (open) {
      open.querySelector(".thought")?.append(span);
    } else {
      const item = document.createElement("li");
      item.id = "t" + steps.children.length;
      if (kind === "text") {
        const words = document.createElement("div");
        words.className = "words";
        words.dir = "auto";
        words.append(span);
        item.append(words);
      } else {
        item.className = "thought";
        item.append(span);
      }
      steps.append(item);
    }
  }

  // askTurn has the server say what the turn is: at once after what came whole, and in calm
  // steps while words come.
  let asking = false;
  let again = 0;
  let lately = 0;
  function askTurn(calmly) {
    if (!atTail) return;
    const size = document.getElementById("turn").textContent.length;
    const due = lately + (calmly ? 400 + size / 40 : 60) - performance.now();
    if (asking || (again && again <= performance.now() + due)) return;
    again = performance.now() + Math.max(0, due);
    setTimeout(fetchTurn, Math.max(0, due));
  }
  async function fetchTurn() {
    if (asking || performance.now() < again - 5) return;
    again = 0;
    asking = true;
    const begun = newsBegun;
    const count = heard.length;
    try {
      const answer = await ask(base + "/turn");
      const fresh = parse(await answer.text()).getElementById("turn");
      if (fresh && begun === newsBegun) changing(() => setTurn(fresh));
    } catch {
      // the socket comes back with the daemon, and news with it
    } finally {
      asking = false;
      lately = performance.now();
      if (heard.length > count || heard.some((piece) => !piece.kind)) askTurn(heard.every((piece) => piece.kind));
    }
  }
  // setTurn shows the turn as the server has it, and behind it what came meanwhile.
  function setTurn(fresh) {
    const at = { boot: fresh.dataset.boot, seq: Number(fresh.dataset.seq), run: fresh.dataset.run };
    if (at.boot === known().boot && at.seq < known().seq) return; // a newer answer has overtaken it
    heard = heard.filter((piece) => piece.boot === at.boot && piece.seq > at.seq);
    const old = document.getElementById("turn");
    if (!at.run && !heard.length && !old.firstElementChild) {
      Object.assign(old.dataset, fresh.dataset);
      return;
    }
    old.querySelector(".tail")?.remove();
    morph(old, fresh);
    const tail = tailOf();
    if (tail) putTail(tail);
  }

  // --- what is new ---

  let newsBegun = 0;
  let fetching = false;
  let wanted = false;
  let newsAt = 0;
  let failed = 0; // how often it did, one after the other
  function news() {
    wanted = true;
    if (fetching || newsAt || !atTail) return;
    newsAt = setTimeout(fetchNews, 15); // of one thing that happens several events tell
  }
  async function fetchNews() {
    newsAt = 0;
    fetching = true;
    wanted = false;
    newsBegun++;
    try {
      const answer = await ask(base + "/news?after=" + last);
      const fresh = parse(await answer.text());
      if (fresh.getElementById("said-list").dataset.tail !== "true") {
        location.reload(); // so much is new that it is another page
        return;
      }
      changing(() => take(fresh));
      failed = 0;
    } catch {
      setTimeout(news, Math.min(1000 * 2 ** failed++, 30000));
    } finally {
      fetching = false;
      if (wanted && !failed) news();
    }
  }
  function take(fresh) {
    const messages = fresh.getElementById("said-list");
    let added = 0;
    for (const message of [...messages.children]) {
      const there = document.getElementById(message.id);
      const number = Number(message.dataset.id);
      if (there) {
        const over = message.querySelector('[data-mark="over"]');
        if (over && !there.querySelector('[data-mark="over"]')) {
          there.querySelector(".acts").replaceWith(message.querySelector(".acts"));
          prepare(there);
        }
        continue;
      }
      if (number <= last && list.firstElementChild && number < Number(list.firstElementChild.dataset.id)) continue;
      let before = list.lastElementChild;
      while (before && Number(before.dataset.id) > number) before = before.previousElementSibling;
      if (before) before.after(message);
      else list.prepend(message);
      prepare(message);
      if (!message.matches(".own, .of-line")) added++;
    }
    last = Math.max(last, Number(messages.dataset.last));
    document.getElementById("nothing")?.remove();
    setTurn(fresh.getElementById("turn"));
    morph(document.getElementById("asks"), fresh.getElementById("asks"));
    morph(document.getElementById("state"), fresh.getElementById("state"));
    mark();
    trim();
    dispatchEvent(new CustomEvent("harness:said"));
    if (sticking && !document.hidden) read();
    else addUnseen(added);
  }
  // amended shows what a message says now; when it cannot be had, it is there with the next look at the page.
  async function amended(there) {
    try {
      const answer = await ask(base + "/news?after=" + (Number(there.dataset.id) - 1));
      const now = parse(await answer.text()).getElementById(there.id);
      if (!now || !there.isConnected) return;
      changing(() => {
        there.replaceWith(now);
        prepare(now);
        mark();
      });
    } catch {
      // as above
    }
  }
  // trim takes away what was said first, once there is much of it: a page may be open for
  // days. It is fetched again when somebody reads back to it.
  function trim() {
    if (!sticking || list.children.length <= 300) return;
    while (list.children.length > 150) list.firstElementChild.remove();
    offerOlder(list.firstElementChild.dataset.id);
  }
  // mark says at messages what becomes of them while they have no answer.
  function mark() {
    const marks = JSON.parse(document.getElementById("state").dataset.marks || "{}") || {};
    for (const one of list.querySelectorAll('[data-mark="now"]')) {
      const words = marks[one.closest("[data-id]").dataset.id] || "";
      if (one.textContent !== words) one.textContent = words;
    }
  }

  // --- events ---

  const concerns = (frame) => frame.threadId === thread || frame.data?.aboveThreadIds?.includes(thread);
  document.addEventListener("harness:event", ({ detail: frame }) => {
    if (frame.event === "hello") {
      if (position.boot !== helloBoot) {
        helloBoot = position.boot;
        if (greeted) news();
      }
      greeted = true;
      return;
    }
    if (frame.event === "resync") {
      heard = [];
      news();
      return;
    }
    if (!concerns(frame)) return;
    if (frame.event === "pipeline:stream") {
      waitFor("");
      hear(frame);
      return;
    }
    if (frame.event === "pipeline:waiting") {
      waitFor("Waiting for the plugin " + frame.data.plugin);
      return;
    }
    if (frame.event === "thread:updated" && frame.data.name) {
      document.getElementById("talk-name").textContent = frame.data.name;
      document.title = frame.data.name + " · Harness";
      return;
    }
    if (frame.event === "thread:deleted" && frame.data.threadId === thread) {
      toast("This thread was deleted.", { href: "/threads", label: "Threads" });
      return;
    }
    if (frame.event === "chat:amended") {
      const there = document.getElementById("m" + frame.data.messageId);
      if (there) amended(there);
      return;
    }
    if (/^(chat:message|thread:message|pipeline:(start|complete|error|retry|merged|parked)|approval:)/.test(frame.event)) {
      if (frame.event !== "chat:message" && frame.event !== "thread:message") waitFor("");
      news();
    }
  });
  let helloBoot = position.boot;
  let greeted = false;
  function waitFor(words) {
    const place = document.getElementById("waits");
    if (!place || place.textContent === words) return;
    place.textContent = words;
    place.hidden = !words;
  }

  // Times that pass.
  const long = (seconds) => (seconds < 120 ? Math.floor(seconds) + " s" : seconds < 7200 ? Math.floor(seconds / 60) + " min" : Math.floor(seconds / 3600) + " h");
  setInterval(() => {
    for (const time of chat.querySelectorAll("time[data-since]")) time.textContent = long(Math.max(0, (Date.now() - new Date(time.dataset.since)) / 1000));
    for (const time of chat.querySelectorAll("time[data-until]")) time.textContent = "in " + long(Math.max(0, (new Date(time.dataset.until) - Date.now()) / 1000));
  }, 1000);

  // --- what was said before ---

  async function older(link) {
    if (link.dataset.asked) return;
    link.dataset.asked = "1";
    const path = link.dataset.older;
    try {
      const answer = await ask(path);
      const fresh = parse(await answer.text());
      if (path !== link.dataset.older) return; // trim took messages away meanwhile: these would leave a gap
      changing(() => {
        const messages = [...fresh.getElementById("said-list").children].filter((one) => !document.getElementById(one.id));
        log.setAttribute("aria-live", "off"); // it is old
        list.prepend(...messages);
        messages.forEach(prepare);
        const next = fresh.getElementById("older");
        if (next) lead(link, next.getAttribute("href"), next.dataset.older);
        else link.parentElement.remove();
        setTimeout(() => log.setAttribute("aria-live", "polite"), 100);
      });
    } catch (error) {
      toast(error.message, { bad: true });
      setTimeout(() => path === link.dataset.older && lead(link, link.href, path), 2000);
    }
  }
  const watch = new IntersectionObserver((seen) => seen.forEach((one) => one.isIntersecting && older(one.target)), { root: scroll, rootMargin: "600px 0px 0px" });
  // lead has the link fetch what is older than what is shown now.
  function lead(link, href, path) {
    link.href = href;
    link.dataset.older = path;
    delete link.dataset.asked;
    watch.unobserve(link);
    watch.observe(link);
  }
  function offer(link) {
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      older(link);
    });
  }
  // offerOlder leads to what was said before a message, also where nothing did.
  function offerOlder(id) {
    let link = document.getElementById("older");
    if (!link) {
      const around = document.createElement("p");
      around.className = "talk-more";
      link = document.createElement("a");
      link.className = "button small";
      link.id = "older";
      link.rel = "prev";
      link.textContent = "Older messages";
      around.append(link);
      log.before(around);
      offer(link);
    }
    lead(link, base + "?before=" + id, base + "/older?before=" + id);
  }
  const link = document.getElementById("older");
  if (link) {
    offer(link);
    setTimeout(() => watch.observe(link), 300);
  }

  // --- forms in place: what they do is news ---

  const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (n) => n.toString(16).padStart(2, "0")).join("");

  chat.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!form.matches("[data-quiet]")) return;
    event.preventDefault();
    const submitter = event.submitter;
    submitter?.classList.add("working");
    try {
      const answer = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form, submitter)), redirect: "manual", headers: { "X-Harness-Script": "1" } });
      if (answer.type !== "opaqueredirect") throw new Error((await answer.json().catch(() => ({}))).detail || "Something went wrong (" + answer.status + ").");
      if (form.elements.key) form.elements.key.value = newKey(); // pressed again, it is meant again
    } catch (error) {
      toast(error instanceof TypeError ? "Harness does not answer. Try again in a moment." : error.message, { bad: true });
    } finally {
      submitter?.classList.remove("working");
      news();
    }
  });

  // --- copying ---

  const showCopy = (root) => root.querySelectorAll("[data-copy-message][hidden]").forEach((one) => (one.hidden = false));
  showCopy(document);
  document.addEventListener("harness:prepared", (event) => showCopy(event.target));
  chat.addEventListener("click", async (event) => {
    const copy = event.target.closest("[data-copy-message]");
    if (!copy) return;
    const number = Number(copy.dataset.copyMessage);
    const text = (async () => {
      const answer = await ask(`/api/threads/${encodeURIComponent(thread)}/messages?after=${number - 1}&limit=1`);
      return (await answer.json()).messages[0].content;
    })();
    try {
      const blob = text.then((words) => new Blob([words], { type: "text/plain" }));
      if (window.ClipboardItem) await navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
      else await navigator.clipboard.writeText(await text);
      toast("Copied.");
    } catch {
      toast("The browser does not let this page copy. Select the words and copy them.", { bad: true });
    }
  });

  // Esc in the empty field stops the agent; a menu that is open closes.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    const menu = chat.querySelector(".menu[open]");
    if (menu) {
      menu.open = false;
      menu.querySelector("summary").focus();
      return;
    }
    const field = document.getElementById("say");
    if (event.target !== field) return;
    if (field.value) field.blur();
    else chat.querySelector(".talk-stop button")?.click();
  });
  document.addEventListener("click", (event) => {
    const menu = chat.querySelector(".menu[open]");
    if (menu && !menu.contains(event.target)) menu.open = false;
  });

  keepList(thread);
  window.harness.conversation = { thread, news, stick: () => ((aimed = null), (sticking = true), toBottom()) };

  // --- the list of threads ---

  // keepList keeps the list true: what happens in any thread may change it, and is waited for
  // so that much of it is one question.
  function keepList(shown) {
    let due = 0;
    let lately = 0;
    const soon = () => {
      if (due || document.hidden) {
        missed = document.hidden || missed;
        return;
      }
      due = setTimeout(refresh, Math.max(250, lately + 1500 - performance.now()));
    };
    let missed = false;
    async function refresh() {
      due = 0;
      missed = false;
      lately = performance.now();
      const old = document.getElementById("thread-list");
      if (!old || old.closest(".threads").offsetParent === null) return;
      const pages = old.querySelectorAll("li").length > 60; // more was asked for: the first page alone would take it away
      try {
        const answer = await ask(old.dataset.list);
        const fresh = parse(await answer.text()).getElementById("thread-list");
        if (!fresh || fresh.dataset.list !== old.dataset.list) return;
        if (pages) {
          const rows = [...fresh.querySelectorAll("ul:last-of-type > li")];
          for (const row of rows.reverse()) {
            const there = document.getElementById(row.id);
            if (there) morph(there, row);
            else old.querySelector("ul:last-of-type")?.prepend(row);
          }
        } else morph(old, fresh);
      } catch {
        // it is asked again with the next event
      }
    }
    document.addEventListener("harness:event", ({ detail: frame }) => {
      if (/^(resync|chat:message|thread:|pipeline:(start|complete|error)|approval:)/.test(frame.event)) soon();
    });
    document.addEventListener("visibilitychange", () => !document.hidden && missed && soon());
  }
})();
