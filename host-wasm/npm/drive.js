/**
 * Drives one turn to its end; whatever it asks for is answered by `fulfil`, or by the pack's script where that gives nothing.
 *
 * Effects and answers go through as the texts that they are: read and written again, `1.0` would have become `1`.
 */
export async function drive(engine, message, fulfil = () => undefined) {
  const notices = [];
  const open = [];
  let slice = engine.start(typeof message === 'string' ? message : JSON.stringify({ at: Date.now(), seed: seed(), ...message }));
  for (;;) {
    const told = JSON.parse(slice);
    notices.push(...told.notices);
    if (told.end) return { outcome: told.end, notices, text: slice };
    open.push(...parts(member(slice, 'effects')));
    const effect = open.shift();
    if (effect === undefined) throw new Error('the turn neither ended nor asked for anything: report this pack');
    slice = engine.resume(`[${await completion(engine, effect, fulfil)}]`);
  }
}

async function completion(engine, effect, fulfil) {
  const read = JSON.parse(effect);
  const began = Date.now();
  const outcome = await fulfil(read, effect);
  if (outcome === undefined) return member(engine.answer(read.id), 'completion');
  const text = typeof outcome === 'string' ? outcome : JSON.stringify(outcome);
  return `{"id":${read.id},"at":${engine.now() + Date.now() - began},"outcome":${text}}`;
}

/** Ids are made of it, so each turn needs one of its own. */
function seed() {
  return Math.floor(Math.random() * Number.MAX_SAFE_INTEGER);
}

/** The text of a member of an object that the engine wrote. */
function member(object, name) {
  const start = `${JSON.stringify(name)}:`;
  return parts(object).find((it) => it.startsWith(start))?.slice(start.length) ?? '[]';
}

/** The texts between the outermost commas of an object or a list. */
function parts(text) {
  const found = [];
  let [depth, begin] = [0, 1];
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at];
    if (sign === '"') while (text[++at] !== '"') at += text[at] === '\\' ? 1 : 0;
    if (sign === '{' || sign === '[') depth += 1;
    if (sign === '}' || sign === ']') depth -= 1;
    if (depth > 1 || (depth === 1 && sign !== ',')) continue;
    if (at > begin) found.push(text.slice(begin, at));
    begin = at + 1;
  }
  return found;
}
