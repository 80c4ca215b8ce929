//! Tokens of external issuers: which are accepted, and where their keys come from.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use convengine_test_macros::test;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use rsa::RsaPrivateKey;
use rsa::pkcs1::EncodeRsaPrivateKey;
use rsa::rand_core::OsRng;
use serde_json::{Value, json};

use crate::harness::{REGEX_ONLY, SERVE, Server, TestEnv, assert_one_line, orders_pack, wait_until};
use crate::stream::{ID, Listener};

const LIST: &str = "/api/v1/conversation";

/// A signing key.
pub struct Signer {
    id: &'static str,
    algorithm: Algorithm,
    key: EncodingKey,
}

/// A key of this run, because private keys do not belong in the sources.
fn rsa_key() -> &'static [u8] {
    static KEY: OnceLock<Vec<u8>> = OnceLock::new();
    KEY.get_or_init(|| RsaPrivateKey::new(&mut OsRng, 2048).unwrap().to_pkcs1_der().unwrap().as_bytes().to_vec())
}

impl Signer {
    /// An Ed25519 key, derived from a byte.
    pub fn from_ed25519_seed(id: &'static str, seed: u8) -> Signer {
        let der = [&hex("302e020100300506032b657004220420")[..], &[seed; 32]].concat();
        Signer { id, algorithm: Algorithm::EdDSA, key: EncodingKey::from_ed_der(&der) }
    }

    fn generate_ecdsa(id: &'static str) -> Signer {
        let der = [&hex("3041020100301306072a8648ce3d020106082a8648ce3d030107042730250201010420")[..], &[7; 32]].concat();
        Signer { id, algorithm: Algorithm::ES256, key: EncodingKey::from_ec_der(&der) }
    }

    fn load_rsa(id: &'static str) -> Signer {
        Signer { id, algorithm: Algorithm::RS256, key: EncodingKey::from_rsa_der(rsa_key()) }
    }

    /// Its public key, with which others verify its tokens.
    pub fn public_jwk(&self) -> Value {
        let mut key = json!(Jwk::from_encoding_key(&self.key, self.algorithm).unwrap());
        key["kid"] = json!(self.id);
        key
    }

    /// A token with these claims.
    pub fn sign(&self, claims: &Value) -> String {
        let header = Header { kid: Some(self.id.to_owned()), ..Header::new(self.algorithm) };
        encode(&header, claims, &self.key).unwrap()
    }
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|index| u8::from_str_radix(&text[index..index + 2], 16).unwrap()).collect()
}

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// The claims of a valid token, with changes.
pub fn claims(changes: Value) -> Value {
    let mut claims = json!({"iss": "https://id.example", "aud": "bot", "sub": "ada", "exp": now() + 600, "scope": "openid read"});
    for (name, value) in changes.as_object().unwrap() {
        if value.is_null() { drop(claims.as_object_mut().unwrap().remove(name)) } else { claims[name] = value.clone() }
    }
    claims
}

/// An issuer that serves its set of keys.
pub struct Issuer {
    pub address: String,
    state: Arc<Mutex<IssuerState>>,
}

#[derive(Default)]
struct IssuerState {
    keys: Option<Vec<Value>>,
    fetches: u32,
}

impl Issuer {
    pub fn start(keys: Vec<Value>) -> Issuer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/keys", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(IssuerState { keys: Some(keys), fetches: 0 }));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let lines = BufReader::new(stream.try_clone().unwrap()).lines();
                assert!(lines.map_while(Result::ok).any(|line| line.is_empty()));
                let mut state = shared.lock().unwrap();
                state.fetches += 1;
                let answer = match &state.keys {
                    Some(keys) => {
                        let body = json!({"keys": keys}).to_string();
                        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
                    }
                    None => "HTTP/1.1 500 X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_owned(),
                };
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        Issuer { address, state }
    }

    fn set_keys(&self, keys: Option<Vec<Value>>) {
        self.state.lock().unwrap().keys = keys;
    }

    fn fetches(&self) -> u32 {
        self.state.lock().unwrap().fetches
    }
}

