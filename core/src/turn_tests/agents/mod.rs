//! Agents in turns of the pack `agent`; every turn is restored from its journal after each slice.

mod ai_agents;
mod injected_passages;
mod injections;
mod writes_in_doubt;

use std::sync::Arc;

use convengine_config::Config;
use convengine_pack::{Conversations, Message, Pack, Scripted};
use serde_json::{Value, json};

use crate::turn::{Completion, Effect, EffectClass, EffectResult, HttpRequest, LlmDialogue, LlmRequest, NoticeBody, Request, Turn};

const PACK: &str = include_str!("../../../../tests/packs/flow/agent.json");

/// A session with a scripted model.
pub struct AgentSession {
    config: Arc<Config>,
    scripted: Scripted,
    conversations: Conversations,
    seed: u64,
    /// Requests sent to models.
    pub model_requests: Vec<LlmRequest>,
    /// Requests sent to services.
    pub http_requests: Vec<HttpRequest>,
    /// Number of effects per slice.
    pub effects_per_slice: Vec<usize>,
    /// Audit stages of the last turn.
    pub stages: Vec<String>,
    /// Variables after the last turn.
    pub vars: Value,
}

impl AgentSession {
    /// Starts a session with model rules; `change` modifies the pack first.
    pub fn with_rules(rules: Value, change: impl FnOnce(&mut Value)) -> AgentSession {
        let mut pack: Value = serde_json::from_str(PACK).unwrap();
        pack["llm"] = rules;
        change(&mut pack);
        let pack = Pack::parse(&pack.to_string()).unwrap();
        let (config, issues) = pack.compile();
        assert!(issues.is_empty(), "{issues:?}");
        let mut play = AgentSession {
            config: Arc::new(config),
            scripted: Scripted::from_pack(&pack),
            conversations: Conversations::default(),
            seed: 0,
            model_requests: Vec::new(),
            http_requests: Vec::new(),
            effects_per_slice: Vec::new(),
            stages: Vec::new(),
            vars: Value::Null,
        };
        play.send_event(&json!({"type": "session.start"}));
        play
    }

    /// Starts a session whose model gives these replies in order.
    pub fn with_replies(replies: &Value) -> AgentSession {
        AgentSession::with_rules(json!([{"purpose": "agent", "replies": replies}]), |_| {})
    }

    /// Runs a turn with an event; returns its output.
    pub fn send_event(&mut self, event: &Value) -> Value {
        self.seed += 1;
        let at = 1_767_258_000_000 + i64::try_from(self.seed).unwrap() * 60_000;
        let message =
            Message { conversation_id: Some("s".to_owned()), at, seed: self.seed, flow: Some(event.clone()), ..Message::default() };
        let input = message.into_input(&self.conversations, self.config.program());
        let (mut turn, mut slice) = Turn::start(input, Arc::clone(&self.config)).unwrap();
        self.stages.clear();
        while slice.end.is_none() {
            self.effects_per_slice.push(slice.effects.len());
            let completions = slice
                .effects
                .iter()
                .map(|effect| Completion { id: effect.id, at: turn.now(), outcome: self.answer_effect(effect) })
                .collect();
            self.record_stages(&slice.notices);
            slice = turn.resume(completions).unwrap();
            let saved = serde_json::to_string(turn.journal()).unwrap();
            let (restored, again) = Turn::restore(serde_json::from_str(&saved).unwrap(), Arc::clone(&self.config)).unwrap();
            assert_eq!((&again.effects, &again.end), (&slice.effects, &slice.end), "the restored turn differs");
            turn = restored;
        }
        self.record_stages(&slice.notices);
        let end = slice.end.unwrap();
        self.conversations.commit(&end);
        self.vars = json!(end.session.context);
        end.to_response()
    }

    fn record_stages(&mut self, notices: &[convengine_turn::Notice]) {
        let stage = |notice: &convengine_turn::Notice| {
            if let NoticeBody::Audit { stage, .. } = &notice.body { Some(stage.to_string()) } else { None }
        };
        self.stages.extend(notices.iter().filter_map(stage));
    }

    fn answer_effect(&mut self, effect: &Effect) -> EffectResult {
        if let Request::Llm(request) = &effect.request {
            self.model_requests.push(request.clone());
        }
        if let Request::Http(request) = &effect.request {
            self.http_requests.push(request.as_ref().clone());
        }
        self.scripted.answer(&effect.request).0
    }

    /// Runs a turn with a message; returns the texts of the answer.
    pub fn say(&mut self, text: &str) -> Vec<String> {
        let answer = self.send_event(&json!({"type": "user.message", "text": text}));
        message_texts(&answer)
    }

