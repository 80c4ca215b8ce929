//! What the engine has decided in a turn, for somebody who looks for the reason of a failed expectation.

use std::sync::Arc;

use convengine_core::config::Config;
use convengine_core::json::diff::diff_leaves;
use convengine_core::pack::ScriptedCall;
use convengine_core::turn::{
    Candidate, EffectResult, Explanation, Journal, JournalEntry, LoadedSession, Notice, NoticeBody, Outcome, Reply, Request, Turn, Verdict,
};
use serde_json::{Value, json};

/// The most characters of an answer or a failure.
const MAX_CHARS: usize = 200;

/// The most candidates of a decision.
const MAX_CANDIDATES: usize = 5;

/// The most values that are shown as changed.
const MAX_CHANGES: usize = 12;

/// Returns the decisions and nodes of a turn in their order, then its calls and the values that it has changed, a line each.
pub(super) fn trace_turn(journal: &Journal, config: &Arc<Config>) -> Vec<String> {
    let (turn, slice) = match Turn::restore_observed(journal.clone(), Arc::clone(config)) {
        Ok(replayed) => replayed,
        Err(error) => return vec![format!("the turn cannot be replayed: {error}")],
    };
    let mut lines = describe_decisions(&turn.explanations(), &slice.notices);
    lines.extend(journal.entries.iter().filter_map(describe_call));
    lines.extend(slice.end.iter().flat_map(|outcome| describe_changes(&journal.input.session, outcome)));
    lines
}

fn describe_decisions(explanations: &[Explanation], notices: &[Notice]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut open = explanations.iter().peekable();
    for notice in notices {
        while let Some(explanation) = open.next_if(|it| it.seq <= notice.seq) {
            lines.extend(describe_decision(explanation));
        }
        lines.extend(describe_notice(notice));
    }
    lines.extend(open.flat_map(describe_decision));
    lines
}

fn describe_decision(explanation: &Explanation) -> Vec<String> {
    let mut lines = vec![format!("{} {}: {}", explanation.step, explanation.topic, explanation.verdict)];
    let decided = |it: &&Candidate| matches!(it.verdict, Verdict::Won | Verdict::Matched | Verdict::Lost | Verdict::Failed);
    let mut shown: Vec<&Candidate> = explanation.rows.iter().filter(decided).collect();
    if shown.is_empty() {
        shown = explanation.rows.iter().filter(|it| it.verdict == Verdict::NotMatched).collect();
    }
    lines.extend(shown.iter().take(MAX_CANDIDATES).map(|it| describe_candidate(it)));
    if shown.len() > MAX_CANDIDATES {
        lines.push(format!("  and {} more", shown.len() - MAX_CANDIDATES));
    }
    lines
}

fn describe_candidate(candidate: &Candidate) -> String {
    let verdict = match candidate.verdict {
        Verdict::Won => "chosen:",
        Verdict::Matched => "matched:",
        Verdict::Lost => "lost:",
        Verdict::Failed => "failed:",
        Verdict::NotMatched => "not matched:",
        Verdict::OutOfScope => "out of scope:",
        Verdict::NotReached => "not reached:",
    };
    let id = candidate.id.map(|it| it.to_string()).unwrap_or_default();
    let name = if candidate.name.is_empty() { String::new() } else { format!("'{}'", shorten(&candidate.name)) };
    let reason = if candidate.reason.is_empty() { String::new() } else { format!("({})", shorten(&candidate.reason)) };
    let words: Vec<&str> = [verdict, candidate.table, &id, &name, &reason].into_iter().filter(|it| !it.is_empty()).collect();
    format!("  {}", words.join(" "))
}

/// Describes that a node is entered, a step of a chain, a failure, or that what was offered has expired.
fn describe_notice(notice: &Notice) -> Option<String> {
    let NoticeBody::Audit { stage, payload } = &notice.body else { return None };
    let text = |name: &str| payload.get(name).and_then(Value::as_str).filter(|it| !it.is_empty());
    if stage.ends_with("node.enter") {
        let place: Vec<&str> = [text("graph"), text("node")].into_iter().flatten().collect();
        return Some(format!("{} node: entered, {}", place.join("/"), text("type").unwrap_or("of no type")));
    }
    let has_failed = ["error", "ERROR", "FAIL", "failed"].iter().any(|it| stage.contains(it));
    let has_expired = text("event") == Some("EXPIRED");
    let is_shown = has_failed || has_expired || stage == "chain.step" || payload.get("failure").is_some_and(|it| !it.is_null());
    is_shown.then(|| format!("{stage} {}", shorten(&payload.to_string())))
}

