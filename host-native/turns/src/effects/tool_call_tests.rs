//! Tools and queries, executed as in a turn.

use std::sync::Arc;

use convengine_access::TenantAccess;
use convengine_content::Content;
use convengine_core::turn::{Effect, EffectClass, EffectId, Map, Request, SqlRequest};
use convengine_effects::Outbound;
use convengine_effects::llm::Models;
use convengine_host_base::meter::Meter;
use convengine_settings::Options;
use convengine_settings::Settings;
use convengine_storage as storage;
use serde_json::{Value, json};

use super::*;
use crate::Turns;
use crate::effects::execute_effect;
use crate::observe::SpanSender;

/// Executes requests on a host with a folder, a document, a fake tool and a secret.
async fn execute_all(requests: Vec<Request>) -> Vec<EffectResult> {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("a.txt"), "the key is hunter2hunter2").expect("a file");
    std::fs::write(folder.path().join("secret"), "hunter2hunter2").expect("a file");
    let set = [
        format!("convengine.files.roots.Manuals={}", folder.path().display()),
        format!("convengine.secrets.crm=file:{}", folder.path().join("secret").display()),
    ];
    let database = Some(format!("sqlite:{}", folder.path().join("c.db").display()));
    let settings = Settings::load(&Options { database, set: set.to_vec(), ..Options::default() }).expect("settings");
    let mut connection = storage::connect_or_create(&settings.database).await.expect("a database");
    let scripted: Map = serde_json::from_value(json!({"scripted": {"text": "[{\"by\":\"the book\"}]"}})).expect("an object");
    storage::script::replace(&mut connection, "tool", &scripted).await.expect("a script");
    let document = "insert into cv_document (collection, title, body) values ('faq', 'Keys', 'hunter2hunter2')";
    sqlx::query(document).execute(connection.sqlite()).await.expect("a document");
    convengine_host_base::crypto::install_crypto_provider();
    let meter = Meter::default();
    let models = Models::new(&settings.llm, Arc::clone(&settings.secrets)).expect("models");
    let outbound = Arc::new(Outbound::new(&settings, models).expect("clients"));
    let content = Arc::new(Content::open(&settings, outbound, meter, None, &mut connection).await.expect("a configuration"));
    let access = Arc::new(TenantAccess::read(&settings, &content.readers).await.expect("credentials"));
    let (turns, _) = Turns::start(&settings, content, access, SpanSender::default(), None, connection);
    let mut answers = Vec::new();
    for (number, request) in (1..).zip(requests) {
        let effect = Effect {
            id: EffectId(number),
            key: format!("t/{number}"),
            class: EffectClass::Read,
            deadline_ms: 10_000,
            stream: false,
            repeatable: true,
            request,
        };
        answers.push(execute_effect(Arc::clone(&turns), turns.content.config_manager.active(), None, effect).await.outcome);
    }
    answers
}

fn tool(code: &str, group: &str, args: Value, spec: Value) -> Request {
    let args: Map = serde_json::from_value(args).expect("an object");
    Request::Tool(ToolRequest { tool_code: Some(code.to_owned()), tool_group: group.to_owned(), args, spec: Some(Arc::new(spec)) })
}

fn query(code: &str, sql: &str) -> Request {
    let (tool_code, sql) = (code.to_owned(), sql.to_owned());
    Request::Sql(SqlRequest {
        tool_code,
        sql,
        params: Map::new(),
        max_rows: 10,
        timeout_ms: 5_000,
        safe: true,
        engine_tables: true,
        repaired_from: None,
    })
}

#[tokio::test]
async fn a_fake_takes_precedence_over_the_group() {
    let answers = execute_all(vec![
        tool("scripted", "FILES", json!({}), json!({})),
        tool("mail", "notify", json!({}), json!({})),
        tool("sums", "MY_OWN", json!({}), json!({})),
        query("scripted", "delete from t"),
        query("other", "select title from cv_document"),
    ])
    .await;
    let text = |answer: &EffectResult| match answer {
        EffectResult::Ok(Reply::Tool(reply)) => reply.text.clone(),
        EffectResult::Ok(Reply::Sql(reply)) => json!(reply.rows).to_string(),
        EffectResult::Ok(other) => panic!("another kind of reply: {other:?}"),
        EffectResult::Error(error) => format!("{:?}: {error}", error.kind),
    };
    assert_eq!(
        answers.iter().map(text).collect::<Vec<_>>(),
        [
            "[{\"by\":\"the book\"}]",
            "Unsupported: no executor for tool group 'NOTIFICATION': give the tool one of the groups of this server, or a script",
            "Unsupported: no executor for tool group 'MY_OWN': give the tool one of the groups of this server, or a script",
            "[{\"by\":\"the book\"}]",
            "[{\"title\":\"Keys\"}]",
        ]
    );
}

#[tokio::test]
async fn answers_contain_no_secrets() {
    let answers = execute_all(vec![
        tool("manuals", "file", json!({"path": "a.txt"}), json!({"root": "Manuals"})),
        tool("manuals", "FILES", json!({"path": "../hunter2hunter2"}), json!({"root": "Manuals"})),
        tool("faq", "rag", json!({"q": "keys"}), json!({})),
        query("rows", "select body from cv_document"),
        query("rows", "select hunter2hunter2()"),
    ])
    .await;
    for answer in answers {
        let text = format!("{answer:?}");
        assert!(text.contains("[secret:crm]") && !text.contains("hunter2"), "{text}");
    }
}
