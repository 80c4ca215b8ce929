//! The end of a turn: the answer, the rows to commit, and the hash by which replays are compared.

use std::sync::Arc;

use convengine_text::json::canonical;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Map;
use super::cancel::CancelReason;
use super::error::{EffectError, EffectErrorKind};
use super::fault::{Fault, FaultReport};
use super::notice::{AuditPayload, Notice, NoticeBody};
use super::rows::Write;

/// The variable with the states of the programs that nodes run, by node.
pub const CHILDREN: &str = "_child";

/// The answer to the user and the rows to commit.
///
/// A failed turn has one too: a [`fault`](Outcome::fault) instead of an answer, and only the writes that are kept anyway (the creation of
/// the conversation, a requested reset, a policy block, the log of model calls). So a host commits the writes of every outcome.
///
/// ```
/// use convengine_turn::Outcome;
///
/// let outcome = Outcome::for_lost_turn("c-1");
/// assert_eq!(outcome.fault.as_ref().map(|fault| fault.code.as_str()), Some("TURN_LOST"));
/// assert!(outcome.writes.is_empty());
/// let response = outcome.to_response();
/// assert_eq!((&response["success"], &response["payload"]["type"]), (&false.into(), &"ERROR".into()));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The conversation.
    pub conversation_id: String,
    /// The intent after the turn: a code, or the id of a flow's active intent. Empty for chains and tasks.
    pub intent: String,
    /// The state after the turn: a code, the node of a flow as `graph/node`, or the step of a chain at which the run stands.
    pub state: String,
    /// The answer; absent when the turn failed. A flow has one even then: its messages, one per line.
    pub payload: Option<Payload>,
    /// The context after the turn; absent when the turn failed.
    pub context: Option<Map>,
    /// The fault of a failed turn.
    pub fault: Option<FaultReport>,
    /// Rows for one transaction, in this order.
    pub writes: Vec<Write>,
    /// The session after the turn.
    pub session: SessionAfter,
    /// The response of a flow session or of a run, as its route sends it: status, messages, and what is awaited. A flow that fails says so
    /// here and has no fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<Box<Value>>,
}

/// The session as stored after a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionAfter {
    /// The intent.
    pub intent: String,
    /// The state.
    pub state: String,
    /// The context.
    pub context: Arc<Map>,
    /// The parameters.
    pub params: Arc<Map>,
}

/// The format of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum PayloadKind {
    /// Text to show.
    Text,
    /// JSON text that the client parses.
    Json,
}

/// Members of the context that are for the engine.
const PRIVATE_MEMBERS: [&str; 3] = ["mcp_approval", "mcp_consent", "guardrail_pending"];

/// Members of `context.mcp` that say what a planner has answered and how its loop ended.
const PUBLIC_TOOL_MEMBERS: [&str; 3] = ["finalAnswer", "finalAnswerDetermined", "lifecycle"];

/// Members of `context.mcp.lifecycle` without the tool, its arguments and its error.
const PUBLIC_LIFECYCLE_MEMBERS: [&str; 7] = ["phase", "status", "outcome", "finished", "blocked", "error", "toolExecuted"];

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payload {
    /// The format.
    #[serde(rename = "type")]
    pub kind: PayloadKind,
    /// The text, also for JSON.
    pub value: String,
}

impl Outcome {
    /// The outcome of a lost turn whose journal cannot be read any more. It writes nothing, and its fault asks the user to check before
    /// sending the message again, because nobody knows what the turn has done.
    pub fn for_lost_turn(conversation: &str) -> Outcome {
        let session = SessionAfter { intent: String::new(), state: String::new(), context: Arc::default(), params: Arc::default() };
        Outcome {
            conversation_id: conversation.to_owned(),
            intent: String::new(),
            state: String::new(),
            payload: None,
            context: None,
            // Unknown whether it had requested writes.
            fault: Some(Fault::from_cancellation(CancelReason::Lost, true).report()),
            writes: Vec::new(),
            session,
            flow: None,
        }
    }

    /// The result of a task that ran on its own: the JSON value that it returned.
    ///
    /// # Errors
    /// The error of the task, with its kind.
    pub fn task_result(&self) -> Result<Value, EffectError> {
        match (&self.payload, &self.fault) {
            (Some(payload), _) => serde_json::from_str(&payload.value)
                .map_err(|error| EffectError::new(EffectErrorKind::Invalid, format!("the result of the task is not JSON: {error}"))),
            (None, Some(fault)) => {
                let kind = EffectErrorKind::deserialize(&Value::from(fault.code.as_str())).unwrap_or(EffectErrorKind::Invalid);
                Err(EffectError::new(kind, fault.message.clone()))
            }
            (None, None) => Ok(Value::Null),
        }
    }

