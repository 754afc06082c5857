// Berth's script: small comforts on top of pages that work without it. No inline code, nothing from elsewhere.
import { start as startLive } from './live.js';
import { start as startFollowing } from './follow.js';

function theme() {
  const box = document.querySelector('[data-themes]');
  if (!box) return;
  box.hidden = false;
  const show = () => {
    const now = document.documentElement.dataset.theme || 'system';
    for (const b of box.querySelectorAll('button')) b.setAttribute('aria-pressed', String(b.value === now));
  };
  box.addEventListener('click', ({ target }) => {
    const value = target.closest('button')?.value;
    if (!value) return;
    const root = document.documentElement;
    if (value === 'system') delete root.dataset.theme;
    else root.dataset.theme = value;
    // A cookie, so that the server draws the next page in the right colours from the first pixel.
    const age = value === 'system' ? 0 : 31536000;
    document.cookie = `berth_theme=${value}; path=/; max-age=${age}; samesite=lax`;
    show();
  });
  show();
}

function toast(text, state = 'is-good') {
  const box = document.querySelector('.toasts');
  const note = document.createElement('div');
  note.className = `toast ${state}`;
  note.append(Object.assign(document.createElement('span'), { textContent: text }));
  box?.append(note);
  leaveSoon(note);
}

// Good news goes by itself; what went wrong stays until it is dismissed.
function leaveSoon(note) {
  if (!note.classList.contains('is-failed')) setTimeout(() => note.remove(), 8000);
}

function toasts() {
  document.querySelectorAll('.toast').forEach(leaveSoon);
  document.addEventListener('click', (event) => {
    const link = event.target.closest('.toast [data-dismiss]');
    if (!link) return;
    event.preventDefault();
    link.closest('.toast').remove();
  });
  document.body.addEventListener('toast', ({ detail }) => toast(detail.text, detail.state));
}

function search() {
  document.addEventListener('keydown', (event) => {
    const typing = event.target.closest('input, textarea, select, [contenteditable]');
    if (event.key !== '/' || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const field = document.querySelector('.search input');
    if (!field) return;
    event.preventDefault();
    field.focus();
  });
}

function copying() {
  for (const button of document.querySelectorAll('[data-copy]')) button.hidden = !navigator.clipboard;
  document.addEventListener('click', async (event) => {
    const button = event.target.closest('[data-copy]');
    if (!button) return;
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent.trim());
    toast('Copied.');
  });
}

// A link to a page that asks "really?" opens the same question as a dialog where there is one.
function dialogs() {
  document.addEventListener('click', (event) => {
    const opener = event.target.closest('[data-opens]');
    const dialog = opener && document.getElementById(opener.dataset.opens);
    if (dialog && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      dialog.showModal();
    }
    if (event.target.closest('[data-closes]')) {
      event.preventDefault();
      event.target.closest('dialog').close();
    }
  });
}

// A second click while the first is on its way would ask twice.
function forms() {
  document.addEventListener('submit', ({ target }) => {
    if (target.method !== 'post') return;
    setTimeout(() => { for (const b of target.querySelectorAll('button:not([type="button"])')) b.disabled = true; });
  });
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) for (const b of document.querySelectorAll('form button:disabled:not([data-locked])')) b.disabled = false;
  });
}

theme();
toasts();
search();
copying();
dialogs();
forms();
if (window.htmx) startLive();
startFollowing();
