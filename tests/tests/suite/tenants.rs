//! Tenants: no route gives access to the data of another tenant.

use std::io::{BufRead, BufReader};
use std::time::Duration;

use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::access::{assert_covers_all_routes, key};
use crate::ai_agents::helper;
use crate::chains::nightly;
use crate::flows::{DEPLOYED, ORIGIN, desk as desk_of, reply_texts};
use crate::harness::{MESSAGE, REGEX_ONLY, Server, TestEnv, client, orders_pack};
use crate::routes::{ROUTES, call};
use crate::stream::ID;
use crate::workflows::front;

/// Two tenants, each with its own environment, and the settings of a server for both.
pub struct TwoTenants {
    pub a: TestEnv,
    pub b: TestEnv,
}

impl TwoTenants {
    pub fn with_pack(pack: &Value) -> TwoTenants {
        TwoTenants { a: TestEnv::with_pack(pack), b: TestEnv::with_pack(pack) }
    }

    pub fn arguments(&self) -> Vec<String> {
        let database =
            |name: &str, env: &TestEnv| ["--set".to_owned(), format!("convengine.tenants.{name}.database={}", env.database_url())];
        [database("a", &self.a), database("b", &self.b)].concat()
    }

    pub fn serve(&self, more: &[&str]) -> Server {
        let arguments = self.arguments();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        self.a.serve(&[&arguments[..], &REGEX_ONLY, more].concat())
    }

    /// A key of a tenant.
    pub fn key(&self, tenant: &str, scope: &str) -> String {
        let arguments = self.arguments();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let key = key(&self.a, &[&arguments[..], &["--tenant", tenant, "--scope", scope]].concat());
        assert!(key.starts_with(&format!("ce_{tenant}_")), "{key}");
        key
    }
}

pub const KEYS: [&str; 4] = ["--set", "convengine.security.mode=keys", "--set", "convengine.security.keys.recheck=1ms"];

