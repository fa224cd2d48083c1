// The field to say something in: what is typed there is kept until it has been accepted,
// files are taken in as they are added, and what begins with / is completed.
"use strict";

(() => {
  const form = document.getElementById("compose");
  if (!form) return;
  const { ask } = window.harness;
  const thread = form.dataset.thread;
  const field = document.getElementById("say");
  const wrong = document.getElementById("compose-wrong");
  const chips = document.getElementById("chips");
  const kept = "harness-draft-" + thread;

  // --- the draft ---

  // draft is what is being written: the words, and the files that were taken in.
  let draft = { text: "", files: [] };
  const read = (key) => {
    try {
      return JSON.parse(localStorage.getItem(key) || "null");
    } catch {
      return null; // what is kept there is not ours
    }
  };
  const keep = (key, value) => {
    try {
      if (value) localStorage.setItem(key, JSON.stringify(value));
      else localStorage.removeItem(key);
    } catch {
      // there is no room: it lives as long as the page
    }
  };
  let saving = 0;
  function save() {
    clearTimeout(saving);
    saving = setTimeout(store, 150);
  }
  function store() {
    clearTimeout(saving);
    saving = 0;
    keep(kept, draft.text || draft.files.length ? draft : null);
  }
  // What was not typed here is not kept again: another page of the same thread may have sent it.
  addEventListener("pagehide", () => saving && store());

  function write(text) {
    draft.text = field.value = text;
    store();
    grow();
  }
  function grow() {
    if (CSS.supports("field-sizing", "content")) return;
    field.rows = Math.min(12, Math.max(1, field.value.split("\n").length));
  }
  field.addEventListener("input", () => {
    draft.text = field.value;
    say("");
    save();
    grow();
    complete();
  });
  const say = (words) => {
    if (wrong.textContent !== words) wrong.textContent = words;
    if (words) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
  };

  // --- sending ---

  // out is what was sent and is not accepted yet, the oldest first. Each has a key under which
  // it is said once, however often it is sent, and is kept until it is accepted, whatever
  // happens to this page.
  const outKey = "harness-out-" + thread + " ";
  const out = [];
  const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (n) => n.toString(16).padStart(2, "0")).join("");

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (form.querySelector(".chip progress")) {
      say("A file is still being taken in. Send when it is there.");
      return;
    }
    if (draft.text.trim() || draft.files.length) {
      const entry = { text: draft.text, files: draft.files, key: newKey(), at: Date.now() };
      keep(outKey + entry.key, entry);
      draft.files = [];
      chips.querySelectorAll(".chip[data-file]").forEach((chip) => chip.remove());
      write("");
      say("");
      closeCommands();
      begin(entry);
    }
    field.focus();
  });

  // begin shows what is sent where it will stand, and sends it.
  function begin(entry) {
    entry.item = document.createElement("div");
    entry.item.className = "message of-person own pending";
    const bubble = document.createElement("div");
    bubble.className = "bubble words";
    bubble.dir = "auto";
    bubble.textContent = entry.text || entry.files.map((file) => file.name).join(", ");
    entry.mark = document.createElement("p");
    entry.mark.className = "tiny muted";
    entry.item.append(bubble, entry.mark);
    document.getElementById("end").before(entry.item);
    window.harness.conversation.stick();
    out.push(entry);
    pump();
  }

  let pumping = false;
  async function pump() {
    if (pumping) return;
    pumping = true;
    for (let entry; (entry = out.find((one) => !one.accepted));) {
      const answer = await hand(entry);
      if (answer === "away") break;
      if (answer) giveBack(entry, answer);
    }
    pumping = false;
  }
  // hand sends one. It returns away when nobody answers, else what is wrong with it, in words.
  async function hand(entry) {
    const waits = setTimeout(() => (entry.mark.textContent = "Sending…"), 400);
    try {
      const answer = await fetch("/api/chat", {
        method: "POST", headers: { "Content-Type": "application/json", "X-Harness-Script": "1" },
        body: JSON.stringify({ threadId: thread, content: entry.text, idempotencyKey: entry.key, attachments: entry.files.map((file) => ({ fileId: file.id })) }),
      });
      const told = await answer.json().catch(() => ({}));
      if (answer.ok) {
        accepted(entry, told.messageId);
        return "";
      }
      if (answer.status === 401) return "You are not logged in any more. Log in in another tab; what you typed stays here.";
      if (answer.status >= 500 || answer.status === 429) throw new Error();
      return (told.detail || "It was refused (" + answer.status + ").").replace(/^validation failed: body\.content: /, "The message ");
    } catch {
      entry.mark.textContent = "Not sent yet: Harness does not answer. It is sent as soon as it does.";
      setTimeout(pump, 3000);
      return "away";
    } finally {
      clearTimeout(waits);
    }
  }
  function accepted(entry, message) {
    entry.accepted = message;
    entry.mark.textContent = "";
    keep(outKey + entry.key, null);
    window.harness.conversation.news();
  }
  // giveBack puts what was refused where it can be mended.
  function giveBack(entry, words) {
    keep(outKey + entry.key, null);
    out.splice(out.indexOf(entry), 1);
    entry.item.remove();
    draft.files = [...entry.files, ...draft.files];
    entry.files.forEach(showFile);
    write(draft.text ? entry.text + "\n\n" + draft.text : entry.text);
    say(words);
  }
  // What the conversation shows needs not be shown as sent.
  addEventListener("harness:said", () => {
    for (const entry of out.filter((one) => one.accepted && document.getElementById("m" + one.accepted))) {
      entry.item.remove();
      out.splice(out.indexOf(entry), 1);
    }
  });
  document.addEventListener("harness:hello", pump);

  const touch = matchMedia("(hover: none) and (pointer: coarse)");
  let held = false; // a key that asks for a new line
  field.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    held = event.shiftKey || event.altKey;
    if (commandKey(event)) event.preventDefault();
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  // Enter sends, where there is another key for a new line.
  field.addEventListener("beforeinput", (event) => {
    if (event.inputType !== "insertLineBreak" || held || event.isComposing) return;
    if (takeChosen()) event.preventDefault();
    else if (!touch.matches) {
      event.preventDefault();
      form.requestSubmit();
    }
  });

  // --- files ---

  const chooser = form.querySelector("input[type=file]");
  chooser.addEventListener("change", () => {
    [...chooser.files].forEach(takeIn);
    chooser.value = "";
  });
  field.addEventListener("paste", (event) => {
    const files = [...(event.clipboardData?.files || [])];
    if (!files.length) return;
    event.preventDefault();
    files.forEach(takeIn);
  });
  const talk = form.closest(".talk");
  const carries = (event) => [...(event.dataTransfer?.types || [])].includes("Files");
  talk.addEventListener("dragover", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    form.classList.add("dragging");
  });
  talk.addEventListener("dragleave", (event) => talk.contains(event.relatedTarget) || form.classList.remove("dragging"));
  talk.addEventListener("drop", (event) => {
    form.classList.remove("dragging");
    if (!carries(event)) return;
    event.preventDefault();
    [...event.dataTransfer.files].forEach(takeIn);
    field.focus();
  });

  const size = (bytes) => (bytes < 1000 ? bytes + " B" : bytes < 1e6 ? Math.round(bytes / 1000) + " kB" : (bytes / 1e6).toFixed(1) + " MB");
  function chip(name, bytes) {
    const item = document.createElement("li");
    item.className = "chip";
    const label = document.createElement("span");
    label.textContent = name;
    const about = document.createElement("span");
    about.className = "muted";
    about.textContent = size(bytes);
    const remove = document.createElement("button");
    remove.type = "button";
    remove.className = "button ghost small";
    remove.textContent = "Remove";
    remove.setAttribute("aria-label", "Remove " + name);
    item.append(label, about, remove);
    chips.append(item);
    return { item, about, remove };
  }
  function showFile(file) {
    const { item, remove } = chip(file.name, file.size);
    item.dataset.file = file.id;
    remove.addEventListener("click", () => {
      draft.files = draft.files.filter((one) => one.id !== file.id);
      item.remove();
      store();
      field.focus();
    });
  }
  // takeIn hands a file to the server, and shows how far that is.
  function takeIn(file) {
    if (draft.files.length >= 20) {
      say("A message has at most 20 files.");
      return;
    }
    const name = file.name || "pasted";
    const { item, about, remove } = chip(name, file.size);
    const bar = document.createElement("progress");
    bar.max = Math.max(1, file.size);
    bar.value = 0;
    bar.setAttribute("aria-label", "Taking in " + name);
    about.after(bar);
    const request = new XMLHttpRequest();
    request.open("POST", "/api/files?" + new URLSearchParams({ name, threadId: thread }));
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.setRequestHeader("X-Harness-Script", "1");
    request.upload.addEventListener("progress", (event) => (bar.value = event.loaded));
    remove.addEventListener("click", () => {
      request.abort();
      item.remove();
      field.focus();
    });
    const failed = (words) => {
      bar.remove();
      item.classList.add("wrong");
      about.textContent = words;
      item.setAttribute("role", "alert");
    };
    request.addEventListener("load", () => {
      let told = {};
      try {
        told = JSON.parse(request.responseText);
      } catch {
        // it is no document
      }
      if (request.status !== 201) {
        failed(told.detail || "was not taken in (" + request.status + ")");
        return;
      }
      item.remove();
      const taken = { id: told.id, name: told.name, size: told.size };
      draft.files.push(taken);
      showFile(taken);
      store();
    });
    request.addEventListener("error", () => failed("Harness does not answer. Remove it and add it again."));
    request.send(file);
  }

  // --- commands ---

  let commands;
  let box;
  async function load() {
    if (!commands) {
      commands = [];
      try {
        commands = (await (await ask("/api/commands")).json()).commands.filter((one) => one.name !== "*");
        complete();
      } catch {
        commands = undefined;
      }
    }
  }
  // offers are what can stand where the cursor is: names of commands, then what the command
  // takes.
  function offers() {
    const typed = field.value.slice(0, field.selectionStart);
    if (!/^\/[^\n]*$/.test(typed) || field.value.length !== typed.length) return [];
    load();
    const name = typed.slice(1).match(/^\S*/)[0];
    if (typed.length === name.length + 1) {
      return (commands || []).filter((one) => one.name.startsWith(name.toLowerCase())).map((one) => ({
        label: "/" + one.name, about: one.description || "", from: 0, text: "/" + one.name + " ",
      }));
    }
    const command = (commands || []).find((one) => one.name === name);
    if (!command) return [];
    const from = typed.lastIndexOf(" ") + 1;
    const word = typed.slice(from);
    const made = [];
    for (const option of command.options || []) {
      if (option.named && option.type === "flag") made.push({ label: option.name, about: option.description || "", text: option.name + " " });
      else if (option.choices?.length && (!option.named || word.startsWith(option.name + "="))) {
        const lead = option.named ? option.name + "=" : "";
        for (const choice of option.choices) made.push({ label: lead + choice, about: option.description || option.name, text: lead + choice + " " });
      } else if (option.named) made.push({ label: option.name + "=", about: option.description || "", text: option.name + "=" });
    }
    const fitting = made.filter((one) => one.text.startsWith(word) && one.text.trim() !== word).map((one) => ({ ...one, from }));
    if (!fitting.length && command.usage && !word) return [{ label: command.usage, about: command.description || "", from, text: "" }];
    return fitting;
  }
  function complete() {
    const found = offers();
    if (!found.length) {
      closeCommands();
      return;
    }
    if (!box) {
      box = document.createElement("div");
      box.id = "commands";
      box.className = "commands";
      box.setAttribute("role", "listbox");
      box.setAttribute("aria-label", "Commands");
      form.append(box);
      field.setAttribute("role", "combobox");
      field.setAttribute("aria-autocomplete", "list");
      field.setAttribute("aria-controls", "commands");
    }
    field.setAttribute("aria-expanded", "true");
    box.hidden = false;
    box.replaceChildren(...found.map((one, n) => {
      const option = document.createElement("div");
      option.id = "command-" + n;
      option.className = "menu-item";
      option.setAttribute("role", "option");
      const label = document.createElement("b");
      label.textContent = one.label;
      const about = document.createElement("span");
      about.className = "small muted";
      about.textContent = one.about;
      option.append(label, about);
      option.addEventListener("mousedown", (event) => {
        event.preventDefault();
        take(one);
      });
      return option;
    }));
    box.offered = found;
    choose(0);
  }
  function choose(n) {
    [...box.children].forEach((option, at) => option.setAttribute("aria-selected", String(at === n)));
    box.children[n].scrollIntoView({ block: "nearest" });
    field.setAttribute("aria-activedescendant", "command-" + n);
  }
  function take(offer) {
    if (!offer.text) return;
    field.setRangeText(offer.text, offer.from, field.selectionStart, "end");
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
  function closeCommands() {
    if (!box || box.hidden) return;
    box.hidden = true;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  }
  // commandKey reports whether a key was for the list of commands.
  function commandKey(event) {
    if (!box || box.hidden) return false;
    const at = [...box.children].findIndex((option) => option.getAttribute("aria-selected") === "true");
    const offer = box.offered[at];
    switch (event.key) {
      case "ArrowDown":
      case "ArrowUp":
        choose((at + (event.key === "ArrowDown" ? 1 : -1) + box.children.length) % box.children.length);
        return true;
      case "Tab":
        if (event.shiftKey || !offer.text) return false;
        take(offer);
        return true;
      case "Escape":
        closeCommands();
        return true;
    }
    return false;
  }
  // takeChosen takes the offer that is chosen, unless the command stands there whole: that is
  // sent.
  function takeChosen() {
    if (!box || box.hidden) return false;
    const offer = box.offered[[...box.children].findIndex((option) => option.getAttribute("aria-selected") === "true")];
    if (!offer?.text || field.value.trim() === offer.label || field.value.endsWith(" ")) return false;
    take(offer);
    return true;
  }
  field.addEventListener("blur", closeCommands);

  // --- begin: with what was there when the page was left ---

  if (wrong.textContent || field.value) {
    draft.text = field.value;
    save();
  } else {
    const old = read(kept);
    if (typeof old?.text === "string" && Array.isArray(old.files)) draft = { text: old.text, files: old.files };
  }
  field.value = draft.text;
  for (const box of chips.querySelectorAll("input[name=file]")) {
    const [name, bytes] = [box.nextElementSibling.textContent, Number(box.dataset.size)];
    draft.files.push({ id: box.value, name, size: bytes }); // it came back with what was refused
  }
  chips.replaceChildren();
  draft.files.forEach(showFile);
  grow();
  Object.keys(localStorage).filter((key) => key.startsWith(outKey)).map(read).filter((entry) => entry && typeof entry.text === "string" && Array.isArray(entry.files))
    .sort((a, b) => a.at - b.at).forEach(begin);
  if (!touch.matches && document.activeElement === document.body) field.focus({ preventScroll: true });
})();
