//! The endpoints of the original besides messages: trace, feedback, caches, schema, attachments, conversation list.

use std::collections::BTreeSet;

use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::harness::{Answer, REGEX_ONLY, SERVE, Server, TestEnv, orders_pack};
use crate::stream::Listener;

const ID: &str = crate::stream::ID;
const FEEDBACK: &str = "/api/v1/conversation/feedback";
const REFRESH: &str = "/api/v1/cache/refresh";
const JSON: [(&str, &str); 1] = [("Content-Type", "application/json")];

fn payload(row: &Value) -> Value {
    serde_json::from_str(row["payloadJson"].as_str().unwrap()).unwrap()
}

#[test]
fn a_trace_is_the_audit_as_steps() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    server.say(ID, "my order");
    let rows = server.audit(ID);
    let trace = server.get(&format!("/api/v1/conversation/audit/{ID}/trace")).json();
    let stages = trace["stages"].as_array().unwrap();
    assert_eq!(stages.len(), rows.len());
    for (stage, row) in stages.iter().zip(&rows) {
        let same = ["auditId", "stage", "createdAt"].iter().all(|it| stage[*it] == row[*it]);
        assert!(same && stage["payload"] == payload(row), "{stage} {row}");
    }
    let entered: Vec<Value> = rows.iter().filter(|it| it["stage"] == "STEP_ENTER").map(|row| payload(row)["step"].clone()).collect();
    let steps = trace["steps"].as_array().unwrap();
    assert_eq!(steps.iter().map(|it| it["step"].clone()).collect::<Vec<_>>(), entered);
    assert!(steps.iter().all(|step| step["status"] == "OK" && step["durationMs"].is_i64() && step["sourceFile"].is_null()), "{steps:?}");
    let within: usize = steps.iter().map(|step| step["stages"].as_array().unwrap().len()).sum();
    let edges = rows.iter().filter(|row| row["stage"].as_str().unwrap().starts_with("STEP_")).count();
    assert!(within > 0 && within <= rows.len() - edges);
    let unknown = server.get("/api/v1/conversation/audit/99999999-2222-3333-4444-555555555555/trace").json();
    assert_eq!((&unknown["steps"], &unknown["stages"]), (&json!([]), &json!([])));
    assert_eq!(server.get("/api/v1/conversation/audit/zzz/trace").status, 400);
}

#[test]
fn the_session_at_each_audit_row_is_derived_on_request() {
    let env = TestEnv::with_pack(&orders_pack());
    for mode in ["DEFERRED_BULK", "DERIVED"] {
        let server = env.serve(&[&REGEX_ONLY[..], &["--set", &format!("convengine.audit.persistence.mode={mode}")]].concat());
        let id = ID.replace("7c0f", if mode == "DERIVED" { "7c1f" } else { "7c2f" });
        server.post(json!({"conversationId": id, "message": "my order", "inputParams": {"a": 1}}).to_string());
        server.say(&id, "hello");
        let plain = server.audit(&id);
        let rows: Vec<Value> = server.get(&format!("/api/v1/conversation/audit/{id}?meta=true")).json().as_array().unwrap().clone();
        assert_eq!(rows.len(), plain.len());
        for (row, plain) in rows.iter().zip(&plain) {
            let mut with = payload(row);
            let meta = with.as_object_mut().unwrap().shift_remove("_meta").unwrap_or_else(|| panic!("no _meta: {row}"));
            assert_eq!(with, payload(plain));
            assert_eq!((&meta["stage"], &meta["conversationId"], &meta["emittedAt"]), (&row["stage"], &json!(id), &row["createdAt"]));
            assert!(meta["session"]["stepInfos"].is_object() && meta["contextDict"].is_object(), "{meta}");
        }
        let last = |stage: &str, text: &str| {
            let fits = |row: &&Value| row["stage"] == stage && payload(row)["_meta"]["session"]["userText"] == text;
            payload(rows.iter().rfind(fits).unwrap())["_meta"].clone()
        };
        assert_eq!(last("STEP_EXIT", "my order")["intent"], "ORDERS");
        assert_eq!(last("STEP_EXIT", "my order")["userInputParams"], json!({"a": 1}));
        assert_eq!(last("STEP_EXIT", "hello")["intent"], "OTHER");
        assert_eq!(last("STEP_EXIT", "hello")["userInputParams"], Value::Null, "the parameters of this message");
        assert_eq!(last("STEP_EXIT", "hello")["inputParams"]["a"], 1);
    }
}

