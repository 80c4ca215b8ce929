//! The examples of the README and of the guide, played against a real server with the demo.

use std::fs;

use convengine_core::pack::Pack;
use convengine_player::{HttpPlayer, ServerOptions};
use convengine_test_macros::test;
use convengine_tests::{demo, root};
use serde_json::{Value, json};

const CONVERSATION: &str = "5f0c9b6e-1d3a-4f5e-8a77-3c2b1a0d9e8f";

/// The text of the first block of a kind in a page.
fn block<'p>(page: &'p str, kind: &str) -> &'p str {
    page.split(&format!("```{kind}\n")).nth(1).and_then(|rest| rest.split("\n```").next()).expect("the page has no such block")
}

fn turn(body: Value) -> Value {
    json!({"request": {"method": "POST", "path": "/api/v1/conversation/message", "body": body}})
}

/// A message with its parameters after it.
fn message(line: &str) -> Value {
    let (text, params) =
        line.split_once(" {").map_or((line, json!({})), |(text, rest)| (text, serde_json::from_str(&format!("{{{rest}")).unwrap()));
    json!({"conversationId": CONVERSATION, "message": text, "inputParams": params})
}

fn play(bodies: Vec<Value>) -> Vec<Value> {
    let demo = demo("help_desk.json").unwrap();
    let mut pack: Pack = demo.pack;
    pack.turns = bodies.into_iter().map(|body| serde_json::from_value(turn(body)).unwrap()).collect();
    let mut player = HttpPlayer::start(&pack, &demo.path, &ServerOptions::default()).unwrap();
    (0..pack.turns.len()).map(|turn| player.play(turn).unwrap().json).collect()
}

#[test]
#[on(no_database)]
fn the_curl_call_answers_as_printed() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let console = block(&readme, "console");
    let (call, answer) = console.split_once("}}'\n").expect("the call ends with a quoted object");
    let body: Value = serde_json::from_str(&format!("{}}}}}", call.split_once("-d '").unwrap().1)).unwrap();
    let printed: Value = serde_json::from_str(answer).unwrap();
    let answers = play(vec![body]);
    for (key, value) in printed.as_object().unwrap() {
        assert_eq!(&answers[0][key], value, "{key}");
    }
}

#[test]
#[on(no_database)]
fn the_transcript_is_what_the_demo_says() {
    let guide = fs::read_to_string(root().join("docs/guide/server.md")).unwrap();
    let lines: Vec<&str> = block(&guide, "transcript").lines().filter(|line| !line.trim().is_empty()).collect();
    let expected: Vec<(&str, &str, &str)> = lines
        .chunks(3)
        .map(|chunk| (chunk[0].strip_prefix("> ").unwrap(), chunk[1].strip_prefix("< ").unwrap(), chunk[2].strip_prefix("= ").unwrap()))
        .collect();
    assert!(expected.len() >= 6);
    let answers = play(expected.iter().map(|it| message(it.0)).collect());
    for ((said, reply, place), answer) in expected.into_iter().zip(answers) {
        assert_eq!(answer["payload"]["value"], reply, "{said}");
        let found = format!("{} / {}", answer["intent"].as_str().unwrap(), answer["state"].as_str().unwrap());
        assert_eq!(found, place, "{said}");
    }
}
