// Refreshes the parts of the page that changed, and shows the age of the data. Without it the page is complete.
const INTERVAL = Math.max(Number(document.body.dataset.interval) * 1000, 2000);
const age = document.getElementById("age");
const state = document.getElementById("connection");
const serverClock = { at: 0, local: 0 };

function duration(seconds) {
  if (seconds < 120) return `${Math.max(Math.round(seconds), 0)} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

function showAge() {
  const time = Number(document.body.dataset.time);
  if (!time || !serverClock.at) return;
  const seconds = serverClock.at + (performance.now() - serverClock.local) / 1000 - time;
  age.textContent = `${duration(seconds)} ago`;
  age.classList.toggle("old", seconds * 1000 > 3 * INTERVAL);
}

// Keeps elements that did not change, so that focus, selection and scroll positions stay.
function replaceParts(fresh) {
  const focused = document.activeElement?.id;
  const scrolled = [...document.querySelectorAll(".scrolls")].map((table) => [table.id, table.scrollLeft]);
  const names = (page) => [...page.querySelectorAll("main [data-part]")].map((part) => part.id).join();
  if (names(document) !== names(fresh)) {
    document.querySelector("main").replaceWith(document.adoptNode(fresh.querySelector("main")));
  }
  for (const part of fresh.querySelectorAll("[data-part]")) {
    const old = document.getElementById(part.id);
    if (old && old.outerHTML !== part.outerHTML && !old.contains(document.activeElement?.closest("input"))) {
      old.replaceWith(document.adoptNode(part));
    }
  }
  for (const [id, left] of scrolled) document.getElementById(id)?.scrollTo({ left, behavior: "instant" });
  if (focused && document.activeElement?.id !== focused) document.getElementById(focused)?.focus({ preventScroll: true });
  document.title = fresh.title;
  document.body.dataset.time = fresh.body.dataset.time;
}

async function refresh() {
  try {
    const response = await fetch(location.href, { cache: "no-store", signal: AbortSignal.timeout(10000) });
    if (!response.ok) throw new Error(`it answers ${response.status}`);
    serverClock.at = Date.parse(response.headers.get("date")) / 1000;
    serverClock.local = performance.now();
    replaceParts(new DOMParser().parseFromString(await response.text(), "text/html"));
    state.textContent = "";
  } catch (problem) {
    state.textContent = `No new data from the sidecar (${problem.message}). The page shows what was last received.`;
  }
  showAge();
}

let due = 0;
async function tick() {
  showAge();
  if (document.hidden || performance.now() < due) return;
  due = Infinity;
  await refresh();
  due = performance.now() + INTERVAL;
}

document.addEventListener("visibilitychange", tick);
setInterval(tick, 1000);
tick();
