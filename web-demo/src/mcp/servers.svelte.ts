import { McpApi, McpRefusal } from './api';
import type { McpApproval, McpCallResult, McpServer, McpTool, McpToolList } from './tool';

const CONFLICT = 409;

/** The MCP servers of the page's server, as the dialog shows them. */
export class McpServers {
  /** Absent until the page is connected. */
  servers = $state.raw<McpServer[]>();
  /** The key of the server whose tools are shown. */
  selected = $state('');
  list = $state.raw<McpToolList>();
  busy = $state(false);
  /** What was done, and what went wrong. */
  notice = $state('');
  problem = $state('');

  private api = new McpApi('');

  /** Lists the servers with an API key, which stays in memory, and the tools of the first one. */
  async connect(key: string): Promise<void> {
    this.api = new McpApi(key.trim());
    await this.attempt(async () => {
      this.servers = await this.api.servers();
      const first = this.servers.find((it) => it.enabled);
      [this.selected, this.list] = [first?.key ?? '', undefined];
      if (first) await this.loadTools(first.key);
    });
  }

  /** Forgets the API key. */
  disconnect(): void {
    this.api = new McpApi('');
    [this.servers, this.list, this.selected, this.notice, this.problem] = [undefined, undefined, '', '', ''];
  }

  /** Lists the tools of a server. */
  async select(server: string): Promise<void> {
    [this.selected, this.list] = [server, undefined];
    await this.attempt(() => this.loadTools(server));
  }

  /** Approves a tool as it was listed. A tool that has changed meanwhile is listed again. Returns whether it was approved. */
  async approve(tool: McpTool, approval: Omit<McpApproval, 'digest'>): Promise<boolean> {
    const server = this.selected;
    return this.attempt(async () => {
      try {
        await this.api.approve(server, tool.name, { ...approval, digest: tool.digest });
      } catch (error) {
        if (error instanceof McpRefusal && error.status === CONFLICT) await this.loadTools(server);
        throw error;
      }
      await this.loadTools(server);
      this.notice = `${tool.name} is approved`;
    });
  }

  /** Withdraws the approval of a tool, by its name. */
  async withdraw(tool: string): Promise<boolean> {
    const server = this.selected;
    return this.attempt(async () => {
      await this.api.withdraw(server, tool);
      await this.loadTools(server);
      this.notice = `The approval of ${tool} is withdrawn`;
    });
  }

  /** Calls a tool with arguments as JSON. */
  call(tool: McpTool, argumentsText: string, signal: AbortSignal): Promise<McpCallResult> {
    return this.api.call(this.selected, tool.name, argumentsText, signal);
  }

  private async loadTools(server: string): Promise<void> {
    const list = await this.api.tools(server);
    // Another server may have been selected meanwhile.
    if (this.selected === server) this.list = list;
  }

  private async attempt(action: () => Promise<void>): Promise<boolean> {
    [this.busy, this.notice, this.problem] = [true, '', ''];
    try {
      await action();
      return true;
    } catch (error) {
      this.problem = (error as Error).message;
      return false;
    } finally {
      this.busy = false;
    }
  }
}

/** The servers that this page is connected to; kept while the dialog is closed. */
export const mcpServers = new McpServers();
