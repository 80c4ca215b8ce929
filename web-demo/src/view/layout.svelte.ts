import { tick } from 'svelte';

/** The areas of the page, in F6 order. */
export const AREAS = ['chat', 'timeline', 'inspector', 'config'] as const;

/** An area of the page. */
export type Area = (typeof AREAS)[number];

/** The tabs of the inspector. */
export type InspectorTab = 'diff' | 'why' | 'vars' | 'tree' | 'params' | 'row' | 'effect';

/** The modal dialogs. */
export type Dialog = 'samples' | 'import' | 'export' | 'share' | 'commands' | 'mcp';

/** A reference to a configuration row. */
export interface RowReference {
  table: string;
  id: string;
}

/** A reference to a node of a flow document. */
export interface NodeReference {
  graph: string;
  id: string;
  /** The line of its script. */
  line?: number;
}

/** The visible area, tab and dialog. */
class Layout {
  area = $state<Area>('chat');
  configOpen = $state(true);
  /** The open tab of the inspector. */
  tab = $state<InspectorTab>('diff');
  /** The row that the configuration shows next. */
  requestedRow = $state.raw<RowReference>();
  /** The node that the configuration shows next. */
  requestedNode = $state.raw<NodeReference>();
  dialog = $state<Dialog>();
  private opener: Element | null = null;

  /** Shows an area and moves the focus there. */
  focusArea(area: Area, focus = true): void {
    this.area = area;
    if (area === 'config') this.configOpen = true;
    if (focus) void tick().then(() => findEntry(area)?.focus());
  }

  /** Opens a tab of the inspector. */
  openInspector(tab: InspectorTab): void {
    this.tab = tab;
    this.focusArea('inspector');
  }

  /** Shows a row in the configuration. */
  showRow(table: string, id: string): void {
    this.requestedRow = { table, id };
    this.focusArea('config', false);
  }

  /** Shows a node in the graph of the configuration. */
  showNode(graph: string, id: string, line?: number): void {
    this.requestedNode = { graph, id, ...(line === undefined ? {} : { line }) };
    this.focusArea('config', false);
  }

  /** Opens a dialog; closing the last one restores the focus. */
  openDialog(dialog: Dialog): void {
    this.opener ??= document.activeElement;
    this.dialog = dialog;
  }

  /** Closes the dialog. */
  closeDialog(): void {
    this.dialog = undefined;
    // The focus cannot move while the dialog is open, and a command may have opened another one.
    void tick().then(() => {
      if (this.dialog) return;
      if (this.opener instanceof HTMLElement) this.opener.focus();
      this.opener = null;
    });
  }

  /** Moves the focus to the next or previous area. */
  focusNextArea(direction: 1 | -1): void {
    const at = AREAS.findIndex((it) => document.getElementById(it)?.contains(document.activeElement));
    const open = AREAS.filter((it) => it !== 'config' || this.configOpen);
    const from = at < 0 ? (direction > 0 ? -1 : 0) : open.indexOf(AREAS[at] ?? 'chat');
    this.focusArea(open[(from + direction + open.length) % open.length] ?? 'chat');
  }
}

/** The element that takes the focus in an area. */
function findEntry(area: Area): HTMLElement | null {
  const root = document.getElementById(area);
  return root?.querySelector<HTMLElement>('[data-entry]') ?? root?.querySelector<HTMLElement>('button, [tabindex="0"], input, textarea') ?? null;
}

/** The layout of this page. */
export const layout = new Layout();
