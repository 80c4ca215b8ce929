//! Audit rows that are derived are those that would have been stored, byte for byte.

use std::collections::BTreeSet;

use convengine_server::play::{Around, PackServer};
use convengine_server::store::turn::{compress, decompress};
use convengine_tests::{Case, binary, corpus, demo, root};
use reqwest::blocking::Client;
use serde_json::{Value, json};

use crate::database::Sql;
use crate::running::{Place, Ran, Server, WORDS_ALONE, client, one_line, orders};

const ID: &str = "5b1f9a52-8f0e-4c3e-8a53-1c9f0c1b2a11";
const DERIVED: &str = "convengine.audit.persistence.mode=DERIVED";

/// A pack's server, and the conversations held with it.
struct Held {
    server: PackServer,
    client: Client,
    conversations: BTreeSet<String>,
}

impl Held {
    /// Plays the pack's turns, whatever they are answered.
    fn with(case: &Case, place: &Place, set: &[&str]) -> Held {
        let set = set.iter().map(|it| (*it).to_owned()).collect();
        let around = Around { database: Some(place.database()), set };
        let server = PackServer::start(&case.pack, &binary().unwrap(), &case.path, &around).unwrap();
        let mut held = Held { server, client: client(), conversations: BTreeSet::new() };
        for turn in held.server.pack().turns.clone() {
            if let Some(sql) = turn.admin_sql.as_ref().and_then(Value::as_str) {
                place.sql().run(sql);
            }
            let Some(request) = turn.request else { continue };
            let mut call = held.client.request(request.method.parse().unwrap(), format!("{}{}", held.server.address(), request.path));
            if request.body != Value::Null {
                let body = request.body.as_str().map_or_else(|| request.body.to_string(), str::to_owned);
                call = call.header("Content-Type", request.content_type.as_deref().unwrap_or("application/json")).body(body);
            }
            let answer: Value = serde_json::from_str(&call.send().unwrap().text().unwrap()).unwrap_or_default();
            let id = |it: &Value| it["conversationId"].as_str().map(str::to_lowercase);
            held.conversations.extend(id(&answer).or(id(&request.body)));
        }
        held
    }

    /// What the audit endpoint answers for every conversation.
    fn audits(&self) -> Vec<String> {
        let audit = |id: &String| {
            let answer = self.client.get(format!("{}/api/v1/conversation/audit/{id}", self.server.address())).send().unwrap();
            answer.text().unwrap()
        };
        self.conversations.iter().map(audit).collect()
    }
}

/// Takes the stored rows away and leaves what a turn of the mode DERIVED leaves; answers how many there were.
fn forget_rows(sql: &mut Sql) -> usize {
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
    sql.run("delete from ce_audit");
    let later =
        "select 1 from ce_turn n where n.conversation_id = t.conversation_id and n.number > t.number and l.created_at >= n.created_at";
    sql.run(&format!(
        "delete from ce_llm_call_log as l where exists (select 1 from ce_turn t where t.conversation_id = l.conversation_id
           and t.audit_id is not null and l.created_at >= t.created_at and not exists ({later}))"
    ));
    count
}

/// The log of model calls.
fn calls(place: &Place) -> Vec<String> {
    place.sql().texts(
        "select concat_ws('|', cast(conversation_id as text), intent_code, state_code, provider, model, prompt_text,
           cast(user_context as text), cast(response_text as text), cast(success as text), error_message, cast(created_at as text),
           input_tokens, output_tokens, cost_micros) as call
         from ce_llm_call_log order by call",
    )
}

fn materialise(place: &Place, range: &[&str]) -> Ran {
    place.run(&[&["audit", "materialise"], range].concat())
}

