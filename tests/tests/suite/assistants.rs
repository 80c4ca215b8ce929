//! Administration of assistants over HTTP: documents, versions, deployments, secrets, and its authorization.

use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::access::{WITH_KEYS, key};
use crate::flows::{JSON, SIMULATED, assert_refused, desk as document, publish, send, serve_desk, with_changes};
use crate::harness::{Answer, OPEN, REGEX_ONLY, SERVE, Server, TestEnv, assert_one_line, orders_pack, wait_until};
use crate::routes::{ROUTES, call};
use crate::tools::{Service, desk};

const FLOW: &str = "/v1/agents/desk/flow";
const TOKEN: &str = "an-administrators-token";
const VALUE: &str = "hunter2/quite+\"secret\"";

fn post(server: &Server, path: &str) -> Answer {
    send(server, "POST", path, &json!({}))
}

fn codes(answer: &Answer) -> Vec<Value> {
    answer.json()["issues"].as_array().into_iter().flatten().map(|it| it["code"].clone()).collect()
}

#[test]
fn a_draft_is_stored_as_written() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    assert_refused(&server.get(FLOW), 404, "not_found");
    assert_eq!(server.get("/v1/agents").json(), json!({"agents": []}));
    let body = document("Desk").to_string();
    let text = format!(r#"{{"zebra":{{"z":1,"a":[1.0,null]}},{},"x-ray":"ü\u0000"}}"#, &body[1..body.len() - 1]);
    let document = text.as_str();
    for revision in [1, 2] {
        let saved = server.request("PUT", FLOW, &[JSON], document.to_owned());
        assert_eq!((saved.status, &saved.json()["revision"], codes(&saved)), (200, &json!(revision), vec![json!("D003"); 2]), "{saved:?}");
    }
    let read = server.get(FLOW);
    assert_eq!((read.status, read.text.as_str(), read.header("content-type")), (200, document, "application/json"));
    let zoo = with_changes(crate::flows::desk("Desk"), &[("/id", json!("Zoo.1")), ("/name", json!(" "))]);
    let unnamed = send(&server, "PUT", "/v1/agents/Zoo.1/flow", &zoo);
    assert_eq!((unnamed.status, &unnamed.json()["revision"], codes(&unnamed)), (200, &json!(1), vec![json!("D009")]));
    let issue = &unnamed.json()["issues"][0];
    for member in ["code", "severity", "path", "graph", "node", "name", "message"] {
        assert!(issue.get(member).is_some(), "{member}: {issue}");
    }
    let all = json!({"agents": [
        {"id": "Zoo.1", "name": " ", "revision": 1, "live_version": null},
        {"id": "desk", "name": "Desk", "revision": 2, "live_version": null},
    ]});
    assert_eq!(server.get("/v1/agents").json(), all);
    drop(server);
    assert_eq!(env.serve(&REGEX_ONLY).get(FLOW).text, document, "the draft is in the database");
}

