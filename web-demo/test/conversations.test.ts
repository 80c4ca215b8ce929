import { describe, expect, it } from 'vitest';
import { conversationHeadings } from '../src/conversations';

/** Turns of conversations, each given as `label id`. */
const path = (...conversations: string[]) =>
  conversations.map((it) => {
    const [conversation = '', conversationId = ''] = it.split(' ');
    return { input: { conversation, conversationId, message: '', inputParams: '', reset: false, at: 0, seed: 1 } };
  });

function headings(...conversations: string[]): (string | undefined)[] {
  const turns = path(...conversations);
  const found = conversationHeadings(turns);
  return turns.map((it) => found.get(it));
}

describe('headings of conversations', () => {
  it('are missing where a branch has one conversation', () => {
    expect(headings('main a', 'main a')).toEqual([undefined, undefined]);
    expect(headings()).toEqual([]);
  });

  it('name each conversation at its first turn', () => {
    expect(headings('main a', 'main a', 'afterthought b', 'afterthought b')).toEqual(['main', undefined, 'afterthought', undefined]);
  });

  it('say where a conversation continues', () => {
    expect(headings('main a', 'other b', 'main a')).toEqual(['main', 'other', 'main, continued']);
  });

  it('number conversations with equal labels, and name those without one', () => {
    expect(headings('main a', 'main b', ' c', 'main b')).toEqual(['main', 'main 2', 'unnamed', 'main 2, continued']);
  });
});