#[test]
fn every_pack_s_audit_is_the_same_derived_as_stored() {
    let cases = corpus().unwrap();
    let compare = |case: &Case| {
        let place = Place::new();
        let held = Held::with(case, &place, &[]);
        let (stored, called) = (held.audits(), calls(&place));
        let rows = forget_rows(&mut place.sql());
        let derived = held.audits();
        let name = case.path.display();
        assert_eq!(stored, derived, "{name}");
        let ran = materialise(&place, &[]);
        let words = format!("materialised {rows} rows of ");
        assert!(ran.code == 0 && ran.out.starts_with(&words), "{name}: {words}: {ran:?}");
        assert_eq!(stored, held.audits(), "{name}: after they were stored");
        assert_eq!(called, calls(&place), "{name}: the log of model calls");
        rows
    };
    let (left, right) = cases.split_at(cases.len() / 2);
    let rows = std::thread::scope(|scope| {
        let other = scope.spawn(|| right.iter().map(compare).sum::<usize>());
        left.iter().map(compare).sum::<usize>() + other.join().unwrap()
    });
    assert!(rows > 10_000, "only {rows} rows were compared");
}

/// Takes out what no two runs agree on: times and durations, of which some stand in texts.
fn masked(audit: &str) -> Vec<Value> {
    let rows: Vec<Value> = serde_json::from_str(audit).unwrap();
    rows.iter().map(convengine_tests::soak::left::masked).collect()
}

#[test]
fn a_server_that_derives_answers_what_one_that_stores_answers() {
    let pipeline = |name: &str| root().join("tests/packs/pipeline").join(name);
    let failing =
        ["policy_llm_no_usable_reply.json", "policy_blocked_then_running.json", "audit_level_error_only.json", "audit_level_none.json"];
    let mut cases = vec![demo("help_desk.json").unwrap(), demo("loan.json").unwrap(), demo("model_acts.json").unwrap()];
    cases.extend(corpus().unwrap().into_iter().filter(|it| failing.iter().any(|name| it.path == pipeline(name))));
    assert_eq!(cases.len(), 7);
    for case in &cases {
        let (one, other) = (Place::new(), Place::new());
        let stored = Held::with(case, &one, &[]).audits();
        let logged = calls(&one).len();
        let held = Held::with(case, &other, &[DERIVED]);
        assert_eq!(other.sql().texts("select cast(count(*) as text) from ce_audit"), ["0"], "{}", case.path.display());
        let without_rows = other.sql().texts("select cast(count(*) as text) from ce_turn where audit_id is null")[0] != "0";
        assert!(calls(&other).is_empty() || without_rows, "{}: {:?}", case.path.display(), calls(&other));
        let derived = held.audits();
        assert_eq!(stored.len(), derived.len());
        for (stored, derived) in stored.iter().zip(&derived) {
            let (stored, derived) = (masked(stored), masked(derived));
            assert_eq!(stored.len(), derived.len(), "{}", case.path.display());
            stored.iter().zip(&derived).for_each(|(stored, derived)| assert_eq!(stored, derived, "{}", case.path.display()));
        }
        let turns = other.sql().texts("select cast(count(*) as text) from ce_turn where audit_id is not null")[0].clone();
        let ran = materialise(&other, &[]);
        assert!(ran.code == 0 && ran.out.ends_with(&format!(" rows of {turns} turns\n")), "{turns}: {ran:?}");
        assert_eq!(held.audits(), derived, "{}: after they were stored", case.path.display());
        assert_eq!(calls(&other).len(), logged, "{}", case.path.display());
    }
}

fn audit(server: &Server) -> String {
    server.get(&format!("/api/v1/conversation/audit/{ID}")).text
}

fn deriving(place: &Place) -> Server {
    place.serve(&[&WORDS_ALONE[..], &["--set", DERIVED]].concat())
}

/// The time of a turn's message as an option takes it.
fn time_of(place: &Place, number: u32) -> String {
    let mut sql = place.sql();
    let millis = if sql.is_postgres() { "(extract(epoch from created_at) * 1000)::bigint::text" } else { "cast(created_at as text)" };
    sql.texts(&format!("select {millis} from ce_turn where number = {number}")).remove(0)
}

