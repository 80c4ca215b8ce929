//! Derived audit rows equal stored ones byte for byte.

use convengine_core::json::diff;
use convengine_core::turn::Journal;
use convengine_player::{PackServer, ServerOptions};
use convengine_storage::turn::{compress, decompress};
use convengine_test_macros::{test, test_files};
use convengine_tests::soak::final_state::mask as without_times;
use convengine_tests::{Case, demo, read_case};
use convengine_turns::audit::materialise::{Materialised, materialise_all};
use reqwest::blocking::Client;
use serde_json::{Value, json};

use crate::database::Sql;
use crate::harness::{CommandOutput, REGEX_ONLY, Server, TestEnv, assert_one_line, client, orders_pack};

const ID: &str = "5b1f9a52-8f0e-4c3e-8a53-1c9f0c1b2a11";
const DERIVED: &str = "convengine.audit.persistence.mode=DERIVED";

/// Packs whose settings exclude everything from the audit.
const SILENT: [&str; 3] =
    ["packs/pipeline/audit_level_none.json", "packs/recorded/s33d_audit_disabled.json", "packs/v1/nothing_of_absent_steps.json"];

/// A server of a pack, and the conversations played on it in the order in which they began.
struct PlayedPack {
    server: PackServer,
    client: Client,
    conversations: Vec<String>,
}

impl PlayedPack {
    /// Plays the pack's turns and ignores their replies.
    fn play(case: &Case, env: &TestEnv, set: &[&str]) -> PlayedPack {
        let set = set.iter().map(|it| (*it).to_owned()).collect();
        let options = ServerOptions { database: Some(env.database_url()), settings: set, ..ServerOptions::default() };
        let server = PackServer::start(&case.pack, &case.path, &options).unwrap();
        let mut played = PlayedPack { server, client: client(), conversations: Vec::new() };
        for turn in played.server.pack().turns.clone() {
            if let Some(sql) = turn.admin_sql.as_ref().and_then(Value::as_str) {
                env.sql().run(sql);
            }
            let Some(request) = turn.request else { continue };
            let mut call = played.client.request(request.method.parse().unwrap(), format!("{}{}", played.server.address(), request.path));
            if request.body != Value::Null {
                let body = request.body.as_str().map_or_else(|| request.body.to_string(), str::to_owned);
                call = call.header("Content-Type", request.content_type.as_deref().unwrap_or("application/json")).body(body);
            }
            let answer: Value = serde_json::from_str(&call.send().unwrap().text().unwrap()).unwrap_or_default();
            let id = |row: &Value| row["conversationId"].as_str().map(str::to_lowercase);
            let id = id(&answer).or(id(&request.body)).filter(|it| !played.conversations.contains(it));
            played.conversations.extend(id);
        }
        played
    }

    /// The response of the audit endpoint for every conversation.
    fn audits(&self) -> Vec<String> {
        let audit = |id: &String| {
            let answer = self.client.get(format!("{}/api/v1/conversation/audit/{id}", self.server.address())).send().unwrap();
            answer.text().unwrap()
        };
        self.conversations.iter().map(audit).collect()
    }

    /// A text without the values, besides times, that differ between runs: ids made by a server, and the address of the services.
    fn without_ids(&self, text: &str) -> String {
        let text = self.server.fake_address().map_or_else(|| text.to_owned(), |address| text.replace(&address.to_string(), "<services>"));
        self.conversations.iter().enumerate().fold(text, |text, (at, id)| text.replace(id, &format!("<conversation {at}>")))
    }
}