#[test]
fn feedback_is_stored_published_and_audited() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    let send = |body: Value| server.request("POST", FEEDBACK, &JSON, body.to_string());
    server.say(ID, "my order");
    let mut listener = Listener::open(&server);
    let up = send(json!({"conversationId": ID, "feedbackType": "thumbs_up", "messageId": "m1", "metadata": {"comment": "ü"}}));
    assert_eq!(up.status, 200, "{up:?}");
    let answer = up.json();
    let number = answer["feedbackId"].as_i64().unwrap();
    let counts = ["capturedQueryKnowledgeCount", "capturedUserQueryKnowledgeCount", "embeddedUserQueryKnowledgeCount"];
    assert!(counts.iter().all(|it| answer[*it] == 0) && answer["success"] == true, "{answer}");
    assert_eq!(answer["message"], "Feedback saved.");
    let down = send(json!({"conversationId": ID, "feedbackType": "THUMBS_DOWN", "metadata": {"correct_sql": "select 2"}}));
    assert_eq!(down.json()["feedbackId"], number + 1);
    let events = listener.until(|event| event.name == "MCP_USER_FEEDBACK" && event.data["payload"]["feedback_id"] == number + 1);
    let names: Vec<&str> = events.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["MCP_USER_FEEDBACK", "SEMANTIC_FAILURE_RECORDED", "MCP_USER_FEEDBACK"]);
    assert!(events.iter().all(|it| it.id.is_empty()), "they do not belong to a turn");
    let rows = server.audit(ID);
    let audited = payload(rows.iter().find(|it| it["stage"] == "MCP_USER_FEEDBACK").unwrap());
    assert_eq!((&audited["message_id"], &audited["feedback_type"]), (&json!("m1"), &json!("THUMBS_UP")));
    let mut sql = env.sql();
    let stored =
        sql.texts("select user_query || '|' || assistant_response || '|' || feedback_type from ce_mcp_user_feedback order by feedback_id");
    assert_eq!(stored, ["my order|Your order is on its way.|THUMBS_UP", "my order|Your order is on its way.|THUMBS_DOWN"]);
    let failed = sql.texts("select question || '|' || corrected_sql || '|' || root_cause_code from ce_semantic_query_failures");
    assert_eq!(failed, ["my order|select 2|USER_FEEDBACK"]);
    let before = sql.dump();
    let refused = |answer: Answer, status: u16| assert_eq!((answer.status, answer.json()["status"].clone()), (status, json!(status)));
    refused(send(json!({})), 400);
    refused(send(json!({"conversationId": ID, "feedbackType": "MEH"})), 400);
    refused(send(json!({"conversationId": "99999999-2222-3333-4444-555555555555", "feedbackType": "THUMBS_UP"})), 404);
    refused(server.request("POST", FEEDBACK, &[("Content-Type", "text/plain")], "{}"), 415);
    refused(server.request("GET", FEEDBACK, &[], ""), 405);
    assert_eq!(sql.dump(), before);
    // Feedback rows lie between those of turns and do not confuse the boundaries of turns.
    server.say(ID, "my order");
    let replayed = env.run(&["replay", "--conversation", ID]);
    assert_eq!(replayed.code, 0, "{replayed:?}");
}

/// Sets the reply to questions about orders.
fn set_answer(env: &TestEnv, text: &str) {
    env.sql().run(&format!("update ce_response set exact_text = '{text}' where intent_code = 'ORDERS'"));
}

fn value(answer: &Value) -> &str {
    answer["payload"]["value"].as_str().unwrap()
}

