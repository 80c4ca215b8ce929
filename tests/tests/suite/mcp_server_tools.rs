//! The tools, resources and prompts of the server as a server of the Model Context Protocol. (docs/guide/mcp-server.md)

use std::time::Duration;

use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::access::key;
use crate::flows::desk;
use crate::harness::{OPEN, TestEnv, orders_pack, wait_until};
use crate::mcp_server::{call, call_in_vain, names, request, send, serve, serve_with_keys};
use crate::mcp_server_stdio::Process;

#[test]
fn an_assistant_is_asked_and_continued() {
    let (_env, server, [converse, read, admin]) = serve_with_keys(&[]);
    let first = call(&server, &converse, "ask_desk", json!({"text": "more please"}));
    let texts = |result: &Value| {
        result["messages"].as_array().unwrap().iter().map(|message| message["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!((texts(&first), &first["status"]), (vec!["Welcome to Desk.".to_owned(), "Desk 1".to_owned()], &json!("awaiting_input")));
    let session = first["session_id"].clone();
    let again = call(&server, &converse, "ask_desk", json!({"text": "more please", "session_id": session}));
    assert_eq!((texts(&again), &again["session_id"]), (vec!["Desk 2".to_owned()], &session));
    let ended = call(&server, &converse, "ask_desk", json!({"text": "good bye", "session_id": session}));
    assert_eq!(ended["status"], "completed", "{ended}");
    let closed = call_in_vain(&server, &converse, "ask_desk", json!({"text": "more please", "session_id": session}));
    assert!(closed.contains("ended"), "{closed}");
    for (arguments, word) in [
        (json!({}), "text"),
        (json!({"text": 5}), "text"),
        (json!({"text": "x", "session_id": "y"}), "UUID"),
        (json!({"text": "x", "session_id": "7c0f4a3e-6f0a-4f0e-9a53-6d3f0c1b2a70"}), "session not found"),
        (json!({"text": "x", "session": "y"}), "session_id"),
        (json!({"text": "x".repeat(300_000)}), "too long"),
    ] {
        let message = call_in_vain(&server, &converse, "ask_desk", arguments);
        assert!(message.contains(word), "{message}");
    }
    let path = format!("/v1/runtime/assistants/desk/sessions/{}/trace", session.as_str().unwrap());
    let trace = server.request("GET", &path, &[("X-API-Key", &admin)], "").json();
    assert_eq!(trace["turns"].as_array().map(Vec::len), Some(4), "each is an ordinary turn: {trace}");
    let explained = call(&server, &read, "explain_turn", json!({"conversation_id": session, "turn": 2}));
    assert!(explained["events"].as_array().is_some_and(|it| !it.is_empty()), "{explained}");
    assert_eq!(explained["input"]["text"], "more please");
    let topics: Vec<&Value> = explained["explanations"].as_array().unwrap().iter().map(|it| &it["topic"]).collect();
    assert!(topics.contains(&&json!("route")) && topics.contains(&&json!("intent_match")), "{explained}");
    let replayed = call(&server, &read, "replay", json!({"session_id": session}));
    assert_eq!((&replayed["equal"], replayed["turns"].as_array().map(Vec::len)), (&json!(true), Some(5)), "{replayed}");
}

#[test]
fn sessions_belong_to_their_owners() {
    let (env, server, [converse, _, admin]) = serve_with_keys(&[]);
    let shop = key(&env, &["--scope", "converse", "--owner-claim"]);
    let ask = |owner: Option<&str>, key: &str, session: Option<&str>| {
        let bearer = format!("Bearer {key}");
        let mut headers = vec![("Authorization", bearer.as_str())];
        headers.extend(owner.map(|owner| ("X-Convengine-Owner", owner)));
        let mut arguments = json!({"text": "more please"});
        if let Some(session) = session {
            arguments["session_id"] = json!(session);
        }
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask_desk", "arguments": arguments}});
        send(&server, &headers, &message).json()["result"].clone()
    };
    let started = ask(Some("ada"), &shop, None);
    let session = started["structuredContent"]["session_id"].as_str().unwrap().to_owned();
    assert_ne!(ask(Some("ada"), &shop, Some(&session))["isError"], true);
    for (owner, key) in [(Some("eve"), &shop), (None, &converse)] {
        let refused = ask(owner, key, Some(&session));
        assert_eq!(refused["isError"], true, "{refused}");
    }
    assert_ne!(ask(None, &admin, Some(&session))["isError"], true, "the administrator may continue all");
    // A session of a draft is for the administrator.
    let started = server.request("POST", "/v1/runtime/assistants/desk/sessions", &[("X-API-Key", &admin), crate::flows::JSON], "{}").json();
    let draft = started["session_id"].as_str().unwrap();
    assert_eq!(ask(None, &converse, Some(draft))["isError"], true);
    assert_ne!(ask(None, &admin, Some(draft))["isError"], true);
}

#[test]
fn others_than_the_team_reach_what_is_deployed() {
    let (_env, server, [converse, _, admin]) = serve_with_keys(&[]);
    let call_as_admin = |method: &str, path: &str, body: &Value| {
        let answer = server.request(method, path, &[("X-API-Key", admin.as_str()), crate::flows::JSON], body.to_string());
        assert!(answer.status < 300, "{method} {path}: {answer:?}");
        answer
    };
    let asked = |key: &str| {
        let all = names(&request(&server, key, "tools/list", json!({})), "tools");
        all.into_iter().filter(|name| name.starts_with("ask_") && name != "ask_tables" && name != "ask_desk").collect::<Vec<_>>()
    };
    let other = crate::flows::with_changes(desk("Other"), &[("/id", json!("other"))]);
    let documents = [("agents/other", "flow", other), ("workflows/front", "draft", crate::workflows::front("Front"))];
    for (path, draft, document) in &documents {
        call_as_admin("PUT", &format!("/v1/{path}/{draft}"), document);
        call_as_admin("POST", &format!("/v1/{path}/publish"), &json!({}));
    }
    let all = asked(&admin);
    assert!(all.len() == 2 && all[0] == "ask_other" && all[1].starts_with("ask_workflow_front_"), "{all:?}");
    assert_eq!(asked(&converse), Vec::<String>::new(), "nobody else reaches what is only published");
    let refused = request(&server, &converse, "tools/call", json!({"name": "ask_other", "arguments": {"text": "more please"}}));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let deployment = json!({"name": "shop", "channel": "web", "origins": [crate::flows::ORIGIN.1]});
    for (path, ..) in &documents {
        call_as_admin("POST", &format!("/v1/{path}/deployments"), &deployment);
    }
    assert_eq!(asked(&converse), all);
    let first = call(&server, &converse, &all[1], json!({"text": "more please"}));
    assert_eq!(first["messages"].as_array().unwrap().last().unwrap()["text"], "Desk 1", "{first}");
    let again = call(&server, &converse, &all[1], json!({"text": "more please", "session_id": first["session_id"]}));
    assert_eq!(again["messages"][0]["text"], "Desk 2", "{again}");
    let message = call_in_vain(&server, &converse, "ask_other", json!({"text": "more please", "session_id": first["session_id"]}));
    assert!(message.contains("session not found"), "a session of another document: {message}");
    let listed = call_as_admin("GET", "/v1/deployments", &json!({})).json();
    let of_other = listed["deployments"].as_array().unwrap().iter().find(|it| it["document"] == "other").unwrap().clone();
    let (id, token) = (of_other["id"].as_str().unwrap(), of_other["tokens"][0]["id"].as_str().unwrap());
    call_as_admin("DELETE", &format!("/v1/deployments/{id}/tokens/{token}"), &json!({}));
    assert_eq!(asked(&converse), all[1..], "a deployment whose tokens are revoked is closed");
}

#[test]
fn sessions_of_users_count_as_over_http() {
    let (_env, server, [converse, _, admin]) = serve_with_keys(&["--set", "convengine.assistants.sessions-per-month=2"]);
    let ask = |key: &str, session: Option<&Value>| {
        let mut arguments = json!({"text": "more please"});
        arguments.as_object_mut().unwrap().extend(session.map(|session| ("session_id".to_owned(), session.clone())));
        let params = json!({"name": "ask_desk", "arguments": arguments});
        request(&server, key, "tools/call", params)["result"].clone()
    };
    let text = |result: &Value| result["content"][0]["text"].as_str().unwrap().to_owned();
    let first = ask(&converse, None);
    assert!(first["isError"] != true && ask(&converse, None)["isError"] != true, "{first}");
    let refused = ask(&converse, None);
    assert!(refused["isError"] == true && text(&refused).contains("quota"), "{refused}");
    assert_ne!(ask(&converse, Some(&first["structuredContent"]["session_id"]))["isError"], true, "a session that has begun goes on");
    assert_ne!(ask(&admin, None)["isError"], true, "the team tries its assistants");
}

#[test]
fn calls_of_users_are_limited_as_over_http() {
    let (_env, server, [converse, _, admin]) =
        serve_with_keys(&["--set", "convengine.assistants.rpm=2", "--set", "convengine.assistants.simulator-rpm=3"]);
    let begin = |key: &str| call(&server, key, "ask_desk", json!({"text": "more please"}))["session_id"].clone();
    let (first, _) = (begin(&converse), begin(&converse));
    let message = call_in_vain(&server, &converse, "ask_desk", json!({"text": "more please"}));
    assert!(message.contains("visitor rate limit exceeded"), "{message}");
    let invented = json!({"text": "more please", "session_id": "7c0f4a3e-6f0a-4f0e-9a53-6d3f0c1b2a71"});
    assert!(
        call_in_vain(&server, &converse, "ask_desk", invented).contains("visitor rate limit"),
        "an invented id does not count as a visitor"
    );
    let go_on = || json!({"text": "more please", "session_id": first});
    call(&server, &converse, "ask_desk", go_on());
    call(&server, &converse, "ask_desk", go_on());
    assert!(call_in_vain(&server, &converse, "ask_desk", go_on()).contains("visitor rate limit"), "each session has its own");
    (0..3).for_each(|_| drop(begin(&admin)));
    let message = call_in_vain(&server, &admin, "ask_desk", json!({"text": "more please"}));
    assert!(message.contains("assistant rate limit exceeded"), "{message}");
}

#[test]
fn each_user_of_a_key_is_a_visitor() {
    let (env, server, _) = serve_with_keys(&["--set", "convengine.assistants.rpm=2"]);
    let bound = key(&env, &["--scope", "converse", "--owner-claim"]);
    let bearer = format!("Bearer {bound}");
    let begin = |owner: &str| {
        let params = json!({"name": "ask_desk", "arguments": {"text": "more please"}});
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let headers = [("Authorization", bearer.as_str()), ("X-Convengine-Owner", owner)];
        let result = send(&server, &headers, &message).json()["result"].clone();
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned();
        (result["isError"] == true).then_some(text)
    };
    assert_eq!([begin("ada"), begin("ada")], [None, None]);
    assert!(begin("ada").is_some_and(|it| it.contains("visitor rate limit exceeded")));
    assert_eq!([begin("eve"), begin("eve")], [None, None], "another user has calls of its own");
    assert!(begin("eve").is_some_and(|it| it.contains("visitor rate limit exceeded")));
}

#[test]
fn the_tables_are_asked_and_explained() {
    let (_env, server) = serve();
    let first = call(&server, "", "ask_tables", json!({"text": "where is my order?"}));
    assert_eq!((&first["messages"][0]["text"], &first["intent"]), (&json!("Your order is on its way."), &json!("ORDERS")), "{first}");
    let id = first["conversation_id"].clone();
    let second = call(&server, "", "ask_tables", json!({"text": "hello", "conversation_id": id}));
    assert_eq!(second["conversation_id"], id);
    let explained = call(&server, "", "explain_turn", json!({"conversation_id": id, "turn": 1}));
    assert_eq!(explained["input"]["text"], "where is my order?");
    let explanations = explained["explanations"].as_array().unwrap();
    assert!(
        explanations
            .iter()
            .any(|explanation| explanation["rows"].as_array().is_some_and(|rows| rows.iter().any(|row| row["verdict"] == "won"))),
        "{explained}"
    );
    assert!(explained["events"].as_array().unwrap().iter().any(|it| it["stage"] == "USER_INPUT"), "{explained}");
    let missing = call_in_vain(&server, "", "explain_turn", json!({"conversation_id": id, "turn": 9}));
    assert!(missing.contains("no stored turn 9"), "{missing}");
    let replayed = call(&server, "", "replay", json!({"conversation_id": id}));
    assert_eq!((&replayed["equal"], &replayed["divergence"]), (&json!(true), &json!([])), "{replayed}");
    let mut other = orders_pack();
    let same = call(&server, "", "compare", json!({"conversation_id": id, "config": other}));
    assert_eq!(same["equal"], true, "{same}");
    other["tables"]["ce_response"][0]["exact_text"] = json!("It is lost.");
    let compared = call(&server, "", "compare", json!({"conversation_id": id, "config": other}));
    let equal: Vec<&Value> = compared["turns"].as_array().unwrap().iter().map(|it| &it["equal"]).collect();
    assert_eq!((equal, &compared["equal"]), (vec![&json!(false), &json!(true)], &json!(false)), "{compared}");
    assert!(compared["turns"][0]["differences"].to_string().contains("It is lost."), "{compared}");
    let replayed = call(&server, "", "replay", json!({"conversation_id": id, "config": other.to_string()}));
    assert!(replayed["equal"] == false && replayed["divergence"].to_string().contains("turn 1"), "{replayed}");
    let conversations = request(&server, "", "resources/list", json!({"cursor": "conversations"}));
    assert_eq!(names(&conversations, "resources"), [id.as_str().unwrap()]);
    let uri = format!("convengine://conversations/{}/journal", id.as_str().unwrap());
    let journal = request(&server, "", "resources/read", json!({"uri": uri}));
    assert!(journal["result"]["contents"][0]["text"].as_str().is_some_and(|it| it.contains("where is my order?")), "{journal}");
}

#[test]
fn a_turn_outlives_the_call_that_began_it() {
    let env = TestEnv::with_pack(&orders_pack());
    let reply = json!({"dialogueAct": "NEW_REQUEST", "confidence": 0.8, "standaloneQuery": ""});
    let model = format!("scripted:{}", env.write_pack("slow.json", &json!([{"delay_ms": 1_500, "reply": reply}])));
    let slow = ["--set", "convengine.flow.dialogue-act.resolute=LLM_ONLY", "--llm", &model];
    let statuses = || env.sql().texts("select status from ce_turn order by created_at");
    let ask =
        json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "ask_tables", "arguments": {"text": "my order"}}});
    let server = env.serve(&[&OPEN[..], &slow].concat());
    let call = crate::harness::client().post(format!("http://{}/mcp", server.address)).header("Content-Type", "application/json");
    let broken_off = call.body(ask.to_string()).timeout(Duration::from_millis(300)).send();
    assert!(broken_off.is_err_and(|it| it.is_timeout()));
    assert_eq!(statuses(), ["open"]);
    assert!(wait_until(|| statuses() == ["closed"]), "{:?}", statuses());
    drop(server);
    let mut process = Process::start(&env, &slow);
    process.initialize();
    process.send(&ask);
    assert!(wait_until(|| statuses().contains(&"open".to_owned())));
    process.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}));
    assert_eq!(process.request("ping", json!({}))["result"], json!({}), "other requests go on");
    assert!(wait_until(|| statuses() == ["closed"; 2]), "{:?}", statuses());
}

