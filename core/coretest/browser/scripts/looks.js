// What the tests ask of a page. It runs beside the page's own scripts, in a world of its
// own: neither sees the other's variables. What waits for something returns what is
// missing, in words, and an empty string once nothing is.
(() => {
  const looks = {};
  globalThis.looks = looks;

  const NONE = "there is no such element";
  const HIDDEN = "it is not visible";
  const find = (selector) => document.querySelector(selector);

  const seen = (element) => {
    const box = element.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && element.checkVisibility({ visibilityProperty: true });
  };

  // A selector for people, that finds the element too.
  const name = (element) => {
    const path = [];
    for (let at = element; at && at.nodeType === Node.ELEMENT_NODE; at = at.parentElement) {
      let step = at.localName;
      if (at.id) {
        path.unshift(step + "#" + CSS.escape(at.id));
        break;
      }
      if (at.classList.length > 0) {
        step += "." + CSS.escape(at.classList[0]);
      }
      const alike = at.parentElement ? [...at.parentElement.children].filter((e) => e.localName === at.localName) : [];
      if (alike.length > 1) {
        step += `:nth-of-type(${alike.indexOf(at) + 1})`;
      }
      path.unshift(step);
      if (at === document.body) {
        break;
      }
    }
    return path.join(" > ");
  };

  // --- waiting ---

  looks.visible = (selector) => {
    const element = find(selector);
    return !element ? NONE : seen(element) ? "" : HIDDEN;
  };

  looks.gone = (selector) => ([...document.querySelectorAll(selector)].some(seen) ? "it is there" : "");

  looks.text = (selector) => {
    const element = find(selector);
    return element ? [element.innerText] : [];
  };

  looks.says = (selector, text) => {
    const element = find(selector);
    return !element ? NONE : element.innerText.includes(text) ? "" : `it says ${JSON.stringify(element.innerText.slice(0, 500))}`;
  };

  // --- acting ---

  const rested = new WeakMap(); // element: where it was when it was last looked at

  // reach returns the point {X, Y} at which a click hits the element, or {Why}.
  looks.reach = (selector) => {
    const element = find(selector);
    if (!element) {
      return { Why: NONE };
    }
    if (!seen(element)) {
      return { Why: HIDDEN };
    }
    if (element.matches(":disabled")) {
      return { Why: "it is disabled" };
    }
    let box = element.getClientRects()[0];
    if (box.top < 0 || box.left < 0 || box.bottom > innerHeight || box.right > innerWidth) {
      element.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
      box = element.getClientRects()[0];
    }
    const at = [box.x, box.y, box.width, box.height].join();
    if (rested.get(element) !== at) {
      rested.set(element, at);
      return { Why: "it moves" };
    }
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    const hit = document.elementFromPoint(x, y);
    const own = hit && (element.contains(hit) || [...(element.labels ?? [])].some((label) => label.contains(hit)));
    return own ? { X: x, Y: y } : { Why: hit ? `${name(hit)} covers it` : "it is outside of the viewport" };
  };

  // caret puts the caret behind the text of the element, which has the focus.
  looks.caret = (selector) => {
    const element = find(selector);
    if (!element || !(document.activeElement === element || element.contains(document.activeElement))) {
      return "it does not have the focus";
    }
    if (element.localName === "textarea" || ["text", "search", "url", "tel", "password"].includes(element.type)) {
      element.setSelectionRange(element.value.length, element.value.length);
    }
    return "";
  };

  const carried = (files) => {
    const data = new DataTransfer();
    for (const { name, type, content } of files) {
      data.items.add(new File([Uint8Array.from(atob(content), (c) => c.charCodeAt(0))], name, { type }));
    }
    return data;
  };

  looks.paste = (selector, files) => {
    const element = find(selector);
    element?.dispatchEvent(new ClipboardEvent("paste", { bubbles: true, cancelable: true, clipboardData: carried(files) }));
    return element ? "" : NONE;
  };

  looks.drop = (selector, files) => {
    const element = find(selector);
    for (const kind of ["dragenter", "dragover", "drop"]) {
      element?.dispatchEvent(new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer: carried(files) }));
    }
    return element ? "" : NONE;
  };

  // --- judging ---

  // What moves is judged at its end.
  const settle = () => {
    for (const animation of document.getAnimations()) {
      try {
        animation.finish();
      } catch {
        animation.cancel(); // it has no end
      }
    }
  };

  let known = new WeakSet(); // what was seen when the contrast of everything was judged last

  const violations = async (context, options) => {
    const result = await axe.run(context, { resultTypes: ["violations"], iframes: false, ...options });
    return result.violations.map((v) => ({
      Rule: v.id, Impact: v.impact ?? "", Help: v.help,
      Nodes: v.nodes.map((n) => ({ Selector: n.target.flat().join(" "), Summary: n.failureSummary ?? "" })),
    }));
  };

  const CONTRAST = "color-contrast"; // takes longer than all other rules together, and depends on the layout little
  const ALL = { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] };
  const only = (...rules) => ({ type: "rule", values: rules });

  looks.axe = (rules) => {
    settle();
    known = new WeakSet([...document.querySelectorAll("*")].filter(seen));
    return violations(document, { runOnly: rules?.length ? only(...rules) : ALL });
  };

  looks.axeOfLayout = async (colours) => {
    settle();
    const appeared = [...document.querySelectorAll("*")].filter((element) => seen(element) && !known.has(element));
    return [
      ...colours ? [] : await violations(document, { runOnly: ALL, rules: { [CONTRAST]: { enabled: false } } }),
      ...appeared.length > 0 ? await violations({ include: appeared }, { runOnly: only(CONTRAST) }) : [],
    ];
  };

  // What is scrolled or cut by something in the page does not make the page wide.
  const contained = (element) => {
    for (let at = element.parentElement; at && at !== document.body && at !== document.documentElement; at = at.parentElement) {
      if (getComputedStyle(at).overflowX !== "visible") {
        return true;
      }
    }
    return false;
  };

  looks.overflow = (width) => {
    const root = document.documentElement;
    const room = Math.min(width, root.clientWidth);
    if (Math.max(root.scrollWidth, document.body.scrollWidth) <= room) {
      return [];
    }
    const wide = [...document.querySelectorAll("body, body *")].filter((e) => {
      const box = e.getBoundingClientRect();
      return box.width > 0 && box.right + scrollX > room + 0.5 && e.checkVisibility() && !contained(e);
    });
    // Those that are wide of themselves, not for what is in them.
    const causes = wide.filter((e) => !wide.some((other) => other !== e && e.contains(other)));
    const told = causes.map((e) => `${name(e)}: reaches to ${Math.round(e.getBoundingClientRect().right + scrollX)} of ${room}`);
    return told.length > 0 ? told : [`the page: ${root.scrollWidth} of ${room}`];
  };

  const TARGETS = [
    "a[href]", "area[href]", "button", "input:not([type=hidden])", "select", "textarea", "summary", "[contenteditable]",
    "[tabindex]:not([tabindex^='-'])", "[onclick]",
    ...["button", "link", "checkbox", "radio", "switch", "tab", "option", "menuitem", "slider"].map((role) => `[role=${role}]`),
  ].join();
  const LEAST = 24;

  // The box of a target, with those of its labels.
  const box = (element) => {
    const boxes = [element, ...(element.labels ?? [])].filter(seen).map((e) => e.getBoundingClientRect());
    const left = Math.min(...boxes.map((b) => b.left)), top = Math.min(...boxes.map((b) => b.top));
    const right = Math.max(...boxes.map((b) => b.right)), bottom = Math.max(...boxes.map((b) => b.bottom));
    return { left, top, right, bottom, width: right - left, height: bottom - top, x: (left + right) / 2, y: (top + bottom) / 2 };
  };

  // A target that is a part of a line of text.
  const inText = (element) =>
    getComputedStyle(element).display.startsWith("inline") &&
    [...element.parentElement.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && /[\p{L}\p{N}]/u.test(n.data));

  // How far a point is from a box.
  const distance = (x, y, b) => Math.hypot(Math.max(b.left - x, 0, x - b.right), Math.max(b.top - y, 0, y - b.bottom));

  looks.smallTargets = () => {
    const targets = [...document.querySelectorAll(TARGETS)].filter((e) => seen(e) && !e.matches(":disabled")).map((element) => {
      const b = box(element);
      return { element, b, small: b.width < LEAST - 0.01 || b.height < LEAST - 0.01 };
    });
    // A circle of the least size around its middle meets no other target, nor such a circle.
    const roomy = ({ element, b }) =>
      !targets.some((other) =>
        other.element !== element && !other.element.contains(element) && !element.contains(other.element) &&
        (distance(b.x, b.y, other.b) < LEAST / 2 || (other.small && Math.hypot(b.x - other.b.x, b.y - other.b.y) < LEAST)));
    return targets.filter((t) => t.small && !inText(t.element) && !roomy(t))
      .map(({ element, b }) => `${name(element)}: ${Math.round(b.width)} by ${Math.round(b.height)}`);
  };

  // Where the focus of an element may show.
  const around = (element) => [
    element, ...(element.labels ?? []), element.parentElement, element.parentElement?.parentElement, element.nextElementSibling,
  ].filter((e) => e && e !== document.body && e !== document.documentElement);

  const face = (element) => [null, "::before", "::after"].map((part) => {
    const s = getComputedStyle(element, part);
    const none = (colour) => /^rgba\(.*, 0\)$|\/ 0\)$/.test(colour);
    const line = (kind) => (s[kind + "Style"] === "none" || s[kind + "Width"] === "0px" || none(s[kind + "Color"]) ? "" :
      [s[kind + "Style"], s[kind + "Width"], s[kind + "Color"]].join(" "));
    return [
      s.outlineStyle === "auto" ? "auto" : line("outline"), ...["borderTop", "borderRight", "borderBottom", "borderLeft"].map(line),
      s.boxShadow, s.backgroundColor, s.backgroundImage, s.textDecorationLine, s.opacity, s.clipPath, s.clip, s.transform,
      s.top, s.left, s.width, s.height,
    ].join("|");
  }).join("\n");

  const look = (element) => around(element).map(face).join("\n\n");

  let without, met, invisible;

  // unfocused takes the focus away, keeps how everything looks that can have it, and from
  // then on compares with that each element that gets it.
  looks.unfocused = () => {
    document.activeElement?.blur();
    settle();
    if (!without) {
      document.addEventListener("focusin", compare, true);
    }
    [without, met, invisible] = [new Map(), new Set(), []];
    for (const element of document.querySelectorAll("*")) {
      if (element.tabIndex >= 0 || element.isContentEditable) {
        without.set(element, look(element));
      }
    }
    return "";
  };

  const compare = ({ target }) => {
    if (target.localName === "iframe") {
      return; // it is in there
    }
    if (met.has(target)) {
      return;
    }
    met.add(target);
    settle();
    if (without.get(target) === look(target)) {
      invisible.push(name(target));
    }
  };

  // focusInvisible gives the focus to one after the other, and returns those that do not show it.
  looks.focusInvisible = () => {
    for (const element of without.keys()) {
      element.focus({ preventScroll: true });
    }
    return invisible;
  };

  return looks;
})()