#[test]
fn rows_are_reloaded_on_request() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    let config = |server: &Server| server.get("/readyz").json()["config"].as_str().unwrap().to_owned();
    let first = config(&server);
    set_answer(&env, "second");
    assert_eq!(value(&server.say(ID, "my order")), "Your order is on its way.", "no refresh was requested");
    let answer = server.request("POST", REFRESH, &[], "");
    assert_eq!((answer.status, answer.header("content-type")), (200, "text/plain; charset=utf-8"), "{answer:?}");
    assert!(answer.text.starts_with("Successfully evicted/reloaded caches."), "{answer:?}");
    assert_eq!(value(&server.say(ID, "my order")), "second");
    assert_ne!(config(&server), first);
    // A row that does not compile is rejected, and everything else stays.
    set_answer(&env, "third");
    env.sql().run("update ce_intent_classifier set rule_type = 'REGEX', pattern = '(' where classifier_id = 1");
    let answer = server.request("POST", REFRESH, &[], "");
    assert_eq!(answer.status, 422, "{answer:?}");
    let issues = answer.json()["issues"].clone();
    let named = |issue: &Value| {
        issue["path"].as_str().is_some_and(|path| path.starts_with("ce_intent_classifier[1]")) && issue["severity"] == "error"
    };
    assert!(issues.as_array().unwrap().iter().any(named), "{issues}");
    assert_eq!(value(&server.say(ID, "my order")), "second");
    env.sql().run("update ce_intent_classifier set rule_type = 'CONTAINS', pattern = 'order' where classifier_id = 1");
    assert_eq!(server.request("POST", REFRESH, &[], "").status, 200);
    assert_eq!(value(&server.say(ID, "my order")), "third");
    assert_eq!(server.request("GET", REFRESH, &[], "").status, 405);
    let output = env.run(&["replay", "--conversation", ID]);
    assert_eq!(output.code, 0, "each turn has the configuration it ran with: {output:?}");
}

#[test]
fn a_turn_keeps_the_configuration_it_started_with() {
    let env = TestEnv::with_pack(&orders_pack());
    let reply = json!({"dialogueAct": "NEW_REQUEST", "confidence": 0.8, "standaloneQuery": ""});
    let model =
        format!("scripted:{}", env.write_pack("model.json", &json!([{"times": 1, "delay_ms": 4000, "reply": reply}, {"reply": reply}])));
    let words = ["--llm", &model, "--set", "convengine.flow.dialogue-act.resolute=LLM_ONLY"];
    let server = env.start(env.command(&SERVE).args(words));
    let mut listener = Listener::open(&server);
    std::thread::scope(|scope| {
        let turn = scope.spawn(|| server.say(ID, "my order"));
        listener.until(|event| event.name == "DIALOGUE_ACT_LLM_INPUT");
        set_answer(&env, "second");
        assert_eq!(server.request("POST", REFRESH, &[], "").status, 200);
        assert!(!turn.is_finished(), "the model has not answered yet");
        assert_eq!(value(&turn.join().unwrap()), "Your order is on its way.");
    });
    assert_eq!(value(&server.say(ID, "my order")), "second");
}

#[test]
fn the_cache_analysis_reports_its_contents() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    let found = server.get("/api/v1/cache/analyze").json();
    assert_eq!((&found["staticCaches"]["ce_intent"]["listSize"], &found["warmupAndTimingEnabled"]), (&json!(2), &json!(true)));
    assert_eq!(found["staticCaches"]["ce_semantic_concept"]["exists"], false);
    assert_eq!((found["staticCaches"].as_object().unwrap().len(), found["warmupTimingMs"].as_object().unwrap().len()), (26, 26));
    assert!(["cacheProvider", "springCacheProperties", "cacheInfrastructure", "runtimeCaches"].iter().all(|it| found[*it].is_object()));
    let cold = server.get("/api/v1/cache/analyze?warmup=false").json();
    assert_eq!((&cold["warmupTimingMs"], &cold["warmupAndTimingEnabled"]), (&Value::Null, &json!(false)));
}

