//! Who the user of a session is: a signed token or a key with an owner claim says so, and never a page. (docs/guide/access.md#users-of-sessions)

use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::access::key;
use crate::ai_agents::{deploy_helper, helper, publish_helper};
use crate::flows::{DEPLOYED, JSON, ORIGIN, assert_refused, deploy, desk, publish, reply_texts, send, with_changes};
use crate::harness::{Answer, OPEN, REGEX_ONLY, Server, TestEnv, orders_pack};
use crate::mcp_server;
use crate::tokens::{Signer, claims};
use crate::workflows::front;

/// The desk, which says who its user is.
fn who() -> Value {
    let text = "{{ user.id | default('nobody') }} {{ user.name | default('-') }} {{ visitor.id | default('-') }}";
    with_changes(desk("Desk"), &[("/graphs/1/nodes/2/data/blocks/0/text", json!(text))])
}

/// A page with the desk, a workflow that runs it and an AI agent, on a server that verifies the tokens of a signer.
struct Page {
    env: TestEnv,
    signer: Signer,
    desk: String,
    workflow: String,
    agent: String,
    admin: String,
    arguments: Vec<String>,
}

impl Page {
    /// The page of a server with `security.mode`.
    fn new(mode: &str) -> Page {
        let env = TestEnv::with_pack(&orders_pack());
        let signer = Signer::from_ed25519_seed("ed", 1);
        let file = env.write("keys.json", &json!({"keys": [signer.public_jwk()]}).to_string());
        let rules = json!([{"purpose": "agent", "user_text": "hello", "reply": "Good morning."}]);
        let script = format!("scripted:{}", env.write("script.json", &rules.to_string()));
        let open = env.serve(&[&REGEX_ONLY[..], &OPEN, &["--llm", &script]].concat());
        publish(&open, &who());
        let put = send(&open, "PUT", "/v1/workflows/front/draft", &front("Front"));
        let published = send(&open, "POST", "/v1/workflows/front/publish", &json!({}));
        assert_eq!((put.status, published.status), (200, 201), "{published:?}");
        publish_helper(&open, &helper("Shop"));
        let request = json!({"name": "shop", "channel": "web", "origins": [ORIGIN.1]});
        let deployed = send(&open, "POST", "/v1/workflows/front/deployments", &request);
        assert_eq!(deployed.status, 201, "{deployed:?}");
        let workflow = deployed.json()["token"].as_str().unwrap().to_owned();
        let (desk, agent) = (deploy(&open, false), deploy_helper(&open, &request));
        drop(open);
        let admin = key(&env, &["--scope", "admin"]);
        let sets = [
            format!("convengine.security.mode={mode}"),
            format!("convengine.security.jwt.jwks-file={file}"),
            "convengine.security.jwt.audience=bot".to_owned(),
            "convengine.security.jwt.issuer=https://id.example".to_owned(),
        ];
        let arguments = ["--llm".to_owned(), script].into_iter().chain(sets.into_iter().flat_map(|it| ["--set".to_owned(), it])).collect();
        Page { env, signer, desk, workflow, agent, admin, arguments }
    }

    fn serve(&self) -> Server {
        self.serve_with(&[])
    }

    /// A server with more arguments.
    fn serve_with(&self, more: &[&str]) -> Server {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        self.env.serve(&[&REGEX_ONLY[..], &arguments, more].concat())
    }

    /// A token of a user, with changes of its claims.
    fn token(&self, changes: Value) -> String {
        self.signer.sign(&claims(changes))
    }

    fn post(&self, server: &Server, token: &str, path: &str, body: &Value) -> Answer {
        let bearer = format!("Bearer {token}");
        server.request("POST", path, &[("Authorization", bearer.as_str()), ORIGIN, JSON], body.to_string())
    }

    /// Starts a session with the token of a deployment; returns its id.
    #[track_caller]
    fn start(&self, server: &Server, token: &str, body: &Value) -> String {
        let answer = self.post(server, token, DEPLOYED, body);
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()["session_id"].as_str().unwrap().to_owned()
    }

    /// Sends a message, with the members of `more`.
    fn send(&self, server: &Server, token: &str, session: &str, more: &Value) -> Answer {
        let mut event = json!({"type": "user.message", "text": "more please"});
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.post(server, token, &format!("{DEPLOYED}/{session}/turns"), &event)
    }

    /// Who the document says that the user of a session is.
    #[track_caller]
    fn who(&self, server: &Server, token: &str, session: &str, more: &Value) -> String {
        let answer = self.send(server, token, session, more);
        assert_eq!(answer.status, 200, "{answer:?}");
        reply_texts(&answer.json())[0].to_owned()
    }

    /// What an administrator sees below a path.
    #[track_caller]
    fn inspect(&self, server: &Server, path: &str) -> Value {
        let answer = server.request("GET", path, &[("X-API-Key", &self.admin)], "");
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }
}

