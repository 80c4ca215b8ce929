//! Tools: how they are asked for, called and told about, for both steps that use them.

mod by_table;
mod request;
mod sql;

pub use by_table::{TableRequest, remember, wanted};
pub use request::ToolCall;

use std::sync::Arc;

use serde_json::{Value, json};

use crate::config::{Executor, Tool};
use crate::extension;
use crate::service::{self, Filled};
use crate::session::{Session, truthy};
use crate::text::template::Formula;
use crate::turn::{EffectError, EffectErrorKind, HttpCaller, Map, TaskUse, ToolRequest};
use crate::turning::Turning;

/// Whether tools are held back in this turn. After a call of which nobody knows whether it was carried out they are, because another
/// one may do the same again.
pub fn held_back(session: &Session) -> bool {
    session.stalled
        || session.unconfirmed.is_some()
        || ["skip_tool_execution", "guardrail_blocked"].iter().any(|it| truthy(session.params.get(*it)))
}

/// Calls a tool; its answer comes back as JSON text.
///
/// # Errors
/// Arguments that do not fit, or why nobody could answer.
pub async fn call(t: &mut Turning<'_>, tool: Option<&Tool>, group: &str, args: &Map) -> Result<String, EffectError> {
    let config = t.config;
    // A request that names only a group goes to the group's one tool.
    let tool = tool.or_else(|| config.tools.only_of_group(group, &t.session.intent, &t.session.state));
    if let Some(breach) = tool.and_then(|it| it.arguments.as_ref()?.schema.check(&Value::Object(args.clone()))) {
        return Err(EffectError::new(EffectErrorKind::Invalid, format!("the arguments do not fit the tool: {breach}")));
    }
    let answered = carry_out(t, tool, group, args).await;
    if let Err(error) = &answered
        && !tool.is_some_and(|it| it.executor.repeatable())
    {
        t.session.failed_to_write(error);
    }
    answered
}

async fn carry_out(t: &mut Turning<'_>, tool: Option<&Tool>, group: &str, args: &Map) -> Result<String, EffectError> {
    let Some(tool) = tool else { return of_host(t, None, group, args, None).await };
    match &tool.executor {
        Executor::Host => of_host(t, Some(tool), group, args, None).await,
        Executor::Spec(spec) => of_host(t, Some(tool), group, args, Some(Arc::clone(spec))).await,
        Executor::Http(call) => {
            let answered = service::call(t, HttpCaller::Tool(tool.code.clone()), call, &of_args(args), args).await?;
            Ok(answered.envelope.to_string())
        }
        Executor::Sql(template) => sql::call(t, tool, template, args).await.map(|it| it.to_string()),
        Executor::Calculator(formulas) => calculate(&t.session, formulas, args).map(|it| it.to_string()),
        Executor::Task(task) => {
            let result = extension::call(t, task, TaskUse::Tool, None, Some(Value::Object(args.clone()))).await?;
            Ok(result.as_str().map_or_else(|| result.to_string(), as_json))
        }
        Executor::Nobody(reason) => Err(EffectError::new(EffectErrorKind::Invalid, format!("the tool is not set up: {reason}"))),
    }
}

/// Whether a call that failed may have changed something all the same, so that the same call could do it twice.
pub fn may_have_acted(tool: &Tool, error: &EffectError) -> bool {
    let acts = match &tool.executor {
        Executor::Host | Executor::Task(_) => true,
        Executor::Http(call) => !["GET", "HEAD"].contains(&call.method.as_str()),
        // They read files and documents, or the database; what is not set up does nothing.
        Executor::Spec(_) | Executor::Sql(_) | Executor::Calculator(_) | Executor::Nobody(_) => false,
    };
    acts && error.status != Some(503)
        && match error.kind {
            EffectErrorKind::Timeout
            | EffectErrorKind::Unavailable
            | EffectErrorKind::Invalid
            | EffectErrorKind::Interrupted
            | EffectErrorKind::Cancelled
            | EffectErrorKind::Mismatch => true,
            EffectErrorKind::Refused
            | EffectErrorKind::NotFound
            | EffectErrorKind::Denied
            | EffectErrorKind::CircuitOpen
            | EffectErrorKind::Limited
            | EffectErrorKind::Unsupported => false,
        }
}

async fn of_host(t: &Turning<'_>, tool: Option<&Tool>, group: &str, args: &Map, spec: Option<Arc<Value>>) -> Result<String, EffectError> {
    let request = ToolRequest { tool_code: tool.map(|it| it.code.clone()), tool_group: group.to_owned(), args: args.clone(), spec };
    t.door.perform(request).await.map(|it| as_json(&it.text))
}

/// The values that the templates of a tool can name: each argument, and all of them as `args`.
fn of_args(args: &Map) -> Map {
    let mut values = args.clone();
    values.insert("args".to_owned(), Value::Object(args.clone()));
    values
}

/// The values of formulas; of a single one without a name, its value alone.
fn calculate(session: &Session, formulas: &[(String, Formula)], args: &Map) -> Result<Value, EffectError> {
    let values = of_args(args);
    let document = Filled { session, values: &values }.named();
    let value = |(name, formula): &(String, Formula)| match formula.value(&|it| document.get(it)) {
        Ok(value) => Ok((name.clone(), value)),
        Err(reason) => {
            let of = if name.is_empty() { String::new() } else { format!(" '{name}'") };
            Err(EffectError::new(EffectErrorKind::Invalid, format!("the formula{of} has no value: {reason}")))
        }
    };
    let mut values = formulas.iter().map(value).collect::<Result<Map, _>>()?;
    Ok(values.shift_remove("").unwrap_or(Value::Object(values)))
}

/// An answer as JSON: what is none becomes `{"text": …}`, nothing becomes `{}`. (`spec/mcp-and-semantic.md` 1.4)
fn as_json(text: &str) -> String {
    match text.trim() {
        "" => "{}".to_owned(),
        json if serde_json::from_str::<serde::de::IgnoredAny>(json).is_ok() => json.to_owned(),
        _ => json!({"text": text}).to_string(),
    }
}

/// Changes `context.mcp`, where rules and templates find what tools did; it is made when there is none, and removed when it is empty.
pub fn change(session: &mut Session, edit: impl FnOnce(&mut Map)) {
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
    use super::as_json;

    #[test]
    fn every_answer_becomes_json() {
        let cases = [(" [1, 2] ", "[1, 2]"), ("\"a\"", "\"a\""), (" \n", "{}"), ("no {json}", r#"{"text":"no {json}"}"#)];
        for (text, expected) in cases {
            assert_eq!(as_json(text), expected);
        }
    }
}
