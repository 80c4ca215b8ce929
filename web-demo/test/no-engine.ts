/** Stands for the engines where they are not built; tests put their own in its place. */
export default () => Promise.reject(new Error('there is no engine in these tests'));

export class Engine {}