/// Deletes the stored rows and leaves what a turn in mode DERIVED stores; returns how many rows there were.
fn delete_derivable_rows(sql: &mut Sql) -> usize {
    let time = |column: &str| match sql.is_postgres() {
        true => column.to_owned(),
        false => format!("strftime('%Y-%m-%d %H:%M:%f', {column} / 1000.0, 'unixepoch')"),
    };
    let (from, to) = (time("t.created_at"), time("n.created_at"));
    let later =
        format!("select 1 from ce_turn n where n.conversation_id = t.conversation_id and n.number > t.number and a.created_at >= {to}");
    let update = format!(
        "update ce_turn as t set audit_id = (select min(a.audit_id) from ce_audit a
           where a.conversation_id = t.conversation_id and a.created_at >= {from} and not exists ({later}))"
    );
    let count = sql.texts("select cast(count(*) as text) from ce_audit")[0].parse().unwrap();
    sql.run(&update);
    let hex = sql.hex_expression("journal");
    for row in sql.texts(&format!("select concat_ws(' ', turn_id, {hex}) from ce_turn where audit_id is not null")) {
        let (turn, hex) = row.split_once(' ').unwrap();
        store_journal(sql, &parse_journal(hex).without_requests(), &format!("turn_id = '{turn}'"));
    }
    sql.run("delete from ce_audit");
    let later =
        "select 1 from ce_turn n where n.conversation_id = t.conversation_id and n.number > t.number and l.created_at >= n.created_at";
    sql.run(&format!(
        "delete from ce_llm_call_log as l where exists (select 1 from ce_turn t where t.conversation_id = l.conversation_id
           and t.audit_id is not null and l.created_at >= t.created_at and not exists ({later}))"
    ));
    count
}

/// The log of model calls, with times or without.
fn calls(env: &TestEnv, with_times: bool) -> Vec<String> {
    let at = if with_times { "cast(created_at as text)" } else { "''" };
    env.sql().texts(&format!(
        "select concat_ws('|', cast(conversation_id as text), intent_code, state_code, provider, model, prompt_text,
           cast(user_context as text), cast(response_text as text), cast(success as text), error_message, {at},
           input_tokens, output_tokens, cost_micros) as call
         from ce_llm_call_log order by call"
    ))
}

fn to_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap()
}

fn count(env: &TestEnv, what: &str) -> usize {
    env.sql().texts(&format!("select cast(count(*) as text) from {what}"))[0].parse().unwrap()
}

/// What [`materialise`] does with all turns, without the words of the command.
fn materialise_here(played: &PlayedPack, env: &TestEnv) -> Materialised {
    played.server.block_on(materialise_all(&env.settings())).unwrap()
}

fn materialise(env: &TestEnv, range: &[&str]) -> CommandOutput {
    env.run(&[&["audit", "materialise"], range].concat())
}

/// The audit rows without values that differ between runs: times and durations, some of them inside texts.
fn without_volatile(audit: &str) -> Vec<Value> {
    let rows: Vec<Value> = serde_json::from_str(audit).unwrap();
    rows.iter().map(without_times).collect()
}

/// Whether a tool result repeats except for its latency: the planner sees only one of equal results, so prompts of two runs may differ.
fn has_repeated_result(rows: &[Value]) -> bool {
    let results: Vec<&Value> = rows.iter().filter(|it| it["stage"] == "MCP_TOOL_RESULT").map(|it| &it["payloadJson"]).collect();
    let repeated = |at: usize| results[at].to_string().contains("latencyMs") && results[..at].contains(&results[at]);
    (0..results.len()).any(repeated)
}

fn stages(rows: &[Value]) -> Vec<(&Value, &Value)> {
    rows.iter().map(|it| (&it["auditId"], &it["stage"])).collect()
}

