//! The waits between tool calls of the planner.

use std::sync::Arc;

use convengine_config::Config;
use convengine_pack::{Conversations, Pack, Scripted};
use serde_json::json;

use crate::turn::{Completion, ProgramRef, Request, Turn};

/// Plays a turn of three calls; returns its waits, each with the number of the call that follows, and the planner's dates.
fn play(settings: &str) -> (Vec<(usize, u32)>, Vec<String>) {
    let call = |n: u32| json!({"action": "CALL_TOOL", "tool_code": "a.b", "args": {"n": n}});
    let pack = json!({
        "name": "waits",
        "settings": {"flow": {"dialogueAct": {"resolute": "REGEX_ONLY"}}, "mcp": serde_json::from_str::<serde_json::Value>(settings).unwrap()},
        "tables": {
            "ce_mcp_tool": [{"tool_id": 1, "tool_code": "a.b", "tool_group": "API", "intent_code": "ANY", "state_code": "ANY"}],
            "cv_tool_spec": [{"tool_id": 1, "spec": {"effect": "read"}}],
            "ce_mcp_planner": [{"planner_id": 1, "intent_code": "ANY", "state_code": "ANY", "system_prompt": "plan", "user_prompt": "{{current_datetime}} {{current_year}} {{currentDate}}"}],
            "ce_response": [{"response_id": 1, "intent_code": "ANY", "output_format": "TEXT", "response_type": "EXACT", "exact_text": "x"}],
        },
        "llm": [
            {"purpose": "mcp_plan", "replies": [call(1), call(2), call(3), {"action": "ANSWER", "answer": "done"}]},
            {"reply": {"intent": null}},
        ],
        "tools": {"a.b": {"text": "{}"}},
        "turns": [{"request": {"method": "POST", "path": "/api/v1/conversation/message", "body": {"message": "go"}}}],
    });
    let pack = Pack::parse(&pack.to_string()).unwrap();
    let (config, _) = Config::compile(&pack.tables, &pack.settings);
    let mut scripted = Scripted::from_pack(&pack);
    let input = pack.message(0).unwrap().into_input(&Conversations::default(), ProgramRef::PipelineV2);
    let (mut turn, mut slice) = Turn::start(input, Arc::new(config)).unwrap();
    let (mut waits, mut dates, mut calls) = (Vec::new(), Vec::new(), 0);
    while slice.end.is_none() {
        let effect = slice.effects.pop().unwrap();
        match &effect.request {
            Request::Sleep(sleep) => waits.push((calls + 1, sleep.ms)),
            Request::Tool(_) => calls += 1,
            Request::Llm(request) if request.purpose == "mcp_plan" => dates.push(request.user.clone()),
            Request::Llm(_)
            | Request::Embed(_)
            | Request::Task(_)
            | Request::Container(_)
            | Request::Http(_)
            | Request::Sql(_)
            | Request::Extension(_) => {}
            Request::Knowledge(_) | Request::Script(_) | Request::PhraseSearch(_) => {}
        }
        let (outcome, delay_ms) = scripted.answer(&effect.request);
        let at = turn.now() + i64::try_from(delay_ms).unwrap();
        slice = turn.resume(vec![Completion { id: effect.id, at, outcome }]).unwrap();
    }
    assert_eq!(calls, 3);
    (waits, dates)
}

#[test]
fn calls_wait_for_the_configured_delay() {
    assert_eq!(play("{}").0, []);
    let (waits, dates) = play(r#"{"toolCallDelayMs": 500, "toolCallDelayAfterCalls": 1, "toolCallDelayAfterMs": 1500}"#);
    assert_eq!(waits, [(1, 500), (2, 2000), (3, 2000)]);
    assert_eq!(dates.first().map(String::as_str), Some("2026-01-01T09:00:00Z 2026 2026-01-01"));
    assert_eq!(dates.last().map(String::as_str), Some("2026-01-01T09:00:04Z 2026 2026-01-01"));
    assert_eq!(play(r#"{"toolCallDelayMs": 60000}"#).0, [(1, 10_000), (2, 10_000), (3, 10_000)]);
}
