//! Conversations whose turns leave no rows in the database. All on PostgreSQL, which servers and workers share.

use std::path::Path;

use convengine_core::pack::Pack;
use convengine_host_base::clock;
use convengine_player::{HttpPlayer, ServerOptions};
use convengine_test_macros::test;
use convengine_tests::{root, server_binary};
use serde_json::{Value, json};

use crate::access::key;
use crate::flows::{SIMULATED, Session, assert_refused, desk, save_draft, send};
use crate::harness::{Answer, MESSAGE, OPEN, REGEX_ONLY, SERVE, Server, TestEnv, assert_one_line, client, orders_pack, wait_until};
use crate::stream::{ID, Listener, command_for_slow, pack_with_progress};
use crate::stream_replay::assert_turn_is_resumed;
use crate::turn_cluster::{SharedNode, TurnCluster};

const OTHER: &str = "7c0f4a3e-6f0a-4f0e-9a53-6d3f0c1b2a08";

/// A day in milliseconds.
const DAY: i64 = 86_400_000;

const OMITTED: &str = "convengine.restate.conversation-rows=false";
const KEPT_FOR_30_DAYS: &str = "convengine.retention.conversations=30";

/// Conversations whose later turns need what earlier ones left: parameters, pending questions, history, memory.
const PACKS: [&str; 5] = [
    "demo/loan.json",
    "demo/help_desk.json",
    "pipeline/memory_takes_the_newest_turns.json",
    "pipeline/params_persist_and_per_turn_keys_drop.json",
    "pipeline/reset_forgets_history.json",
];

/// The number of rows of each table of conversations.
fn count_rows(env: &TestEnv) -> Vec<String> {
    let tables = ["ce_conversation", "ce_conversation_history", "ce_audit", "ce_turn", "ce_llm_call_log", "ce_memory"];
    tables.iter().flat_map(|table| env.sql().texts(&format!("select count(*)::text from {table}"))).collect()
}

/// The answers to the turns of a pack.
fn play(pack: &Pack, path: &Path, restate: bool) -> Vec<(u16, Value)> {
    let env = TestEnv::with_tables();
    let node = restate.then(SharedNode::get);
    let _turn = node.as_ref().map(|it| it.take_turn());
    let settings = node.iter().map(|_| OMITTED.to_owned()).collect();
    let has_rows = node.is_none();
    let restate = node.as_ref().map(|it| it.options(None));
    let program = restate.is_some().then(|| server_binary().unwrap());
    let options = ServerOptions { database: Some(env.database_url()), settings, restate, program };
    let mut player = HttpPlayer::start(pack, path, &options).unwrap();
    let played: Vec<_> = (0..pack.turns.len()).map(|turn| player.play(turn).unwrap()).map(|it| (it.status, it.json)).collect();
    assert_eq!(count_rows(&env).iter().any(|it| it != "0"), has_rows, "{}: {:?}", pack.name, count_rows(&env));
    played
}

#[test]
#[on(postgres)]
fn conversations_without_rows_are_answered_as_those_with_rows() {
    let _node = SharedNode::get();
    for name in PACKS {
        let path = root().join("tests/packs").join(name);
        let pack = Pack::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let (with_rows, without) = (play(&pack, &path, false), play(&pack, &path, true));
        assert!(with_rows.len() > 1 && with_rows.iter().any(|it| it.0 == 200), "{name}: {with_rows:?}");
        assert_eq!(with_rows, without, "{name}");
    }
}

/// Sends a message as a user of an app, under an idempotency key.
fn say_as(server: &Server, app: &str, [user, idempotency]: [&str; 2], conversation: &str, text: &str) -> Answer {
    let own = [("X-API-Key", app), ("X-Convengine-Owner", user), ("Idempotency-Key", idempotency)];
    let headers = [&own[..], &[("Content-Type", "application/json")]].concat();
    server.request("POST", MESSAGE, &headers, json!({"conversationId": conversation, "message": text}).to_string())
}

/// The key of an app that names its users.
fn app_key(env: &TestEnv) -> String {
    key(env, &["--scope", "converse", "--owner-claim"])
}

/// When conversations look whether they are idle: their ids, and days from when that was decided.
fn list_expiries(cluster: &TurnCluster) -> Vec<(String, i64)> {
    let calls = cluster.query("select * from sys_invocation where target_handler_name = 'expire'");
    let at = |call: &Value, name: &str| clock::parse(call[name].as_str().unwrap()).unwrap();
    let expiry = |call: &Value| {
        let delay = at(call, "scheduled_start_at") - at(call, "created_at");
        (call["target_service_key"].as_str().unwrap().to_owned(), (delay + DAY / 2) / DAY)
    };
    calls.as_array().unwrap().iter().map(expiry).collect()
}

