import { createEngine, runTurn } from 'convengine';

const engine = await createEngine(await (await fetch('./pack.json')).text());
const form = document.querySelector('form');
let conversation;

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const message = form.elements.message.value;
  form.reset();
  const { outcome } = await runTurn(engine, { message, conversation_id: conversation }, handleEffect);
  conversation = outcome.conversation_id;
  document.querySelector('[role=status]').textContent = outcome.payload?.value ?? outcome.fault?.message ?? '';
});

/** Answers the task that counts the shelf. All other effects are left to the pack's script. */
function handleEffect({ request }) {
  if (request.task !== 'shelf:count') return undefined;
  // As text, so that the price stays 4.0 and does not become 4.
  return '{"ok": {"kind": "task", "set_params": {"loaves": 12, "price": 4.0}}}';
}