#[test]
fn the_schema_is_returned_in_parts() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    let ask = |query: &str| server.get(&format!("/api/v1/db/inspect-schema{query}"));
    let all = ask("").json();
    let names = |found: &Value| found["tables"].as_array().unwrap().iter().map(|table| table["table_name"].clone()).collect::<Vec<_>>();
    assert!(names(&all).contains(&json!("ce_audit")) && names(&all).contains(&json!("ce_turn")));
    let some = ask("?prefix=ce_conversation&matchMode=REGEX").json();
    assert_eq!(names(&some), [json!("ce_conversation"), json!("ce_conversation_history")]);
    let of_columns: BTreeSet<&str> =
        some["columns"].as_array().unwrap().iter().map(|column| column["table_name"].as_str().unwrap()).collect();
    assert_eq!(of_columns.into_iter().collect::<Vec<_>>(), ["ce_conversation", "ce_conversation_history"]);
    assert_eq!((&some["tableCount"], some["joins"][0]["target_table"].as_str()), (&json!(2), Some("ce_conversation")));
    let one = ask("?prefix=CE_AUDIT&matchMode=exact").json();
    assert_eq!((names(&one), &one["matchMode"]), (vec![json!("ce_audit")], &json!("EXACT")));
    assert_eq!(ask("?schema=nowhere").status, 404);
    drop(server);
    let narrow = env.serve(&[&REGEX_ONLY[..], &["--set", "convengine.mcp.db.introspect-tables=ce_rule*, ce_policy"]].concat());
    let found = narrow.get("/api/v1/db/inspect-schema").json();
    assert_eq!(names(&found), [json!("ce_policy"), json!("ce_rule")]);
    assert_eq!(found["introspectTables"], json!(["ce_rule*", "ce_policy"]));
}

#[test]
fn only_name_type_size_and_hash_of_an_attachment_are_stored() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    // 9 MB with a mark that must not be stored anywhere.
    let mark = "TUFSSyBPRiBBIEZJTEU5";
    let content = mark.repeat(9 * 1024 * 1024 / 15);
    let file =
        |content: &str| json!({"name": "scan.pdf", "mimeType": "application/pdf", "size": 1, "content": content, "encoding": "base64"});
    let body = json!({"conversationId": ID, "message": "", "reset": false, "inputParams": {"files": [file(&content), file("aGVsbG8=")]}});
    let answer = server.post(body.to_string());
    assert_eq!((answer.status, answer.json()["success"].clone()), (200, json!(true)), "{}", answer.text);
    let stored = env.sql().texts("select cast(input_params_json as text) from ce_conversation").remove(0);
    let files = serde_json::from_str::<Value>(&stored).unwrap()["files"].clone();
    let hello = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    assert_eq!(files[1], json!({"name": "scan.pdf", "mimeType": "application/pdf", "size": 5, "sha256": hello}));
    assert_eq!(files[0]["size"], content.len() / 4 * 3);
    assert!(!env.sql().dump().iter().any(|it| it.contains(mark)), "the content is not stored");
    let output = env.run(&["replay", "--conversation", ID]);
    assert_eq!(output.code, 0, "{output:?}");
    let large = |params: Value| server.post(json!({"message": "x", "inputParams": params}).to_string());
    assert_eq!(large(json!({"other": "x".repeat(3 * 1024 * 1024)})).status, 413);
    assert_eq!(large(json!({"files": [{"name": "x".repeat(3 * 1024 * 1024)}]})).status, 413);
}

#[test]
fn operators_find_conversations() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    let id = |number: u32| ID.replace("7c0f", &format!("7c{number:02}"));
    for number in 0..5 {
        server.say(&id(number), if number < 2 { "my order" } else { "hello there" });
    }
    // Without this row a turn fails.
    env.sql().run("delete from ce_response where intent_code = 'OTHER'");
    assert_eq!(server.request("POST", REFRESH, &[], "").status, 200);
    assert_eq!(server.say(&id(3), "hello again")["success"], false);
    let find = |query: &str| server.get(&format!("/api/v1/conversation{query}")).json();
    let ids =
        |found: &Value| found["conversations"].as_array().unwrap().iter().map(|row| row["conversationId"].clone()).collect::<Vec<_>>();
    assert_eq!(find("")["conversations"].as_array().unwrap().len(), 5);
    assert_eq!(ids(&find("?intent=orders&status=running")), [json!(id(1)), json!(id(0))]);
    let failed = find("?faults=true");
    assert_eq!((ids(&failed), &failed["conversations"][0]["faults"]), (vec![json!(id(3))], &json!(1)));
    assert_eq!(failed["conversations"][0]["turns"], 2);
    assert_eq!(ids(&find("?text=THERE&faults=false")), [json!(id(4)), json!(id(2))]);
    let mut pages = Vec::new();
    let mut after = String::new();
    loop {
        let page = find(&format!("?limit=2{after}"));
        pages.extend(ids(&page));
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!(pages, ids(&find("")));
    assert_eq!(find("?from=2100-01-01T00:00:00Z")["conversations"], json!([]));
    assert_eq!(server.get("/api/v1/conversation?limit=x").status, 400);
}

