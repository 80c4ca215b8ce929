/** The CodeMirror editor of a pack's text; loaded when the text is first shown. */
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, type CompletionContext } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { json } from '@codemirror/lang-json';
import { bracketMatching, codeFolding, foldGutter, foldKeymap, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { lintGutter, lintKeymap, setDiagnostics, type Diagnostic } from '@codemirror/lint';
import { highlightSelectionMatches, openSearchPanel, search, searchKeymap } from '@codemirror/search';
import { Annotation, EditorState, type Extension } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers, tooltips } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { listTables, type PackTable } from '../pack/rows';
import { complete, buildVocabulary, type Vocabulary } from './completion';
import type { Finding } from './findings';
import { replaceSelection } from './replace-selection';

/** The page's interface to the editor. */
export interface TextEditor {
  /** Replaces the text and keeps the cursor where possible. */
  setText(text: string): void;
  /** Marks findings in the text. */
  setFindings(findings: Finding[]): void;
  /** Selects a range and scrolls to it. */
  reveal(start: number, end: number): void;
  /** Opens the search panel. */
  openSearch(): void;
  focus(): void;
  destroy(): void;
}

/** Callbacks and settings of an editor. */
export interface EditorHooks {
  label: string;
  onChange(text: string): void;
  onApply(): void;
  /** Loads other packs, whose columns are completed as well. */
  loadSamples(): Promise<string[]>;
  /** Called when the text gains or loses focus. */
  onFocusChange(has: boolean): void;
}

const FROM_PAGE = Annotation.define<boolean>();

/**
 * Creates an editor in an element.
 *
 * It lives in a shadow tree: there the editor adopts its styles, while the page's content policy forbids style elements.
 */
export function createEditor(host: HTMLElement, text: string, hooks: EditorHooks): TextEditor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
  const parent = document.createElement('div');
  root.replaceChildren(parent);
  const view = new EditorView({ root, parent, state: EditorState.create({ doc: text, extensions: createExtensions(hooks) }) });
  return {
    setText(next) {
      const old = view.state.doc.toString();
      if (old === next) return;
      view.dispatch({ changes: findChange(old, next), annotations: FROM_PAGE.of(true) });
    },
    setFindings(findings) {
      const length = view.state.doc.length;
      view.dispatch(setDiagnostics(view.state, findings.filter((it) => it.end <= length).map(toDiagnostic)));
    },
    reveal(start, end) {
      const length = view.state.doc.length;
      const selection = { anchor: Math.min(start, length), head: Math.min(end, length) };
      view.dispatch({ selection, effects: EditorView.scrollIntoView(selection.anchor, { y: 'center' }) });
      view.focus();
    },
    openSearch: () => void openSearchPanel(view),
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  };
}

function createExtensions(hooks: EditorHooks): Extension[] {
  const loadVocabulary = vocabularyLoader(hooks);
  return [
    lineNumbers(),
    lintGutter(),
    codeFolding(),
    foldGutter({ openText: '▾', closedText: '▸' }),
    highlightActiveLineGutter(),
    highlightActiveLine(),
    history(),
    drawSelection(),
    indentOnInput(),
    indentUnit.of('  '),
    bracketMatching(),
    closeBrackets(),
    highlightSelectionMatches(),
    search({ top: true }),
    tooltips({ position: 'fixed' }),
    replaceSelection,
    json(),
    syntaxHighlighting(COLOURS),
    THEME,
    autocompletion({ override: [(context) => completeAt(context, loadVocabulary)], icons: false }),
    EditorView.contentAttributes.of({ 'aria-label': hooks.label, tabindex: '0', spellcheck: 'false', autocapitalize: 'off' }),
    EditorView.updateListener.of((update) => {
      if (update.focusChanged) hooks.onFocusChange(update.view.hasFocus);
      if (update.docChanged && !update.transactions.some((it) => it.annotation(FROM_PAGE))) hooks.onChange(update.state.doc.toString());
    }),
    keymap.of([
      { key: 'Mod-Enter', run: () => (hooks.onApply(), true) },
      ...closeBracketsKeymap,
      ...completionKeymap,
      ...searchKeymap,
      ...historyKeymap,
      ...foldKeymap,
      ...lintKeymap,
      ...TAB_KEYS,
      ...defaultKeymap,
    ]),
  ];
}

