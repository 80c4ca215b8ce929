//! Resolves the turn's action: a row of `ce_pending_action`, or an action that a rule, a task or the application put into the session.

use convengine_config::PendingAction;
use convengine_text::json::{has_content, trim_text};
use convengine_text::task::TaskName;
use convengine_turn::{Candidate, Verdict};
use serde_json::Value;

use super::ActionRuntime;
use crate::session::Session;
use crate::step_context::StepContext;

/// Members of `context.pending_action` that name a row.
const KEY_MEMBERS: [&str; 4] = ["action_key", "actionKey", "key", "type"];

/// Members of `context.pending_action` that name a whole task.
const TASK_MEMBERS: [&str; 6] = ["task", "action", "action_value", "actionValue", "set_task", "setTask"];

/// An action that can be executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedAction {
    /// The key that named it; `None` when it was found without one.
    pub key: Option<String>,
    /// `bean:methods`, as the audits spell it.
    pub reference: String,
    /// The task; `None` when the reference does not name one.
    pub task: Option<TaskName>,
}

/// The action candidates of a turn.
#[derive(Debug, Clone)]
pub enum ActionChoice<'c> {
    /// No open action.
    None,
    /// One action.
    One(ResolvedAction),
    /// Several rows of equal priority.
    Several(Vec<&'c PendingAction>),
}

/// Resolves the action of the turn. An action already executed at this intent and state is skipped until a rule or a task names it again.
pub fn resolve_action<'c>(cx: &StepContext<'c>) -> ActionChoice<'c> {
    let session = &cx.session;
    let runtime = ActionRuntime::from_session(session);
    let reopened = session.has_action_named_by_rule();
    let is_closed = |key: Option<&str>, reference: &str| !reopened && runtime.is_closed(key, reference, &session.intent, &session.state);
    let config = cx.config;
    let eligible = config.pending_actions.eligible(&session.intent, &session.state);
    let key = resolve_key(session, &runtime, &eligible);
    let mut rows: Vec<&PendingAction> = eligible.into_iter().filter(|row| key.is_none() || has_key(row, key.as_deref())).collect();
    let has_rows = !rows.is_empty();
    // A row executed under its key is closed for a turn that names no key as well.
    rows.retain(|row| !is_closed(key.as_deref(), &row.reference) && !is_closed(row.key.as_deref(), &row.reference));
    let Some(first) = rows.first().copied() else {
        return if has_rows { ActionChoice::None } else { resolve_from_session(session, key, is_closed) };
    };
    let top_rows: Vec<&PendingAction> = rows.into_iter().filter(|row| row.priority == first.priority).collect();
    if key.is_none() && top_rows.len() > 1 {
        return ActionChoice::Several(top_rows);
    }
    ActionChoice::One(ResolvedAction { key, reference: first.reference.clone(), task: Some(first.task.clone()) })
}

/// Explains the verdict on each row of the registry.
pub fn explain_candidates(cx: &StepContext<'_>) -> Vec<Candidate> {
    let session = &cx.session;
    let (intent, state) = (&session.intent, &session.state);
    let runtime = ActionRuntime::from_session(session);
    let reopened = session.has_action_named_by_rule();
    let eligible = cx.config.pending_actions.eligible(intent, state);
    let key = resolve_key(session, &runtime, &eligible);
    let choice = resolve_action(cx);
    let judge = |pending_action: &PendingAction| {
        let is_closed = |key: Option<&str>| !reopened && runtime.is_closed(key, &pending_action.reference, intent, state);
        let (verdict, reason) = match &choice {
            _ if key.is_some() && !has_key(pending_action, key.as_deref()) => (Verdict::NotMatched, "the turn is about another key"),
            _ if is_closed(key.as_deref()) || is_closed(pending_action.key.as_deref()) => {
                (Verdict::NotMatched, "it was carried out at this intent and state: a rule has to name it again")
            }
            ActionChoice::One(action) if action.reference == pending_action.reference => (Verdict::Won, "it is what the turn is about"),
            ActionChoice::Several(rows) if rows.iter().any(|row| row.id == pending_action.id) => {
                (Verdict::Matched, "others have the same priority: the user has to say which one, or a lower priority")
            }
            ActionChoice::None | ActionChoice::One(_) | ActionChoice::Several(_) => {
                (Verdict::Lost, "another row comes first: a lower priority would win")
            }
        };
        Candidate { score: pending_action.priority.into(), ..pending_action.candidate(verdict).with_reason(reason) }
    };
    let mut rows: Vec<Candidate> = eligible.into_iter().map(judge).collect();
    rows.extend(cx.config.pending_actions.out_of_scope(intent, state));
    rows
}

