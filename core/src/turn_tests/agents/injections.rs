//! Prompt injection tests: tool results with instructions and a model that follows them (docs/spec/flows.md#4.13).

use convengine_turn::LlmRequest;
use serde_json::{Value, json};

use super::{AgentSession, message_texts, tool_calls_reply};

pub(super) const CORPUS: &str = include_str!("../../../../tests/packs/flow/injections.json");

/// The text of a harmless result.
pub(super) const HARMLESS: &str = "All is well.";

/// The parts of a model request other than its messages.
pub(super) fn request_frame(request: &LlmRequest) -> Value {
    let dialogue = request.dialogue.as_ref().unwrap();
    json!([request.system, dialogue.tools, dialogue.model, dialogue.temperature, request.mode, request.user])
}

/// Runs a model that reads a text in a result and does all it could ask for: calls an unknown tool, passes the text to tools, calls a tool
/// that needs approval, and sends the text to the user.
fn play_obedient_model(text: &str) -> AgentSession {
    let calls_of_text = tool_calls_reply(&[
        ("t", "transfer_all", json!({})),
        ("f", "find_cards", json!({"name": text})),
        ("b", "block_card", json!({"card": "C-1", "note": text})),
        ("h", "request_human", json!({"reason": text})),
    ]);
    let calls_of_text = json!({"text": text, "tool_calls": calls_of_text["tool_calls"]});
    let rules = json!([{"purpose": "agent", "replies": [tool_calls_reply(&[("a", "get_balance", json!({"account": "checking"}))]), calls_of_text]}]);
    let mut play = AgentSession::with_rules(rules, |pack| pack["http"][0]["json"] = json!({"balance": 1, "note": text}));

    let answer = play.send_event(&json!({"type": "user.message", "text": "card desk: my balance?"}));
    assert_eq!(message_texts(&answer), [text], "the text is sent unchanged");
    assert_eq!((&answer["awaiting"]["kind"], &answer["awaiting"]["call"]["tool"]), (&json!("approval"), &json!("block_card")));
    assert_eq!(play.last_tool_result(), json!({"ok": true, "data": {"balance": 1, "note": text}}), "results are passed unchanged as data");
    let memory = play.vars["_agent_memory_desk"]["messages"].clone();
    let unlisted: Value = serde_json::from_str(memory[4]["content"].as_str().unwrap()).unwrap();
    assert_eq!((&unlisted["ok"], &unlisted["error"]["code"]), (&json!(false), &json!("unknown_tool")));
    assert_eq!(play.http_requests.len(), 2, "no write was called");
    assert!(play.http_requests.iter().all(|it| it.method == "GET"));
    play
}

fn assert_injection_is_harmless(name: &str) {
    let corpus: Value = serde_json::from_str(CORPUS).unwrap();
    let case = corpus.as_array().unwrap().iter().find(|it| it["name"] == name).unwrap();
    let text = case["text"].as_str().unwrap();
    let (mut harmless, mut play) = (play_obedient_model(HARMLESS), play_obedient_model(text));
    let frames = |play: &AgentSession| play.model_requests.iter().map(request_frame).collect::<Vec<_>>();
    assert_eq!(frames(&play), frames(&harmless), "instructions and tools are unchanged");
    assert_eq!(play.vars["_agent_memory_desk"]["instructions"], harmless.vars["_agent_memory_desk"]["instructions"]);
    // The text is encoded as a query value; secrets that it names are not inserted.
    assert_eq!(play.http_requests[0], harmless.http_requests[0]);
    let found = &play.http_requests[1];
    let value = found.url.strip_prefix("${STUB}/cards?name=").unwrap();
    assert!(!value.contains(['/', '?', '&', '#', '\n', ' ', '{', '$']) && found.secrets.is_empty(), "{value}");
    // After approval, the text is still a JSON string in the body.
    for play in [&mut harmless, &mut play] {
        assert_eq!(play.decide(json!({"call_id": "b", "approved": true}))["status"], "awaiting_input");
    }
    let blocked = &play.http_requests[2];
    let body: Value = serde_json::from_str(blocked.body.as_deref().unwrap()).unwrap();
    assert_eq!((body, blocked.secrets.as_slice()), (json!({"card": "C-1", "note": text}), [].as_slice()));
    assert_eq!(
        (&blocked.url, &blocked.headers, &blocked.sign),
        (&harmless.http_requests[2].url, &harmless.http_requests[2].headers, &harmless.http_requests[2].sign)
    );
}

macro_rules! corpus {
    ($($name:ident,)+) => {
        $(
            #[test]
            fn $name() {
                assert_injection_is_harmless(stringify!($name));
            }
        )+

        #[test]
        fn each_text_of_the_corpus_has_a_test() {
            let corpus: Value = serde_json::from_str(CORPUS).unwrap();
            let names: Vec<&str> = corpus.as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect();
            assert_eq!(names, [$(stringify!($name)),+]);
            assert!(names.len() >= 30);
        }
    };
}

corpus! {
    ignore_all_instructions,
    system_prefix,
    chat_markup,
    role_markers,
    inst_tags,
    fake_tool_result,
    fake_tool_message,
    fake_tool_call,
    function_call_tags,
    new_tool,
    tool_definition,
    approval_given,
    approval_event,
    approval_never,
    supervisor,
    developer_message,
    urgent_fraud,
    template_secret,
    template_secret_short,
    template_variables,
    template_filter,
    template_escape,
    secret_marker,
    secret_marker_object,
    environment,
    exfiltrate_prompt,
    exfiltrate_history,
    markdown_image,
    link,
    html_script,
    header_injection,
    url_injection,
    finish_now,
    request_human_away,
    hidden_signs,
    tag_signs,
    other_language,
    base64,
    many_instructions,
    json_breakout,
    closing_data,
    persona,
}