#[test]
fn an_import_is_a_dry_run_until_it_is_not() {
    let (_env, server) = serve();
    let mut pack = orders_pack();
    pack["tables"]["ce_response"][0]["exact_text"] = json!("Tomorrow.");
    let answer = || call(&server, "", "ask_tables", json!({"text": "my order"}))["messages"][0]["text"].clone();
    let dry = call(&server, "", "import", json!({"pack": pack}));
    assert_eq!(
        (&dry["imported"], &dry["changes"]["tables"]["ce_response"]["changed"][0]["columns"]["exact_text"]["new"]),
        (&json!(false), &json!("Tomorrow.")),
        "{dry}"
    );
    assert_eq!(dry.get("settings_left_out"), None, "the server has the setting of the pack: {dry}");
    assert_eq!(answer(), "Your order is on its way.");
    pack["settings"]["input"] = json!({"maxChars": 100});
    for dry_run in [true, false] {
        let done = call(&server, "", "import", json!({"pack": pack, "dry_run": dry_run}));
        let line = done["settings_left_out"].as_str().unwrap_or_default();
        assert!(line.contains("start it with --set convengine.input.max-chars=100, or "), "{done}");
    }
    let done = call(&server, "", "import", json!({"pack": pack.to_string(), "dry_run": false}));
    assert_eq!((&done["imported"], done["next"].as_str()), (&json!(true), Some("the rows are active")), "{done}");
    assert_eq!(answer(), "Tomorrow.");
    pack["tables"]["ce_intent_classifier"][0]["rule_type"] = json!("REGEX");
    pack["tables"]["ce_intent_classifier"][0]["pattern"] = json!("(");
    let refused = call(&server, "", "import", json!({"pack": pack, "dry_run": false, "strict": true}));
    assert_eq!((&refused["imported"], &refused["is_refused"]), (&json!(false), &json!(true)), "{refused}");
    let linted = call(&server, "", "lint", json!({"pack": pack}));
    assert!(linted["has_errors"] == true && linted["issues"].to_string().contains("ce_intent_classifier"), "{linted}");
    pack["tables"]["ce_response"][0]["no_such"] = json!(1);
    let message = call_in_vain(&server, "", "import", json!({"pack": pack}));
    assert!(message.contains("no_such"), "{message}");
    assert_eq!(answer(), "Tomorrow.");
    let documents = json!({"name": "more", "documents": [desk("Newer")]});
    let done = call(&server, "", "import", json!({"pack": documents, "dry_run": false}));
    assert!(done["imported"] == true && done["next"].as_str().is_some_and(|it| it.contains("publish")), "{done}");
    let draft = request(&server, "", "resources/read", json!({"uri": "convengine://documents/assistant/desk"}));
    assert!(draft["result"]["contents"][0]["text"].as_str().is_some_and(|it| it.contains("Newer")), "{draft}");
    for (arguments, word) in [(json!({}), "pack is missing"), (json!({"pack": "{"}), "invalid pack"), (json!({"pack": 5}), "not a pack")] {
        let message = call_in_vain(&server, "", "import", arguments);
        assert!(message.contains(word), "{message}");
    }
}

