/** Calls of `/api/v1/mcp/servers` of the server that serves the page. */
import type { McpApproval, McpCallResult, McpServer, McpToolList } from './tool';

const PREFIX = 'api/v1/mcp/servers';

/** A refusal of the server; status 0 if there is no server. */
export class McpRefusal extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** The routes with a caller's key. */
export class McpApi {
  /** A key; empty where the server asks for none. */
  constructor(private readonly key: string) {}

  async servers(): Promise<McpServer[]> {
    return (await this.request<{ servers: McpServer[] }>('GET', '')).servers;
  }

  tools(server: string): Promise<McpToolList> {
    return this.request('GET', `/${encodeURIComponent(server)}/tools`);
  }

  async approve(server: string, tool: string, approval: McpApproval): Promise<void> {
    await this.request('PUT', `${toolPath(server, tool)}/approval`, approval);
  }

  async withdraw(server: string, tool: string): Promise<void> {
    await this.request('DELETE', `${toolPath(server, tool)}/approval`);
  }

  /** Calls a tool; `argumentsText` is a JSON object and is sent as it is, because numbers may be larger than those of the page. */
  call(server: string, tool: string, argumentsText: string, signal?: AbortSignal): Promise<McpCallResult> {
    return this.send('POST', `${toolPath(server, tool)}/call`, `{"arguments":${argumentsText}}`, signal);
  }

  private request<T>(method: string, path: string, body?: object): Promise<T> {
    return this.send(method, path, body && JSON.stringify(body));
  }

  private async send<T>(method: string, path: string, body?: string, signal?: AbortSignal): Promise<T> {
    const headers = { ...(this.key && { Authorization: `Bearer ${this.key}` }), ...(body && { 'Content-Type': 'application/json' }) };
    const response = await fetch(PREFIX + path, { method, headers, ...(body && { body }), ...(signal && { signal }) }).catch((error: Error) => {
      throw error.name === 'AbortError' ? error : new McpRefusal(0, 'the server of this page cannot be reached');
    });
    if (!response.ok) throw await refusal(response);
    if (response.status === 204) return undefined as T;
    return (await response.json().catch(() => {
      throw new McpRefusal(0, 'this page is not served by a ConvEngine server');
    })) as T;
  }
}

function toolPath(server: string, tool: string): string {
  return `/${encodeURIComponent(server)}/tools/${encodeURIComponent(tool)}`;
}

async function refusal(response: Response): Promise<McpRefusal> {
  const { status } = response;
  const body = (await response.json().catch(() => ({}))) as { message?: unknown; error?: { message?: unknown } };
  const given = [body.message, body.error?.message].find((it) => typeof it === 'string');
  if (status === 401 || status === 403) return new McpRefusal(status, `not authorized; enter an API key that may do this${given ? ` (${given})` : ''}`);
  if (given === undefined) return new McpRefusal(status, status === 404 ? 'this page is not served by a ConvEngine server' : `the server answered with HTTP ${status}`);
  return new McpRefusal(status, String(given));
}