    /// Runs a turn with an approval decision.
    pub fn decide(&mut self, mut decision: Value) -> Value {
        decision["type"] = json!("approval.decision");
        self.send_event(&decision)
    }

    /// The dialogue of the last model request.
    pub fn last_dialogue(&self) -> &LlmDialogue {
        self.model_requests.last().unwrap().dialogue.as_ref().unwrap()
    }

    /// The last tool result in the dialogue.
    pub fn last_tool_result(&self) -> Value {
        serde_json::from_str(&self.last_dialogue().messages.last().unwrap().content).unwrap()
    }
}

/// The texts of the messages of an answer.
pub fn message_texts(answer: &Value) -> Vec<String> {
    answer["messages"].as_array().unwrap().iter().map(|message| message["text"].as_str().unwrap().to_owned()).collect()
}

/// A model reply with tool calls.
pub fn tool_calls_reply(calls: &[(&str, &str, Value)]) -> Value {
    json!({"tool_calls": calls.iter().map(|(id, name, args)| json!({"id": id, "name": name, "arguments": args})).collect::<Vec<_>>()})
}

#[test]
fn a_tool_is_called_and_its_result_reaches_the_model() {
    let replies =
        json!([tool_calls_reply(&[("c1", "get_balance", json!({"account": "checking"}))]), "You have 99.50.", "You are welcome."]);
    let mut play = AgentSession::with_replies(&replies);
    let answer = play.send_event(&json!({"type": "user.message", "text": "card desk please"}));
    assert_eq!(message_texts(&answer), ["You have 99.50."]);
    assert_eq!(
        (&answer["awaiting"]["kind"], &answer["awaiting"]["node"], &answer["status"]),
        (&json!("agent"), &json!("desk"), &json!("awaiting_input"))
    );
    let effects = json!([
        {"kind": "llm.generate", "outcome": "ok", "attempt": 1, "purpose": "agent"}, {"kind": "tool.call", "outcome": "ok", "attempt": 1},
        {"kind": "llm.generate", "outcome": "ok", "attempt": 1, "purpose": "agent"}
    ]);
    assert_eq!(answer["debug"]["effects"], effects);
    assert_eq!(
        (&answer["debug"]["effective_agent_provider"], &answer["debug"]["effective_agent_model"]),
        (&json!("scripted"), &json!("scripted"))
    );
    assert_eq!(play.last_tool_result(), json!({"ok": true, "data": {"balance": 99.5}}));
    assert_eq!(play.vars["balance"], json!(99.5));
    assert_eq!(play.http_requests[0].headers, [("Authorization".to_owned(), "Bearer [secret:CORE_API_KEY]".to_owned())]);
    assert_eq!(play.http_requests[0].secrets, ["0 7 CORE_API_KEY"]);
    let stages: Vec<&str> = play.stages.iter().map(String::as_str).filter(|it| it.starts_with("agent.")).collect();
    assert_eq!(stages, ["agent.enter", "agent.step", "agent.tool", "agent.step"]);

    let dialogue = play.last_dialogue();
    assert_eq!((dialogue.model.as_deref(), dialogue.temperature), (Some("anthropic:large"), Some(0.2)));
    let names: Vec<&str> = dialogue.tools.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["get_balance", "find_cards", "block_card", "crm_search", "note", "finish", "request_human"]);
    assert!(
        play.model_requests[0]
            .system
            .starts_with("You help with cards of a customer. Block a card only when the customer asks for it.\n\n")
    );
    assert_eq!((play.model_requests[0].user.as_str(), play.model_requests[0].user_text.as_str()), ("", "card desk please"));
    assert!(play.model_requests[1].prompt().contains("99.5"), "the dialogue is part of the prompt");

    // The message goes to the agent although it has a phrase of an intent.
    assert_eq!(play.say("new ticket"), ["You are welcome."]);
    let memory = json!({"v": 1, "messages": [
        {"role": "user", "content": "card desk please"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "name": "get_balance", "arguments": {"account": "checking"}}]},
        {"role": "tool", "content": "{\"ok\":true,\"data\":{\"balance\":99.5}}", "tool_call_id": "c1"},
        {"role": "assistant", "content": "You have 99.50."}, {"role": "user", "content": "new ticket"},
        {"role": "assistant", "content": "You are welcome."}
    ], "turns": 2, "summary": null, "instructions": play.vars["_agent_memory_desk"]["instructions"]});
    assert_eq!(play.vars["_agent_memory_desk"], memory);
}

