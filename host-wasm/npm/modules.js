import { Conversation } from './conversation.js';

/** The modules of the package. */
const MODULES = { engine: () => import('./engine.js'), lint: () => import('./lint.js') };

/** Returns the functions of the package; `read` returns the bytes of a module, or the compiled module, where it cannot be fetched. */
export function bindModules(read) {
  const loading = new Map();

  /** Loads a module once; a failed download is tried again by the next call. */
  function load(name) {
    if (!loading.has(name)) {
      const module = instantiate(name);
      module.catch(() => loading.delete(name));
      loading.set(name, module);
    }
    return loading.get(name);
  }

  async function instantiate(name) {
    const module = await MODULES[name]();
    await module.default(read && { module_or_path: await read(name) });
    return module;
  }

  async function createEngine(pack) {
    const { Engine } = await load('engine');
    return new Engine(packText(pack));
  }

  return {
    createEngine,
    conversation: (pack, options) => new Conversation(createEngine(pack), options),
    async lint(pack) {
      const { lint } = await load('lint');
      return lint(packText(pack));
    },
  };
}

function packText(pack) {
  return typeof pack === 'string' ? pack : JSON.stringify(pack);
}
