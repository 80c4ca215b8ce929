//! Conversations belong to the user that began them. (docs/guide/access.md#owners)

use std::sync::Barrier;
use std::thread;

use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::access::key;
use crate::flows::JSON;
use crate::harness::{Answer, MESSAGE, REGEX_ONLY, Server, TestEnv, assert_one_line, orders_pack};
use crate::stomp::{BlockingClient, PLAIN};
use crate::stream::{ID, Listener, path};
use crate::tokens::{Signer, claims};

const FEEDBACK: &str = "/api/v1/conversation/feedback";

/// A server that accepts keys and the tokens of a signer.
struct Users {
    env: TestEnv,
    signer: Signer,
    arguments: Vec<String>,
}

impl Users {
    fn new() -> Users {
        let env = TestEnv::with_pack(&orders_pack());
        let signer = Signer::from_ed25519_seed("ed", 1);
        let file = env.write("keys.json", &json!({"keys": [signer.public_jwk()]}).to_string());
        let sets = [
            "convengine.security.mode=keys,jwt".to_owned(),
            "convengine.security.keys.recheck=1ms".to_owned(),
            format!("convengine.security.jwt.jwks-file={file}"),
            "convengine.security.jwt.audience=bot".to_owned(),
            "convengine.security.jwt.issuer=https://id.example".to_owned(),
            "convengine.transport.stomp.enabled=true".to_owned(),
        ];
        Users { env, signer, arguments: sets.into_iter().flat_map(|it| ["--set".to_owned(), it]).collect() }
    }

    fn serve(&self) -> Server {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        self.env.serve(&[&REGEX_ONLY[..], &arguments].concat())
    }

    fn token(&self, subject: &str, scope: &str) -> String {
        self.signer.sign(&claims(json!({"sub": subject, "scope": scope})))
    }
}

fn call(server: &Server, method: &str, path: &str, credential: &str, body: &Value) -> Answer {
    let bearer = format!("Bearer {credential}");
    server.request(method, path, &[("Authorization", bearer.as_str()), JSON], body.to_string())
}

fn say(server: &Server, credential: &str, id: &str) -> u16 {
    call(server, "POST", MESSAGE, credential, &json!({"conversationId": id, "message": "my order"})).status
}

fn rate(server: &Server, credential: &str) -> u16 {
    call(server, "POST", FEEDBACK, credential, &json!({"conversationId": ID, "feedbackType": "THUMBS_UP"})).status
}

/// The status of a stream that is refused.
fn stream(server: &Server, credential: &str) -> u16 {
    call(server, "GET", &path(ID), credential, &json!({})).status
}

fn stomp_error(server: &Server, credential: &str) -> String {
    let mut client = BlockingClient::connect(server, &format!("{PLAIN}?access_token={credential}"));
    client.send(&format!("SUBSCRIBE\nid:a\ndestination:/topic/convengine/audit/{ID}\n\n\0"));
    client.read_error()
}

#[test]
fn a_conversation_belongs_to_the_subject_that_began_it() {
    let users = Users::new();
    let [converse, read, admin] = ["converse", "read", "admin"].map(|it| key(&users.env, &["--scope", it]));
    let server = users.serve();
    let (ada, eve) = (users.token("ada-lovelace", "converse"), users.token("eve", "converse"));
    let eve_reads = users.token("eve", "converse read");
    assert_eq!(say(&server, &ada, ID), 200);
    let server = {
        drop(server);
        users.serve()
    };
    let before = users.env.sql().texts("select count(*) || '' from ce_turn");
    for other in [&eve, &converse] {
        assert_eq!((say(&server, other, ID), rate(&server, other), stream(&server, other)), (404, 404, 404));
        assert!(stomp_error(&server, other).contains("conversation not found"));
    }
    assert_eq!((say(&server, &eve_reads, ID), rate(&server, &eve_reads)), (404, 404), "reading all is not writing all");
    assert_eq!(users.env.sql().texts("select count(*) || '' from ce_turn"), before, "nothing ran");
    for path in [format!("/api/v1/conversation/audit/{ID}"), format!("/api/v1/conversation/journal/{ID}")] {
        assert_eq!(call(&server, "GET", &path, &eve, &json!({})).status, 403, "{path}");
        for all in [&read, &eve_reads, &admin] {
            assert_eq!(call(&server, "GET", &path, all, &json!({})).status, 200, "{path}");
        }
    }
    assert_eq!((say(&server, &ada, ID), rate(&server, &ada), say(&server, &admin, ID)), (200, 200, 200));
    assert!(!users.env.sql().dump().join("\n").contains("ada-lovelace"), "the owner is stored as a hash");
    // What a key began belongs to nobody, and what is deleted may begin again.
    const SHARED: &str = "7c0f4a3e-6f0a-4f0e-9a53-6d3f0c1b2a09";
    assert_eq!((say(&server, &converse, SHARED), say(&server, &eve, SHARED), say(&server, &ada, SHARED)), (200, 200, 200));
    assert_eq!(call(&server, "DELETE", &format!("/api/v1/conversation/{ID}"), &admin, &json!({})).status, 200);
    assert_eq!((say(&server, &eve, ID), say(&server, &ada, ID)), (200, 404));
}

