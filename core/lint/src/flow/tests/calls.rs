use serde_json::json;

use super::bases::{with_changes, with_node, with_request};
use super::{Case, assert_cases};

/// Services, tools and calls of graphs.
pub(super) fn cases() -> Vec<Case> {
    let url = |url: &str| with_request(json!({"method": "GET", "url": url}));
    let url_path = "/graphs/3/nodes/1/data/request/url";
    let call = |graph: &str| with_node("subflow", "out", json!({"graph": graph}));
    let output = |path: &str| json!({"path": path, "variable": "unread"});
    vec![
        (vec![("/graphs/1/nodes/2/data/tool_id", json!("none"))], "V001", "/graphs/1/nodes/2/data/tool_id"),
        (vec![("/graphs/1/nodes/2/data/tool_id", json!("-"))], "V002", "/graphs/1/nodes/2/data"),
        (vec![("/graphs/1/nodes/2/data/request", json!({"method": "GET", "url": "https://x.org"}))], "V002", "/graphs/1/nodes/2/data"),
        (vec![("/tools/0/request", json!("-"))], "V002", "/graphs/1/nodes/2/data/tool_id"),
        (url("ftp://a.example.org"), "V003", url_path),
        (url("http://127.0.0.1:8080/x"), "V003", url_path),
        (url("http://user:password@a.example.org"), "V003", url_path),
        (url("${STUB}/x"), "V003", url_path),
        (vec![("/tools/0/request/url", json!("http://printer.local/{{ args.size }}"))], "V003", "/tools/0/request/url"),
        (vec![("/settings/handoff_webhook_url", json!("http://10.0.0.1"))], "V003", "/settings/handoff_webhook_url"),
        (vec![("/tools/0/outputs/0/path", json!("$.["))], "V004", "/tools/0/outputs/0/path"),
        (vec![("/graphs/2/nodes/0/data/init", json!({"_error": 1}))], "V005", "/graphs/2/nodes/0/data/init/_error"),
        (vec![("/tools/0/outputs/0/variable", json!("session.price"))], "V005", "/tools/0/outputs/0/variable"),
        (vec![("/graphs/1/nodes/1/data/variable", json!("session.order.size"))], "V005", "/graphs/1/nodes/1/data/variable"),
        (vec![("/graphs/1/nodes/5/data/assign/0/variable", json!("session.total"))], "V005", "/graphs/1/nodes/5/data/assign/0/variable"),
        (vec![("/graphs/1/nodes/6/data/outputs/done", json!("session.sent"))], "V005", "/graphs/1/nodes/6/data/outputs/done"),
        (vec![("/graphs/1/nodes/6/data/inputs/_error", json!(1))], "V005", "/graphs/1/nodes/6/data/inputs/_error"),
        (vec![("/tools/0/timeout_ms", json!(60_001))], "V006", "/tools/0/timeout_ms"),
        (vec![("/graphs/2/nodes/1/data/idempotency_key", json!("-"))], "V007", "/graphs/2/nodes/1/data/retry"),
        (vec![("/graphs/2/edges/2", json!("-")), ("/graphs/1/nodes/8/data/match", json!("no_edge"))], "V008", "/graphs/2/nodes/1"),
        (vec![("/graphs/1/nodes/2/data/args", json!({}))], "V009", "/graphs/1/nodes/2/data/args"),
        (vec![("/graphs/1/nodes/2/data/args", json!("-"))], "V009", "/graphs/1/nodes/2/data"),
        (vec![("/graphs/1/nodes/2/data/args/count", json!(0))], "V009", "/graphs/1/nodes/2/data/args/count"),
        (vec![("/graphs/1/nodes/2/data/args/more", json!("{{ x }}"))], "V009", "/graphs/1/nodes/2/data/args/more"),
        (vec![("/tools/1/signing_secret", json!("NONE"))], "V010", "/tools/1/signing_secret"),
        (vec![("/tools/0/request/query", json!({"key": "{{ secret.SHOP_KEY }}"}))], "V011", "/tools/0/request/query/key"),
        (vec![("/tools/0/outputs/-", output("$.x"))], "V012", "/tools/0/outputs/1/variable"),
        (vec![("/graphs/1/nodes/2/data/outputs", json!([output("$.x")]))], "V012", "/graphs/1/nodes/2/data/outputs/0/variable"),
        (vec![("/tools/0/kind", json!("noop"))], "V013", "/tools/0/kind"),
        (vec![("/tools/0/kind", json!("mcp"))], "V014", "/tools/0/kind"),
        (vec![("/tools/0/kind", json!("mcp")), ("/tools/0/server", json!("oms"))], "V015", "/tools/0/kind"),
        (
            vec![
                ("/tools/0/kind", json!("mcp")),
                ("/tools/0/server", json!("oms")),
                ("/tools/0/remote_name", json!("cancel")),
                ("/tools/0/effect_class", json!("read")),
            ],
            "V016",
            "/tools/0/effect_class",
        ),
        (
            vec![("/tools/0/kind", json!("mcp")), ("/tools/0/server", json!("oms")), ("/tools/0/remote_name", json!("cancel"))],
            "V017",
            "/graphs/1/nodes/2",
        ),
        (vec![("/tools/0/kind", json!("function")), ("/tools/0/remote_name", json!("orders:unknown"))], "V018", "/tools/0/remote_name"),
        (vec![("/graphs/1/nodes/6/data/graph", json!("none"))], "C001", "/graphs/1/nodes/6/data/graph"),
        (vec![("/graphs/1/nodes/6/data/inputs", json!("-"))], "C002", "/graphs/1/nodes/6/data"),
        (vec![("/graphs/1/nodes/6/data/inputs/more", json!(1))], "C002", "/graphs/1/nodes/6/data/inputs/more"),
        (call("help"), "C003", "/graphs/3/nodes/1/data/graph"),
        (
            with_changes(
                call("help"),
                &[
                    ("/graphs/3/edges/-", json!({"id": "x", "source": "yes", "target": "n"})),
                    ("/graphs/3/nodes/-", json!({"id": "yes", "type": "router", "name": "Yes", "data": {}})),
                    ("/graphs/3/edges/0/target", json!("yes")),
                    ("/graphs/3/edges/-", json!({"id": "y", "source": "yes", "source_port": "else", "target": "over"})),
                ],
            ),
            "C004",
            "/graphs/3/nodes/1/data/graph",
        ),
        (vec![("/graphs/1/edges/10", json!("-"))], "C005", "/graphs/1/nodes/6"),
        (vec![("/graphs/1/edges/10/source_port", json!("never"))], "C006", "/graphs/1/edges/10/source_port"),
        (with_changes(call("buy"), &[("/settings/max_call_depth", json!(1))]), "C007", "/graphs/3/nodes/1/data/graph"),
        (vec![("/graphs/1/nodes/6/data/outputs/more", json!("sent"))], "C008", "/graphs/1/nodes/6/data/outputs/more"),
    ]
}

#[test]
fn services_and_calls_are_checked() {
    assert_cases(cases());
}