/// Whether an action waits for confirmation: one named by the session, or a row for a resolved intent and state.
pub fn has_pending_action(cx: &StepContext<'_>) -> bool {
    let session = &cx.session;
    let in_context = ["pending_action", "pendingAction"].iter().any(|key| session.context.get(*key).is_some_and(has_content));
    let keys = ["pending_action", "pendingAction", "pending_action_key", "pending_action_task"];
    let claimed = in_context || keys.iter().any(|key| session.params.get(*key).is_some_and(has_content));
    let in_registry = || session.is_resolved() && !cx.config.pending_actions.eligible(&session.intent, &session.state).is_empty();
    if !claimed && !in_registry() {
        return false;
    }
    // Leftovers of an executed action are no longer an offer.
    !(ActionRuntime::from_session(session).has_closed(&session.intent, &session.state) && matches!(resolve_action(cx), ActionChoice::None))
}

/// The key that names a row. A turn without a key refers to the open action, as long as the registry still offers it.
fn resolve_key(session: &Session, runtime: &ActionRuntime, eligible: &[&PendingAction]) -> Option<String> {
    let in_context = || trim_text(session.context.get("pending_action_key")).or_else(|| trim_text(session.context.get("pendingActionKey")));
    let in_object = || KEY_MEMBERS.iter().find_map(|key| trim_text(context_action(session)?.get(*key)));
    let open_key = || {
        let key = runtime.key().filter(|_| runtime.is_open())?;
        eligible.iter().any(|row| has_key(row, Some(key))).then(|| key.to_owned())
    };
    trim_text(session.params.get("pending_action_key")).or_else(in_context).or_else(in_object).or_else(open_key)
}

fn has_key(row: &PendingAction, key: Option<&str>) -> bool {
    row.key.as_deref().zip(key).is_some_and(|(row, key)| convengine_config::is_same_code(row, key))
}

/// The action whose task a rule or a task named, else the one in the context.
fn resolve_from_session(session: &Session, key: Option<String>, is_closed: impl Fn(Option<&str>, &str) -> bool) -> ActionChoice<'static> {
    let rule_task = trim_text(session.params.get("pending_action_task"));
    let Some(reference) = rule_task.or_else(|| parse_reference(context_action(session)?)) else { return ActionChoice::None };
    if is_closed(key.as_deref(), &reference) {
        return ActionChoice::None;
    }
    ActionChoice::One(ResolvedAction { key, task: TaskName::parse(&reference), reference })
}

fn context_action(session: &Session) -> Option<&Value> {
    ["pending_action", "pendingAction"].iter().find_map(|key| session.context.get(*key).filter(|action| has_content(action)))
}

/// The task named by `context.pending_action`: as a string, as one member, or as bean and methods.
fn parse_reference(pending: &Value) -> Option<String> {
    if let Value::String(whole) = pending {
        return Some(whole.trim().to_owned());
    }
    let member = |names: &[&str]| names.iter().find_map(|name| trim_text(pending.get(*name)));
    member(&TASK_MEMBERS).or_else(|| {
        let bean = member(&["bean", "bean_name", "beanName"])?;
        Some(format!("{bean}:{}", member(&["method", "method_name", "methodName", "methods", "method_names"])?))
    })
}