fn describe_call(entry: &JournalEntry) -> Option<String> {
    let request = entry.request.clone()?;
    let kind = request.get("kind").and_then(Value::as_str).unwrap_or("service").to_owned();
    let request: Request = serde_json::from_value(request).ok()?;
    let name = match ScriptedCall::from_request(&request) {
        Some(ScriptedCall::Llm(purpose)) => format!("model for {purpose}"),
        Some(call) => call.to_string(),
        None => kind,
    };
    let answer = match &entry.outcome {
        EffectResult::Ok(Reply::Slept) => return None,
        EffectResult::Ok(Reply::Llm(reply)) => reply.text.clone(),
        EffectResult::Ok(reply) => json!(reply).to_string(),
        EffectResult::Error(error) => format!("failed ({}): {}", json!(error.kind).as_str().unwrap_or_default(), error.message),
    };
    Some(format!("call of {name}: {}", shorten(&answer)))
}

fn describe_changes(before: &LoadedSession, outcome: &Outcome) -> Vec<String> {
    let after = before.clone().with_writes(&outcome.writes);
    let is_flow = after.flow.is_some();
    let changes = diff_leaves(&values(before, is_flow), &values(&after, is_flow));
    let mut lines: Vec<String> = changes.iter().take(MAX_CHANGES).map(|it| format!("set {}", shorten(&it.to_string()))).collect();
    if changes.len() > MAX_CHANGES {
        lines.push(format!("and {} more values", changes.len() - MAX_CHANGES));
    }
    lines
}

/// The variables of a flow, or what a conversation of the tables has.
fn values(session: &LoadedSession, is_flow: bool) -> Value {
    if is_flow {
        return session.flow.as_ref().and_then(|it| it.get("vars").cloned()).unwrap_or_else(|| json!({}));
    }
    session.conversation.as_ref().map_or_else(
        || json!({"intent": "UNKNOWN", "state": "UNKNOWN", "params": {}, "context": {}}),
        |row| json!({"intent": row.intent_code, "state": row.state_code, "params": row.params, "context": row.context}),
    )
}

