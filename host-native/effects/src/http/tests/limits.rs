//! Time and size limits of responses.

use axum::Router;
use axum::http::StatusCode;
use convengine_core::turn::{EffectErrorKind, HttpReply, HttpRequest};
use serde_json::Value;

use super::{ScriptedResolver, echo, execute_echo, execute_request, get, http_client, http_client_with_resolver, serve, serve_raw};

fn request_with_short_timeout(port: u16) -> HttpRequest {
    HttpRequest { timeout_ms: 200, ..get(format!("http://127.0.0.1:{port}/?key=abc")) }
}

#[tokio::test]
async fn slow_phases_are_named() {
    let http = http_client("127.0.0.1");
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n";
    for (bytes, message) in [
        ("", "'127.0.0.1' did not answer within 200 ms"),
        ("HTTP/1.1 200 OK\r\nContent-Le", "'127.0.0.1' did not answer within 200 ms"),
        (head, "the body of the answer of '127.0.0.1' did not end within 200 ms"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx", "the body of the answer of '127.0.0.1' did not end within 200 ms"),
    ] {
        let error = execute_request(&http, &request_with_short_timeout(serve_raw(bytes, false).await)).await.expect_err("slow");
        assert_eq!((error.kind, error.message.as_str()), (EffectErrorKind::Timeout, message), "{bytes:?}");
        assert!(error.may_have_acted(), "{bytes:?}");
    }
}

#[tokio::test]
async fn a_slow_connection_is_named_whichever_limit_is_lower() {
    let http = http_client_with_resolver("", &ScriptedResolver::new(&[]));
    for (connect_timeout_ms, timeout_ms) in [(200, 10_000), (10_000, 200)] {
        let error = execute_request(&http, &HttpRequest { connect_timeout_ms, timeout_ms, ..get("http://slow.test/?key=abc") })
            .await
            .expect_err("slow");
        assert_eq!((error.kind, error.message.as_str()), (EffectErrorKind::Timeout, "no connection to 'slow.test' within 200 ms"));
        assert!(!error.may_have_acted());
    }
}

#[tokio::test]
async fn what_cannot_be_reached_or_breaks_off_is_unavailable() {
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let (http, unknown) = (http_client("127.0.0.1"), http_client_with_resolver("", &ScriptedResolver::new(&[&[]])));
    let half = serve_raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx", true).await;
    for (http, url, message, is_sent) in [
        (&http, format!("http://127.0.0.1:{closed}/?key=abc"), "'127.0.0.1' cannot be called: Connection refused", false),
        (&http, format!("http://127.0.0.1:{}/?key=abc", serve_raw("", true).await), "'127.0.0.1' cannot be called: ", true),
        (
            &http,
            format!("http://127.0.0.1:{}/?key=abc", serve_raw("SSH-2.0-x\r\n\r\n", true).await),
            "'127.0.0.1' cannot be called: ",
            true,
        ),
        (
            &http,
            format!("https://127.0.0.1:{}/?key=abc", serve_raw("HTTP/1.1 400 Bad\r\n\r\n", true).await),
            "'127.0.0.1' cannot be called: ",
            false,
        ),
        (&http, format!("http://127.0.0.1:{half}/?key=abc"), "the answer of '127.0.0.1' broke off: ", true),
        (&unknown, "http://who.test/?key=abc".to_owned(), "'who.test' cannot be called: unknown name 'who.test'", false),
    ] {
        let error = execute_request(http, &get(&url)).await.expect_err(&url);
        assert_eq!(error.kind, EffectErrorKind::Unavailable, "{}", error.message);
        assert!(error.message.starts_with(message) && !error.message.contains("abc"), "{url}: {}", error.message);
        assert_eq!(error.may_have_acted(), is_sent, "{url}: {}", error.message);
    }
}

#[tokio::test]
async fn a_body_may_be_as_long_as_the_limit() {
    let http = http_client("127.0.0.1");
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n1\r\ne\r\n0\r\n\r\n";
    let until_closed = "HTTP/1.1 200 OK\r\n\r\nabcde";
    // Refused by its announced length alone.
    let announced = "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nabcde";
    for (bytes, limit, fits) in [
        (chunked, 5, true),
        (chunked, 4, false),
        (until_closed, 5, true),
        (until_closed, 4, false),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde", 5, true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde", 4, false),
        (announced, 5, false),
    ] {
        let port = serve_raw(bytes, true).await;
        match execute_request(&http, &HttpRequest { max_bytes: limit, ..get(format!("http://127.0.0.1:{port}/")) }).await {
            Ok(reply) => assert!(fits && reply.body == "abcde", "{bytes} {limit}"),
            Err(error) => {
                assert!(!fits, "{}", error.message);
                let failure = (error.kind, error.status, error.message);
                assert_eq!(failure, (EffectErrorKind::Invalid, Some(200), format!("the answer has more than {limit} bytes")));
            }
        }
    }
}

#[tokio::test]
async fn a_response_is_returned_unchanged() {
    let http = http_client("127.0.0.1");
    let port = serve(echo()).await;
    let received = execute_echo(&http, &get(format!("http://127.0.0.1:{port}/echo"))).await;
    assert_eq!(received["headers"]["accept-encoding"], Value::Null, "no compression is requested");
    let port = serve(Router::new().fallback(|| async { (StatusCode::NOT_FOUND, [("retry-after", "7")], vec![b'a', 0xff, b'z']) })).await;
    let reply = execute_request(&http, &get(format!("http://127.0.0.1:{port}/"))).await.expect("an answer");
    assert_eq!(reply, HttpReply { status: 404, body: "a\u{fffd}z".into(), retry_after_ms: Some(7000), broken_json: false });
    let head = HttpRequest { method: "HEAD".into(), max_bytes: 0, ..get(format!("http://127.0.0.1:{port}/")) };
    assert_eq!(execute_request(&http, &head).await.expect("an answer").body, "");
}
