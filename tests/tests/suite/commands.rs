//! The commands as processes: exit codes, one line per problem, and no changes by rejected input.

use std::fs;
use std::net::TcpListener;
use std::process::Stdio;

use convengine_player::import_pack;
use convengine_test_macros::test;
use convengine_tests::{corpus, root};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::database::Sql;
use crate::harness::{CommandOutput, MESSAGE, REGEX_ONLY, SERVE, TestEnv, assert_one_line, orders_pack};

const ID: &str = "5b1f9a52-8f0e-4c3e-8a53-1c9f0c1b2a02";

#[test]
fn migrating_twice_changes_nothing() {
    let env = TestEnv::new();
    assert_eq!(env.run(&["migrate"]).code, 0);
    let before = env.sql().dump();
    let again = env.run(&["migrate"]);
    assert_eq!((again.code, again.stdout.starts_with("created 0 tables")), (0, true), "{again:?}");
    assert_eq!(env.sql().dump(), before);
}

/// A conversation in a database of the original: an extra column, an own index, and on SQLite times as text and as numbers.
fn original_schema(postgres: bool) -> [String; 4] {
    let (id, json, time) = if postgres { ("uuid", "jsonb", "timestamptz") } else { ("text", "text", "datetime") };
    let (updated, other) =
        if postgres { ("'2025-01-02 03:04:05.678'", "ffffffff-8f0e-4c3e-8a53-1c9f0c1b2a02") } else { ("1735787045678", "somebody else") };
    [
        format!(
            "create table ce_conversation (conversation_id {id} primary key, status text not null default 'RUNNING', intent_code text not null \
             default 'UNKNOWN', state_code text not null default 'UNKNOWN', context_json {json} not null default '{{}}', last_user_text text, \
             last_assistant_json {json}, input_params_json {json} not null default '{{}}', created_at {time}, updated_at {time}, region text)"
        ),
        "create index their_own on ce_conversation (region)".to_owned(),
        format!(
            "insert into ce_conversation values ('{ID}', 'RUNNING', 'ORDERS', 'UNKNOWN', '{{\"kept\":1}}', 'hello', null, \
             '{{\"note\":\" as ever\"}}', '2025-01-02 03:04:05', {updated}, 'north')"
        ),
        format!("insert into ce_conversation (conversation_id) values ('{other}')"),
    ]
}

#[test]
fn an_original_database_is_migrated_unchanged() {
    let env = TestEnv::new();
    let mut sql = env.sql();
    original_schema(sql.is_postgres()).iter().for_each(|it| sql.run(it));
    let table =
        |sql: &mut Sql| sql.dump().iter().filter(|row| row.contains("region") || row.contains("north")).cloned().collect::<Vec<_>>();
    let before = table(&mut sql);
    assert_one_line(&env.run(&SERVE), 3, &["convengine migrate --database"]);
    assert_eq!(table(&mut sql), before);
    let migrated = env.run(&["migrate"]);
    // The full-text index of documents is an index on PostgreSQL and a table on SQLite, where the index of knowledge bases is two tables.
    let created = format!("created {} tables", if sql.is_postgres() { 85 } else { 87 });
    assert_eq!((migrated.code, migrated.stdout.starts_with(&created)), (0, true), "{migrated:?}");
    assert_eq!(table(&mut sql), before);
    let pack = env.write_pack("pack.json", &orders_pack());
    assert_eq!(env.run(&["import", &pack]).code, 0);
    let server = env.serve(&REGEX_ONLY);
    let answer = server.say(ID, "my order");
    assert_eq!((&answer["success"], &answer["intent"]), (&json!(true), &json!("ORDERS")), "the conversation continues");
    let row =
        "select substr(cast(created_at as text), 1, 19) || ' ' || region || ' ' || status from ce_conversation where region is not null";
    assert_eq!(sql.texts(row), ["2025-01-02 03:04:05 north RUNNING"]);
    assert_eq!(env.run(&["replay", "--conversation", ID]).code, 0);
}

#[test]
fn foreign_tables_are_left_alone() {
    let env = TestEnv::new();
    let mut sql = env.sql();
    sql.run("create table theirs (a text)");
    let before = sql.dump();
    assert_one_line(&env.run(&SERVE), 3, &["convengine migrate --database"]);
    assert_one_line(&env.run(&["import", &env.write_pack("pack.json", &orders_pack())]), 3, &["convengine migrate"]);
    assert_eq!(sql.dump(), before);
}

