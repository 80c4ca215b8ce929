//! Tool calls: requests, execution and results, for both steps that use tools.

mod approval;
mod request;
mod sql;
mod table_request;

pub use approval::{ask_approval, is_granted_by_client, take_approval};
pub use request::ToolCall;
pub use table_request::{TableRequest, find_request, record_execution};

use std::sync::Arc;

use convengine_config::{Executor, Tool};
use convengine_text::json::into_members;
use convengine_text::template::Formula;
use convengine_turn::{EffectClass, EffectError, EffectErrorKind, HttpCaller, Map, TaskUse, ToolRequest};
use serde_json::{Value, json};

use crate::extension;
use crate::service::{self, TemplateScope};
use crate::session::{Session, is_flag_set};
use crate::step_context::StepContext;

/// Whether tools are blocked in this turn. They are after a call with an unknown outcome, because another tool may do the same again.
pub fn is_blocked(session: &Session) -> bool {
    session.is_question_turn
        || session.unconfirmed_at.is_some()
        || ["skip_tool_execution", "guardrail_blocked"].iter().any(|name| is_flag_set(session.params.get(*name)))
}

/// Calls a tool; returns its answer as JSON text. Numbers that are given as text, and texts as numbers, are converted. `is_approved` is whether a person has approved the call.
///
/// # Errors
/// The call needs an approval, the arguments do not match the tool's schema, or the call failed.
pub async fn call_tool(
    cx: &mut StepContext<'_>,
    tool: Option<&Tool>,
    group: &str,
    args: &Map,
    is_approved: bool,
) -> Result<String, EffectError> {
    if tool.is_some_and(Tool::needs_approval) && !is_approved {
        return Err(EffectError::new(EffectErrorKind::Denied, "each call of the tool has to be approved"));
    }
    let mut args = Value::Object(args.clone());
    if let Some(arguments) = tool.and_then(|tool| tool.arguments.as_ref()) {
        arguments.schema.coerce(&mut args);
        if let Some(violation) = arguments.schema.find_violation(&args) {
            return Err(EffectError::new(EffectErrorKind::Invalid, format!("the arguments do not fit the tool: {violation}")));
        }
    }
    let outcome = execute_tool(cx, tool, group, &into_members(args), is_approved).await;
    if let Err(error) = &outcome
        && !tool.is_some_and(|tool| tool.executor.is_repeatable())
    {
        cx.session.record_failed_write(error);
    }
    outcome
}

async fn execute_tool(
    cx: &mut StepContext<'_>,
    tool: Option<&Tool>,
    group: &str,
    args: &Map,
    is_approved: bool,
) -> Result<String, EffectError> {
    let Some(tool) = tool else { return call_host_tool(cx, None, group, args, None).await };
    match &tool.executor {
        Executor::Host => call_host_tool(cx, Some(tool), group, args, None).await,
        Executor::Spec(spec) => call_host_tool(cx, Some(tool), group, args, Some(Arc::clone(spec))).await,
        Executor::Http(call) => {
            let answered = service::call_service(cx, HttpCaller::Tool(tool.code.clone()), call, &template_values(args), args).await?;
            Ok(answered.envelope.to_string())
        }
        Executor::Sql(template) => sql::run_query(cx, tool, template, args).await.map(|it| it.to_string()),
        Executor::Calculator(formulas) => calculate(&cx.session, formulas, args).map(|it| it.to_string()),
        Executor::Mcp(mcp) => call_host_tool(cx, Some(tool), group, args, Some(Arc::new(mcp.spec(is_approved)))).await,
        Executor::Task(task) => {
            let result = extension::call_task(cx, task, TaskUse::Tool, None, Some(Value::Object(args.clone()))).await?;
            Ok(result.as_str().map_or_else(|| result.to_string(), to_json_text))
        }
        Executor::Unavailable(reason) => Err(EffectError::new(EffectErrorKind::Invalid, format!("the tool is not set up: {reason}"))),
    }
}

/// Whether a failed call may have had side effects, so that repeating it could execute it twice.
pub fn has_possible_side_effects(tool: &Tool, error: &EffectError) -> bool {
    let acts = match &tool.executor {
        Executor::Host | Executor::Task(_) => true,
        Executor::Mcp(tool) => !tool.is_idempotent,
        Executor::Http(call) => EffectClass::from_method(&call.method) == EffectClass::Write,
        // Specs read files and documents, SQL reads the database; a tool that is not set up does nothing.
        Executor::Spec(_) | Executor::Sql(_) | Executor::Calculator(_) | Executor::Unavailable(_) => false,
    };
    acts && error.may_have_acted()
}

async fn call_host_tool(
    cx: &StepContext<'_>,
    tool: Option<&Tool>,
    group: &str,
    args: &Map,
    spec: Option<Arc<Value>>,
) -> Result<String, EffectError> {
    let request = ToolRequest { tool_code: tool.map(|tool| tool.code.clone()), tool_group: group.to_owned(), args: args.clone(), spec };
    cx.effects.perform(request).await.map(|reply| to_json_text(&reply.text))
}

/// Template values of a tool: each argument, and all of them as `args`.
fn template_values(args: &Map) -> Map {
    let mut values = args.clone();
    values.insert("args".to_owned(), Value::Object(args.clone()));
    values
}

/// Evaluates formulas; for a single unnamed one, returns its value alone.
fn calculate(session: &Session, formulas: &[(String, Formula)], args: &Map) -> Result<Value, EffectError> {
    let values = template_values(args);
    let document = TemplateScope { session, values: &values }.to_document();
    let value = |(name, formula): &(String, Formula)| match formula.evaluate(&|variable| document.get(variable)) {
        Ok(value) => Ok((name.clone(), value)),
        Err(reason) => {
            let label = if name.is_empty() { String::new() } else { format!(" '{name}'") };
            Err(EffectError::new(EffectErrorKind::Invalid, format!("the formula{label} has no value: {reason}")))
        }
    };
    let mut values = formulas.iter().map(value).collect::<Result<Map, _>>()?;
    Ok(values.shift_remove("").unwrap_or(Value::Object(values)))
}

/// Converts an answer to JSON text: other text becomes `{"text": …}`, an empty answer `{}`. (docs/spec/tools.md#1.4)
fn to_json_text(text: &str) -> String {
    match text.trim() {
        "" => "{}".to_owned(),
        json if serde_json::from_str::<serde::de::IgnoredAny>(json).is_ok() => json.to_owned(),
        _ => json!({"text": text}).to_string(),
    }
}

/// Edits `context.mcp`, where rules and templates find tool results; creates it if absent and removes it if empty.
pub fn change_mcp_context(session: &mut Session, edit: impl FnOnce(&mut Map)) {
    let node = session.context.get_mut("mcp").map(Value::take);
    let mut node = if let Some(Value::Object(node)) = node { node } else { Map::new() };
    edit(&mut node);
    if node.is_empty() {
        session.context.shift_remove("mcp");
    } else {
        session.context.insert("mcp".to_owned(), Value::Object(node));
    }
}

#[cfg(test)]
mod tests {
    use super::to_json_text;

    #[test]
    fn every_answer_becomes_json() {
        let cases = [(" [1, 2] ", "[1, 2]"), ("\"a\"", "\"a\""), (" \n", "{}"), ("no {json}", r#"{"text":"no {json}"}"#)];
        for (text, expected) in cases {
            assert_eq!(to_json_text(text), expected);
        }
    }
}
