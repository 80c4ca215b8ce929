/** How an answer becomes what is read: the text of a bubble, its tables, and the codes in the header. */

/** The text of a reply's payload. */
export function textOf(payload) {
  const value = payload?.value ?? payload;
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

/** The object that a text is, if it is one. */
export function objectOf(text) {
  const trimmed = text.trim();
  if (!trimmed.startsWith('{')) return undefined;
  try {
    return JSON.parse(trimmed);
  } catch {
    return undefined;
  }
}

/** The first text under a key, from the top down, also within texts that are JSON. */
export function findText(value, key, levels = 6) {
  const object = typeof value === 'string' ? objectOf(value) : value;
  if (typeof object !== 'object' || object === null || levels === 0) return undefined;
  const own = object[key];
  if (typeof own === 'string' && own.trim() !== '') return own;
  for (const inner of Object.values(object)) {
    const found = findText(inner, key, levels - 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The elements of a text: plain throughout, but for tables with pipes. */
export function elements(text) {
  const found = [];
  let plain = [];
  const lines = text.split('\n');
  const flush = () => plain.length > 0 && found.push(element('pre', plain.join('\n')));
  for (let at = 0; at < lines.length; ) {
    const end = tableEnd(lines, at);
    if (end === undefined) {
      plain.push(lines[at++]);
      continue;
    }
    flush();
    plain = [];
    found.push(table(lines.slice(at, end)));
    at = end;
  }
  flush();
  return found;
}

export function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
  return made;
}

const cells = (line) => line.trim().replace(/^\||\|$/g, '').split('|').map((it) => it.trim());

function tableEnd(lines, start) {
  const isRow = (line) => line !== undefined && line.trim().startsWith('|');
  if (!isRow(lines[start]) || !/^\s*\|[\s:|-]*-[\s:|-]*$/.test(lines[start + 1] ?? '')) return undefined;
  let end = start + 2;
  while (isRow(lines[end])) end += 1;
  return end;
}

function table([head, , ...rows]) {
  const made = document.createElement('table');
  const add = (line, name) => {
    const row = made.insertRow();
    cells(line).forEach((it) => row.append(element(name, it)));
  };
  add(head, 'th');
  rows.forEach((it) => add(it, 'td'));
  return made;
}
