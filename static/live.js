// Live regions: elements with data-live="seconds" ask the server again while the page is seen and not paused.
// htmx carries the request (hx-get, hx-trigger="tick", hx-swap="merge"); merge.js changes what differs.
import { merge } from './merge.js';

const LONGEST = 30_000;
const regions = () => document.querySelectorAll('[data-live]');
const spoken = () => document.querySelectorAll('[data-live]:not([data-quiet])');  // those the top bar speaks of
const paused = () => sessionStorage.getItem('berth-paused') === 'yes';

export function start() {
  htmx.defineExtension('merge', {
    isInlineSwap: (style) => style === 'merge',
    handleSwap: (style, target, fragment) => (style === 'merge' ? merge(target, inside(target, fragment)) : false),
  });
  for (const region of regions()) plan(region);
  document.addEventListener('visibilitychange', () => { if (!document.hidden) regions().forEach(tick); });
  document.body.addEventListener('htmx:configRequest', ask);
  document.body.addEventListener('htmx:afterRequest', answered);
  document.addEventListener('click', release);
  controls();
}

// The answer repeats the region itself (same id) or brings only its content.
function inside(target, fragment) {
  return (target.id && [...fragment.children].find((e) => e.id === target.id)) || fragment;
}

function plan(region, wait = Number(region.dataset.live) * 1000) {
  clearTimeout(region.timer);
  region.wait = wait;
  region.timer = setTimeout(() => tick(region), wait);
}

function tick(region) {
  if (!region.isConnected) return;
  if (document.hidden || paused() || region.querySelector('dialog[open]')) plan(region);
  else htmx.trigger(region, 'tick');
}

function ask(event) {
  if (event.target.dataset.digest) event.detail.headers['Berth-Digest'] = event.target.dataset.digest;
}

function answered(event) {
  const region = event.detail.elt;
  if (!('live' in region.dataset)) return;
  const { successful, xhr } = event.detail;
  // htmx counts 204 as a success: nothing changed, but what is shown is confirmed.
  if (successful) {
    const digest = xhr.getResponseHeader('Berth-Digest');
    if (digest) region.dataset.digest = digest;
    if (!('quiet' in region.dataset)) say(xhr.getResponseHeader('Berth-At'));
    if (xhr.getResponseHeader('Berth-Over')) return;  // nothing more will change
    plan(region);
  } else {
    if (!('quiet' in region.dataset)) late();
    plan(region, Math.min(LONGEST, 2 * region.wait));
  }
}

const line = () => document.querySelector('[data-live-line]');

function say(time) {
  const where = line();
  if (!where || !time) return;
  where.classList.remove('says', 'is-warning');
  where.textContent = `Updated ${time}`;
  where.dataset.at = time;
}

function late() {
  const where = line();
  if (!where) return;
  where.classList.add('says', 'is-warning');
  where.textContent = where.dataset.at ? `No answer since ${where.dataset.at}` : 'No answer';
}

function release(event) {
  const button = event.target.closest('[data-new]');
  const list = button && document.getElementById(button.dataset.new);
  if (!list) return;
  const region = list.closest('[data-live]');
  list.dataset.release = '';
  delete region.dataset.digest;
  list.focus?.({ preventScroll: true });
  htmx.trigger(region, 'tick');
}

function controls() {
  const box = document.querySelector('[data-live-box]');
  if (!box || !spoken().length) return;
  box.hidden = false;
  const button = box.querySelector('button');
  const show = () => {
    button.setAttribute('aria-pressed', String(paused()));
    button.lastChild.textContent = paused() ? 'Paused' : 'Pause';
  };
  button.addEventListener('click', () => {
    sessionStorage.setItem('berth-paused', paused() ? 'no' : 'yes');
    show();
    if (!paused()) regions().forEach(tick);
  });
  show();
}
