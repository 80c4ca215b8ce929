//! Workflows on real servers: their documents, tools, sessions and deployments (docs/spec/workflows-http.md#2, docs/spec/workflows-http.md#3).

use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::agent_stream::with_agent;
use crate::ai_agents::{helper, publish_helper};
use crate::flows::{DEPLOYED, JSON, ORIGIN, Session, assert_refused, desk, edges, publish, reply_texts, save_draft, send, with_changes};
use crate::handoff::with_handoff;
use crate::harness::{Answer, OPEN, REGEX_ONLY, SERVE, Server, TestEnv, orders_pack};
use crate::tools::Service;

const WORKFLOW: &str = "/v1/workflows/front";
const SESSIONS: &str = "/v1/runtime/workflows/sessions";

/// A workflow in which the assistant `desk` has the conversation, until it ends.
pub fn front(name: &str) -> Value {
    workflow("front", name, &[json!({"id": "desk", "type": "flow-agent", "name": "Desk", "data": {"assistant_id": "desk"}})])
}

/// A workflow that visits these nodes and says good-bye.
fn workflow(id: &str, name: &str, nodes: &[Value]) -> Value {
    let opened = json!({"id": "opened", "type": "trigger", "name": "Opened", "data": {}});
    let bye = json!({"id": "bye", "type": "end", "name": "Bye", "data": {"final_message": format!("Good-bye from {name}.")}});
    let all: Vec<Value> = [&[opened][..], nodes, &[bye]].concat();
    let ids: Vec<&str> = all.iter().map(|node| node["id"].as_str().unwrap()).collect();
    json!({"schema_version": "1.0", "doc": "workflow_graph", "id": id, "name": name, "entries": ["opened"], "edges": edges(&ids), "nodes": all})
}

fn tool_node(tool: &str) -> Value {
    json!({"id": "find", "type": "tool", "name": "Find", "data": {"tool_name": tool}})
}

fn tool(id: &str, url: &str) -> Value {
    json!({"id": id, "name": "Find", "kind": "http", "request": {"method": "GET", "url": url}})
}

fn serve(more: &[&str]) -> (TestEnv, Server) {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.start(&mut env.command(&[&SERVE[..], &REGEX_ONLY, &OPEN, more].concat()));
    (env, server)
}

fn put(server: &Server, document: &Value) -> Answer {
    send(server, "PUT", &format!("/v1/workflows/{}/draft", document["id"].as_str().unwrap()), document)
}

fn publish_workflow(server: &Server, document: &Value) -> Answer {
    assert_eq!(put(server, document).status, 200);
    send(server, "POST", &format!("/v1/workflows/{}/publish", document["id"].as_str().unwrap()), &json!({}))
}

fn start(server: &Server, workflow: &str, body: &Value) -> Answer {
    send(server, "POST", &format!("/v1/runtime/workflows/{workflow}/sessions"), body)
}

#[track_caller]
fn started(server: &Server, body: &Value) -> (String, Value) {
    let answer = start(server, "front", body);
    assert_eq!(answer.status, 201, "{answer:?}");
    (answer.json()["session_id"].as_str().unwrap().to_owned(), answer.json())
}

