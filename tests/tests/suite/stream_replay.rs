//! Listeners that reconnect, and listeners at another process: they receive what a permanent listener receives.

use std::thread;
use std::time::Duration;

use convengine_test_macros::test;
use serde_json::{Value, json};
use sqlx::postgres::PgListener;
use tokio::runtime::Builder;

use crate::harness::{REGEX_ONLY, Server, TestEnv, wait_until};
use crate::stream::{Event, ID, Listener, pack_with_progress, path, serve_slow, stored_rows};

/// A pack with progress messages, with messages that are blocked and messages that fail.
fn eventful() -> Value {
    let mut pack = pack_with_progress();
    pack["tables"]["ce_policy"] =
        json!([{"policy_id": 1, "rule_type": "CONTAINS", "pattern": "secret", "response_text": "No.", "priority": 1}]);
    pack["tables"]["ce_intent"].as_array_mut().unwrap().push(json!({"intent_code": "MUTE", "description": "Has no answer"}));
    let mute = json!({"classifier_id": 3, "rule_type": "CONTAINS", "pattern": "mute", "intent_code": "MUTE", "priority": 1});
    pack["tables"]["ce_intent_classifier"].as_array_mut().unwrap().push(mute);
    pack["tables"]["ce_response"].as_array_mut().unwrap().retain(|it| it["intent_code"] != "UNKNOWN");
    pack
}

/// Whether this is the last event of its turn.
fn ends_turn(event: &Event) -> bool {
    event.name == "ENGINE_RETURN" && event.data["payload"]["success"].is_boolean()
        || event.name == "STEP_EXIT" && event.data["payload"]["step"] == "PipelineEndGuardStep"
}

/// The events without progress texts, which replays of ended turns leave out.
fn without_progress(events: &[Event]) -> Vec<Event> {
    events.iter().filter(|it| it.name != "VERBOSE").cloned().collect()
}

/// Sends a message and receives the events of its turn.
fn run_turn(server: &Server, listener: &mut Listener, text: &str) -> Vec<Event> {
    server.say(ID, text);
    listener.until(ends_turn)
}

/// Asserts that the events are those of whole turns.
#[track_caller]
fn assert_whole_turns(events: &[Event]) {
    let mut from = 0;
    for (index, event) in events.iter().enumerate() {
        assert_eq!(event.seq(), index - from, "{} {}", event.id, event.name);
        assert_eq!(event.turn(), events[from].turn());
        if ends_turn(event) {
            from = index + 1;
        }
    }
    assert_eq!(from, events.len(), "the last turn has no end");
}

#[test]
fn a_reconnecting_listener_receives_the_rest_and_continues() {
    let env = TestEnv::with_pack(&eventful());
    let server = env.serve(&REGEX_ONLY);
    let mut listener = Listener::open(&server);
    let mut all = Vec::new();
    for text in ["my order", "a secret", "I am mute", "my other order"] {
        all.extend(run_turn(&server, &mut listener, text));
    }
    assert_whole_turns(&all);
    let failed = all.iter().map(|it| it.data["payload"]["success"].clone()).filter(Value::is_boolean);
    assert_eq!(failed.collect::<Vec<_>>(), [true, false], "a block and a failure");
    assert!(all.iter().any(|it| it.name == "VERBOSE"));
    drop((listener, server));
    // Another process knows only what is stored of them.
    let server = env.serve(&REGEX_ONLY);
    let cuts: Vec<usize> = (0..all.len()).step_by(7).chain([all.len() - 1]).collect();
    let mut listeners: Vec<(usize, Listener)> = Vec::new();
    for cut in cuts {
        let (mut listener, resumed) = Listener::open_after(&server, &all[cut].id);
        assert!(resumed);
        let rest = without_progress(&all[cut + 1..]);
        assert_eq!(listener.take(rest.len()), rest, "after {}", all[cut].id);
        listeners.push((cut, listener));
    }
    let (_, first) = Listener::open_path(&server, &format!("{}?lastEventId={}", path(ID), all[3].id), None);
    assert_eq!(first.data["resumed"], true, "a client that cannot send headers");
    let mut live = Listener::open(&server);
    let next = run_turn(&server, &mut live, "hello");
    for (cut, mut listener) in listeners {
        assert_eq!(listener.take(next.len()), next, "{cut}");
    }
}

#[test]
fn a_listener_reconnecting_during_a_turn_receives_its_past_events() {
    let env = TestEnv::with_pack(&pack_with_progress());
    assert_turn_is_resumed(&serve_slow(&env, "normal"));
}

