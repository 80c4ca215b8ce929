import { createEngine, lint, runTurn } from './convengine.js';

const engines = new Map();
/** Continues a turn that waits for the answer to an effect, by request and effect. */
const waiting = new Map();

self.onmessage = async ({ data }) => {
  const { id } = data;
  if (data.type === 'answer') {
    waiting.get(`${id} ${data.effect}`)?.(data);
    return;
  }
  try {
    self.postMessage({ id, result: await perform(data) });
  } catch (error) {
    self.postMessage({ id, error: { code: error.code, message: error.message } });
  }
};

async function perform({ id, type, ...data }) {
  switch (type) {
    case 'create':
      engines.set(id, await createEngine(data.pack));
      return id;
    case 'lint':
      return lint(data.pack);
    case 'run':
      return runTurn(find(data.engine), data.message, (effect, text) => ask(id, effect, text));
    case 'call':
      return find(data.engine)[data.method](...data.arguments);
    case 'free':
      find(data.engine).free();
      return engines.delete(data.engine);
  }
}

function find(id) {
  const engine = engines.get(id);
  if (!engine) throw new Error('the engine was freed; create another one');
  return engine;
}

/** Passes an effect on; resolves with its answer. */
function ask(id, effect, text) {
  return new Promise((resolve, reject) => {
    const key = `${id} ${effect.id}`;
    waiting.set(key, ({ answer, failure }) => {
      waiting.delete(key);
      if (failure === undefined) resolve(answer);
      else reject(new Error(failure));
    });
    self.postMessage({ id, effect, text });
  });
}
