// What every page can do with script. Pages are whole without it: it keeps them true, and
// saves people a click.
"use strict";

(() => {
  const scriptHeader = "X-Harness-Script";
  const saidKey = "harness-said";
  const html = document.documentElement;
  const body = document.body;
  html.classList.add("script");

  // --- asking ---

  // ask makes a request of this site. What went wrong is an Error in words for a person.
  async function ask(path, options = {}) {
    let answer;
    try {
      answer = await fetch(path, { credentials: "same-origin", ...options, headers: { [scriptHeader]: "1", Accept: "text/html, application/json", ...options.headers } });
    } catch {
      throw new Error("Harness does not answer. It may be starting; try again in a moment.");
    }
    if (answer.status === 401) {
      throw new Error("You are not logged in any more. Log in in another tab; what you typed stays here.");
    }
    if (!answer.ok && answer.status !== 422) throw new Error(await detail(answer));
    if (answer.status === 422 && !(answer.headers.get("Content-Type") || "").startsWith("text/html")) throw new Error(await detail(answer));
    return answer;
  }

  async function detail(answer) {
    try {
      return (await answer.json()).detail || answer.statusText;
    } catch {
      return "Something went wrong (" + answer.status + ").";
    }
  }

  const parse = (text) => new DOMParser().parseFromString(text, "text/html");

  // morph makes an element what another one is, and leaves alone what is the same: focus,
  // what is typed, and what is folded open stay. So do the nodes that spare says yes to.
  function morph(old, fresh, spare = () => false) {
    Idiomorph.morph(old, fresh, {
      ignoreActiveValue: true,
      callbacks: {
        beforeAttributeUpdated: (name, node) => !(name === "open" && node.tagName === "DETAILS") && !(name === "data-keep"),
        beforeNodeMorphed: (node) => !(node instanceof Element && (node.hasAttribute("data-keep") || spare(node))),
      },
    });
    prepare(old);
  }

  // --- saying ---

  function toast(words, { bad = false, href = "", label = "Open" } = {}) {
    const box = document.getElementById("toasts");
    const item = document.createElement("div");
    item.className = "toast" + (bad ? " tone-bad" : "");
    if (bad) item.setAttribute("role", "alert");
    const text = document.createElement("p");
    text.textContent = words;
    item.append(text);
    if (href) {
      const link = document.createElement("a");
      link.href = href;
      link.textContent = label;
      item.append(link);
    }
    const close = document.createElement("button");
    close.type = "button";
    close.className = "button ghost small";
    close.textContent = "Close";
    close.addEventListener("click", () => item.remove());
    item.append(close);
    box.append(item);
    while (box.children.length > 4) box.firstElementChild.remove();
    if (!bad) setTimeout(() => item.matches(":hover, :focus-within") || item.remove(), 12000);
  }

  // --- what pages have: times, code to copy ---

  const units = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
  const relative = new Intl.RelativeTimeFormat("en", { numeric: "always", style: "short" });

  function ago(node) {
    const at = new Date(node.dateTime);
    if (!node.dataset.local) {
      node.title = at.toLocaleString([], { dateStyle: "medium", timeStyle: "medium" });
      node.dataset.local = "1";
    }
    const seconds = (at - Date.now()) / 1000;
    if (Math.abs(seconds) < 10) {
      node.textContent = "now";
      return;
    }
    for (const [unit, size] of units) {
      const count = Math.trunc(seconds / size);
      if (Math.abs(count) >= (unit === "day" ? 2 : 1)) {
        node.textContent = relative.format(count, unit);
        return;
      }
    }
  }

  // clock shows a time of a day in the reader's zone, with its day when that is not near.
  function clock(node) {
    const at = new Date(node.dateTime);
    const near = Math.abs(at - Date.now()) < 20 * 3600 * 1000;
    node.title = at.toLocaleString([], { dateStyle: "medium", timeStyle: "medium" });
    node.textContent = at.toLocaleString([], near ? { hour: "2-digit", minute: "2-digit" } : { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
  }

  function tick(root = document) {
    root.querySelectorAll("time[data-ago]").forEach(ago);
    root.querySelectorAll("time[data-clock]").forEach(clock);
  }

  function prepare(root) {
    tick(root);
    root.querySelectorAll(".code-copy[hidden]").forEach((button) => (button.hidden = false));
    htmx.process(root);
    root.dispatchEvent(new CustomEvent("harness:prepared", { bubbles: true }));
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest(".code-copy");
    if (!button) return;
    const from = button.dataset.copy ? document.getElementById(button.dataset.copy) : button.closest(".code").querySelector("code");
    try {
      await navigator.clipboard.writeText(from.textContent);
      button.textContent = "Copied";
    } catch {
      const range = document.createRange();
      range.selectNodeContents(from);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      button.textContent = "Press Ctrl C";
    }
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });

  // --- forms in place: data-swap on a form keeps the reader where they are ---

  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (form.dataset.confirm && !form.dataset.confirmed) {
      event.preventDefault();
      if (await confirmed(form.dataset.confirm)) {
        form.dataset.confirmed = "1";
        form.requestSubmit(event.submitter);
        delete form.dataset.confirmed;
      }
      return;
    }
    if (event.defaultPrevented || form.method !== "post") return;
    if (sending.has(form)) {
      event.preventDefault(); // pressed twice, it is sent once
      return;
    }
    sending.add(form);
    if (!form.hasAttribute("data-swap")) {
      setTimeout(() => sending.delete(form), 10000); // there was no next page
      return;
    }
    event.preventDefault();
    const fields = new FormData(form, event.submitter);
    const sent = form.enctype === "multipart/form-data" ? fields : new URLSearchParams(fields);
    const button = event.submitter;
    button?.classList.add("working");
    try {
      const answer = await ask(form.getAttribute("action") || location.href, { method: "POST", body: sent });
      show(await answer.text(), answer, form);
    } catch (error) {
      toast(error.message, { bad: true });
    } finally {
      sending.delete(form);
      button?.classList.remove("working");
    }
  });

  // stored does something with what the browser keeps for this tab: it may keep nothing.
  function stored(act) {
    try {
      return act(sessionStorage);
    } catch {
      return null;
    }
  }

  // sending are the forms that are on their way.
  let sending = new WeakSet();

  // show makes this page what the answer to a form is. Other forms that are in hand stay.
  function show(text, answer, sent) {
    const fresh = parse(text);
    const main = fresh.getElementById("main");
    const there = new URL(answer.url);
    const here = there.pathname === location.pathname;
    if (!main || (answer.redirected && !here)) {
      const said = fresh.querySelector("#said p");
      if (said) stored((kept) => kept.setItem(saidKey, said.textContent)); // it is told once, and was told to this page
      location.href = answer.redirected ? answer.url : location.href; // another page brings its own script
      return;
    }
    // What a form of another path shows by itself can be had with POST only.
    if (here && there.search !== location.search) history.replaceState(null, "", there);
    document.title = fresh.title;
    morph(document.getElementById("main"), main, (node) => node !== sent && inHand(node));
  }

  // confirmed asks in the page: browsers' own questions stop everything.
  function confirmed(words) {
    const dialog = document.createElement("dialog");
    dialog.className = "confirm";
    dialog.setAttribute("aria-label", "Are you sure?");
    const text = document.createElement("p");
    text.textContent = words;
    const form = document.createElement("form");
    form.method = "dialog";
    form.className = "row";
    for (const [value, label, kind] of [["yes", "Yes", "primary"], ["no", "Cancel", ""]]) {
      const button = document.createElement("button");
      button.className = "button " + kind;
      button.value = value;
      button.textContent = label;
      form.append(button);
    }
    dialog.append(text, form);
    body.append(dialog);
    dialog.showModal();
    return new Promise((resolve) => {
      dialog.addEventListener("close", () => {
        dialog.remove();
        resolve(dialog.returnValue === "yes");
      });
    });
  }

  // inHand reports whether a node is a form that somebody fills in, or is about to send: it
  // stays as they see it, and says what they have seen.
  function inHand(node) {
    return node instanceof HTMLFormElement && (node.matches(":hover, :focus-within") || [...node.elements].some(changed));
  }

  function changed(field) {
    if (field instanceof HTMLSelectElement) {
      return field.selectedIndex !== Math.max(0, [...field.options].findIndex((option) => option.defaultSelected));
    }
    return field.type === "checkbox" || field.type === "radio" ? field.checked !== field.defaultChecked : "defaultValue" in field && field.value !== field.defaultValue;
  }

  // --- live parts ---

  // An element with an id and data-live="prefix ..." is fetched anew, with the page that it
  // is of, when an event of one of these types has happened.
  let stale = false;
  let waiting = 0;
  let fetching = false;
  let rested = 0; // from when on the next may begin

  function touched(type) {
    for (const part of document.querySelectorAll("[data-live]")) {
      if (part.dataset.live.split(" ").some((prefix) => type.startsWith(prefix))) return true;
    }
    return false;
  }

  function refreshSoon() {
    stale = true;
    if (waiting || fetching || document.hidden) return;
    waiting = setTimeout(refresh, Math.max(250, rested - performance.now()));
  }

  async function refresh() {
    waiting = 0;
    if (!stale || fetching || document.hidden) return;
    const parts = [...document.querySelectorAll("[data-live][id]")];
    if (!parts.length) return;
    stale = false;
    fetching = true;
    const begun = performance.now();
    try {
      const answer = await ask(location.href);
      const fresh = parse(await answer.text());
      for (const part of parts) {
        const next = fresh.getElementById(part.id);
        if (next) morph(part, next, inHand);
      }
    } catch {
      stale = true; // the socket comes back with the daemon, and then it is tried again
    } finally {
      fetching = false;
      // However much happens, a page asks for a fifth of the time, and not more than once a second.
      rested = performance.now() + Math.max(1000, 4 * (performance.now() - begun));
      if (stale) refreshSoon();
    }
  }

  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && stale) refreshSoon();
  });

  // --- the socket ---

  let socket;
  let tries = 0;
  let retry = 0;
  let away = 0;
  const position = { boot: body.dataset.boot || "", seq: body.dataset.seq || "0" };

  function connect() {
    clearTimeout(retry);
    if (socket) return; // a second one would say everything twice
    const query = new URLSearchParams({ stream: body.dataset.follows || "none" });
    if (position.boot) {
      query.set("boot", position.boot);
      query.set("seq", position.seq);
    }
    socket = new WebSocket((location.protocol === "https:" ? "wss://" : "ws://") + location.host + "/ws?" + query);
    socket.addEventListener("message", (message) => {
      const frame = JSON.parse(message.data);
      if (frame.boot) {
        position.boot = frame.boot;
        position.seq = String(frame.seq);
      }
      heard(frame);
    });
    socket.addEventListener("close", (event) => {
      socket = undefined;
      if (leaving) return;
      if (event.code === 1008) {
        toast("You are not logged in any more. Log in in another tab; what you typed stays here.", { bad: true, href: "/login", label: "Log in" });
      }
      away ||= setTimeout(() => (document.getElementById("connection").hidden = false), 1500);
      retry = setTimeout(connect, Math.min(500 * 2 ** tries++, 15000) * (0.75 + Math.random() / 2));
    });
  }

  let leaving = false;
  addEventListener("pagehide", () => {
    leaving = true;
    socket?.close();
  });
  addEventListener("pageshow", (event) => {
    leaving = false;
    if (event.persisted) {
      sending = new WeakSet();
      connect();
      refreshSoon();
    }
  });
  addEventListener("online", () => {
    tries = 0;
    connect();
  });

  function heard(frame) {
    if (frame.event === "hello") {
      tries = 0;
      clearTimeout(away);
      away = 0;
      document.getElementById("connection").hidden = true;
    }
    if (frame.event === "resync" || touched(frame.event)) refreshSoon();
    document.dispatchEvent(new CustomEvent("harness:" + frame.event, { detail: frame }));
    document.dispatchEvent(new CustomEvent("harness:event", { detail: frame }));
  }

  // --- keys ---

  let prefix = "";
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      openPalette();
      return;
    }
    const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
    if (event.ctrlKey || event.metaKey || event.altKey || typing || document.querySelector("dialog[open]")) return;
    if (prefix === "g") {
      prefix = "";
      const link = document.querySelector(`.rail a[data-key="${CSS.escape(event.key)}"]`);
      if (link) {
        event.preventDefault();
        location.href = link.href;
      }
      return;
    }
    switch (event.key) {
      case "g":
        prefix = "g";
        setTimeout(() => (prefix = ""), 1500);
        break;
      case "?":
        location.href = "/shortcuts";
        break;
      case "/": {
        const field = document.querySelector("[data-focus]");
        if (field) {
          event.preventDefault();
          field.focus();
        }
        break;
      }
      case "j":
      case "k":
        step(event, event.key === "j" ? 1 : -1);
    }
  });

  // step moves the focus along the rows of a list.
  function step(event, by) {
    const rows = [...document.querySelectorAll("main [data-rows] a.title, main .rows a.title")];
    if (!rows.length) return;
    event.preventDefault();
    const at = rows.indexOf(document.activeElement);
    rows[Math.max(0, Math.min(rows.length - 1, at + by))].focus();
  }

  // --- the palette ---

  let palette;

  function openPalette() {
    if (palette) {
      palette.querySelector("input").select();
      return;
    }
    const opener = document.activeElement;
    palette = document.createElement("dialog");
    palette.className = "palette";
    palette.setAttribute("aria-label", "Go to");
    palette.innerHTML = '<label class="visually-hidden" for="palette-words">Go to a page, a thread, a task or a plugin</label>' +
      '<input id="palette-words" type="search" autocomplete="off" placeholder="A page, a thread, a task, a plugin…" role="combobox" aria-expanded="true" aria-controls="palette-found" aria-autocomplete="list">' +
      '<div id="palette-found" role="listbox" aria-label="Found"></div>';
    body.append(palette);
    palette.addEventListener("close", () => {
      palette.remove();
      palette = undefined;
      opener?.focus?.();
    });
    palette.addEventListener("click", (event) => event.target === palette && palette.close());
    const input = palette.querySelector("input");
    let asked = 0;
    const look = async () => {
      const mine = ++asked;
      try {
        const answer = await ask("/palette?q=" + encodeURIComponent(input.value));
        const found = parse(await answer.text()).getElementById("found");
        if (mine !== asked || !palette || !found) return;
        const list = palette.querySelector("#palette-found");
        list.replaceChildren(...[...found.querySelectorAll("a")].map((link, n) => {
          link.id = "palette-" + n;
          link.setAttribute("role", "option");
          link.tabIndex = -1;
          return link;
        }));
        choose(0);
      } catch (error) {
        palette?.querySelector("#palette-found").replaceChildren(error.message);
      }
    };
    const options = () => [...palette.querySelectorAll("#palette-found a")];
    const choose = (n) => {
      const all = options();
      all.forEach((link, at) => link.setAttribute("aria-selected", String(at === n)));
      if (all[n]) {
        input.setAttribute("aria-activedescendant", all[n].id);
        all[n].scrollIntoView({ block: "nearest" });
      } else input.removeAttribute("aria-activedescendant");
    };
    input.addEventListener("input", look);
    input.addEventListener("keydown", (event) => {
      const all = options();
      const at = all.findIndex((link) => link.getAttribute("aria-selected") === "true");
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        choose((at + (event.key === "ArrowDown" ? 1 : -1) + all.length) % all.length);
      } else if (event.key === "Enter" && all[at]) {
        event.preventDefault();
        location.href = all[at].href;
      }
    });
    palette.showModal();
    look();
  }

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-palette]") && !event.ctrlKey && !event.metaKey && event.button === 0) {
      event.preventDefault();
      openPalette();
    }
  });

  // --- htmx: parts that are fetched when they are wanted ---

  document.addEventListener("htmx:configRequest", (event) => (event.detail.headers[scriptHeader] = "1"));
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (document.hidden && event.target.matches('[hx-trigger^="every"]')) event.preventDefault(); // nobody looks
  });
  document.addEventListener("htmx:afterSwap", (event) => prepare(event.target));
  document.addEventListener("htmx:sendError", () => toast("Harness does not answer. It may be starting; try again in a moment.", { bad: true }));
  document.addEventListener("htmx:responseError", (event) => {
    let words = "Something went wrong (" + event.detail.xhr.status + ").";
    try {
      words = JSON.parse(event.detail.xhr.responseText).detail || words;
    } catch {
      // it is not a problem document
    }
    toast(words, { bad: true });
  });

  // --- begin ---

  prepare(document.body);
  const said = stored((kept) => kept.getItem(saidKey));
  if (said) {
    stored((kept) => kept.removeItem(saidKey));
    toast(said);
  }
  setInterval(tick, 20000);
  connect();
  window.harness = { ask, parse, morph, toast, prepare, confirmed, position, refresh: refreshSoon };
})();
