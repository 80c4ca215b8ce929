import { bindModules } from './modules.js';

/** Returns the functions of the package over compiled modules: nothing is fetched, read or compiled. */
export function fromModules(modules) {
  return bindModules((name) => {
    if (!modules[name]) throw new Error(`no module '${name}'; pass it to fromModules`);
    return modules[name];
  });
}
