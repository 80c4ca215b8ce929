//! The MCP servers of a configuration, and the tools that are approved: `ce_mcp_server` and `cv_mcp_tool`.

use std::collections::{BTreeMap, BTreeSet};

use convengine_core::config::{Config, Issue, classify_mcp_tool, split_mcp_code};
use convengine_core::turn::{EffectClass, EffectError, EffectErrorDetail, EffectErrorKind, MCP_GROUP, Map};
use serde_json::Value;

/// Maximum characters of the name of a tool.
const MAX_NAME_CHARS: usize = 128;

/// The servers and approved tools of a configuration.
#[derive(Debug, Clone, Default)]
pub struct McpCatalog {
    /// Servers by key.
    pub servers: BTreeMap<String, McpServer>,
    /// Definitions of approved tools by code.
    approved: BTreeMap<String, Value>,
    /// How calls of a tool are approved, by code, if a row says so.
    approvals: BTreeMap<String, String>,
}

/// A row of `ce_mcp_server`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    /// `server_key`.
    pub key: String,
    /// `transport` with `endpoint`.
    pub transport: McpTransport,
    /// `auth_ref`: the secret that is sent as bearer token, if any.
    pub secret: Option<String>,
    /// `protocol_mode`.
    pub protocol: ProtocolMode,
    /// `tool_allow`; all tools if absent.
    pub allowed: Option<BTreeSet<String>>,
    /// `tool_deny`.
    pub denied: BTreeSet<String>,
    /// `enabled`.
    pub enabled: bool,
    /// `description`.
    pub description: Option<String>,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpTransport {
    /// Streamable HTTP at this URL.
    Http(String),
    /// A child process; the settings name its command.
    Stdio,
}

/// How a connection begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtocolMode {
    /// By what the server supports.
    Auto,
    /// Without a handshake, since revision 2026-07-28.
    Stateless,
    /// With a handshake, as in earlier revisions.
    Initialize,
}

impl McpCatalog {
    /// Reads the servers and tools of a configuration.
    pub fn from_config(config: &Config) -> McpCatalog {
        let mut catalog = McpCatalog::default();
        for row in config.source_rows("ce_mcp_server") {
            if let Ok(server) = McpServer::from_row(&row) {
                catalog.servers.insert(server.key.clone(), server);
            }
        }
        for row in config.source_rows("cv_mcp_tool") {
            let Some(code) = text(&row, "tool_code") else { continue };
            if let Some(definition) = text(&row, "definition").and_then(|text| serde_json::from_str(&text).ok()) {
                catalog.approved.insert(code.clone(), definition);
            }
            catalog.approvals.extend(text(&row, "approval").map(|it| (code, it)));
        }
        catalog
    }

    /// Returns an enabled server.
    ///
    /// # Errors
    /// `NotFound` for an unknown one, `Denied` for a disabled one.
    pub fn enabled_server(&self, key: &str) -> Result<&McpServer, EffectError> {
        let unknown = || EffectError::new(EffectErrorKind::NotFound, format!("unknown MCP server '{key}': add a row to ce_mcp_server"));
        let server = self.servers.get(key).ok_or_else(unknown)?;
        if server.enabled { Ok(server) } else { Err(denied(format!("the MCP server '{key}' is disabled: enable its row"))) }
    }

    /// Returns the approved definition of a tool.
    ///
    /// # Errors
    /// `Denied` if it is not approved.
    pub fn approved(&self, code: &str) -> Result<&Value, EffectError> {
        let unapproved = || denied(format!("the tool '{code}' is not approved: approve it among the tools of its server"));
        self.approved.get(code).ok_or_else(unapproved)
    }

    /// The approved definitions by code.
    pub fn definitions(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.approved.iter().map(|(code, definition)| (code.as_str(), definition))
    }

    /// Whether a person has to approve each call of an approved tool.
    pub fn needs_approval(&self, code: &str, definition: &Value) -> bool {
        match self.approval(code) {
            Some("always") => true,
            Some("never") => false,
            _ => classify_mcp_tool(definition).0 != EffectClass::Read,
        }
    }

    /// Returns how calls of a tool are approved, if a row says so.
    pub fn approval(&self, code: &str) -> Option<&str> {
        self.approvals.get(code).map(String::as_str)
    }

