/**
 * Separates what a model thinks aloud from its answer, by the rules of the engine (`core/text/src/reasoning.rs`): the engine does the same to
 * the whole answer, this class to one that is still being streamed.
 */

/** The tags that open and close thoughts. */
const TAGS = [
  ['<think>', '</think>'],
  ['<thinking>', '</thinking>'],
  ['<thought>', '</thought>'],
  ['<reasoning>', '</reasoning>'],
  ['<seed:think>', '</seed:think>'],
  ['[think]', '[/think]'],
  ['<|channel|>analysis<|message|>', '<|channel|>final<|message|>'],
] as const;

const LONGEST_TAG = 30;

/** The most white space before a block. */
const MAX_BLANK = 1024;

type Tag = (typeof TAGS)[number];

/** An answer that is read piece by piece, and the thoughts that were separated from it. */
export class ReasoningSplitter {
  /** The answer so far. It only grows, except when a closing tag turns all of it into thoughts. */
  answer = '';
  /** The thoughts so far. */
  reasoning = '';
  /** How many characters that were the answer turned out to be thoughts. */
  withdrawn = 0;
  /** What is not decided yet: the beginning of a tag, or an open block. */
  private pending = '';
  private searched = 0;
  private open: { tag: Tag; beginsLine: boolean } | undefined;
  private hasBlock = false;

  /** Adds a piece of the answer. */
  push(piece: string): void {
    this.pending += piece;
    while (this.open ? this.readBlock(this.open.tag) : this.readAnswer());
  }

  /** Ends the answer; what was not decided is answer or thoughts now. */
  finish(): void {
    const { open, pending } = this;
    this.open = undefined;
    this.pending = '';
    if (open?.beginsLine) this.endBlock(pending);
    else this.addAnswer((open?.tag[0] ?? '') + pending);
  }

  /** Reads up to the end of the open block; returns whether there is more to read. */
  private readBlock([, close]: Tag): boolean {
    const at = this.pending.toLowerCase().indexOf(close, this.searched);
    if (at < 0) {
      this.searched = Math.max(0, this.pending.length + 1 - close.length);
      return false;
    }
    this.endBlock(this.pending.slice(0, at));
    this.pending = this.pending.slice(at + close.length);
    this.open = undefined;
    return true;
  }

  /** Reads up to the next tag; returns whether there is more to read. */
  private readAnswer(): boolean {
    const found = this.findTag();
    if (!found) {
      const settled = this.pending.slice(0, this.pending.length - undecidedLength(this.pending));
      // White space at the beginning may stand before a block.
      if (this.answer || settled.trim() || settled.length >= MAX_BLANK) {
        this.addAnswer(settled);
        this.pending = this.pending.slice(settled.length);
      }
      return false;
    }
    const before = this.pending.slice(0, found.at);
    this.pending = this.pending.slice(found.at + found.tag[found.closes ? 1 : 0].length);
    if (found.closes) {
      this.withdrawn += this.answer.length;
      this.endBlock(this.answer + before);
      this.answer = '';
      return true;
    }
    if (this.answer || before.trim()) this.addAnswer(before);
    this.open = { tag: found.tag, beginsLine: !this.answer.slice(this.answer.lastIndexOf('\n') + 1).trim() };
    this.searched = 0;
    return true;
  }

  /** Returns the first tag that counts: none in backticks, and a closing one only where no block was closed before it. */
  private findTag(): { at: number; tag: Tag; closes: boolean } | undefined {
    const text = this.pending.toLowerCase();
    for (let from = 0; ; ) {
      const found = TAGS.flatMap((tag) => [
        { at: text.indexOf(tag[0], from), tag, closes: false },
        { at: this.hasBlock ? -1 : text.indexOf(tag[1], from), tag, closes: true },
      ]).filter(({ at }) => at >= 0).sort((a, b) => a.at - b.at)[0];
      if (!found) return undefined;
      if ((this.answer + this.pending.slice(0, found.at)).at(-1) !== '`') return found;
      from = found.at + 1;
    }
  }

  /** Adds to the answer. White space between a block and the answer belongs to neither. */
  private addAnswer(text: string): void {
    this.answer += this.hasBlock && !this.answer ? text.trimStart() : text;
  }

  private endBlock(block: string): void {
    const thoughts = block.trim();
    this.reasoning += thoughts && this.reasoning ? `\n${thoughts}` : thoughts;
    this.hasBlock = true;
  }
}

/** How many characters at the end of a text may be the beginning of a tag. */
function undecidedLength(text: string): number {
  const tail = text.slice(-LONGEST_TAG).toLowerCase();
  for (let at = 0; at < tail.length; at++) {
    const rest = tail.slice(at);
    if (TAGS.some((tag) => tag.some((it) => it.startsWith(rest)))) return rest.length;
  }
  return 0;
}
