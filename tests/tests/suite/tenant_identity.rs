//! Which tenant a key, a token, a secret, a header or a command belongs to.

use std::io::Read;
use std::sync::mpsc;
use std::thread;

use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::flows::{DEPLOYED, JSON, ORIGIN, assert_refused};
use crate::harness::{MESSAGE, REGEX_ONLY, SERVE, Server, TestEnv, assert_one_line, client, orders_pack, wait_until};
use crate::stream::ID;
use crate::tenants::{KEYS, TwoTenants};
use crate::tokens::{Issuer, Signer, claims};
use crate::tools::{SECRET, Service, desk};

#[test]
fn a_key_belongs_to_one_tenant_even_in_a_copied_database() {
    let two = TwoTenants::with_pack(&orders_pack());
    let a = two.key("a", "admin");
    let status = |server: &Server, key: &str| server.request("GET", "/api/v1/conversation", &[("X-API-Key", key)], "").status;
    let copy = TwoTenants { b: two.a.copy(), a: two.a };
    let server = copy.serve(&KEYS);
    assert_eq!(status(&server, &a), 200);
    for wrong in [a.replace("ce_a_", "ce_b_"), a.replace("ce_a_", "ce_"), a.replace("ce_a_", "ce_c_"), a.replace("ce_a_", "ce__")] {
        assert_eq!(status(&server, &wrong), 401, "{wrong}");
    }
    let listed = |tenant: &str| {
        let arguments = copy.arguments();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        copy.a.run(&[&["key", "list", "--tenant", tenant], &arguments[..]].concat())
    };
    assert_eq!((listed("a").stdout.lines().count(), listed("b").stdout.lines().count()), (1, 1));
    // With mode=keys the header is ignored.
    let headers = [("X-API-Key", a.as_str()), ("X-Tenant", "b")];
    let answer = server.request("POST", MESSAGE, &[&headers[..], &[("Content-Type", "application/json")]].concat(), r#"{"message":"x"}"#);
    assert_eq!(answer.status, 200);
    let count = |env: &TestEnv| env.sql().texts("select 'x' from ce_turn").len();
    assert_eq!((count(&copy.a), count(&copy.b)), (1, 0));
}

#[test]
fn a_token_belongs_to_the_tenant_of_its_claim() {
    let two = TwoTenants::with_pack(&orders_pack());
    let signer = Signer::from_ed25519_seed("1", 1);
    let issuer = Issuer::start(vec![signer.public_jwk()]);
    let at = format!("convengine.security.jwt.jwks-url={}", issuer.address);
    let set = ["--set", "convengine.security.mode=jwt", "--set", &at, "--set", "convengine.security.jwt.audience=bot"];
    let more = ["--set", "convengine.security.jwt.issuer=https://id.example", "--set", "convengine.security.jwt.tenant-claim=org"];
    let server = two.serve(&[&set[..], &more].concat());
    let post = |changes: Value, more: &[(&str, &str)]| {
        let token = format!("Bearer {}", signer.sign(&claims(changes)));
        let headers = [&[("Content-Type", "application/json"), ("Authorization", token.as_str())], more].concat();
        server.request("POST", MESSAGE, &headers, json!({"conversationId": ID, "message": "x"}).to_string()).status
    };
    let count = |env: &TestEnv| env.sql().texts("select 'x' from ce_turn").len();
    assert_eq!(post(json!({"scope": "converse", "org": "b"}), &[("X-Tenant", "a")]), 200);
    assert_eq!((count(&two.a), count(&two.b)), (0, 1));
    for org in [json!(null), json!("c"), json!(""), json!(["a"]), json!(1), json!("A")] {
        assert_eq!(post(json!({"scope": "admin", "org": org}), &[("X-Tenant", "a")]), 403, "{org}");
    }
    assert_eq!(post(json!({"scope": "admin", "org": null, "tenant": "a"}), &[]), 403, "another claim selects no tenant");
    assert_eq!((count(&two.a), count(&two.b)), (0, 1));
}

#[test]
fn the_token_of_a_user_counts_in_its_tenant_alone() {
    let two = TwoTenants::with_pack(&orders_pack());
    let admin = two.key("a", "admin");
    let signer = Signer::from_ed25519_seed("1", 1);
    let issuer = Issuer::start(vec![signer.public_jwk()]);
    let at = format!("convengine.security.jwt.jwks-url={}", issuer.address);
    let set = ["--set", "convengine.security.mode=keys", "--set", &at, "--set", "convengine.security.jwt.audience=bot"];
    let server = two.serve(&[&set[..], &["--set", "convengine.security.jwt.issuer=https://id.example"]].concat());
    let call = |method: &str, path: &str, body: &Value| {
        let answer = server.request(method, path, &[("X-API-Key", admin.as_str()), JSON], body.to_string());
        assert!(answer.status < 300, "{method} {path}: {answer:?}");
        answer.json()
    };
    call("PUT", "/v1/agents/desk/flow", &crate::flows::desk("Desk"));
    call("POST", "/v1/agents/desk/publish", &json!({}));
    let request = json!({"name": "shop", "channel": "web", "origins": [ORIGIN.1]});
    let deployed = call("POST", "/v1/agents/desk/deployments", &request);
    let bearer = format!("Bearer {}", deployed["token"].as_str().unwrap());
    let start = |tenant: Value| {
        let body = json!({"user_token": signer.sign(&claims(json!({"tenant": tenant})))});
        server.request("POST", DEPLOYED, &[("Authorization", bearer.as_str()), ORIGIN, JSON], body.to_string())
    };
    assert_eq!(start(json!("a")).status, 201);
    for foreign in [json!("b"), json!("c"), json!(null), json!(["a"])] {
        assert_refused(&start(foreign), 401, "invalid_user_token");
    }
}

#[test]
fn a_secret_belongs_to_its_tenant() {
    let service = Service::start(&[]);
    let two = TwoTenants::with_pack(&desk(service.address));
    let network = format!("convengine.network.allow-private={}", service.address);
    let arguments = two.arguments();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let set = ["--set", &network, "--set", "convengine.tenants.a.secrets.crm=env:DESK_CRM", "--set", "convengine.security.mode=none"];
    let mut command = two.a.command(&[&SERVE[..], &arguments, &REGEX_ONLY, &set].concat());
    let server = two.a.start(command.env("DESK_CRM", SECRET));
    let find = |tenant: &str| {
        let params = json!({"tool_request": {"tool_code": "crm.find", "args": {"name": "x"}}});
        let body = json!({"message": "go", "conversationId": ID, "inputParams": params}).to_string();
        server.request("POST", MESSAGE, &[("Content-Type", "application/json"), ("X-Tenant", tenant)], body).json().to_string()
    };
    assert!(find("a").contains("[secret:crm]"), "A has the secret, and it is redacted for A");
    let calls = service.calls().len();
    let of_b = find("b");
    assert!(!of_b.contains(SECRET), "{of_b}");
    assert_eq!(service.calls().len(), calls, "B has no such secret, so nothing is sent: {of_b}");
    assert!(!two.b.sql().dump().join("\n").contains(SECRET));
}

#[test]
fn without_authentication_a_header_selects_the_tenant() {
    let two = TwoTenants::with_pack(&orders_pack());
    let rate = ["--set", "convengine.tenants.a.security.rate.per-conversation=1/h", "--set", "convengine.tenants.b.input.max-chars=3"];
    let server = two.serve(&rate);
    let post = |tenant: Option<&str>, text: &str| {
        let tenant = tenant.map(|tenant| ("X-Tenant", tenant));
        let headers: Vec<(&str, &str)> = [("Content-Type", "application/json")].into_iter().chain(tenant).collect();
        server.request("POST", MESSAGE, &headers, json!({"conversationId": ID, "message": text}).to_string())
    };
    assert_eq!((post(None, "x").status, post(Some("c"), "x").status), (400, 400));
    assert!(post(None, "x").json()["message"].as_str().unwrap().contains("X-Tenant"));
    assert_eq!((post(Some("a"), "hello").status, post(Some("a"), "hello").status), (200, 429), "A has its rate");
    assert_eq!(
        [post(Some("b"), "hi"), post(Some("b"), "hi"), post(Some("b"), "hello")].map(|it| it.status),
        [200, 200, 413],
        "and B its limits"
    );
    assert_eq!(server.get("/readyz").json(), json!({"status": "UP", "tenants": 2}));
    let stream = |query: &str| {
        let mut response = client().get(format!("http://{}/api/v1/conversation/stream/{ID}{query}", server.address)).send().unwrap();
        let mut first = [0; 1];
        (response.read(&mut first).is_ok(), response.status().as_u16()).1
    };
    assert_eq!([stream("?tenant=a"), stream(""), stream("?tenant=c")], [200, 400, 400], "browsers send no headers there");
}

#[test]
fn an_unready_tenant_is_reported_without_its_name_to_outsiders() {
    let two = TwoTenants::with_pack(&orders_pack());
    let mut server = two.serve(&[]);
    assert_eq!(server.get("/readyz").status, 200);
    two.b.sql().run("delete from ce_config_snapshot");
    // A proxy in front of the server makes every caller an outsider.
    let outside = || server.request("GET", "/readyz", &[("X-Forwarded-For", "192.0.2.1")], "");
    assert!(wait_until(|| outside().json()["status"] == "DEGRADED"));
    let answer = outside();
    assert_eq!((answer.status, answer.json()), (200, json!({"status": "DEGRADED", "tenants": 2, "down": 1})), "the other one serves");
    let reason = "configuration snapshot is missing from the database; restart the server";
    assert_eq!(server.get("/readyz").json()["problems"], json!([{"tenant": "b", "reason": reason}]));
    assert!(server.log().contains("tenant=\"b\""), "{}", server.log());
    let (sender, exit_code) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            server.terminate();
            sender.send(server.exit_code()).unwrap();
        });
        assert_eq!(exit_code.recv().unwrap(), Some(0), "all servers have stopped");
    });
}

