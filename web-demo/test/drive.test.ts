import { describe, expect, it } from 'vitest';
import { drive, type Clock, type TurnEngine, type Watch } from '../src/drive';

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

  start(message: string): string {
    return this.next(`start ${message}`);
  }

  answer(text: string, at?: number): string {
    this.told.push(`answer ${text} ${at ?? 'virtual'}`);
    const { id } = JSON.parse(text) as { id: number };
    return `{"delay_ms":20, "completion":{"id":${id},"at":5,"outcome":{"ok":{"kind":"llm","text":"a","cost":1.0}}}}`;
  }

  resume(completions: string): string {
    return this.next(`resume ${completions}`);
  }

  private next(said: string): string {
    this.told.push(said);
    return this.slices.shift() ?? slice([], []);
  }
}

class Heard implements Watch {
  readonly log: string[] = [];
  notices: Watch['notices'] = (list) => void this.log.push(...list.map((it) => `notice ${it.seq}`));
  effect: Watch['effect'] = (it) => void this.log.push(`effect ${it.id}`);
  answer: Watch['answer'] = (it) => void this.log.push(`answer ${it.effect.id}`);
}

describe('drive', () => {
  it('answers effects one at a time and publishes notices before them', async () => {
    const engine = new Prepared([
      slice([effect(1), effect(2)], [notice(0)]),
      slice([], [notice(1)]),
      slice([], [notice(2)], outcome),
    ]);
    const heard = new Heard();
    const driven = await drive(engine, '{"message":"hi"}', heard);
    expect(heard.log).toEqual(['notice 0', 'effect 1', 'effect 2', 'answer 1', 'notice 1', 'answer 2', 'notice 2']);
    expect(driven.outcome.intent).toBe('LOAN');
    expect(driven.notices.map((it) => it.seq)).toEqual([0, 1, 2]);
    expect(driven.exchanges.map((it) => it.effect.key)).toEqual(['k1', 'k2']);
  });

  it('hands texts back exactly as the engine spelled them', async () => {
    const engine = new Prepared([slice([effect(1)], []), slice([], [], outcome)]);
    await drive(engine, '{"message":"hi","rate":1.0}', new Heard());
    expect(engine.told[0]).toBe('start {"message":"hi","rate":1.0}');
    expect(engine.told[1]).toBe(`answer ${effect(1)} virtual`);
    expect(engine.told[2]).toBe('resume [{"id":1,"at":5,"outcome":{"ok":{"kind":"llm","text":"a","cost":1.0}}}]');
  });

  it('waits in a live chat and never when it plays', async () => {
    const waited: number[] = [];
    const clock: Clock = { now: () => 77, wait: async (milliseconds) => void waited.push(milliseconds) };
    const slices = () => [slice([effect(1)], []), slice([], [], outcome)];
    const live = new Prepared(slices());
    await drive(live, '{}', new Heard(), clock);
    expect(waited).toEqual([20]);
    expect(live.told[1]).toMatch(/ 77$/);
    await drive(new Prepared(slices()), '{}', new Heard());
    expect(waited).toEqual([20]);
  });

  it('stops when a turn neither ends nor asks', async () => {
    await expect(drive(new Prepared([slice([], [])]), '{}', new Heard())).rejects.toThrow('neither ended nor asked');
  });
});