/// Reconnects to a server of [`serve_slow`] while a turn runs, after each event and without one.
pub fn assert_turn_is_resumed(server: &Server) {
    let mut listener = Listener::open(server);
    thread::scope(|scope| {
        let running = scope.spawn(|| server.say(ID, "my order"));
        let before = listener.until(|event| event.name == "DIALOGUE_ACT_LLM_INPUT");
        let mut back: Vec<Listener> = Vec::new();
        for known in 0..before.len() {
            let (mut listener, resumed) = Listener::open_after(server, &before[known].id);
            assert!(resumed);
            assert_eq!(listener.take(before.len() - known - 1), before[known + 1..]);
            back.push(listener);
        }
        assert!(!running.is_finished(), "the model has not answered yet");
        let mut late = Listener::open(server);
        let rest = listener.until(ends_turn);
        for mut listener in back {
            assert_eq!(listener.take(rest.len()), rest);
        }
        assert_eq!(late.take(rest.len()), rest, "a listener without an id receives the events from now on");
        assert_whole_turns(&[before, rest].concat());
    });
}

#[test]
fn an_unknown_event_id_starts_the_stream_from_now() {
    let env = TestEnv::with_pack(&pack_with_progress());
    let server = env.serve(&REGEX_ONLY);
    let other = "7c0f4a3e-6f0a-4f0e-9a53-6d3f0c1b2a08";
    let (mut of_other, _) = Listener::open_path(&server, &path(other), None);
    server.say(other, "my order");
    let foreign = of_other.until(ends_turn);
    server.say(ID, "my order");
    let unknown = format!("{other}:0");
    for id in ["x", ":", "x:0", &unknown, &foreign[0].id, &format!("{}:x", foreign[0].turn())] {
        let (mut listener, resumed) = Listener::open_after(&server, id);
        assert!(!resumed, "{id}");
        let events = run_turn(&server, &mut listener, "hello");
        assert_whole_turns(&events);
    }
}

#[test]
fn a_listener_gone_for_too_long_is_not_resumed() {
    let env = TestEnv::with_pack(&pack_with_progress());
    let server = env.serve(&REGEX_ONLY);
    let mut listener = Listener::open(&server);
    let turns: Vec<Vec<Event>> = (0..35).map(|turn| run_turn(&server, &mut listener, &format!("order {turn}"))).collect();
    for (from, fits) in [(0, false), (1, false), (2, true)] {
        let (mut listener, resumed) = Listener::open_after(&server, &turns[from].last().unwrap().id);
        assert_eq!(resumed, fits, "{from}");
        if resumed {
            let missed = without_progress(&turns[from + 1..].concat());
            assert_eq!(listener.take(missed.len()), missed);
        }
    }
}

#[test]
fn a_turn_that_cannot_be_replayed_has_one_event_in_its_place() {
    let env = TestEnv::with_pack(&pack_with_progress());
    let server = env.serve(&REGEX_ONLY);
    let mut listener = Listener::open(&server);
    let turns: Vec<Vec<Event>> = (0..3).map(|_| run_turn(&server, &mut listener, "my order")).collect();
    env.sql().run("update ce_turn set state_hash = 'another' where number = 2");
    let (mut listener, resumed) = Listener::open_after(&server, &turns[0].last().unwrap().id);
    assert!(resumed);
    let gap = listener.next().unwrap();
    assert_eq!((gap.turn(), gap.name.as_str()), (turns[1][0].turn(), "AUDIT_NOT_DERIVABLE"));
    assert_eq!(gap.data["payload"]["turn"], 2);
    let last = without_progress(&turns[2]);
    assert_eq!(listener.take(last.len()), last);
    let (mut listener, resumed) = Listener::open_after(&server, &gap.id);
    assert!(resumed);
    assert_eq!(listener.take(last.len()), last, "it is published once");
}

/// Receives this many turns over connections that break every few events.
fn listen_with_reconnects(server: &Server, turns: usize, mut after: String) -> Vec<Event> {
    let mut received: Vec<Event> = Vec::new();
    for patience in [1, 17, 3, 40, 9].into_iter().cycle() {
        let (mut listener, resumed) = Listener::open_after(server, &after);
        assert!(resumed, "{after}");
        for _ in 0..patience {
            received.push(listener.next().expect("the stream has ended"));
            if received.iter().filter(|it| ends_turn(it)).count() == turns {
                return received;
            }
        }
        after.clone_from(&received.last().unwrap().id);
    }
    received
}

