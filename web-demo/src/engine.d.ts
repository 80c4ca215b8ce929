/** The engine of control tables, as wasm-bindgen writes it to `src/wasm`. */
declare module 'convengine-wasm' {
  export default function init(): Promise<unknown>;

  /** Gives the id of the conversation that talks call by a label. */
  export function conversation_id(label: string): string;

  /** Tells which texts of a JSON list a pattern of a row finds: a JSON list of booleans, `null` for too many steps; throws `{code, message}`. */
  export function finds(ruleType: string, pattern: string, texts: string): string;

  export class Engine {
    /** Compiles a pack; throws `{code, message}` only for text that is no pack. */
    constructor(pack: string);
    /** Lists the issues of the pack as JSON. */
    issues(): string;
    /** Names the compiled configuration by its content. */
    hash(): string;
    /** Counts the turns that the pack brings along. */
    scripted_turns(): number;
    /** Gives the message of a turn of the pack, ready for `start`. */
    scripted_turn(index: number): string;
    /** Begins a turn and gives its first slice. */
    start(message: string): string;
    /** Tells whether the pack has an answer to an effect of the turn, by its number. */
    scripted(effect: number): boolean;
    /** Gives the turn's clock, in milliseconds since 1970. */
    now(): number;
    /** Answers an effect of the turn from the pack, by its number: `{"completion", "delay_ms"}`. */
    answer(effect: number, at?: number): string;
    /** Gives the bytes of an extension's module. */
    module(sha256: string): Uint8Array | undefined;
    /** Answers a call of an extension with what it said, or else with `{"error": …}`; in the form of `answer`. */
    extended(effect: string, said: Uint8Array | undefined, failure: string, at?: number): string;
    /** Goes on with a list of completions and gives the next slice. */
    resume(completions: string): string;
    /** Ends the turn where it stands, as a failed one, and gives its last slice. */
    abandon(why: 'timeout' | 'lost', at: number): string;
    /** Gives everything that the turn cannot derive again. */
    journal(): string;
    /** Runs a recorded turn again, on the conversation as it was then, and gives all that it says. Watched, it has steps, whys and a state hash. */
    restore(journal: string, watched?: boolean): string;
    /** Gives a conversation as stored, or `null`. */
    conversation(id: string): string;
    /** Stores a conversation in the place of what is known of it; nothing makes it a new one. */
    place(id: string, stored?: string): void;
    /** Marks where the pack's script stands. */
    mark(): number;
    /** Sets the script back to a mark, or to its beginning. */
    back(mark?: number): void;
    /** Lists the steps of a watched turn. */
    steps(): string;
    /** Gives the session before and after a step of a watched turn. */
    step(index: number): string;
    /** Lists why the decisions of a watched turn fell as they did. */
    whys(): string;
    /** Gives the hash by which a replay of the finished turn is judged. */
    state_hash(): string;
    /** Names all slices and the outcome of the finished turn by their content. */
    turn_hash(): string;
    /** Gives the engine's memory back. */
    free(): void;
  }
}

/** The engine of flow documents, as wasm-bindgen writes it to `src/wasm-flow`. */
declare module 'convengine-wasm-flow' {
  export { default, conversation_id, Engine } from 'convengine-wasm';
}
