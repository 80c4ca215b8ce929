//! Resolves the turn's action: a row of `ce_pending_action`, or an action that a rule, a task or the application put into the session.

use serde_json::Value;

use super::Runtime;
use crate::config::PendingAction;
use crate::json::{has_content, trimmed};
use crate::session::Session;
use crate::text::task::TaskName;
use crate::turn::{Considered, Fate};
use crate::turning::Turning;

/// Members of `context.pending_action` that name a row.
const KEYS: [&str; 4] = ["action_key", "actionKey", "key", "type"];

/// Members of `context.pending_action` that name a whole task.
const TASKS: [&str; 6] = ["task", "action", "action_value", "actionValue", "set_task", "setTask"];

/// An action that can be executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The key that named it; `None` when it was found without one.
    pub key: Option<String>,
    /// `bean:methods`, as the audits spell it.
    pub reference: String,
    /// The task; `None` when the reference does not name one.
    pub task: Option<TaskName>,
}

/// The action candidates of a turn.
#[derive(Debug, Clone)]
pub enum Choice<'c> {
    /// No open action.
    None,
    /// One action.
    One(Named),
    /// Several rows of equal priority.
    Several(Vec<&'c PendingAction>),
}

/// Resolves the action of the turn. An action already executed at this intent and state is skipped until a rule or a task names it again.
pub fn named<'c>(cx: &Turning<'c>) -> Choice<'c> {
    let session = &cx.session;
    let runtime = Runtime::of(session);
    let reopened = session.is_named_by_rule();
    let is_closed = |key: Option<&str>, reference: &str| !reopened && runtime.is_closed(key, reference, &session.intent, &session.state);
    let config = cx.config;
    let eligible = config.pending_actions.eligible(&session.intent, &session.state);
    let key = key(session, &runtime, &eligible);
    let mut rows: Vec<&PendingAction> = eligible.into_iter().filter(|it| key.is_none() || same_key(it, key.as_deref())).collect();
    let has_rows = !rows.is_empty();
    // A row executed under its key is closed for a turn that names no key as well.
    rows.retain(|it| !is_closed(key.as_deref(), &it.reference) && !is_closed(it.key.as_deref(), &it.reference));
    let Some(first) = rows.first().copied() else {
        return if has_rows { Choice::None } else { of_session(session, key, is_closed) };
    };
    let top_rows: Vec<&PendingAction> = rows.into_iter().filter(|it| it.priority == first.priority).collect();
    if key.is_none() && top_rows.len() > 1 {
        return Choice::Several(top_rows);
    }
    Choice::One(Named { key, reference: first.reference.clone(), task: Some(first.task.clone()) })
}

/// Explains the verdict on each row of the registry.
pub fn considered(cx: &Turning<'_>) -> Vec<Considered> {
    let session = &cx.session;
    let (intent, state) = (&session.intent, &session.state);
    let runtime = Runtime::of(session);
    let reopened = session.is_named_by_rule();
    let eligible = cx.config.pending_actions.eligible(intent, state);
    let key = key(session, &runtime, &eligible);
    let choice = named(cx);
    let judge = |it: &PendingAction| {
        let is_closed = |key: Option<&str>| !reopened && runtime.is_closed(key, &it.reference, intent, state);
        let (verdict, reason) = match &choice {
            _ if key.is_some() && !same_key(it, key.as_deref()) => (Fate::NotMatched, "the turn is about another key"),
            _ if is_closed(key.as_deref()) || is_closed(it.key.as_deref()) => {
                (Fate::NotMatched, "it was carried out at this intent and state: a rule has to name it again")
            }
            Choice::One(action) if action.reference == it.reference => (Fate::Won, "it is what the turn is about"),
            Choice::Several(rows) if rows.iter().any(|row| row.id == it.id) => {
                (Fate::Matched, "others have the same priority: the user has to say which one, or a lower priority")
            }
            Choice::None | Choice::One(_) | Choice::Several(_) => (Fate::Lost, "another row comes first: a lower priority would win"),
        };
        Considered { score: it.priority.into(), ..it.considered(verdict).because(reason) }
    };
    let mut rows: Vec<Considered> = eligible.into_iter().map(judge).collect();
    rows.extend(cx.config.pending_actions.outside(intent, state));
    rows
}

/// Whether an action waits for confirmation: one named by the session, or a row for a resolved intent and state.
pub fn is_pending(cx: &Turning<'_>) -> bool {
    let session = &cx.session;
    let in_context = ["pending_action", "pendingAction"].iter().any(|it| session.context.get(*it).is_some_and(has_content));
    let keys = ["pending_action", "pendingAction", "pending_action_key", "pending_action_task"];
    let claimed = in_context || keys.iter().any(|it| session.params.get(*it).is_some_and(has_content));
    let in_registry = || session.is_resolved() && !cx.config.pending_actions.eligible(&session.intent, &session.state).is_empty();
    if !claimed && !in_registry() {
        return false;
    }
    // Leftovers of an executed action are no longer an offer.
    !(Runtime::of(session).has_closed(&session.intent, &session.state) && matches!(named(cx), Choice::None))
}

/// The key that names a row. A turn without a key refers to the open action, as long as the registry still offers it.
fn key(session: &Session, runtime: &Runtime, eligible: &[&PendingAction]) -> Option<String> {
    let in_context = || trimmed(session.context.get("pending_action_key")).or_else(|| trimmed(session.context.get("pendingActionKey")));
    let in_object = || KEYS.iter().find_map(|it| trimmed(pending(session)?.get(*it)));
    let open_key = || {
        let key = runtime.key().filter(|_| runtime.is_open())?;
        eligible.iter().any(|it| same_key(it, Some(key))).then(|| key.to_owned())
    };
    trimmed(session.params.get("pending_action_key")).or_else(in_context).or_else(in_object).or_else(open_key)
}

fn same_key(row: &PendingAction, key: Option<&str>) -> bool {
    row.key.as_deref().zip(key).is_some_and(|(row, key)| crate::config::same_code(row, key))
}

/// The action whose task a rule or a task named, else the one in the context.
fn of_session(session: &Session, key: Option<String>, is_closed: impl Fn(Option<&str>, &str) -> bool) -> Choice<'static> {
    let rule_task = trimmed(session.params.get("pending_action_task"));
    let Some(reference) = rule_task.or_else(|| reference(pending(session)?)) else { return Choice::None };
    if is_closed(key.as_deref(), &reference) {
        return Choice::None;
    }
    Choice::One(Named { key, task: TaskName::parse(&reference), reference })
}

fn pending(session: &Session) -> Option<&Value> {
    ["pending_action", "pendingAction"].iter().find_map(|it| session.context.get(*it).filter(|it| has_content(it)))
}

/// The task named by `context.pending_action`: as a string, as one member, or as bean and methods.
fn reference(pending: &Value) -> Option<String> {
    if let Value::String(whole) = pending {
        return Some(whole.trim().to_owned());
    }
    let member = |names: &[&str]| names.iter().find_map(|it| trimmed(pending.get(*it)));
    member(&TASKS).or_else(|| {
        let bean = member(&["bean", "bean_name", "beanName"])?;
        Some(format!("{bean}:{}", member(&["method", "method_name", "methodName", "methods", "method_names"])?))
    })
}