#[test]
fn invalid_calls_are_answered_with_errors() {
    let wrong = tool_calls_reply(&[
        ("a", "get_balance", json!({"account": "gold"})),
        ("b", "erase_all", json!({})),
        ("c", "crm_search", json!({})),
        ("d", "note", json!({})),
        ("e", "request_human", json!({})),
    ]);
    let mut play = AgentSession::with_rules(json!([{"purpose": "agent", "replies": [wrong, "I see."]}]), |pack| {
        let tools = pack["documents"][0]["tools"].as_array_mut().unwrap();
        let tool = tools.iter_mut().find(|tool| tool["id"] == "crm.search").unwrap().as_object_mut().unwrap();
        tool.shift_remove("server");
        tool.insert("effect_class".to_owned(), json!("read"));
    });
    assert_eq!(play.say("card desk"), ["I see."]);
    let results: Vec<Value> =
        play.last_dialogue().messages[2..].iter().map(|message| serde_json::from_str(&message.content).unwrap()).collect();
    let codes: Vec<&Value> = results.iter().map(|it| &it["error"]["code"]).collect();
    assert_eq!(codes, [&json!("invalid_args"), &json!("unknown_tool"), &json!("tool_unknown"), &Value::Null, &json!("invalid_args")]);
    assert_eq!(results[3], json!({"ok": true}));
    assert!(play.http_requests.is_empty());
}

#[test]
fn reads_run_concurrently_and_writes_in_order() {
    let (balance, cards) = (("a", "get_balance", json!({"account": "checking"})), ("b", "find_cards", json!({"name": "A&B"})));
    let mut play = AgentSession::with_replies(&json!([tool_calls_reply(&[balance.clone(), cards.clone()]), "Both."]));
    play.say("card desk");
    assert_eq!((play.effects_per_slice.as_slice(), play.http_requests[1].url.as_str()), ([1, 2, 1].as_slice(), "${STUB}/cards?name=A%26B"));
    let ids: Vec<_> = play.last_dialogue().messages.iter().filter_map(|it| it.tool_call_id.as_deref()).collect();
    assert_eq!(ids, ["a", "b"]);

    let free = |pack: &mut Value| pack["documents"][0]["graphs"][1]["nodes"][1]["data"]["tools"][2]["approval"] = json!("never");
    let block = |id| (id, "block_card", json!({"card": "C-1"}));
    let rules = json!([{"purpose": "agent", "replies": [tool_calls_reply(&[balance, block("x"), block("x")]), "Blocked."]}]);
    let mut play = AgentSession::with_rules(rules, free);
    assert_eq!(play.say("card desk"), ["Blocked."]);
    assert_eq!(play.effects_per_slice, [1, 1, 1, 1, 1]);
    let keys: Vec<&str> = play.http_requests[1..]
        .iter()
        .filter_map(|request| request.headers.iter().find(|(name, _)| name == "Idempotency-Key"))
        .map(|it| it.1.as_str())
        .collect();
    assert_eq!(keys, ["s:1:g_cards/desk:1:1", "s:1:g_cards/desk:1:2"]);
    assert_eq!(
        (play.http_requests[1].class, play.http_requests[1].sign.as_ref().unwrap().secret.as_str()),
        (EffectClass::Write, "HOOK_KEY")
    );
}

