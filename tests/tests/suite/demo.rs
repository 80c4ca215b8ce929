//! Conversations of the demo that talks cannot express: simultaneous messages, and replays without services.

use std::thread;

use convengine_test_macros::test;
use convengine_tests::talk;
use serde_json::{Value, json};

use crate::harness::{REGEX_ONLY, TestEnv};

const ID: &str = "6f0c2d4e-8a1b-4c3d-9e5f-7a6b5c4d3e2f";

/// A pack in which each of two messages leaves a mark, and the reply shows the marks.
fn marks() -> Value {
    let mark = |id: u32, word: &str| {
        json!({"rule_id": id, "phase": "PRE_RESPONSE_RESOLUTION", "intent_code": "ANY", "state_code": "ANY", "rule_type": "EXACT",
            "match_pattern": word, "action": "SET_INPUT_PARAM", "action_value": format!("{word}:true"), "priority": id})
    };
    json!({
        "name": "marks",
        "tables": {
            "ce_intent": [{"intent_code": "MARK", "description": "Leaves a mark"}],
            "ce_intent_classifier": [
                {"classifier_id": 1, "rule_type": "REGEX", "pattern": "^(left|right)$", "intent_code": "MARK", "priority": 10}
            ],
            "ce_rule": [mark(1, "left"), mark(2, "right")],
            "ce_response": [{"response_id": 1, "intent_code": "MARK", "state_code": "ANY", "output_format": "TEXT", "response_type": "EXACT",
                "exact_text": "left {{inputParams.left}}, right {{inputParams.right}}"}]
        }
    })
}

/// Demo scenario X10.
#[test]
fn of_two_simultaneous_messages_the_second_sees_the_effects_of_the_first() {
    let env = TestEnv::with_pack(&marks());
    let server = env.serve(&REGEX_ONLY);
    for number in 0..12 {
        let id = format!("{}{number:02}", &ID[..34]);
        let mut texts: Vec<Value> = thread::scope(|scope| {
            let sent = ["left", "right"].map(|word| scope.spawn(|| server.say(&id, word)["payload"]["value"].clone()));
            sent.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        texts.sort_by_key(|text| text.as_str().map(str::len));
        assert!(texts[0] == "left true, right " || texts[0] == "left , right true", "{texts:?}");
        assert_eq!(texts[1], "left true, right true", "{texts:?}");
    }
}

/// Demo scenario X11.
#[test]
fn a_conversation_on_a_server_replays_without_its_services() {
    for name in ["hotel_by_the_lake", "transfer_task_fails", "stock_lookup", "yes_comes_too_late"] {
        let case = talk(&format!("{name}.talk")).unwrap();
        let file = case.path.display().to_string();
        let env = TestEnv::with_tables();
        assert_eq!(env.run(&["import", &file]).code, 0);
        let flow = format!("convengine.flow={}", case.pack.settings["flow"]);
        let server = env.serve(&["--llm", &format!("scripted:{file}"), "--set", &flow]);
        let bodies: Vec<&Value> = case.pack.turns.iter().filter_map(|it| it.request.as_ref()).map(|it| &it.body).collect();
        let answers: Vec<Value> = bodies.iter().map(|body| server.post(body.to_string()).json()).collect();
        drop(server);
        let id = bodies[0]["conversationId"].as_str().unwrap();
        let turns = answers.iter().filter(|it| it["conversationId"] == id).count();
        let output = env.run(&["replay", "--conversation", id]);
        assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{name}: {output:?}");
        assert!(
            output.stdout.lines().last().is_some_and(|line| line.starts_with(&format!("{turns} turn")) && line.ends_with(" equal")),
            "{name}: {output:?}"
        );
    }
}
