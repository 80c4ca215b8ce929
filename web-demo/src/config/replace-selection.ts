import { EditorView } from '@codemirror/view';

/**
 * Replaces the selection with typed text.
 *
 * When the browser does this itself, it copies the colours as inline styles, which violates the page's content policy.
 */
export const replaceSelection = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const insert = event.data;
    if (event.inputType !== 'insertText' || insert === null || view.composing) return false;
    const { from, to } = currentSelection(view);
    if (from === to) return false;
    event.preventDefault();
    const plain = () => view.state.update({ changes: { from, to, insert }, selection: { anchor: from + insert.length }, userEvent: 'input.type', scrollIntoView: true });
    if (!view.state.facet(EditorView.inputHandler).some((handle) => handle(view, from, to, insert, plain))) view.dispatch(plain());
    return true;
  },
});

/**
 * The current selection, which the editor may not have received yet.
 *
 * Only the visible part of a long text is in the DOM: selecting all of it selects the whole text.
 */
function currentSelection(view: EditorView): { from: number; to: number } {
  const { main } = view.state.selection;
  const { viewport, contentDOM } = view;
  const range = (view.root as { getSelection?: () => Selection | null }).getSelection?.();
  const { anchorNode, focusNode } = range ?? {};
  if (!range || !anchorNode || !focusNode || !contentDOM.contains(anchorNode) || !contentDOM.contains(focusNode)) return main;
  const ends = [view.posAtDOM(anchorNode, range.anchorOffset), view.posAtDOM(focusNode, range.focusOffset)];
  const from = Math.min(...ends);
  const to = Math.max(...ends);
  const all = from < to && from <= viewport.from && to >= viewport.to;
  if (all && !(main.from <= viewport.from && main.to >= viewport.to)) return { from: 0, to: view.state.doc.length };
  return main.empty ? { from, to } : main;
}
