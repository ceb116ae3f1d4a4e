"use strict";
/* What pages do beyond links and forms. Each works without it: this adds keys, live parts, local times and a second thought.

   data-events="URL" on body   one EventSource; its `changed` events have every data-refresh="URL" fetched again, once a second at most
   data-live                   says whether that connection stands
   data-row                    what j and k move through; the selection survives a swap only by the row's id
   data-confirm="text"         on a submit button: asked in dialog#confirm before it is pressed
   data-key="n"                on a link: where `g n` goes
   data-dialog="help"          on a button: opens that dialog; data-keys is the checkbox that turns single keys off
   time[datetime]              a moment with a zone is shown in the reader's own time */
(() => {
  const find = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // The selection. A row that vanishes takes its selection along: a digit must never answer a question nobody has chosen.
  let [chosen, place] = ["", -1];
  const selected = () => find('[data-row][aria-current="true"]');
  function mark(row) {
    for (const other of all("[data-row][aria-current]")) if (other !== row) other.removeAttribute("aria-current");
    chosen = row?.id ?? "";
    if (!row) return;
    row.setAttribute("aria-current", "true");
    place = all("[data-row]").indexOf(row);
  }

  function move(step) {
    const rows = all("[data-row]");
    if (!rows.length) return;
    // Where a selected row has gone, another stands in its place: j goes to that one.
    const next = selected() ? rows.indexOf(selected()) + step : place + Math.min(step, 0);
    const row = rows[Math.max(0, Math.min(rows.length - 1, next))];
    mark(row);
    row.tabIndex = -1;
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }

  document.addEventListener("focusin", (event) => {
    const row = event.target.closest("[data-row]");
    if (row) mark(row);
  });

  // Keys.
  const TYPED = "textarea, select, [contenteditable], input:not([type=checkbox], [type=radio], [type=button], [type=submit])";
  const answers = (row) => (row ? all(".answers button", row) : []);
  let leader = 0;
  function keysAreOn() {
    try { return localStorage.getItem("keys") !== "off"; } catch { return true; }
  }
  const KEYS = {
    j: () => move(1), k: () => move(-1),
    o: () => selected() && find("a[href]", selected())?.click(),
    a: () => (answers(selected())[0] ?? find(".answers button"))?.focus(),
    g: () => { leader = Date.now(); },
    "/": () => find("input[type=search]")?.focus(),
    "?": () => find("dialog#help")?.showModal(),
  };

  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || find("dialog[open]")) return;
    if (key === "Escape") target.matches(TYPED) ? target.blur() : mark(null);
    if (target.matches(TYPED) || !keysAreOn()) return;
    const follows = Date.now() - leader < 1500;
    leader = 0;
    let act = KEYS[key];
    if (follows) act = () => find(`[data-key="${CSS.escape(key)}"]`)?.click();
    else if (/^[1-9]$/.test(key)) act = () => answers(selected())[Number(key) - 1]?.click();
    else if (key === "Enter" && (target === document.body || target.matches("[data-row]"))) act = KEYS.o;
    if (!act || (event.repeat && !"jk".includes(key))) return;
    event.preventDefault();
    act();
  });

  // A second thought before what cannot be undone.
  let [question, asked] = [find("dialog#confirm"), null];
  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-dialog]");
    if (opener) document.getElementById(opener.dataset.dialog)?.showModal();
    const button = event.target.closest("button[data-confirm]");
    if (!button || button === asked) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    asked = button;
    find("p", question).textContent = button.dataset.confirm;
    find("[value=yes]", question).textContent = button.dataset.yes || "Yes, go on";
    question.returnValue = "";
    question.showModal();
  }, true);

  question.addEventListener("close", () => {
    if (question.returnValue === "yes" && asked?.isConnected) asked.click();
    asked = null;
    if (late) refresh();
  });

  // Moments in the reader's own time.
  function localise(root) {
    const now = new Date();
    for (const time of all("time[datetime*=T]", root)) {
      const at = new Date(time.dateTime);
      if (!/(Z|[+-]\d\d:?\d\d)$/.test(time.dateTime) || Number.isNaN(at.getTime())) continue;
      const clock = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
      const day = { day: "numeric", month: "short", ...(at.getFullYear() === now.getFullYear() ? {} : { year: "numeric" }) };
      time.title ||= time.textContent.trim();
      time.textContent = at.toLocaleString(undefined, at.toDateString() === now.toDateString() ? clock : { ...day, ...clock });
    }
  }

  // Live parts. Rows, details and fields of a part should have ids: then each keeps what the reader did with it.
  const [BETWEEN_MS, AGAIN_MS, ASLEEP_MS] = [1000, 5000, 90000];
  const { events } = document.body.dataset;
  let [source, again, waiting, last, stale, late] = [null, 0, 0, 0, false, false];

  function refresh(wait = 0) {
    waiting ||= setTimeout(() => {
      waiting = 0;
      late = Boolean(find("dialog#confirm[open]"));
      if (late) return;
      last = Date.now();
      for (const part of all("[data-refresh]")) {
        if (!part.parentElement.closest("[data-refresh]")) htmx.ajax("GET", part.dataset.refresh, { source: part, target: part, swap: "innerMorph" });
      }
    }, Math.max(wait, last + BETWEEN_MS - Date.now()));
  }

  const within = (row) => all("a, button, summary, input", row);
  let [focused, nth] = [null, -1];
  document.addEventListener("htmx:before:swap", () => {
    if (document.activeElement === document.body) return;
    focused = document.activeElement;
    nth = selected() ? within(selected()).indexOf(focused) : -1;
  });
  document.addEventListener("htmx:after:swap", (event) => {
    localise(event.target);
    const row = chosen && document.getElementById(chosen);
    mark(row);
    if (focused && document.activeElement === document.body) (document.getElementById(focused.id) ?? (row && within(row)[nth]))?.focus({ preventScroll: true });
    focused = null;
  });
  document.addEventListener("htmx:before:response", (event) => {
    // Whoever is sent elsewhere is no longer signed in: the whole page goes there, not a part of it.
    if (!event.detail.ctx.response.raw.redirected) return;
    event.preventDefault();
    location.reload();
  });
  document.addEventListener("htmx:error", () => refresh(AGAIN_MS));
  document.addEventListener("htmx:response:error", (event) => event.detail.ctx.response.status >= 500 && refresh(AGAIN_MS));

  function lamp(isOn) {
    for (const element of all("[data-live]")) {
      element.dataset.live = isOn ? "on" : "off";
      element.textContent = isOn ? "live" : "reconnecting…";
    }
  }

  function disconnect() {
    clearTimeout(again);
    if (source) stale = true;
    source?.close();
    source = null;
  }

  // A hidden page holds no connection: browsers allow six to one server, and other pages need them.
  function connect() {
    disconnect();
    if (!events || document.hidden) return;
    source = new EventSource(events);
    source.addEventListener("changed", () => refresh());
    source.addEventListener("open", () => {
      lamp(true);
      if (stale) refresh();
      stale = false;
    });
    source.addEventListener("error", () => {
      lamp(false);
      stale = true;
      if (source?.readyState === EventSource.CLOSED) again = setTimeout(connect, AGAIN_MS);
    });
  }

  // A computer that slept may hold a connection that nobody answers any more.
  let awake = Date.now();
  setInterval(() => {
    if (Date.now() - awake > ASLEEP_MS && !document.hidden) connect();
    awake = Date.now();
  }, AGAIN_MS);
  document.addEventListener("visibilitychange", connect);
  window.addEventListener("online", connect);
  window.addEventListener("pagehide", disconnect);
  window.addEventListener("pageshow", (event) => event.persisted && connect());

  const keys = find("[data-keys]");
  keys.checked = keysAreOn();
  keys.addEventListener("change", () => { try { localStorage.setItem("keys", keys.checked ? "on" : "off"); } catch { /* it keeps nothing */ } });
  for (const button of all("[data-dialog]")) button.hidden = false;
  mark(selected());
  localise(document);
  connect();
})();
