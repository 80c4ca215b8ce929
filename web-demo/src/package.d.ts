/** The runner of the npm package, `host-wasm/npm/turn-runner.js`. */
declare module 'convengine/turn-runner' {
  type TurnEngine = import('./turn-runner').TurnEngine;
  type Effect = import('./types').Effect;
  type Notice = import('./types').Notice;
  type Outcome = import('./types').Outcome;
  type EffectControl = { completion: string } | { cancelAt: number } | { crash: true };

  export function runTurn(
    engine: TurnEngine,
    message: string,
    handleEffect: (effect: Effect, text: string) => Promise<EffectControl>,
    observer: { notices(notices: Notice[]): void; effect(effect: Effect): void; restart(): void },
  ): Promise<{ outcome: Outcome; notices: Notice[] }>;
}