#[test]
fn documents_are_linted_beside_the_drafts() {
    let (_env, server) = serve();
    let fine = call(&server, "", "lint", json!({"document": desk("Desk")}));
    assert_eq!(fine["has_errors"], false, "{fine}");
    let mut broken = desk("Desk");
    broken["graphs"][1]["edges"] = json!([]);
    let linted = call(&server, "", "lint", json!({"document": broken}));
    assert!(linted["issues"].as_array().is_some_and(|it| !it.is_empty()), "{linted}");
    let message = call_in_vain(&server, "", "lint", json!({"document": {}, "pack": {}}));
    assert!(message.contains("exclude each other"), "{message}");
    let own = call(&server, "", "lint", json!({}));
    let uri = request(&server, "", "resources/read", json!({"uri": "convengine://issues"}));
    assert_eq!(uri["result"]["contents"][0]["text"], own["issues"].to_string());
}

#[test]
fn packs_and_talks_are_played() {
    let (_env, server) = serve();
    let talk = "# Orders\nconfig orders.json\n\n> my order\n< Your order is on its way.\n= ORDERS / UNKNOWN\n\n> hello\n< Nothing.\n";
    let played = call(&server, "", "play", json!({"talk": talk, "pack": orders_pack()}));
    assert_eq!(
        (&played["passed"], &played["played"], played["failed"].as_array().map(Vec::len)),
        (&json!(false), &json!(2), Some(1)),
        "{played}"
    );
    assert!(played["failed"][0]["differences"].to_string().contains("Ask me about orders"), "{played}");
    let right = talk.replace("< Nothing.\n", "<~ Ask me\n");
    assert_eq!(call(&server, "", "play", json!({"talk": right, "pack": orders_pack()}))["passed"], true);
    let mut pack = orders_pack();
    let message = call_in_vain(&server, "", "play", json!({"pack": pack}));
    assert!(message.contains("no turns"), "{message}");
    pack["turns"] = json!([{"request": {"method": "POST", "path": "/api/v1/conversation/message", "body": {"message": "my order"}},
        "expect": {"status": 200, "json": {"intent": "ORDERS"}}}]);
    let played = call(&server, "", "play", json!({"pack": pack}));
    assert_eq!(played["played"], 1, "{played}");
    pack["turns"][0]["request"]["path"] = json!("/api/v1/cache/refresh");
    let unplayed = call(&server, "", "play", json!({"pack": pack}));
    assert!(unplayed["failure"].as_str().is_some_and(|it| it.contains("convengine test")), "{unplayed}");
    let message = call_in_vain(&server, "", "play", json!({"talk": "nonsense", "pack": pack}));
    assert!(message.contains("invalid talk"), "{message}");
}

