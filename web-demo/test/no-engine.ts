/** Replaces the engine in tests, where it is not built; tests mock their own. */
export default () => Promise.reject(new Error('there is no engine in these tests'));

export class Engine {}