/// The state of a session of the desk.
fn of_desk(session: &str) -> String {
    format!("/v1/runtime/assistants/desk/sessions/{session}")
}

#[test]
fn what_a_page_says_of_its_user_is_unverified() {
    let page = Page::new("keys");
    let server = page.serve();
    for body in [
        json!({"user": {"id": "u-2"}}),
        json!({"visitor": {"id": "u-2", "verified": true}}),
        json!({"user": {"id": "u-1", "verified": true}, "visitor": {"id": "u-2"}}),
    ] {
        let session = page.start(&server, &page.desk, &body);
        assert_eq!(
            page.who(&server, &page.desk, &session, &json!({"user": {"id": "u-3"}, "identity": {"user": {"id": "u-3"}}})),
            "nobody - u-2"
        );
        let state = page.inspect(&server, &of_desk(&session));
        assert_eq!((state.get("user"), &state["visitor"]), (None, &json!({"id": "u-2", "verified": false})), "{body}");
        assert_eq!(page.inspect(&server, &format!("{}/replay", of_desk(&session)))["equal"], true);
    }
    let nobody = page.start(&server, &page.desk, &json!({}));
    assert_eq!(page.inspect(&server, &of_desk(&nobody)).get("visitor"), None);
    let of_workflow = page.start(&server, &page.workflow, &json!({"user": {"id": "u-2"}}));
    assert_eq!(page.who(&server, &page.workflow, &of_workflow, &json!({})), "nobody - u-2", "also in the document that it runs");
    for wrong in [json!({"user": "u-2"}), json!({"visitor": ["u-2"]})] {
        assert_refused(&page.post(&server, &page.desk, DEPLOYED, &wrong), 422, "invalid_session");
    }
}

#[test]
fn a_signed_token_says_who_the_user_is() {
    let page = Page::new("keys");
    let server = page.serve();
    let token = page.token(json!({"name": "Ada", "plan": "gold", "id": "u-9", "iat": 5, "jti": "x"}));
    let session = page.start(&server, &page.desk, &json!({"user_token": token, "user": {"id": "u-2"}}));
    assert_eq!(page.who(&server, &page.desk, &session, &json!({})), "ada Ada u-2");
    let state = page.inspect(&server, &of_desk(&session));
    assert_eq!(state["user"], json!({"id": "ada", "name": "Ada", "plan": "gold"}), "the subject and the other claims");
    let of_workflow = page.start(&server, &page.workflow, &json!({"user_token": token}));
    assert_eq!(page.who(&server, &page.workflow, &of_workflow, &json!({})), "ada Ada -");
    assert_eq!(page.inspect(&server, &format!("{}/replay", of_desk(&session)))["equal"], true);
    assert_refused(&server.request("GET", "/v1/agents", &[("Authorization", &format!("Bearer {token}"))], ""), 401, "unauthorized");
    let stored = page.env.sql().dump().join("\n") + &server.log();
    assert!(!stored.contains(&token), "a token is stored nowhere");
}

#[test]
fn a_wrong_token_is_never_a_visitor() {
    let page = Page::new("keys");
    let server = page.serve();
    let other = Signer::from_ed25519_seed("ed", 2);
    for (token, why) in [
        (json!(page.token(json!({"exp": 1}))), "token expired"),
        (json!(page.token(json!({"aud": "other"}))), "wrong audience"),
        (json!(page.token(json!({"iss": "https://evil.example"}))), "wrong issuer"),
        (json!(page.token(json!({"sub": null}))), "token lacks one of the claims"),
        (json!(other.sign(&claims(json!({})))), "invalid signature"),
        (json!("x"), "token cannot be read"),
        (json!(""), "token cannot be read"),
        (json!({"id": "ada"}), "expected a string"),
    ] {
        let refused = page.post(&server, &page.desk, DEPLOYED, &json!({"user_token": token}));
        assert_refused(&refused, 401, "invalid_user_token");
        assert!(refused.text.contains(why) && refused.text.contains("send a new one"), "{why}: {refused:?}");
    }
    let path = format!("/v1/public/ai-agents/{}/turn", page.agent);
    assert_refused(&page.post(&server, "", &path, &json!({"text": "hello", "user_token": "x"})), 401, "invalid_user_token");
    assert_eq!(page.env.sql().texts("select 'x' from cs_session"), Vec::<String>::new(), "nothing has begun");
    drop(server);
    let server = page.env.serve(&[&REGEX_ONLY[..], &["--set", "convengine.security.mode=keys"]].concat());
    let refused = page.post(&server, &page.desk, DEPLOYED, &json!({"user_token": page.token(json!({}))}));
    assert_refused(&refused, 422, "user_token_unsupported");
    assert!(refused.text.contains("convengine.security.jwt.jwks-url"), "{refused:?}");
}

