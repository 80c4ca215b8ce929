//! Which action the turn is about: a row of `ce_pending_action`, or what a rule, a task or the application put into the session.

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

/// Members of `context.pending_action` that name a task as a whole.
const TASKS: [&str; 6] = ["task", "action", "action_value", "actionValue", "set_task", "setTask"];

/// An action that may be carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The key that named it; nothing when it was found without one.
    pub key: Option<String>,
    /// `bean:methods`, as the audits spell it.
    pub reference: String,
    /// The task; nothing when the reference names none.
    pub task: Option<TaskName>,
}

/// What the turn may be about.
#[derive(Debug, Clone)]
pub enum Choice<'c> {
    /// Nothing that is open.
    None,
    /// One action.
    One(Named),
    /// Rows that compete with the same priority.
    Several(Vec<&'c PendingAction>),
}

/// Finds the action of the turn. One that was executed at this intent and state is none, until a rule or a task names it again.
pub fn named<'c>(t: &Turning<'c>) -> Choice<'c> {
    let session = &t.session;
    let runtime = Runtime::of(session);
    let again = session.is_named_by_rule();
    let closed = |key: Option<&str>, reference: &str| !again && runtime.is_closed(key, reference, &session.intent, &session.state);
    let config = t.config;
    let eligible = config.pending_actions.eligible(&session.intent, &session.state);
    let key = key(session, &runtime, &eligible);
    let mut rows: Vec<&PendingAction> = eligible.into_iter().filter(|it| key.is_none() || same_key(it, key.as_deref())).collect();
    let found = !rows.is_empty();
    // A row that was executed under its key is closed for a turn that names no key as well.
    rows.retain(|it| !closed(key.as_deref(), &it.reference) && !closed(it.key.as_deref(), &it.reference));
    let Some(first) = rows.first().copied() else {
        return if found { Choice::None } else { of_session(session, key, closed) };
    };
    let top: Vec<&PendingAction> = rows.into_iter().filter(|it| it.priority == first.priority).collect();
    if key.is_none() && top.len() > 1 {
        return Choice::Several(top);
    }
    Choice::One(Named { key, reference: first.reference.clone(), task: Some(first.task.clone()) })
}

/// What becomes of each row of the registry in this turn.
pub fn considered(t: &Turning<'_>) -> Vec<Considered> {
    let session = &t.session;
    let (intent, state) = (&session.intent, &session.state);
    let runtime = Runtime::of(session);
    let again = session.is_named_by_rule();
    let eligible = t.config.pending_actions.eligible(intent, state);
    let key = key(session, &runtime, &eligible);
    let choice = named(t);
    let judge = |it: &PendingAction| {
        let closed = |key: Option<&str>| !again && runtime.is_closed(key, &it.reference, intent, state);
        let (fate, reason) = match &choice {
            _ if key.is_some() && !same_key(it, key.as_deref()) => (Fate::NotMatched, "the turn is about another key"),
            _ if closed(key.as_deref()) || closed(it.key.as_deref()) => {
                (Fate::NotMatched, "it was carried out at this intent and state: a rule has to name it again")
            }
            Choice::One(action) if action.reference == it.reference => (Fate::Won, "it is what the turn is about"),
            Choice::Several(rows) if rows.iter().any(|row| row.id == it.id) => {
                (Fate::Matched, "others have the same priority: the user has to say which one, or a lower priority")
            }
            Choice::None | Choice::One(_) | Choice::Several(_) => (Fate::Lost, "another row comes first: a lower priority would win"),
        };
        Considered { score: it.priority.into(), ..it.considered(fate).because(reason) }
    };
    let mut rows: Vec<Considered> = eligible.into_iter().map(judge).collect();
    rows.extend(t.config.pending_actions.outside(intent, state));
    rows
}

/// Whether something waits for a yes or a no: a session that names an action, or a row for a resolved intent and state.
pub fn is_pending(t: &Turning<'_>) -> bool {
    let session = &t.session;
    let in_context = ["pending_action", "pendingAction"].iter().any(|it| session.context.get(*it).is_some_and(has_content));
    let keys = ["pending_action", "pendingAction", "pending_action_key", "pending_action_task"];
    let claimed = in_context || keys.iter().any(|it| session.params.get(*it).is_some_and(has_content));
    let in_registry = || session.is_resolved() && !t.config.pending_actions.eligible(&session.intent, &session.state).is_empty();
    if !claimed && !in_registry() {
        return false;
    }
    // What is left of an executed action is no offer any more.
    !(Runtime::of(session).has_closed(&session.intent, &session.state) && matches!(named(t), Choice::None))
}

/// The key that names a row. An action that is open is what a turn without a key is about, as long as the registry offers it.
fn key(session: &Session, runtime: &Runtime, eligible: &[&PendingAction]) -> Option<String> {
    let in_context = || trimmed(session.context.get("pending_action_key")).or_else(|| trimmed(session.context.get("pendingActionKey")));
    let in_object = || KEYS.iter().find_map(|it| trimmed(pending(session)?.get(*it)));
    let open = || {
        let key = runtime.key().filter(|_| runtime.is_open())?;
        eligible.iter().any(|it| same_key(it, Some(key))).then(|| key.to_owned())
    };
    trimmed(session.params.get("pending_action_key")).or_else(in_context).or_else(in_object).or_else(open)
}

fn same_key(row: &PendingAction, key: Option<&str>) -> bool {
    row.key.as_deref().zip(key).is_some_and(|(row, key)| crate::config::same_code(row, key))
}

/// The action that a rule or a task named by its task, else the one of the context.
fn of_session(session: &Session, key: Option<String>, closed: impl Fn(Option<&str>, &str) -> bool) -> Choice<'static> {
    let by_rule = trimmed(session.params.get("pending_action_task"));
    let Some(reference) = by_rule.or_else(|| reference(pending(session)?)) else { return Choice::None };
    if closed(key.as_deref(), &reference) {
        return Choice::None;
    }
    Choice::One(Named { key, task: TaskName::parse(&reference), reference })
}

fn pending(session: &Session) -> Option<&Value> {
    ["pending_action", "pendingAction"].iter().find_map(|it| session.context.get(*it).filter(|it| has_content(it)))
}

/// The task that `context.pending_action` names: as a text, as one member, or as bean and methods.
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
