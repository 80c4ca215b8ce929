/** Connects to a worker that runs `convengine/worker`. */
export function connect(worker) {
  const open = new Map();
  let last = 0;

  worker.addEventListener('message', async ({ data }) => {
    const { id, effect, text, result, error } = data;
    const request = open.get(id);
    if (effect) {
      worker.postMessage({ id, type: 'answer', effect: effect.id, ...(await answer(request, effect, text)) });
      return;
    }
    open.delete(id);
    if (error) request.reject(Object.assign(new Error(error.message), { code: error.code }));
    else request.resolve(result);
  });
  worker.addEventListener('error', (event) => {
    for (const request of open.values()) request.reject(new Error(event.message || 'the worker of the engine could not be loaded'));
    open.clear();
  });

  function send(type, data, handleEffect) {
    const id = ++last;
    return new Promise((resolve, reject) => {
      open.set(id, { resolve, reject, handleEffect });
      worker.postMessage({ id, type, ...data });
    });
  }

  return {
    async createEngine(pack) {
      const engine = await send('create', { pack });
      return {
        run: (message, handleEffect = () => undefined) => send('run', { engine, message }, handleEffect),
        call: (method, ...parameters) => send('call', { engine, method, arguments: parameters }),
        free: () => send('free', { engine }),
      };
    },
    lint: (pack) => send('lint', { pack }),
  };
}

/** A failure of the handler fails the turn. */
async function answer({ handleEffect }, effect, text) {
  try {
    return { answer: await handleEffect(effect, text) };
  } catch (error) {
    return { failure: error.message };
  }
}
