/**
 * Runs one turn to its end. `handleEffect` answers its effects; where it returns nothing, the pack's script does. `observer` observes
 * the turn.
 *
 * Effects and answers are passed on as texts: parsed and written again, `1.0` would become `1`.
 */
export async function runTurn(engine, message, handleEffect = () => undefined, observer = {}) {
  let notices = [];
  let open = [];
  let text = engine.start(messageText(message));
  for (;;) {
    const slice = JSON.parse(text);
    notices.push(...slice.notices);
    observer.notices?.(slice.notices);
    slice.effects.forEach((it) => observer.effect?.(it));
    if (slice.end) return { outcome: slice.end, notices, text };
    if (slice.effects.length > 0) open.push(...engine.effects());
    const effectText = open.shift();
    if (effectText === undefined) throw new Error('the turn neither ended nor requested an effect; please report this pack');
    const effect = JSON.parse(effectText);
    const begin = Date.now();
    const result = await handleEffect(effect, effectText);
    if (result?.cancelAt !== undefined) {
      text = engine.cancel('timeout', result.cancelAt);
    } else if (result?.crash) {
      text = engine.restore(engine.journal());
      [notices, open] = [[], []];
      observer.restart?.();
    } else {
      text = engine.resume(`[${result?.completion ?? completeEffect(engine, effect.id, result, Date.now() - begin)}]`);
    }
  }
}

/** A message of the engine brings its own text. */
function messageText(message) {
  if (typeof message === 'string') return message;
  return message.text ?? JSON.stringify({ at: Date.now(), seed: randomSeed(), ...message });
}

function completeEffect(engine, id, answer, tookMs) {
  if (answer === undefined) return engine.answer(id).completion;
  const outcome = typeof answer === 'string' ? answer : JSON.stringify(answer);
  return `{"id":${id},"at":${engine.now() + tookMs},"outcome":${outcome}}`;
}

/** The ids of a turn are derived from its seed, so each turn needs its own. */
function randomSeed() {
  return Math.floor(Math.random() * Number.MAX_SAFE_INTEGER);
}