    /// The response body for a caller that may only converse: the context without what tools and models have said to the engine.
    /// (docs/decisions/0057-what-public-clients-see.md)
    pub fn to_public_response(&self) -> Value {
        let Some(context) = &self.context else { return self.to_response() };
        let mut context = context.clone();
        for name in PRIVATE_MEMBERS {
            context.shift_remove(name);
        }
        if let Some(tools) = context.get_mut("mcp").and_then(Value::as_object_mut) {
            tools.retain(|name, _| PUBLIC_TOOL_MEMBERS.contains(&name.as_str()));
            if let Some(lifecycle) = tools.get_mut("lifecycle").and_then(Value::as_object_mut) {
                lifecycle.retain(|name, _| PUBLIC_LIFECYCLE_MEMBERS.contains(&name.as_str()));
            }
        }
        Outcome { context: Some(context), ..self.clone() }.to_response()
    }

    /// The response body of `POST /api/v1/conversation/message`. (docs/spec/data-and-api.md#9.1) For a flow it is [`Outcome::flow`].
    ///
    /// `context` is JSON in a string, as clients of ConvEngine expect it.
    pub fn to_response(&self) -> Value {
        if let Some(flow) = &self.flow {
            return flow.as_ref().clone();
        }
        let Some(fault) = &self.fault else {
            return json!({
                "conversationId": self.conversation_id,
                "intent": self.intent,
                "state": self.state,
                "payload": self.payload,
                "context": self.context.as_ref().map(|context| Value::Object(context.clone()).to_string()),
                "success": true,
                "errorCode": null,
                "recoverable": false,
                "message": null,
            });
        };
        let value = json!({"errorCode": fault.code, "message": fault.message, "recoverable": fault.recoverable});
        json!({
            "conversationId": self.conversation_id,
            "intent": "ERROR",
            "state": "ERROR",
            "payload": {"type": "ERROR", "value": value.to_string()},
            "context": null,
            "success": false,
            "errorCode": fault.code,
            "recoverable": fault.recoverable,
            "message": fault.message,
        })
    }
}

/// The hash that a replay is compared by: session after the turn, writes, and notices without their times.
///
/// `PIPELINE_TIMING` is omitted because the host adds its own measurement to it. Pass all notices of the turn, in the order of their
/// numbers: a replay that leads to the same hash did the same, whatever build or machine it ran on.
pub fn state_hash(outcome: &Outcome, notices: &[Notice]) -> String {
    let mut hash = canonical::Hasher::default();
    let SessionAfter { intent, state, context, params } = &outcome.session;
    hash.add_value(&(intent, state));
    let line = |map: &Arc<Map>| {
        if !map.contains_key(CHILDREN) {
            return canonical::map_line(map);
        }
        let mut variables = map.as_ref().clone();
        remove_requests_of_children(&mut variables);
        canonical::map_line(&variables)
    };
    let lines = [context, params].map(|it| (it, line(it)));
    lines.iter().for_each(|it| hash.add_text(&it.1));
    for write in &outcome.writes {
        match write {
            // Its two maps are large, and those of the session.
            Write::Conversation(row) => {
                hash.add_value(&(&row.conversation_id, &row.status, &row.intent_code, &row.state_code));
                hash.add_value(&(&row.last_user_text, &row.last_assistant, row.created_at, row.updated_at));
                for map in [&row.context, &row.params] {
                    match lines.iter().find(|it| Arc::ptr_eq(it.0, map)) {
                        Some((_, line)) => hash.add_text(line),
                        None => hash.add_text(&canonical::map_line(map)),
                    }
                }
            }
            Write::Session { state } => {
                let mut line = br#"{"state":"#.to_vec();
                write_without_requests(state, &mut line);
                line.extend_from_slice(b",\"table\":\"flow\"}\n");
                hash.add_text(&line);
            }
            Write::History(_) | Write::LlmCall(_) | Write::Memory(_) | Write::Reset => hash.add_value(write),
        }
    }
    for notice in notices {
        match &notice.body {
            NoticeBody::Audit { stage, .. } if stage == "PIPELINE_TIMING" => {}
            NoticeBody::Audit { stage, payload } => {
                hash.add_scalars(&(notice.seq, hashed_stage(stage)));
                match payload {
                    AuditPayload::Value(value) if stage == "workflow.node.enter" => hash.add_json(&without_workflow(value)),
                    AuditPayload::Value(value) => hash.add_json(value),
                    AuditPayload::Members(members) => hash.add_members(members),
                }
            }
            NoticeBody::Verbose(verbose) => {
                hash.add_value(&notice.seq);
                hash.add_value(verbose);
            }
            NoticeBody::Message { message } => {
                hash.add_value(&notice.seq);
                hash.add_json(message);
            }
        }
    }
    hash.finish()
}