#[test]
fn commands_apply_to_one_tenant() {
    let two = TwoTenants::with_pack(&orders_pack());
    let arguments = two.arguments();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let run = |more: &[&str]| two.a.run(&[more, &arguments[..]].concat());
    assert_one_line(&run(&["export"]), 2, &["--tenant", "a, b"]);
    assert_one_line(&run(&["export", "--tenant", "c"]), 2, &["--tenant c", "a, b"]);
    assert_one_line(&run(&["serve", "--listen", "127.0.0.1:0", "--tenant", "a"]), 2, &["--tenant a", "all tenants"]);
    two.b.sql().run("update ce_response set exact_text = 'Only B says this.'");
    let exported = |tenant: &str| run(&["export", "--tenant", tenant]).stdout.contains("Only B says this.");
    assert_eq!((exported("a"), exported("b")), (false, true));
    for (set, words) in [
        ("a.security.mode=none", "set convengine.security.mode"),
        ("B.database=sqlite:x.db", "lower-case letters"),
        ("c.input.max-chars=5", "convengine.tenants.c.database"),
    ] {
        let set = format!("convengine.tenants.{set}");
        let output = run(&["serve", "--listen", "127.0.0.1:0", "--set", &set]);
        assert_one_line(&output, 2, &[words]);
    }
}