/// Runs turns at one server, with a permanent listener there and reconnecting listeners at another.
fn listen_during_turns(at: &Server, listen_at: &Server) {
    const TURNS: usize = 24;
    let mut steady = Listener::open(at);
    let first = run_turn(at, &mut steady, "my order");
    let after = first.last().unwrap().id.clone();
    thread::scope(|scope| {
        let reconnecting: Vec<_> = (0..3).map(|_| scope.spawn(|| listen_with_reconnects(listen_at, TURNS, after.clone()))).collect();
        let published: Vec<Event> = (0..TURNS).flat_map(|turn| run_turn(at, &mut steady, &format!("order {turn}"))).collect();
        assert_whole_turns(&published);
        for received in reconnecting {
            let (received, published) = (without_progress(&received.join().unwrap()), without_progress(&published));
            let different = received.iter().zip(&published).position(|(received, published)| received != published);
            assert_eq!((different, received.len()), (None, published.len()), "{:?}", different.map(|at| (&received[at], &published[at])));
        }
    });
}

#[test]
fn reconnecting_listeners_receive_every_event_exactly_once() {
    let env = TestEnv::with_pack(&pack_with_progress());
    let server = env.serve(&REGEX_ONLY);
    listen_during_turns(&server, &server);
}

/// Two servers on one database of PostgreSQL.
fn two_servers(env: &TestEnv) -> [Server; 2] {
    [env.serve(&REGEX_ONLY), env.serve(&REGEX_ONLY)]
}

#[test]
#[on(postgres)]
fn listeners_at_another_process_receive_the_same() {
    let env = TestEnv::with_pack(&eventful());
    let [one, other] = two_servers(&env);
    let (mut near, mut far) = (Listener::open(&one), Listener::open(&other));
    for text in ["my order", "a secret", "I am mute", &format!("a long order {}", "🙂".repeat(9_000))] {
        let published = run_turn(&one, &mut near, text);
        assert_eq!(far.take(published.len()), published, "{}", &text[..8]);
        assert_whole_turns(&published);
    }
    // Also in the other direction, and events outside of turns.
    let published = run_turn(&other, &mut far, "hello");
    assert_eq!(near.take(published.len()), published);
    let body = json!({"conversationId": ID, "feedbackType": "THUMBS_UP", "messageId": "1", "assistantResponse": "x"});
    let answer = one.request("POST", "/api/v1/conversation/feedback", &[("Content-Type", "application/json")], body.to_string());
    assert_eq!(answer.status, 200, "{answer:?}");
    let (here, there) = (near.next().unwrap(), far.next().unwrap());
    assert_eq!((here.name.as_str(), &here), ("MCP_USER_FEEDBACK", &there));
}

#[test]
#[on(postgres)]
fn reconnecting_listeners_at_another_process_miss_nothing() {
    let env = TestEnv::with_pack(&pack_with_progress());
    let [one, other] = two_servers(&env);
    listen_during_turns(&one, &other);
}

#[test]
#[on(postgres)]
fn a_turn_that_runs_at_another_process_is_published_from_its_beginning() {
    let env = TestEnv::with_pack(&pack_with_progress());
    let (one, other) = (serve_slow(&env, "normal"), env.serve(&REGEX_ONLY));
    let mut near = Listener::open(&one);
    thread::scope(|scope| {
        let running = scope.spawn(|| one.say(ID, "my order"));
        let before = near.until(|event| event.name == "DIALOGUE_ACT_LLM_INPUT");
        // A listener that was there before receives no duplicates of what another one requests.
        let mut late = Listener::open(&other);
        let (mut back, resumed) = Listener::open_after(&other, &before[0].id);
        assert!(resumed);
        assert_eq!(back.take(before.len() - 1), before[1..]);
        assert!(!running.is_finished(), "the model has not answered yet");
        let rest = near.until(ends_turn);
        assert_eq!((back.take(rest.len()), late.take(rest.len())), (rest.clone(), rest.clone()));
        let next = run_turn(&one, &mut near, "my other order");
        assert_eq!((back.take(next.len()), late.take(next.len())), (next.clone(), next));
    });
}

#[test]
#[on(postgres)]
fn events_lost_with_a_connection_are_replayed_from_the_journals() {
    let env = TestEnv::with_pack(&pack_with_progress());
    let [one, other] = two_servers(&env);
    let (mut near, mut far, mut silent) = (Listener::open(&one), Listener::open(&other), Listener::open(&other));
    let published = run_turn(&one, &mut near, "my order");
    assert_eq!(far.take(published.len()), published);
    let listening = "select pid::text from pg_stat_activity where datname = current_database() and query ilike 'listen%'";
    let mut sql = env.sql();
    for _ in 0..3 {
        for process in sql.texts(listening) {
            // The connection may be closed already.
            sql.texts(&format!("select pg_terminate_backend({process})::text"));
        }
        let published = run_turn(&one, &mut near, "my other order");
        assert_eq!(without_progress(&far.until(ends_turn)), without_progress(&published));
    }
    let all: Vec<Event> = (0..4).flat_map(|_| silent.until(ends_turn)).collect();
    assert_eq!(without_progress(&all).len(), without_progress(&published).len() * 4);
    assert!(wait_until(|| sql.texts(listening).len() == 2), "both processes listen again");
}

