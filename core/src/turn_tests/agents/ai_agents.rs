//! What AI agents spend and show, in turns with hand-made replies.

use std::sync::Arc;

use convengine_config::Config;
use serde_json::{Value, json};

use crate::turn::{
    Completion, EffectResult, LlmReply, LlmToolCall, LoadedSession, NoticeBody, ProgramRef, Reply, Request, Turn, TurnInput, Usage,
    UserEvent, Write,
};

/// A cent in the unit of replies.
const CENT: u64 = 10_000;

/// A session of an AI agent.
struct Session {
    config: Arc<Config>,
    state: Option<Value>,
    output: Value,
    audits: Vec<(String, Value)>,
    /// Whether the last model call was streamed.
    is_streamed: bool,
}

impl Session {
    fn new(members: Value) -> Session {
        let mut document = json!({"schema_version": "1.0", "doc": "ai_agent", "id": "a", "name": "A", "mission": "Help.",
            "tools": [{"id": "note", "name": "Note", "kind": "noop"}]});
        document.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        Session {
            config: Arc::new(Config::from_flow(&document).unwrap()),
            state: None,
            output: Value::Null,
            audits: Vec::new(),
            is_streamed: false,
        }
    }

    /// Runs a turn whose model replies so, each reply with its cost. Returns the number of model calls and the texts.
    fn send(&mut self, event: Value, replies: Vec<LlmReply>) -> (usize, Vec<String>) {
        let input = TurnInput {
            turn: "t".to_owned(),
            conversation: "s".to_owned(),
            at: 1_767_268_800_000,
            seed: 1,
            program: ProgramRef::Flow,
            event: UserEvent::from_flow_event(event),
            session: LoadedSession { flow: self.state.clone().map(Arc::new), ..LoadedSession::default() },
        };
        let (mut turn, mut slice) = Turn::start(input, Arc::clone(&self.config)).unwrap();
        let (mut replies, mut calls) = (replies.into_iter(), 0);
        self.audits.clear();
        loop {
            for notice in &slice.notices {
                if let NoticeBody::Audit { stage, payload } = &notice.body {
                    self.audits.push((stage.to_string(), payload.to_value().into_owned()));
                }
            }
            if slice.end.is_some() {
                break;
            }
            let effect = slice.effects.remove(0);
            assert!(matches!(effect.request, Request::Llm(_)), "{effect:?}");
            self.is_streamed = effect.stream;
            calls += 1;
            let outcome = EffectResult::Ok(Reply::Llm(replies.next().unwrap()));
            slice = turn.resume(vec![Completion { id: effect.id, at: 1_767_268_800_000, outcome }]).unwrap();
        }
        let outcome = slice.end.unwrap();
        let state =
            outcome.writes.iter().find_map(|write| if let Write::Session { state } = write { Some((**state).clone()) } else { None });
        self.state = state.or(self.state.take());
        self.output = *outcome.flow.unwrap();
        let texts =
            self.output["messages"].as_array().unwrap().iter().map(|message| message["text"].as_str().unwrap().to_owned()).collect();
        (calls, texts)
    }

    fn say(&mut self, text: &str, replies: Vec<LlmReply>) -> (usize, Vec<String>) {
        self.send(json!({"type": "user.message", "text": text, "channel": "sms"}), replies)
    }

    /// The actions of guardrails in the last turn, with their ids.
    fn guardrails(&self) -> Vec<String> {
        let guardrails = self.audits.iter().filter(|it| it.0 == "guardrail");
        guardrails
            .map(|(_, payload)| format!("{} {}", payload["guardrail"].as_str().unwrap(), payload["action"].as_str().unwrap()))
            .collect()
    }
}

fn reply(text: &str, cost: u64, tools: &[&str]) -> LlmReply {
    let call = |name: &&str| LlmToolCall { id: (*name).to_owned(), name: (*name).to_owned(), arguments: json!({}) };
    LlmReply {
        text: text.to_owned(),
        usage: Some(Usage { cost_micros: Some(cost), ..Usage::default() }),
        tool_calls: tools.iter().map(call).collect(),
        ..LlmReply::from_script(String::new())
    }
}

