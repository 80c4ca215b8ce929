//! Tool requests made by `ce_tool`, with deduplication of equal requests. (docs/decisions/0034-tools-requested-by-table.md)

use convengine_config::is_same_code;
use convengine_text::json::canonical;
use convengine_text::json::path::JsonPath;
use convengine_turn::{Candidate, Explanation, Map, Verdict};
use serde_json::{Value, json};

use super::ToolCall;
use crate::service::TemplateScope;
use crate::session::Session;
use crate::step_context::StepContext;

/// The parameter that records successful requests: intent and state, and by row the request hash and its execution.
///
/// It is not part of `context.mcp`, which a fresh schema value removes.
const DONE_PARAM: &str = "tool_requests_done";

/// A request made by a row.
#[derive(Debug, Clone)]
pub struct TableRequest {
    /// The requested call.
    pub call: ToolCall,
    /// The execution of an equal request that succeeded since intent, state or arguments changed.
    pub execution: Option<Value>,
    row: String,
    hash: String,
}

/// The request of the first matching row, if any.
pub fn find_request(cx: &mut StepContext<'_>) -> Option<TableRequest> {
    remove_other_scopes(&mut cx.session);
    let config = cx.config;
    let mut facts = None;
    let mut explanation = cx.effects.begin_explanation("tool");
    let row = config.tool_requests.for_scope(&cx.session.intent, &cx.session.state).find(|row| {
        let is_true = |path: &JsonPath| path.matches(facts.get_or_insert_with(|| cx.session.facts()));
        let matches = row.when.as_ref().is_none_or(is_true);
        if let Some(explanation) = &mut explanation {
            let verdict = if matches { Verdict::Won } else { Verdict::NotMatched };
            let reason = if matches { "it is the first match" } else { "its when_path does not hold" };
            let values = row.when.as_ref().zip(facts.as_ref()).map(|(path, facts)| path.read_values(facts)).unwrap_or_default();
            explanation.rows.push(Candidate { facts: values, ..row.candidate(verdict).with_reason(reason) });
        }
        matches
    });
    if let Some(explanation) = explanation {
        record_explanation(cx, explanation, row.is_some());
    }
    let row = row?;
    let call = ToolCall {
        code: row.code.clone(),
        group: row.group.clone(),
        args: TemplateScope { session: &cx.session, values: &Map::new() }.render_args(&row.args),
    };
    let mut hasher = canonical::Hasher::default();
    hasher.add_json(&call.to_json());
    let (row, hash) = (row.id.to_string(), hasher.finish());
    let record = cx.session.params.get(DONE_PARAM).and_then(|done| done.get("rows")?.get(&row));
    let execution = record.filter(|record| record.get("request").and_then(Value::as_str) == Some(hash.as_str()));
    let execution = execution.and_then(|record| record.get("execution").cloned());
    Some(TableRequest { call, execution, row, hash })
}

/// Adds the rows that were not reached and those of another scope, and records the explanation; skipped without rows.
fn record_explanation(cx: &StepContext<'_>, mut explanation: Explanation, is_found: bool) {
    let (intent, state) = (&cx.session.intent, &cx.session.state);
    let rows = &cx.config.tool_requests;
    let later: Vec<Candidate> =
        rows.for_scope(intent, state).skip(explanation.rows.len()).map(|it| it.candidate(Verdict::NotReached)).collect();
    explanation.rows.extend(later);
    explanation.rows.extend(rows.out_of_scope(intent, state));
    if !explanation.rows.is_empty() {
        let verdict = if is_found { "a row asks for a tool" } else { "no row asks for a tool" };
        explanation.with_subject(json!({"intent": intent, "state": state})).record(&cx.effects, verdict);
    }
}

/// Removes the record when intent or state has changed.
fn remove_other_scopes(session: &mut Session) {
    let Some(record) = session.params.get(DONE_PARAM) else { return };
    let is_same = |key: &str, code: &str| record.get(key).and_then(Value::as_str).is_some_and(|recorded| is_same_code(recorded, code));
    if !is_same("intent", &session.intent) || !is_same("state", &session.state) {
        session.params.shift_remove(DONE_PARAM);
    }
}

/// Records that a row's request succeeded or that its outcome is unknown.
pub fn record_execution(session: &mut Session, request: &TableRequest, execution: Value) {
    let rows = session.params.get(DONE_PARAM).and_then(|done| done.get("rows")?.as_object()).cloned();
    let mut rows = rows.unwrap_or_default();
    rows.insert(request.row.clone(), json!({"request": request.hash, "execution": execution}));
    session.set_param(DONE_PARAM, json!({"intent": session.intent, "state": session.state, "rows": rows}));
}
