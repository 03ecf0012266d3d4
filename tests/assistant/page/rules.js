// Rules of accessibility and of safety, checked in a page of ours. Gives a list of what is wrong, a sentence each.
(() => {
  const wrong = [];
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const told = (node) => `${node.tagName.toLowerCase()}${node.id ? "#" + node.id : ""}${typeof node.className === "string" && node.className ? "." + node.className.split(" ").join(".") : ""} "${(node.textContent || "").trim().slice(0, 40)}"`;
  const check = (holds, sentence, node) => { if (!holds) wrong.push(node ? `${sentence}: ${told(node)}` : sentence); };
  const seen = (node) => node.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true });
  const named = (node) => (node.getAttribute("aria-label") || node.textContent || "").trim();

  // Safety: only elements and attributes that we write, and nothing beside what the frame of a page has.
  check(all("script").every((one) => one.src.startsWith(location.origin + "/static/") && !one.textContent), "a script that is not ours");
  for (const node of all("img, iframe, object, embed, base, style, video, audio, template, noscript, math, frame, applet, marquee, body [http-equiv]")) check(false, "an element that we never write", node);
  for (const node of all("*")) for (const { name, value } of node.attributes) {
    check(!/^on|^style$|^srcdoc$|^formaction$/i.test(name), `the attribute ${name}`, node);
    if (/^(href|src|action)$/.test(name)) check(new URL(value, location.href).origin === location.origin, `an address elsewhere (${value})`, node);
  }
  const frame = [...document.body.children].map((node) => node.tagName + (node.className ? "." + node.className.split(" ")[0] : ""));
  check(/^A\.skip HEADER\.top MAIN FOOTER\.bottom( P\.stale)?$/.test(frame.join(" ")) || !!document.querySelector("main.small"), `the frame of the page is ${frame.join(" ")}`);
  check(typeof window.pwned === "undefined", "a script of somebody else ran");
  check(!/[\u202a-\u202e\u2066-\u2069\u200b\u0000-\u0008]/.test(document.documentElement.outerHTML), "a character that turns or hides text");

  // Names and structure
  check(document.documentElement.lang === "en" && document.title.length > 3, "the page has no language or no title");
  const ids = all("[id]").map((node) => node.id);
  check(new Set(ids).size === ids.length, `an id twice: ${ids.filter((id, at) => ids.indexOf(id) !== at)}`);
  for (const node of all("input:not([type=hidden]), select, textarea")) check(node.labels.length > 0 || node.getAttribute("aria-label"), "a control without a label", node);
  for (const node of all("button, a[href], summary")) check(named(node), "a control without words", node);
  for (const node of all("img, svg")) if (!node.closest("[aria-hidden=true]") && !node.parentElement.closest("svg")) check(named(node) || node.getAttribute("alt"), "a picture without words", node);
  for (const node of all("[aria-describedby], [aria-labelledby]")) for (const id of `${node.getAttribute("aria-describedby") || ""} ${node.getAttribute("aria-labelledby") || ""}`.trim().split(/\s+/)) check(document.getElementById(id), `nothing has the id ${id}`, node);
  for (const node of all("table")) check(node.caption, "a table without a caption", node);
  for (const node of all("nav")) check(node.getAttribute("aria-label"), "a navigation without a name", node);
  for (const tag of ["header", "main", "footer"]) check(all(`body > ${tag}`).length === 1, `not one ${tag}`);
  const levels = all("h1, h2, h3, h4, h5, h6").filter(seen).map((node) => Number(node.tagName[1]));
  check(levels[0] === 1 && levels.filter((level) => level === 1).length === 1, `the headings are ${levels}`);
  check(levels.every((level, at) => at === 0 || level <= levels[at - 1] + 1), `a heading is left out: ${levels}`);

  // Width: nothing beyond the screen
  check(document.documentElement.scrollWidth <= window.innerWidth, `the page is ${document.documentElement.scrollWidth} px wide`);

  // Contrast of every text, from computed styles
  const colour = (text) => {
    const numbers = (text.match(/-?[\d.]+(e-?\d+)?/g) || []).map(Number);
    const scale = text.startsWith("color(") ? 255 : 1;
    const values = text.startsWith("color(") ? numbers.slice(-4).length === 4 && text.includes("/") ? numbers.slice(-4) : numbers.slice(-3) : numbers;
    return [values[0] * scale, values[1] * scale, values[2] * scale, values[3] === undefined ? 1 : values[3]];
  };
  const over = (top, below) => [0, 1, 2].map((at) => top[at] * top[3] + below[at] * (1 - top[3])).concat(1);
  const background = (node) => {
    const layers = [];
    for (let at = node; at; at = at.parentElement) {
      layers.push(colour(getComputedStyle(at).backgroundColor));
      if (layers[layers.length - 1][3] === 1) break;
    }
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const poor = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let texts = 0;
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !seen(node) || node.closest(":disabled, .hidden, title, option")) continue;
    const style = getComputedStyle(node);
    const back = background(node);
    const text = over(colour(node.closest("svg") ? style.fill : style.color), back);
    const [high, low] = [light(text), light(back)].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05);
    texts += 1;
    if (!(ratio >= 4.5)) poor.add(`contrast ${ratio.toFixed(2)} of ${told(node)} (${style.color} on ${back.map(Math.round)})`);
  }
  check(texts > 5, "there is hardly a text on this page");
  return [...wrong, ...poor];
})()
