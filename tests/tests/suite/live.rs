//! A chat of the page with a real model and a real service: what is shown, what is sent, and where no key may be.

use std::process::Command;

use convengine_test_macros::test;
use convengine_tests::root;
use serde_json::{Value, json};

use crate::harness::TestEnv;

/// A desk whose replies about orders are written by a model and which files cases with a service; the page gets the service's address.
fn desk() -> Value {
    let filed = "[(${inputParams.tool_status})] [(${inputParams.tool_result.result?.mapped})]";
    json!({
        "name": "desk",
        "settings": {"flow": {"dialogueAct": {"resolute": "REGEX_ONLY"}}},
        "tables": {
            "ce_intent": [{"intent_code": "ORDERS", "description": "Questions about orders"}, {"intent_code": "CASES", "description": "Cases"}],
            "ce_intent_classifier": [
                {"classifier_id": 1, "rule_type": "CONTAINS", "pattern": "order", "intent_code": "ORDERS", "priority": 10},
                {"classifier_id": 2, "rule_type": "STARTS_WITH", "pattern": "file", "intent_code": "CASES", "state_code": "OPEN", "priority": 20}
            ],
            "ce_rule": [
                {"rule_id": 1, "phase": "PRE_RESPONSE_RESOLUTION", "intent_code": "CASES", "state_code": "CLOSED", "rule_type": "EXACT",
                 "match_pattern": "never", "action": "SET_STATE", "action_value": "OPEN"}
            ],
            "ce_prompt_template": [
                {"template_id": 1, "intent_code": "ORDERS", "state_code": "ANY", "output_format": "TEXT",
                 "system_prompt": "Answer kindly.", "user_prompt": "The customer writes: {{user_input}}"}
            ],
            "ce_response": [
                {"response_id": 1, "intent_code": "ORDERS", "state_code": "ANY", "output_format": "TEXT", "response_type": "DERIVED"},
                {"response_id": 2, "intent_code": "CASES", "state_code": "ANY", "output_format": "TEXT", "response_type": "EXACT", "exact_text": filed}
            ],
            "ce_mcp_tool": [
                {"tool_id": 1, "tool_code": "crm.file", "tool_group": "HTTP", "intent_code": "CASES", "state_code": "OPEN", "description": "Files a case"}
            ],
            "ce_http_tool": [{"tool_id": 1, "method": "POST", "url_template": "http://SERVICE/cases/{{id}}", "auth_ref": "crm"}],
            "cv_tool_spec": [{"tool_id": 1, "spec": {"approval": "never"}}],
            "ce_mcp_planner": [
                {"planner_id": 1, "intent_code": "CASES", "state_code": "OPEN", "system_prompt": "You file cases.", "user_prompt": "{{user_input}}"}
            ]
        }
    })
}

/// Chats in the page; returns the lines that its script prints, by their only member.
fn chat(env: &TestEnv) -> Vec<(String, Value)> {
    let server = env.serve(&[]);
    let mut command = Command::new("node");
    command.arg(root().join("web-demo/test/live.mjs")).arg(format!("http://{}", server.address)).arg(env.write_pack("desk.json", &desk()));
    let output = command.output().expect("cannot start node");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let line = |it: &str| serde_json::from_str::<serde_json::Map<String, Value>>(it).unwrap().into_iter().next().unwrap();
    printed.lines().map(line).collect()
}

#[test]
#[on(browser)]
fn a_live_chat_in_the_browser_streams_the_reply_and_keeps_its_key_in_memory() {
    let lines = chat(&TestEnv::new());
    let lines_of = |name: &str| lines.iter().filter(|line| line.0 == name).map(|line| &line.1).collect::<Vec<_>>();
    assert_eq!(lines_of("writing"), ["It is"], "before the model has finished");
    let filed = r#"SUCCESS {"filed":7,"echo":"Bearer [secret:crm]","base64":"[secret:crm]"}"#;
    assert_eq!(lines_of("chat"), ["It is [secret:key of openai] on its way 🙂", filed]);
    let requests = lines_of("asked");
    assert_eq!(requests[0]["signed"], "Bearer sk-live-0123456789abcdef");
    assert_eq!((&requests[0]["url"], &requests[0]["call"]["stream"]), (&json!("/v1/chat/completions"), &json!(true)));
    assert_eq!(requests[0]["call"]["messages"][1]["content"], "The customer writes: my order\n\n");
    assert_eq!((&requests[1]["url"], &requests[1]["signed"]), (&json!("/cases/7"), &json!("Bearer crm-9876543210-\"q\"")));
    assert_eq!((&requests[1]["call"], requests[1]["key"].as_str().map(|it| it.ends_with("/0"))), (&json!({"id": "7"}), Some(true)));
    let failed = lines_of("failed");
    let starts_with = |line: &Value, start: &str| line.as_str().is_some_and(|text| text.starts_with(start));
    assert_eq!((failed[0].as_array().map(Vec::len), failed[1].as_array().map(Vec::len)), (Some(1), Some(2)), "{failed:?}");
    assert!(starts_with(&failed[0][0], "⚠ Model response_text failed: openai:test-model: unreachable"), "{failed:?}");
    assert!(starts_with(&failed[1][0], "⚠ Service crm.file failed: cannot call '127.0.0.1'"), "{failed:?}");
    assert!(starts_with(&failed[1][1], "⚠ Model mcp_plan failed: openai:test-model: unreachable"), "{failed:?}");
    assert_eq!(lines_of("seen"), [&json!([])], "the key and the secret are only where they were entered");
}
