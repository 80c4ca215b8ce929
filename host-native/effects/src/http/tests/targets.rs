//! Private targets.

use std::sync::atomic::Ordering;

use convengine_core::turn::EffectErrorKind;
use tokio::net::TcpListener;

use super::{ScriptedResolver, execute_request, get, http_client, http_client_with_resolver, serve_counted};

#[tokio::test]
async fn a_private_address_is_never_called_in_any_notation() {
    let (port, count) = serve_counted("in").await;
    let http = http_client("");
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "0x7f.1",
        "0.0.0.0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "localhost",
        "LOCALHOST.",
        "127.0.0.1.",
        "①27.0.0.1",
        "app.localhost",
    ] {
        let error = execute_request(&http, &get(format!("http://{host}:{port}/?token=abc"))).await.expect_err(host);
        assert_eq!(error.kind, EffectErrorKind::Denied, "{host}: {}", error.message);
        assert!(error.message.contains("convengine.network.allow-private") && !error.message.contains("abc"), "{}", error.message);
    }
    assert_eq!(count.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn what_is_listed_is_called() {
    let (port, _) = serve_counted("in").await;
    for (allowed, host) in [
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.0/8", "2130706433"),
        ("localhost", "localhost"),
        ("127.0.0.0/8, ::1", "localhost"),
        (&format!("127.0.0.1:{port}"), "127.0.0.1"),
        ("crm.test", "crm.test"),
        (&format!("crm.test:{port}"), "CRM.test"),
        ("127.0.0.1", "crm.test"),
    ] {
        let http = if host.contains("test") {
            http_client_with_resolver(allowed, &ScriptedResolver::new(&[&["127.0.0.1"]]))
        } else {
            http_client(allowed)
        };
        let reply = execute_request(&http, &get(format!("http://{host}:{port}/"))).await.expect(allowed);
        assert_eq!((reply.status, reply.body.as_str()), (200, "in"), "{allowed} {host}");
    }
}

#[tokio::test]
async fn a_port_that_is_not_listed_stays_closed() {
    let (open, _) = serve_counted("in").await;
    let (closed, count) = serve_counted("in").await;
    for (allowed, host) in [(format!("127.0.0.1:{open}"), "127.0.0.1"), (format!("crm.test:{open}"), "crm.test")] {
        let http = http_client_with_resolver(&allowed, &ScriptedResolver::new(&[&["127.0.0.1"]]));
        execute_request(&http, &get(format!("http://{host}:{open}/"))).await.expect("listed");
        let error = execute_request(&http, &get(format!("http://{host}:{closed}/"))).await.expect_err("not listed");
        assert_eq!(error.kind, EffectErrorKind::Denied);
    }
    assert_eq!(count.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_name_with_a_private_address_is_refused_as_a_whole() {
    let (port, count) = serve_counted("in").await;
    for addresses in [&["127.0.0.1"][..], &["8.8.8.8", "127.0.0.1"], &["169.254.169.254"], &["::ffff:127.0.0.1"], &["fd00::1", "2600::1"]] {
        let names = ScriptedResolver::new(&[addresses]);
        let error = execute_request(&http_client_with_resolver("", &names), &get(format!("http://inside.test:{port}/")))
            .await
            .expect_err("private");
        assert_eq!(error.kind, EffectErrorKind::Denied, "{addresses:?}: {}", error.message);
        assert!(error.message.contains("'inside.test'") && !error.message.contains(addresses[0]), "{}", error.message);
    }
    assert_eq!(count.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn dns_rebinding_never_reaches_a_private_address() {
    // The first address plays a public one: it is listed, the second one is not.
    let outside = TcpListener::bind("127.0.0.2:0").await.unwrap();
    let port = outside.local_addr().unwrap().port();
    let inside = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
    let close = |text: &'static str| axum::Router::new().fallback(move || async move { ([("connection", "close")], text) });
    tokio::spawn(axum::serve(outside, close("outside")).into_future());
    let names = ScriptedResolver::new(&[&["127.0.0.2"], &["127.0.0.1"]]);
    let http = http_client_with_resolver("127.0.0.2", &names);
    let request = get(format!("http://rebinding.test:{port}/"));
    assert_eq!(execute_request(&http, &request).await.expect("outside").body, "outside");
    assert_eq!(names.lookups.load(Ordering::Relaxed), 1, "the lookup that is checked is the one that is used");
    assert_eq!(execute_request(&http, &request).await.expect_err("inside").kind, EffectErrorKind::Denied);
    assert_eq!(names.lookups.load(Ordering::Relaxed), 2);
    inside.into_std().unwrap().accept().expect_err("no connection was made");
}
