// The script of the operator's page: local times, questions, copying, keys, refreshing, the live list. Every page but
// the live one works without it. What comes from the server becomes text by textContent, never markup.
"use strict";
(() => {
  const body = document.body;
  const prefix = body.dataset.prefix || "";
  body.classList.add("scripted");
  const byId = (id) => document.getElementById(id);

  // Characters that are not seen, or that turn the direction of text, are shown as symbols, as the server does it.
  const ODD = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
  const visible = (text) => String(text ?? "").replace(ODD, (c) => `\u27e8U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}\u27e9`);
  const make = (tag, classes, text, attributes) => {
    const node = document.createElement(tag);
    if (classes) node.className = classes;
    if (text !== undefined) node.textContent = visible(text);
    for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
    return node;
  };

  // Times: UTC comes from the server and stays in the title; people see their own.
  const pad = (number) => String(number).padStart(2, "0");
  const clock = (at, seconds) => `${pad(at.getHours())}:${pad(at.getMinutes())}${seconds ? ":" + pad(at.getSeconds()) : ""}`;
  const localTimes = (root) => {
    for (const node of root.querySelectorAll("[data-time]")) {
      const at = new Date(node.getAttribute("datetime") || node.dataset.at);
      if (Number.isNaN(at.getTime())) continue;
      const isToday = at.toDateString() === new Date().toDateString();
      const day = isToday || node.dataset.time === "clock" ? "" : at.toLocaleDateString("en-GB", { day: "numeric", month: "short" }) + " ";
      node.textContent = day + clock(at, node.dataset.time === "precise");
    }
  };

  // Copying
  const copyButtons = (root) => {
    for (const box of root.querySelectorAll("[data-copy]")) {
      if (box.querySelector(".copy")) continue;
      const button = make("button", "button copy", "Copy", { type: "button" });
      button.addEventListener("click", async () => {
        const code = box.querySelector("code");
        try {
          await navigator.clipboard.writeText(code.textContent);
          button.textContent = "Copied";
        } catch {
          getSelection().selectAllChildren(code);
          button.textContent = "Selected: press Ctrl+C";
        }
        setTimeout(() => { button.textContent = "Copy"; }, 2000);
      });
      box.append(button);
    }
  };

  // A question before what costs or deletes; a stop is never asked about.
  const dialog = (title, content, buttons) => {
    const box = make("dialog", "", undefined, { "aria-label": title });
    const row = make("div", "actions");
    row.append(...buttons);
    box.append(make("h2", "", title), content, row);
    box.addEventListener("close", () => box.remove());
    body.append(box);
    box.showModal();
    return box;
  };
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.dataset.confirm || form.dataset.sure) return;
    event.preventDefault();
    const sender = event.submitter;
    const yes = make("button", "button primary", sender ? sender.textContent : "Yes", { type: "button" });
    const no = make("button", "button plain", "Cancel", { type: "button" });
    const box = dialog("Are you sure?", make("p", "", form.dataset.confirm), [no, yes]);
    no.addEventListener("click", () => box.close());
    yes.addEventListener("click", () => {
      form.dataset.sure = "yes";
      box.close();
      form.requestSubmit(sender || undefined);
    });
    yes.focus();
  });

  // What was done is said once: reloading does not say it again.
  const address = new URL(location.href);
  if (address.searchParams.has("done")) {
    address.searchParams.delete("done");
    address.searchParams.delete("proof");
    history.replaceState(null, "", address);
  }

  // Keys
  const places = { o: "/", l: "/live", r: "/runs", a: "/approvals", m: "/money", d: "/doctor", s: "/settings" };
  const KEYS = [["?", "This list"], ["g, then o l r a m d s", "Go to overview, live, runs, approvals, money, doctor, settings"],
    ["/", "Go to the first field of the page"], ["p", "Pause or go on (live)"], ["Esc", "Close a question"]];
  let wentG = 0;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) || event.target.isContentEditable) return;
    if (event.timeStamp - wentG < 1500 && wentG && places[event.key]) {
      location.assign(prefix + places[event.key]);
    } else if (event.key === "?") {
      const list = make("dl", "pairs");
      for (const [keys, meaning] of KEYS) {
        const pair = make("div");
        pair.append(make("dt"), make("dd", "", meaning));
        pair.firstChild.append(make("kbd", "", keys));
        list.append(pair);
      }
      const close = make("button", "button primary", "Close", { type: "button" });
      const box = dialog("Keys", list, [close]);
      close.addEventListener("click", () => box.close());
    } else if (event.key === "/") {
      const field = document.querySelector("main input:not([type=hidden]), main select");
      if (field) { event.preventDefault(); field.closest("details")?.setAttribute("open", ""); field.focus(); }
    } else if (event.key === "p" && byId("live-pause")) {
      byId("live-pause").click();
    }
    wentG = event.key === "g" ? event.timeStamp : 0;
  });

  // Refreshing: the page is asked for again, and parts that differ take the place of the old. Nothing that is being
  // used is replaced: a part with the focus, the pointer, or something opened stays until it is left.
  const EVERY = 5000;
  const shown = new Map();
  const refreshed = () => document.querySelectorAll("[data-refresh][id]");
  const isUsed = (part) => part.contains(document.activeElement) || part.querySelector("details[open]") ||
    (part.matches(":hover") && part.querySelector("button:hover, a:hover"));
  const refresh = async () => {
    if (document.hidden || document.querySelector("dialog[open]")) return;
    const answer = await fetch(location.href, { credentials: "same-origin", redirect: "error" });
    if (!answer.ok) throw new Error(String(answer.status));
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const old of refreshed()) {
      const found = fresh.getElementById(old.id);
      if (!found || shown.get(old.id) === found.outerHTML || isUsed(old)) continue;
      shown.set(old.id, found.outerHTML);
      const part = document.importNode(found, true);
      old.replaceWith(part);
      localTimes(part);
      copyButtons(part);
    }
  };
  const stale = make("p", "stale", "", { role: "status" });
  const keepFresh = async () => {
    try {
      await refresh();
      stale.remove();
    } catch {
      if (!stale.isConnected) {
        stale.textContent = `The server does not answer. What you see is from ${clock(new Date(), true)}.`;
        body.append(stale);
      }
    }
    setTimeout(keepFresh, EVERY);
  };

  // The live list
  const MOST = 500;
  const live = (list) => {
    const { stream, assistant, kind, runs, page, approvals } = list.dataset;
    const state = byId("live-state");
    const pause = byId("live-pause");
    const held = [];
    const open = new Map(); // run -> the row that its words are added to
    const close = (run) => { open.get(run)?.classList.remove("growing"); open.delete(run); };
    let last = "";
    let count = 0;
    let isPaused = false;
    const number = (value) => Number(value ?? 0).toLocaleString("en-GB");
    const part = (classes, text) => make("span", classes, text);
    const callLine = (call) => {
      const line = make("div", "call");
      line.append(part("tool", call.name), part("quiet", ` ${call.status ?? ""} `));
      if (call.arguments) line.append(part("mono", call.arguments));
      if (call.result) line.append(make("div", "result", call.result));
      return line;
    };
    const say = {
      heard: (d) => [part("who", d.who), part("quiet", d.verdict === "context" ? " nearby: " : ": "), part("words", d.text ?? "")],
      thinking: (d) => [part("quiet", `step ${d.step ?? ""} `), part("reasoning quiet", ""), part("words", ""), part("mono", "")],
      step: (d) => [
        part("quiet", [d.model, d.seconds !== undefined && `${Number(d.seconds).toFixed(1)} s`, `${number(d.input_tokens)} \u2192 ${number(d.output_tokens)} tokens`].filter(Boolean).join(" \u00b7 ")),
        ...(d.text ? [make("div", "words", d.text)] : []), ...(d.calls || []).map(callLine)],
      outcome: (d) => [part(`pill ${{ answered: "ok", failed: "danger", limit: "warn" }[d.outcome] || "quiet"}`, d.outcome), part("", ` ${d.sentence || (d.acts || []).join(", ")}`)],
      approval: (d) => [part("pill warn", d.what ?? "waits"), part("", ` ${d.tool ?? ""} `), part("mono", d.shown ?? ""), part("quiet", d.requester ? ` for ${d.requester}` : "")],
      state: (d) => [part("quiet", `${d.was ? d.was + " \u2192 " : ""}${d.state ?? ""}`), part("trouble", d.trouble ?? "")],
      circuit: (d) => [part("quiet", `${d.origin ?? ""}: `), part("", `${d.was ? d.was + " \u2192 " : ""}${d.circuit ?? ""}`)],
      spent: (d) => [part("quiet", `${number(d.calls)} calls, ${number(d.tokens)} tokens, ${Number(d.money ?? 0).toFixed(4)}`)],
    };
    const wanted = (event) => !event.data.snapshot && (!assistant || !event.assistant || event.assistant === assistant);
    const grow = (row, d) => {
      const parts = { reasoning: ".reasoning", text: ".words", call: ".mono" };
      for (const [name, where] of Object.entries(parts)) {
        const node = row.querySelector(where);
        const more = d[name] && typeof d[name] === "object" ? `${d[name].name ?? ""} ${d[name].arguments ?? ""}` : d[name];
        if (d.again) node.textContent = "";
        if (more) node.textContent += visible(more);
      }
    };
    const put = (event) => {
      const key = event.run;
      if (event.kind === "delta") {
        if (open.has(key)) grow(open.get(key), event.data);
        return;
      }
      if (event.kind === "step" && kind !== "thinking") open.get(key)?.remove(); // the step says the same as a whole
      if (/^(step|outcome|thinking)$/.test(event.kind)) close(key);
      if (kind && event.kind !== kind) return;
      const at = new Date(event.at * 1000);
      const row = make("li", `row k-${event.kind}`);
      const name = event.assistant ? make("a", "name", event.name || event.assistant, { href: page + encodeURIComponent(event.assistant) }) : part("name", "all");
      const what = make("div", "what");
      what.append(...(say[event.kind] ? say[event.kind](event.data) : [part("", event.kind)]));
      const more = event.kind === "approval" ? make("a", "run", "decide", { href: approvals })
        : event.run ? make("a", "run", "run", { href: runs + encodeURIComponent(event.run) }) : part("run");
      row.append(make("time", "", clock(at, true), { datetime: at.toISOString(), title: at.toISOString() }), name, part("kind", event.kind), what, more);
      if (event.kind === "thinking") { row.classList.add("growing"); open.set(key, row); }
      list.prepend(row);
      byId("live-empty").hidden = true;
      count += 1;
      while (list.childElementCount > MOST) list.lastElementChild.remove();
    };
    const take = (message) => {
      const event = JSON.parse(message.data);
      last = message.lastEventId;
      if (!wanted(event)) return;
      if (!isPaused) { put(event); return; }
      held.push(event);
      if (held.length > 4 * MOST) held.shift();
      pause.textContent = `Go on (${held.length} new)`;
    };
    pause.addEventListener("click", () => {
      isPaused = !isPaused;
      pause.setAttribute("aria-pressed", String(isPaused));
      pause.textContent = isPaused ? "Go on" : "Pause";
      if (!isPaused) held.splice(0).forEach(put);
      tell();
    });
    byId("live-clear").addEventListener("click", () => { list.replaceChildren(); open.clear(); byId("live-empty").hidden = false; });
    let link = "Connecting\u2026";
    const tell = () => { state.textContent = isPaused ? "Paused; what happens is kept for you." : link; state.dataset.on = link === "Connected"; };
    setInterval(() => { // one sentence for readers every ten seconds, not one for each row
      if (count && !isPaused) byId("live-told").textContent = `${count} new`;
      count = 0;
    }, 10000);
    // The server ends each stream after a minute, and the browser resumes it: only a longer gap is worth a word.
    let gap = 0;
    const linked = (words, wait) => { clearTimeout(gap); gap = setTimeout(() => { link = words; tell(); }, wait); };
    const tab = sessionStorage.getItem("tab") || Math.random().toString(36).slice(2);
    sessionStorage.setItem("tab", tab);
    const kinds = { "": "state,heard,thinking,delta,step,outcome,approval,circuit", thinking: "thinking,delta,step,outcome" }[kind] || kind;
    const connect = () => {
      const asked = new URLSearchParams({ kinds, tab, ...(assistant && { assistant }), ...(last && { last }) });
      const source = new EventSource(`${stream}?${asked}`);
      source.addEventListener("open", () => linked("Connected", 0));
      source.addEventListener("error", () => {
        const isOver = source.readyState === EventSource.CLOSED;
        linked(isOver ? "Not connected; trying again every ten seconds." : "Connecting again\u2026", isOver ? 0 : 4000);
        if (isOver) setTimeout(connect, 10000);
      });
      for (const name of kinds.split(",")) source.addEventListener(name, take);
    };
    connect();
  };

  // The log-in: the token leaves the address at once, and is sent in the body.
  const login = (form) => {
    const found = /[#&]token=([^&]+)/.exec(location.hash);
    if (!found) return;
    const words = byId("login-words");
    const token = decodeURIComponent(found[1]);
    history.replaceState(null, "", location.pathname + location.search);
    words.textContent = "Logging in\u2026";
    fetch(form.action, { method: "POST", credentials: "same-origin", headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ token, next: form.elements.next.value }) })
      .then(async (answer) => {
        const data = await answer.json();
        if (answer.ok) location.replace(/^\/(?![/\\])/.test(data.next) ? data.next : "/");
        else words.textContent = data.detail || "That token is not good any more.";
      })
      .catch(() => { words.textContent = "The server does not answer."; });
  };

  localTimes(document);
  copyButtons(document);
  if (refreshed().length) setTimeout(keepFresh, EVERY);
  if (byId("live")) live(byId("live"));
  if (byId("login")) login(byId("login"));
})();
