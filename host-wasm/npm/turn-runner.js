/**
 * Runs one turn to its end. `handleEffect` answers its effects; where it returns nothing, the pack's script does.
 *
 * Effects and answers are passed on as texts: parsed and written again, `1.0` would become `1`.
 */
export async function runTurn(engine, message, handleEffect = () => undefined) {
  const notices = [];
  const open = [];
  let text = engine.start(typeof message === 'string' ? message : JSON.stringify({ at: Date.now(), seed: randomSeed(), ...message }));
  for (;;) {
    const slice = JSON.parse(text);
    notices.push(...slice.notices);
    if (slice.end) return { outcome: slice.end, notices, text };
    open.push(...splitParts(memberText(text, 'effects')));
    const effect = open.shift();
    if (effect === undefined) throw new Error('the turn neither ended nor requested an effect; please report this pack');
    text = engine.resume(`[${await completeEffect(engine, effect, handleEffect)}]`);
  }
}

async function completeEffect(engine, text, handleEffect) {
  const effect = JSON.parse(text);
  const begin = Date.now();
  const answer = await handleEffect(effect, text);
  if (answer === undefined) return memberText(engine.answer(effect.id), 'completion');
  const outcome = typeof answer === 'string' ? answer : JSON.stringify(answer);
  return `{"id":${effect.id},"at":${engine.now() + Date.now() - begin},"outcome":${outcome}}`;
}

/** The ids of a turn are derived from its seed, so each turn needs its own. */
function randomSeed() {
  return Math.floor(Math.random() * Number.MAX_SAFE_INTEGER);
}

/** Returns the text of a member of an object that the engine wrote. */
function memberText(object, name) {
  const start = `${JSON.stringify(name)}:`;
  return splitParts(object).find((it) => it.startsWith(start))?.slice(start.length) ?? '[]';
}

/** Splits an object or list at its outermost commas. */
function splitParts(text) {
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
