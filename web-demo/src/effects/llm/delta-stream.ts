import type { Token } from '../../types';
import type { Secrets } from '../secrets';

/** Pieces of an answer on their way to who follows the turn, without the secrets in them. */
export class Deltas {
  private held = '';
  private begun = false;

  constructor(
    private readonly effect: number,
    private readonly secrets: Secrets,
    private readonly tell: (token: Token) => void,
  ) {}

  /** An attempt begins; what an earlier one has shown is taken back. */
  begin(): void {
    this.held = '';
    if (this.begun) this.tell({ effect: this.effect, reset: true });
    this.begun = true;
  }

  /** Shows a piece as far as no secret can be in it any more. */
  push(text: string): void {
    this.held += text;
    this.show(this.secrets.settled(this.held));
  }

  /** Shows the rest of an answer that is complete. */
  end(): void {
    this.show(this.held.length);
  }

  private show(end: number): void {
    if (end > 0) this.tell({ effect: this.effect, text: this.secrets.scrub(this.held.slice(0, end)) });
    this.held = this.held.slice(end);
  }
}
