import { describe, expect, it } from 'vitest';
import { Tree } from '../src/tree.svelte';
import { Turn } from '../src/turn.svelte';
import type { StepInfo, TurnRecord } from '../src/types';

const said = (message: string) => ({ conversation: 'main', conversationId: 'c', message, inputParams: '', reset: false, at: 0, seed: 1 });
const step = (name: string, changed = false): StepInfo => ({ step: name, seq: 0, finished: true, changed });

let ids = 0;
/** A turn that has ended after some steps. */
function ended(parent: Turn | undefined, steps: StepInfo[], reason = ''): Turn {
  const turn = new Turn(++ids, parent, said(`turn ${ids}`), reason);
  turn.record = { steps } as TurnRecord;
  return turn;
}

describe('a tree of turns', () => {
  const tree = new Tree();
  const first = tree.add(ended(undefined, [step('a'), step('b', true)]));
  const second = tree.add(ended(first, [step('a')]));
  const other = tree.add(ended(first, [step('a'), step('b'), step('c', true)], 'says no'));

  it('knows an end that nobody has left', () => {
    expect([tree.isTail([other]), tree.isTail([second]), tree.isTail([first, other])]).toEqual([true, false, false]);
  });

  it('shows the newest branch, which shares its beginning', () => {
    expect(tree.path).toEqual([first, other]);
    expect(tree.branches.map(({ tip, reason, from }) => [tip, reason, from])).toEqual([
      [second, '', 1],
      [other, 'says no', 2],
    ]);
  });

  it('counts the places of a branch: every step, and the end of each turn', () => {
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

  it('goes to the next change of the session, over the borders of turns', () => {
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

  it('looks at the end of another branch when it is shown', () => {
    tree.select(other, 1);
    tree.showBranch(second);
    expect([tree.path, tree.cursor]).toEqual([[first, second], { turn: second, step: undefined }]);
  });

  it('drops turns that nobody went on from', () => {
    const more = new Tree();
    const kept = more.add(ended(undefined, []));
    const dropped = more.add(ended(kept, []));
    more.removeTurns([dropped]);
    expect([more.turns, more.head]).toEqual([[kept], undefined]);
  });
});

describe('the branches that were shown', () => {
  const tree = new Tree();
  const first = tree.add(ended(undefined, []));
  const second = tree.add(ended(first, []));
  const other = tree.add(ended(first, [], 'says no'));

  it('are gone back to and forward again', () => {
    expect([tree.canMove(-1), tree.canMove(1)]).toEqual([true, false]);
    tree.move(-1);
    expect([tree.head, tree.canMove(-1), tree.canMove(1)]).toEqual([second, false, true]);
    tree.move(-1);
    expect(tree.head).toBe(second);
    tree.move(1);
    expect(tree.head).toBe(other);
  });

  it('are shown as far as they have come since', () => {
    const third = tree.add(ended(other, []));
    tree.move(-1);
    tree.move(1);
    expect([tree.head, tree.canMove(1)]).toEqual([third, false]);
  });

  it('begin anew behind the one from which another is chosen', () => {
    tree.showBranch(undefined);
    tree.move(-1);
    tree.showBranch(second);
    expect(tree.canMove(1)).toBe(false);
    tree.move(-1);
    expect(tree.path.at(1)).toBe(other);
  });

  it('leave out what was dropped, also where the page is', () => {
    const more = new Tree();
    const kept = more.add(ended(undefined, []));
    const edited = more.add(ended(undefined, [], 'pack edited'));
    more.removeTurns([edited]);
    const again = more.add(ended(undefined, [], 'pack edited'));
    more.showBranch(kept);
    more.removeTurns([again]);
    expect([more.head, more.canMove(-1), more.canMove(1)]).toEqual([kept, false, false]);
    more.showBranch(undefined);
    more.clear();
    expect([more.canMove(-1), more.canMove(1)]).toEqual([false, false]);
  });
});
