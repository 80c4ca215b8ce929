/**
 * A chat client to the contract of the clients that exist, for the acceptance list: what they do to a server, this page does.
 *
 * The query names `host` (nothing: the page's own), `transport` (`sse`, `stomp`, `websocket`, `none`), `mode`, and with `message` another
 * address for messages.
 */
import { api } from './api.mjs';
import { Audit } from './audit.mjs';
import { card } from './cards.mjs';
import { Progress, textOf as progressOf } from './progress.mjs';
import { open } from './stream.mjs';
import { element, elements, findText, objectOf, textOf } from './text.mjs';

const MOST_QUEUED = 5;

const config = Object.fromEntries(new URLSearchParams(location.search));
const host = config.host ?? location.origin;
/** One id for the life of the page; a new chat keeps it. */
const id = config.conversation ?? crypto.randomUUID();
const server = api(host, config.message ? { message: config.message } : {});

const find = (selector) => document.querySelector(selector);
const transcript = find('#transcript');
const composer = find('#text');
const audit = new Audit(() => server.audit(id));
const progress = new Progress((text) => show(text));

let mode = config.mode ?? 'fullscreen';
let underWay;
let queued = [];
let reset = false;
let files = [];
let close = () => {};
let question = '';

/** What was heard and shown, for whoever drives the page. */
globalThis.seen = { id, stages: [], connections: 0, told: [], progress: [] };

function listen() {
  close();
  const heard = (event) => {
    globalThis.seen.stages.push(event.stage);
    // What comes after the reply is not shown.
    const text = progressOf(event.data);
    if (text !== undefined) globalThis.seen.told.push(text);
    progress.heard(event);
    refreshAudit();
  };
  const connected = () => {
    globalThis.seen.connections += 1;
    refreshAudit();
  };
  close = open(config.transport ?? 'sse', { host, id, url: server.stream(id), connected, heard });
}

function refreshAudit() {
  if (mode !== 'panel' && find('#audit-open').checked) audit.refresh();
}

/** Sends at once, or queues while another message is under way. */
function send(message, inputParams = {}) {
  if (!underWay) return dispatch({ message, inputParams });
  if (queued.length < MOST_QUEUED) queued.push({ message, inputParams });
  enable();
}

async function dispatch({ message, inputParams }) {
  const turn = {};
  underWay = turn;
  bubble('user', message || Object.values(inputParams.files ?? {}).map((it) => it.name).join(', '));
  question = message;
  const body = { conversationId: id, message, reset, inputParams };
  // It is taken back before the message leaves: a message that does not arrive takes it along.
  reset = false;
  show(undefined);
  const start = performance.now();
  try {
    const reply = await server.message(body);
    chips(reply, performance.now() - start);
    bubble('assistant', textOf(reply.payload));
  } catch (error) {
    bubble('assistant', `Error: ${error.message}`);
  }
  progress.replied();
  refreshAudit();
  if (underWay !== turn) return;
  underWay = undefined;
  const next = queued.shift();
  enable();
  if (next) await dispatch(next);
  else show(undefined);
}

/** Forgets what was said but stops nothing: the next message may meet one that is still under way. */
function startOver() {
  underWay = undefined;
  queued = [];
  reset = true;
  transcript.replaceChildren();
  find('.chips').hidden = true;
  show(undefined);
  enable();
}

function bubble(role, text) {
  const made = element('li', '', { 'data-role': role });
  const isError = role === 'assistant' && text.trim().startsWith('Error:');
  made.classList.toggle('error', isError);
  const object = role === 'assistant' ? objectOf(text) : undefined;
  const shown = object && card(object, { submit: whenIdle(send), submitSilent: whenIdle((params) => send('', params)), prefill });
  made.append(...(shown ? [shown] : elements(text)));
  if (role === 'assistant' && !isError) made.append(votes(text, question));
  transcript.append(made);
  made.scrollIntoView({ block: 'end' });
}

/** What a card sends while a message is under way is dropped. */
const whenIdle = (act) => (...all) => underWay || act(...all);

function prefill(text) {
  composer.value = text;
}

function votes(assistantResponse, asked) {
  const made = element('span', '', { class: 'votes' });
  const messageId = crypto.randomUUID();
  for (const [feedbackType, sign, label] of [['THUMBS_UP', '↑', 'Good answer'], ['THUMBS_DOWN', '↓', 'Bad answer']]) {
    const button = element('button', sign, { type: 'button', 'aria-label': label, 'aria-pressed': 'false' });
    const metadata = { role: 'assistant', hasMarkdownTable: assistantResponse.includes('|'), comment: '', question: asked };
    button.addEventListener('click', async () => {
      const body = { conversationId: id, feedbackType, messageId, assistantResponse, metadata };
      const taken = await server.feedback(body).then(() => true, () => false);
      if (taken) made.querySelectorAll('button').forEach((it) => it.setAttribute('aria-pressed', String(it === button)));
    });
    made.append(button);
  }
  return made;
}

function chips(reply, took) {
  const set = (name, text) => (find(`[data-chip="${name}"]`).textContent = text ?? '');
  set('intent', findText(reply, 'intent'));
  set('state', findText(reply, 'state'));
  set('time', `time: ${Math.round(took)} ms`);
  find('.chips').hidden = false;
}

/** Progress is seen only while a message is under way, in the place of a default. */
function show(text) {
  const place = find('#progress');
  place.textContent = text ?? 'Thinking…';
  place.hidden = !underWay;
  if (text !== undefined && underWay) globalThis.seen.progress.push({ text, at: performance.now() });
}

function enable() {
  const full = queued.length >= MOST_QUEUED;
  composer.disabled = full;
  find('#composer [type="submit"]').disabled = full;
}

function setMode(next) {
  mode = next;
  document.body.dataset.mode = next;
  document.querySelectorAll('nav [data-mode]').forEach((it) => it.setAttribute('aria-pressed', String(it.dataset.mode === next)));
  listen();
}

async function attach(event) {
  const read = (file) => new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onerror = () => reject(reader.error);
    reader.onload = () => resolve({
      name: file.name, mimeType: file.type, size: file.size, content: reader.result.slice(reader.result.indexOf(',') + 1), encoding: 'base64',
    });
    reader.readAsDataURL(file);
  });
  files = await Promise.all([...event.target.files].slice(0, 5).map(read));
  event.target.value = '';
  find('#files').replaceChildren(...files.map((it) => element('li', `${it.name}, ${it.size} bytes`)));
}

find('#composer').addEventListener('submit', (event) => {
  event.preventDefault();
  const message = composer.value.trim();
  if ((message === '' && files.length === 0) || composer.disabled) return;
  const params = files.length > 0 ? { files } : {};
  files = [];
  find('#files').replaceChildren();
  composer.value = '';
  send(message, params);
});
composer.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.shiftKey) return;
  event.preventDefault();
  find('#composer').requestSubmit();
});
find('#attach').addEventListener('change', attach);
find('#new').addEventListener('click', startOver);
find('#audit-open').addEventListener('change', refreshAudit);
document.querySelectorAll('nav [data-mode]').forEach((it) => it.addEventListener('click', () => setMode(it.dataset.mode)));
setMode(mode);
refreshAudit();
