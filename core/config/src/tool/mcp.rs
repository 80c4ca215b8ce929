//! Tools of MCP servers, as approved in `cv_mcp_tool`. (docs/spec/tools.md#7)

use std::collections::BTreeMap;
use std::sync::Arc;

use convengine_text::json::schema::JsonSchema;
use convengine_turn::EffectClass;
use serde_json::{Value, json};

use super::executor::ArgumentsSchema;
use crate::column::{CREATED_AT, DESCRIPTION, ENABLED, TableShape, json, keyword, text, word};
use crate::flow::document::Approval;
use crate::flow::shape::{Keyword, Meaning};
use crate::issue::Issue;
use crate::mcp_code::split_mcp_code;
use crate::row::TableRow;
use crate::tables::Tables;

pub(crate) static SERVER: TableShape = TableShape {
    name: "ce_mcp_server",
    help: "Servers of the Model Context Protocol whose tools may be called. See [MCP servers](../guide/mcp-client.md).",
    columns: &[
        text("server_key", "name of the server in codes of tools; without dots"),
        word(
            "transport",
            &["http", "stdio"],
            "`http` or `stdio`; the command of a `stdio` server is in `convengine.mcp.servers.KEY`, never in a row",
        ),
        text("endpoint", "address of an `http` server"),
        json("auth_ref", "name of a secret that is sent as bearer token").with_meaning(Meaning::Secret),
        json("tool_allow", "names of tools that may be called, a JSON list or separated by commas; null for all"),
        json("tool_deny", "names of tools that must not be called"),
        word(
            "protocol_mode",
            &["auto", "stateless", "initialize"],
            "`auto`, `stateless` (since revision 2026-07-28) or `initialize` (before)",
        ),
        ENABLED,
        DESCRIPTION.with_help("what the server is for"),
    ],
};

