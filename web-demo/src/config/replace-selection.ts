import { EditorView } from '@codemirror/view';

/**
 * Replaces what is selected by what is typed.
 *
 * A browser that does this itself gives the new text the colours of the old one, as inline styles, of which the page's policy complains.
 */
export const replacing = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const insert = event.data;
    if (event.inputType !== 'insertText' || insert === null || view.composing) return false;
    const { from, to } = selected(view);
    if (from === to) return false;
    event.preventDefault();
    const plain = () => view.state.update({ changes: { from, to, insert }, selection: { anchor: from + insert.length }, userEvent: 'input.type', scrollIntoView: true });
    if (!view.state.facet(EditorView.inputHandler).some((handle) => handle(view, from, to, insert, plain))) view.dispatch(plain());
    return true;
  },
});

/**
 * What is selected at this moment, which the editor may not have heard of yet.
 *
 * Of a long text only a part is in the page: whoever selects all of that part means the whole.
 */
function selected(view: EditorView): { from: number; to: number } {
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