/// The name of a stage as release 0.1.0 has it, where the kinds of workflow graphs have no prefix: its journals replay to their hashes.
fn hashed_stage(stage: &str) -> &str {
    stage.strip_prefix("workflow.").unwrap_or(stage)
}

/// The members of the state of a flow that belong to requests.
const OF_REQUESTS: [&str; 2] = ["filled_slots", "pending_values"];

/// The members of the state of a flow in which something belongs to requests.
const WITH_REQUESTS: [&str; 3] = ["counters", "stack", "vars"];

/// Appends the state of a flow, and of those that it runs, without what belongs to requests, which the first release did not store, so that
/// its journals replay to their hashes. What it leads to is in the variables and the messages.
fn write_without_requests(state: &Value, out: &mut Vec<u8>) {
    let Some(members) = state.as_object() else { return canonical::write(state, out) };
    // Only what changes is copied, and variables are many.
    let has_requests = |name: &str, member: &Value| WITH_REQUESTS.contains(&name) && (name != "vars" || member.get(CHILDREN).is_some());
    let changing = members.iter().filter(|(name, member)| has_requests(name, member));
    let mut changed = Value::Object(changing.map(|(name, member)| (name.clone(), member.clone())).collect());
    remove_requests(&mut changed);
    let kept = members.iter().filter(|(name, _)| !OF_REQUESTS.contains(&name.as_str()));
    canonical::write_members(kept.map(|(name, member)| (name.as_str(), changed.get(name).unwrap_or(member))), out);
}

fn remove_requests(state: &mut Value) {
    let Some(members) = state.as_object_mut() else { return };
    for name in OF_REQUESTS {
        members.shift_remove(name);
    }
    if let Some(counters) = members.get_mut("counters").and_then(Value::as_object_mut) {
        counters.shift_remove("requests");
    }
    let frames = members.get_mut("stack").and_then(Value::as_array_mut).into_iter().flatten();
    for frame in frames.filter_map(Value::as_object_mut) {
        frame.shift_remove("request");
    }
    if let Some(variables) = members.get_mut("vars").and_then(Value::as_object_mut) {
        remove_requests_of_children(variables);
    }
}

fn remove_requests_of_children(variables: &mut Map) {
    if let Some(children) = variables.get_mut(CHILDREN).and_then(Value::as_object_mut) {
        children.values_mut().for_each(remove_requests);
    }
}

/// The entry of a node without the member that release 0.1.0 does not have; it equals `graph`.
fn without_workflow(value: &Value) -> Value {
    let mut value = value.clone();
    if let Some(members) = value.as_object_mut() {
        members.shift_remove("workflow");
    }
    value
}

#[cfg(test)]
mod tests {
    use super::super::{ConversationRow, HistoryRow};
    use super::*;

    fn sample_outcome() -> (Outcome, Vec<Notice>) {
        let row = ConversationRow {
            conversation_id: "c".to_owned(),
            status: "RUNNING".to_owned(),
            intent_code: "A".to_owned(),
            state_code: "B".to_owned(),
            context: Arc::default(),
            last_user_text: None,
            last_assistant: None,
            params: Arc::default(),
            created_at: 1,
            updated_at: 2,
        };
        let history = HistoryRow { user_input: "hi".to_owned(), assistant_output: "{}".to_owned(), created_at: 2 };
        let session = SessionAfter { intent: "A".to_owned(), state: "B".to_owned(), context: Arc::default(), params: Arc::default() };
        let outcome = Outcome {
            conversation_id: "c".to_owned(),
            intent: "A".to_owned(),
            state: "B".to_owned(),
            payload: None,
            context: None,
            fault: None,
            writes: vec![Write::Conversation(row), Write::History(history)],
            session,
            flow: None,
        };
        (outcome, vec![audit(0, "USER_INPUT"), audit(1, "PIPELINE_TIMING")])
    }

    fn audit(seq: u32, stage: &str) -> Notice {
        Notice { seq, at: 2, body: NoticeBody::Audit { stage: stage.to_owned().into(), payload: json!({"text": "hi"}).into() } }
    }

    fn is_hash_changed(change: impl FnOnce(&mut Outcome, &mut Vec<Notice>)) -> bool {
        let (outcome, notices) = sample_outcome();
        let (mut other, mut others) = (outcome.clone(), notices.clone());
        change(&mut other, &mut others);
        state_hash(&outcome, &notices) != state_hash(&other, &others)
    }

    fn row(outcome: &mut Outcome) -> &mut ConversationRow {
        let Some(Write::Conversation(row)) = outcome.writes.first_mut() else { unreachable!("the first write is the row") };
        row
    }

