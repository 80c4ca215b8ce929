//! The tools that turn a question into a database query: allowed order, arguments carried from one to the next, and results that need
//! the user. (docs/spec/tools.md#1.5, docs/spec/tools.md#2.3.3, docs/spec/tools.md#2.3.6)

use convengine_text::json::{trim_text, update_object};
use convengine_turn::Map;
use serde_json::{Value, json};

use super::loop_state::{LoopState, LoopStatus};
use super::observation::ToolObservation;
use crate::session::Session;

/// The tool that interprets a question.
pub(super) const INTERPRET: &str = "db.semantic.interpret";
const QUERY: &str = "db.semantic.query";
const POSTGRES: &str = "postgres.query";

/// The clarification reason for an ambiguous question.
pub(super) const AMBIGUITY_REASON: &str = "SEMANTIC_QUERY_AMBIGUITY";

/// Whether a code names the given tool.
pub(super) fn is_tool(code: &str, tool: &str) -> bool {
    code.trim().eq_ignore_ascii_case(tool)
}

/// Whether a tool may follow another.
pub(super) fn can_follow(current: &str, next: &str) -> bool {
    if is_tool(current, INTERPRET) {
        return is_tool(next, QUERY);
    }
    !is_tool(current, QUERY) || is_tool(next, POSTGRES) || is_tool(next, QUERY)
}

/// Adds arguments from earlier results that the planner need not repeat.
pub(super) fn add_carried_args(code: &str, args: &mut Map, observations: &[ToolObservation]) {
    let newest = |tool: &str| {
        observations.iter().rev().find(|observation| !observation.failed && is_tool(&observation.code, tool)).map(ToolObservation::to_value)
    };
    let has = |args: &Map, names: [&str; 2]| names.iter().any(|name| args.get(*name).is_some_and(|value| !value.is_null()));
    if is_tool(code, QUERY) && !has(args, ["canonicalIntent", "canonical_intent"]) {
        args.retain(|key, _| key != "resolvedPlan" && key != "resolved_plan");
        if let Some(intent) = newest(INTERPRET).and_then(|result| result.get("canonicalIntent").cloned()) {
            args.insert("canonicalIntent".to_owned(), intent);
        }
    }
    if is_tool(code, POSTGRES) && !has(args, ["query", "sql"]) {
        let Some(result) = newest(QUERY) else { return };
        let compiled = result.get("compiledSql");
        let (sql, params) = match compiled {
            Some(Value::String(_)) => (compiled, result.get("compiledSqlParams")),
            _ => (compiled.and_then(|it| it.get("sql")), compiled.and_then(|it| it.get("params"))),
        };
        for (key, value) in [("query", sql), ("params", params)] {
            if let Some(value) = value.filter(|it| !it.is_null()) {
                args.insert(key.to_owned(), value.clone());
            }
        }
    }
}

/// A tool result that ends the loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToolStop {
    /// The message for the user.
    pub text: String,
    /// The audit reason.
    pub reason: &'static str,
    /// Whether it is a question.
    pub is_question: bool,
}

/// Returns how a result ends the loop: it needs clarification, or the question is not supported.
pub(super) fn stop_for_result(code: &str, result: &Value) -> Option<ToolStop> {
    if !is_tool(code, INTERPRET) && !is_tool(code, QUERY) {
        return None;
    }
    let status = SemanticStatus::parse(result);
    if status.needs_clarification && !status.unsupported {
        let text = status.question?;
        return Some(ToolStop { text, reason: "SEMANTIC_CLARIFICATION_REQUIRED", is_question: true });
    }
    let text = status.message.filter(|_| status.unsupported)?;
    Some(ToolStop { text, reason: "SEMANTIC_UNSUPPORTED", is_question: false })
}

/// Whether an earlier turn asked the user to clarify a question for the database.
pub(super) fn has_asked(session: &Session) -> bool {
    let reason = session.clarification.as_ref().and_then(|clarification| clarification.reason.as_deref()).unwrap_or_default();
    let node = session.context.get("mcp").and_then(|mcp| mcp.get("semantic")?.get("clarification"));
    let member = |name: &str| node.and_then(|node| node.get(name));
    reason.eq_ignore_ascii_case(AMBIGUITY_REASON)
        || member("required").and_then(Value::as_bool) == Some(true)
        || member("signal").and_then(Value::as_str) == Some("CLARIFICATION_REQUIRED")
}

/// Status members of a result, at its root or in `meta`.
struct SemanticStatus {
    needs_clarification: bool,
    question: Option<String>,
    unsupported: bool,
    message: Option<String>,
}

impl SemanticStatus {
    fn parse(result: &Value) -> SemanticStatus {
        let member = |name: &str| result.get(name).filter(|value| !value.is_null()).or_else(|| result.get("meta")?.get(name));
        let is = |name: &str, expected: bool| member(name).and_then(Value::as_bool) == Some(expected);
        let ambiguities = member("ambiguities").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let code = |ambiguity: &&Value| {
            ambiguity.get("code").and_then(Value::as_str).is_some_and(|code| code.to_uppercase().contains("UNSUPPORTED"))
        };
        let ambiguity = ambiguities.iter().find(code);
        let ambiguity_message = ambiguity.and_then(|ambiguity| trim_text(ambiguity.get("message")));
        SemanticStatus {
            needs_clarification: is("needsClarification", true),
            question: trim_text(member("clarificationQuestion")),
            unsupported: is("operationSupported", false) || is("unsupported", true) || ambiguity.is_some(),
            message: trim_text(member("unsupportedMessage")).or(ambiguity_message),
        }
    }
}