/// Returns a text on one line, without its end if it is long.
fn shorten(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use convengine_core::pack::Pack;

    use crate::core::{CorePlayer, Suspend};

    use super::*;

    fn trace_of(pack: &Pack) -> String {
        let mut player = CorePlayer::new(pack, Suspend::Never);
        let journal = player.play(0).unwrap().journal;
        trace_turn(&journal, &player.config).join("\n")
    }

    #[test]
    fn rows_and_changes_of_tables_are_named() {
        let pack = json!({
            "name": "orders", "settings": {"flow": {"dialogueAct": {"resolute": "REGEX_ONLY"}}},
            "tables": {
                "ce_intent": [{"intent_code": "ORDERS", "description": "Orders"}],
                "ce_intent_classifier": [
                    {"classifier_id": 4, "rule_type": "CONTAINS", "pattern": "order", "intent_code": "ORDERS", "priority": 10}],
                "ce_response": [{"response_id": 7, "intent_code": "ORDERS", "state_code": "ANY", "output_format": "TEXT",
                    "response_type": "EXACT", "exact_text": "On its way."}],
            },
            "turns": [{"request": {"method": "POST", "path": "/api/v1/conversation/message",
                "body": {"conversationId": "5f0c9b6e-1d3a-4f5e-8a77-3c2b1a0d9e8f", "message": "where is my order?"}}}],
        });
        let trace = trace_of(&Pack::parse(&pack.to_string()).unwrap());
        for line in [
            "IntentResolutionStep classifier: ",
            "  chosen: ce_intent_classifier 4 'ORDERS'",
            "ResponseResolutionStep response: ",
            "  chosen: ce_response 7 'On its way.'",
            "set intent: \"UNKNOWN\" became \"ORDERS\"",
        ] {
            assert!(trace.contains(line), "{line} in\n{trace}");
        }
    }

    #[test]
    fn an_offer_that_has_expired_is_named() {
        let turn = |at: i64, message: &str| {
            let body = json!({"conversationId": "5f0c9b6e-1d3a-4f5e-8a77-3c2b1a0d9e8f", "message": message});
            json!({"at": at, "request": {"method": "POST", "path": "/api/v1/conversation/message", "body": body}})
        };
        let pack = json!({
            "name": "cards", "settings": {"flow": {"dialogueAct": {"resolute": "REGEX_ONLY"}}},
            "tables": {
                "ce_intent": [{"intent_code": "CARD", "description": "Cards"}],
                "ce_intent_classifier": [{"classifier_id": 1, "rule_type": "CONTAINS", "pattern": "card", "intent_code": "CARD",
                    "state_code": "CONFIRM", "priority": 10}],
                "ce_rule": [{"rule_id": 1, "phase": "PRE_RESPONSE_RESOLUTION", "intent_code": "CARD", "state_code": "CONFIRM",
                    "rule_type": "JSON_PATH", "match_pattern": "$.inputParams.pending_action_result == 'EXECUTED'",
                    "action": "SET_STATE", "action_value": "DONE"}],
                "ce_pending_action": [{"pending_action_id": 1, "intent_code": "CARD", "state_code": "CONFIRM", "action_key": "ISSUE",
                    "bean_name": "card", "method_names": "issue"}],
                "ce_response": [{"response_id": 7, "intent_code": "CARD", "state_code": "ANY", "output_format": "TEXT",
                    "response_type": "EXACT", "exact_text": "Shall I replace it?"}],
            },
            "tasks": {"card:issue": {"result": "done"}},
            "turns": [turn(1_767_258_000_000, "my card is lost"), turn(1_767_259_860_000, "yes")],
        });
        let mut player = CorePlayer::new(&Pack::parse(&pack.to_string()).unwrap(), Suspend::Never);
        player.play(0).unwrap();
        let journal = player.play(1).unwrap().journal;
        let trace = trace_turn(&journal, &player.config).join("\n");
        for line in [
            "PENDING_ACTION_LIFECYCLE {\"event\":\"EXPIRED\"",
            "PendingActionStep pending_action: no action is carried out: the offer has expired",
        ] {
            assert!(trace.contains(line), "{line} in\n{trace}");
        }
        assert!(!trace.contains("call of task"), "{trace}");
    }

    #[test]
    fn nodes_calls_and_variables_of_flows_are_named() {
        let pack = json!({
            "name": "shop", "http": [{"path_prefix": "/", "status": 503, "json": {}}],
            "documents": [{
                "schema_version": "1.0", "doc": "conversation_flow", "id": "shop", "name": "Shop", "default_locale": "en-US", "root": "root",
                "graphs": [{"id": "root", "kind": "root", "entry": "start",
                    "nodes": [
                        {"id": "start", "type": "start", "name": "Start", "data": {}},
                        {"id": "look", "type": "service", "name": "Look",
                            "data": {"request": {"method": "GET", "url": "${STUB}/stock"}, "retry": {"max_attempts": 1}}},
                        {"id": "mark", "type": "set", "name": "Mark", "data": {"assign": [{"variable": "closed", "op": "set", "value": true}]}},
                        {"id": "end", "type": "end", "name": "End", "data": {"end_session": false}},
                    ],
                    "edges": [
                        {"id": "e1", "source": "start", "target": "look"},
                        {"id": "e2", "source": "look", "source_port": "failure", "target": "mark"},
                        {"id": "e3", "source": "mark", "target": "end"},
                    ]}],
            }],
            "turns": [{"request": {"method": "POST", "path": "/v1/runtime/assistants/shop/sessions", "body": {}}}],
        });
        let trace = trace_of(&Pack::parse(&pack.to_string()).unwrap());
        for line in [
            "root/start node: entered, start",
            "root/look node: entered, service",
            "call of ",
            "\"status\":503",
            "set closed: nothing became true",
        ] {
            assert!(trace.contains(line), "{line} in\n{trace}");
        }
    }

    #[test]
    fn long_answers_are_cut() {
        assert_eq!(shorten("a\n  b"), "a b");
        assert_eq!(shorten(&"ä".repeat(MAX_CHARS + 1)), "ä".repeat(MAX_CHARS) + "…");
    }
}
