//! Operating a cluster: versions of the worker, timers, and what is deleted. All on PostgreSQL, which servers and workers share.

use std::net::TcpListener;
use std::sync::mpsc;
use std::thread;

use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::agent_stream::{text_reply, whole_reply, with_agent};
use crate::flows::{Session, reply_texts, save_draft, with_input_timeout};
use crate::harness::{OPEN, REGEX_ONLY, SERVE, TestEnv, client, orders_pack, wait_until};
use crate::models::{KEY, PRICES, ProviderReply, pack_with_model, start_provider};
use crate::stream::ID;
use crate::turn_cluster::TurnCluster;

const OTHER: &str = "7c0f4a3e-6f0a-4f0e-9a53-6d3f0c1b2a08";

/// The versions that the command lists.
fn list(env: &TestEnv, cluster: &TurnCluster) -> Vec<Value> {
    let output = env.run(&["cluster", "list", "--json", "--set", &cluster.admin_setting()]);
    assert_eq!(output.code, 0, "{output:?}");
    serde_json::from_str(&output.stdout).unwrap()
}

#[test]
#[on(postgres)]
fn a_turn_ends_on_its_version_which_is_removed_when_it_is_drained() {
    let (go, gone) = mpsc::channel::<()>();
    let slowly: ProviderReply = Box::new(move |stream| {
        gone.recv().unwrap();
        whole_reply(json!({"content": "At last."}))(stream);
    });
    let (model, _requests) = start_provider(vec![slowly, whole_reply(json!({"content": "At once."}))]);
    let env = TestEnv::with_pack(&orders_pack());
    let mut command = env.command(&[&SERVE[..], &REGEX_ONLY, &OPEN, &["--set", PRICES, "--llm", "openai:test-model"]].concat());
    let mut server = env.start_on_restate(command.env("OPENAI_BASE_URL", &model).env("OPENAI_API_KEY", KEY), &[]);
    let mut cluster = server.cluster.take().unwrap();
    let admin = cluster.admin_setting();
    let run = |words: &[&str]| env.run(&[&["cluster"], words, &["--set", &admin]].concat());
    save_draft(&server, &with_agent("127.0.0.1:9".parse().unwrap()));
    let (session, _) = Session::start_simulated(&server, &json!({}));
    thread::scope(|scope| {
        let slow = scope.spawn(|| session.say(&server, "help me"));
        assert!(wait_until(|| list(&env, &cluster)[0]["open"] != 0));
        let next = cluster.start_worker(&[]);
        let registered = run(&["register", &next]);
        assert_eq!(registered.code, 0, "{registered:?}");
        let versions = list(&env, &cluster);
        let current: Vec<&Value> = versions.iter().map(|version| &version["is_current"]).collect();
        assert_eq!(current, [&json!(false), &json!(true)], "{versions:?}");
        assert_eq!((&versions[1]["address"], &versions[1]["version"]), (&json!(next), &json!(env!("CARGO_PKG_VERSION"))));
        let kept = run(&["remove"]);
        assert_eq!((kept.code, kept.stdout.as_str()), (0, "no version is drained\n"), "{kept:?}");
        let kept = run(&["remove", versions[0]["id"].as_str().unwrap()]);
        assert!(kept.code == 1 && kept.stderr.contains("draining, ") && kept.stderr.contains("nothing was removed"), "{kept:?}");
        go.send(()).unwrap();
        assert_eq!(reply_texts(&slow.join().unwrap()), ["At last."]);
    });
    assert!(wait_until(|| list(&env, &cluster)[0]["open"] == 0));
    let removed = run(&["remove"]);
    assert!(removed.code == 0 && removed.stdout.starts_with("removed dp_"), "{removed:?}");
    assert_eq!(list(&env, &cluster).len(), 1);
    cluster.stop_worker();
    assert_eq!(reply_texts(&session.say(&server, "help me")), ["At once."], "on the version that is left");
    assert_eq!(session.assert_replays(&env, &server), 3);
}