#[test]
fn an_invalid_document_is_rejected_and_changes_nothing() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    assert_eq!(send(&server, "PUT", FLOW, &document("Desk")).status, 200);
    let before = env.sql().dump();
    assert_refused(&send(&server, "PUT", FLOW, &with_changes(document("Shop"), &[("/id", json!("shop"))])), 422, "id_mismatch");
    let with = |pointer: &str, value: Value| with_changes(document("Desk"), &[(pointer, value)]);
    for (body, code) in [
        (json!([]), "D001"),
        (json!({"id": "desk", "name": "Desk"}), "D001"),
        (with("/id", Value::Null), "D001"),
        (with("/name", json!(5)), "D001"),
        (with("/graphs/0/nodes/0/type", json!("teapot")), "D002"),
        (with("/graphs/1/nodes/1/id", json!("asked")), "D004"),
        (with("/schema_version", json!("2.0")), "D006"),
    ] {
        let answer = send(&server, "PUT", FLOW, &body);
        assert_refused(&answer, 422, "invalid_document");
        assert!(codes(&answer).contains(&json!(code)), "{code}: {answer:?}");
    }
    let large = with("/more", json!("x".repeat(4 << 20)));
    let answer = send(&server, "PUT", FLOW, &large);
    assert_refused(&answer, 422, "invalid_document");
    assert_eq!(codes(&answer), ["D005"]);
    for text in ["", "{", "{} {}", "'"] {
        let answer = server.request("PUT", FLOW, &[JSON], text);
        assert_refused(&answer, 422, "invalid_document");
        assert_eq!(codes(&answer), ["D001"], "{text}");
    }
    assert_refused(&server.request("PUT", FLOW, &[], r#"{"id":"desk","name":"Desk"}"#), 415, "unsupported_media_type");
    assert_refused(&send(&server, "PUT", "/v1/agents/1desk/flow", &with("/id", json!("1desk"))), 422, "invalid_document");
    assert_refused(&server.request("PATCH", FLOW, &[JSON], "{}"), 405, "method_not_allowed");
    assert_refused(&server.get("/v1/nothing"), 404, "not_found");
    for path in ["shop/flow", "shop/versions", "1desk/flow", "%00/flow", "%ff/flow"] {
        assert_refused(&server.get(&format!("/v1/agents/{path}")), 404, "not_found");
    }
    for path in ["shop/flow/validate-publish", "shop/publish", "shop/versions/1/restore", "desk/versions/1/restore"] {
        assert_refused(&post(&server, &format!("/v1/agents/{path}")), 404, "not_found");
    }
    assert!(env.sql().dump() == before, "nothing has changed");
}

#[test]
fn versions_are_numbered_and_can_be_restored() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    let put = |name: &str| send(&server, "PUT", FLOW, &with_changes(document("Desk"), &[("/name", json!(name))]));
    let validate = || post(&server, "/v1/agents/desk/flow/validate-publish");
    let publish = || post(&server, "/v1/agents/desk/publish");
    let versions = || server.get("/v1/agents/desk/versions").json()["versions"].clone();
    assert_eq!(put("One").status, 200);
    let before = env.sql().dump();
    let no_sessions = json!({"sessions": 0, "map": 0, "reask": 0, "stay": 0});
    assert_eq!((validate().status, validate().json()), (200, json!({"ok": true, "issues": [], "migration": no_sessions})));
    assert!(env.sql().dump() == before, "validation changes nothing");
    assert_eq!((server.get("/v1/agents/desk/versions").status, versions()), (200, json!([])));
    let first = publish();
    assert_eq!((first.status, &first.json()["version"], &first.json()["issues"]), (201, &json!(1), &json!([])));
    let snapshot = first.json()["snapshot"].clone();
    assert!(snapshot.as_str().is_some_and(|snapshot| snapshot.strip_prefix("sha256:").is_some_and(|hash| hash.len() == 64)), "{snapshot}");
    put("Two");
    assert_eq!((&publish().json()["version"], server.get("/v1/agents").json()["agents"][0]["live_version"].clone()), (&json!(2), json!(2)));
    // A draft with errors is stored, and the live version stays.
    assert_eq!(put("").status, 200);
    assert_eq!((&validate().json()["ok"], codes(&validate())), (&json!(false), vec![json!("D009")]));
    assert_refused(&publish(), 422, "publish_blocked");
    assert_eq!(codes(&publish()), ["D009"]);
    let listed = versions();
    let version_and_state = |version: &Value| (version["version"].clone(), version["state"].clone());
    assert_eq!(
        listed.as_array().unwrap().iter().map(version_and_state).collect::<Vec<_>>(),
        [(json!(2), json!("live")), (json!(1), json!("archived"))]
    );
    assert_eq!(listed[1]["snapshot"], snapshot);
    assert!(listed[0]["published_at"].as_str().is_some_and(|time| time.ends_with('Z') && time.contains('T')), "{listed}");
    let back = post(&server, "/v1/agents/desk/versions/1/restore");
    assert_eq!((back.status, back.json()), (200, json!({"id": "desk", "revision": 4})));
    assert_eq!(server.get(FLOW).text, with_changes(document("Desk"), &[("/name", json!("One"))]).to_string());
    assert_eq!((versions(), server.get("/v1/agents").json()["agents"][0]["name"].clone()), (listed, json!("One")));
    let third = publish().json();
    assert_eq!((&third["version"], &third["snapshot"]), (&json!(3), &snapshot), "the same document");
    for version in ["0", "4", "x", "-1", "99999999999999999999"] {
        assert_refused(&post(&server, &format!("/v1/agents/desk/versions/{version}/restore")), 404, "not_found");
    }
}

