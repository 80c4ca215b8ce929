/** Tells whether keys that are pressed there write something. */
export function isTextInput(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  // Nothing is written into a slider or a box to check.
  if (target instanceof HTMLInputElement && ['range', 'checkbox', 'radio'].includes(target.type)) return target.closest('dialog') !== null;
  // What is inside of a shadow root is not told apart: an editor is there.
  return target.isContentEditable || target.shadowRoot !== null || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName) || target.closest('dialog') !== null;
}