#[test]
fn resources_are_read_by_their_addresses() {
    let (_env, server, [converse, read, admin]) = serve_with_keys(&[]);
    let read_uri = |key: &str, uri: &str| request(&server, key, "resources/read", json!({"uri": uri}));
    let text = |response: &Value| response["result"]["contents"][0]["text"].as_str().unwrap_or_default().to_owned();
    assert!(text(&read_uri(&converse, "convengine://reference/packs")).starts_with("# Packs"));
    for uri in ["convengine://documents/assistant/desk", "convengine://documents/assistant/desk/versions/1"] {
        assert!(text(&read_uri(&admin, uri)).contains("conversation_flow"), "{uri}");
        assert_eq!(read_uri(&read, uri)["error"]["code"], -32002, "{uri}");
    }
    for uri in [
        "convengine://reference/../guide/access",
        "convengine://documents/assistant/nobody",
        "convengine://documents/assistant/desk/versions/9",
        "convengine://documents/book/desk",
        "convengine://conversations/7c0f4a3e-6f0a-4f0e-9a53-6d3f0c1b2a70/journal",
        "convengine://secrets",
        "file:///etc/passwd",
        "",
    ] {
        assert_eq!(read_uri(&admin, uri)["error"]["code"], -32002, "{uri}");
    }
    let templates =
        |key: &str| request(&server, key, "resources/templates/list", json!({}))["result"]["resourceTemplates"].as_array().map(Vec::len);
    assert_eq!([&converse, &read, &admin].map(|it| templates(it)), [Some(1), Some(2), Some(4)]);
}

#[test]
fn prompts_contain_the_purpose() {
    let (_env, server) = serve();
    let get = |name: &str, arguments: Value| request(&server, "", "prompts/get", json!({"name": name, "arguments": arguments}));
    for name in ["write_pack", "write_flow", "write_talk"] {
        let rendered = get(name, json!({"purpose": "sells tea"}));
        let text = rendered["result"]["messages"][0]["content"]["text"].as_str().unwrap_or_default();
        assert!(text.contains("sells tea") && text.contains("`play`"), "{rendered}");
        assert_eq!(get(name, json!({}))["error"]["code"], -32602);
    }
    assert_eq!(get("write_book", json!({"purpose": "x"}))["error"]["code"], -32602);
}