#[test]
fn wrong_tokens_of_users_are_guesses() {
    let page = Page::new("keys");
    let few = ["--set", "convengine.security.guessing.failures=3", "--set", "convengine.security.guessing.window=1h"];
    let server = page.serve_with(&[&few[..], &["--set", "convengine.http.trusted-proxies=127.0.0.1"]].concat());
    let post = |client: &str, token: &str, path: &str, body: &Value| {
        let bearer = format!("Bearer {token}");
        let headers = [("Authorization", bearer.as_str()), ("X-Forwarded-For", client), ORIGIN, JSON];
        server.request("POST", path, &headers, body.to_string())
    };
    let (good, expired, mut early) = (page.token(json!({})), page.token(json!({"exp": 1})), claims(json!({})));
    early["nbf"] = early["exp"].clone();
    let early = page.signer.sign(&early);
    let wrong = Signer::from_ed25519_seed("ed", 2).sign(&claims(json!({})));
    let start = |client: &str, token: &str| post(client, &page.desk, DEPLOYED, &json!({"user_token": token}));
    let first = start("192.0.2.1", &good);
    assert_eq!(first.status, 201, "{first:?}");
    for _ in 0..5 {
        for genuine in [&expired, &early] {
            assert_refused(&start("192.0.2.1", genuine), 401, "invalid_user_token");
        }
    }
    // With the start of a session, with a message, and with one for an AI agent.
    let turn = format!("{DEPLOYED}/{}/turns", first.json()["session_id"].as_str().unwrap());
    let message = json!({"type": "user.message", "text": "more please", "user_token": wrong});
    let agent = format!("/v1/public/ai-agents/{}/turn", page.agent);
    let ways = [
        (page.desk.as_str(), DEPLOYED, json!({"user_token": wrong})),
        (&page.desk, &turn, message),
        ("", &agent, json!({"text": "hello", "user_token": wrong})),
    ];
    for (token, path, body) in &ways {
        assert_refused(&post("192.0.2.1", token, path, body), 401, "invalid_user_token");
    }
    for (token, path, body) in &ways {
        let refused = post("192.0.2.1", token, path, body);
        assert_refused(&refused, 429, "rate_limited");
        assert!(refused.header("retry-after").parse::<u64>().is_ok_and(|it| (1..=3600).contains(&it)), "{refused:?}");
    }
    let key = format!("ce_{:012x}_{:064x}", 1, 1);
    let list = server.request("GET", "/api/v1/conversation", &[("X-API-Key", key.as_str()), ("X-Forwarded-For", "192.0.2.1")], "");
    assert_eq!(list.status, 429, "they count with other credentials: {list:?}");
    assert_eq!([start("192.0.2.1", &good).status, start("192.0.2.1", &expired).status], [201, 401], "others behind the address");
    assert_refused(&start("192.0.2.2", &wrong), 401, "invalid_user_token");
}

#[test]
fn a_user_signs_in_during_a_session_and_nobody_takes_it_over() {
    let page = Page::new("keys");
    let server = page.serve();
    for token in [&page.desk, &page.workflow] {
        let session = page.start(&server, token, &json!({"user": {"id": "u-2"}}));
        assert_eq!(page.who(&server, token, &session, &json!({})), "nobody - u-2");
        let (ada, eve) = (page.token(json!({"name": "Ada"})), page.token(json!({"sub": "eve"})));
        assert_eq!(page.who(&server, token, &session, &json!({"user_token": ada})), "ada Ada u-2");
        assert_refused(&page.send(&server, token, &session, &json!({"user_token": eve})), 409, "user_mismatch");
        assert_refused(&page.send(&server, token, &session, &json!({"user_token": "x"})), 401, "invalid_user_token");
        assert_eq!(page.who(&server, token, &session, &json!({})), "ada Ada u-2");
    }
    let session = page.start(&server, &page.desk, &json!({}));
    page.who(&server, &page.desk, &session, &json!({"user_token": page.token(json!({}))}));
    assert_eq!(page.inspect(&server, &format!("{}/replay", of_desk(&session)))["equal"], true);
    assert_eq!(page.env.run(&["replay", "--conversation", &session]).code, 0);
}