fn differences(left: Vec<Value>, right: Vec<Value>) -> String {
    let found = diff::diff_leaves(&left.into(), &right.into());
    found.iter().take(9).map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Asserts that a deriving server returns the same audit of a pack as a storing one; returns the number of rows.
fn assert_same_audits(
    name: &str,
    (stored, storing): (&PlayedPack, &TestEnv),
    expected: &[String],
    (deriving, env): (&PlayedPack, &TestEnv),
) -> usize {
    assert_eq!(count(env, "ce_audit"), 0, "{name}");
    assert!(count(env, "ce_llm_call_log") == 0 || count(env, "ce_turn where audit_id is null") > 0, "{name}: calls are stored");
    let derived = deriving.audits();
    assert_eq!(expected.len(), derived.len(), "{name}");
    let (mut rows, mut by_latency) = (0, false);
    for (left, right) in expected.iter().zip(&derived) {
        let (left, right) = (without_volatile(&stored.without_ids(left)), without_volatile(&deriving.without_ids(right)));
        rows += left.len();
        if left != right {
            assert!(has_repeated_result(&left) && stages(&left) == stages(&right), "{name}:\n{}", differences(left, right));
            by_latency = true;
        }
    }
    let turns = count(env, "ce_turn where audit_id is not null");
    let done = materialise_here(deriving, env);
    assert_eq!((done.refused, done.rows, done.turns), (vec![], to_u64(rows), to_u64(turns)), "{name}");
    assert_eq!(deriving.audits(), derived, "{name}: after they were stored");
    assert_eq!(count(storing, "ce_llm_call_log"), count(env, "ce_llm_call_log"), "{name}");
    if by_latency {
        return rows;
    }
    let log = |deriving: &PlayedPack, env: &TestEnv| {
        let call = |call: &String| without_times(&json!(deriving.without_ids(call))).to_string();
        let mut calls: Vec<String> = calls(env, false).iter().map(call).collect();
        calls.sort();
        calls
    };
    assert_eq!(log(stored, storing), log(deriving, env), "{name}: the log of model calls");
    rows
}

/// Asserts that a server's stored rows equal those derived from the same turns, byte for byte.
fn assert_derives_stored_rows(name: &str, played: &PlayedPack, env: &TestEnv, expected: &[String]) {
    let called = calls(env, true);
    let rows = delete_derivable_rows(&mut env.sql());
    assert_eq!(expected, played.audits(), "{name}");
    let done = materialise_here(played, env);
    assert_eq!((done.refused, done.rows), (vec![], to_u64(rows)), "{name}");
    assert_eq!(expected, played.audits(), "{name}: after they were stored");
    assert_eq!(called, calls(env, true), "{name}: the log of model calls");
}

// Two databases per pack take their time on PostgreSQL. The derivation is the same there; columns and times are covered by any pack.
test_files! {
    compare: ["packs/demo", "packs/pipeline", "packs/recorded", "packs/tools", "packs/v1", "talks"],
    postgres_every: 6,
}

/// Plays a pack on a server that stores its audit and on one that derives it: their audits are equal.
fn compare(file: &str) {
    let case = read_case(file).unwrap();
    let (one, other) = (TestEnv::with_tables(), TestEnv::with_tables());
    let (stored, derives) = (PlayedPack::play(&case, &one, &[]), PlayedPack::play(&case, &other, &[DERIVED]));
    let expected = stored.audits();
    let rows = assert_same_audits(file, (&stored, &one), &expected, (&derives, &other));
    assert_eq!(rows == 0, SILENT.contains(&file), "{rows} rows");
    assert_derives_stored_rows(file, &stored, &one, &expected);
}

fn audit(server: &Server) -> String {
    server.get(&format!("/api/v1/conversation/audit/{ID}")).text
}

fn serve_derived(env: &TestEnv) -> Server {
    env.serve(&[&REGEX_ONLY[..], &["--set", DERIVED]].concat())
}

/// The time of a turn's message in the form of a command-line option.
fn message_time(env: &TestEnv, number: u32) -> String {
    let mut sql = env.sql();
    let millis = if sql.is_postgres() { "(extract(epoch from created_at) * 1000)::bigint::text" } else { "cast(created_at as text)" };
    sql.texts(&format!("select {millis} from ce_turn where number = {number}")).remove(0)
}

#[test]
fn rows_of_a_time_range_are_stored_while_a_server_runs() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = serve_derived(&env);
    for text in ["my order", "hello", "my order again"] {
        server.say(ID, text);
    }
    let before = audit(&server);
    let count = |sql: &str| env.sql().texts(sql)[0].parse::<usize>().unwrap();
    let rows = || count("select cast(count(*) as text) from ce_audit");
    assert_eq!(rows(), 0);
    let second = message_time(&env, 2);
    let output = materialise(&env, &["--from", &second, "--to", &message_time(&env, 3)]);
    let stored = rows();
    assert_eq!((output.code, output.stdout), (0, format!("materialised rows: {stored}, turns: 1\n")));
    assert!(stored > 10);
    assert_eq!(audit(&server), before);
    assert_eq!(env.run(&["replay", "--conversation", ID]).code, 0, "stored and derived turns");
    let output = materialise(&env, &["--to", &second]);
    assert!(output.stdout.ends_with(", turns: 1\n"), "{output:?}");
    server.say(ID, "and another one");
    let longer = audit(&server);
    assert!(longer.starts_with(before.strip_suffix(']').unwrap()), "existing rows stay");
    let output = materialise(&env, &[]);
    assert!(output.stdout.ends_with(", turns: 2\n"), "{output:?}");
    assert_eq!(audit(&server), longer);
    assert_eq!(
        count("select cast(count(distinct audit_id) as text) from ce_audit"),
        serde_json::from_str::<Vec<Value>>(&longer).unwrap().len()
    );
    assert_eq!(materialise(&env, &[]).stdout, "materialised rows: 0, turns: 0\n");
    assert_one_line(&materialise(&env, &["--from", "soon"]), 2, &["--from", "'soon'", "2026-01-31"]);
    drop(server);
    // A storing server continues after the reserved numbers.
    let server = env.serve(&REGEX_ONLY);
    server.say(ID, "once more");
    let all = audit(&server);
    assert!(all.starts_with(longer.strip_suffix(']').unwrap()));
    assert_eq!(env.run(&["replay", "--conversation", ID]).code, 0);
}

