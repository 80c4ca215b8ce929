//! Secrets, headers and keys.

use std::sync::atomic::Ordering;

use axum::Router;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use convengine_core::turn::{EffectClass, EffectErrorKind, HttpRequest, SecretHeader};
use convengine_host_base::trace_ids;
use convengine_settings::secrets::Secrets;
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, HeaderValue, LOCATION};
use serde_json::{Value, json};

use super::{
    SECRET, ScriptedResolver, auth, echo, execute_echo, execute_request, get, http_client, http_client_with_resolver, post, serve,
    serve_counted,
};
use crate::http::prepared_request::PreparedRequest;

#[tokio::test]
async fn a_secret_is_sent_in_its_header_and_scrubbed_from_the_response() {
    let handler = |headers: HeaderMap| async move {
        assert_eq!(
            headers.get_all("authorization").iter().map(|value| value.to_str().unwrap()).collect::<Vec<_>>(),
            [format!("Bearer {SECRET}")]
        );
        let json = json!({"you sent": SECRET}).to_string();
        format!("{SECRET} {json} {} {}", STANDARD.encode(SECRET), json!(json))
    };
    let port = serve(Router::new().fallback(handler)).await;
    let mut request = get(format!("http://127.0.0.1:{port}/"));
    request.headers = vec![("authorization".into(), "mine".into()), ("Authorization".into(), "mine too".into())];
    request.auth = auth("crm");
    let reply = execute_request(&http_client("127.0.0.1"), &request).await.expect("an answer");
    assert!(reply.body.starts_with(r#"[secret:crm] {"you sent":"[secret:crm]"} [secret:crm] "#), "{}", reply.body);
}

#[tokio::test]
async fn no_secret_is_in_an_error() {
    let mut http = http_client_with_resolver("", &ScriptedResolver::new(&[&[]]));
    let mut secrets = Secrets::default();
    secrets.add("tenant", "acme4711");
    http.secrets = secrets.into();
    let error = execute_request(&http, &get("http://acme4711.test/?key=acme4711")).await.expect_err("unknown");
    assert_eq!(error.message, "'[secret:tenant].test' cannot be called: unknown name '[secret:tenant].test'");
}

#[tokio::test]
async fn a_secret_that_is_not_set_is_named() {
    let (port, count) = serve_counted("in").await;
    let request = HttpRequest { auth: auth("erp"), ..get(format!("http://127.0.0.1:{port}/")) };
    let error = execute_request(&http_client("127.0.0.1"), &request).await.expect_err("unknown");
    assert_eq!(error.kind, EffectErrorKind::Denied);
    assert_eq!(error.message, "the secret 'erp' is not known: set convengine.secrets.erp");
    assert_eq!(count.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn headers_cannot_inject_requests() {
    let (port, count) = serve_counted("in").await;
    let http = http_client("127.0.0.1");
    let request = || get(format!("http://127.0.0.1:{port}/"));
    for (name, value) in [
        ("X-City", "Rome\r\nX-Admin: yes"),
        ("X-City", "Rome\n"),
        ("X-City", "Ro\0me"),
        ("X-City", "Ro\u{7f}me"),
        ("X-City\r\nX-Admin", "yes"),
        ("X City", "Rome"),
        ("X-City:", "Rome"),
        ("", "Rome"),
        ("Stadt-Ä", "Rome"),
        ("Content-Length", "3"),
        ("transfer-encoding", "chunked"),
        ("Connection", "X-City"),
        ("Host", "elsewhere.test"),
        ("Upgrade", "h2c"),
        ("Proxy-Authorization", "x"),
    ] {
        let error = execute_request(&http, &HttpRequest { headers: vec![(name.into(), value.into())], ..request() }).await.expect_err(name);
        assert_eq!(error.kind, EffectErrorKind::Invalid, "{name:?}");
        assert!(!error.message.contains(char::is_control) && !error.message.contains("Rome"), "{}", error.message);
    }
    let folded = execute_request(&http, &HttpRequest { auth: auth("folded"), ..request() }).await.expect_err("a secret with two lines");
    assert_eq!(folded.message, "the value of the header 'Authorization' has control characters in it");
    let header = SecretHeader::new("a\nb", "", "crm");
    for invalid in [
        HttpRequest { auth: Some(header), ..request() },
        HttpRequest { key: Some("a\r\nb".into()), class: EffectClass::Write, ..request() },
        HttpRequest { method: "GET / HTTP/1.1\r\n".into(), ..request() },
        HttpRequest { method: "CONNECT".into(), ..request() },
        HttpRequest { url: "127.0.0.1/?key=abc".into(), ..request() },
    ] {
        let error = execute_request(&http, &invalid).await.expect_err("an invalid request");
        assert_eq!(error.kind, EffectErrorKind::Invalid, "{}", error.message);
        assert!(!error.message.contains(char::is_control) && !error.message.contains("abc"), "{}", error.message);
    }
    assert_eq!(count.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn what_the_core_rendered_is_sent() {
    let port = serve(echo()).await;
    let mut request = post(format!("http://127.0.0.1:{port}/echo"));
    request.headers = vec![("Content-Type".into(), "application/json".into()), ("X-City".into(), "Rome\t1".into())];
    request.body = Some(r#"{"city":"Rome"}"#.into());
    let received = execute_echo(&http_client("127.0.0.1"), &request).await;
    assert_eq!((&received["method"], &received["body"]), (&json!("POST"), &json!(r#"{"city":"Rome"}"#)));
    assert_eq!((&received["headers"]["content-type"], &received["headers"]["x-city"]), (&json!("application/json"), &json!("Rome\t1")));
}

#[tokio::test]
async fn a_write_has_the_key_of_its_first_attempt() {
    let port = serve(echo()).await;
    let http = http_client("127.0.0.1");
    let first = post(format!("http://127.0.0.1:{port}/echo"));
    let again = HttpRequest { key: Some("turn/3".into()), ..first.clone() };
    let own = HttpRequest { headers: vec![("idempotency-key".into(), "order-9".into())], ..again.clone() };
    for (request, key) in [
        (first.clone(), json!("turn/7")),
        (again.clone(), json!("turn/3")),
        (again.clone(), json!("turn/3")),
        (HttpRequest { class: EffectClass::Irreversible, ..first.clone() }, json!("turn/7")),
        (HttpRequest { class: EffectClass::Read, ..again }, Value::Null),
        (own, json!("order-9")),
    ] {
        assert_eq!(execute_echo(&http, &request).await["headers"]["idempotency-key"], key, "{request:?}");
    }
}

#[tokio::test]
async fn the_traceparent_is_not_sent_to_another_origin() {
    let mut call = PreparedRequest::from_request(&get("http://one.example/a"), "turn/7", &Secrets::default()).expect("a call");
    call.set_traceparent("turn/7");
    assert_eq!(call.headers["traceparent"], trace_ids::traceparent("turn/7").as_str());
    let away = HeaderMap::from_iter([(LOCATION, HeaderValue::from_static("http://two.example/"))]);
    let next = call.follow_redirect(StatusCode::FOUND, &away).expect("an address").expect("a redirect");
    assert!(!next.headers.contains_key("traceparent"));
    let own = HttpRequest { headers: vec![("traceparent".into(), "the author's".into())], ..get("http://one.example/a") };
    let mut call = PreparedRequest::from_request(&own, "turn/7", &Secrets::default()).expect("a call");
    call.set_traceparent("turn/7");
    assert_eq!(call.headers.get_all("traceparent").iter().collect::<Vec<_>>(), ["the author's"]);
}