#[test]
fn rows_of_a_time_range_are_stored_while_a_server_runs() {
    let place = Place::with(&orders());
    let server = deriving(&place);
    for text in ["my order", "hello", "my order again"] {
        server.say(ID, text);
    }
    let before = audit(&server);
    let count = |sql: &str| place.sql().texts(sql)[0].parse::<usize>().unwrap();
    let rows = || count("select cast(count(*) as text) from ce_audit");
    assert_eq!(rows(), 0);
    let second = time_of(&place, 2);
    let ran = materialise(&place, &["--from", &second, "--to", &time_of(&place, 3)]);
    let stored = rows();
    assert_eq!((ran.code, ran.out), (0, format!("materialised {stored} rows of 1 turns\n")));
    assert!(stored > 10);
    assert_eq!(audit(&server), before);
    assert_eq!(place.run(&["replay", "--conversation", ID]).code, 0, "stored and derived turns");
    let ran = materialise(&place, &["--to", &second]);
    assert!(ran.out.ends_with(" rows of 1 turns\n"), "{ran:?}");
    server.say(ID, "and another one");
    let longer = audit(&server);
    assert!(longer.starts_with(before.strip_suffix(']').unwrap()), "what was there stays");
    let ran = materialise(&place, &[]);
    assert!(ran.out.ends_with(" rows of 2 turns\n"), "{ran:?}");
    assert_eq!(audit(&server), longer);
    assert_eq!(
        count("select cast(count(distinct audit_id) as text) from ce_audit"),
        serde_json::from_str::<Vec<Value>>(&longer).unwrap().len()
    );
    assert_eq!(materialise(&place, &[]).out, "materialised 0 rows of 0 turns\n");
    one_line(&materialise(&place, &["--from", "soon"]), 2, &["--from", "'soon'", "2026-01-31"]);
    drop(server);
    // A server that stores goes on behind the numbers that were kept.
    let server = place.serve(&WORDS_ALONE);
    server.say(ID, "once more");
    let all = audit(&server);
    assert!(all.starts_with(longer.strip_suffix(']').unwrap()));
    assert_eq!(place.run(&["replay", "--conversation", ID]).code, 0);
}

#[test]
fn a_turn_that_cannot_be_derived_says_so_and_leaves_the_others() {
    let place = Place::with(&orders());
    let server = deriving(&place);
    ["my order", "hello"].iter().for_each(|it| _ = server.say(ID, it));
    let before = server.audit(ID);
    change_journal(&place, 1, |it| it["input"]["event"]["text"] = json!("my borders"));
    let rows = server.audit(ID);
    assert_eq!(
        (&rows[0]["stage"], &rows[0]["auditId"], &rows[0]["createdAt"]),
        (&json!("AUDIT_NOT_DERIVABLE"), &json!(1), &before[0]["createdAt"])
    );
    let payload: Value = serde_json::from_str(rows[0]["payloadJson"].as_str().unwrap()).unwrap();
    assert_eq!(payload["turn"], 1);
    assert!(payload["reason"].as_str().unwrap().starts_with("it runs differently now: sha256 "), "{payload}");
    assert_eq!(rows[1..], before[before.len() - rows.len() + 1..], "the second turn is as it was");
    let ran = materialise(&place, &[]);
    assert_eq!((ran.code, ran.out), (1, format!("materialised {} rows of 1 turns\n", rows.len() - 1)));
    assert!(["turn 1 ", ID, "sha256"].iter().all(|it| ran.err.contains(it)), "{}", ran.err);
    assert_eq!(server.audit(ID), rows, "it still says so");
    place.sql().run("update ce_turn set config_hash = 'other'");
    let payload = server.audit(ID)[0]["payloadJson"].to_string();
    assert!(payload.contains("its configuration other is not in the database"), "{payload}");
    let torn = place.sql().bytes("00ff");
    place.sql().run(&format!("update ce_turn set journal = {torn}"));
    let payload = server.audit(ID)[0]["payloadJson"].to_string();
    assert!(payload.contains("the journal cannot be read"), "{payload}");
    place.sql().run("delete from ce_conversation");
    assert_eq!(
        server.audit(ID).len(),
        if place.sql().is_postgres() { 0 } else { rows.len() - 1 },
        "what is derived goes with the conversation"
    );
}

/// Changes a turn's journal as JSON.
fn change_journal(place: &Place, number: u32, change: impl FnOnce(&mut Value)) {
    let mut sql = place.sql();
    let hex = sql.hex("journal");
    let hex = sql.texts(&format!("select {hex} from ce_turn where number = {number}")).remove(0);
    let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(|it| u8::from_str_radix(&hex[it..it + 2], 16).unwrap()).collect();
    let mut journal = json!(decompress(&bytes).unwrap());
    change(&mut journal);
    let journal = compress(&serde_json::from_value(journal).unwrap()).unwrap();
    let bytes = sql.bytes(&journal.iter().map(|it| format!("{it:02x}")).collect::<String>());
    sql.run(&format!("update ce_turn set journal = {bytes} where number = {number}"));
}