#[test]
#[on(postgres)]
fn a_turn_keeps_the_settings_that_it_began_with() {
    let ((reached, is_reached), (go, gone)) = (mpsc::channel::<()>(), mpsc::channel::<()>());
    let breaks_off: ProviderReply = Box::new(move |_| {
        reached.send(()).unwrap();
        gone.recv().unwrap();
    });
    let (model, _requests) = start_provider(vec![breaks_off, text_reply(&["On its way."])]);
    let env = TestEnv::with_pack(&pack_with_model());
    let mut command = env.command(&[&SERVE[..], &REGEX_ONLY, &["--set", PRICES, "--llm", "openai:test-model"]].concat());
    let mut server = env.start_on_restate(command.env("OPENAI_BASE_URL", &model).env("OPENAI_API_KEY", KEY), &[]);
    let mut cluster = server.cluster.take().unwrap();
    thread::scope(|scope| {
        let turn = scope.spawn(|| server.say(ID, "my order"));
        is_reached.recv().unwrap();
        let address = cluster.stop_worker();
        let listen = format!("convengine.restate.listen={}", address.trim_start_matches("http://"));
        cluster.start_worker(&[&listen, "convengine.restate.conversation-rows=false"]);
        go.send(()).unwrap();
        assert_eq!(turn.join().unwrap()["payload"]["value"], "On its way.");
    });
    assert_eq!(env.sql().texts("select number::text from ce_turn"), ["1"], "it began on a worker that stores rows");
    assert_eq!(env.run(&["replay", "--conversation", ID]).code, 0);
}

#[test]
#[on(postgres)]
fn a_conversation_queues_no_more_messages_than_without_a_cluster() {
    let (go, gone) = mpsc::channel::<()>();
    let slowly: ProviderReply = Box::new(move |stream| {
        gone.recv().unwrap();
        text_reply(&["On its way."])(stream);
    });
    let replies = std::iter::once(slowly).chain((0..8).map(|_| text_reply(&["On its way."]))).collect();
    let (model, _requests) = start_provider(replies);
    let env = TestEnv::with_pack(&pack_with_model());
    let mut command = env.command(&[&SERVE[..], &REGEX_ONLY, &["--set", PRICES, "--llm", "openai:test-model"]].concat());
    let server = env.start_on_restate(command.env("OPENAI_BASE_URL", &model).env("OPENAI_API_KEY", KEY), &[]);
    let body = json!({"conversationId": ID, "message": "my order"}).to_string();
    thread::scope(|scope| {
        let (sender, answers) = mpsc::channel();
        for _ in 0..12 {
            let (sender, server, body) = (sender.clone(), &server, &body);
            scope.spawn(move || sender.send(server.post(body.clone())).unwrap());
        }
        for _ in 0..3 {
            let refused = answers.recv().unwrap();
            assert_eq!((refused.status, refused.header("retry-after").is_empty()), (503, false), "{refused:?}");
        }
        go.send(()).unwrap();
        for _ in 0..9 {
            assert_eq!(answers.recv().unwrap().status, 200);
        }
    });
}

