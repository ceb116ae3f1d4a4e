// The chat as its person sees it. Every text is somebody's: it goes in as text, never as markup.
"use strict";

const POLL_AGAIN_MS = 1500;
const LINKS = /^(https?:|mailto:)/i;
const $ = (id) => document.getElementById(id);

let state = null;
let channel = null;
let openThread = null;
let modalKey = "";
let isFirst = true;
let isAtHome = false;
let homeKey = "";
const atEnd = { messages: true, replies: true };
const readReplies = new Map(); // how many of a thread's replies were shown, by the message they are under
const drawn = { messages: new Map(), replies: new Map() };

function el(tag, className, ...children) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}

// Asking the chat

async function poll() {
  for (;;) {
    try {
      const after = state === null ? "" : state.revision;
      const answer = await fetch(`/page/state?after=${after}`, { cache: "no-store" });
      if (answer.status === 403) return lost("This page is not let in any more: open it by the address that was printed.");
      if (!answer.ok) throw new Error(String(answer.status));
      state = await answer.json();
      draw();
    } catch {
      showLink(false, "the chat is away");
      await new Promise((again) => setTimeout(again, POLL_AGAIN_MS));
    }
  }
}

async function act(body) {
  try {
    const answer = await fetch("/page/act", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (answer.ok) return notice("");
    const said = await answer.json().catch(() => ({ error: `status ${answer.status}` }));
    notice(said.error);
  } catch {
    notice("The chat is away; nothing was sent.");
  }
  return undefined;
}

function notice(words) {
  $("notice").textContent = words;
  $("notice").hidden = words === "";
}

function lost(words) {
  showLink(false, "not let in");
  notice(words);
}

function showLink(isUp, words) {
  $("link").dataset.live = isUp ? "on" : "off";
  $("link").textContent = words;
}

// Words

const plainText = (text) => text.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");
const nameOf = (user) => state.people[user] || user;

function linkTo(url, words) {
  if (!LINKS.test(url)) return document.createTextNode(words || url);
  const link = el("a", "", words || url);
  link.href = url;
  link.target = "_blank";
  link.rel = "noopener noreferrer";
  return link;
}

function mentionOf(name, isMe) {
  return el("span", isMe ? "mention me" : "mention", `@${name}`);
}

// Slack's own notation in a text: <@U…>, <!here>, <https://…|words>; the rest is words.
function marked(text) {
  const found = document.createDocumentFragment();
  for (const part of text.split(/(<[^<>]*>)/)) {
    const inner = part.startsWith("<") && part.endsWith(">") ? part.slice(1, -1) : null;
    if (inner === null) found.append(plainText(part));
    else if (inner.startsWith("@")) found.append(mentionOf(nameOf(inner.slice(1)), inner.slice(1) === state.me));
    else if (inner.startsWith("!")) found.append(mentionOf(inner.slice(1).split("|")[0], true));
    else found.append(linkTo(plainText(inner.split("|")[0]), plainText(inner.split("|")[1] || "")));
  }
  return found;
}

const composed = (part) => (part.type === "mrkdwn" ? marked(part.text) : document.createTextNode(part.text));

function span(part) {
  const style = part.style || {};
  let node;
  if (part.type === "link") node = linkTo(part.url, part.text);
  else if (part.type === "user") node = mentionOf(nameOf(part.user_id), part.user_id === state.me);
  else if (part.type === "broadcast") node = mentionOf(part.range, true);
  else if (part.type === "date") node = document.createTextNode(moment(part));
  else if (part.type === "emoji") node = document.createTextNode(`:${part.name}:`);
  else node = document.createTextNode(part.text);
  if (style.code) node = el("code", "", node);
  if (style.strike) node = el("s", "", node);
  if (style.italic) node = el("em", "", node);
  if (style.bold) node = el("strong", "", node);
  return node;
}

// Blocks

function richText(part) {
  const inside = () => part.elements.map(span);
  if (part.type === "rich_text_quote") return el("blockquote", "", ...inside());
  if (part.type === "rich_text_preformatted") return el("pre", "", ...inside());
  if (part.type === "rich_text_list") {
    const items = part.elements.map((item) => el("li", "", ...item.elements.map(span)));
    return el(part.style === "ordered" ? "ol" : "ul", `indent-${part.indent || 0}`, ...items);
  }
  return el("p", "rich", ...inside());
}

function button(element, press) {
  const node = el("button", `button ${element.style || ""}`, element.text.text);
  node.type = "button";
  node.addEventListener("click", async () => {
    if (element.confirm && !(await confirmed(element.confirm))) return;
    if (element.url && LINKS.test(element.url)) window.open(element.url, "_blank", "noopener,noreferrer");
    node.disabled = true;
    await press(element);
    node.disabled = false;
  });
  return node;
}

function block(spec, press) {
  switch (spec.type) {
    case "header":
      return el("h3", "block-header", spec.text.text);
    case "divider":
      return el("hr");
    case "context":
      return el("p", "context", ...spec.elements.map((part) => el("span", "", composed(part))));
    case "actions":
      return el("div", "actions", ...spec.elements.map((element) => button(element, (one) => press(spec, one))));
    case "rich_text":
      return el("div", "rich-text", ...spec.elements.map(richText));
    case "section": {
      const fields = (spec.fields || []).map((part) => el("p", "pair", composed(part)));
      return el(
        "div",
        "section",
        spec.text ? el("p", "rich", composed(spec.text)) : null,
        fields.length ? el("div", "pairs", ...fields) : null,
        spec.accessory ? button(spec.accessory, (one) => press(spec, one)) : null,
      );
    }
    default:
      return el("p", "context", `(${spec.type})`);
  }
}

// Messages

const clock = (ts) => new Date(Number(ts) * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
const date = (ts) => new Date(Number(ts) * 1000).toLocaleDateString([], { day: "numeric", month: "short" });
const moment = (part) => (part.format.includes("{date") ? `${date(part.timestamp)} ` : "") + clock(part.timestamp);
const day = (ts) => new Date(Number(ts) * 1000).toLocaleDateString([], { weekday: "long", day: "numeric", month: "long" });

const TONES = 6;
const tone = (user) => (user === state.bot.id ? "tone-bot" : `tone-${Object.keys(state.people).indexOf(user) % TONES}`);

function messageNode(message, replies, where) {
  const name = nameOf(message.user);
  const press = (spec, element) =>
    act({ act: "click", ts: message.ts, block_id: spec.block_id, action_id: element.action_id });
  const body = message.blocks.length
    ? message.blocks.map((spec) => block(spec, press))
    : [el("p", "rich", marked(message.text), message.is_edited ? el("span", "edited", " (edited)") : null)];
  const head = el(
    "div",
    "who",
    el("strong", "", name),
    message.is_bot ? el("span", "badge", "APP") : null,
    el("time", "", clock(message.ts)),
  );
  const content = el("div", "content", message.is_private ? el("p", "private", "Only visible to you") : null, head, ...body);
  if (where === "messages" && !message.is_private) content.append(threadButton(message, replies));
  const avatar = el("div", `avatar ${tone(message.user)}`, [...name][0].toUpperCase());
  avatar.setAttribute("aria-hidden", "true");
  return el("article", message.is_private ? "post only-you" : "post", avatar, content);
}

function threadButton(message, replies) {
  const words = replies === 0 ? "Reply in thread" : replies === 1 ? "1 reply" : `${replies} replies`;
  const fresh = replies - readReplies.get(message.ts);
  const mark = fresh > 0 ? el("span", "unread", `${fresh} new`) : null;
  const node = el("button", replies ? "plain replies" : "plain replies none", words, mark);
  node.type = "button";
  node.addEventListener("click", () => {
    openThread = message.ts;
    startAtEnd("replies");
    draw();
    $("reply-text").focus();
  });
  return node;
}

// Only what looks otherwise is made anew, so that nothing moves under a pointer.
function list(where, messages, count) {
  const box = $(where);
  const known = drawn[where];
  const kept = new Map();
  const nodes = [];
  let lastDay = "";
  for (const message of messages) {
    if (where === "messages" && day(message.ts) !== lastDay) {
      lastDay = day(message.ts);
      nodes.push(el("p", "day", el("span", "", lastDay)));
    }
    const key = JSON.stringify([message, count(message), readReplies.get(message.ts), nameOf(message.user)]);
    const before = known.get(message.ts);
    const node = before && before.key === key ? before.node : messageNode(message, count(message), where);
    kept.set(message.ts, { key, node });
    nodes.push(node);
  }
  const fresh = messages.filter((message) => !known.has(message.ts));
  drawn[where] = kept;
  box.replaceChildren(...nodes);
  // What only its reader sees is the answer to what they did just now: it is shown, wherever they read.
  const answer = known.size ? fresh.filter((message) => message.is_private).pop() : undefined;
  if (atEnd[where]) box.scrollTop = box.scrollHeight;
  else if (answer) kept.get(answer.ts).node.scrollIntoView({ block: "nearest" });
  else if (known.size && fresh.length) $(`${where}-below`).hidden = false;
}

// Another channel or thread is read from its end.
function startAtEnd(where) {
  atEnd[where] = true;
  drawn[where] = new Map();
  $(`${where}-below`).hidden = true;
}

// Who reads the end goes on reading the end, also when there is less room.
function follow(where) {
  const box = $(where);
  box.addEventListener("scroll", () => {
    atEnd[where] = box.scrollHeight - box.scrollTop - box.clientHeight < 60;
    if (atEnd[where]) $(`${where}-below`).hidden = true;
  });
  new ResizeObserver(() => {
    if (atEnd[where]) box.scrollTop = box.scrollHeight;
  }).observe(box);
}

function markCurrent(node, isCurrent) {
  if (isCurrent) node.setAttribute("aria-current", "page");
  else node.removeAttribute("aria-current");
}

// What the app shows to this person alone.
function drawHome() {
  $("home").hidden = !isAtHome;
  for (const id of ["messages", "composer", "hint"]) $(id).hidden = isAtHome;
  markCurrent($("home-link"), isAtHome);
  if (!isAtHome) return;
  $("title").textContent = "Home";
  $("messages-below").hidden = true;
  const key = state.home ? state.home.hash : "none";
  if (key === homeKey) return;
  homeKey = key;
  const press = (spec, element) =>
    act({ act: "click_home", block_id: spec.block_id, action_id: element.action_id });
  const shown = state.home ? state.home.spec.blocks.map((spec) => block(spec, press)) : [el("p", "context", "Nothing yet …")];
  $("home").replaceChildren(...shown);
}

function draw() {
  if (!state.channels.some((one) => one.id === channel)) channel = state.channel;
  showLink(state.is_connected, state.is_connected ? "Overlord is connected" : "Overlord is not connected");
  const here = state.messages.filter((message) => message.channel === channel);
  const replies = (ts) => here.filter((message) => message.thread_ts === ts);
  const shown = (message) => replies(message.ts).filter((reply) => !reply.is_private);
  const tops = here.filter((message) => !message.thread_ts || (message.is_private && message.thread_ts !== openThread));
  $("title").textContent = `#${state.channels.find((one) => one.id === channel).name}`;
  $("text").placeholder = `${state.command} help`;
  for (const message of tops) {
    // What stood there when the page was opened counts as read.
    const isRead = isFirst || message.ts === openThread;
    readReplies.set(message.ts, isRead ? shown(message).length : readReplies.get(message.ts) || 0);
  }
  isFirst = false;
  $("channels").replaceChildren(...state.channels.map(channelButton));
  list("messages", tops, (message) => shown(message).length);
  const parent = here.find((message) => message.ts === openThread);
  $("thread").hidden = !parent;
  document.body.classList.toggle("with-thread", Boolean(parent));
  if (parent) list("replies", [parent, ...replies(parent.ts)], () => 0);
  drawHome();
  drawModal();
}

$("home-link").addEventListener("click", () => {
  if (state === null) return;
  isAtHome = true;
  openThread = null;
  act({ act: "open_home" });
  draw();
});

function channelButton(one) {
  const node = el("button", "", `# ${one.name}`);
  node.type = "button";
  markCurrent(node, one.id === channel && !isAtHome);
  node.addEventListener("click", () => {
    channel = one.id;
    isAtHome = false;
    openThread = null;
    startAtEnd("messages");
    draw();
  });
  return node;
}

// Forms

function confirmed(spec) {
  const dialog = $("confirm");
  const deny = el("button", "button", spec.deny.text);
  const agree = el("button", `button ${spec.style || "primary"}`, spec.confirm.text);
  dialog.replaceChildren(
    el("h2", "", spec.title.text),
    el("p", "rich", composed(spec.text)),
    el("div", "modal-foot", deny, agree),
  );
  dialog.returnValue = "";
  deny.addEventListener("click", () => dialog.close());
  agree.addEventListener("click", () => dialog.close("yes"));
  dialog.showModal();
  return new Promise((done) => {
    dialog.addEventListener("close", () => done(dialog.returnValue === "yes"), { once: true });
  });
}

function field(spec, error) {
  const element = spec.element;
  const input = document.createElement(element.multiline ? "textarea" : "input");
  input.name = spec.block_id;
  input.value = element.initial_value || "";
  input.required = !spec.optional;
  input.maxLength = element.max_length || 3000;
  input.placeholder = element.placeholder ? element.placeholder.text : "";
  if (element.multiline) input.rows = 5;
  return el(
    "label",
    error ? "input wrong" : "input",
    el("span", "label", spec.label.text, spec.optional ? el("span", "edited", " (optional)") : null),
    input,
    error ? el("span", "error", error) : null,
    spec.hint ? el("span", "context", spec.hint.text) : null,
  );
}

function drawModal() {
  const dialog = $("modal");
  const view = state.views[state.views.length - 1];
  const key = view ? JSON.stringify([view.id, view.hash, view.errors]) : "";
  if (key === modalKey) return;
  const typed = modalKey && view && modalKey.includes(view.hash) ? new FormData(dialog.querySelector("form")) : null;
  modalKey = key;
  if (!view) return dialog.close();
  const form = el("form", "", el("h2", "", view.spec.title.text));
  for (const spec of view.spec.blocks) {
    form.append(spec.type === "input" ? field(spec, view.errors[spec.block_id]) : block(spec, () => undefined));
  }
  for (const [name, text] of typed || []) form.elements[name].value = text;
  const cancel = el("button", "button", view.spec.close ? view.spec.close.text : "Cancel");
  cancel.type = "button";
  cancel.addEventListener("click", () => act({ act: "close", view: view.id }));
  const foot = el("div", "modal-foot", cancel);
  if (view.spec.submit) foot.append(el("button", "button primary", view.spec.submit.text));
  form.append(foot);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    act({ act: "submit", view: view.id, values: Object.fromEntries(new FormData(form)) });
  });
  dialog.replaceChildren(form);
  dialog.oncancel = (event) => {
    event.preventDefault();
    act({ act: "close", view: view.id });
  };
  if (!dialog.open) dialog.showModal();
  return undefined;
}

// Writing

function composer(formId, textId, where, thread) {
  const form = $(formId);
  const input = $(textId);
  const fit = () => {
    input.style.height = "auto";
    input.style.height = `${Math.min(input.scrollHeight, 160)}px`;
  };
  input.addEventListener("input", fit);
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const text = input.value.trim();
    if (!text || state === null) return;
    input.value = "";
    fit();
    atEnd[where] = true; // one's own words are seen, wherever one was reading
    await act({ act: "send", text, channel, thread: thread() });
  });
}

follow("messages");
follow("replies");
composer("composer", "text", "messages", () => null);
composer("reply", "reply-text", "replies", () => openThread);
function closeThread() {
  openThread = null;
  draw();
  $("text").focus();
}

$("thread-close").addEventListener("click", closeThread);
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.isComposing || openThread === null || document.querySelector("dialog[open]")) return;
  closeThread();
});
for (const where of ["messages", "replies"]) {
  $(`${where}-below`).addEventListener("click", () => {
    $(where).scrollTop = $(where).scrollHeight;
  });
}
if (location.search) history.replaceState(null, "", "/");
poll();