#[test]
fn a_session_stays_with_its_user_whatever_is_redacted() {
    let mut page = Page::new("keys");
    let rules = json!([{"param": "user", "with": "[user]"}, {"param": "id", "with": "[id]"}, {"pattern": "ada", "with": "[name]"}]);
    page.arguments.extend(["--set".to_owned(), format!("convengine.privacy.redact={rules}")]);
    let server = page.serve();
    let (ada, eve) = (page.token(json!({"name": "Ada"})), page.token(json!({"sub": "eve"})));
    for token in [&page.desk, &page.workflow] {
        let began = page.start(&server, token, &json!({"user_token": ada, "user": {"id": "u-2"}}));
        let joined = page.start(&server, token, &json!({"visitor": {"id": "u-2"}}));
        for session in [began, joined] {
            assert_eq!(page.who(&server, token, &session, &json!({"user_token": ada})), "ada [user] [id]");
            assert_refused(&page.send(&server, token, &session, &json!({"user_token": eve})), 409, "user_mismatch");
            assert_eq!(page.who(&server, token, &session, &json!({"user_token": ada})), "ada [user] [id]");
            assert_eq!(page.env.run(&["replay", "--conversation", &session]).code, 0);
        }
    }
}

#[test]
fn an_ai_agent_knows_its_user_by_the_token_alone() {
    let page = Page::new("keys");
    let server = page.serve();
    let turn = |body: &Value| page.post(&server, "", &format!("/v1/public/ai-agents/{}/turn", page.agent), body);
    let state = |answer: &Answer| {
        let id = answer.json()["conversation_id"].as_str().unwrap().to_owned();
        let state = page.inspect(&server, &format!("/v1/runtime/ai-agents/sessions/{id}"));
        (id, state.get("user").cloned(), state.get("visitor").cloned())
    };
    let first = turn(&json!({"text": "hello", "user": {"id": "u-2"}, "identity": {"user": {"id": "u-3"}}}));
    assert_eq!(first.status, 200, "{first:?}");
    let (id, user, visitor) = state(&first);
    assert_eq!((user, visitor), (None, Some(json!({"id": "u-2", "verified": false}))));
    let second = turn(&json!({"text": "hello", "conversation_id": id, "user_token": page.token(json!({"name": "Ada"}))}));
    assert_eq!((second.status, state(&second).1), (200, Some(json!({"id": "ada", "name": "Ada"}))), "{second:?}");
    let eve = page.token(json!({"sub": "eve"}));
    assert_refused(&turn(&json!({"text": "hello", "conversation_id": id, "user_token": eve})), 409, "user_mismatch");
    let new = turn(&json!({"text": "hello", "user_token": eve}));
    assert_eq!((new.status, state(&new).1), (200, Some(json!({"id": "eve"}))), "{new:?}");
    assert_refused(&turn(&json!({"text": "hello", "user": "u-2"})), 422, "invalid_session");
    assert_eq!(page.inspect(&server, &format!("/v1/runtime/ai-agents/sessions/{id}/replay"))["equal"], true);
}

#[test]
fn the_team_states_who_a_user_is() {
    let page = Page::new("keys");
    let server = page.serve();
    let begin = |body: &Value| {
        let path = "/v1/runtime/assistants/desk/sessions";
        let answer = server.request("POST", path, &[("X-API-Key", page.admin.as_str()), JSON], body.to_string());
        assert_eq!(answer.status, 201, "{answer:?}");
        let state = page.inspect(&server, &of_desk(answer.json()["session_id"].as_str().unwrap()));
        (state.get("user").cloned(), state.get("visitor").cloned())
    };
    let visitor = json!({"id": "u-2", "verified": false});
    assert_eq!(begin(&json!({"user": {"id": "u-1"}, "visitor": {"id": "u-2"}})), (Some(json!({"id": "u-1"})), Some(visitor)));
    assert_eq!(begin(&json!({})), (None, None));
    assert_eq!(begin(&json!({"user_token": page.token(json!({}))})).0, Some(json!({"id": "ada"})));
}

#[test]
fn over_mcp_a_key_with_an_owner_claim_or_a_token_says_who_the_user_is() {
    let page = Page::new("keys,jwt");
    let [converse, bound] = [&["--scope", "converse"][..], &["--scope", "converse", "--owner-claim"]].map(|it| key(&page.env, it));
    let server = page.serve();
    let ask = |credential: &str, owner: Option<&str>| {
        let bearer = format!("Bearer {credential}");
        let mut headers = vec![("Authorization", bearer.as_str())];
        headers.extend(owner.map(|owner| ("X-Convengine-Owner", owner)));
        let params = json!({"name": "ask_desk", "arguments": {"text": "more please"}});
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let answer = mcp_server::send(&server, &headers, &message).json();
        answer["result"]["structuredContent"]["messages"].as_array().unwrap_or_else(|| panic!("{answer}")).last().unwrap()["text"].clone()
    };
    assert_eq!(ask(&bound, Some("u-1")), "u-1 - -");
    assert_eq!(ask(&converse, None), "nobody - -");
    assert_eq!(ask(&page.token(json!({"scope": "converse", "name": "Ada"})), None), "ada Ada -");
    assert_eq!(ask(&page.admin, None), "nobody - -", "who tries an assistant is not its user");
}