#[test]
fn a_stream_opened_before_the_conversation_ends_when_it_is_anothers() {
    let users = Users::new();
    let converse = key(&users.env, &["--scope", "converse"]);
    let server = users.serve();
    let (ada, eve) = (users.token("ada-lovelace", "converse"), users.token("eve", "converse"));
    let open = |credential: &str| Listener::open_path(&server, &format!("{}?access_token={credential}", path(ID)), None).0;
    let (mut own, mut foreign, mut of_key) = (open(&ada), open(&eve), open(&converse));
    let mut stomp = BlockingClient::connect(&server, &format!("{PLAIN}?access_token={eve}"));
    stomp.subscribe("a", ID);
    assert_eq!(say(&server, &ada, ID), 200);
    assert!(own.next().is_some(), "the owner receives the events");
    assert!(foreign.next().is_none() && of_key.next().is_none(), "others receive none");
    assert_eq!(stomp.next(), None);
}

#[test]
fn of_two_subjects_that_begin_a_conversation_at_once_one_wins() {
    let users = Users::new();
    // SQLite has one process.
    let shared = usize::from(users.env.is_postgres());
    let servers: Vec<Server> = (0..=shared).map(|_| users.serve()).collect();
    let tokens = [users.token("ada-lovelace", "converse"), users.token("eve", "converse")];
    for round in 0..20 {
        let id = format!("7c0f4a3e-6f0a-4f0e-9a53-6d3f0c1b{round:04}");
        let barrier = Barrier::new(2);
        let statuses: Vec<u16> = thread::scope(|scope| {
            let start = |index: usize| {
                let (id, barrier, token, server) = (&id, &barrier, &tokens[index], &servers[index * shared]);
                scope.spawn(move || {
                    barrier.wait();
                    say(server, token, id)
                })
            };
            [start(0), start(1)].map(|thread| thread.join().unwrap()).to_vec()
        });
        assert!(statuses == [200, 404] || statuses == [404, 200], "{statuses:?}");
        let again: Vec<u16> = (0..2).map(|it| say(&servers[0], &tokens[it], &id)).collect();
        assert_eq!(again, statuses, "the winner keeps it");
    }
}

#[test]
fn a_key_with_an_owner_claim_acts_for_the_user_that_each_request_names() {
    let users = Users::new();
    let (bound, other) = (key(&users.env, &["--scope", "converse", "--owner-claim"]), key(&users.env, &["--scope", "converse"]));
    let second = key(&users.env, &["--scope", "converse", "--owner-claim"]);
    assert_one_line(
        &users.env.run(&["key", "create", "--name", "x", "--scope", "converse,read", "--owner-claim"]),
        2,
        &["--owner-claim", "--scope converse"],
    );
    assert!(users.env.run(&["key", "list"]).stdout.contains("owner-claim"));
    let server = users.serve();
    let as_user = |key: &str, owner: Option<&str>, id: Option<&str>, idempotency: &str| {
        let bearer = format!("Bearer {key}");
        let mut headers = vec![("Authorization", bearer.as_str()), ("Idempotency-Key", idempotency), JSON];
        headers.extend(owner.map(|owner| ("X-Convengine-Owner", owner)));
        server.request("POST", MESSAGE, &headers, json!({"conversationId": id, "message": "my order"}).to_string())
    };
    let status = |key: &str, owner: Option<&str>, idempotency: &str| as_user(key, owner, Some(ID), idempotency).status;
    assert_eq!(status(&bound, Some("u1"), "a"), 200);
    assert_eq!((status(&bound, Some("u2"), "b"), status(&second, Some("u1"), "b"), status(&other, None, "b")), (404, 404, 404));
    assert_eq!((status(&bound, None, "c"), status(&bound, Some(""), "c"), status(&other, Some("u1"), "c")), (400, 400, 400));
    assert_eq!(status(&bound, Some("u1"), "d"), 200);
    // The answer to an idempotency key belongs to the user, not to the whole key.
    let first = as_user(&bound, Some("u1"), None, "same").json();
    let second = as_user(&bound, Some("u2"), None, "same").json();
    assert_ne!(first["conversationId"], second["conversationId"], "{first} {second}");
    assert_eq!(as_user(&bound, Some("u1"), None, "same").json()["conversationId"], first["conversationId"]);
}
