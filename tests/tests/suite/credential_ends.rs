//! What a caller keeps open ends when its key or token is revoked or expires.

use std::io::Read;
use std::thread;

use convengine_test_macros::test;
use reqwest::blocking::Response;
use serde_json::{Value, json};

use crate::access::key;
use crate::chains::{Run, chain, human, publish_chain};
use crate::deployments::with_shop;
use crate::flows::{DEPLOYED, ORIGIN, Session, send};
use crate::harness::{Server, TestEnv, client, orders_pack, wait_until};
use crate::stomp::{BlockingClient, ENABLED, PLAIN};
use crate::stream::ID;

/// Opens a stream with a key.
fn open(server: &Server, path: &str, key: &str) -> Response {
    let response = client().get(format!("http://{}{path}", server.address)).header("X-API-Key", key).send().unwrap();
    assert_eq!(response.status(), 200, "{path}");
    response
}

#[test]
fn streams_of_every_kind_end_with_their_key() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&[&ENABLED[..], &["--set", "convengine.security.keys.recheck=1ms"]].concat());
    publish_chain(&server, &chain("desk", json!([human("ask")]), &[]));
    let run = Run::start(&server, "desk", &json!({}));
    run.wait_for(&server, "awaiting_human");
    let [revoked, other] = [key(&env, &["--scope", "admin"]), key(&env, &["--scope", "admin"])];
    assert!(wait_until(|| server.get("/api/v1/conversation").status == 401), "the server closes");
    let paths = [format!("/api/v1/conversation/stream/{ID}"), "/v1/desk/events".to_owned(), format!("{}/events", run.path)];
    let streams: Vec<Response> = paths.iter().map(|it| open(&server, it, &revoked)).collect();
    let socket = |key: &str, path: &str| BlockingClient::connect(&server, &format!("{path}?access_token={key}"));
    let (mut subscribed, mut idle) = (socket(&revoked, PLAIN), socket(&revoked, PLAIN));
    let mut foreign = socket(&other, PLAIN);
    [&mut subscribed, &mut foreign].into_iter().for_each(|it| it.subscribe("s", ID));
    assert_eq!(env.run(&["key", "revoke", &revoked[3..15]]).code, 0);
    for (mut stream, path) in streams.into_iter().zip(&paths) {
        let mut rest = Vec::new();
        assert!(stream.read_to_end(&mut rest).is_ok(), "{path} does not end");
    }
    assert_eq!((subscribed.next(), idle.next()), (None, None), "sockets, also those that have not subscribed");
    foreign.send("DISCONNECT\nreceipt:bye\n\n\0");
    assert!(foreign.next().is_some(), "that of another key stays open");
}

#[test]
fn a_waiting_page_is_refused_when_its_token_is_revoked() {
    let (_env, server, token) = with_shop(&[]);
    let (session, _) = Session::start_deployed(&server, &token, &[]);
    let deployments = || server.get("/v1/deployments").json()["deployments"][0].clone();
    let tokens = format!("/v1/deployments/{}/tokens", deployments()["id"].as_str().unwrap());
    let added = send(&server, "POST", &tokens, &json!({})).json();
    let messages = format!("{DEPLOYED}/{}/messages", session.id);
    let bearer = |token: &Value| format!("Bearer {}", token.as_str().unwrap());
    let seen = server.request("GET", &messages, &[("Authorization", &format!("Bearer {token}")), ORIGIN], "").json();
    let waiting = format!("{messages}?after={}&wait_s=25", seen["seq"]);
    thread::scope(|scope| {
        let answer = scope.spawn(|| server.request("GET", &waiting, &[("Authorization", &bearer(&added["token"])), ORIGIN], ""));
        let is_used = || {
            let all = deployments()["tokens"].as_array().unwrap().clone();
            all.iter().any(|token| token["id"] == added["id"] && !token["last_used_at"].is_null())
        };
        assert!(wait_until(is_used), "the call has not begun");
        let id = added["id"].as_str().unwrap();
        assert_eq!(server.request("DELETE", &format!("{tokens}/{id}"), &[], "").status, 204);
        let answer = answer.join().unwrap();
        assert_eq!(answer.status, 401, "{answer:?}");
    });
    let still = format!("{messages}?after={}", seen["seq"]);
    assert_eq!(server.request("GET", &still, &[("Authorization", &format!("Bearer {token}")), ORIGIN], "").status, 200);
}