    /// The approved tools of a server.
    pub fn approved_tools<'c>(&'c self, server: &'c str) -> impl Iterator<Item = &'c str> {
        self.approved.keys().filter_map(move |code| split_mcp_code(code).filter(|parts| parts.0 == server).map(|parts| parts.1))
    }
}

impl McpServer {
    /// Checks that the row lets a tool be called.
    ///
    /// # Errors
    /// `Denied` if it does not.
    pub fn check_allowed(&self, tool: &str) -> Result<(), EffectError> {
        if self.allows(tool) {
            return Ok(());
        }
        Err(denied(format!("the row of the MCP server '{}' does not allow the tool '{tool}': see tool_allow and tool_deny", self.key)))
    }

    /// Whether the row lets a tool be called, and its name is one of the protocol.
    pub fn allows(&self, tool: &str) -> bool {
        let is_name = |character: char| character.is_ascii_alphanumeric() || "_-.".contains(character);
        let is_valid = !tool.is_empty() && tool.len() <= MAX_NAME_CHARS && tool.chars().all(is_name);
        is_valid && self.allowed.as_ref().is_none_or(|it| it.contains(tool)) && !self.denied.contains(tool)
    }

    /// Reads a row.
    ///
    /// # Errors
    /// The column and what is wrong with it.
    fn from_row(row: &Map) -> Result<McpServer, (&'static str, String)> {
        let key = text(row, "server_key").filter(|it| !it.contains('.'));
        let key = key.ok_or_else(|| ("server_key", "is blank or has a dot; use a name such as acme-oms".to_owned()))?;
        let endpoint = text(row, "endpoint");
        let transport = match (text(row, "transport").unwrap_or_else(|| "http".to_owned()).as_str(), endpoint) {
            ("http", Some(url)) if ["http", "https"].iter().any(|scheme| url.starts_with(&format!("{scheme}://"))) => {
                McpTransport::Http(url)
            }
            ("http", _) => return Err(("endpoint", "is not an HTTP URL".to_owned())),
            ("stdio", None) => McpTransport::Stdio,
            ("stdio", Some(_)) => {
                return Err(("endpoint", format!("is set, but the command of a child process is in convengine.mcp.servers.{key}")));
            }
            (other, _) => return Err(("transport", format!("must be http or stdio, not '{other}'"))),
        };
        let protocol = match text(row, "protocol_mode").as_deref() {
            None | Some("auto") => ProtocolMode::Auto,
            Some("stateless") => ProtocolMode::Stateless,
            Some("initialize") => ProtocolMode::Initialize,
            Some(other) => return Err(("protocol_mode", format!("must be auto, stateless or initialize, not '{other}'"))),
        };
        Ok(McpServer {
            key,
            transport,
            secret: text(row, "auth_ref"),
            protocol,
            allowed: text(row, "tool_allow").map(|it| parse_names(&it)),
            denied: text(row, "tool_deny").map(|it| parse_names(&it)).unwrap_or_default(),
            enabled: ![Some(&Value::Bool(false)), Some(&Value::from(0))].contains(&row.get("enabled")),
            description: text(row, "description"),
        })
    }
}

/// Returns the issues of the rows of servers, and of tools whose server does not let them be called; `rows` returns those of a table.
pub fn lint(rows: impl Fn(&str) -> Vec<Map>, has_command: impl Fn(&str) -> bool) -> Vec<Issue> {
    let mut issues = Vec::new();
    let mut servers = BTreeMap::new();
    for row in rows("ce_mcp_server") {
        let key = text(&row, "server_key").unwrap_or_default();
        match McpServer::from_row(&row) {
            Ok(server) => {
                if server.enabled && server.transport == McpTransport::Stdio && !has_command(&key) {
                    let hint = format!("set convengine.mcp.servers.{key}.command");
                    issues.push(Issue::error(
                        format!("ce_mcp_server[{key}].transport"),
                        "no setting names the command of the server",
                        hint,
                    ));
                }
                servers.insert(key, server);
            }
            Err((column, reason)) => {
                issues.push(Issue::error(format!("ce_mcp_server[{key}].{column}"), reason, "the server is not used until it is corrected"));
            }
        }
    }
    let approved: BTreeSet<String> = rows("cv_mcp_tool").iter().filter_map(|it| text(it, "tool_code")).collect();
    for row in rows("ce_mcp_tool") {
        let is_mcp = text(&row, "tool_group").is_some_and(|group| group.trim().eq_ignore_ascii_case(MCP_GROUP));
        let Some(code) = text(&row, "tool_code").filter(|_| is_mcp) else { continue };
        let path = || format!("ce_mcp_tool[{}].tool_code", row.get("tool_id").map(ToString::to_string).unwrap_or_default());
        let problem = match split_mcp_code(&code).map(|(key, tool)| (key, tool, servers.get(key))) {
            None => "is not of the form mcp.SERVER.TOOL".to_owned(),
            Some((key, _, None)) => format!("names the MCP server '{key}', which has no usable row"),
            Some((key, _, Some(server))) if !server.enabled => format!("names the MCP server '{key}', which is disabled"),
            Some((key, tool, Some(server))) if !server.allows(tool) => {
                format!("names the tool '{tool}', which the row of '{key}' does not allow")
            }
            Some(_) => {
                if !approved.contains(&code) {
                    let reason = format!("the tool '{code}' is not approved");
                    issues.push(Issue::warning(path(), reason, "approve it among the tools of its server"));
                }
                continue;
            }
        };
        issues.push(Issue::error(path(), problem, "the tool is not called until it is corrected"));
    }
    issues
}

