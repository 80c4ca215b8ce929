import { conversation } from 'convengine';

const chat = conversation(await (await fetch('./pack.json')).text(), { effects: { task: countShelf } });
const form = document.querySelector('form');

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const message = form.elements.message.value;
  form.reset();
  const { text } = await chat.send(message);
  document.querySelector('[role=status]').textContent = text;
});

/** Answers the task that counts the shelf. All other effects are left to the pack's script. */
function countShelf({ task }) {
  if (task !== 'shelf:count') return undefined;
  // As text, so that the price stays 4.0 and does not become 4.
  return '{"ok": {"kind": "task", "set_params": {"loaves": 12, "price": 4.0}}}';
}