#[test]
fn outdated_tables_are_reported_before_serving() {
    let env = TestEnv::with_pack(&orders_pack());
    // As an early release left it, which recorded no versions.
    for sql in [
        "drop table cv_security_log",
        "drop table cv_conversation_owner",
        "drop table cs_deployment_token",
        "drop table cs_counter",
        "alter table cs_secret drop column key_id",
        "alter table cv_api_key drop column owner_claim",
        "alter table cs_timer drop column claimed_until",
        "alter table cs_chain drop column claimed_until",
        "alter table cs_chain drop column failures",
        "alter table cs_chain drop column waits",
        "alter table ce_turn drop column answer",
        "alter table ce_turn drop column total_ms",
        "alter table cs_knowledge_source drop column unreadable_characters",
        "alter table cs_knowledge_source drop column unreadable_pages",
        "drop index idx_ce_config_snapshot_used",
        "alter table ce_config_snapshot drop column used_at",
        "drop table cv_migration",
    ] {
        env.sql().run(sql);
    }
    assert_one_line(&env.run(&SERVE), 3, &["outdated tables", "convengine migrate --database"]);
    assert_eq!(env.run(&["migrate"]).stdout.lines().next().map(|it| it.starts_with("created 5 tables in")), Some(true));
    assert_eq!(env.serve(&REGEX_ONLY).say(ID, "my order")["success"], true);
}