/// Records a loop state under `semantic`, with one member per tool.
pub(super) fn record_step(mcp: &mut Map, state: LoopState<'_>, status: &str, outcome: &str) {
    let code = state.plan.and_then(|plan| plan.code.as_deref());
    let error = state.message.unwrap_or_default();
    let action = state.plan.map(|plan| plan.reported_action(state.status).name()).unwrap_or_default();
    update_object(mcp, "semantic", |semantic| {
        let pipeline = json!({
            "enabled": true,
            "chain": format!("{INTERPRET}->{QUERY}->{POSTGRES}"),
            "lastAction": action,
            "lastToolCode": code.unwrap_or_default(),
            "lastStatus": status,
            "lastOutcome": outcome,
            "lastError": error,
            "stage": stage_name(code.unwrap_or_default()),
        });
        semantic.insert("pipeline".to_owned(), pipeline);
        let Some(code) = code else { return };
        change_tool(semantic, code, |entry| {
            let completed = state.status == LoopStatus::InProgress || entry.get("completed") == Some(&Value::Bool(true));
            entry.extend(to_map([
                ("lastSeen", json!(true)),
                ("lastStatus", json!(status)),
                ("lastOutcome", json!(outcome)),
                ("error", json!(error)),
                ("completed", json!(completed)),
            ]));
        });
    });
}

/// Records a result under `semantic`; only results of the chain's tools are read.
pub(super) fn record_result(mcp: &mut Map, code: &str, result: &Value) {
    let is_chained = tool_member(code) != "other";
    let status = SemanticStatus::parse(if is_chained { result } else { &Value::Null });
    update_object(mcp, "semantic", |semantic| {
        change_tool(semantic, code, |entry| {
            entry.extend(to_map([
                ("toolCode", json!(code)),
                ("stage", json!(stage_name(code))),
                ("needsClarification", json!(status.needs_clarification)),
                ("operationSupported", json!(!status.unsupported)),
                ("unsupported", json!(status.unsupported)),
            ]));
            if is_chained {
                entry.extend(result_details(result, &status));
            }
        });
        let asks_user = status.needs_clarification && !status.unsupported;
        semantic.extend(to_map([
            ("semanticUnsupported", json!(status.unsupported)),
            ("operationSupported", json!(!status.unsupported)),
            ("semanticQueryAmbiguity", json!(asks_user)),
        ]));
        if is_chained {
            semantic.extend(clarification_members(code, &status, asks_user));
        }
    });
}

fn result_details(result: &Value, status: &SemanticStatus) -> Map {
    let count = |name: &str| result.get(name).and_then(Value::as_array).map(|items| json!(items.len()));
    let found = [
        ("confidence", result.get("confidence").or_else(|| result.get("meta")?.get("confidence")).cloned()),
        ("unsupportedMessage", status.message.as_ref().map(|it| json!(it))),
        ("clarificationQuestion", status.question.as_ref().map(|it| json!(it))),
        ("rowCount", result.get("rowCount").cloned().or_else(|| count("rows"))),
        ("compiledSql", result.get("compiledSql").map(|compiled| compiled.get("sql").unwrap_or(compiled).clone())),
        ("unresolvedFieldCount", count("unresolvedFields")),
        ("ambiguityCount", count("ambiguities").or_else(|| Some(json!(result.get("meta")?.get("ambiguities")?.as_array()?.len())))),
    ];
    found.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value.filter(|detail| !detail.is_null())?))).collect()
}

fn clarification_members(code: &str, status: &SemanticStatus, asks_user: bool) -> Map {
    let (signal, reason) = match (status.unsupported, asks_user) {
        (true, _) => ("UNSUPPORTED", "SEMANTIC_UNSUPPORTED"),
        (false, true) => ("CLARIFICATION_REQUIRED", AMBIGUITY_REASON),
        (false, false) => ("NONE", ""),
    };
    let question = status.question.as_deref().filter(|_| asks_user).unwrap_or_default();
    let clarification = json!({
        "signal": signal, "required": asks_user, "resolved": false, "reason": reason, "question": question, "sourceTool": code,
    });
    to_map([
        ("clarification", clarification),
        ("semanticClarificationRequired", json!(asks_user)),
        ("unsupported", json!(status.unsupported)),
        ("unsupportedMessage", json!(status.message.as_deref().filter(|_| status.unsupported).unwrap_or_default())),
    ])
}

fn stage_name(code: &str) -> &'static str {
    match tool_member(code) {
        "interpret" => "INTERPRET",
        "query" => "QUERY",
        "postgres" => "POSTGRES_EXECUTE",
        _ => "UNKNOWN",
    }
}

fn tool_member(code: &str) -> &'static str {
    let chain = [(INTERPRET, "interpret"), (QUERY, "query"), (POSTGRES, "postgres")];
    chain.iter().find(|it| is_tool(code, it.0)).map_or("other", |it| it.1)
}

fn change_tool(semantic: &mut Map, code: &str, edit: impl FnOnce(&mut Map)) {
    update_object(semantic, "tools", |tools| update_object(tools, tool_member(code), edit));
}

fn to_map<const N: usize>(members: [(&str, Value); N]) -> Map {
    members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
