import { describe, expect, it } from 'vitest';
import { Tree } from '../src/tree.svelte';
import { Turn } from '../src/turn.svelte';
import type { StepInfo, TurnRecord } from '../src/types';

const input = (message: string) => ({ conversation: 'main', conversationId: 'c', message, inputParams: '', reset: false, at: 0, seed: 1 });
const step = (name: string, changed = false): StepInfo => ({ step: name, seq: 0, finished: true, changed });

let ids = 0;
/** A finished turn with steps. */
function finishedTurn(parent: Turn | undefined, steps: StepInfo[], reason = ''): Turn {
  const turn = new Turn(++ids, parent, input(`turn ${ids}`), reason);
  turn.record = { steps } as TurnRecord;
  return turn;
}

describe('a tree of turns', () => {
  const tree = new Tree();
  const first = tree.add(finishedTurn(undefined, [step('a'), step('b', true)]));
  const second = tree.add(finishedTurn(first, [step('a')]));
  const other = tree.add(finishedTurn(first, [step('a'), step('b'), step('c', true)], 'says no'));

  it('recognises the end of a branch', () => {
    expect([tree.isTail([other]), tree.isTail([second]), tree.isTail([first, other])]).toEqual([true, false, false]);
  });

  it('shows the newest branch, which shares its first turns', () => {
    expect(tree.path).toEqual([first, other]);
    expect(tree.branches.map(({ tip, reason, from }) => [tip, reason, from])).toEqual([
      [second, '', 1],
      [other, 'says no', 2],
    ]);
  });

  it('numbers branches with equal reasons', () => {
    const repeated = new Tree();
    const root = repeated.add(finishedTurn(undefined, []));
    for (const reason of ['', 'a', 'b', 'a']) repeated.add(finishedTurn(root, [], reason));
    expect(repeated.branches.map((it) => it.reason)).toEqual(['', 'a', 'b', 'a (2)']);
  });

  it('counts the positions of a branch: every step, and the end of each turn', () => {
    expect([tree.positionCount, tree.position]).toEqual([7, 6]);
    tree.goTo(1);
    expect(tree.cursor).toEqual({ turn: first, step: 1 });
    tree.goTo(2);
    expect(tree.cursor).toEqual({ turn: first, step: undefined });
    tree.goTo(3);
    expect([tree.cursor, tree.position]).toEqual([{ turn: other, step: 0 }, 3]);
    tree.goTo(99);
    expect(tree.position).toBe(6);
    tree.goTo(-1);
    expect(tree.position).toBe(0);
  });

  it('goes to the next session change, across turns', () => {
    tree.goTo(0);
    tree.goToChange(1);
    expect(tree.position).toBe(1);
    tree.goToChange(1);
    expect(tree.cursor).toEqual({ turn: other, step: 2 });
    tree.goToChange(1);
    expect(tree.position).toBe(5);
    tree.goToChange(-1);
    expect(tree.position).toBe(1);
  });

  it('selects the end of a branch when it is shown', () => {
    tree.select(other, 1);
    tree.showBranch(second);
    expect([tree.path, tree.cursor]).toEqual([[first, second], { turn: second, step: undefined }]);
  });

  it('removes turns without successors', () => {
    const more = new Tree();
    const first = more.add(finishedTurn(undefined, []));
    const removed = more.add(finishedTurn(first, []));
    more.removeTurns([removed]);
    expect([more.turns, more.head]).toEqual([[first], undefined]);
  });
});

describe('the history of branches', () => {
  const tree = new Tree();
  const first = tree.add(finishedTurn(undefined, []));
  const second = tree.add(finishedTurn(first, []));
  const other = tree.add(finishedTurn(first, [], 'says no'));

  it('goes back and forward', () => {
    expect([tree.canMove(-1), tree.canMove(1)]).toEqual([true, false]);
    tree.move(-1);
    expect([tree.head, tree.canMove(-1), tree.canMove(1)]).toEqual([second, false, true]);
    tree.move(-1);
    expect(tree.head).toBe(second);
    tree.move(1);
    expect(tree.head).toBe(other);
  });

  it('follows branches that have been continued', () => {
    const third = tree.add(finishedTurn(other, []));
    tree.move(-1);
    tree.move(1);
    expect([tree.head, tree.canMove(1)]).toEqual([third, false]);
  });

  it('is truncated when another branch is chosen', () => {
    tree.showBranch(undefined);
    tree.move(-1);
    tree.showBranch(second);
    expect(tree.canMove(1)).toBe(false);
    tree.move(-1);
    expect(tree.path.at(1)).toBe(other);
  });

  it('omits removed turns, also the current one', () => {
    const more = new Tree();
    const first = more.add(finishedTurn(undefined, []));
    const edited = more.add(finishedTurn(undefined, [], 'pack edited'));
    more.removeTurns([edited]);
    const again = more.add(finishedTurn(undefined, [], 'pack edited'));
    more.showBranch(first);
    more.removeTurns([again]);
    expect([more.head, more.canMove(-1), more.canMove(1)]).toEqual([first, false, false]);
    more.showBranch(undefined);
    more.clear();
    expect([more.canMove(-1), more.canMove(1)]).toEqual([false, false]);
  });
});