#[test]
fn a_deployment_shows_its_token_once() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&[&REGEX_ONLY[..], &OPEN].concat());
    let path = "/v1/agents/desk/deployments";
    let request = json!({"name": "shop", "channel": "web", "origins": ["https://shop.example"], "debug": false});
    assert_refused(&send(&server, "POST", path, &request), 404, "not_found");
    send(&server, "PUT", FLOW, &document("Desk"));
    assert_refused(&send(&server, "POST", path, &request), 409, "not_published");
    assert_eq!(post(&server, "/v1/agents/desk/publish").status, 201);
    let created = send(&server, "POST", path, &request);
    let token = created.json()["token"].as_str().unwrap().to_owned();
    assert_eq!((created.status, token.len(), token.starts_with("cdp_")), (201, 47, true), "{created:?}");
    assert_eq!(created.json()["id"].as_str().map(str::len), Some(36));
    assert_ne!(send(&server, "POST", path, &request).json()["token"], json!(token));
    for wrong in
        [json!({}), json!({"name": "shop"}), json!({"name": "shop", "origins": ["shop.example"]}), json!({"name": 5, "origins": []})]
    {
        assert_refused(&send(&server, "POST", path, &wrong), 422, "invalid_deployment");
    }
    assert_refused(&server.request("POST", path, &[JSON], "{"), 400, "not_json");
    let mut sql = env.sql();
    assert_eq!(sql.texts("select origins from cs_deployment"), [r#"["https://shop.example"]"#; 2]);
    assert!(!sql.dump().join("\n").contains(&token[4..]), "the token is not stored");
    assert!(!server.log().contains(&token[4..]));
}

#[test]
fn no_route_and_no_log_shows_a_secret() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.start(env.command(&[&SERVE[..], &REGEX_ONLY].concat()).env("RUST_LOG", "trace"));
    let mut shown = Vec::new();
    let mut keep = |name: &str, value: &str| {
        let answer = send(&server, "POST", "/v1/secrets", &json!({"name": name, "value": value}));
        shown.push(format!("{} {:?}", answer.text, answer.headers));
        (answer.status, answer.json())
    };
    assert_eq!(keep("CRM_KEY", VALUE), (201, json!({"name": "CRM_KEY", "prefix": ""})));
    assert_eq!(keep("CRM_KEY", &VALUE.replace("hun", "bun")), (200, json!({"name": "CRM_KEY", "prefix": ""})));
    assert_eq!(keep("SHORT", "hunter2-"), (201, json!({"name": "SHORT", "prefix": ""})));
    for (name, value) in [
        ("crm", json!(VALUE)),
        ("", json!(VALUE)),
        ("A-B", json!(VALUE)),
        ("A", json!([VALUE])),
        ("A", json!(" ")),
        ("A", json!("hunter2")),
        ("A", Value::Null),
    ] {
        let answer = send(&server, "POST", "/v1/secrets", &json!({"name": name, "value": value}));
        assert_refused(&answer, 422, "invalid_secret");
        shown.push(answer.text);
    }
    let broken = server.request("POST", "/v1/secrets", &[JSON], format!("{{\"name\":\"A\",\"value\":{}", json!(VALUE)));
    assert_refused(&broken, 400, "not_json");
    shown.push(broken.text);
    let listed = server.get("/v1/secrets").json();
    let name_and_prefix = |secret: &Value| (secret["name"].clone(), secret["prefix"].clone());
    let listed_names: Vec<_> = listed["secrets"].as_array().unwrap().iter().map(name_and_prefix).collect();
    assert_eq!(listed_names, [(json!("CRM_KEY"), json!("")), (json!("SHORT"), json!(""))]);
    assert!(listed["secrets"][0]["updated_at"].as_str().is_some_and(|it| it.ends_with('Z')), "{listed}");
    for (method, path, _, body) in ROUTES.iter().filter(|it| it.0 == "GET") {
        let answer = call(&server, method, path, &[], body);
        shown.push(format!("{} {:?}", answer.text, answer.headers));
    }
    for path in ["/openapi.json", "/readyz", "/metrics"] {
        shown.push(server.get(path).text);
    }
    let delete = |name: &str| server.request("DELETE", &format!("/v1/secrets/{name}"), &[], "");
    assert_eq!((delete("CRM_KEY").status, delete("CRM_KEY").status, delete("crm").status), (204, 404, 404));
    assert_eq!(server.get("/v1/secrets").json()["secrets"].as_array().map(Vec::len), Some(1));
    for exported in [env.run(&["export"]), env.run(&["snapshot", "list"])] {
        shown.push(exported.stdout + &exported.stderr);
    }
    shown.push(server.log());
    let found: Vec<&String> = shown.iter().filter(|it| it.contains("unter2")).collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_document_that_names_a_deleted_secret_has_an_issue() {
    let tool = json!([{"id": "find", "name": "Find", "kind": "http", "secrets": ["CRM_KEY"],
        "request": {"method": "GET", "url": "https://crm.example.org", "headers": {"Authorization": "Bearer {{ secret.CRM_KEY }}"}}}]);
    let (env, server) = serve_desk(&with_changes(document("Desk"), &[("/tools", tool)]), &[]);
    let issue_codes = || {
        let answer = send(&server, "POST", "/v1/agents/desk/flow/validate-publish", &json!({})).json();
        let mut codes: Vec<String> =
            answer["issues"].as_array().unwrap().iter().map(|issue| issue["code"].as_str().unwrap().to_owned()).collect();
        codes.dedup();
        codes
    };
    let store = || send(&server, "POST", "/v1/secrets", &json!({"name": "CRM_KEY", "value": VALUE})).status;
    let delete = || server.request("DELETE", "/v1/secrets/CRM_KEY", &[], "").status;
    assert_eq!((delete(), issue_codes()), (404, vec!["V010".to_owned()]));
    assert_eq!((store(), store(), issue_codes()), (201, 200, vec![]));
    assert_eq!((delete(), delete(), issue_codes()), (204, 404, vec!["S002".to_owned()]));
    assert_eq!(send(&server, "POST", "/v1/agents/desk/publish", &json!({})).status, 422);
    assert_eq!(server.get("/v1/secrets").json(), json!({"secrets": []}));
    assert!(!env.sql().dump().join("\n").contains("unter2"), "only its name is stored");
    assert_eq!((store(), issue_codes()), (201, vec![]));
}

/// A server whose tools call a service with the secret `crm`; the rows refer to a secret of the database.
fn with_service(service: &Service) -> (TestEnv, Server) {
    let pack: Value =
        serde_json::from_str(&desk(service.address).to_string().replace(r#""auth_ref":"crm""#, r#""auth_ref":"CRM_KEY""#)).unwrap();
    let env = TestEnv::with_pack(&pack);
    let network = format!("convengine.network.allow-private={}", service.address);
    let server = env.start(env.command(&[&SERVE[..], &REGEX_ONLY, &["--set", &network]].concat()).env("RUST_LOG", "trace"));
    (env, server)
}

fn find(server: &Server) -> String {
    let params = json!({"tool_request": {"tool_code": "crm.find", "args": {"name": "x"}}});
    // Each in its own conversation: a text that was no secret when it came in stays in the context.
    let id = uuid::Uuid::new_v4().to_string();
    server.post(json!({"message": "go", "conversationId": id, "inputParams": params}).to_string()).json().to_string()
}

#[test]
fn a_stored_secret_signs_calls_and_is_redacted_from_responses() {
    let service = Service::start(&[]);
    let (env, server) = with_service(&service);
    let signed = || service.calls().last().map(|call| call.1["authorization"].to_str().unwrap().to_owned());
    assert!(find(&server).contains("ERROR") && signed().is_none(), "the secret does not exist yet");
    for value in ["another-value", VALUE] {
        send(&server, "POST", "/v1/secrets", &json!({"name": "CRM_KEY", "value": value}));
        let answer = find(&server);
        assert_eq!(signed(), Some(format!("Bearer {value}")));
        assert!(answer.contains("[secret:CRM_KEY]") && !answer.contains(value), "{answer}");
    }
    drop(server);
    // Stored secrets are available after a restart, and a secret of the settings takes precedence.
    let network = format!("convengine.network.allow-private={}", service.address);
    let arguments = ["--set", &network, "--set", "convengine.secrets.CRM_KEY=env:DESK_CRM"];
    let server = env.serve(&[&REGEX_ONLY[..], &arguments[..2]].concat());
    assert!(find(&server).contains("[secret:CRM_KEY]"));
    assert_eq!(signed(), Some(format!("Bearer {VALUE}")));
    drop(server);
    let mut command = env.command(&[&SERVE[..], &REGEX_ONLY, &arguments].concat());
    let server = env.start(command.env("DESK_CRM", "that-of-the-settings"));
    let answer = find(&server);
    assert_eq!(signed().as_deref(), Some("Bearer that-of-the-settings"));
    assert!(answer.contains("[secret:CRM_KEY]") && !answer.contains("hunter2"), "the stored one is redacted too: {answer}");
    assert_eq!(server.request("DELETE", "/v1/secrets/CRM_KEY", &[], "").status, 204);
    assert!(find(&server).contains("SUCCESS"), "the secret of the settings remains");
}

#[test]
#[on(postgres)]
fn a_secret_is_available_to_all_servers_of_a_database() {
    let service = Service::start(&[]);
    let (env, server) = with_service(&service);
    let other = env.serve(&REGEX_ONLY);
    send(&other, "POST", "/v1/secrets", &json!({"name": "CRM_KEY", "value": VALUE}));
    assert!(wait_until(|| find(&server).contains("[secret:CRM_KEY]")));
    other.request("DELETE", "/v1/secrets/CRM_KEY", &[], "");
    assert!(wait_until(|| find(&server).contains("ERROR")));
}

/// The admin routes.
fn admin_routes() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    ROUTES.into_iter().filter(|it| it.1.starts_with("/v1/")).map(|it| (it.0, it.1, it.3))
}

#[test]
fn the_admin_token_opens_only_the_admin_routes() {
    let env = TestEnv::with_pack(&orders_pack());
    let file = env.write("token", &format!("{TOKEN}\n"));
    let literal = format!("convengine.admin-token={TOKEN}");
    let (variable, from_file) = ("convengine.admin-token=env:DESK_ADMIN", format!("convengine.adminToken=file:{file}"));
    for setting in [literal.as_str(), variable, &from_file] {
        let guesses = ["--set", "convengine.security.guessing.failures=100000"];
        let mut command = env.command(&[&SERVE[..], &REGEX_ONLY, &OPEN, &guesses, &["--set", setting]].concat());
        let server = env.start(command.env("DESK_ADMIN", TOKEN).env("RUST_LOG", "trace"));
        for (method, path, body) in admin_routes() {
            for headers in [vec![], vec![("Authorization", "Bearer an-administrators-toke")], vec![("Authorization", "Basic x")]] {
                let answer = call(&server, method, path, &headers, body);
                assert_refused(&answer, 401, "unauthorized");
                assert!(answer.header("www-authenticate").starts_with("Bearer realm=\"convengine\""), "{answer:?}");
            }
            let answer = call(&server, method, path, &[("Authorization", &format!("Bearer {TOKEN}"))], body);
            assert!(![401, 403].contains(&answer.status), "{method} {path}: {answer:?}");
        }
        assert_eq!(server.get("/api/v1/conversation").status, 200, "these routes need no authentication");
        assert!(!server.log().contains(TOKEN) && !server.get("/openapi.json").text.contains(TOKEN));
    }
    assert!(!env.sql().dump().join("\n").contains(TOKEN), "the token is not stored");
    assert_one_line(
        &env.run(&[&SERVE[..], &["--set", "convengine.admin-token=env:NO_SUCH_TOKEN"]].concat()),
        2,
        &["convengine.admin-token"],
    );
    for short in ["a", "fifteen-letters"] {
        let setting = format!("convengine.admin-token={short}");
        let output = env.run(&[&SERVE[..], &["--set", &setting]].concat());
        assert_one_line(&output, 2, &["convengine.admin-token", "too short", "at least 16"]);
        assert!(!output.stderr.contains("fifteen-letters"), "{output:?}");
    }
}

#[test]
fn keys_with_the_admin_scope_open_the_admin_routes_too() {
    let env = TestEnv::with_pack(&orders_pack());
    let (admin, reader) = (key(&env, &["--scope", "admin"]), key(&env, &["--scope", "read"]));
    let literal = format!("convengine.admin-token={TOKEN}");
    let server = env.serve(&[&REGEX_ONLY[..], &WITH_KEYS, &["--set", &literal]].concat());
    let status = |token: &str, path: &str| server.request("GET", path, &[("Authorization", &format!("Bearer {token}"))], "").status;
    assert_eq!([status(&admin, "/v1/agents"), status(&reader, "/v1/agents"), status(TOKEN, "/v1/agents")], [200, 403, 200]);
    assert_eq!((status("cdp_x", "/v1/agents"), server.get("/v1/agents").status), (401, 401));
    assert_eq!(
        (status(TOKEN, "/api/v1/conversation"), status(&admin, "/api/v1/conversation")),
        (401, 200),
        "the token opens only the routes of assistants"
    );
}

#[test]
fn without_a_token_only_loopback_is_answered() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&[&REGEX_ONLY[..], &["--set", "convengine.admin-token="]].concat());
    assert_eq!(server.get("/v1/agents").status, 200);
    // A foreign page, and a proxy that calls for another client.
    for headers in [("Origin", "https://evil.example"), ("X-Forwarded-For", "192.0.2.1"), ("Forwarded", "for=192.0.2.1")] {
        for (method, path, body) in admin_routes() {
            assert_refused(&call(&server, method, path, &[headers], body), 401, "unauthorized");
        }
    }
    assert_eq!(server.request("GET", "/v1/agents", &[("Origin", "http://localhost:5173")], "").status, 200);
}

#[test]
fn a_repeated_start_has_the_same_body() {
    let (_env, server) = serve_desk(&document("Desk"), &[]);
    let version = publish(&server, &document("Desk"));
    let body = json!({"session_id": "7c0f4a3e-6f0a-4f0e-9a53-6d3f0c1b2a78", "event_id": "begin", "version": version, "params": {}});
    let first = send(&server, "POST", SIMULATED, &body);
    assert_eq!((first.status, first.header("x-replayed")), (201, ""), "{first:?}");
    let again = send(&server, "POST", SIMULATED, &body);
    assert_eq!((again.status, again.header("x-replayed"), &again.text), (201, "true", &first.text));
    for (member, value) in [("version", Value::Null), ("locale", json!("de"))] {
        let mut other = body.clone();
        other[member] = value;
        assert_refused(&send(&server, "POST", SIMULATED, &other), 422, "event_id_reused");
    }
}
