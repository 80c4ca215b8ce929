import { describe, expect, it } from 'vitest';
import { Turn } from '../src/turn.svelte';
import type { Token } from '../src/types';

const SAID = { conversation: 'main', conversationId: 'c', message: 'hi', inputParams: '', reset: false, at: 0, seed: 1 };

describe('streamed text', () => {
  it('grows with tokens, and starts over for another attempt or effect', () => {
    const turn = new Turn(1, undefined, SAID);
    const tokens: Token[] = [
      { effect: 1, text: 'a' },
      { effect: 1, text: 'b' },
      { effect: 1, reset: true },
      { effect: 1, text: 'c' },
      { effect: 2, text: 'd' },
      { effect: 2, text: 'e' },
    ];
    const shown = tokens.map((token) => {
      turn.applyProgress({ id: 1, type: 'token', token });
      return turn.partialText;
    });
    expect(shown).toEqual(['a', 'ab', '', 'c', 'd', 'de']);
  });
});