#[test]
fn a_turn_that_cannot_be_derived_is_reported_and_others_are_unaffected() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = serve_derived(&env);
    ["my order", "hello"].iter().for_each(|it| _ = server.say(ID, it));
    let before = server.audit(ID);
    change_journal(&env, 1, |it| it["input"]["event"]["text"] = json!("my borders"));
    let rows = server.audit(ID);
    assert_eq!(
        (&rows[0]["stage"], &rows[0]["auditId"], &rows[0]["createdAt"]),
        (&json!("AUDIT_NOT_DERIVABLE"), &json!(1), &before[0]["createdAt"])
    );
    let payload: Value = serde_json::from_str(rows[0]["payloadJson"].as_str().unwrap()).unwrap();
    assert_eq!(payload["turn"], 1);
    assert!(payload["reason"].as_str().unwrap().starts_with("its state hash is now sha256"), "{payload}");
    assert_eq!(rows[1..], before[before.len() - rows.len() + 1..], "the second turn is unchanged");
    let output = materialise(&env, &[]);
    assert_eq!((output.code, output.stdout), (1, format!("materialised rows: {}, turns: 1\n", rows.len() - 1)));
    assert!(["turn 1 ", ID, "sha256"].iter().all(|it| output.stderr.contains(it)), "{}", output.stderr);
    assert_eq!(server.audit(ID), rows, "the marker stays");
    env.sql().run("update ce_turn set config_hash = 'other'");
    let payload = server.audit(ID)[0]["payloadJson"].to_string();
    assert!(payload.contains("its configuration other is not in the database"), "{payload}");
    let corrupt = env.sql().bytes_literal("00ff");
    env.sql().run(&format!("update ce_turn set journal = {corrupt}"));
    let payload = server.audit(ID)[0]["payloadJson"].to_string();
    assert!(payload.contains("the journal cannot be read"), "{payload}");
}

fn parse_journal(hex: &str) -> Journal {
    let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(|index| u8::from_str_radix(&hex[index..index + 2], 16).unwrap()).collect();
    decompress(&bytes).unwrap()
}

fn store_journal(sql: &mut Sql, journal: &Journal, condition: &str) {
    let bytes = sql.bytes_literal(&compress(journal).unwrap().iter().map(|it| format!("{it:02x}")).collect::<String>());
    sql.run(&format!("update ce_turn set journal = {bytes} where {condition}"));
}

fn change_journal(env: &TestEnv, number: u32, change: impl FnOnce(&mut Value)) {
    let mut sql = env.sql();
    let hex = sql.hex_expression("journal");
    let hex = sql.texts(&format!("select {hex} from ce_turn where number = {number}")).remove(0);
    let mut journal = json!(parse_journal(&hex));
    change(&mut journal);
    store_journal(&mut sql, &serde_json::from_value(journal).unwrap(), &format!("number = {number}"));
}