#[track_caller]
fn say(server: &Server, session: &str, text: &str) -> Value {
    let answer = send(server, "POST", &format!("{SESSIONS}/{session}/turns"), &json!({"type": "user.message", "text": text}));
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

fn codes(answer: &Answer) -> Vec<String> {
    answer.json()["issues"].as_array().unwrap().iter().map(|issue| issue["code"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_workflow_is_saved_published_and_restored() {
    let (env, server) = serve(&[]);
    assert_eq!(server.get(&format!("{WORKFLOW}/draft")).status, 404);
    let mut written = front("Front");
    written["later"] = json!({"kept": 1.0});
    let saved = put(&server, &written);
    assert_eq!((saved.status, codes(&saved)), (200, vec!["D003".to_owned(), "W004".to_owned()]), "{saved:?}");
    assert_eq!(server.get(&format!("{WORKFLOW}/draft")).json(), written);
    assert_refused(&send(&server, "PUT", "/v1/workflows/other/draft", &written), 422, "id_mismatch");
    let invalid = with_changes(front("Front"), &[("/nodes/0/type", json!("teapot"))]);
    assert_refused(&put(&server, &invalid), 422, "invalid_document");
    let mut of_draft = front("Front");
    of_draft["nodes"][1] = json!({"id": "desk", "type": "wait", "name": "Wait"});
    assert_eq!(codes(&put(&server, &of_draft)), ["W002"], "drafts may hold types that cannot be published");
    put(&server, &front("Front"));
    save_draft(&server, &desk("Desk"));
    let blocked = send(&server, "POST", &format!("{WORKFLOW}/publish"), &json!({}));
    assert_refused(&blocked, 422, "publish_blocked");
    assert_eq!(codes(&blocked), ["W005"]);
    assert_eq!(server.get("/v1/workflows").json(), json!({"workflows": [{"id": "front", "name": "Front", "revision": 3}]}));

    publish(&server, &desk("Desk"));
    let valid = send(&server, "POST", &format!("{WORKFLOW}/validate-publish"), &json!({})).json();
    assert_eq!((&valid["ok"], &valid["issues"]), (&json!(true), &json!([])));
    assert_eq!(send(&server, "POST", &format!("{WORKFLOW}/publish"), &json!({})).json()["version"], 1);
    assert_eq!(publish_workflow(&server, &front("Second")).json()["version"], 2);
    let versions = server.get(&format!("{WORKFLOW}/versions")).json();
    let state = |at: usize| (versions["versions"][at]["version"].clone(), versions["versions"][at]["state"].clone());
    assert_eq!((state(0), state(1)), ((json!(2), json!("live")), (json!(1), json!("archived"))));
    let restored = send(&server, "POST", &format!("{WORKFLOW}/versions/1/restore"), &json!({}));
    assert_eq!(restored.json(), json!({"id": "front", "revision": 5}));
    assert_eq!(server.get("/v1/workflows").json()["workflows"][0]["live_version"], 2);
    assert_refused(&send(&server, "POST", &format!("{WORKFLOW}/versions/9/restore"), &json!({})), 404, "not_found");

    // An assistant with the id of a workflow is another document.
    assert_eq!(put(&server, &with_changes(front("Same id"), &[("/id", json!("desk"))])).status, 200);
    let agents = server.get("/v1/agents").json();
    assert_eq!((agents["agents"].as_array().unwrap().len(), &agents["agents"][0]["name"]), (1, &json!("Desk")));
    assert!(!server.get("/v1/workflows").text.contains("workflow:"), "keys are not shown");
    for (path, doc) in [("/v1/workflow-chains/a", "workflow_chain"), ("/v1/ai-agents/a", "ai_agent")] {
        let saved = send(&server, "PUT", &format!("{path}/draft"), &json!({"doc": doc, "id": "a", "slug": "a"}));
        assert_eq!((saved.status, server.get(&format!("{path}/draft")).status), (422, 404), "{saved:?}");
    }
    assert_eq!(env.sql().texts("select id from cs_assistant order by id"), ["desk", "workflow:desk", "workflow:front"]);
}

#[test]
fn a_workflow_that_runs_itself_is_not_published_and_its_drafts_run() {
    let (_env, server) = serve(&[]);
    let node = |target: &str| json!({"id": "nested", "type": "workflow", "name": "Nested", "data": {"workflow_id": target}});
    assert_eq!(publish_workflow(&server, &workflow("inner", "Inner", &[])).status, 201);
    let front = workflow("front", "Front", &[node("inner")]);
    assert_eq!(publish_workflow(&server, &front).status, 201);
    let (_, answer) = started(&server, &json!({"version": 1}));
    assert_eq!(answer["status"], "awaiting_input");
    let reply = say(&server, answer["session_id"].as_str().unwrap(), "hello");
    assert_eq!((reply_texts(&reply), &reply["status"]), (vec!["Good-bye from Inner.", "Good-bye from Front."], &json!("completed")));
    let circle = workflow("inner", "Inner", &[node("front")]);
    let blocked = publish_workflow(&server, &circle);
    assert_refused(&blocked, 422, "publish_blocked");
    assert_eq!(codes(&blocked), ["W009"]);
    let answer = start(&server, "inner", &json!({}));
    assert_eq!(answer.status, 201, "{answer:?}");
    let nodes: Vec<Value> = (0..32)
        .map(|number| {
            publish(&server, &with_changes(desk("Desk"), &[("/id", json!(format!("d{number}")))]));
            json!({"id": format!("n{number}"), "type": "flow-agent", "name": format!("N{number}"), "data": {"assistant_id": format!("d{number}")}})
        })
        .collect();
    put(&server, &workflow("front", "Front", &nodes));
    assert_refused(&start(&server, "front", &json!({})), 422, "too_many_documents");
    put(&server, &workflow("front", "Front", &nodes[..31]));
    assert_eq!(start(&server, "front", &json!({})).status, 201);
}

#[test]
fn a_session_stays_on_the_documents_that_it_started_with() {
    let (env, server) = serve(&[]);
    put(&server, &front("Front"));
    let (lost, _) = started(&server, &json!({}));
    let reply = say(&server, &lost, "hello");
    assert_eq!(reply["debug"]["stop_reason"], "unhandled_error", "nothing is published: {reply}");
    publish(&server, &desk("Desk"));
    assert_refused(&start(&server, "front", &json!({"trigger": "desk"})), 422, "invalid_session");
    assert_refused(&start(&server, "front", &json!({"version": 1})), 404, "not_found");
    assert_refused(&start(&server, "none", &json!({})), 404, "not_found");
    let (session, answer) = started(&server, &json!({"trigger": "opened", "locale": "en-US"}));
    assert_eq!(reply_texts(&answer), ["Welcome to Desk."]);
    publish(&server, &desk("Later"));
    assert_eq!(reply_texts(&say(&server, &session, "more please")), ["Desk 1"], "the session is pinned");
    assert_eq!(reply_texts(&started(&server, &json!({})).1), ["Welcome to Later."]);
    let counted = say(&server, &session, "some more");
    let nodes: Vec<(&str, &str)> = counted["debug"]["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| (node["graph"].as_str().unwrap(), node["id"].as_str().unwrap()))
        .collect();
    assert!(nodes.contains(&("g_count", "add")), "{counted}");
    let state = server.get(&format!("{SESSIONS}/{session}")).json();
    assert_eq!((&state["program"], &state["vars"]["_child"]["desk"]["vars"]["count"]), (&json!("workflow"), &json!(2)));
    let trace = server.get(&format!("{SESSIONS}/{session}/trace")).json();
    let first = &trace["turns"][0];
    assert_eq!((&first["event"]["assistant"], &first["event"]["program"]), (&json!("front"), &json!("workflow")));
    let kinds: Vec<&str> = first["events"].as_array().unwrap().iter().map(|event| event["kind"].as_str().unwrap()).collect();
    assert!(
        ["workflow.node.enter", "workflow.node.route", "workflow.agent.hop", "node.enter"].iter().all(|it| kinds.contains(it)),
        "{kinds:?}"
    );
    assert!(first["events"].as_array().unwrap().iter().all(|it| it["program"] == "workflow"), "{first}");
    let bye = say(&server, &session, "good bye");
    assert_eq!((reply_texts(&bye), &bye["status"]), (vec!["Bye.", "Good-bye from Front."], &json!("completed")));
    let replayed = server.get(&format!("{SESSIONS}/{session}/replay")).json();
    assert_eq!((&replayed["equal"], &replayed["turns"]), (&json!(true), &json!(4)), "{replayed}");
    let output = env.run(&["replay", "--conversation", &session]);
    assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{output:?}");
    let pack = json!({"name": "p", "documents": [desk("Desk"), front("Front")]});
    let same = env.run(&["replay", "--conversation", &session, "--config", &env.write_pack("pack.json", &pack)]);
    assert_eq!((same.code, same.stdout.as_str()), (0, "no difference\n"), "{same:?}");
    let messages = server.get(&format!("{SESSIONS}/{session}/messages")).json();
    assert_eq!((reply_texts(&messages).len(), &messages["status"]), (5, &json!("completed")));
    let again = send(&server, "POST", &format!("{SESSIONS}/{session}/turns"), &json!({"type": "user.message", "text": "x"}));
    assert_refused(&again, 409, "session_completed");
    // The routes of assistants and workflows do not open each other's sessions.
    assert_eq!(server.get(&format!("/v1/runtime/assistants/front/sessions/{session}")).status, 404);
    let of_desk = send(&server, "POST", "/v1/runtime/assistants/desk/sessions", &json!({})).json();
    assert_eq!(server.get(&format!("{SESSIONS}/{}", of_desk["session_id"].as_str().unwrap())).status, 404);
}

#[test]
fn a_tool_of_the_workspace_is_bound_when_a_session_starts() {
    let service = Service::start(&[]);
    let (_env, server) = serve(&["--set", &format!("convengine.network.allow-private={}", service.address)]);
    let find = tool("find", &format!("http://{}/find", service.address));
    assert_refused(&send(&server, "PUT", "/v1/tools/other", &find), 422, "id_mismatch");
    assert_refused(&send(&server, "PUT", "/v1/tools/find", &json!({"id": "find", "kind": "http"})), 422, "invalid_document");
    let mut secret = find.clone();
    secret["request"]["headers"] = json!({"X-Key": "{{ secret.NONE }}"});
    let saved = send(&server, "PUT", "/v1/tools/find", &secret);
    assert_eq!((saved.status, codes(&saved)), (200, vec!["V010".to_owned()]), "{saved:?}");
    let saved = send(&server, "PUT", "/v1/tools/find", &find);
    assert_eq!((saved.json(), server.get("/v1/tools/find").json()), (json!({"id": "find", "issues": []}), find.clone()));
    let mut failed = workflow("front", "Front", &[tool_node("none")]);
    assert!(codes(&put(&server, &failed)).contains(&"W007".to_owned()));
    failed["nodes"][1] = tool_node("find");
    failed["nodes"].as_array_mut().unwrap().push(json!({"id": "no", "type": "end", "name": "No", "data": {"final_message": "Failed."}}));
    failed["edges"][1]["source_port"] = json!("success");
    failed["edges"].as_array_mut().unwrap().push(json!({"id": "f", "source": "find", "source_port": "failure", "target": "no"}));
    let published = publish_workflow(&server, &failed);
    assert_eq!(published.status, 201, "{published:?}");
    let (session, _) = started(&server, &json!({}));
    let deleted = server.request("DELETE", "/v1/tools/find", &[], "");
    assert_eq!((deleted.status, server.get("/v1/tools/find").status), (204, 404));
    assert_eq!(server.request("DELETE", "/v1/tools/find", &[], "").status, 404);
    assert_eq!(reply_texts(&say(&server, &session, "go")), ["Good-bye from Front."], "the session has the tool");
    assert_eq!(service.calls().len(), 1);
    let executed = |session: &str| {
        let audit = server.audit(session);
        let stage = audit.iter().find(|row| row["stage"] == "workflow.tool.executed").unwrap();
        let payload: Value = serde_json::from_str(stage["payloadJson"].as_str().unwrap()).unwrap();
        (payload["node"].clone(), payload["tool"].clone(), payload["ok"].clone(), payload["code"].clone())
    };
    assert_eq!(executed(&session), (json!("find"), json!("find"), json!(true), Value::Null));
    let (session, _) = started(&server, &json!({}));
    assert_eq!(reply_texts(&say(&server, &session, "go")), ["Failed."]);
    assert_eq!(executed(&session), (json!("find"), json!("find"), json!(false), json!("tool_unknown")));
}

#[test]
fn agents_of_assistants_and_ai_agents_call_tools_of_the_workspace() {
    let service = Service::start(&[]);
    let find = tool("find", &format!("http://{}/find", service.address));
    let call = json!({"tool_calls": [{"id": "c", "name": "find", "arguments": {}}]});
    let rules = json!([
        {"purpose": "agent", "user_text": "help me", "times": 1, "reply": call}, {"purpose": "agent", "user_text": "help me", "reply": "Found it."},
        {"purpose": "agent", "user_text": "find it", "times": 1, "reply": call}, {"purpose": "agent", "user_text": "find it", "reply": "Here it is."},
    ]);
    let env = TestEnv::with_pack(&orders_pack());
    let script = format!("scripted:{}", env.write("script.json", &rules.to_string()));
    let allowed = format!("convengine.network.allow-private={}", service.address);
    let server = env.serve(&[&REGEX_ONLY[..], &OPEN, &["--llm", &script, "--set", &allowed]].concat());
    let mut assistant = with_changes(with_agent(service.address), &[("/graphs/4/nodes/1/data/tools", json!([{"tool": "find"}]))]);
    assistant["graphs"][1]["nodes"][1] = json!({"id": "add", "type": "service", "name": "Find", "data": {"tool_id": "find"}});
    assistant["graphs"][1]["edges"][1]["source_port"] = json!("success");
    let agent = with_changes(helper("A shop"), &[("/tool_names", json!(["find"]))]);
    let unknown = |codes: Vec<String>| codes.into_iter().filter(|code| ["A002", "V001"].contains(&code.as_str())).collect::<Vec<_>>();
    assert_eq!(unknown(save_draft(&server, &assistant)), ["V001", "A002"]);
    let put_agent = || send(&server, "PUT", "/v1/ai-agents/helper/draft", &agent);
    assert_eq!(unknown(codes(&put_agent())), ["A002"]);

    assert_eq!(send(&server, "PUT", "/v1/tools/find", &find).status, 200);
    assert_eq!((unknown(save_draft(&server, &assistant)), unknown(codes(&put_agent()))), (Vec::new(), Vec::new()));
    assert_eq!(server.get("/v1/agents/desk/flow").json(), assistant, "a draft stays as it is written");
    publish(&server, &assistant);
    publish_helper(&server, &agent);
    let exported = env.run(&["export"]).stdout;
    let exported = env.write("export.json", &exported);
    assert_eq!(server.request("DELETE", "/v1/tools/find", &[], "").status, 204);

    // The published versions have the tool.
    let (session, _) = Session::start_simulated(&server, &json!({"version": 1}));
    assert_eq!((reply_texts(&session.say(&server, "help me")), service.calls().len()), (vec!["Found it."], 1));
    session.assert_replays(&env, &server);
    let (session, _) = Session::start_simulated(&server, &json!({"version": 1}));
    session.say(&server, "more please");
    assert_eq!(service.calls().len(), 2, "a service calls it, too");
    let reply = send(&server, "POST", "/v1/runtime/ai-agents/helper/turn", &json!({"text": "find it", "version": 1}));
    assert_eq!((reply_texts(&reply.json()), service.calls().len()), (vec!["Here it is."], 3), "{reply:?}");
    let blocked = send(&server, "POST", "/v1/agents/desk/publish", &json!({}));
    assert_refused(&blocked, 422, "publish_blocked");

    // A pack brings the tool along.
    let elsewhere = TestEnv::new();
    assert_eq!(elsewhere.run(&["import", &exported]).code, 0);
    for output in [elsewhere.run(&["lint"]), env.run(&["lint", &exported])] {
        assert!(!output.stdout.contains("A002") && !output.stdout.contains("V001"), "{output:?}");
    }
}

#[test]
fn a_page_talks_with_a_workflow() {
    let (env, server) = serve(&["--set", "convengine.assistants.simulator-rpm=500", "--set", "convengine.assistants.sessions-per-month=2"]);
    let request = json!({"name": "shop", "origins": [ORIGIN.1]});
    assert_eq!(send(&server, "POST", &format!("{WORKFLOW}/deployments"), &request).status, 404);
    publish(&server, &desk("Desk"));
    put(&server, &front("Front"));
    assert_refused(&send(&server, "POST", &format!("{WORKFLOW}/deployments"), &request), 409, "not_published");
    let mut document = front("Front");
    document["shared_state"] = json!([{"name": "who", "type": "string", "input": true}, {"name": "paid", "type": "boolean"}]);
    assert_eq!(publish_workflow(&server, &document).status, 201);
    let deployed = send(&server, "POST", &format!("{WORKFLOW}/deployments"), &request);
    let bearer = format!("Bearer {}", deployed.json()["token"].as_str().unwrap());
    let headers = [("Authorization", bearer.as_str()), ORIGIN, JSON];
    let begin_with = |body: &Value| server.request("POST", DEPLOYED, &headers, body.to_string());
    let begin = || begin_with(&json!({}));
    assert_refused(&begin_with(&json!({"params": {"who": "me", "paid": true}})), 422, "unknown_param");
    let answer = begin_with(&json!({"params": {"who": "me"}}));
    assert_eq!((answer.status, reply_texts(&answer.json())), (201, vec!["Welcome to Desk."]), "{answer:?}");
    let quota = (answer.header("x-ratelimit-limit"), answer.header("x-ratelimit-remaining"));
    assert_eq!((quota, answer.json().get("debug")), (("2", "1"), None), "the quota of sessions is closer than the rate");
    let session = answer.json()["session_id"].as_str().unwrap().to_owned();
    let turn = |query: &str, text: &str| {
        let event = json!({"type": "user.message", "text": text}).to_string();
        server.request("POST", &format!("{DEPLOYED}/{session}/turns{query}"), &headers, event)
    };
    assert_eq!(reply_texts(&turn("", "more please").json()), ["Desk 1"]);
    let streamed = turn("?stream=true", "good bye").text;
    assert!(streamed.contains("event: message") && streamed.contains("Good-bye from Front."), "{streamed}");
    assert_eq!(turn("", "hello").status, 409);
    assert_eq!(begin().status, 201);
    assert_refused(&begin(), 429, "rate_limited");
    let used = "select kind || ' ' || ref from cs_usage_events where kind = 'session'";
    assert_eq!(env.sql().texts(used), ["session workflow:front", "session workflow:front"]);
    // The simulator counts per workflow, although its paths name sessions alone.
    let left = |answer: &Answer| answer.header("x-ratelimit-remaining").parse::<u32>().unwrap();
    let one = server.get(&format!("{SESSIONS}/{session}"));
    let other = server.get(&format!("{SESSIONS}/{session}/trace"));
    assert_eq!((one.header("x-ratelimit-limit"), left(&one) - left(&other)), ("500", 1));
}

#[test]
fn a_person_has_a_workflow_that_an_assistant_in_it_handed_off() {
    let (_env, server) = serve(&[]);
    publish(&server, &with_handoff(None, &json!({})));
    put(&server, &front("Front"));
    let (session, _) = started(&server, &json!({}));
    assert_eq!(say(&server, &session, "a person please")["status"], "handed_off");
    say(&server, &session, "hello?");
    let row = server.get("/v1/desk/conversations").json()["conversations"][0].clone();
    assert_eq!((&row["assistant"], &row["program"], &row["queue"]), (&json!("front"), &json!("workflow"), &json!("billing")));
    assert_eq!((&row["preview"], &row["unread"]), (&json!("hello?"), &json!(1)));
    let path = format!("/v1/desk/conversations/{session}");
    let shown = server.get(&path).json();
    let names: Vec<&str> = shown["variables"].as_array().unwrap().iter().map(|variable| variable["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["pin", "count", "refund", "topic"], "those of the assistant");
    assert_eq!((&shown["program"], shown["history"].as_array().unwrap().len() > 1), (&json!("workflow"), true), "{shown}");
    let report = |what: &str, body: Value| send(&server, "POST", &format!("{SESSIONS}/{session}/handoff/{what}"), &body);
    assert_eq!(report("status", json!({"state": "accepted", "author": "Mia"})).json()["handoff"]["author"], "Mia");
    assert_eq!(reply_texts(&report("messages", json!({"text": "Hi.", "author": "Mia"})).json()), ["Hi."]);
    assert_eq!(server.get("/v1/desk/conversations").json()["conversations"][0]["unread"], 0);
    let unknown = send(&server, "POST", &format!("{path}/return"), &json!({"author": "Mia", "vars": {"limit": 9}}));
    assert_refused(&unknown, 422, "unknown_variable");
    let returned = send(&server, "POST", &format!("{path}/return"), &json!({"author": "Mia", "vars": {"refund": 12}})).json();
    assert_eq!((reply_texts(&returned), &returned["status"]), (vec!["Refunded 12."], &json!("awaiting_input")));
    assert_refused(&report("status", json!({"state": "accepted"})), 409, "not_handed_off");
    assert_eq!(server.get(&format!("{SESSIONS}/{session}/replay")).json()["equal"], true);
    let call = send(&server, "POST", &format!("{SESSIONS}/{session}/approvals/c1"), &json!({"approved": true}));
    assert_refused(&call, 404, "unknown_call");
}

#[test]
fn a_workflow_searches_its_own_knowledge_base() {
    let (_env, server) = serve(&[]);
    let look = json!({"id": "look", "type": "knowledge", "name": "Look", "data": {"query": {"from": ["last_user"]}, "synthesize": false}});
    let mut document = workflow("desk", "Front", &[look]);
    document["edges"].as_array_mut().unwrap().push(json!({"id": "n", "source": "look", "source_port": "no_result", "target": "bye"}));
    let found = codes(&put(&server, &document));
    assert!(found.contains(&"K001".to_owned()), "{found:?}");
    save_draft(&server, &desk("Desk"));
    let source = |text: &str| json!({"id": "faq", "title": "FAQ", "text": text});
    for (path, text) in [("/v1/agents/desk", "Cards of the assistant cost 9."), ("/v1/workflows/desk", "Cards of the workflow cost 5.")] {
        let added = send(&server, "POST", &format!("{path}/knowledge"), &source(text));
        assert_eq!(added.status, 201, "{added:?}");
    }
    let found = server.get("/v1/workflows/desk/knowledge/search?q=cards").json();
    assert_eq!(found["fused"][0]["text"], "Cards of the workflow cost 5.");
    let answer = start(&server, "desk", &json!({})).json();
    let reply = say(&server, answer["session_id"].as_str().unwrap(), "what do cards cost");
    assert!(reply_texts(&reply)[0].starts_with("Cards of the workflow cost 5."), "{reply}");
    let deleted = server.request("DELETE", "/v1/workflows/desk/knowledge/faq", &[], "");
    assert_eq!((deleted.status, server.get("/v1/workflows/desk/knowledge").json()), (204, json!({"sources": []})));
    assert_eq!(server.get("/v1/agents/desk/knowledge/faq").json()["status"], "ready");
}

#[test]
fn workflows_and_tools_are_imported_and_exported() {
    let env = TestEnv::new();
    let look = json!({"assistant": "front", "id": "faq", "title": "FAQ", "text": "Cards cost 5."});
    let find = tool("find", "https://shop.example/find");
    let front = workflow("front", "Front", &[tool_node("find")]);
    let pack = json!({"name": "p", "documents": [desk("Desk"), front], "workspace_tools": [find], "knowledge": [look]});
    let file = env.write_pack("pack.json", &pack);
    let dry = |env: &TestEnv| env.run(&["import", &file, "--dry-run"]).stdout;
    let imported = env.run(&["import", &file]);
    assert_eq!((imported.code, imported.stderr.as_str()), (0, ""), "{imported:?}");
    assert_eq!(imported.stdout, "imported 0 rows into 0 tables and 2 documents and 1 tool and 1 knowledge source\n");
    let again = dry(&env);
    assert!(["draft desk: equal", "workflow front: equal", "tool find: equal"].iter().all(|it| again.contains(it)), "{again}");
    let exported = env.run(&["export"]).stdout;
    let parsed: Value = serde_json::from_str(&exported).unwrap();
    assert_eq!((&parsed["documents"], &parsed["workspace_tools"]), (&pack["documents"], &pack["workspace_tools"]));
    assert_eq!((&parsed["knowledge"][0]["assistant"], &parsed["knowledge"][0]["program"]), (&json!("front"), &json!("workflow")));
    let elsewhere = TestEnv::new();
    assert_eq!(elsewhere.run(&["import", &elsewhere.write("export.json", &exported)]).code, 0);
    assert_eq!(elsewhere.run(&["export"]).stdout, exported);
    assert_eq!((env.run(&["lint"]).code, env.run(&["lint", &file]).code), (0, 0));
    let server = env.serve(&REGEX_ONLY);
    assert_eq!((server.get("/v1/tools/find").json(), server.get("/v1/workflows/front/draft").json()), (find, front));
    let wrong = json!({"name": "p", "documents": [], "workspace_tools": [{"id": "find"}]});
    let refused = env.run(&["import", &env.write_pack("wrong.json", &wrong)]);
    assert_eq!((refused.code, refused.stderr.contains("workspace_tools.find: error D001")), (1, true), "{refused:?}");
}