fn text(row: &Map, column: &str) -> Option<String> {
    match row.get(column)? {
        Value::String(text) => Some(text.trim().to_owned()).filter(|it| !it.is_empty()),
        Value::Null => None,
        other => Some(other.to_string()),
    }
}

/// Parses a JSON list of names, or names separated by commas.
fn parse_names(text: &str) -> BTreeSet<String> {
    let names = serde_json::from_str::<Vec<String>>(text).unwrap_or_else(|_| text.split(',').map(str::to_owned).collect());
    names.iter().map(|name| name.trim().to_owned()).filter(|it| !it.is_empty()).collect()
}

fn denied(message: String) -> EffectError {
    EffectError::new(EffectErrorKind::Denied, message).with_detail(EffectErrorDetail::TOOL_DENIED)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn issues(server: Value, tool_code: &str) -> Vec<String> {
        let tables = json!({
            "ce_mcp_server": [server], "ce_mcp_tool": [{"tool_id": 4, "tool_group": "mcp", "tool_code": tool_code}],
        });
        lint(|table| serde_json::from_value(tables[table].clone()).unwrap_or_default(), |it| it == "local")
            .iter()
            .map(|finding| format!("{} {}", finding.path, finding.reason))
            .collect()
    }

    #[test]
    fn rows_that_cannot_work_are_reported() {
        let http = |members: Value| {
            let mut row = json!({"server_key": "a", "transport": "http", "endpoint": "https://a.example/mcp", "enabled": true});
            row.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
            row
        };
        let unapproved = |code: &str| format!("ce_mcp_tool[4].tool_code the tool '{code}' is not approved");
        assert_eq!(issues(http(json!({})), "mcp.a.x"), [unapproved("mcp.a.x")]);
        assert_eq!(issues(json!({"server_key": "local", "transport": "stdio"}), "mcp.local.x"), [unapproved("mcp.local.x")]);
        for (row, code, expected) in [
            (http(json!({"endpoint": "ftp://a"})), "x", "ce_mcp_server[a].endpoint is not an HTTP URL"),
            (http(json!({"transport": "stdio", "endpoint": "sh -c x"})), "x", "ce_mcp_server[a].endpoint is set, but"),
            (http(json!({"transport": "stdio", "endpoint": null})), "x", "ce_mcp_server[a].transport no setting names the command"),
            (http(json!({"protocol_mode": "x"})), "x", "ce_mcp_server[a].protocol_mode must be auto"),
            (http(json!({})), "x", "ce_mcp_tool[4].tool_code is not of the form"),
            (http(json!({})), "mcp.b.x", "ce_mcp_tool[4].tool_code names the MCP server 'b', which has no usable row"),
            (http(json!({"enabled": false})), "mcp.a.x", "ce_mcp_tool[4].tool_code names the MCP server 'a', which is disabled"),
            (http(json!({"tool_allow": "y, z"})), "mcp.a.x", "ce_mcp_tool[4].tool_code names the tool 'x', which the row of 'a'"),
            (http(json!({"tool_deny": "[\"x\"]"})), "mcp.a.x", "ce_mcp_tool[4].tool_code names the tool 'x', which the row of 'a'"),
        ] {
            let found = issues(row, code);
            assert!(found.iter().any(|it| it.starts_with(expected)), "{expected}: {found:?}");
        }
    }
}
