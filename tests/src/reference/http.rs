//! `task-http.md`: what services receive when tasks, tools, containers and flow nodes call them, and what they answer.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::lint_codes::literals_after;
use super::markdown::{code, fence, table, wrap};
use super::{Meanings, Page, prose, read_source};

/// Generates the page.
///
/// # Errors
/// If the meanings or a source cannot be read.
pub fn page() -> Result<Page> {
    let meanings = Meanings::parse("task_http.txt", include_str!("data/task_http.txt"))?;
    let mut body = prose(include_str!("data/task_http_intro.txt")) + "\n";
    let mut section = |heading: &str, group: &str, head: &[&str], names: &[String], example: Option<Value>| {
        // Names of several words are descriptions.
        let name = |name: &str| if name.contains(' ') { name.to_owned() } else { code(name) };
        let rows: Vec<Vec<String>> = names.iter().map(|word| vec![name(word), meanings.get(group, word)]).collect();
        body.push_str(&format!("\n## {heading}\n\n{}\n\n{}", wrap(&meanings.section(group)), table(head, &rows)));
        if let Some(example) = example {
            body.push_str(&format!("\n{}", fence("json", &serde_json::to_string_pretty(&example).unwrap_or_default())));
        }
    };
    let request = struct_members("core/turn/src/request/task.rs", "TaskRequest", false)?;
    section("Request of a task", "task", &["Member", "Meaning"], &request, Some(task_request()));
    let uses = enum_words("core/turn/src/request/task.rs", "TaskUse")?;
    section("Occasions of a task", "uses", &["`called_for`", "When"], &uses, None);
    section("Answer of a task", "reply", &["Member", "Meaning"], &task_members()?, Some(task_reply()));
    section("Members of a call", "call", &["Member", "Meaning"], &call_members()?, Some(call()));
    section("Headers", "headers", &["Header", "Meaning"], &meanings.names("headers"), None);
    let mapping = ["RAW_JSON", "JSON_PATH", "FIELD_TEMPLATE", "TEXT"].map(str::to_owned);
    section("Response mapping", "mapping", &["Mode", "`mapped`"], &mapping, Some(envelope()));
    let container = struct_members("core/turn/src/request/container.rs", "ContainerRequest", true)?;
    section("Request of a container", "container", &["Member", "Meaning"], &container, Some(container_request()));
    section("Failures", "failures", &["Status or cause", "Kind and effect"], &meanings.names("failures"), None);
    body.push('\n');
    body.push_str(&prose(include_str!("data/task_http_flow.txt")));
    let gaps = meanings.gaps();
    let summary = "what services receive from tasks, tools, containers and flow nodes, and what they may answer";
    Ok(Page { file: "task-http.md", title: "Task and tool calls over HTTP", summary, body, gaps })
}

fn task_request() -> Value {
    json!({
        "task": "orders:cancel",
        "called_for": "pending_action",
        "view": {"intent": "CANCEL_ORDER", "state": "CONFIRM", "inputParams": {"order_id": 17}, "context": {"reason": "too late"}},
    })
}

fn task_reply() -> Value {
    json!({
        "result": {"cancelled": true},
        "set_context": {"cancellation": "C-4711"},
        "state": "DONE",
        "publish": [{"text": {"text": "Order 17 is cancelled."}}],
    })
}

fn call() -> Value {
    json!({
        "http": {
            "url": "https://orders.example/orders/{{context.order_id}}/cancel",
            "method": "POST",
            "headers": {"X-Shop": "north"},
            "auth": "ORDERS_KEY",
            "policy": {"read-timeout-ms": 3000, "max-attempts": 3},
            "response": {"mode": "JSON_PATH", "path": "$.result"},
            "idempotent": true,
        },
    })
}

fn envelope() -> Value {
    json!({"status": 200, "attempt": 1, "latencyMs": 12, "mapped": {"status": "shipped"}})
}

fn container_request() -> Value {
    json!({
        "pageId": 1, "sectionId": 2, "containerId": 3, "userId": "convengine", "loggedInUserId": "convengine",
        "inputParams": {"customer": "K-17"},
    })
}

/// The members of a public structure; `is_camel` for those that are serialized in camelCase.
fn struct_members(file: &str, name: &str, is_camel: bool) -> Result<Vec<String>> {
    let source = read_source(file)?;
    let body = source.split_once(&format!("pub struct {name} {{")).and_then(|it| it.1.split_once("\n}")).map(|it| it.0);
    let lines = body.with_context(|| format!("{file} has no {name}"))?.lines();
    let names = lines.filter_map(|line| line.trim().strip_prefix("pub ")?.split_once(':').map(|parts| parts.0));
    Ok(names.map(|name| if is_camel { to_camel_case(name) } else { name.to_owned() }).collect())
}

fn to_camel_case(name: &str) -> String {
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |camel, part| {
        let (head, tail) = part.split_at(1.min(part.len()));
        camel + &head.to_uppercase() + tail
    })
}

/// The variants of an enumeration in snake_case.
fn enum_words(file: &str, name: &str) -> Result<Vec<String>> {
    super::errors::enum_variants(file, name)
}

/// The members of an answer of a task.
fn task_members() -> Result<Vec<String>> {
    Ok(convengine_core::config::TASK_MEMBERS.iter().map(|it| (*it).to_owned()).collect())
}

/// The members of a call that a binding may have; the longer of two names is that of the column of `ce_http_tool`.
fn call_members() -> Result<Vec<String>> {
    let source = read_source("core/config/src/binding.rs")?;
    let mut names = literals_after(&source, "text([");
    names.extend(literals_after(&source, "call.get(").into_iter().filter(|it| it == "idempotent"));
    anyhow::ensure!(names.len() > 8, "binding.rs names {} members of a call", names.len());
    Ok(names)
}
