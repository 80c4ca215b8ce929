//! Redirects.

use std::sync::atomic::Ordering;

use axum::Router;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::routing::any;
use convengine_core::turn::EffectErrorKind;
use reqwest::header::{HeaderMap, HeaderValue, LOCATION};
use serde_json::{Value, json};

use super::super::prepared_request::PreparedRequest;
use super::{SECRET, auth, echo, execute_echo, execute_request, get, http_client, post, serve, serve_counted};

/// Redirects `/leads` to a location.
fn redirect_to(status: u16, to: &str) -> Router {
    let answer = (StatusCode::from_u16(status).unwrap(), [("location", to.to_owned())], "moved");
    Router::new().route("/leads", any(move || async move { answer }))
}

#[tokio::test]
async fn a_redirect_to_a_private_target_is_refused() {
    let (inside, count) = serve_counted("in").await;
    for place in [format!("http://127.0.0.1:{inside}/"), format!("http://localhost:{inside}/"), format!("//2130706433:{inside}/")] {
        let port = serve(redirect_to(302, &place)).await;
        let error = execute_request(&http_client(&format!("127.0.0.1:{port}")), &get(format!("http://127.0.0.1:{port}/leads")))
            .await
            .expect_err(&place);
        assert_eq!(error.kind, EffectErrorKind::Denied, "{}", error.message);
    }
    for place in ["file:///etc/passwd", "http://me:pw@127.0.0.1/"] {
        let port = serve(redirect_to(301, place)).await;
        let error = execute_request(&http_client("127.0.0.1"), &get(format!("http://127.0.0.1:{port}/leads"))).await.expect_err(place);
        assert_eq!(error.kind, EffectErrorKind::Denied, "{}", error.message);
    }
    assert_eq!(count.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn three_redirects_are_followed_and_no_more() {
    let hop = |Path(left): Path<u32>| async move {
        match left {
            0 => (StatusCode::OK, [("location", String::new())], "there"),
            left => (StatusCode::FOUND, [("location", format!("{}", left - 1))], "on"),
        }
    };
    let port = serve(Router::new().route("/hop/{left}", any(hop))).await;
    let http = http_client("127.0.0.1");
    assert_eq!(execute_request(&http, &get(format!("http://127.0.0.1:{port}/hop/3"))).await.expect("three").body, "there");
    let error = execute_request(&http, &get(format!("http://127.0.0.1:{port}/hop/4"))).await.expect_err("four");
    assert_eq!((error.kind, error.message.as_str()), (EffectErrorKind::Invalid, "the answer redirects more than 3 times"));
}

#[tokio::test]
async fn headers_are_not_sent_to_another_origin() {
    let other = serve(echo()).await;
    let back = serve(redirect_to(307, &format!("http://127.0.0.1:{other}/echo"))).await;
    let same = serve(echo().merge(redirect_to(302, "/echo"))).await;
    let http = http_client("127.0.0.1");
    let request = |port: u16| {
        let mut request = get(format!("http://127.0.0.1:{port}/leads"));
        request.auth = auth("crm");
        request.headers = vec![("X-Api-Key".into(), "mine".into()), ("Accept".into(), "text/plain".into())];
        request
    };
    let received = execute_echo(&http, &request(same)).await;
    assert_eq!((&received["headers"]["authorization"], &received["headers"]["x-api-key"]), (&json!("Bearer [secret:crm]"), &json!("mine")));
    let received = execute_echo(&http, &request(back)).await;
    assert_eq!((&received["headers"]["authorization"], &received["headers"]["x-api-key"]), (&Value::Null, &Value::Null));
    assert_eq!(received["headers"]["accept"], "text/plain");
}

#[tokio::test]
async fn removed_headers_stay_removed() {
    let first = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let home = first.local_addr().unwrap().port();
    let other = serve(redirect_to(302, &format!("http://127.0.0.1:{home}/echo"))).await;
    tokio::spawn(axum::serve(first, echo().merge(redirect_to(302, &format!("http://127.0.0.1:{other}/leads")))).into_future());
    let mut request = get(format!("http://127.0.0.1:{home}/leads"));
    request.auth = auth("crm");
    assert_eq!(execute_echo(&http_client("127.0.0.1"), &request).await["headers"]["authorization"], Value::Null);
}

#[tokio::test]
async fn a_write_is_not_redirected() {
    let http = http_client("127.0.0.1");
    for status in [301, 302, 307, 308] {
        let port = serve(echo().merge(redirect_to(status, "/echo"))).await;
        let reply = execute_request(&http, &post(format!("http://127.0.0.1:{port}/leads"))).await.expect("an answer");
        assert_eq!((reply.status, reply.body.as_str()), (status, "moved"));
    }
    let port = serve(echo().merge(redirect_to(303, "/echo"))).await;
    let mut request = post(format!("http://127.0.0.1:{port}/leads"));
    request.headers.push(("Content-Type".into(), "application/json".into()));
    let received = execute_echo(&http, &request).await;
    assert_eq!((&received["method"], &received["body"]), (&json!("GET"), &json!("")));
    assert_eq!((&received["headers"]["content-type"], &received["headers"]["idempotency-key"]), (&Value::Null, &Value::Null));
}

#[tokio::test]
async fn a_write_whose_redirect_cannot_be_followed_may_have_happened() {
    let http = http_client("127.0.0.1");
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let port = serve(redirect_to(303, &format!("http://127.0.0.1:{closed}/"))).await;
    let error = execute_request(&http, &post(format!("http://127.0.0.1:{port}/leads"))).await.expect_err("nobody there");
    assert!(error.kind == EffectErrorKind::Unavailable && error.may_have_acted(), "{error:?}");
    // The next address is not allowed.
    let port = serve(redirect_to(303, "http://10.0.0.1/")).await;
    let error = execute_request(&http, &post(format!("http://127.0.0.1:{port}/leads"))).await.expect_err("refused");
    assert!(error.kind == EffectErrorKind::Invalid && error.may_have_acted(), "{error:?}");
}

#[tokio::test]
async fn a_redirect_without_a_location_is_a_response_and_an_invalid_one_an_error() {
    let http = http_client("127.0.0.1");
    let port = serve(Router::new().fallback(|| async { (StatusCode::NOT_MODIFIED, [("x", "y")]) })).await;
    assert_eq!(execute_request(&http, &get(format!("http://127.0.0.1:{port}/"))).await.expect("an answer").status, 304);
    let port = serve(redirect_to(302, "http://:0:/")).await;
    let error = execute_request(&http, &get(format!("http://127.0.0.1:{port}/leads"))).await.expect_err("nowhere");
    assert_eq!(error.kind, EffectErrorKind::Invalid);
}

#[test]
fn a_redirect_stays_encrypted() {
    let mut request = get("https://crm.test/a");
    request.auth = auth("crm");
    let secrets = http_client("").secrets;
    let call = PreparedRequest::from_request(&request, "turn/7", &secrets).expect("a call");
    let to = |place: &str| {
        let headers = HeaderMap::from_iter([(LOCATION, HeaderValue::from_str(place).unwrap())]);
        call.follow_redirect(StatusCode::FOUND, &headers)
    };
    assert_eq!(to("http://crm.test/a").expect_err("open").kind, EffectErrorKind::Denied);
    for (place, kept) in
        [("/b", true), ("https://crm.test:443/b", true), ("https://crm.test:444/b", false), ("https://www.crm.test/b", false)]
    {
        let next = to(place).expect("allowed").expect("a redirect");
        let has_secret = next.headers.get("authorization").is_some_and(|value| value.to_str().is_ok_and(|text| text.ends_with(SECRET)));
        assert_eq!(has_secret, kept, "{place}");
    }
}