    #[test]
    fn a_public_response_has_no_internals() {
        let context = json!({
            "amount": 7, "mcp_approval": {"args": {}}, "mcp_consent": {},
            "mcp": {"finalAnswer": "Done.", "observations": [{"json": "[1]"}], "toolExecutionError": {"errorMessage": "no row"},
                "lifecycle": {"status": "ANSWER", "lastToolArgs": {"n": 1}, "errorMessage": "no row"}},
        });
        let (outcome, _) = sample_outcome();
        let outcome = Outcome { context: context.as_object().cloned(), ..outcome };
        let shown = outcome.to_public_response();
        let expected = json!({"amount": 7, "mcp": {"finalAnswer": "Done.", "lifecycle": {"status": "ANSWER"}}});
        assert_eq!(serde_json::from_str::<Value>(shown["context"].as_str().unwrap()).unwrap(), expected);
        assert!(outcome.to_response()["context"].as_str().unwrap().contains("no row"));
    }

    #[test]
    fn the_state_hash_covers_session_writes_and_notices() {
        assert!(is_hash_changed(|outcome, _| outcome.session.intent.push('2')));
        assert!(is_hash_changed(|outcome, _| outcome.session.state.push('2')));
        assert!(is_hash_changed(|outcome, _| _ = Arc::make_mut(&mut outcome.session.context).insert("k".to_owned(), json!(1))));
        assert!(is_hash_changed(|outcome, _| _ = Arc::make_mut(&mut outcome.session.params).insert("k".to_owned(), json!(1))));
        assert!(is_hash_changed(|outcome, _| row(outcome).status = "BLOCKED".to_owned()));
        assert!(is_hash_changed(|outcome, _| row(outcome).last_user_text = Some("hi".to_owned())));
        assert!(is_hash_changed(|outcome, _| _ = Arc::make_mut(&mut row(outcome).context).insert("k".to_owned(), json!(1))));
        assert!(is_hash_changed(|outcome, _| _ = Arc::make_mut(&mut row(outcome).params).insert("k".to_owned(), json!(1))));
        assert!(is_hash_changed(|it, _| row(it).updated_at = 3));
        assert!(is_hash_changed(|it, _| _ = it.writes.pop()));
        assert!(is_hash_changed(|outcome, _| outcome.writes.extend(outcome.writes.last().cloned())));
        assert!(is_hash_changed(|_, notices| _ = notices.remove(0)));
        assert!(is_hash_changed(|_, notices| notices.push(audit(2, "STEP_EXIT"))));
        assert!(is_hash_changed(|_, notices| notices.iter_mut().for_each(|notice| notice.seq += 1)));
    }

    #[test]
    fn the_state_hash_is_that_of_the_serialised_values() {
        let (mut outcome, notices) = sample_outcome();
        let map = Arc::new(convengine_text::json::into_members(json!({"k": "\"", "a": [1, {"z": null, "b": "é"}]})));
        (outcome.session.context, row(&mut outcome).context) = (Arc::clone(&map), Arc::clone(&map));
        let shared = state_hash(&outcome, &notices);
        row(&mut outcome).context = Arc::new(map.as_ref().clone());
        assert_eq!(state_hash(&outcome, &notices), shared);
        let session = Write::Session { state: Box::new(Value::Object(map.as_ref().clone())) };
        let hash_of = |write: &Write| {
            let mut hash = canonical::Hasher::default();
            let SessionAfter { intent, state, .. } = &outcome.session;
            hash.add_value(&(intent, state));
            [&outcome.session.context, &outcome.session.params].into_iter().for_each(|members| hash.add_value(members));
            hash.add_value(write);
            hash.finish()
        };
        let written = Outcome { writes: vec![session.clone()], ..outcome.clone() };
        assert_eq!(state_hash(&written, &[]), hash_of(&session));
    }

    #[test]
    fn the_state_hash_omits_notice_times_and_timings() {
        assert!(!is_hash_changed(|_, notices| notices.iter_mut().for_each(|notice| notice.at = 9)));
        assert!(!is_hash_changed(|_, notices| _ = notices.pop()));
    }

    #[test]
    fn the_state_hash_of_a_workflow_is_that_of_the_first_release() {
        let enter = |stage: &str, payload: Value| {
            let (outcome, mut notices) = sample_outcome();
            notices.push(Notice { seq: 2, at: 2, body: NoticeBody::Audit { stage: stage.to_owned().into(), payload: payload.into() } });
            state_hash(&outcome, &notices)
        };
        let first = enter("node.enter", json!({"graph": "g", "node": "n"}));
        assert_eq!(enter("workflow.node.enter", json!({"graph": "g", "node": "n", "workflow": "g"})), first);
        assert_ne!(enter("workflow.node.enter", json!({"graph": "g", "node": "m", "workflow": "g"})), first);
        assert_ne!(enter("workflow.agent.hop", json!({"node": "n", "workflow": "g"})), enter("agent.hop", json!({"node": "n"})));
    }
}