/// A server whose model answers the message "slow" after a while.
fn serve_slow(env: &TestEnv) -> Server {
    let reply = json!({"dialogueAct": "NEW_REQUEST", "confidence": 0.8, "standaloneQuery": ""});
    let rules = json!([{"user_text": "slow", "delay_ms": 3000, "reply": reply}, {"reply": reply}]);
    let model = format!("scripted:{}", env.write_pack("model.json", &rules));
    env.serve(&["--llm", &model, "--set", "convengine.flow.dialogue-act.resolute=LLM_ONLY"])
}

#[test]
fn new_chat_during_a_long_turn_resets_the_conversation_after_it() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = serve_slow(&env);
    server.post(json!({"conversationId": ID, "message": "my order", "inputParams": {"a": 1}}).to_string());
    let mut listener = Listener::open(&server);
    let body = json!({"conversationId": ID, "message": "my order", "reset": true, "inputParams": {}}).to_string();
    std::thread::scope(|scope| {
        let long = scope.spawn(|| server.say(ID, "slow"));
        listener.until(|event| event.name == "DIALOGUE_ACT_LLM_INPUT");
        // The client gives up on nothing: it sends the flag once, and waits.
        let fresh = scope.spawn(|| server.post(body.clone()).status);
        assert_eq!(long.join().unwrap()["success"], true);
        assert_eq!(fresh.join().unwrap(), 200);
    });
    let stages: Vec<String> = server.audit(ID).iter().map(|row| row["stage"].as_str().unwrap().to_owned()).collect();
    let all = |stage: &str| -> Vec<usize> { stages.iter().enumerate().filter(|row| row.1 == stage).map(|row| row.0).collect() };
    let (outputs, resets) = (all("ASSISTANT_OUTPUT"), all("CONVERSATION_RESET"));
    assert_eq!((outputs.len(), resets.len()), (3, 1), "{stages:?}");
    assert!(outputs[1] < resets[0] && resets[0] < outputs[2], "the reset belongs to the message after the long turn: {stages:?}");
    assert_eq!(server.texts(ID).last().unwrap(), "my order");
}

#[test]
fn half_an_emoji_is_a_replacement_character() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    for (text, stored) in [("my order \\ud83d", "my order \u{fffd}"), ("\\ude00 my order \\ud83d\\ude00", "\u{fffd} my order \u{1f600}")] {
        let body = format!(
            "{{\"conversationId\":\"{ID}\",\"message\":\"{text}\",\"inputParams\":{{\"a\":\"\\udc00\",\"files\":[{{\"name\":\"\\ud83d\",\"content\":\"YQ==\"}}]}}}}"
        );
        let answer = server.post(body);
        assert_eq!((answer.status, value(&answer.json())), (200, "Your order is on its way."), "{answer:?}");
        assert_eq!(server.texts(ID).last().unwrap(), stored);
        let input = server.audit(ID).into_iter().rfind(|it| it["stage"] == "USER_INPUT").unwrap();
        assert_eq!(payload(&input), json!({"text": stored, "question": stored}));
    }
    let feedback = format!("{{\"conversationId\":\"{ID}\",\"feedbackType\":\"THUMBS_UP\",\"assistantResponse\":\"\\ud83d\"}}");
    assert_eq!(server.request("POST", FEEDBACK, &JSON, feedback).status, 200);
    let draft = server.request("POST", "/v1/assistants", &JSON, "{\"name\":\"\\ud83d\"}");
    assert_ne!(draft.json()["code"], "not_json", "{draft:?}");
}
