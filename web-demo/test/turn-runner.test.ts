import { describe, expect, it } from 'vitest';
import { runTurn, type EffectHandler, type TurnEngine, type TurnObserver } from '../src/turn-runner';
import type { Completion } from '../src/types';

const outcome = '{"conversation_id":"c","intent":"LOAN","state":"DONE","payload":null,"context":{},"fault":null,"writes":[]}';
const effect = (id: number) =>
  `{"id":${id},"key":"k${id}","class":"read","deadline_ms":1000,"request":{"kind":"llm","purpose":"extract","limit":1.0}}`;
const notice = (seq: number) => `{"seq":${seq},"at":${seq},"kind":"audit","stage":"S${seq}","payload":{}}`;
const slice = (effects: string[], notices: string[], end = 'null') =>
  `{"effects":[${effects.join(',')}],"notices":[${notices.join(',')}],"end":${end}}`;

/** An engine that gives prepared slices and writes down what it is told. */
class Prepared implements TurnEngine {
  readonly told: string[] = [];

  constructor(private readonly slices: string[]) {}

  start = (message: string) => this.next(`start ${message}`);
  resume = (completions: string) => this.next(`resume ${completions}`);
  abandon = (why: string, at: number) => this.next(`abandon ${why} ${at}`);
  restore = (journal: string) => this.next(`restore ${journal}`);
  journal = () => '{"entries":[]}';

  private next(said: string): string {
    this.told.push(said);
    return this.slices.shift() ?? slice([], []);
  }
}

class Heard implements TurnObserver {
  readonly log: string[] = [];
  notices: TurnObserver['notices'] = (list) => void this.log.push(...list.map((it) => `notice ${it.seq}`));
  effect: TurnObserver['effect'] = (it) => void this.log.push(`effect ${it.id}`);
  answer: TurnObserver['answer'] = (it) => void this.log.push(`answer ${it.effect.id}`);
  restart: TurnObserver['restart'] = () => void this.log.push('restart');
}

const answered: EffectHandler = async (effect) => {
  const completion = `{"id":${effect.id},"at":5,"outcome":{"ok":{"kind":"llm","text":"a","cost":1.0}}}`;
  return { completion, exchange: { effect, completion: JSON.parse(completion) as Completion, delayMs: 0, origin: 'script' } };
};

describe('drive', () => {
  it('answers effects one at a time and publishes notices before them', async () => {
    const engine = new Prepared([
      slice([effect(1), effect(2)], [notice(0)]),
      slice([], [notice(1)]),
      slice([], [notice(2)], outcome),
    ]);
    const heard = new Heard();
    const driven = await runTurn(engine, '{"message":"hi"}', heard, answered);
    expect(heard.log).toEqual(['notice 0', 'effect 1', 'effect 2', 'answer 1', 'notice 1', 'answer 2', 'notice 2']);
    expect(driven.outcome.intent).toBe('LOAN');
    expect(driven.notices.map((it) => it.seq)).toEqual([0, 1, 2]);
    expect(driven.exchanges.map((it) => [it.effect.key, it.seq])).toEqual([['k1', 1], ['k2', 1]]);
  });

  it('hands texts back exactly as the engine spelled them', async () => {
    const engine = new Prepared([slice([effect(1)], []), slice([], [], outcome)]);
    const texts: string[] = [];
    await runTurn(engine, '{"message":"hi","rate":1.0}', new Heard(), (it, text, place) => {
      texts.push(`${place} ${text}`);
      return answered(it, text, place);
    });
    expect(texts).toEqual([`0 ${effect(1)}`]);
    expect(engine.told).toEqual([
      'start {"message":"hi","rate":1.0}',
      'resume [{"id":1,"at":5,"outcome":{"ok":{"kind":"llm","text":"a","cost":1.0}}}]',
    ]);
  });

  it('gives a turn up when no answer comes', async () => {
    const engine = new Prepared([slice([effect(1)], [notice(0)]), slice([], [notice(1)], outcome)]);
    const driven = await runTurn(engine, '{}', new Heard(), async () => ({ cancelAt: 77 }));
    expect(engine.told[1]).toBe('abandon timeout 77');
    expect(driven.exchanges).toEqual([]);
    expect(driven.notices.map((it) => it.seq)).toEqual([0, 1]);
  });

  it('takes a turn over from its journal when the process ends, and tells everything again', async () => {
    const whole = slice([effect(1)], [notice(0)]);
    const engine = new Prepared([whole, whole, slice([], [notice(1)], outcome)]);
    const heard = new Heard();
    let first = true;
    const driven = await runTurn(engine, '{}', heard, async (it, text, place) => {
      if (!first) return answered(it, text, place);
      first = false;
      return { crash: true };
    });
    expect(engine.told[1]).toBe('restore {"entries":[]}');
    expect(heard.log).toEqual(['notice 0', 'effect 1', 'restart', 'notice 0', 'effect 1', 'answer 1', 'notice 1']);
    expect(driven.notices.map((it) => it.seq)).toEqual([0, 1]);
  });

  it('stops when a turn neither ends nor asks', async () => {
    await expect(runTurn(new Prepared([slice([], [])]), '{}', new Heard(), answered)).rejects.toThrow('neither ended nor requested');
  });
});
