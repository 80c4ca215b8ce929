-- MCP servers, and the tools of them that are approved, each as it was when it was approved.

create table if not exists ce_mcp_server (
  server_key text primary key not null,
  transport text not null default 'http',
  endpoint text,
  auth_ref text,
  tool_allow text,
  tool_deny text,
  protocol_mode text not null default 'auto',
  enabled boolean not null default true,
  description text
);

create table if not exists cv_mcp_tool (
  tool_code text primary key not null,
  definition text not null,
  approval text,
  created_at datetime not null default (strftime('%Y-%m-%d %H:%M:%f', 'now'))
);