pub(crate) static MCP_TOOL: TableShape = TableShape {
    name: "cv_mcp_tool",
    help: "Approved tools of MCP servers. A tool that its server describes otherwise than here is not called.",
    columns: &[
        text("tool_code", "`mcp.SERVER.TOOL`").with_example(r#""mcp.orders.find""#),
        json(
            "definition",
            "JSON of the tool as it was listed when it was approved: `name`, `title`, `description`, `inputSchema`, `outputSchema`, `annotations`",
        ),
        keyword::<Approval>(
            "approval",
            "when a person approves a call: `always`, `write` (the default: unless the tool only reads) or `never`",
        ),
        CREATED_AT,
    ],
};

/// A tool of an MCP server.
#[derive(Debug, Clone)]
pub struct McpTool {
    /// The server.
    pub server: String,
    /// Its name there.
    pub name: String,
    /// What a call does.
    pub class: EffectClass,
    /// Whether repeating a call with the same arguments changes nothing more.
    pub is_idempotent: bool,
    /// Whether the user approves each call.
    pub needs_approval: bool,
    /// The description for planners.
    pub description: Option<String>,
    /// The schema of its arguments, if it demands anything.
    pub arguments: Option<ArgumentsSchema>,
}

impl McpTool {
    /// Creates the setup that a call carries; `is_approved` is whether a person has approved the call.
    pub fn spec(&self, is_approved: bool) -> Value {
        mcp_spec(&self.server, &self.name, self.class, self.is_idempotent, is_approved)
    }
}

/// Approved tools by code, or the reason why a row was skipped.
#[derive(Debug, Default)]
pub(super) struct McpTools(BTreeMap<String, Result<Arc<McpTool>, Arc<str>>>);

impl McpTools {
    /// Compiles the rows of `cv_mcp_tool`.
    pub fn compile(tables: &Tables, issues: &mut Vec<Issue>) -> McpTools {
        let mut tools = McpTools::default();
        for row in tables.rows_of(&MCP_TOOL) {
            let code = row.code("tool_code").unwrap_or_default();
            let compiled = compile(&row, &code).map(Arc::new).map_err(|(column, reason)| {
                let issue = row.error(column, &reason, "the tool is approved again");
                let reason = format!("{} {reason}", issue.path).into();
                issues.push(issue);
                reason
            });
            tools.0.insert(code, compiled);
        }
        tools
    }

    /// Returns an approved tool.
    ///
    /// # Errors
    /// Why it cannot be called.
    pub fn find(&self, code: &str) -> Result<Arc<McpTool>, Arc<str>> {
        let missing = || format!("the tool '{code}' is not approved: approve it among the tools of its server").into();
        self.0.get(code).cloned().unwrap_or_else(|| Err(missing()))
    }
}

/// What a call of a tool does, and whether it is idempotent, by the annotations of its definition. A tool without annotations counts as
/// irreversible, which is what the protocol says.
///
/// ```
/// use convengine_config::classify_mcp_tool;
/// use convengine_turn::EffectClass;
/// use serde_json::json;
///
/// assert_eq!(classify_mcp_tool(&json!({"name": "find", "annotations": {"readOnlyHint": true}})), (EffectClass::Read, true));
/// assert_eq!(classify_mcp_tool(&json!({"name": "cancel"})), (EffectClass::Irreversible, false));
/// ```
pub fn classify_mcp_tool(definition: &Value) -> (EffectClass, bool) {
    let hint = |name: &str, default: bool| definition.pointer(&format!("/annotations/{name}")).and_then(Value::as_bool).unwrap_or(default);
    let class = match (hint("readOnlyHint", false), hint("destructiveHint", true)) {
        (true, _) => EffectClass::Read,
        (false, true) => EffectClass::Irreversible,
        (false, false) => EffectClass::Write,
    };
    (class, class == EffectClass::Read || hint("idempotentHint", false))
}

/// Creates the setup that a call of a tool carries; `is_approved` is whether a person has approved the call.
pub fn mcp_spec(server: &str, tool: &str, class: EffectClass, is_idempotent: bool, is_approved: bool) -> Value {
    json!({"server": server, "tool": tool, "effect": class, "idempotent": is_idempotent, "approved": is_approved})
}

fn compile(row: &TableRow<'_>, code: &str) -> Result<McpTool, (&'static str, String)> {
    let (server, tool) = split_mcp_code(code).ok_or_else(|| ("tool_code", "is not a code of the form mcp.SERVER.TOOL".to_owned()))?;
    let definition = row.text("definition").and_then(|text| serde_json::from_str::<Value>(&text).ok()).filter(Value::is_object);
    let definition = definition.ok_or_else(|| ("definition", "is not a JSON object".to_owned()))?;
    let (class, is_idempotent) = classify_mcp_tool(&definition);
    let needs_approval = match row.code("approval").map(|keyword| Approval::from_keyword(&keyword).ok_or(keyword)) {
        Some(Ok(Approval::Always)) => true,
        Some(Ok(Approval::Never)) => false,
        None | Some(Ok(Approval::Write)) => class != EffectClass::Read,
        Some(Err(other)) => return Err(("approval", format!("must be always, write or never, not '{other}'"))),
    };
    let schema = definition.get("inputSchema").filter(|schema| schema.as_object().is_some_and(|members| !members.is_empty()));
    let arguments = schema.map(|source| {
        let schema = JsonSchema::compile(source).map_err(|reason| ("definition", format!("has an inputSchema that {reason}")))?;
        Ok(ArgumentsSchema { source: Arc::new(source.clone()), schema: Arc::new(schema) })
    });
    Ok(McpTool {
        server: server.to_owned(),
        name: tool.to_owned(),
        class,
        is_idempotent,
        needs_approval,
        description: definition.get("description").and_then(Value::as_str).map(str::to_owned),
        arguments: arguments.transpose()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_decide_what_a_call_does() {
        let classify = |annotations: Value| classify_mcp_tool(&json!({"annotations": annotations}));
        assert_eq!(classify(Value::Null), (EffectClass::Irreversible, false));
        assert_eq!(classify(json!({"readOnlyHint": true, "destructiveHint": true})), (EffectClass::Read, true));
        assert_eq!(classify(json!({"destructiveHint": false})), (EffectClass::Write, false));
        assert_eq!(classify(json!({"destructiveHint": false, "idempotentHint": true})), (EffectClass::Write, true));
        assert_eq!(classify(json!({"readOnlyHint": "true", "idempotentHint": 1})), (EffectClass::Irreversible, false));
    }
}