#[test]
#[on(postgres)]
fn a_conversation_without_rows_has_an_owner_and_one_answer_a_key() {
    let env = TestEnv::with_pack(&orders_pack());
    let (app, reader) = (app_key(&env), key(&env, &["--scope", "read"]));
    let settings = [OMITTED, "convengine.retention.conversations=365"];
    let mut server = env.start_on_restate(&mut env.command(&[&SERVE[..], &REGEX_ONLY].concat()), &settings);
    let mut cluster = server.cluster.take().unwrap();
    let say = |user: &str, idempotency: &str, text: &str| say_as(&server, &app, [user, idempotency], ID, text);
    let first = say("u1", "a", "my order");
    assert_eq!(first.status, 200, "{first:?}");
    assert_eq!(list_expiries(&cluster), [(ID.to_owned(), 365)]);
    assert_eq!(say("u1", "a", "my order").json(), first.json());
    let other = say("u1", "a", "my other order");
    assert_eq!(other.status, 422, "{other:?}");
    for _ in 0..2 {
        assert_eq!(say("u2", "b", "my order").status, 404, "a refusal is repeated");
    }
    // A worker whose conversations are kept for less.
    let listen = format!("convengine.restate.listen={}", cluster.stop_worker().trim_start_matches("http://"));
    cluster.start_worker(&[OMITTED, KEPT_FOR_30_DAYS, &listen]);
    assert_eq!(say("u1", "c", "my order").status, 200);
    assert_eq!(say("u1", "d", "my order").status, 200);
    assert!(wait_until(|| list_expiries(&cluster) == [(ID.to_owned(), 30)]), "{:?}", list_expiries(&cluster));
    assert_eq!(count_rows(&env), ["0"; 6]);
    let audit = server.request("GET", &format!("/api/v1/conversation/audit/{ID}"), &[("X-API-Key", &reader)], "");
    assert_eq!((audit.status, audit.json()), (200, json!([])), "as of an unknown conversation");
    assert_eq!(env.sql().texts("select conversation_id::text from cv_conversation_owner"), [ID]);
    let ingress = cluster.nodes.ingress_setting();
    let of_person = ["forget", "--person", "customerId=C-17", "--set", &ingress];
    assert_one_line(&env.run(&[&of_person[..], &["--set", OMITTED]].concat()), 1, &["conversation-rows=false", "nothing was deleted"]);
    assert_one_line(&env.run(&of_person), 1, &[ID, "no rows to search in", "nothing was deleted"]);
    let forgotten = env.run(&["forget", "--conversation", ID, "--set", &ingress]);
    assert_eq!((forgotten.code, forgotten.stdout.as_str()), (0, "deleted conversations: 1\n"), "{forgotten:?}");
    assert_eq!(env.sql().texts("select conversation_id::text from cv_conversation_owner"), [""; 0]);
    assert!(wait_until(|| list_expiries(&cluster).is_empty()), "{:?}", list_expiries(&cluster));
    assert_eq!(env.run(&["forget", "--conversation", ID, "--set", &ingress]).code, 4);
    assert_one_line(&env.run(&of_person), 4, &["nothing was deleted"]);
    assert_eq!(say("u2", "e", "my order").status, 200, "it is a new conversation");
}

/// Asks the objects of conversations whether they have been idle for too long; returns those that still have state.
fn expire(cluster: &TurnCluster, conversations: &[&str]) -> Value {
    let setting = cluster.nodes.ingress_setting();
    let (_, address) = setting.split_once('=').unwrap();
    for conversation in conversations {
        let answer = client().post(format!("{address}/Conversation/{conversation}/expire")).json(&Value::Null).send().unwrap();
        assert!(answer.status().is_success(), "{answer:?}");
    }
    cluster.query("select distinct service_key as id from state")
}

#[test]
#[on(postgres)]
fn an_idle_conversation_without_rows_is_deleted() {
    let turn = |conversation: &str, day: i64| {
        let request = json!({"method": "POST", "path": MESSAGE, "body": {"conversationId": conversation, "message": "my order"}});
        json!({"at": 1_600_000_000_000 + day * DAY, "request": request})
    };
    let mut pack = orders_pack();
    pack["turns"] = json!([turn(ID, 0), turn(OTHER, 29), turn(OTHER, 31)]);
    let env = TestEnv::with_pack(&pack);
    let app = app_key(&env);
    let llm = format!("scripted:{}", env.path("pack.json").display());
    let mut command = env.command(&[&SERVE[..], &REGEX_ONLY, &["--llm", &llm]].concat());
    let server = env.start_on_restate(&mut command, &[OMITTED, KEPT_FOR_30_DAYS]);
    let cluster = server.cluster.as_ref().unwrap();
    let say = |conversation: &str, key: &str| {
        let answer = say_as(&server, &app, ["u1", key], conversation, "my order");
        assert_eq!(answer.status, 200, "{answer:?}");
    };
    say(ID, "a");
    say(OTHER, "b");
    assert_eq!(expire(cluster, &[ID, OTHER]).as_array().unwrap().len(), 2, "on day 29");
    say(OTHER, "c");
    assert_eq!(expire(cluster, &[ID, OTHER]), json!([{"id": OTHER}]), "on day 31");
    assert_eq!(env.sql().texts("select conversation_id::text from cv_conversation_owner"), [OTHER]);
}

#[test]
#[on(postgres)]
fn a_stream_that_is_opened_again_during_a_turn_has_its_past_events() {
    for settings in [&[][..], &[OMITTED]] {
        let env = TestEnv::with_pack(&pack_with_progress());
        let server = env.start_on_restate(&mut command_for_slow(&env, "normal"), settings);
        assert_turn_is_resumed(&server);
        let (mut listener, is_resumed) = Listener::open_after(&server, &format!("{OTHER}:0"));
        assert!(!is_resumed, "the event is of no turn");
        server.say(ID, "hello");
        assert_eq!(listener.next().unwrap().seq(), 0, "the events of the next turn from the first on");
    }
}

#[test]
#[on(postgres)]
fn sessions_keep_their_rows() {
    let env = TestEnv::with_pack(&orders_pack());
    let mut command = env.command(&[&SERVE[..], &REGEX_ONLY, &OPEN].concat());
    let server = env.start_on_restate(&mut command, &[OMITTED]);
    save_draft(&server, &desk("Desk"));
    let (session, _) = Session::start_simulated(&server, &json!({}));
    session.say(&server, "more please");
    assert_eq!(session.assert_replays(&env, &server), 2);
    server.say(ID, "my order");
    assert_refused(&send(&server, "POST", SIMULATED, &json!({"session_id": ID})), 409, "session_exists");
}