/** Tab inserts two spaces; after Escape it leaves the editor, which CodeMirror handles. */
const TAB_KEYS = [
  {
    key: 'Tab',
    run: (view: EditorView) => {
      if (view.state.readOnly) return false;
      view.dispatch(view.state.replaceSelection('  '));
      return true;
    },
  },
];

/** Returns a loader of a text's vocabulary; while the text is invalid JSON it returns the last valid one. */
function vocabularyLoader(hooks: EditorHooks): (text: string) => Promise<Vocabulary> {
  let samples: Promise<PackTable[][]> | undefined;
  let known: Vocabulary | undefined;
  return async (text) => {
    // Completion works without the samples, with fewer values.
    samples ??= hooks.loadSamples().then((all) => all.map(listTables)).catch(() => []);
    const others = await samples;
    try {
      known = buildVocabulary(listTables(text), others);
    } catch {
      // The text is usually invalid JSON while it is being typed.
    }
    return (known ??= buildVocabulary([], others));
  };
}

async function completeAt(context: CompletionContext, loadVocabulary: (text: string) => Promise<Vocabulary>) {
  const text = context.state.doc.toString();
  const found = complete(text, context.pos, await loadVocabulary(text));
  if (context.aborted || !found || (found.from === context.pos && !context.explicit)) return null;
  return { from: found.from, to: found.to, options: found.options.map((it) => ({ ...it, type: 'property' })), validFor: /^"?[\w.]*$/ };
}

function toDiagnostic(finding: Finding): Diagnostic {
  const { start: from, end: to, severity, rule } = finding;
  return {
    from,
    to,
    severity,
    message: finding.reason,
    source: rule,
    renderMessage: () => {
      const box = document.createElement('div');
      for (const [className, text] of [['reason', finding.reason], ['hint', finding.hint], ['rule', rule]] as const) {
        if (!text) continue;
        const line = box.appendChild(document.createElement('div'));
        line.className = className;
        line.textContent = text;
      }
      return box;
    },
  };
}

/** The smallest range that differs between two texts, so that a cursor elsewhere does not move. */
function findChange(old: string, next: string): { from: number; to: number; insert: string } {
  let from = 0;
  while (from < old.length && from < next.length && old[from] === next[from]) from++;
  let tail = 0;
  const most = Math.min(old.length, next.length) - from;
  while (tail < most && old[old.length - 1 - tail] === next[next.length - 1 - tail]) tail++;
  return { from, to: old.length - tail, insert: next.slice(from, next.length - tail) };
}

const COLOURS = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--key)' },
  { tag: tags.string, color: 'var(--string)' },
  { tag: tags.number, color: 'var(--number)' },
  { tag: [tags.bool, tags.null], color: 'var(--word)' },
  { tag: [tags.separator, tags.brace, tags.squareBracket], color: 'var(--ink-soft)' },
]);

