/** Whether an element takes typed text, so that single-key shortcuts must not fire. */
export function isTextInput(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  // Sliders, checkboxes and radio buttons take no text.
  if (target instanceof HTMLInputElement && ['range', 'checkbox', 'radio'].includes(target.type)) return target.closest('dialog') !== null;
  // A shadow root contains the editor.
  return target.isContentEditable || target.shadowRoot !== null || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName) || target.closest('dialog') !== null;
}
