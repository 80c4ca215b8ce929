import { describe, expect, it } from 'vitest';
import { runTurn, type EffectHandler, type TurnEngine, type TurnObserver } from '../src/turn-runner';
import type { Completion } from '../src/types';

const outcome = '{"conversation_id":"c","intent":"LOAN","state":"DONE","payload":null,"context":{},"fault":null,"writes":[]}';
const effect = (id: number) =>
  `{"id":${id},"key":"k${id}","class":"read","deadline_ms":1000,"request":{"kind":"llm","purpose":"extract","limit":1.0}}`;
const notice = (seq: number) => `{"seq":${seq},"at":${seq},"kind":"audit","stage":"S${seq}","payload":{}}`;
const slice = (effects: string[], notices: string[], end = 'null') => ({
  text: `{"effects":[${effects.join(',')}],"notices":[${notices.join(',')}],"end":${end}}`,
  effects,
});
type Prepared = ReturnType<typeof slice>;

/** An engine that returns prepared slices and records its calls. */
class FakeEngine implements TurnEngine {
  readonly calls: string[] = [];

  constructor(private readonly slices: Prepared[]) {}

  /** The effects of the last slice, as texts. */
  private texts: string[] = [];

  effects = () => this.texts;
  start = (message: string) => this.next(`start ${message}`);
  resume = (completions: string) => this.next(`resume ${completions}`);
  cancel = (reason: string, at: number) => this.next(`cancel ${reason} ${at}`);
  restore = (journal: string) => this.next(`restore ${journal}`);
  journal = () => '{"entries":[]}';

  private next(call: string): string {
    this.calls.push(call);
    const next = this.slices.shift() ?? slice([], []);
    this.texts = next.effects;
    return next.text;
  }
}

class RecordingObserver implements TurnObserver {
  readonly log: string[] = [];
  notices: TurnObserver['notices'] = (list) => void this.log.push(...list.map((it) => `notice ${it.seq}`));
  effect: TurnObserver['effect'] = (it) => void this.log.push(`effect ${it.id}`);
  answer: TurnObserver['answer'] = (it) => void this.log.push(`answer ${it.effect.id}`);
  restart: TurnObserver['restart'] = () => void this.log.push('restart');
}

const answerEffect: EffectHandler = async (effect) => {
  const completion = `{"id":${effect.id},"at":5,"outcome":{"ok":{"kind":"llm","text":"a","cost":1.0}}}`;
  return { completion, exchange: { effect, completion: JSON.parse(completion) as Completion, delayMs: 0, origin: 'script' } };
};

describe('runTurn', () => {
  it('answers effects one at a time and publishes notices before them', async () => {
    const engine = new FakeEngine([
      slice([effect(1), effect(2)], [notice(0)]),
      slice([], [notice(1)]),
      slice([], [notice(2)], outcome),
    ]);
    const observer = new RecordingObserver();
    const result = await runTurn(engine, '{"message":"hi"}', observer, answerEffect);
    expect(observer.log).toEqual(['notice 0', 'effect 1', 'effect 2', 'answer 1', 'notice 1', 'answer 2', 'notice 2']);
    expect(result.outcome.intent).toBe('LOAN');
    expect(result.notices.map((it) => it.seq)).toEqual([0, 1, 2]);
    expect(result.exchanges.map((it) => [it.effect.key, it.seq])).toEqual([['k1', 1], ['k2', 1]]);
  });

  it('returns texts exactly as the engine spelled them', async () => {
    const engine = new FakeEngine([slice([effect(1)], []), slice([], [], outcome)]);
    const texts: string[] = [];
    await runTurn(engine, '{"message":"hi","rate":1.0}', new RecordingObserver(), (it, text, place) => {
      texts.push(`${place} ${text}`);
      return answerEffect(it, text, place);
    });
    expect(texts).toEqual([`0 ${effect(1)}`]);
    expect(engine.calls).toEqual([
      'start {"message":"hi","rate":1.0}',
      'resume [{"id":1,"at":5,"outcome":{"ok":{"kind":"llm","text":"a","cost":1.0}}}]',
    ]);
  });

  it('cancels a turn without an answer', async () => {
    const engine = new FakeEngine([slice([effect(1)], [notice(0)]), slice([], [notice(1)], outcome)]);
    const result = await runTurn(engine, '{}', new RecordingObserver(), async () => ({ cancelAt: 77 }));
    expect(engine.calls[1]).toBe('cancel timeout 77');
    expect(result.exchanges).toEqual([]);
    expect(result.notices.map((it) => it.seq)).toEqual([0, 1]);
  });

  it('restores a turn from its journal after a crash and publishes everything again', async () => {
    const whole = slice([effect(1)], [notice(0)]);
    const engine = new FakeEngine([whole, whole, slice([], [notice(1)], outcome)]);
    const observer = new RecordingObserver();
    let first = true;
    const result = await runTurn(engine, '{}', observer, async (it, text, place) => {
      if (!first) return answerEffect(it, text, place);
      first = false;
      return { crash: true };
    });
    expect(engine.calls[1]).toBe('restore {"entries":[]}');
    expect(observer.log).toEqual(['notice 0', 'effect 1', 'restart', 'notice 0', 'effect 1', 'answer 1', 'notice 1']);
    expect(result.notices.map((it) => it.seq)).toEqual([0, 1]);
  });

  it('fails if a turn neither ends nor requests an effect', async () => {
    await expect(runTurn(new FakeEngine([slice([], [])]), '{}', new RecordingObserver(), answerEffect)).rejects.toThrow('neither ended nor requested');
  });
});
