import type { Engine, Issue, TurnMessage } from './convengine.js';
import type { EffectHandler, Message, TurnResult } from './turn-runner.js';

/** The methods of an engine that can be called from outside its worker. */
type Method = { [Name in keyof Engine]: Engine[Name] extends (...parameters: never[]) => unknown ? Name : never }[keyof Engine];

/** An engine in a worker. */
export interface WorkerEngine {
  /** Runs one turn to its end, as `runTurn` does; its effects are handled here. */
  run(message: string | Message | TurnMessage, handleEffect?: EffectHandler): Promise<TurnResult>;
  /** Calls a method of the engine. */
  call<Name extends Exclude<Method, 'free'>>(method: Name, ...parameters: Parameters<Engine[Name]>): Promise<ReturnType<Engine[Name]>>;
  /** Frees its memory. */
  free(): Promise<boolean>;
}

/** Connects to a worker that runs `convengine/worker`. */
export function connect(worker: Worker): { createEngine(pack: string | object): Promise<WorkerEngine>; lint(pack: string | object): Promise<Issue[]> };
