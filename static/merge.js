// Merging: change only what differs between what is shown and what the server just said.
// Things keep their identity by id, so that focus, scroll position, open folds and half-typed words stay.

const KEPT = ['open', 'data-digest', 'data-release'];

export function merge(shown, fresh) {
  const added = [];
  children(shown, fresh, added);
  return added;
}

function children(shown, fresh, added) {
  const wanted = new Set([...fresh.children].map((e) => e.id).filter(Boolean));
  const known = new Map();
  for (const child of [...shown.children]) {
    if (!child.id) continue;
    if (wanted.has(child.id)) known.set(child.id, child);
    else child.remove();
  }
  const held = [];
  let place = shown.firstChild;
  for (const next of [...fresh.childNodes]) {
    const same = counterpart(next, place, known);
    if (same) {
      if (same !== place) shown.insertBefore(same, place);
      place = same.nextSibling;
      node(same, next, added);
    } else if (waits(shown, next)) {
      held.push(next);
    } else {
      shown.insertBefore(next, place);
      if (next.nodeType === Node.ELEMENT_NODE) { mark(next); added.push(next); }
    }
  }
  while (place) { const gone = place; place = place.nextSibling; gone.remove(); }
  if (shown.dataset?.hold) announce(shown, held);
}

function counterpart(next, place, known) {
  if (next.id) return known.get(next.id);
  return place && !place.id && place.nodeName === next.nodeName ? place : null;
}

function node(shown, fresh, added) {
  if (shown.nodeType !== Node.ELEMENT_NODE) {
    if (shown.data !== fresh.data) shown.data = fresh.data;
    return;
  }
  if (shown.hasAttribute('data-keep') || shown.isEqualNode(fresh)) return;
  const stamp = shown.dataset.stamp;
  attributes(shown, fresh);
  if (stamp !== undefined && stamp !== fresh.dataset.stamp) mark(shown);
  if (shown.matches('input, textarea, select') && shown === document.activeElement) return;
  children(shown, fresh, added);
}

function attributes(shown, fresh) {
  for (const { name } of [...shown.attributes]) {
    if (!fresh.hasAttribute(name) && !KEPT.includes(name)) shown.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (!KEPT.includes(name) && shown.getAttribute(name) !== value) shown.setAttribute(name, value);
  }
}

// A row that changed fades from a tint once; the style sheet decides how, and whether at all.
function mark(element) {
  if (!('stamp' in element.dataset)) return;
  element.classList.add('is-changed');
  setTimeout(() => element.classList.remove('is-changed'), 1700);
}

// New rows of a list with data-hold="job" wait behind "3 new jobs": nothing jumps under a reader's finger.
function waits(shown, next) {
  return Boolean(shown.dataset?.hold) && !('release' in shown.dataset) && Boolean(next.id);
}

function announce(list, held) {
  delete list.dataset.release;
  const button = document.querySelector(`[data-new="${list.id}"]`);
  if (!button) return;
  const word = list.dataset.hold;
  button.hidden = held.length === 0;
  button.textContent = held.length === 1 ? `1 new ${word}` : `${held.length} new ${word}s`;
}
