import init, { Engine } from 'convengine';
import { drive } from 'convengine/drive';

await init();
const engine = new Engine(await (await fetch('./pack.json')).text());
const form = document.querySelector('form');
let conversation;

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const message = form.elements.message.value;
  form.reset();
  const { outcome } = await drive(engine, { message, conversation_id: conversation }, answer);
  conversation = outcome.conversation_id;
  document.querySelector('[role=status]').textContent = outcome.payload?.value ?? outcome.fault?.message ?? '';
});

/** Counts what is on the shelf. All else that a turn asks for is left to the pack's script. */
function answer({ request }) {
  if (request.task !== 'shelf:count') return undefined;
  // A text, so that the price stays 4.0 and does not become 4.
  return '{"ok": {"kind": "task", "set_params": {"loaves": 12, "price": 4.0}}}';
}
