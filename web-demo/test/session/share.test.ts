import { describe, expect, it } from 'vitest';
import { encodeBase64 } from '../../src/base64';
import { packs } from '../demo';
import { deflate } from '../../src/session/deflate';
import { decode, encode, LinkError, linkSize, type SharedSession, type SharedTurn } from '../../src/session/share';

const LOAN = packs.find((it) => it.name === 'loan')?.text ?? '';
const samples = (text: string) => (name: string) => Promise.resolve(name === 'loan' ? text : undefined);
const known = samples(LOAN);

const AT = 1_767_258_000_000;
function turn(index: number, more: Partial<SharedTurn> = {}): SharedTurn {
  return {
    parent: index > 0 ? index - 1 : null,
    input: { conversation: 'main', conversationId: '4aecbdd6', message: `message ${index}`, inputParams: '', reset: false, at: AT + index * 60_000, seed: 7 + index },
    answers: [{ origin: 'script', outcome: `{"ok":{"kind":"llm","text":"é ${index}","cost":1.0}}`, at: AT + index * 60_000 }],
    ...more,
  };
}

const SHARED: SharedSession = {
  end: '0123456789abcdef',
  pack: LOAN.replace('"amount in euros"', '"amount in 🦀"'),
  sample: 'loan',
  turns: [
    turn(0),
    turn(1),
    turn(2, {
      parent: 0,
      reason: 'rule 2 edited',
      pack: 0,
      silentFaults: [[1, 'never']],
      input: { ...turn(2).input, conversation: 'b', conversationId: 'x', message: '', inputParams: '{"rate": 1.0}', reset: true, at: AT + 5, seed: 4_294_967_295 },
      answers: [
        { origin: 'edited', outcome: '{"error":{"kind":"timeout","message":"late"}}', at: AT + 850 },
        { origin: 'script', outcome: '{"ok":{"kind":"slept"}}', at: AT + 900 },
      ],
    }),
    turn(3, { answers: [] }),
  ],
  head: 1,
  cursor: [1, 12],
  otherPacks: [LOAN],
};

/** Encodes any content as a fragment. */
async function encodeText(content: string): Promise<string> {
  return encodeBase64(await deflate(new TextEncoder().encode(content))).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

async function decodeError(fragment: string | Promise<string>): Promise<string> {
  const error: unknown = await decode(await fragment, known).then(() => 'none', (it: unknown) => it);
  return error instanceof LinkError ? error.message : String(error);
}

describe('a link', () => {
  it('restores a session', async () => {
    const fragment = await encode(SHARED, known);
    expect(fragment).toMatch(/^[\w-]+$/);
    expect(await decode(fragment, known)).toEqual(SHARED);
    expect(fragment.length).toBeLessThan(600);
  });

  it('restores a pack without a sample or with an unknown one', async () => {
    for (const shared of [
      { end: '', pack: '\ud83e { not even JSON', turns: [], head: -1 },
      { end: '', pack: LOAN, sample: 'gone', turns: [turn(0)], head: 0 },
    ]) expect(await decode(await encode(shared, known), samples(''))).toEqual(shared);
  });

  it('encodes a difference from the sample at any position', async () => {
    for (const pack of ['', LOAN, `x${LOAN}`, `${LOAN}x`, LOAN + LOAN, LOAN.slice(5), LOAN.slice(0, -5), LOAN.slice(0, 90) + LOAN.slice(100)]) {
      const shared = { ...SHARED, pack };
      expect((await decode(await encode(shared, known), known)).pack === pack).toBe(true);
    }
  });

  it('rejects a changed sample', async () => {
    const fragment = await encode(SHARED, known);
    await expect(decode(fragment, samples(LOAN.replace('loan', 'laon')))).rejects.toThrow("the sample 'loan' has changed");
    await expect(decode(fragment, samples(`${LOAN} `))).rejects.toThrow("the sample 'loan' has changed");
    await expect(decode(fragment, () => Promise.resolve(undefined))).rejects.toThrow('which this page does not have');
  });

  it('recommends a file for long links', () => {
    expect([8192, 8193, 65_536, 65_537].map((it) => linkSize('x'.repeat(it)).as)).toEqual(['link', 'file', 'file', 'file only']);
  });
});

describe('a hostile link', () => {
  it('is rejected if it is too large', async () => {
    expect(await decodeError('A'.repeat((64 << 10) + 1))).toContain('exceeds 65536 characters');
    const bomb = await encodeText(`"${' '.repeat(16 << 20)}"`);
    expect(bomb.length).toBeLessThan(64 << 10);
    expect(await decodeError(bomb)).toContain('too large (more than 4 MiB)');
  });

  it('is rejected if it is not a session', async () => {
    const whole = await encode(SHARED, known);
    expect(await decodeError('')).toContain('damaged (a character)');
    expect(await decodeError('a+b')).toContain('damaged (a character)');
    expect(await decodeError(whole.slice(0, -20))).toContain('damaged (a part of it is missing)');
    expect(await decodeError(encodeText('nul'))).toContain('damaged (it is not JSON)');
    expect(await decodeError(encodeText('['.repeat(100_000)))).toContain('nested too deeply');
    expect(await decodeError(encodeText(`{"\\"[": ${'['.repeat(30)}`))).toContain('nested too deeply');
    expect(await decodeError(encodeText('[]'))).toContain('damaged (the session)');
    expect(await decodeError(encodeText('{"v":2}'))).toContain('another version');
  });

  it('is rejected if a member is invalid', async () => {
    const good = { v: 1, e: 'e', p: '{}', c: [['main', 'x']], t: [{ m: 'a', a: [['{"ok":{}}']] }] };
    expect(await decodeError(encodeText(JSON.stringify(good)))).toBe('none');
    const invalid: [what: string, change: object][] = [
      ['its state hash', { e: 1 }],
      ['the pack', { p: null }],
      ['the sample', { s: 4 }],
      ['the conversations', { c: {} }],
      ['a label', { c: [[1, 'x']] }],
      ['a conversation', { c: [] }],
      ['the turns', { t: 'x' }],
      ['the turns', { t: Array(1001).fill({}) }],
      ['a turn', { t: [null] }],
      ['the parent of a turn', { t: [{ p: 0 }] }],
      ['the parent of a turn', { t: [{}, { p: -1 }] }],
      ['a conversation', { t: [{ c: 1 }] }],
      ['a message', { t: [{ m: 5 }] }],
      ['input params', { t: [{ i: '{}, "at": 5' }] }],
      ['input params', { t: [{ i: '[]' }] }],
      ['a time', { t: [{ d: 1.5 }] }],
      ['a seed', { t: [{ s: -1 }] }],
      ['an answer', { t: [{ a: [['nope']] }] }],
      ['an answer', { t: [{ a: [[`{"a":${'['.repeat(200)}`]] }] }],
      ['an origin', { t: [{ a: [['{}', 99]] }] }],
      ['a reason', { t: [{ w: {} }] }],
      ['the last turn', { h: 1 }],
      ['the position', { u: [7, 0] }],
      ['the packs', { o: {} }],
      ['the pack of a turn', { t: [{ k: 0 }] }],
      ['the faults', { t: [{ x: 1 }] }],
      ['a fault', { t: [{ x: [['1', 'never']] }] }],
    ];
    for (const [what, change] of invalid) expect(await decodeError(encodeText(JSON.stringify({ ...good, ...change })))).toContain(`damaged (${what})`);
    const other = { ...good, p: { s: 'loan', n: LOAN.length, c: 0, b: 0, e: 0, t: '' } };
    expect(await decodeError(encodeText(JSON.stringify(other)))).toContain('has changed');
  });
});
