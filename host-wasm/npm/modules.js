/** The modules of the package. */
const MODULES = { tables: () => import('./tables.js'), flow: () => import('./flow.js'), lint: () => import('./lint.js') };

/** What a pack can play, besides its tables. */
const PROGRAMS = ['conversation_flow', 'workflow_graph', 'workflow_chain', 'ai_agent'];

/** Returns the functions of the package; `read` returns the bytes of a module where it cannot be fetched. */
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

  return {
    async createEngine(pack) {
      const { Engine } = await load(playsDocument(pack) ? 'flow' : 'tables');
      return new Engine(pack);
    },
    async lint(pack) {
      const { lint } = await load('lint');
      return lint(pack);
    },
  };
}

/** Whether a pack plays a document, as it does without tables; that a text is not a pack is reported by the engine. */
function playsDocument(text) {
  if (!PROGRAMS.some((it) => text.includes(it))) return false;
  try {
    const { tables, documents } = JSON.parse(text);
    const hasTables = typeof tables === 'object' && tables !== null && Object.keys(tables).length > 0;
    return !hasTables && Array.isArray(documents) && documents.some((it) => PROGRAMS.includes(it?.doc));
  } catch {
    return false;
  }
}
