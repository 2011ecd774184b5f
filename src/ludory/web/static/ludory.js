// Keys, clicks in the picture and small comforts; everything else is HTML and htmx.
"use strict";
(() => {
  const find = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  let menu = null;

  function closeMenu() {
    if (!menu) return;
    menu.remove();
    menu = null;
  }

  // Several moves fit the element that was clicked: ask which.
  function openMenu(element, buttons) {
    closeMenu();
    menu = document.createElement("div");
    menu.className = "menu card";
    menu.setAttribute("role", "menu");
    for (const button of buttons) {
      const item = document.createElement("button");
      item.setAttribute("role", "menuitem");
      item.textContent = button.lastChild.textContent;
      item.addEventListener("click", () => { closeMenu(); button.click(); });
      menu.append(item);
    }
    find("#picture").append(menu);
    const frame = find("#picture").getBoundingClientRect(), box = element.getBoundingClientRect();
    const left = box.left + box.width / 2 - frame.left - menu.offsetWidth / 2;
    menu.style.left = `${Math.max(4, Math.min(left, frame.width - menu.offsetWidth - 4))}px`;
    menu.style.top = `${Math.max(4, Math.min(box.bottom - frame.top + 4, frame.height - menu.offsetHeight - 4))}px`;
    find("button", menu).focus();
  }

  function act(element) {
    const codes = element.dataset.action.split(" "), form = find("#moves");
    if (!form) return;
    if (codes[0] === "send") return find("[data-send]", form).click();
    if (Number(find("#board").dataset.heads) > 1) {
      for (const code of codes) {
        const radio = find(`input[data-code="${code}"]`, form);
        if (radio) radio.checked = true;
      }
      mark();
      return;
    }
    const buttons = codes.map(code => find(`button[value="${code}"]`, form)).filter(Boolean);
    if (buttons.length === 1) buttons[0].click();
    else if (buttons.length) openMenu(element, buttons);
  }

  // Show in the picture which values are set, in games with several heads.
  function mark() {
    const set = new Set(all("#moves input:checked").map(radio => radio.dataset.code));
    for (const element of all("#picture [data-action]")) {
      const on = set.size > 0 && element.dataset.action.split(" ").every(code => set.has(code));
      if (on) element.setAttribute("aria-pressed", "true");
      else element.removeAttribute("aria-pressed");
    }
  }

  function turn(fieldset, by, around) {
    const radios = all("input", fieldset), now = radios.findIndex(radio => radio.checked);
    let next = now + by;
    if (around) next = (next + radios.length) % radios.length;
    if (radios[next]) radios[next].checked = true;
    mark();
  }

  const STEPS = { ArrowLeft: ["x", -1], ArrowRight: ["x", 1], ArrowUp: ["y", -1], ArrowDown: ["y", 1] };

  // Arrow keys walk through the legal moves where they are no moves themselves.
  function walk(key) {
    const places = all(menu ? ".menu button" : "#moves button:not([data-send], [hidden]), button[form=moves]");
    if (!places.length) return false;
    const now = places.indexOf(document.activeElement), by = key === "ArrowLeft" || key === "ArrowUp" ? -1 : 1;
    places[(now + by + places.length) % places.length].focus();
    return true;
  }

  // Arrow keys that are moves wait while a move is on its way, so that one may type faster than the server answers.
  const typed = [];
  function playTyped() {
    if (find("#moves.htmx-request")) return;
    const key = typed.shift(), button = key && find(`#moves [data-key="${key}"]`);
    if (button) button.click();
    else typed.length = 0;
  }

  function onKey(event) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || !find("#board")) return;
    const target = event.target, typing = target.closest("input:not([type=radio]), select, textarea");
    if (typing || target.closest("#log")) return;
    const picked = target.closest("[data-action]");
    if (event.key === "Escape" && menu) { closeMenu(); return event.preventDefault(); }
    if (picked && (event.key === "Enter" || event.key === " ")) { act(picked); return event.preventDefault(); }
    if (menu) { if (event.key in STEPS && walk(event.key)) event.preventDefault(); return; }
    const step = STEPS[event.key], axis = step && find(`#moves fieldset[data-axis="${step[0]}"]`);
    if (axis) { turn(axis, step[1], false); return event.preventDefault(); }
    const chosen = all("#board [data-key]").find(one => one.dataset.key === event.key);
    if (chosen) {
      if (step && chosen.closest("#moves.htmx-request")) { if (typed.length < 8) typed.push(event.key); }
      else if (chosen.tagName === "FIELDSET") turn(chosen, 1, true);
      else chosen.click();
      return event.preventDefault();
    }
    const send = find("#moves [data-send]");
    if (event.key === "Enter" && send && !target.closest("a, button")) { send.click(); return event.preventDefault(); }
    if (step && !target.closest("input[type=radio]") && walk(event.key)) event.preventDefault();
  }

  document.addEventListener("keydown", onKey);
  document.addEventListener("change", event => { if (event.target.closest("#moves")) mark(); });
  document.addEventListener("click", event => {
    const element = event.target.closest("#picture [data-action]");
    if (element) return act(element);
    if (!event.target.closest(".menu")) closeMenu();
    const point = event.target.closest("#board.study svg a");
    if (point && !event.ctrlKey && !event.metaKey && !event.shiftKey) { event.preventDefault(); go(point.getAttribute("href")); }
    const copy = event.target.closest("[data-copy]");
    if (copy) navigator.clipboard.writeText(new URL(copy.dataset.copy, location.href).href).then(() => { copy.textContent = "Copied"; });
  });

  // Answers may come late. One that was asked for before what is shown now is left out; nothing that may hold the
  // pointer's target is replaced while a mouse button is down, since the click would be lost: it is asked for again
  // when the button is up; and where the part that an answer belongs into was replaced in the meantime, the answer
  // goes where that part is now.
  const shown = new Map(), waiting = new Set();
  let asked = 0, held = false;
  function onRequest({ detail }) {
    const { elt, target, xhr } = detail, number = ++asked, live = elt.matches('[hx-trigger*="sse:"], input[hx-get]');
    target.addEventListener("htmx:beforeSwap", event => {
      const answer = event.detail;
      if (answer.xhr !== xhr || answer.target !== target) return;
      const place = target.isConnected ? target : !live && document.getElementById(target.id);
      if (live && held) waiting.add(elt);
      if (!place || number < shown.get(target.id) || (live && held)) return event.preventDefault();
      answer.target = place;
      shown.set(target.id, number);
    });
  }
  function hold(down) {
    held = down;
    if (!down) setTimeout(() => { for (const one of waiting) one.call ? one() : htmx.trigger(one, one.matches("input") ? "change" : "sse:changed"); waiting.clear(); });
  }
  const buttonUp = () => new Promise(done => held ? waiting.add(done) : done());

  // Steps through a game are asked for one at a time; of those that wait for an answer the newest is asked for next,
  // and a key counts from the position that was asked for last. The board asks, not the link that was clicked, which
  // may lie in a part that is refreshed before the answer comes.
  let going = null, next = null, kept = false;
  const inGame = target => target.matches(".study");
  const numberIn = address => Number(address.searchParams.get("move"));
  async function go(address) {
    onHistory({ detail: {} });
    if (going) { next = address; return; }
    going = address;
    await htmx.ajax("GET", address, { source: "#board", target: "#board", select: "#board", swap: "outerHTML show:none", push: "true" }).catch(() => {});
    if (kept) { kept = false; await buttonUp(); next ||= going; }
    [address, going, next] = [next, null, null];
    if (address) go(address);
  }
  function onAnswer(event) {
    if (!held || !going || !inGame(event.detail.target)) return;
    kept = true;
    event.preventDefault();
  }
  // Back and Forward fetch the page of the address; where they are pressed faster than it comes, the last one counts.
  let restoring = null;
  function onHistory({ detail }) {
    if (restoring) restoring.abort();
    restoring = detail.xhr;
  }
  function onLink(event) {
    const { elt, target, path } = event.detail, by = { ArrowLeft: -1, ArrowRight: 1 }[elt.dataset.key];
    if (elt.tagName !== "A" || !inGame(target)) return;
    event.preventDefault();
    if (!going) { if (!elt.ariaDisabled) go(path); return; }
    const end = new URL(find("#board [data-key=End]").href), goal = new URL(next || going, end);
    const counts = by && goal.searchParams.has("move") && !goal.searchParams.has("try") && goal.searchParams.get("line") === end.searchParams.get("line");
    if (counts) goal.searchParams.set("move", Math.max(0, Math.min(numberIn(goal) + by, numberIn(end))));
    go(counts ? goal.pathname + goal.search : path);
  }
  function onForm(event) {
    const { elt, target, pathInfo } = event.detail;
    if (elt.tagName !== "FORM" || !inGame(target)) return onRequest(event);
    event.preventDefault();
    go(pathInfo.finalRequestPath);
  }

  function settle() {
    closeMenu();
    mark();
    playTyped();
    const log = find("#log");
    const now = log && find("[aria-current]", log);
    if (log) log.scrollTop = find(".study") ? (now ? now.offsetTop - log.offsetTop - log.clientHeight / 2 : 0) : log.scrollHeight;
  }
  document.addEventListener("htmx:afterSettle", settle);
  document.addEventListener("htmx:confirm", onLink);
  document.addEventListener("htmx:beforeSwap", onAnswer);
  document.addEventListener("htmx:historyCacheMiss", onHistory);
  document.addEventListener("htmx:responseError", () => { typed.length = 0; });
  document.addEventListener("pointerdown", event => hold(event.button === 0), true);
  for (const name of ["pointerup", "pointercancel"]) document.addEventListener(name, () => hold(false), true);
  window.addEventListener("popstate", () => { going = next = null; for (const [id] of shown) shown.set(id, asked + 1); });
  document.addEventListener("htmx:beforeRequest", event => {
    onForm(event);
    const problem = find("#problem");
    if (problem && event.detail.requestConfig.verb !== "get") problem.replaceChildren();
  });
  document.addEventListener("DOMContentLoaded", settle);
})();