#[test]
#[on(postgres)]
fn a_turn_that_another_process_continues_is_published_once() {
    let env = TestEnv::with_pack(&pack_with_progress());
    let model = |delay: u32| {
        let reply = json!({"dialogueAct": "NEW_REQUEST", "confidence": 0.8, "standaloneQuery": ""});
        format!("scripted:{}", env.write_pack(&format!("model-{delay}.json"), &json!([{"delay_ms": delay, "reply": reply}])))
    };
    let serve = |model: &str| {
        let set = ["convengine.flow.dialogue-act.resolute=LLM_ONLY", "convengine.turn.lease=500ms"];
        env.serve(&["--llm", model, "--set", set[0], "--set", set[1]])
    };
    let (one, other) = (serve(&model(60_000)), serve(&model(0)));
    let mut far = Listener::open(&other);
    let body = json!({"conversationId": ID, "message": "my order"}).to_string();
    thread::scope(|scope| {
        scope.spawn(|| one.try_post(&body));
        let before = far.until(|event| event.name == "DIALOGUE_ACT_LLM_INPUT");
        one.kill();
        let rest = far.until(ends_turn);
        let all = [before, rest].concat();
        assert_whole_turns(&all);
        assert_eq!(stored_rows(&other).len(), all.iter().filter(|event| event.data["eventType"] == "AUDIT").count());
    });
}

#[test]
#[on(postgres)]
fn a_turn_without_remote_listeners_notifies_no_other_process() {
    let env = TestEnv::with_pack(&pack_with_progress());
    let [one, other] = two_servers(&env);
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    // Its connection is closed within the runtime.
    let _inside = runtime.enter();
    let mut notifications = runtime.block_on(async {
        let mut notifications = PgListener::connect(&env.database_url()).await.unwrap();
        notifications.listen("convengine_events").await.unwrap();
        notifications
    });
    let mut next = || {
        let notification = async { tokio::time::timeout(Duration::from_secs(30), notifications.recv()).await };
        runtime.block_on(notification).expect("no notification arrived").unwrap().payload().to_owned()
    };
    let mark = || env.sql().texts("select pg_notify('convengine_events', 'mark')::text");
    let mut near = Listener::open(&one);
    run_turn(&one, &mut near, "my order");
    one.say("7c0f4a3e-6f0a-4f0e-9a53-6d3f0c1b2a08", "my order");
    mark();
    assert_eq!(next(), "mark", "another notification came before it");
    let mut far = Listener::open(&other);
    let published = run_turn(&one, &mut near, "my order");
    assert_eq!(far.take(published.len()), published);
    mark();
    let published: Vec<String> = std::iter::from_fn(|| Some(next()).filter(|text| text != "mark")).collect();
    assert!(!published.is_empty() && published.iter().all(|it| it.contains(ID)), "{published:?}");
}

/// While a cluster is updated, some of its processes still use the names of version 0.1.
#[test]
#[on(postgres)]
fn requests_of_a_process_of_version_0_1_are_answered() {
    let env = TestEnv::with_pack(&pack_with_progress());
    let server = env.serve(&[]);
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    // Its connection is closed within the runtime.
    let _inside = runtime.enter();
    let mut notifications = runtime.block_on(async {
        let mut notifications = PgListener::connect(&env.database_url()).await.unwrap();
        notifications.listen_all(["convengine_requests", "convengine_events"]).await.unwrap();
        notifications
    });
    let mut next = |channel: &str| loop {
        let notification = async { tokio::time::timeout(Duration::from_secs(30), notifications.recv()).await };
        let notification = runtime.block_on(notification).expect("no notification arrived").unwrap();
        if notification.channel() == channel {
            return notification.payload().to_owned();
        }
    };
    let request = |words: &str| env.sql().texts(&format!("select pg_notify('convengine_asked', 'other {words}')::text"));
    request(&format!("- {ID}"));
    // Requests are read in order: when this one is answered, the one before it has been read.
    request("who");
    next("convengine_requests");
    run_turn(&server, &mut Listener::open(&server), "my order");
    assert!(next("convengine_events").contains(ID));
}