#[test]
fn a_person_approves_rejects_or_edits_a_call() {
    let block = tool_calls_reply(&[("b1", "block_card", json!({"card": "C-1"})), ("b2", "note", json!({}))]);
    let replies = json!([{"text": "One moment.", "tool_calls": block["tool_calls"]}, "Settled."]);
    let request_approval = |replies: &Value| {
        let mut play = AgentSession::with_replies(replies);
        let answer = play.send_event(&json!({"type": "user.message", "text": "card desk: block it"}));
        assert_eq!(message_texts(&answer), ["One moment."]);
        assert_eq!(answer["awaiting"]["kind"], "approval");
        assert_eq!(answer["awaiting"]["call"], json!({"call_id": "b1", "tool": "block_card", "args": {"card": "C-1"}}));
        assert!(play.http_requests.is_empty());
        play
    };
    let mut play = request_approval(&replies);
    let answer = play.decide(json!({"call_id": "other", "approved": true}));
    assert_eq!((&answer["awaiting"]["kind"], &answer["debug"]["warnings"]), (&json!("approval"), &json!(["approval.unknown_call"])));
    assert_eq!(play.say("are you there?"), Vec::<String>::new());
    let answer = play.decide(json!({"call_id": "b1", "approved": true}));
    assert_eq!((message_texts(&answer), &answer["awaiting"]["kind"]), (vec!["Settled.".to_owned()], &json!("agent")));
    assert_eq!((play.http_requests.len(), play.http_requests[0].body.as_deref()), (1, Some(r#"{"card":"C-1","note":null}"#)));
    let roles: Vec<Value> = play.last_dialogue().messages.iter().map(|it| json!(it.role)).collect();
    assert_eq!(roles, [json!("user"), json!("assistant"), json!("tool"), json!("tool"), json!("user")]);
    let late = play.decide(json!({"call_id": "b1", "approved": true}));
    assert_eq!((&late["debug"]["warnings"], play.http_requests.len()), (&json!(["approval.late"]), 1));

    let mut play = request_approval(&replies);
    play.decide(json!({"call_id": "b1", "approved": false, "reason": "not today"}));
    let rejected = play.last_dialogue().messages[2].content.clone();
    assert_eq!(rejected, r#"{"ok":false,"error":{"code":"rejected","message":"not today"}}"#);
    assert!(play.http_requests.is_empty());

    let mut play = request_approval(&replies);
    let answer = play.decide(json!({"call_id": "b1", "approved": true, "edited_args": {"card": "all"}}));
    assert_eq!((&answer["awaiting"]["kind"], &answer["debug"]["warnings"]), (&json!("approval"), &json!(["approval.invalid_args"])));
    play.decide(json!({"call_id": "b1", "approved": true, "edited_args": {"card": "C-7"}}));
    assert_eq!(play.http_requests[0].body.as_deref(), Some(r#"{"card":"C-7","note":null}"#));
    let result: Value = serde_json::from_str(&play.last_dialogue().messages[2].content).unwrap();
    assert_eq!(result, json!({"ok": true, "data": {"blocked": true}, "edited_args": {"card": "C-7"}}));
}

#[test]
fn an_invalid_output_can_be_corrected_once() {
    let finish = |output: Value| tool_calls_reply(&[("f", "finish", json!({"outcome": "filed", "output": output}))]);
    let good = json!({"topic": "card", "urgent": true});
    let mut play = AgentSession::with_replies(&json!([finish(json!("card")), finish(good.clone())]));
    assert_eq!(play.say("new ticket"), [r#"Done: {"topic":"card","urgent":true}."#]);
    assert_eq!((&play.vars["ticket"], &play.last_tool_result()["error"]["code"]), (&good, &json!("output_invalid")));
    let mut play = AgentSession::with_replies(&json!([finish(json!("card")), finish(json!("loan"))]));
    assert_eq!(play.say("new ticket"), ["The desk is closed (output_invalid)."]);
    // Other calls of the same reply are made before `finish`.
    let beside = tool_calls_reply(&[("f", "finish", json!({"output": good})), ("n", "note", json!({}))]);
    let mut play = AgentSession::with_replies(&json!([{"text": "Thanks.", "tool_calls": beside["tool_calls"]}]));
    assert_eq!(play.say("new ticket"), ["Thanks.", r#"Done: {"topic":"card","urgent":true}."#]);
    let memory = &play.vars["_agent_memory_clerk"]["messages"];
    assert_eq!((&memory[2]["tool_call_id"], &memory[3]["tool_call_id"]), (&json!("n"), &json!("f")));
}

#[test]
fn an_agent_ends_by_handoff_exit_condition_or_turn_limit() {
    let mut play = AgentSession::with_replies(&json!([tool_calls_reply(&[("h", "request_human", json!({"reason": "angry"}))])]));
    assert_eq!(play.say("card desk"), ["A person takes over."]);

    let mut play =
        AgentSession::with_replies(&json!([tool_calls_reply(&[("a", "get_balance", json!({"account": "savings"}))]), "never said"]));
    assert_eq!(play.say("savings guide"), ["What would you like to know?"]);
    assert!(play.model_requests.is_empty());
    assert_eq!(play.say("my savings"), ["Done: ."]);
    assert_eq!((play.model_requests.len(), &play.vars["_agent_memory_guide"]), (1, &Value::Null), "the memory is reset on exit");
    assert_eq!(play.last_dialogue().model.as_deref(), Some("small"));

    let mut play = AgentSession::with_replies(&json!(["One.", "Two.", "Three."]));
    play.say("savings guide");
    assert_eq!((play.say("a"), play.say("b"), play.say("c")), (vec!["One.".into()], vec!["Two.".into()], vec!["Let us stop here.".into()]));
    assert_eq!(play.model_requests.len(), 2);
}

#[test]
fn too_many_steps_end_the_turn_and_not_the_run() {
    let balance = tool_calls_reply(&[("a", "get_balance", json!({"account": "checking"}))]);
    let mut play = AgentSession::with_replies(&json!([balance, balance, "Here."]));
    play.say("savings guide");
    let answer = play.send_event(&json!({"type": "user.message", "text": "balance"}));
    assert_eq!(
        (message_texts(&answer), &answer["awaiting"]["kind"]),
        (vec!["Something went wrong on our side.".to_owned()], &json!("agent"))
    );
    assert_eq!(
        (&answer["debug"]["stop_reason"], play.http_requests.len()),
        (&json!("max_steps"), 2),
        "the last calls are made (docs/spec/flow-rulings.md#31)"
    );
    assert_eq!(play.say("so?"), ["Here."]);
    assert_eq!(play.last_dialogue().messages.len(), 6);
}

#[test]
fn a_failing_model_leads_to_the_error_port() {
    for (rule, code) in [
        (json!({"error": "down"}), "unavailable"),
        (json!({"reply": {"calls": []}}), "parse"),
        (json!({"reply": {"tool_calls": [{"id": "a"}]}}), "parse"),
        (json!({"reply": ""}), "parse"),
    ] {
        let mut play = AgentSession::with_rules(json!([rule]), |_| {});
        assert_eq!(play.say("card desk"), [format!("The desk is closed ({code}).")], "{rule}");
    }
}

#[test]
fn redacted_values_are_not_stored_in_memory() {
    let block = tool_calls_reply(&[("a", "find_cards", json!({"name": "4711"}))]);
    let change = |pack: &mut Value| {
        pack["documents"][0]["variables"][1]["default"] = json!("4711");
        pack["http"][3]["json"] = json!({"pin": "4711", "code": 4711, "other": "14711"});
    };
    let mut play = AgentSession::with_rules(json!([{"replies": [block, "Your PIN is 4711."]}]), change);
    assert_eq!(play.say("card desk, my PIN is 4711"), ["Your PIN is 4711."]);
    assert_eq!(play.last_tool_result(), json!({"ok": true, "data": {"pin": "[pin]", "code": "[pin]", "other": "14711"}}));
    let memory = play.vars["_agent_memory_desk"].to_string();
    assert!(!memory.replace("14711", "").contains("4711") && memory.contains("my PIN is [pin]"), "{memory}");
    assert_eq!(play.http_requests[0].url, "${STUB}/cards?name=4711", "the call has the original arguments");

    // Earlier messages are redacted once the variable has its value.
    let call = tool_calls_reply(&[("a", "get_balance", json!({"account": "checking"}))]);
    let change = |pack: &mut Value| {
        pack["documents"][0]["tools"][0]["outputs"] = json!([{"path": "$.pin", "variable": "pin"}]);
        pack["http"][0]["json"] = json!({"pin": "4711"});
    };
    let mut play = AgentSession::with_rules(json!([{"replies": [call, "Done."]}]), change);
    play.say("card desk, my PIN is 4711");
    assert_eq!(play.last_dialogue().messages[0].content, "card desk, my PIN is [pin]");
    assert!(!play.vars["_agent_memory_desk"].to_string().contains("4711") && play.vars["pin"] == "4711");
}

#[test]
fn an_agent_gets_the_whole_message() {
    let mut play = AgentSession::with_rules(json!([{"reply": "Yes?"}]), |_| {});
    play.say("card desk");
    let long = "word ".repeat(500);
    play.say(&long);
    assert_eq!(play.last_dialogue().messages.last().unwrap().content.trim(), long.trim());
}

#[test]
fn too_many_messages_during_an_approval_end_the_run() {
    let rules =
        json!([{"purpose": "agent", "replies": [tool_calls_reply(&[("b", "block_card", json!({"card": "C-1"}))]), "Anything else?"]}]);
    let shorter = |pack: &mut Value| {
        let text = pack.to_string().replace("\"max_turns\":6", "\"max_turns\":1");
        *pack = serde_json::from_str(&text).unwrap();
    };
    let mut play = AgentSession::with_rules(rules, shorter);
    let answer = play.send_event(&json!({"type": "user.message", "text": "card desk"}));
    assert_eq!(answer["awaiting"]["kind"], "approval", "{answer}");
    play.say("one too many");
    let answer = play.decide(json!({"call_id": "b", "approved": true}));
    assert_eq!((play.model_requests.len(), answer["awaiting"]["kind"] == "agent"), (1, false), "docs/spec/flow-rulings.md#32: {answer}");
}
