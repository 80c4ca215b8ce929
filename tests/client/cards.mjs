/** Cards for answers that are JSON objects, by their type; who fits and has the highest priority makes the card. */
import { element } from './text.mjs';

const button = (label, act) => {
  const made = element('button', label, { type: 'button' });
  made.addEventListener('click', act);
  return made;
};

const PROVIDERS = [
  { key: 'SelectionPrompt', priority: 10, make: selection },
  { key: 'InlineForm', priority: 10, make: form },
  { key: 'ConfirmStep', priority: 10, make: confirm },
  { key: 'FaqAnswer', priority: 5, match: isFaq, make: faq },
].sort((one, other) => other.priority - one.priority);

/** The card of an object; nothing when no provider fits. */
export function card(payload, actions) {
  const type = typeof payload?.type === 'string' ? payload.type.trim() : undefined;
  const provider = PROVIDERS.find((it) => it.key === type || it.match?.(payload, type));
  if (!provider) return undefined;
  const made = element('section', '', { class: 'card', 'data-card': provider.key });
  made.append(...provider.make(payload, actions));
  return made;
}

function selection({ question, options = [] }, { submit }) {
  const choices = options.map(({ value, label }) => button(label, () => submit(value, { choice: value })));
  return [element('p', question), ...choices];
}

function form({ title, fields = [], submitLabel = 'Send' }, { submit }) {
  const made = document.createElement('form');
  const rows = fields.map(({ name, label, type = 'text' }) => {
    const row = element('label', `${label} `);
    row.append(Object.assign(document.createElement('input'), { name, type }));
    return row;
  });
  made.append(...rows, element('button', submitLabel));
  made.addEventListener('submit', (event) => {
    event.preventDefault();
    submit(title, { formData: Object.fromEntries(new FormData(made)) });
  });
  return [element('p', title), made];
}

function confirm({ summary, editHint = '' }, { submitSilent, prefill }) {
  return [element('p', summary), button('Confirm', () => submitSilent({ confirmed: true })), button('Edit', () => prefill(editHint))];
}

function isFaq(payload, type) {
  const known = Array.isArray(payload?.matchedFaqIds) || Array.isArray(payload?.faqIdsMatched) || typeof payload?.confidence === 'number';
  return type === undefined && typeof payload?.answer === 'string' && known;
}

function faq({ answer, confidence }) {
  const sure = typeof confidence === 'number' ? [element('small', `${Math.round(confidence * 100)} %`)] : [];
  return [element('p', answer), ...sure];
}