#[test]
fn a_turn_that_was_lost_is_told_up_to_where_it_was() {
    let case = demo("model_acts.json").unwrap();
    let place = Place::new();
    let held = Held::with(&case, &place, &[DERIVED]);
    let id = held.conversations.first().unwrap().clone();
    drop(held);
    // The last turn is as a crash leaves it, and asked something else than this build asks.
    let last = place.sql().texts("select cast(max(number) as text) from ce_turn").remove(0).parse().unwrap();
    change_journal(&place, last, |it| it["entries"][0]["fingerprint"] = json!("other"));
    let before = if place.sql().is_postgres() { "now() - interval '1 second'" } else { "0" };
    place
        .sql()
        .run(&format!("update ce_turn set status = 'open', owner = 'gone', audit_id = null, lease_until = {before} where number = {last}"));
    let path = case.path.display().to_string();
    let server = place.serve(&["--llm", &format!("scripted:{path}"), "--set", DERIVED]);
    assert_eq!(server.post(json!({"conversationId": id, "message": "hello"}).to_string()).status, 200, "it waits for the lost one");
    assert_eq!(place.sql().texts(&format!("select status from ce_turn where number = {last}")), ["lost"]);
    let rows = server.audit(&id);
    assert!(rows.iter().any(|it| it["payloadJson"].as_str().unwrap().contains("TURN_LOST")), "{rows:#?}");
    assert!(rows.iter().all(|it| it["stage"] != "AUDIT_NOT_DERIVABLE"));
    let ran = place.run(&["replay", "--conversation", &id]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(materialise(&place, &[]).code, 0);
    assert_eq!(server.audit(&id), rows);
}

#[test]
fn rows_that_are_stored_already_stay_when_a_server_that_derives_takes_the_turn_over() {
    let case = demo("model_acts.json").unwrap();
    let place = Place::new();
    let held = Held::with(&case, &place, &[]);
    let (id, stored) = (held.conversations.first().unwrap().clone(), held.audits());
    drop(held);
    // Before anybody is connected with it.
    let copy = place.copy();
    let mut sql = place.sql();
    let count = |sql: &mut Sql, query: &str| sql.texts(query).remove(0).parse::<usize>().unwrap();
    let last = count(&mut sql, "select cast(max(number) as text) from ce_turn");
    // Five notices of the last turn were audited when the server of the mode IMMEDIATE died; the others are as if never stored.
    forget_rows(&mut copy.sql());
    let first = count(&mut copy.sql(), &format!("select cast(audit_id as text) from ce_turn where number = {last}"));
    let before = if sql.is_postgres() { "now() - interval '1 second'" } else { "0" };
    sql.run(&format!("delete from ce_audit where audit_id >= {first} + 5"));
    sql.run(&format!("update ce_turn set status = 'open', owner = 'gone', audited = 5, lease_until = {before} where number = {last}"));
    drop(sql);
    let path = case.path.display().to_string();
    let server = place.serve(&["--llm", &format!("scripted:{path}"), "--set", DERIVED]);
    assert_eq!(server.post(json!({"conversationId": id, "message": "hello"}).to_string()).status, 200, "it waits for the open one");
    let audit = || server.get(&format!("/api/v1/conversation/audit/{id}")).text;
    let derived = audit();
    let (stored, derived_rows) = (masked(&stored[0]), masked(&derived));
    let words = |it: &Value| (it["stage"].clone(), it["payloadJson"].clone());
    for (stored, derived) in stored.iter().zip(&derived_rows) {
        assert_eq!(words(stored), words(derived));
    }
    assert_eq!(place.run(&["replay", "--conversation", &id]).code, 0);
    assert_eq!(materialise(&place, &[]).code, 0);
    assert_eq!(audit(), derived);
    assert_eq!(place.run(&["replay", "--conversation", &id]).code, 0);
}
