//! Requests that `ce_tool` makes, and the memory that keeps an equal one from being repeated. (`decisions.md` 9, ToolOrchestration by table)

use serde_json::{Value, json};

use super::ToolCall;
use crate::config::same_code;
use crate::json::canon;
use crate::json::path::JsonPath;
use crate::service::Filled;
use crate::session::Session;
use crate::turn::{Considered, Fate, Map, Why};
use crate::turning::Turning;

/// The parameter that remembers what succeeded: the place, and by row the request and its execution.
///
/// It stands beside `context.mcp`, which a fresh value of the schema removes.
const DONE: &str = "tool_requests_done";

/// A request that a row makes.
#[derive(Debug, Clone)]
pub struct TableRequest {
    /// What is asked for.
    pub call: ToolCall,
    /// What came of an equal request that succeeded since intent, state or arguments changed.
    pub execution: Option<Value>,
    row: String,
    hash: String,
}

/// The request of the best row that fits, if any.
pub fn wanted(t: &mut Turning<'_>) -> Option<TableRequest> {
    forget_elsewhere(&mut t.session);
    let config = t.config;
    let mut facts = None;
    let mut why = t.door.why("tool");
    let row = config.tool_rows.of(&t.session.intent, &t.session.state).find(|it| {
        let holds = |path: &JsonPath| path.matches(facts.get_or_insert_with(|| t.session.facts()));
        let asks = it.when.as_ref().is_none_or(holds);
        if let Some(why) = &mut why {
            let fate = if asks { Fate::Won } else { Fate::NotMatched };
            let reason = if asks { "it is the first that fits" } else { "its when_path does not hold" };
            let read = it.when.as_ref().zip(facts.as_ref()).map(|(path, facts)| path.reads(facts)).unwrap_or_default();
            why.rows.push(Considered { facts: read, ..it.considered(fate).because(reason) });
        }
        asks
    });
    if let Some(why) = why {
        explain(t, why, row.is_some());
    }
    let row = row?;
    let call = ToolCall {
        code: row.code.clone(),
        group: row.group.clone(),
        args: Filled { session: &t.session, values: &Map::new() }.args(&row.args),
    };
    let mut hasher = canon::Hasher::default();
    hasher.json(&call.json());
    let (row, hash) = (row.id.to_string(), hasher.finish());
    let done = t.session.params.get(DONE).and_then(|it| it.get("rows")?.get(&row));
    let execution = done.filter(|it| it.get("request").and_then(Value::as_str) == Some(hash.as_str()));
    let execution = execution.and_then(|it| it.get("execution").cloned());
    Some(TableRequest { call, execution, row, hash })
}

/// Adds the rows that nobody looked at any more, and those of another scope; says nothing where there is none.
fn explain(t: &Turning<'_>, mut why: Why, found: bool) {
    let (intent, state) = (&t.session.intent, &t.session.state);
    let rows = &t.config.tool_rows;
    let later: Vec<Considered> = rows.of(intent, state).skip(why.rows.len()).map(|it| it.considered(Fate::NotReached)).collect();
    why.rows.extend(later);
    why.rows.extend(rows.outside(intent, state));
    if !why.rows.is_empty() {
        let verdict = if found { "a row asks for a tool" } else { "no row asks for a tool" };
        why.about(json!({"intent": intent, "state": state})).decided(&t.door, verdict);
    }
}

/// What succeeded for another intent or in another state says nothing any more.
fn forget_elsewhere(session: &mut Session) {
    let Some(done) = session.params.get(DONE) else { return };
    let same = |key: &str, code: &str| done.get(key).and_then(Value::as_str).is_some_and(|it| same_code(it, code));
    if !same("intent", &session.intent) || !same("state", &session.state) {
        session.params.shift_remove(DONE);
    }
}

/// Notes that a row's request has succeeded, or that nobody knows whether it did.
pub fn remember(session: &mut Session, request: &TableRequest, execution: Value) {
    let rows = session.params.get(DONE).and_then(|it| it.get("rows")?.as_object()).cloned();
    let mut rows = rows.unwrap_or_default();
    rows.insert(request.row.clone(), json!({"request": request.hash, "execution": execution}));
    session.set_param(DONE, json!({"intent": session.intent, "state": session.state, "rows": rows}));
}