#[test]
fn a_lost_turn_is_derived_up_to_its_divergence() {
    let case = demo("model_acts.json").unwrap();
    let env = TestEnv::new();
    let played = PlayedPack::play(&case, &env, &[DERIVED]);
    let id = played.conversations.first().unwrap().clone();
    drop(played);
    // The last turn is as a crash leaves it, and requested something else than this build requests.
    let last = env.sql().texts("select cast(max(number) as text) from ce_turn").remove(0).parse().unwrap();
    change_journal(&env, last, |it| it["entries"][0]["fingerprint"] = json!("other"));
    let before = if env.sql().is_postgres() { "now() - interval '1 second'" } else { "0" };
    env.sql()
        .run(&format!("update ce_turn set status = 'open', owner = 'gone', audit_id = null, lease_until = {before} where number = {last}"));
    let path = case.path.display().to_string();
    let server = env.serve(&["--llm", &format!("scripted:{path}"), "--set", DERIVED]);
    assert_eq!(
        server.post(json!({"conversationId": id, "message": "hello"}).to_string()).status,
        200,
        "the message waits for the lost turn"
    );
    assert_eq!(env.sql().texts(&format!("select status from ce_turn where number = {last}")), ["lost"]);
    let rows = server.audit(&id);
    assert!(rows.iter().any(|row| row["payloadJson"].as_str().unwrap().contains("TURN_LOST")), "{rows:#?}");
    assert!(rows.iter().all(|it| it["stage"] != "AUDIT_NOT_DERIVABLE"));
    let output = env.run(&["replay", "--conversation", &id]);
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(materialise(&env, &[]).code, 0);
    assert_eq!(server.audit(&id), rows);
}

#[test]
fn stored_rows_stay_when_a_deriving_server_takes_over_the_turn() {
    let case = demo("model_acts.json").unwrap();
    let env = TestEnv::new();
    let played = PlayedPack::play(&case, &env, &[]);
    let (id, stored) = (played.conversations.first().unwrap().clone(), played.audits());
    drop(played);
    let copy = env.copy();
    let mut sql = env.sql();
    let count = |sql: &mut Sql, query: &str| sql.texts(query).remove(0).parse::<usize>().unwrap();
    let last = count(&mut sql, "select cast(max(number) as text) from ce_turn");
    // Five notices of the last turn were audited when the server in mode IMMEDIATE died; the other turns have no stored rows.
    delete_derivable_rows(&mut copy.sql());
    let first = count(&mut copy.sql(), &format!("select cast(audit_id as text) from ce_turn where number = {last}"));
    let before = if sql.is_postgres() { "now() - interval '1 second'" } else { "0" };
    sql.run(&format!("delete from ce_audit where audit_id >= {first} + 5"));
    sql.run(&format!("update ce_turn set status = 'open', owner = 'gone', audited = 5, lease_until = {before} where number = {last}"));
    drop(sql);
    let path = case.path.display().to_string();
    let server = env.serve(&["--llm", &format!("scripted:{path}"), "--set", DERIVED]);
    // The message waits for the open turn.
    assert_eq!(server.post(json!({"conversationId": id, "message": "hello"}).to_string()).status, 200);
    let audit = || server.get(&format!("/api/v1/conversation/audit/{id}")).text;
    let derived = audit();
    let (stored, derived_rows) = (without_volatile(&stored[0]), without_volatile(&derived));
    let words = |row: &Value| (row["stage"].clone(), row["payloadJson"].clone());
    for (stored, derived) in stored.iter().zip(&derived_rows) {
        assert_eq!(words(stored), words(derived));
    }
    assert_eq!(env.run(&["replay", "--conversation", &id]).code, 0);
    assert_eq!(materialise(&env, &[]).code, 0);
    assert_eq!(audit(), derived);
    assert_eq!(env.run(&["replay", "--conversation", &id]).code, 0);
}