#[test]
fn a_budget_ends_model_and_tool_calls_of_the_conversation() {
    let mut session = Session::new(json!({"guardrails": [
        {"id": "money", "kind": "BUDGET", "config": {"max_cents": 2}},
        {"id": "desk", "kind": "ESCALATE", "config": {"on": ["budget"]}, "enabled": false},
    ]}));
    assert_eq!(session.say("hi", vec![reply("Hello.", CENT, &[])]), (1, vec!["Hello.".to_owned()]));
    assert_eq!(session.state.as_ref().unwrap()["channel"], "sms");
    let (calls, texts) = session.say("note it", vec![reply("Noting.", CENT, &["note"])]);
    assert_eq!((calls, texts), (1, vec!["Noting.".to_owned()]), "the text was sent before");
    assert_eq!(session.guardrails(), ["money refused", "money stopped"]);
    assert_eq!(session.output["debug"]["stop_reason"], "budget");
    assert_eq!(session.output["status"], "awaiting_input");
    assert_eq!(session.say("again", Vec::new()), (0, vec!["Something went wrong. Please try again.".to_owned()]));
}

#[test]
fn a_used_up_budget_may_hand_over() {
    let mut session = Session::new(json!({"guardrails": [
        {"id": "money", "kind": "BUDGET", "config": {"max_cents": 0}}, {"id": "desk", "kind": "ESCALATE", "config": {"on": ["budget"]}},
    ]}));
    assert_eq!(session.say("hi", Vec::new()).0, 0);
    assert_eq!(session.output["status"], "handed_off");
    assert_eq!(session.guardrails(), ["money stopped", "desk escalated"]);
}

#[test]
fn the_daily_cap_is_a_setting_and_fails_the_call() {
    let mut session = Session::new(json!({"daily_spend_cap_cents": 5}));
    assert_eq!(session.config.flow().unwrap().document.settings.daily_spend_cap_cents, Some(5));
    assert_eq!(session.send(json!({"type": "user.message", "text": "hi", "budget_left": 0}), Vec::new()).0, 0);
    assert_eq!(session.state.as_ref().unwrap()["vars"]["_error"]["code"], "budget");
    assert_eq!(session.say("hi", vec![reply("Hello.", CENT, &[])]), (1, vec!["Hello.".to_owned()]), "the next message tries again");
}

#[test]
fn operators_see_no_personal_data_in_traces() {
    let mut session = Session::new(json!({}));
    session.say("I am ann@example.com", vec![reply("Hello ann@example.com.", 0, &[])]);
    assert!(!json!(session.audits).to_string().contains("ann@"), "{:?}", session.audits);
    let mut shown = session.state.clone().unwrap();
    shown["event"] = json!({"text": "call 030 1234567"});
    convengine_flow::redact_session(session.config.flow().unwrap(), &mut shown);
    assert_eq!(shown["event"]["text"], "call [phone]");
    assert_eq!(shown["history"][0]["text"], "I am ann@example.com", "a person at the desk sees the conversation");
}

#[test]
fn a_protected_tool_needs_a_guardrail() {
    let tasks = json!([{"id": "t", "tool_names": ["note"], "flag": "SENSITIVE"}]);
    let mut session = Session::new(json!({"tasks": tasks}));
    session.say("hi", vec![reply("", 0, &["note"]), reply("No.", 0, &[])]);
    let messages = &session.state.as_ref().unwrap()["vars"]["_agent_memory_agent"]["messages"];
    assert!(messages[2]["content"].as_str().unwrap().contains("unknown_tool"), "{messages}");
}

#[test]
fn a_reply_that_may_be_masked_is_not_streamed() {
    for (enabled, expected) in [(true, "write to [email]"), (false, "write to a@b.de")] {
        let mut session = Session::new(json!({"guardrails": [{"id": "g", "kind": "REDACT", "enabled": enabled}]}));
        assert_eq!(session.say("hi", vec![reply("write to a@b.de", 0, &[])]).1, [expected]);
        assert_eq!(session.is_streamed, !enabled);
    }
}
