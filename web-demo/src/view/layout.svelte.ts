import { tick } from 'svelte';

/** The areas of the page, in the order in which F6 goes through them. */
export const AREAS = ['chat', 'timeline', 'inspector', 'config'] as const;

/** One of them. */
export type Area = (typeof AREAS)[number];

/** The parts of the inspector. */
export type InspectorTab = 'diff' | 'why' | 'vars' | 'tree' | 'params' | 'row' | 'effect';

/** What is shown above everything else. */
export type Dialog = 'samples' | 'import' | 'export' | 'share' | 'commands';

/** A row of the configuration. */
export interface RowReference {
  table: string;
  id: string;
}

/** A node of a flow document. */
export interface NodeReference {
  graph: string;
  id: string;
}

/** Which areas are seen, on screens that do not have room for all of them. */
class Layout {
  area = $state<Area>('chat');
  configOpen = $state(true);
  /** What the inspector shows. */
  tab = $state<InspectorTab>('diff');
  /** The row that the configuration is asked to show. */
  requestedRow = $state.raw<RowReference>();
  /** The node of a flow document that the configuration is asked to show. */
  requestedNode = $state.raw<NodeReference>();
  dialog = $state<Dialog>();
  private opener: Element | null = null;

  /** Goes to an area and puts the keyboard's focus there. */
  focusArea(area: Area, focus = true): void {
    this.area = area;
    if (area === 'config') this.configOpen = true;
    if (focus) void tick().then(() => findEntry(area)?.focus());
  }

  /** Goes to the inspector and shows one of its parts. */
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
  showNode(graph: string, id: string): void {
    this.requestedNode = { graph, id };
    this.focusArea('config', false);
  }

  /** Opens a dialog; the last one that closes gives the focus back. */
  openDialog(dialog: Dialog): void {
    this.opener ??= document.activeElement;
    this.dialog = dialog;
  }

  /** Closes the dialog. */
  closeDialog(): void {
    this.dialog = undefined;
    // While the dialog is there, nothing beside it takes the focus; and a command may have opened another one.
    void tick().then(() => {
      if (this.dialog) return;
      if (this.opener instanceof HTMLElement) this.opener.focus();
      this.opener = null;
    });
  }

  /** Goes to the area after the one that has the focus, or before it. */
  focusNextArea(direction: 1 | -1): void {
    const at = AREAS.findIndex((it) => document.getElementById(it)?.contains(document.activeElement));
    const open = AREAS.filter((it) => it !== 'config' || this.configOpen);
    const from = at < 0 ? (direction > 0 ? -1 : 0) : open.indexOf(AREAS[at] ?? 'chat');
    this.focusArea(open[(from + direction + open.length) % open.length] ?? 'chat');
  }
}

/** What gets the focus in an area. */
function findEntry(area: Area): HTMLElement | null {
  const root = document.getElementById(area);
  return root?.querySelector<HTMLElement>('[data-entry]') ?? root?.querySelector<HTMLElement>('button, [tabindex="0"], input, textarea') ?? null;
}

/** The layout of this page. */
export const layout = new Layout();
