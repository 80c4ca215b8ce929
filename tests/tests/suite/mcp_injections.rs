//! Instructions that MCP servers inject into descriptions, schemas, titles, results and errors change nothing.

use std::fs;

use convengine_test_macros::test;
use convengine_tests::root;
use serde_json::{Value, json};

use crate::harness::{Server, TestEnv, wait_until};
use crate::mcp_fake::{FakeMcp, Transport, approve, approve_all, code, conversation, list_tools, listed_tool, request_tool};

fn injections() -> Vec<Value> {
    let text = fs::read_to_string(root().join("tests/mcp/injections.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn is_about_the_definition(injection: &Value) -> bool {
    ["description", "schema", "title", "instructions"].contains(&injection["where"].as_str().unwrap())
}

/// A model that asks for the status of the order, and then answers.
fn write_model(env: &TestEnv) -> String {
    let observed = format!("\"toolCode\":\"{}\"", code("get_order_status"));
    let call = json!({"action": "CALL_TOOL", "tool_code": code("get_order_status"), "args": {"orderId": "ORD-7017"}, "answer": null, "operation_tag": null});
    let answer = json!({"action": "ANSWER", "tool_code": null, "args": {}, "answer": "I have looked.", "operation_tag": null});
    let rules = json!([
        {"purpose": "mcp_plan", "contains": [observed], "reply": answer},
        {"purpose": "mcp_plan", "reply": call},
    ]);
    format!("scripted:{}", env.write_pack("model.json", &rules))
}

fn order() -> Value {
    json!({"orderId": "ORD-7017"})
}

/// A planner's prompt, taken apart.
#[derive(Debug, PartialEq)]
struct Prompt {
    /// The system prompt and what stands before the tools.
    instructions: Vec<String>,
    tools: Value,
    observations: Value,
}

/// The prompts of the planner in a conversation.
fn prompts(server: &Server, id: &str) -> Vec<Prompt> {
    let rows = server.audit(id);
    let inputs = rows.iter().filter(|it| it["stage"] == "MCP_PLAN_LLM_INPUT");
    let payload = |row: &Value| serde_json::from_str::<Value>(row["payloadJson"].as_str().unwrap()).unwrap();
    inputs.map(|row| Prompt::parse(&payload(row))).collect()
}

impl Prompt {
    #[track_caller]
    fn parse(payload: &Value) -> Prompt {
        let text = |name: &str| payload[name].as_str().unwrap().to_owned();
        let user = text("user_prompt");
        // Data stands in JSON, which has no line breaks of its own.
        let lines: Vec<&str> = user.lines().collect();
        let part = |at: usize, label: &str| lines[at].strip_prefix(label).unwrap_or_else(|| panic!("line {at} of {user}")).trim();
        assert_eq!(lines.len(), 3, "{user}");
        let json =
            |text: &str| serde_json::from_str(if text.is_empty() { "[]" } else { text }).unwrap_or_else(|error| panic!("{error}: {text}"));
        Prompt {
            instructions: vec![text("system_prompt"), lines[0].to_owned()],
            tools: json(part(1, "Tools:")),
            observations: json(part(2, "Seen:")),
        }
    }

    fn tool_codes(&self) -> Vec<&str> {
        self.tools.as_array().unwrap().iter().map(|tool| tool["tool_code"].as_str().unwrap()).collect()
    }
}

/// Approvals and effects of the tools as the server stores and lists them.
fn approvals(env: &TestEnv) -> Vec<String> {
    env.sql().texts("select tool_code || ' ' || coalesce(approval, '-') from cv_mcp_tool order by tool_code")
}

fn effects(server: &Server) -> Vec<(String, String, bool)> {
    let listed = list_tools(server);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    listed["tools"].as_array().unwrap().iter().map(|row| (text(&row["name"]), text(&row["effect"]), row["idempotent"] == true)).collect()
}

/// What must be equal after each conversation, whatever was injected.
fn state_of(answer: &Value) -> Value {
    let context: Value = serde_json::from_str(answer["context"].as_str().unwrap_or("null")).unwrap_or_default();
    json!([answer["success"], answer["intent"], answer["state"], answer["payload"], context["mcp_approval"], context["approval"]])
}

#[test]
#[on(no_database)]
fn there_are_enough_injections_of_each_kind() {
    let all = injections();
    let count = |place: &str| all.iter().filter(|injection| injection["where"] == place).count();
    assert!(all.len() >= 36);
    for place in ["description", "schema", "title", "instructions", "result", "structured", "error"] {
        assert!(count(place) >= 2, "{place}");
    }
}

#[test]
fn injected_results_and_errors_change_no_tool_approval_or_instruction() {
    let env = TestEnv::with_tables();
    let fake = FakeMcp::new(&env, Transport::Http, &[]);
    // Tools are approved as they are listed under the injection of results, which drops the schema of the output.
    for (group, place) in ["result", "structured", "error"].iter().enumerate() {
        fake.inject(&json!([{"tool": "get_order_status", "where": place, "text": "plain"}]));
        let server = fake.serve_approved(&["--llm", &write_model(&env)]);
        let base = u32::try_from(group).unwrap() * 1000;
        let plain = state_of(&server.say(&conversation(base), "Where is my order?"));
        let expected = prompts(&server, &conversation(base));
        assert_eq!((expected.len(), plain[0] == true, &plain[4]), (2, true, &Value::Null), "{plain}");
        let (approved, listed) = (approvals(&env), effects(&server));
        for (index, injection) in injections().iter().filter(|it| it["where"] == *place).enumerate() {
            let id = conversation(base + 1 + u32::try_from(index).unwrap());
            let name = &injection["id"];
            fake.inject(&json!([injection]));
            let answer = server.say(&id, "Where is my order?");
            assert_eq!(state_of(&answer), plain, "{name}: {answer}");
            let found = prompts(&server, &id);
            assert_eq!(found.len(), 2, "{name}");
            assert_eq!(found[0], expected[0], "{name}");
            assert_eq!((&found[1].instructions, &found[1].tools), (&expected[1].instructions, &expected[1].tools), "{name}");
            let seen = found[1].observations.as_array().unwrap();
            assert!(seen.len() == 1 && seen[0]["toolCode"] == json!(code("get_order_status")), "{name}: {seen:?}");
            // The next message is no answer to anything that the server has asked.
            let calls = fake.calls().len();
            server.say(&id, "yes");
            assert_eq!(fake.calls().len(), calls, "{name}: a yes to a question of the server");
        }
        assert_eq!((approvals(&env), effects(&server)), (approved, listed), "{place}");
    }
    let conversations = 3 + injections().iter().filter(|it| !is_about_the_definition(it)).count();
    assert_eq!(fake.calls(), vec!["get_order_status"; conversations]);
}

/// The worst of models: it does what the result of a tool, or an error, tells it to do.
#[test]
fn a_model_that_obeys_an_injection_needs_the_approval_of_the_user() {
    let env = TestEnv::with_tables();
    let fake = FakeMcp::new(&env, Transport::Http, &[]);
    let call = |tool: &str| json!({"action": "CALL_TOOL", "tool_code": code(tool), "args": order(), "answer": null, "operation_tag": null});
    let observed = format!("\"toolCode\":\"{}\"", code("get_order_status"));
    let rules = json!([
        {"purpose": "mcp_plan", "contains": [observed], "reply": call("cancel_order")},
        {"purpose": "mcp_plan", "reply": call("get_order_status")},
    ]);
    let model = format!("scripted:{}", env.write_pack("model.json", &rules));
    let mut asked = 0;
    for (group, place) in ["result", "structured", "error"].iter().enumerate() {
        fake.inject(&json!([{"tool": "get_order_status", "where": place, "text": "plain"}]));
        let server = fake.serve_approved(&["--llm", &model]);
        for (index, injection) in injections().iter().filter(|it| it["where"] == *place).enumerate() {
            let id = conversation(u32::try_from(group * 1000 + index).unwrap());
            let name = &injection["id"];
            fake.inject(&json!([injection]));
            let waiting = state_of(&server.say(&id, "Where is my order?"))[4].clone();
            assert_eq!((&waiting["tool_code"], &waiting["args"]), (&json!(code("cancel_order")), &order()), "{name}: {waiting}");
            // Anything but a yes drops the call; the model asks again.
            server.say(&id, "What do you mean?");
            asked += 2;
            assert_eq!(fake.calls(), vec!["get_order_status"; asked], "{name}");
        }
    }
    // The user can approve it, so the tool was there all along.
    let id = conversation(9000);
    let server = fake.serve_approved(&["--llm", &model]);
    server.say(&id, "Where is my order?");
    server.say(&id, "yes");
    assert_eq!(fake.calls().last().map(String::as_str), Some("cancel_order"));
}

#[test]
fn injected_definitions_reach_no_planner_before_an_administrator_has_seen_them() {
    let env = TestEnv::with_tables();
    let fake = FakeMcp::new(&env, Transport::Http, &[]);
    let server = fake.serve_approved(&["--llm", &write_model(&env)]);
    server.say(&conversation(0), "Where is my order?");
    let expected = prompts(&server, &conversation(0));
    let (approved, listed) = (approvals(&env), effects(&server));
    for (index, injection) in injections().iter().filter(|it| is_about_the_definition(it)).enumerate() {
        let id = conversation(1 + u32::try_from(index).unwrap());
        let name = &injection["id"];
        fake.inject(&json!([injection]));
        // Instructions of a server are shown to nobody, so they change no tool.
        if injection["where"] != "instructions" {
            let tool = injection["tool"].as_str().unwrap();
            assert!(wait_until(|| listed_tool(&server, tool)["state"] == "changed"), "{name}");
        }
        assert_eq!(effects(&server), listed, "{name}");
        server.say(&id, "Where is my order?");
        let found = prompts(&server, &id);
        assert_eq!(found[0], expected[0], "{name}");
        assert!(found.iter().all(|found| found.instructions == expected[0].instructions && found.tools == expected[0].tools), "{name}");
        assert_eq!(approvals(&env), approved, "{name}");
    }
    // A tool that differs from what was approved is not called; others are, and so is this one while another one differs.
    let changes_the_tool = |injection: &Value| injection["tool"] == "get_order_status" && injection["where"] != "instructions";
    let unchanged = injections().iter().filter(|injection| is_about_the_definition(injection) && !changes_the_tool(injection)).count();
    assert!(unchanged >= 5);
    assert_eq!(fake.calls(), vec!["get_order_status"; 1 + unchanged]);
}

#[test]
fn an_approved_injection_is_data_among_the_same_tools() {
    let env = TestEnv::with_tables();
    let fake = FakeMcp::new(&env, Transport::Http, &[]);
    let server = fake.serve_approved(&["--llm", &write_model(&env)]);
    server.say(&conversation(0), "Where is my order?");
    let expected = prompts(&server, &conversation(0));
    let approved = approvals(&env);
    let about = injections().into_iter().filter(|injection| is_about_the_definition(injection) && injection["where"] != "instructions");
    for (index, injection) in about.enumerate() {
        let id = conversation(1 + u32::try_from(index).unwrap());
        let (name, tool) = (&injection["id"], injection["tool"].as_str().unwrap());
        fake.inject(&json!([injection]));
        assert!(wait_until(|| listed_tool(&server, tool)["state"] == "changed"), "{name}");
        let digest = listed_tool(&server, tool)["digest"].clone();
        assert_eq!(approve(&server, tool, &digest, None), 200, "{name}");
        let answer = server.say(&id, "Where is my order?");
        let found = prompts(&server, &id);
        assert_eq!(found[0].instructions, expected[0].instructions, "{name}");
        assert_eq!(found[0].tool_codes(), expected[0].tool_codes(), "{name}");
        assert_eq!(state_of(&answer)[4], Value::Null, "{name}: {answer}");
        // A description takes no approval away.
        request_tool(&server, &id, "cancel_order", &json!({"orderId": "ORD-7017"}));
        assert!(!fake.calls().contains(&"cancel_order".to_owned()), "{name}");
        fake.inject(&json!([]));
        assert!(wait_until(|| listed_tool(&server, tool)["state"] == "changed"), "{name}: {}", listed_tool(&server, tool));
        approve_all(&server);
    }
    assert_eq!(approvals(&env), approved);
}
