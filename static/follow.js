// Following a log: <ol class="log" data-follow="/…/stream?…" data-after="cursor"> grows by itself.
// The server sends events: "lines" (list items as HTML, id = cursor to go on from) and "end" (a sentence).

const MOST = 5000;  // lines kept in the page; the whole log is one link away

const followed = new WeakSet();

export function start() {
  const look = () => { for (const log of document.querySelectorAll('[data-follow]')) if (!followed.has(log)) follow(log); };
  look();
  document.body.addEventListener('htmx:afterSwap', look);  // a run that began while the page was open
}

function follow(log) {
  followed.add(log);
  const button = document.querySelector(`[data-follows="${log.id}"]`);
  const note = document.querySelector(`[data-follow-note="${log.id}"]`);
  let stream = null;
  let wanted = true;
  let over = false;
  let pause = 2000;

  const open = () => {
    if (stream || !wanted || over || document.hidden || !log.isConnected) return;
    const address = new URL(log.dataset.follow, location.href);
    if (log.dataset.after) address.searchParams.set('after', log.dataset.after);
    stream = new EventSource(address);
    stream.addEventListener('lines', (event) => (log.isConnected ? add(log, event) : close()));
    stream.addEventListener('open', () => { pause = 2000; });
    // The browser tries again by itself after a broken line, but not after an answer such as 502.
    stream.addEventListener('error', () => {
      if (stream?.readyState !== EventSource.CLOSED) return;
      close();
      pause = Math.min(60_000, 2 * pause);
      setTimeout(open, pause);
    });
    stream.addEventListener('end', (event) => { over = true; close(); show(); if (note) note.textContent = event.data; });
  };
  // A browser keeps only six connections to one server: a page nobody sees gives its own back.
  const close = () => { stream?.close(); stream = null; };
  const show = () => {
    if (!button) return;
    button.hidden = over;
    button.setAttribute('aria-pressed', String(wanted));
    button.textContent = wanted ? 'Following' : 'Follow';
  };

  button?.addEventListener('click', () => {
    wanted = !wanted;
    if (wanted) { log.scrollTop = log.scrollHeight; open(); } else close();
    show();
  });
  document.addEventListener('visibilitychange', () => (document.hidden ? close() : open()));
  addEventListener('pagehide', close);
  log.scrollTop = log.scrollHeight;
  show();
  open();
}

function add(log, event) {
  const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 24;
  const template = document.createElement('template');
  template.innerHTML = event.data;  // rendered and escaped by the server's own templates
  // Lines that were still open come again, longer or whole.
  for (const old of log.querySelectorAll('[data-nothing], [data-open]')) old.remove();
  log.append(template.content);
  if (event.lastEventId) log.dataset.after = event.lastEventId;
  if (!atEnd) return;
  while (log.children.length > MOST) log.firstElementChild.remove();
  log.scrollTop = log.scrollHeight;
}