#[test]
#[on(postgres)]
fn a_worker_tells_its_health_and_its_metrics() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let env = TestEnv::with_pack(&orders_pack());
    let mut command = env.command(&[&SERVE[..], &REGEX_ONLY, &OPEN].concat());
    let token = "convengine.admin-token=let-me-in-0123456789";
    let server = env.start_on_restate(&mut command, &[&format!("convengine.restate.health-listen={free}"), token]);
    server.say(ID, "my order");
    let get = |path: &str, header: (&str, &str)| {
        let answer = client().get(format!("http://{free}{path}")).header(header.0, header.1).send().unwrap();
        (answer.status().as_u16(), answer.text().unwrap())
    };
    let local = ("Accept", "*/*");
    assert_eq!(get("/healthz", local), (200, r#"{"status":"UP"}"#.to_owned()));
    let answer = client().get(format!("http://{free}/healthz")).send().unwrap();
    assert!(!answer.headers()["x-request-id"].is_empty(), "{answer:?}");
    let ready = get("/readyz", local);
    assert!(ready.0 == 200 && ready.1.contains(r#""status":"UP""#), "{ready:?}");
    let metrics = get("/metrics", local).1;
    for line in ["convengine_config_info{hash=", "convengine_database_bytes ", "convengine_tenants_down 0"] {
        assert!(metrics.lines().any(|it| it.starts_with(line)), "{line} in {metrics}");
    }
    // Nothing but health is for everybody.
    let outside = ("X-Forwarded-For", "192.0.2.1");
    assert_eq!([get("/healthz", outside).0, get("/readyz", outside).0, get("/metrics", outside).0], [200, 200, 401]);
    assert_eq!(get("/metrics", ("Host", "attacker.example")).0, 421);
    assert_eq!(get("/v1/agents", local).0, 404, "it has no API");
}

#[test]
#[on(postgres)]
fn commands_say_what_a_cluster_lacks() {
    let env = TestEnv::with_tables();
    for (words, code, reason) in [
        (&["cluster", "list"][..], 2, "convengine.restate.admin"),
        (&["cluster", "list", "--set", "convengine.restate.admin=http://127.0.0.1:9"], 3, "no answer from http://127.0.0.1:9"),
        (&["cluster", "register", "worker:9080"], 2, "is not an HTTP URL"),
    ] {
        let output = env.run(words);
        assert!(output.code == code && output.stderr.contains(reason), "{output:?}");
    }
}

#[test]
#[on(postgres)]
fn the_cluster_fires_timers() {
    let env = TestEnv::with_pack(&orders_pack());
    let timers = "convengine.assistants.timers";
    let off = format!("{timers}=false");
    let mut command = env.command(&[&SERVE[..], &REGEX_ONLY, &OPEN, &["--set", &off]].concat());
    let server = env.start_on_restate(&mut command, &[&format!("{timers}=true")]);
    save_draft(&server, &with_input_timeout(200));
    let (session, _) = Session::start_simulated(&server, &json!({}));
    session.say(&server, "log in");
    assert!(wait_until(|| session.state(&server)["status"] == "completed"), "{}", server.log());
    assert_eq!(session.event_types(&server), ["session.start", "user.message", "timer.fired", "timer.fired"]);
    assert_eq!(env.sql().texts("select id from cs_timer"), [""; 0]);
    let cluster = server.cluster.as_ref().unwrap();
    let waiting = "select id from sys_invocation where target_handler_name = 'fire' and status = 'scheduled'";
    assert!(wait_until(|| cluster.query(waiting) == json!([])), "the calls of canceled timers are canceled: {}", cluster.query(waiting));
    assert_eq!(session.assert_replays(&env, &server), 4);
}

#[test]
#[on(postgres)]
fn deleted_and_expired_conversations_have_no_state_in_the_cluster() {
    let env = TestEnv::with_pack(&orders_pack());
    let mut server = env.start_on_restate(&mut env.command(&[&SERVE[..], &REGEX_ONLY].concat()), &[]);
    let mut cluster = server.cluster.take().unwrap();
    let ingress = cluster.nodes.ingress_setting();
    let stored = |cluster: &TurnCluster| {
        let found = cluster.query("select distinct service_key from state order by service_key");
        found.as_array().unwrap().iter().map(|row| row["service_key"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for _ in 0..2 {
        server.say(ID, "my order");
        server.say(OTHER, "my order");
    }
    assert_eq!(stored(&cluster), [ID, OTHER]);
    let forgotten = env.run(&["forget", "--conversation", ID, "--set", &ingress]);
    assert_eq!((forgotten.code, stored(&cluster)), (0, vec![OTHER.to_owned()]), "{forgotten:?}");
    server.say(ID, "my order");
    assert_eq!(env.sql().texts(&format!("select number::text from ce_turn where conversation_id = '{ID}'")), ["1"]);
    env.sql().run(&format!("update ce_conversation set updated_at = now() - interval '3 days' where conversation_id = '{OTHER}'"));
    let swept = env.run(&["retention", "--set", "convengine.retention.conversations=1", "--set", &ingress]);
    assert!(swept.stdout.starts_with("deleted conversations: 1,"), "{swept:?}");
    assert_eq!(stored(&cluster), [ID]);
    // Deleted behind the back of the cluster, a conversation begins again.
    assert_eq!(env.run(&["forget", "--conversation", ID]).code, 0);
    let refused = server.post(json!({"conversationId": ID, "message": "my order"}).to_string());
    assert_eq!(refused.status, 503, "{refused:?}");
    server.say(ID, "my order");
    assert_eq!(env.sql().texts(&format!("select number::text from ce_turn where conversation_id = '{ID}'")), ["1"]);
    cluster.nodes.kill_node(0).unwrap();
    let kept = env.run(&["forget", "--conversation", ID, "--set", &ingress]);
    assert!(kept.code == 3 && kept.stderr.contains("no rows were deleted"), "{kept:?}");
    assert_eq!(env.sql().texts(&format!("select number::text from ce_turn where conversation_id = '{ID}'")), ["1"]);
}