#[test]
fn an_invalid_import_is_rejected_line_by_line_and_changes_nothing() {
    let env = TestEnv::with_pack(&orders_pack());
    let mut sql = env.sql();
    let before = sql.dump();
    let pack = |tables: Value| json!({"name": "bad", "tables": tables}).to_string();
    let intent = json!({"intent_code": "A", "description": "d"});
    let response = json!({"response_id": "one", "intent_code": "A", "state_code": "ANY", "response_type": "EXACT"});
    for (text, lines) in [
        ("{".to_owned(), vec!["invalid pack"]),
        ("[]".to_owned(), vec!["invalid pack"]),
        (pack(json!({"ce_intent": 5})), vec!["invalid pack"]),
        (pack(json!({"ce_intent": [intent], "ce_audit": [], "users": []})), vec!["ce_audit: ", "users: "]),
        (pack(json!({"ce_intent": [intent, {"intent_code": "B", "description": "d", "color": "red"}]})), vec!["ce_intent[2].color: "]),
        (
            pack(json!({"ce_intent": [{"intent_code": "B", "description": 7, "enabled": "maybe"}]})),
            vec!["ce_intent[1].description: ", "ce_intent[1].enabled: "],
        ),
        (
            pack(json!({"ce_intent": [intent, intent], "ce_response": [response]})),
            vec!["ce_intent[2]: duplicate key", "ce_response[1].output_format: missing value", "ce_response[1].response_id: "],
        ),
    ] {
        let output = env.run(&["import", &env.write("bad.json", &text)]);
        let found: Vec<&str> = output.stderr.lines().collect();
        assert_eq!((output.code, output.stdout.as_str()), (1, ""), "{output:?}");
        assert_eq!(found.len(), lines.len(), "{text}: {found:#?}");
        assert!(lines.iter().all(|line| found.iter().any(|text| text.contains(line))), "{text}: {found:#?}");
        assert_eq!(sql.dump(), before, "{text}");
    }
    assert_one_line(&env.run(&["import", "nowhere.json"]), 1, &["nowhere.json"]);
    let foreign =
        [("nlu.yml", "version: \"3.1\"\nnlu:\n", "Rasa"), ("greet.json", r#"{"name": "greet", "fallbackIntent": false}"#, "Dialogflow")];
    for (name, text, builder) in foreign {
        let file = env.write(name, text);
        for command in ["import", "lint"] {
            assert_one_line(&env.run(&[command, &file]), 1, &[name, &format!("a file of {builder}, which is not read yet")]);
        }
    }
    assert_eq!(sql.dump(), before);
}

#[test]
fn rows_that_do_not_compile_are_imported_unless_strict() {
    let env = TestEnv::with_pack(&orders_pack());
    let mut sql = env.sql();
    let before = sql.dump();
    let pack = root().join("tests/packs/pipeline/rule_bad_rows_left_out.json").display().to_string();
    let strict = env.run(&["import", &pack, "--strict"]);
    assert_eq!((strict.code, strict.stdout.as_str()), (1, ""), "{strict:?}");
    assert!(strict.stderr.contains("error ce_rule[1].match_pattern: ") && strict.stderr.contains("--strict"), "{}", strict.stderr);
    assert_eq!(sql.dump(), before);
    let output = env.run(&["import", &pack]);
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(output.stderr.lines().filter(|it| it.starts_with("error ce_rule[")).count(), 10, "{}", output.stderr);
    assert_eq!(sql.texts("select cast(count(*) as text) from ce_rule"), ["11"]);
    assert_eq!(sql.texts("select intent_code from ce_intent"), ["ORDERS", "OTHER"], "a table outside the pack stays");
}

/// Each pack is imported into a database of its own in `http.rs`.
#[test]
fn packs_are_imported_in_place_of_the_one_before() {
    let (env, runtime) = (TestEnv::new(), Runtime::new().unwrap());
    let mut imported = 0;
    for case in corpus().unwrap().into_iter().filter(|case| case.path.extension().is_some_and(|extension| extension == "json")).step_by(6) {
        import_pack(&runtime, &case.path, &env.database_url()).unwrap_or_else(|error| panic!("{}: {error:#}", case.path.display()));
        imported += 1;
    }
    assert!(imported > 30, "only {imported} packs");
}

#[test]
fn lint_reports_by_its_exit_code() {
    let env = TestEnv::with_pack(&orders_pack());
    let bad = root().join("tests/packs/pipeline/rule_bad_rows_left_out.json").display().to_string();
    let good = env.path("pack.json").display().to_string();
    for (arguments, code, lines) in [(vec!["lint", good.as_str()], 0, 0), (vec!["lint"], 0, 0), (vec!["lint", bad.as_str()], 1, 10)] {
        let output = env.run(&arguments);
        assert_eq!((output.code, output.stdout.lines().count(), output.stderr.as_str()), (code, lines, ""), "{output:?}");
    }
    let output = env.run(&["lint", "--json", &bad]);
    let issues: Vec<Value> = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!((output.code, issues.len()), (1, 10));
    let members: Vec<&String> = issues[0].as_object().unwrap().keys().collect();
    assert_eq!(members, ["severity", "path", "reason", "hint", "rule"]);
    assert_eq!((&issues[0]["severity"], &issues[0]["path"]), (&json!("error"), &json!("ce_rule[1].match_pattern")));
    assert_eq!(env.run(&["lint", "--json"]).stdout.trim(), "[]");
    assert_eq!(env.run(&["import", &bad]).code, 0);
    assert_eq!(env.run(&["lint"]).code, 1);
    let mut pack = orders_pack();
    pack["settings"]["flow"]["dialogueAct"]["resolut"] = json!("REGEX_ONLY");
    let mistyped = env.run(&["lint", &env.write_pack("mistyped.json", &pack)]);
    assert_eq!(mistyped.code, 0, "a warning is not an error: {mistyped:?}");
    assert!(mistyped.stdout.starts_with("warning convengine.flow.dialogue-act.resolut: is not a known setting"), "{mistyped:?}");
    assert_one_line(&env.run(&["lint", "--database", "sqlite:/nowhere/at/all.db"]), 3, &["/nowhere/at/all.db"]);
    assert_one_line(&env.run(&["lint", &env.write("text.json", "{")]), 1, &["text.json"]);
}

#[test]
fn a_missing_prerequisite_is_reported_in_one_line() {
    let env = TestEnv::new();
    let junk = env.write("junk.db", &"no database at all ".repeat(50));
    let folder = env.path("").display().to_string();
    let pack = env.write_pack("pack.json", &orders_pack());
    for (path, words) in [(junk.as_str(), "not a database"), (folder.as_str(), "unable to open"), ("/nowhere/at/all.db", "unable to open")]
    {
        let database = format!("sqlite:{path}");
        for command in [SERVE.as_slice(), &["migrate"], &["import", &pack]] {
            assert_one_line(&env.run(&[command, &["--database", &database]].concat()), 3, &[&database, words]);
        }
    }
    assert_eq!(fs::read_to_string(&junk).unwrap(), "no database at all ".repeat(50));
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    assert_one_line(&env.run(&["serve", "--listen", &address]), 3, &[&address, "in use", "--listen"]);
    assert!(env.is_untouched(), "a server that does not start creates nothing");
}

/// Whether all elements are closed in order.
fn is_well_formed(xml: &str) -> bool {
    let mut open = Vec::new();
    for tag in xml.split('<').skip(1).filter_map(|piece| piece.split('>').next()).filter(|tag| !tag.starts_with('?') && !tag.ends_with('/'))
    {
        match tag.strip_prefix('/') {
            Some(name) if open.pop() != Some(name) => return false,
            Some(_) => {}
            None => open.push(tag.split(' ').next().unwrap_or_default()),
        }
    }
    open.is_empty()
}

#[test]
fn test_reports_passed_and_failed_packs() {
    let env = TestEnv::new();
    let good = root().join("tests/packs/pipeline/classifier_types.json").display().to_string();
    let passed = env.run(&["test", &good]);
    assert_eq!((passed.code, passed.stdout.lines().last()), (0, Some("1 passed, 0 failed")), "{passed:?}");

    let mut pack = orders_pack();
    let body = json!({"conversationId": ID, "message": "my order"});
    let request = json!({"method": "POST", "path": MESSAGE, "body": body, "contentType": "application/json"});
    pack["name"] = json!("orders <&\"> wrong");
    pack["turns"] = json!([{"request": request, "expect": {"status": 200, "json": {"payload": {"type": "TEXT", "value": "It is lost."}}}}]);
    let bad = env.write_pack("bad.json", &pack);
    let report = env.path("report.xml").display().to_string();
    let failed = env.run(&["test", &good, &bad, &env.write("text.json", "{"), "nowhere.json", "--junit", &report]);
    assert_eq!((failed.code, failed.stdout.lines().last()), (1, Some("1 passed, 3 failed")), "{failed:?}");
    for words in ["json.payload.value", "expected \"It is lost.\"", "but got  \"Your order is on its way.\"", "text.json", "nowhere.json"] {
        assert!(failed.stdout.contains(words), "{words} in {}", failed.stdout);
    }
    assert!(failed.stdout.contains("--trace") && !failed.stdout.contains("ce_response"), "{failed:?}");
    let traced = env.run(&["test", &good, &bad, "--trace"]);
    assert_eq!((traced.code, traced.stdout.lines().last()), (1, Some("1 passed, 1 failed")), "{traced:?}");
    for words in ["chosen: ce_response 1 'Your order is on its way.'", "set intent: \"UNKNOWN\" became \"ORDERS\""] {
        assert!(traced.stdout.contains(words), "{words} in {}", traced.stdout);
    }
    assert!(!traced.stdout.contains("--trace"), "{traced:?}");
    let xml = fs::read_to_string(&report).unwrap();
    assert!(xml.contains("tests=\"4\" failures=\"3\"") && xml.contains("orders &lt;&amp;&quot;&gt; wrong"), "{xml}");
    assert!(is_well_formed(&xml), "{xml}");

    // A request to a path other than the message path is played over HTTP against a server of its own.
    pack["turns"] = json!([{"request": {"method": "GET", "path": "/healthz"}, "expect": {"status": 200, "json": {"status": "UP"}}}]);
    let over_http = env.run(&["test", &env.write_pack("http.json", &pack)]);
    assert_eq!((over_http.code, over_http.stdout.lines().last()), (0, Some("1 passed, 0 failed")), "{over_http:?}");
}

#[test]
fn rules_of_explained_differences_are_read_from_a_file_alone() {
    let env = TestEnv::new();
    let good = root().join("tests/packs/pipeline/classifier_types.json").display().to_string();
    for name in ["/dev/stdout", "/dev/stderr", "/dev/tty"] {
        assert_one_line_of_usage(&env.run(&["test", &good, "--explained-by", name]), name);
    }
    let rules = root().join("tests/explained.yaml").display().to_string();
    for option in ["--explained-by", "--explained"] {
        assert_eq!(env.run(&["test", &good, option, &rules]).code, 0, "{option}");
    }
    assert!(env.run(&["test", "--help"]).stdout.contains("--explained-by <FILE>"));
}

#[track_caller]
fn assert_one_line_of_usage(output: &CommandOutput, name: &str) {
    assert_eq!((output.code, output.stderr.lines().count()), (2, 1), "{output:?}");
    assert!(output.stderr.contains(&format!("--explained-by {name}: the file is read")), "{output:?}");
}

#[test]
fn commands_end_quietly_when_nobody_reads_them() {
    let env = TestEnv::with_pack(&orders_pack());
    let bad = root().join("tests/packs/pipeline/rule_bad_rows_left_out.json").display().to_string();
    for arguments in [
        &["lint", &bad][..],
        &["lint", "--json", &bad],
        &["test", &bad],
        &["schema", "pack"],
        &["export"],
        &["snapshot", "list"],
        &["key", "create", "--name", "a", "--scope", "read"],
        &["key", "list"],
        &["--help"],
    ] {
        let expected = env.run(arguments).code;
        let closed = || {
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            writer
        };
        let output = env.command(arguments).stdout(closed()).stderr(Stdio::piped()).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(expected) && !errors.contains("panicked"), "{arguments:?}: {output:?}");
        let both = env.command(arguments).stdout(closed()).stderr(closed()).status().unwrap();
        assert_eq!(both.code(), Some(expected), "{arguments:?}");
    }
}
