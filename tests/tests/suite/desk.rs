//! The desk: its list, its events, and people who share it (docs/guide/desk.md).

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;

use convengine_test_macros::test;
use convengine_tests::root;
use reqwest::blocking::Response;
use serde_json::{Value, json};

use crate::access::{WITH_KEYS, key};
use crate::flows::{JSON, SIMULATED, Session, assert_refused, reply_texts, save_draft, send};
use crate::handoff::{serve, with_handoff};
use crate::harness::{Answer, REGEX_ONLY, Server, TIMEOUT, TestEnv, client, contains_word, orders_pack};

const CONVERSATIONS: &str = "/v1/desk/conversations";

fn list(server: &Server, query: &str) -> Value {
    let answer = server.get(&format!("{CONVERSATIONS}{query}"));
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// The sessions of a page of the list.
fn sessions(page: &Value) -> Vec<&str> {
    page["conversations"].as_array().unwrap().iter().map(|conversation| conversation["session_id"].as_str().unwrap()).collect()
}

fn act(server: &Server, session: &Session, action: &str, body: &Value) -> Answer {
    send(server, "POST", &format!("{CONVERSATIONS}/{}/{action}", session.id), body)
}

/// A session that waits for a person.
fn start_waiting(server: &Server, text: &str) -> Session {
    let (session, _) = Session::start_simulated(server, &json!({"locale": "de-DE"}));
    assert_eq!(session.say(server, "a person please")["status"], "handed_off");
    session.say(server, text);
    session
}

#[test]
fn a_conversation_waits_is_taken_answered_and_returned() {
    let (env, server) = serve(&with_handoff(None, &json!({})), None);
    let hostile = "<img src=x onerror=alert(1)>";
    let (first, second) = (start_waiting(&server, hostile), start_waiting(&server, "me too"));
    let all = list(&server, "");
    assert_eq!((sessions(&all), &all["next_cursor"]), (vec![first.id.as_str(), &second.id], &Value::Null));
    let row = &all["conversations"][0];
    assert_eq!((&row["state"], &row["queue"], &row["reason"]), (&json!("waiting"), &json!("billing"), &json!("cards")));
    assert_eq!((&row["assistant"], &row["author"], &row["preview"]), (&json!("desk"), &Value::Null, &json!(hostile)));
    assert_eq!((&row["unread"], row["since"].as_str().unwrap().len()), (&json!(1), 24));
    let page = list(&server, "?limit=1");
    let cursor = page["next_cursor"].as_str().unwrap();
    assert_eq!(sessions(&page), [&first.id]);
    let rest = list(&server, &format!("?limit=1&cursor={cursor}"));
    assert_eq!((sessions(&rest), &rest["next_cursor"]), (vec![second.id.as_str()], &Value::Null));
    for query in ["?state=gone", "?cursor=x"] {
        assert_refused(&server.get(&format!("{CONVERSATIONS}{query}")), 422, "invalid_query");
    }

    assert_refused(&act(&server, &first, "take", &json!({})), 422, "invalid_author");
    let taken = act(&server, &first, "take", &json!({"author": "Mia"}));
    assert_eq!((taken.status, &taken.json()["handoff"]["author"]), (200, &json!("Mia")));
    assert_eq!(sessions(&list(&server, "?state=waiting")), [&second.id]);
    assert_eq!(sessions(&list(&server, "?state=running")), [&first.id]);
    let other = act(&server, &first, "messages", &json!({"author": "Tom", "text": "Hello."}));
    assert_refused(&other, 409, "handoff_taken");
    assert_eq!(other.json()["error"]["author"], "Mia");

    let shown = server.get(&format!("{CONVERSATIONS}/{}", first.id)).json();
    let entry = |message: &Value| (message["role"].as_str().unwrap().to_owned(), message["text"].as_str().unwrap().to_owned());
    let history: Vec<_> = shown["history"].as_array().unwrap().iter().map(entry).collect();
    assert_eq!(history.last(), Some(&("user".to_owned(), hostile.to_owned())));
    let names: Vec<&str> = shown["variables"].as_array().unwrap().iter().map(|variable| variable["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["pin", "count", "refund", "topic"]);
    let written = act(&server, &first, "messages", &json!({"author": "Mia", "text": "Hello <b>you</b>."})).json();
    assert_eq!((reply_texts(&written), &written["messages"][0]["role"]), (vec!["Hello <b>you</b>."], &json!("human")));
    assert!(written.get("debug").is_none(), "{written}");
    assert_eq!(list(&server, "?state=running")["conversations"][0]["unread"], 0);
    let unknown = act(&server, &first, "return", &json!({"author": "Mia", "vars": {"limit": 9}}));
    assert_refused(&unknown, 422, "unknown_variable");
    let returned = act(&server, &first, "return", &json!({"author": "Mia", "vars": {"refund": 12}, "message": "Bye."})).json();
    assert_eq!((reply_texts(&returned), &returned["status"]), (vec!["Bye.", "Refunded 12."], &json!("awaiting_input")));
    assert_refused(&server.get(&format!("{CONVERSATIONS}/{}", first.id)), 404, "not_at_desk");
    assert_refused(&act(&server, &first, "take", &json!({"author": "Tom"})), 409, "not_handed_off");
    assert_eq!(sessions(&list(&server, "")), [&second.id]);
    let closed = act(&server, &second, "close", &json!({"author": "Tom", "message": "Done."})).json();
    assert_eq!((&closed["status"], &closed["warnings"]), (&json!("awaiting_input"), &json!(["template.undefined"])), "without a refund");
    assert_eq!(sessions(&list(&server, "")), [""; 0]);
    // A replay does not call the desk.
    first.assert_replays(&env, &server);
    second.assert_replays(&env, &server);
}

#[test]
fn of_two_people_who_take_a_conversation_at_once_one_gets_it() {
    let (env, server) = serve(&with_handoff(None, &json!({})), None);
    for _ in 0..5 {
        let session = start_waiting(&server, "hello?");
        let people = ["Mia", "Tom", "Ada", "Kim"];
        let take = |name: &'static str| act(&server, &session, "take", &json!({"author": name}));
        let answers: Vec<Answer> = thread::scope(|scope| {
            let running: Vec<_> = people.iter().map(|person| scope.spawn(|| take(person))).collect();
            running.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let winners: Vec<&str> = people.iter().zip(&answers).filter(|it| it.1.status == 200).map(|it| *it.0).collect();
        assert_eq!(winners.len(), 1, "{answers:?}");
        for answer in answers.iter().filter(|it| it.status != 200) {
            assert_refused(answer, 409, "handoff_taken");
            assert_eq!(answer.json()["error"]["author"], winners[0]);
        }
        assert_eq!(session.state(&server)["handoff"]["author"], winners[0]);
        session.assert_replays(&env, &server);
    }
}

#[test]
fn a_key_for_the_desk_opens_nothing_else() {
    let env = TestEnv::with_pack(&orders_pack());
    let (desk, read) = (key(&env, &["--scope", "desk"]), key(&env, &["--scope", "read,converse"]));
    let admin = key(&env, &["--scope", "admin"]);
    let server = env.serve(&[&REGEX_ONLY[..], &WITH_KEYS].concat());
    let call =
        |key: &str, method: &str, path: &str, body: Value| server.request(method, path, &[("X-API-Key", key), JSON], body.to_string());
    assert_eq!(call(&admin, "PUT", "/v1/agents/desk/flow", with_handoff(None, &json!({}))).status, 200);
    let started = call(&admin, "POST", SIMULATED, json!({})).json();
    let id = started["session_id"].as_str().unwrap();
    let path = format!("{CONVERSATIONS}/{id}");
    assert_refused(&call(&desk, "GET", &path, json!({})), 404, "not_at_desk");
    let turn = json!({"type": "user.message", "text": "a person please"});
    assert_eq!(call(&admin, "POST", &format!("{SIMULATED}/{id}/turns"), turn.clone()).status, 200);
    for (key, status) in [(&desk, 200), (&admin, 200), (&read, 403)] {
        assert_eq!(call(key, "GET", &path, json!({})).status, status);
    }
    for (method, path) in
        [("POST", format!("{SIMULATED}/{id}/turns")), ("GET", format!("{SIMULATED}/{id}")), ("GET", "/v1/agents".to_owned())]
    {
        assert_eq!(call(&desk, method, &path, turn.clone()).status, 403, "{path}");
    }
    let taken = call(&desk, "POST", &format!("{path}/take"), json!({})).json();
    assert_eq!(taken["handoff"]["author"], "test", "the name of the key");
}

#[test]
fn the_author_is_the_name_of_the_key_whatever_the_request_says() {
    let env = TestEnv::with_pack(&orders_pack());
    let named = |name: &str| {
        let created = env.run(&["key", "create", "--name", name, "--scope", "desk"]);
        assert_eq!(created.code, 0, "{created:?}");
        created.stdout.trim().to_owned()
    };
    let (mia, tom, admin) = (named("Mia"), named("Tom"), key(&env, &["--scope", "admin"]));
    let token = "the-administrator-of-the-desk";
    let set = format!("convengine.admin-token={token}");
    let server = env.serve(&[&REGEX_ONLY[..], &WITH_KEYS, &["--set", &set]].concat());
    let call = |key: &str, method: &str, path: &str, body: Value| {
        let bearer = format!("Bearer {key}");
        server.request(method, path, &[("Authorization", bearer.as_str()), JSON], body.to_string())
    };
    assert_eq!(call(&admin, "PUT", "/v1/agents/desk/flow", with_handoff(None, &json!({}))).status, 200);
    let wait = || {
        let id = call(&admin, "POST", SIMULATED, json!({})).json()["session_id"].as_str().unwrap().to_owned();
        let turn = json!({"type": "user.message", "text": "a person please"});
        assert_eq!(call(&admin, "POST", &format!("{SIMULATED}/{id}/turns"), turn).json()["status"], "handed_off");
        format!("{CONVERSATIONS}/{id}")
    };
    let (first, second) = (wait(), wait());
    let taken = call(&mia, "POST", &format!("{first}/take"), json!({"author": "The Director"}));
    assert_eq!((taken.status, &taken.json()["handoff"]["author"]), (200, &json!("Mia")));
    let forged = json!({"author": "Mia", "text": "Your refund is on its way."});
    assert_refused(&call(&tom, "POST", &format!("{first}/messages"), forged.clone()), 409, "handoff_taken");
    for action in ["return", "close", "take"] {
        assert_refused(&call(&tom, "POST", &format!("{first}/{action}"), json!({"author": "Mia"})), 409, "handoff_taken");
    }
    let written = call(&mia, "POST", &format!("{first}/messages"), json!({"author": "Tom", "text": "Hello."}));
    assert_eq!((written.status, &written.json()["messages"][0]["author"]), (200, &json!("Mia")));
    let listed = |key: &str| call(key, "GET", CONVERSATIONS, json!({})).json();
    assert_eq!(
        (&listed(&mia)["author"], &listed(&tom)["author"], &listed(token)["author"]),
        (&json!("Mia"), &json!("Tom"), &json!("administrator"))
    );
    let taken = call(token, "POST", &format!("{second}/take"), json!({"author": "Mia"}));
    assert_eq!((taken.status, &taken.json()["handoff"]["author"]), (200, &json!("administrator")));
}

#[test]
fn a_person_sees_what_of_the_user_is_verified() {
    let (_env, server) = serve(&with_handoff(None, &json!({})), None);
    let view = |body: &Value| {
        let (session, _) = Session::start_simulated(&server, body);
        assert_eq!(session.say(&server, "a person please")["status"], "handed_off");
        let shown = server.get(&format!("{CONVERSATIONS}/{}", session.id)).json();
        (shown["user"].clone(), shown["visitor"].clone())
    };
    let both = view(&json!({"user": {"id": "u-1"}, "visitor": {"name": "Eve", "verified": true}}));
    assert_eq!(both, (json!({"id": "u-1"}), json!({"name": "Eve", "verified": false})));
    assert_eq!(view(&json!({})), (Value::Null, Value::Null));
}

/// The event stream of the desk.
struct DeskEvents(BufReader<Response>);

impl DeskEvents {
    fn open(server: &Server) -> DeskEvents {
        let response = client().get(format!("http://{}/v1/desk/events", server.address)).timeout(TIMEOUT).send().unwrap();
        assert_eq!((response.status().as_u16(), response.headers()["content-type"].to_str().unwrap()), (200, "text/event-stream"));
        DeskEvents(BufReader::new(response))
    }

    /// The next event and its data.
    fn next(&mut self) -> (String, Value) {
        let mut name = String::new();
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream has ended");
            match line.trim_end().split_once(':') {
                Some(("event", it)) => it.clone_into(&mut name),
                Some(("data", it)) => return (name, serde_json::from_str(it).unwrap()),
                _ => {}
            }
        }
    }
}

#[test]
fn the_desk_hears_of_changes() {
    let (env, server) = serve(&with_handoff(None, &json!({"wait_ms": 60_000})), None);
    let mut events = DeskEvents::open(&server);
    assert_eq!(events.next(), ("ready".to_owned(), json!({})));
    let (other, _) = Session::start_simulated(&server, &json!({}));
    other.say(&server, "more please");
    let session = start_waiting(&server, "hello?");
    let changed = ("changed".to_owned(), json!({"session_id": session.id}));
    let unknown = ("changed".to_owned(), json!({"session_id": null}));
    // A shared database may tell of a change of this server before the server itself does, and cannot say of what.
    let mut next = || loop {
        let event = events.next();
        if !env.is_postgres() || event != unknown {
            return event;
        }
    };
    assert_eq!(next(), changed, "requested; the conversation without a handoff is not announced");
    assert_eq!(next(), changed, "relayed");
    act(&server, &session, "take", &json!({"author": "Mia"}));
    assert_eq!(next(), changed);
    act(&server, &session, "close", &json!({"author": "Mia"}));
    assert_eq!(next(), changed);
    if env.is_postgres() {
        let second = env.serve(&REGEX_ONLY);
        start_waiting(&second, "hello?");
        assert_eq!(events.next(), unknown, "of another server");
    }
    // A stopping server does not wait for the desk.
    let mut server = server;
    server.terminate();
    assert_eq!(server.exit_code(), Some(0));
}

#[test]
fn private_values_stay_private() {
    let mut document = with_handoff(None, &json!({"reason": "PIN {{ session.pin }}"}));
    let login = document["graphs"].as_array_mut().unwrap().iter_mut().find(|it| it["id"] == "g_login").unwrap();
    login["nodes"][2]["data"] = json!({"blocks": [{"kind": "text", "text": "Thank you, {{ session.pin }}."}]});
    let (env, server) = serve(&document, None);
    save_draft(&server, &document);
    let (session, _) = Session::start_simulated(&server, &json!({}));
    session.say(&server, "log in");
    session.say(&server, "4711");
    session.say(&server, "a person please");
    session.say(&server, "it is 4711, really");
    for text in [server.get(CONVERSATIONS).text, server.get(&format!("{CONVERSATIONS}/{}", session.id)).text] {
        assert!(!contains_word(&text, "4711") && text.contains("[pin]"), "{text}");
    }
    let rows = env.sql().dump().into_iter().filter(|it| it.contains("cs_handoff")).collect::<Vec<_>>().join("\n");
    assert!(!contains_word(&rows, "4711"), "{rows}");
}

/// The script that uses the page, with its lines.
struct DeskPage {
    process: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
    seen: Vec<Value>,
}

impl DeskPage {
    fn open(server: &Server, size: &str) -> DeskPage {
        let mut command = Command::new("node");
        command.arg(root().join("web-demo/test/desk.mjs")).arg(format!("http://{}", server.address)).args(["--size", size]);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("cannot start node");
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        DeskPage { process, lines, seen: Vec::new() }
    }

    /// Reads lines until the script waits.
    fn wait_until_ready(&mut self, name: &str) {
        for line in self.lines.by_ref() {
            let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
            if line["ready"] == name {
                return;
            }
            self.seen.push(line);
        }
        panic!("the page is not ready: {name}; {:?}", self.seen);
    }

    fn go_on(&mut self) {
        self.process.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    }

    fn finish(mut self) -> Vec<Value> {
        self.seen.extend(self.lines.by_ref().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap()));
        assert!(self.process.wait().unwrap().success(), "{:?}", self.seen);
        self.seen
    }
}

#[test]
#[on(browser)]
fn the_desk_in_the_browser_works_by_keyboard_and_passes_axe() {
    let hostile = "<img src=x onerror=alert(1)><script>alert(2)</script>";
    for size in ["1280x800", "390x844"] {
        let (_env, server) = serve(&with_handoff(None, &json!({})), None);
        let (first, second) = (start_waiting(&server, hostile), start_waiting(&server, "me too"));
        let mut page = DeskPage::open(&server, size);
        page.wait_until_ready("answered");
        first.say(&server, "thank you");
        page.go_on();
        page.wait_until_ready("disconnected");
        let state = first.state(&server);
        assert_eq!((&state["status"], &state["vars"]["refund"]), (&json!("active"), &json!(12)));
        assert_eq!(act(&server, &second, "take", &json!({"author": "Tom"})).status, 200);
        page.go_on();
        let seen = page.finish();
        let all = |name: &str| seen.iter().filter_map(|line| line.get(name)).cloned().collect::<Vec<Value>>();
        assert!(all("violations").len() >= 10 && all("violations").iter().all(|it| *it == json!([])), "{size}: {seen:?}");
        assert!(all("overflow").iter().all(|it| *it == json!(false)), "{size}: {seen:?}");
        assert_eq!(all("focus"), ["h2 \"billing\"", "textarea \"Message\"", "h2 \"Conversations\""]);
        assert_eq!(all("transcript")[0].as_array().unwrap().last(), Some(&json!(hostile)), "as text");
        assert_eq!(all("complaints"), [json!([])]);
    }
}