fn serve(env: &TestEnv, issuer: &Issuer, more: &[&str]) -> Server {
    let at = format!("convengine.security.jwt.jwks-url={}", issuer.address);
    let set = ["--set", "convengine.security.mode=keys,jwt", "--set", &at, "--set", "convengine.security.jwt.audience=bot"];
    let from = ["--set", "convengine.security.jwt.issuer=https://id.example", "--set", "convengine.security.jwt.leeway=5s"];
    env.serve(&[&REGEX_ONLY[..], &set, &from, more].concat())
}

/// The status that the server returns for a token, and the message.
fn call_with_token(server: &Server, token: &str) -> (u16, String) {
    let answer = server.request("GET", LIST, &[("Authorization", &format!("Bearer {token}"))], "");
    let reason = if answer.status == 200 { String::new() } else { answer.json()["message"].as_str().unwrap().to_owned() };
    (answer.status, reason)
}

#[test]
fn a_token_is_accepted_when_its_key_time_and_claims_are_valid() {
    let signers = [Signer::from_ed25519_seed("ed", 1), Signer::generate_ecdsa("ec"), Signer::load_rsa("rsa")];
    let shared = json!({"kty": "oct", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0", "kid": "shared", "alg": "HS256"});
    let mut keys: Vec<Value> = signers.iter().map(Signer::public_jwk).collect();
    // As some issuers publish them: without an algorithm, and beside unsupported kinds of keys.
    keys[2].as_object_mut().unwrap().remove("alg");
    keys.extend([shared, json!({"kty": "EC", "crv": "P-999", "x": "", "y": "", "kid": "odd"}), json!(5)]);
    let issuer = Issuer::start(keys.clone());
    let env = TestEnv::with_pack(&orders_pack());
    let server = serve(&env, &issuer, &[]);
    for signer in &signers {
        assert_eq!(call_with_token(&server, &signer.sign(&claims(json!({})))), (200, String::new()), "{}", signer.id);
    }
    let [ed, ec, rsa] = &signers;
    for good in [json!({"scope": ["read"]}), json!({"aud": ["bot", "other"]}), json!({"scope": "admin"}), json!({"exp": now() - 2})] {
        assert_eq!(call_with_token(&server, &ed.sign(&claims(good.clone()))).0, 200, "{good}");
    }
    for (changes, reason) in [
        (json!({"exp": now() - 60}), "token expired"),
        (json!({"exp": null}), "token lacks one of the claims"),
        (json!({"nbf": now() + 60}), "token is not valid yet"),
        (json!({"aud": "other"}), "wrong audience"),
        (json!({"aud": null}), "token lacks one of the claims"),
        (json!({"iss": "https://evil.example"}), "wrong issuer"),
        (json!({"iss": null}), "token lacks one of the claims"),
        (json!({"sub": null}), "token lacks one of the claims"),
        (json!({"sub": ""}), "token has no subject"),
    ] {
        let (status, message) = call_with_token(&server, &ed.sign(&claims(changes.clone())));
        assert!(status == 401 && message.contains(reason), "{changes}: {status} {message}");
    }
    for (scope, status) in [(json!("converse"), 403), (json!("openid"), 403), (json!(null), 403), (json!(7), 403)] {
        assert_eq!(call_with_token(&server, &rsa.sign(&claims(json!({"scope": scope})))).0, status, "{scope}");
    }
    // Parts of two valid tokens, none signed at all, and signed with public data.
    let (one, two) = (ed.sign(&claims(json!({}))), ed.sign(&claims(json!({"sub": "eve"}))));
    let parts = |token: &str| token.split('.').map(str::to_owned).collect::<Vec<_>>();
    let mixed = format!("{}.{}.{}", parts(&one)[0], parts(&two)[1], parts(&one)[2]);
    assert!(call_with_token(&server, &mixed).1.contains("invalid signature"));
    let body = &parts(&one)[1];
    for header in ["eyJhbGciOiJub25lIn0", "eyJhbGciOiJub25lIiwia2lkIjoiZWQifQ", "eyJhbGciOiJOb05lIiwia2lkIjoiZWQifQ"] {
        for signature in ["", &parts(&one)[2]] {
            assert_eq!(call_with_token(&server, &format!("{header}.{body}.{signature}")).0, 401, "{header}");
        }
    }
    let known = keys[2]["n"].as_str().unwrap().as_bytes();
    for (id, secret) in [("rsa", known), ("ed", keys[0]["x"].as_str().unwrap().as_bytes()), ("shared", &b"secret-secret-secret-secret"[..])]
    {
        let forged = Signer { id, algorithm: Algorithm::HS256, key: EncodingKey::from_secret(secret) };
        assert_eq!(call_with_token(&server, &forged.sign(&claims(json!({})))).0, 401, "{id}");
    }
    // {"alg": "EdDSA", "kid": "ed", "crit": ["exp"]}
    let critical = format!("eyJhbGciOiJFZERTQSIsImtpZCI6ImVkIiwiY3JpdCI6WyJleHAiXX0.{body}.{}", &parts(&one)[2]);
    assert!(call_with_token(&server, &critical).1.contains("unknown critical header"));
    let other_way = Signer { id: "ec", ..Signer::from_ed25519_seed("", 1) };
    assert!(call_with_token(&server, &other_way.sign(&claims(json!({})))).1.contains("algorithm does not match"));
    let other_key = Signer { id: "ed", ..Signer::from_ed25519_seed("", 2) };
    assert!(call_with_token(&server, &other_key.sign(&claims(json!({})))).1.contains("invalid signature"));
    for text in ["x", "a.b.c", "..", &one[..20], &format!("{one}x"), &format!("{one}.x")] {
        assert_eq!(call_with_token(&server, text).0, 401, "{text}");
    }
    assert_eq!(call_with_token(&server, &ec.sign(&claims(json!({})))).0, 200, "valid tokens are still accepted");
    let stored = env.sql().dump().join("\n") + &server.log();
    assert!(!stored.contains(&one), "tokens are not stored");
}

#[test]
fn genuine_tokens_that_are_out_of_date_are_no_guesses() {
    let signer = Signer::from_ed25519_seed("ed", 1);
    let issuer = Issuer::start(vec![signer.public_jwk()]);
    let env = TestEnv::with_pack(&orders_pack());
    let few = ["--set", "convengine.security.guessing.failures=3", "--set", "convengine.security.guessing.window=1h"];
    let server = serve(&env, &issuer, &[&few[..], &["--set", "convengine.http.trusted-proxies=127.0.0.1"]].concat());
    let call = |client: &str, token: &str| {
        let bearer = format!("Bearer {token}");
        server.request("GET", LIST, &[("Authorization", bearer.as_str()), ("X-Forwarded-For", client)], "")
    };
    let signed = |changes: Value| signer.sign(&claims(changes));
    let (expired, early) = (signed(json!({"exp": now() - 60})), signed(json!({"nbf": now() + 60})));
    for _ in 0..5 {
        for (token, reason) in [(&expired, "token expired"), (&early, "token is not valid yet")] {
            let answer = call("192.0.2.1", token);
            assert!(answer.status == 401 && answer.text.contains(reason), "{answer:?}");
            assert!(answer.header("www-authenticate").contains("error=\"invalid_token\""), "clients sign in again: {answer:?}");
        }
    }
    let [head, body, _] = expired.split('.').collect::<Vec<_>>()[..] else { panic!("{expired}") };
    let other = Signer { id: "ed", ..Signer::from_ed25519_seed("", 2) };
    for (client, wrong) in [
        ("192.0.2.1", format!("{head}.{body}.{}", "A".repeat(86))),
        ("192.0.2.2", other.sign(&claims(json!({"exp": now() - 60})))),
        ("192.0.2.3", signed(json!({"exp": now() - 60, "aud": "other"}))),
        ("192.0.2.4", signed(json!({"exp": now() - 60, "iss": "https://evil.example"}))),
        ("192.0.2.5", signed(json!({"aud": "other"}))),
    ] {
        let statuses: Vec<u16> = (0..4).map(|_| call(client, &wrong).status).collect();
        assert_eq!(statuses, [401, 401, 401, 429], "{client}");
        assert_eq!([call(client, &expired).status, call(client, &signed(json!({}))).status], [401, 200], "{client}");
    }
}

#[test]
fn without_leeway_a_token_expires_on_time() {
    let signer = Signer::from_ed25519_seed("ed", 1);
    let issuer = Issuer::start(vec![signer.public_jwk()]);
    let env = TestEnv::with_pack(&orders_pack());
    let server = serve(&env, &issuer, &["--set", "convengine.security.jwt.leeway=0s"]);
    let status = |changes: Value| call_with_token(&server, &signer.sign(&claims(changes))).0;
    assert_eq!([status(json!({})), status(json!({"exp": now() - 2})), status(json!({"nbf": now() + 60}))], [200, 401, 401]);
}

#[test]
fn keys_are_refetched_for_an_unknown_key_but_not_too_often() {
    let (first, second, third) = (Signer::from_ed25519_seed("1", 1), Signer::from_ed25519_seed("2", 2), Signer::from_ed25519_seed("3", 3));
    let issuer = Issuer::start(vec![first.public_jwk()]);
    let env = TestEnv::with_pack(&orders_pack());
    let server = serve(&env, &issuer, &[]);
    assert_eq!(issuer.fetches(), 1, "at the start");
    assert_eq!(call_with_token(&server, &first.sign(&claims(json!({})))).0, 200);
    issuer.set_keys(Some(vec![second.public_jwk()]));
    assert_eq!((call_with_token(&server, &second.sign(&claims(json!({})))).0, issuer.fetches()), (200, 2), "the issuer has a new key");
    assert_eq!(call_with_token(&server, &first.sign(&claims(json!({})))).0, 401, "the old key is no longer accepted");
    for _ in 0..5 {
        let (status, reason) = call_with_token(&server, &third.sign(&claims(json!({}))));
        assert!(status == 401 && reason.contains("unknown signing key"), "{status} {reason}");
    }
    assert_eq!(issuer.fetches(), 2, "unknown key ids do not cause repeated fetches");
    drop(server);
    // An unavailable issuer does not invalidate the keys that were fetched before.
    let server = serve(&env, &issuer, &[]);
    issuer.set_keys(None);
    let (status, reason) = call_with_token(&server, &third.sign(&claims(json!({}))));
    assert!(status == 503 && reason.contains("cannot fetch the token signing keys"), "{status} {reason}");
    assert_eq!((call_with_token(&server, &second.sign(&claims(json!({})))).0, issuer.fetches()), (200, 4));
    drop(server);
    let server = serve(&env, &issuer, &[]);
    assert_eq!(call_with_token(&server, &second.sign(&claims(json!({})))).0, 503, "no keys were fetched yet");
    assert!(server.log().contains("cannot fetch the token signing keys"), "{}", server.log());
}

#[test]
fn a_stream_ends_when_its_token_expires() {
    let signer = Signer::from_ed25519_seed("1", 1);
    let issuer = Issuer::start(vec![signer.public_jwk()]);
    let env = TestEnv::with_pack(&orders_pack());
    let server = serve(&env, &issuer, &[]);
    let token = signer.sign(&claims(json!({"exp": now() + 2})));
    let path = format!("/api/v1/conversation/stream/{ID}?access_token={token}");
    let (mut listener, _) = Listener::open_path(&server, &path, None);
    assert!(listener.next().is_none(), "the stream ends");
    assert!(wait_until(|| call_with_token(&server, &token).0 == 401), "as the token does");
}

#[test]
fn keys_are_fetched_again_by_age_and_refused_when_too_old() {
    let (first, second) = (Signer::from_ed25519_seed("1", 1), Signer::from_ed25519_seed("2", 2));
    let issuer = Issuer::start(vec![first.public_jwk()]);
    let env = TestEnv::with_pack(&orders_pack());
    let often = ["--set", "convengine.security.jwt.refresh=100ms", "--set", "convengine.security.jwt.max-age=2s"];
    let server = serve(&env, &issuer, &often);
    let status = |signer: &Signer| call_with_token(&server, &signer.sign(&claims(json!({})))).0;
    assert_eq!(status(&first), 200);
    issuer.set_keys(Some(vec![second.public_jwk()]));
    assert!(wait_until(|| status(&first) == 401), "a withdrawn key is noticed though no token names another one");
    assert_eq!(status(&second), 200);
    issuer.set_keys(None);
    assert!(wait_until(|| status(&second) == 503), "keys that are too old are not used");
    issuer.set_keys(Some(vec![second.public_jwk()]));
    assert!(wait_until(|| status(&second) == 200));
    drop(server);
    let wrong = ["--set", "convengine.security.jwt.refresh=1h", "--set", "convengine.security.jwt.max-age=1m"];
    let set = ["--set", "convengine.security.jwt.jwks-url=https://id.example/keys", "--set", "convengine.security.jwt.audience=bot"];
    let from = ["--set", "convengine.security.jwt.issuer=https://id.example"];
    assert_one_line(&env.run(&[&SERVE[..], &set, &from, &wrong].concat()), 2, &["security.jwt.max-age", "longer"]);
}

#[test]
fn keys_may_be_in_a_file_which_must_be_valid() {
    let env = TestEnv::with_pack(&orders_pack());
    let signer = Signer::generate_ecdsa("a");
    let file = env.write("keys.json", &json!({"keys": [signer.public_jwk()]}).to_string());
    let with = |file: &str| {
        let file = format!("convengine.security.jwt.jwks-file={file}");
        let required = ["--set", "convengine.security.jwt.audience=bot", "--set", "convengine.security.jwt.issuer=https://id.example"];
        [&["--set", "convengine.security.mode=jwt", "--set", &file][..], &required]
            .concat()
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let arguments = with(&file);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let server = env.serve(&arguments);
    assert_eq!(call_with_token(&server, &signer.sign(&claims(json!({})))).0, 200);
    assert!(call_with_token(&server, &signer.sign(&claims(json!({"iss": "anybody"})))).1.contains("wrong issuer"));
    let key = crate::access::key(&env, &["--scope", "admin"]);
    assert!(call_with_token(&server, &key).1.contains("kind of credential is not accepted"), "keys are rejected with mode=jwt");
    drop(server);
    for (text, words) in
        [("{}", "'keys' is not a list"), ("x", "invalid JSON"), (r#"{"keys": [{"kty": "oct", "k": "eA"}]}"#, "no RS, PS, ES or EdDSA")]
    {
        let file = env.write("bad.json", text);
        let arguments = with(&file);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        assert_one_line(&env.run(&[&SERVE[..], &arguments].concat()), 2, &["jwks-file", words]);
    }
}

#[test]
fn keys_of_an_issuer_need_its_name_and_the_audience_in_every_mode() {
    let env = TestEnv::with_tables();
    for mode in ["jwt", "keys,jwt", "keys", "none"] {
        let mode = format!("convengine.security.mode={mode}");
        for (set, words) in [
            (&[][..], &["convengine.security.jwt.issuer", "convengine.security.jwt.audience", "missing"][..]),
            (&["convengine.security.jwt.audience=bot"], &["convengine.security.jwt.issuer: missing"]),
            (&["convengine.security.jwt.issuer=https://id.example"], &["convengine.security.jwt.audience: missing"]),
            (&["convengine.security.jwt.audience=bot", "convengine.security.jwt.issuer="], &["convengine.security.jwt.issuer: missing"]),
        ] {
            let all = [&[mode.as_str(), "convengine.security.jwt.jwks-url=https://id.example/keys"][..], set].concat();
            let arguments: Vec<&str> = all.into_iter().flat_map(|it| ["--set", it]).collect();
            assert_one_line(&env.run(&[&SERVE[..], &arguments].concat()), 2, words);
        }
    }
}