const THEME = EditorView.theme({
  '&': { height: '100%', color: 'var(--ink)', backgroundColor: 'var(--sunken)', fontSize: '12.5px' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '20px', overflow: 'auto' },
  '.cm-content': { padding: '8px 0', caretColor: 'var(--ink)' },
  '.cm-line': { padding: '0 10px 0 6px' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)', borderLeftWidth: '2px' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    background: 'var(--selection, color-mix(in srgb, var(--accent) 26%, transparent))',
  },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'color-mix(in srgb, var(--accent) 7%, transparent)' },
  '.cm-gutters': { backgroundColor: 'var(--sunken)', color: 'var(--ink-soft)', border: 'none', paddingLeft: '6px' },
  '.cm-foldGutter .cm-gutterElement': { cursor: 'pointer', padding: '0 3px' },
  '.cm-foldPlaceholder': { background: 'var(--accent-wash)', border: 'none', color: 'var(--accent)', padding: '0 6px' },
  '.cm-gutter-lint': { width: '18px' },
  '.cm-gutter-lint .cm-gutterElement': { padding: '0 2px' },
  '.cm-lint-marker': { width: '14px', height: '20px', content: 'none', fontWeight: '700', textAlign: 'center' },
  '.cm-lint-marker::before': { content: '"!"', color: 'var(--warn)' },
  '.cm-lint-marker-error::before': { content: '"✕"', color: 'var(--bad)' },
  '.cm-lintRange': { backgroundImage: 'none', textDecoration: 'underline wavy var(--warn) 1px', textUnderlineOffset: '3px', textDecorationSkipInk: 'none' },
  '.cm-lintRange-error': { textDecorationColor: 'var(--bad)' },
  '.cm-lintRange-active': { backgroundColor: 'var(--warn-wash)' },
  '.cm-tooltip': {
    border: '1px solid var(--line-strong)',
    borderRadius: '8px',
    backgroundColor: 'var(--surface)',
    color: 'var(--ink)',
    boxShadow: '0 4px 16px rgb(0 0 0 / 18%)',
    maxWidth: 'min(420px, 90vw)',
    overflow: 'hidden',
  },
  '.cm-diagnostic': { padding: '8px 12px', borderLeft: '3px solid var(--warn)', fontFamily: 'var(--sans)', fontSize: '13px', lineHeight: '1.45' },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--bad)' },
  '.cm-diagnostic .hint, .cm-diagnostic .rule': { color: 'var(--ink-soft)' },
  '.cm-diagnostic .rule': { fontFamily: 'var(--mono)', fontSize: '12px' },
  '.cm-diagnosticSource': { display: 'none' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', fontSize: '12.5px', maxHeight: '260px' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '3px 10px', lineHeight: '20px' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { background: 'var(--accent)', color: 'var(--accent-ink)' },
  '.cm-completionDetail': { color: 'inherit', opacity: '0.8', fontStyle: 'normal', marginLeft: '14px' },
  '.cm-matchingBracket, &.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--accent-wash)', outline: '1px solid var(--line-strong)' },
  '.cm-selectionMatch': { backgroundColor: 'color-mix(in srgb, var(--accent) 14%, transparent)' },
  '.cm-searchMatch': { backgroundColor: 'var(--warn-wash)', outline: '1px solid var(--warn)' },
  '.cm-searchMatch-selected': { backgroundColor: 'color-mix(in srgb, var(--warn) 35%, transparent)' },
  '.cm-panels': { backgroundColor: 'var(--surface)', color: 'var(--ink)', borderBottom: '1px solid var(--line)', fontFamily: 'var(--sans)' },
  '.cm-panel.cm-search': { padding: '6px 30px 6px 8px', fontSize: '13px' },
  '.cm-panel.cm-search label': { fontSize: '13px', display: 'inline-flex', alignItems: 'center', minHeight: '24px', gap: '2px' },
  '.cm-panel.cm-search [name=close]': { width: '24px', height: '24px', fontSize: '18px' },
  '.cm-textfield': { border: '1px solid var(--line-strong)', borderRadius: '6px', backgroundColor: 'var(--surface)', color: 'var(--ink)', padding: '3px 8px', fontSize: '13px' },
  '.cm-panel :focus-visible': { outline: '2px solid var(--accent)', outlineOffset: '1px' },
  '.cm-button': {
    border: '1px solid var(--line)',
    borderRadius: '6px',
    background: 'var(--surface)',
    backgroundImage: 'none',
    color: 'var(--ink)',
    padding: '3px 10px',
    minHeight: '24px',
    fontSize: '13px',
  },
});