pub fn say(server: &Server, key: &str, text: &str) -> Value {
    let body = json!({"conversationId": ID, "message": text}).to_string();
    let answer = server.request("POST", MESSAGE, &[("Content-Type", "application/json"), ("X-API-Key", key)], body);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

#[test]
fn no_route_leads_from_one_tenant_to_another() {
    assert_covers_all_routes(ROUTES.iter().map(|route| (route.0.to_owned(), route.1.to_owned())));
    let two = TwoTenants::with_pack(&orders_pack());
    two.b.sql().run("create table of_b (of_b_alone text)");
    two.b.sql().run("update ce_response set exact_text = 'Only B says this.' where intent_code = 'ORDERS'");
    two.b.sql().run("insert into ce_mcp_server (server_key, endpoint) values ('only-b', 'http://127.0.0.1:9/mcp')");
    let (a, b) = (two.key("a", "admin"), two.key("b", "admin"));
    let server = two.serve(&KEYS);
    let (of_b, front_of_b) = (desk_of("Only B").to_string(), front("Only B").to_string());
    let (nightly_of_b, helper_of_b) = (nightly("Only B").to_string(), helper("Only B").to_string());
    for (method, path, body) in [
        ("PUT", "/v1/agents/desk/flow", of_b.as_str()),
        ("POST", "/v1/agents/desk/publish", ""),
        ("PUT", "/v1/workflows/front/draft", front_of_b.as_str()),
        ("POST", "/v1/workflows/front/publish", ""),
        ("PUT", "/v1/workflow-chains/nightly/draft", nightly_of_b.as_str()),
        ("POST", "/v1/workflow-chains/nightly/publish", ""),
        ("PUT", "/v1/ai-agents/helper/draft", helper_of_b.as_str()),
        ("POST", "/v1/ai-agents/helper/publish", ""),
        ("PUT", "/v1/tools/find", r#"{"id":"find","name":"Only B","kind":"noop"}"#),
        ("POST", "/v1/secrets", r#"{"name":"ONLY_B","value":"Only B knows"}"#),
    ] {
        let made = call(&server, method, path, &[("X-API-Key", &b)], body);
        assert!((200..300).contains(&made.status), "{made:?}");
    }
    assert_eq!(say(&server, &b, "my order of b")["payload"]["value"], "Only B says this.");
    // Each route is called as A with the id of B's conversation.
    for (method, path, _, body) in ROUTES {
        let own = call(&server, method, path, &[("X-API-Key", &b)], body);
        let before = two.b.sql().dump();
        let answer = call(&server, method, path, &[("X-API-Key", &a)], body);
        assert!(two.b.sql().dump() == before, "{method} {path}: nothing of B is changed");
        let (own_text, text) = (own.text.clone(), answer.text.clone());
        assert!(
            !text.contains("Only B") && !text.contains("order of b") && !text.contains("of_b") && !text.contains("ONLY_B"),
            "{method} {path}: {text}"
        );
        match (method, path) {
            ("GET", "/v1/workflow-chains") => {
                assert_eq!((answer.json(), own_text.contains("Only B")), (json!({"chains": []}), true));
            }
            ("GET", "/v1/ai-agents") => assert_eq!((answer.json(), own_text.contains("Only B")), (json!({"ai_agents": []}), true)),
            ("PUT", "/v1/workflow-chains/{chain}/draft" | "/v1/ai-agents/{ai_agent}/draft") => {
                assert_eq!((&answer.json()["revision"], &own.json()["revision"]), (&json!(1), &json!(3)), "each tenant has its own");
            }
            ("POST", "/v1/workflow-chains/{chain}/run") => {
                assert_eq!((answer.status, own.json()["error"]["code"].clone()), (404, json!("chain_paused")), "{own:?}");
            }
            // Nobody has the run.
            (_, path) if path.contains("/runs/{run}") => assert_eq!((answer.status, own.status), (404, 404), "{method} {path}"),
            (_, path) if path.starts_with("/v1/runtime/ai-agents/sessions/{session}") => {
                assert_eq!((answer.status, own.status), (404, 404), "{method} {path}: it is a session of the assistant");
            }
            ("POST", "/v1/runtime/ai-agents/{ai_agent}/turn") => assert_eq!((answer.status, own.status), (404, 200), "{method} {path}"),
            ("POST", "/v1/runtime/ai-agents/{ai_agent}/sessions") => assert_eq!((answer.status, own.status), (404, 201), "{method} {path}"),
            ("POST", MESSAGE) => {
                assert_eq!(answer.json()["payload"]["value"], "Your order is on its way.");
                assert!(own_text.contains("Only B"), "{own_text}");
            }
            ("POST", "/api/v1/conversation/feedback") => assert_eq!((answer.status, own.status), (404, 200), "the conversation is not A's"),
            ("GET", "/api/v1/conversation") => {
                assert!(!text.contains(ID) && own_text.contains(ID), "{text}");
            }
            ("GET", "/api/v1/conversation/audit/{id}") => {
                assert_eq!(answer.json(), json!([]));
                assert!(own_text.contains("order of b"));
            }
            ("GET", "/api/v1/conversation/audit/{id}/trace") => {
                assert_eq!(answer.json()["stages"], json!([]));
                assert!(own_text.contains("order of b"));
            }
            ("GET", "/api/v1/conversation/journal/{id}") => {
                assert_eq!((answer.status, own.status), (404, 200), "the conversation is not A's");
                assert!(own_text.contains("order of b") && own_text.contains("Only B"));
            }
            ("POST", "/mcp") => {
                let is_error = |it: &Value| it["result"]["isError"].clone();
                assert_eq!((is_error(&answer.json()), is_error(&own.json())), (json!(true), json!(false)), "{answer:?}");
                assert!(text.contains("is not stored") && own_text.contains("1 turn equal"), "{own_text}");
            }
            ("GET", "/api/v1/conversation/stream/{id}") => assert_eq!(own.status, 200, "see the next test"),
            ("POST", "/api/v1/cache/refresh") => assert_eq!((answer.status, own.status), (200, 200), "the reloaded rows are checked below"),
            ("GET", "/api/v1/cache/analyze") => {
                let snapshot = |it: &Value| it["cacheProvider"]["snapshot"].clone();
                assert_ne!(snapshot(&answer.json()), snapshot(&own.json()));
            }
            ("GET", "/api/v1/db/inspect-schema") => assert!(own_text.contains("of_b_alone"), "{own_text}"),
            ("GET", "/metrics") => {
                assert!(text.contains("tenant=\"a\"") && !text.contains("tenant=\"b\"") && own_text.contains("tenant=\"b\""), "{text}");
            }
            ("GET", "/api/v1/mcp/servers") => assert_eq!((answer.json(), own_text.contains("only-b")), (json!({"servers": []}), true)),
            ("POST", "/api/v1/mcp/servers/{server}/tools/{tool}/call") => assert_eq!((answer.status, own.status), (404, 200), "{own:?}"),
            ("DELETE", path) if path.starts_with("/api/v1/mcp/") => assert_eq!((answer.status, own.status), (404, 404), "{own:?}"),
            (_, path) if path.starts_with("/api/v1/mcp/") => assert_eq!((answer.status, own.status), (404, 502), "{own:?}"),
            ("GET", "/api/v1/security-log") => assert_eq!((answer.status, own.status), (200, 200), "each has its own"),
            ("GET", "/api/v1/config/snapshots") => assert_ne!(answer.json()["active"], own.json()["active"]),
            ("POST", "/api/v1/config/snapshots/{hash}/activate") => assert_eq!((answer.status, own.status), (404, 404)),
            ("POST", "/api/v1/config/rollback") => {
                assert_eq!((answer.status, own.status), (409, 200), "A had no other rows before");
                two.b.sql().run("update ce_response set exact_text = 'Only B says this.' where intent_code = 'ORDERS'");
                call(&server, "POST", "/api/v1/cache/refresh", &[("X-API-Key", &b)], "");
            }
            ("POST", "/api/v1/privacy/forget") => assert_eq!((answer.status, &answer.json()["code"]), (404, &json!("nothing_found"))),
            ("GET", "/v1/agents") => assert_eq!((answer.json(), own_text.contains("Only B")), (json!({"agents": []}), true)),
            ("GET", "/v1/workflows") => assert_eq!((answer.json(), own_text.contains("Only B")), (json!({"workflows": []}), true)),
            ("PUT", "/v1/workflows/{workflow}/draft") => {
                assert_eq!((&answer.json()["revision"], &own.json()["revision"]), (&json!(1), &json!(3)), "each tenant has its own");
            }
            ("POST", "/v1/runtime/workflows/{workflow}/sessions") => {
                assert_eq!((answer.status, own.status), (404, 201), "the workflow is not A's");
                assert!(own_text.contains("Welcome to"), "{own_text}");
            }
            (_, path) if path.starts_with("/v1/runtime/workflows/sessions/{session}") => {
                let is_late = path.contains("/handoff/") || path.contains("/approvals/");
                assert_eq!((answer.status, own.status == 200), (404, !is_late), "{method} {path}: it is not A's session");
            }
            ("GET", "/v1/deployments") => {
                assert_eq!((answer.json(), own_text.contains("desk")), (json!({"deployments": []}), true), "B has deployed its own");
            }
            (_, path) if path.starts_with("/v1/deployments/{deployment}/") => assert_eq!((answer.status, own.status), (404, 404)),
            ("GET", "/v1/tools/{tool}") => assert_eq!((answer.status, own_text.contains("Only B")), (404, true)),
            ("PUT", "/v1/tools/{tool}") => assert_eq!((answer.status, own.status), (200, 200), "each tenant has its own"),
            ("DELETE", "/v1/tools/{tool}") => assert_eq!((answer.status, own.status), (204, 204), "each tenant has its own"),
            ("GET", "/v1/agents/{agent}/flow" | "/v1/agents/{agent}/versions")
            | ("POST", "/v1/agents/{agent}/flow/validate-publish" | "/v1/agents/{agent}/versions/{version}/restore") => {
                assert_eq!((answer.status, own.status), (404, 200), "{method} {path}: it is not A's assistant");
            }
            ("POST", path) if ["/publish", "/deployments", "/knowledge"].iter().any(|it| path.ends_with(it)) => {
                assert_eq!((answer.status, own.status), (404, 201), "{method} {path}: it is not A's");
            }
            ("DELETE", path) if path.ends_with("/knowledge/{source}") => {
                assert_eq!((answer.status, own.status), (404, 204), "{method} {path}: it is not A's");
            }
            (_, path)
                if ["/v1/agents/{agent}/knowledge", "/v1/workflows/", "/v1/workflow-chains/", "/v1/ai-agents/"]
                    .iter()
                    .any(|it| path.starts_with(it)) =>
            {
                assert_eq!((answer.status, own.status), (404, 200), "{method} {path}: it is not A's");
            }
            ("POST", "/v1/runtime/assistants/{agent}/sessions") => {
                assert_eq!((answer.status, own.status), (404, 201), "the assistant is not A's");
                assert!(own_text.contains("Welcome to Only B"), "{own_text}");
            }
            ("POST", "/v1/runtime/assistants/{agent}/sessions/{session}/approvals/{call}") => {
                let code = |it: &Value| it["error"]["code"].clone();
                assert_eq!((code(&answer.json()), code(&own.json())), (json!("not_found"), json!("unknown_call")));
            }
            ("GET", "/v1/desk/conversations") => {
                assert_eq!(answer.json(), json!({"conversations": [], "next_cursor": null, "author": "test"}));
            }
            ("GET", "/v1/desk/events") => assert_eq!((answer.status, own.status), (200, 200), "an event names only a session"),
            ("GET", "/v1/desk/conversations/{session}") => {
                let code = |it: &Value| it["error"]["code"].clone();
                assert_eq!((code(&answer.json()), code(&own.json())), (json!("not_found"), json!("not_at_desk")));
            }
            (_, path) if path.starts_with("/v1/desk/") || path.contains("/{session}/handoff/") => {
                let code = |it: &Value| it["error"]["code"].clone();
                assert_eq!((code(&answer.json()), code(&own.json())), (json!("not_found"), json!("not_handed_off")));
            }
            (_, path) if path.starts_with("/v1/runtime/assistants/{agent}/sessions/{session}") => {
                assert_eq!((answer.status, own.status), (404, 200), "{method} {path}: it is not A's session");
            }
            ("PUT", "/v1/agents/{agent}/flow") => {
                assert_eq!((&answer.json()["revision"], &own.json()["revision"]), (&json!(1), &json!(3)), "each tenant has its own");
            }
            ("POST", "/v1/secrets") => assert_eq!((answer.status, own.status), (201, 201), "the name is new in each tenant"),
            ("GET", "/v1/secrets") => assert!(text.contains("CRM_KEY") && own_text.contains("ONLY_B"), "{text}"),
            ("DELETE", "/v1/secrets/{name}") => assert_eq!((answer.status, own.status), (204, 204), "each tenant has its own"),
            ("DELETE", "/api/v1/conversation/{id}") => assert_eq!((answer.status, own.status), (404, 200), "the conversation is not A's"),
            _ => panic!("add a row for {method} {path}: what must another tenant not get?"),
        }
    }
    // A refresh by A reloads A's rows: B keeps its own.
    two.b.sql().run("update ce_response set exact_text = 'Something else.' where intent_code = 'ORDERS'");
    call(&server, "POST", "/api/v1/cache/refresh", &[("X-API-Key", &a)], "");
    assert_eq!(say(&server, &b, "my order")["payload"]["value"], "Only B says this.");
    call(&server, "POST", "/api/v1/cache/refresh", &[("X-API-Key", &b)], "");
    assert_eq!(say(&server, &b, "my order")["payload"]["value"], "Something else.");
}

#[test]
fn a_deployment_belongs_to_its_tenant() {
    let two = TwoTenants::with_pack(&orders_pack());
    let (a, b) = (two.key("a", "admin"), two.key("b", "admin"));
    let server = two.serve(&KEYS);
    let mut tokens = Vec::new();
    for (key, name) in [(&a, "Of A"), (&b, "Of B")] {
        let send = |method: &str, path: &str, body: String| call(&server, method, path, &[("X-API-Key", key)], &body).json();
        send("PUT", "/v1/agents/desk/flow", desk_of(name).to_string());
        send("POST", "/v1/agents/desk/publish", String::new());
        let made = send("POST", "/v1/agents/desk/deployments", json!({"name": "shop", "origins": [ORIGIN.1]}).to_string());
        tokens.push(format!("Bearer {}", made["token"].as_str().unwrap()));
    }
    let begin = |token: &str, more: &[(&str, &str)]| {
        call(&server, "POST", DEPLOYED, &[&[("Authorization", token), ORIGIN], more].concat(), "{}").json()
    };
    let first = begin(&tokens[0], &[("X-Tenant", "b")]);
    assert_eq!(reply_texts(&first), ["Welcome to Of A."], "the header is ignored");
    assert_eq!(reply_texts(&begin(&tokens[1], &[])), ["Welcome to Of B."]);
    let turns = format!("{DEPLOYED}/{}/turns", first["session_id"].as_str().unwrap());
    let end_session = |token: &str| call(&server, "POST", &turns, &[("Authorization", token), ORIGIN], r#"{"type":"session.end"}"#).status;
    assert_eq!([end_session(&tokens[1]), end_session(&tokens[0])], [404, 200]);
    let count = |env: &TestEnv| env.sql().texts("select 'x' from cs_session").len();
    assert_eq!((count(&two.a), count(&two.b)), (1, 1));
}

#[test]
fn a_stream_publishes_only_its_own_tenant() {
    let two = TwoTenants::with_pack(&orders_pack());
    let (a, b) = (two.key("a", "read"), two.key("b", "read"));
    let (a_says, b_says) = (two.key("a", "converse"), two.key("b", "converse"));
    let server = two.serve(&KEYS);
    let listen = |key: &str| {
        let address = format!("http://{}/api/v1/conversation/stream/{ID}?access_token={key}&tenant=b", server.address);
        let response = client().get(address).timeout(Duration::from_secs(60)).send().unwrap();
        assert_eq!(response.status(), 200);
        BufReader::new(response)
    };
    let (mut of_a, mut of_b) = (listen(&a), listen(&b));
    say(&server, &b_says, "a word of b");
    // The next events of A are those of its own turn, without B's.
    say(&server, &a_says, "a word of a");
    let read_turn = |lines: &mut dyn BufRead| {
        let mut received = String::new();
        while !received.contains("PIPELINE_TIMING") {
            let mut line = String::new();
            assert_ne!(lines.read_line(&mut line).unwrap(), 0, "{received}");
            received += &line;
        }
        received
    };
    let (events_of_a, events_of_b) = (read_turn(&mut of_a), read_turn(&mut of_b));
    assert!(events_of_a.contains("a word of a") && !events_of_a.contains("a word of b"), "{events_of_a}");
    assert!(events_of_b.contains("a word of b") && !events_of_b.contains("a word of a"), "{events_of_b}");
}
