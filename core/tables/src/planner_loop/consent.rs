//! Which tools the planner may call now, and with which values: what changes something waits for the user's word on the collected values.
//! (docs/decisions/0056-nothing-is-written-before-consent.md)

use convengine_config::{DialogueAct, Tool, is_same_code};
use convengine_text::json::{canonical, insert_collected};
use convengine_turn::Map;
use serde_json::{Value, json};

use crate::pending_action::ActionRuntime;
use crate::step_context::StepContext;
use crate::tool;

/// Context member that holds what the user has confirmed, until a call has been made with it: the intent and a hash of the values.
const CONTEXT_KEY: &str = "mcp_consent";

/// Why a call is not made.
const NO_PLANNER: &str = "it changes something, and no row of ce_mcp_planner is for this intent and state";
const NOT_CONFIRMED: &str = "it changes something, and the user has not confirmed it in this turn";

/// The reason why a tool may not be planned now, if any.
pub(super) fn refusal_reason(cx: &StepContext<'_>, tool: &Tool) -> Option<&'static str> {
    if !tool.changes_something() {
        return None;
    }
    if !cx.config.planners.has_row(&cx.session.intent, &cx.session.state) {
        return Some(NO_PLANNER);
    }
    (tool.waits_for_consent() && !is_confirmed(cx)).then_some(NOT_CONFIRMED)
}

/// The tools of this intent and state that may be planned now.
pub(super) fn plannable_tools<'c>(cx: &StepContext<'c>) -> Vec<&'c Tool> {
    let tools = cx.config.tools.for_scope(&cx.session.intent, &cx.session.state);
    tools.into_iter().filter(|tool| refusal_reason(cx, tool).is_none()).collect()
}

/// Stores what the user confirms with this message, so that "try again" after a failure needs no second yes.
pub(super) fn remember(cx: &mut StepContext<'_>) {
    let tools = cx.config.tools.for_scope(&cx.session.intent, &cx.session.state);
    if tools.into_iter().any(Tool::waits_for_consent) && is_confirmed(cx) {
        let consent = describe_values(cx);
        cx.session.context.insert(CONTEXT_KEY.to_owned(), consent);
    }
}

/// Uses up the consent, because a call has been made with it.
pub(super) fn use_up(cx: &mut StepContext<'_>) {
    cx.session.context.shift_remove(CONTEXT_KEY);
}

/// The intent, and a hash of its collected values.
fn describe_values(cx: &StepContext<'_>) -> Value {
    let values: Vec<Value> =
        cx.config.schemas.names_of_intent(&cx.session.intent).map(|field| json!([field, cx.session.context.get(field)])).collect();
    let mut hasher = canonical::Hasher::default();
    hasher.add_json(&json!(values));
    json!({"intent": cx.session.intent, "values": hasher.finish()})
}

/// Whether the user has confirmed the collected values, or the pending action, with this message, or asks again for what was confirmed
/// before and failed. Where a client approves, it says so.
fn is_confirmed(cx: &StepContext<'_>) -> bool {
    let session = &cx.session;
    let routing = session.params.get("routing_decision").and_then(Value::as_str).unwrap_or_default();
    if is_same_code(routing, "RETRY_IN_PLACE") && session.context.get(CONTEXT_KEY) == Some(&describe_values(cx)) {
        return true;
    }
    let is_about_values = is_same_code(routing, "PROCEED_CONFIRMED");
    let is_agreed = is_about_values || ActionRuntime::from_session(session).was_confirmed(session.turn_number);
    let is_yes =
        || session.dialogue_act() == DialogueAct::Affirm && cx.config.dialogue_acts.may_agree(session.text(), session.client_locale());
    tool::is_granted_by_client(cx) || (is_agreed && is_yes())
}

/// Puts the collected values into the arguments of a call that changes something.
pub(super) fn insert_collected_values(cx: &StepContext<'_>, tool: &Tool, args: &mut Map) {
    if !tool.changes_something() {
        return;
    }
    let properties = tool.arguments.as_ref().and_then(|definition| definition.source.get("properties")?.as_object());
    for name in cx.config.schemas.names_of_intent(&cx.session.intent) {
        insert_collected(args, properties, name, cx.session.context.get(name));
    }
}
