use serde_json::{Value, json};

use super::super::cycle::find_components;
use super::*;

fn message(id: &str) -> Value {
    json!({"id": id, "type": "message", "name": id, "data": {"blocks": [{"kind": "text", "text": "x"}]}})
}

#[test]
fn components_are_in_reverse_topological_order() {
    let next = [vec![1], vec![2, 3], vec![0], vec![4], vec![4, 5], vec![]];
    let mut found = find_components(&next, |_| true);
    found.iter_mut().for_each(|it| it.sort_unstable());
    assert_eq!(found, [vec![5], vec![4], vec![3], vec![0, 1, 2]]);
    assert_eq!(find_components(&next, |it| it != 2).len(), 5);
}

#[test]
fn a_long_cycle_does_not_overflow_the_stack() {
    let next: Vec<Vec<usize>> = (0..200_000).map(|it| vec![(it + 1) % 200_000]).collect();
    assert_eq!(find_components(&next, |_| true).len(), 1);
}

#[test]
fn a_large_document_is_checked() {
    let mut nodes = vec![json!({"id": "asked", "type": "intent", "name": "Help", "data": {"intent_id": "help"}})];
    let mut edges = vec![json!({"id": "e", "source": "asked", "target": "n0"})];
    for at in 0..998 {
        let id = format!("n{at}");
        if at % 3 == 0 {
            nodes.push(json!({"id": id, "type": "router", "name": id, "data": {}}));
            for (number, to) in [at + 1, at + 2, 997].into_iter().enumerate() {
                let condition = json!({"expr": format!("session.total == {number}")});
                edges.push(
                    json!({"id": format!("e{at}.{number}"), "source": id, "target": format!("n{}", to.min(997)), "condition": condition}),
                );
            }
            edges.push(json!({"id": format!("e{at}"), "source": id, "source_port": "else", "target": "end"}));
        } else {
            let data = json!({"variable": format!("v{at}"), "entity": "@number", "prompt": format!("{{{{ session.v{} }}}}?", at - 1),
                "reprompt": ["?", "?"], "prefill": false});
            nodes.push(json!({"id": id, "type": "entity", "name": id, "data": data}));
            edges.push(
                json!({"id": format!("e{at}"), "source": id, "target": if at < 997 { format!("n{}", at + 1) } else { "end".into() }}),
            );
            edges.push(json!({"id": format!("f{at}"), "source": id, "source_port": "failed", "target": "end"}));
        }
    }
    nodes.push(json!({"id": "end", "type": "end", "name": "End", "data": {}}));
    let document = apply_changes(shop(), &[("/graphs/3/nodes", json!(nodes)), ("/graphs/3/edges", json!(edges))]);
    let issues = issues_of(&document);
    // Routers do not write the variables that the next nodes read.
    assert!(issues.iter().all(|it| it.code == "T003"), "{:#?}", issues.iter().find(|it| it.code != "T003"));
    assert_eq!(issues.len(), 333);
}

/// Returns the help graph with numbered nodes and edges between them. The first node is its intent, the second its end.
fn numbered_graph(count: usize, edges: &[(usize, usize)]) -> Value {
    let node = |at: usize| match at {
        0 => json!({"id": "n0", "type": "intent", "name": "Help", "data": {"intent_id": "help"}}),
        1 => json!({"id": "n1", "type": "end", "name": "End", "data": {}}),
        _ => json!({"id": format!("n{at}"), "type": "router", "name": format!("n{at}"), "data": {}}),
    };
    let edge = |(number, (from, to)): (usize, &(usize, usize))| {
        let condition = json!({"expr": format!("session.total == {number}")});
        json!({"id": format!("e{number}"), "source": format!("n{from}"), "target": format!("n{to}"), "condition": condition})
    };
    let nodes: Vec<Value> = (0..count).map(node).collect();
    let edges: Vec<Value> = edges.iter().enumerate().map(edge).collect();
    apply_changes(shop(), &[("/graphs/3/entry", json!("n0")), ("/graphs/3/nodes", json!(nodes)), ("/graphs/3/edges", json!(edges))])
}

#[test]
fn a_path_visits_no_node_twice() {
    let long = |count: usize, edges: &[(usize, usize)]| {
        let found = issues_of(&numbered_graph(count, edges)).into_iter().find(|issue| ["G014", "G015"].contains(&issue.code));
        found.map(|issue| (issue.code, issue.message.split(" enters ").nth(1).unwrap().split(' ').next().unwrap().to_owned()))
    };
    let path = |code: &'static str, length: usize| Some((code, length.to_string()));
    // A hub with edges to and from all others: a path has one of them before the hub and one after it.
    let star: Vec<(usize, usize)> = [(0, 2), (2, 1)].into_iter().chain((3..73).flat_map(|it| [(2, it), (it, 2)])).collect();
    assert_eq!(long(73, &star), None);
    // The length of a cycle does not depend on shortcuts or on where paths leave it.
    let ring = |count: usize| (2..count).map(move |node| (node, if node + 1 < count { node + 1 } else { 2 }));
    let cycle =
        |count: usize, more: &[(usize, usize)]| long(count, &more.iter().copied().chain([(0, 2)]).chain(ring(count)).collect::<Vec<_>>());
    assert_eq!(cycle(65 + 2, &[]), path("G015", 66));
    assert_eq!(cycle(65 + 2, &[(2, 40), (66, 1)]), path("G015", 67));
    assert_eq!((cycle(45 + 2, &[]), cycle(50 + 2, &[(30, 1)])), (None, path("G014", 51)));
    // Two consecutive cycles.
    let two: Vec<(usize, usize)> =
        [(0, 2), (31, 32), (61, 1), (31, 2), (61, 32)].into_iter().chain((2..61).map(|it| (it, it + 1))).collect();
    assert_eq!(long(62, &two), path("G014", 62));
}

#[test]
fn the_search_for_paths_through_many_cycles_is_bounded() {
    let edges: Vec<(usize, usize)> = (2..1000)
        .flat_map(|node| [1, 7, 31, 200].map(|step| (node, 2 + (node - 2 + step) % 998)))
        .chain([(0, 2), (2, 1)])
        .take(4000)
        .collect();
    let document = numbered_graph(1000, &edges);
    let flow = Flow::compile(&document).unwrap();
    let target = PublishTarget::empty();
    let context = FlowContext::new(&document, &flow, &target);
    let mut found = Vec::new();
    cycle::check(&context, &mut found);
    assert!(found.iter().any(|it| it.code == "G015"), "{found:#?}");
}

#[test]
fn a_waiting_call_breaks_a_cycle_and_others_do_not() {
    let cycle = |data: Value| {
        let node = json!({"id": "n", "type": "subflow", "name": "Node", "data": data});
        let edges = json!([{"id": "a", "source": "asked", "target": "n"}, {"id": "b", "source": "n", "target": "m"},
            {"id": "c", "source": "m", "target": "n"}]);
        apply_changes(shop(), &[("/graphs/3/nodes/1", node), ("/graphs/3/nodes/2", message("m")), ("/graphs/3/edges", edges)])
    };
    let has = |document: &Value, code: &str| codes(document).iter().any(|issue| issue.0 == code && issue.1.starts_with("/graphs/3"));
    let waiting = cycle(json!({"graph": "buy"}));
    assert!(!has(&waiting, "G010") && !has(&waiting, "G011") && !has(&waiting, "G007"));
    let busy = cycle(json!({"graph": "send", "inputs": {"what": 1}}));
    assert!(has(&busy, "G011") && has(&busy, "G007") && !has(&busy, "G010"));
}

#[test]
fn a_loop_that_is_never_gone_round_is_no_endless_loop() {
    let router = |id: &str| json!({"id": id, "type": "router", "name": id, "data": {}});
    let edge = |id: &str, source: &str, target: &str, expr: Option<&str>| {
        let condition = expr.map(|expr| json!({"expr": expr}));
        json!({"id": id, "source": source, "target": target, "condition": condition})
    };
    let found = |edges: Vec<Value>| {
        let mut all = vec![edge("i", "asked", "a", None)];
        all.extend(edges);
        all.iter_mut().filter_map(Value::as_object_mut).for_each(|edge| edge.retain(|_, value| !value.is_null()));
        let nodes = json!([{"id": "asked", "type": "intent", "name": "Help", "data": {"intent_id": "help"}}, router("a"), message("m"),
            router("b"), {"id": "end", "type": "end", "name": "End", "data": {}}]);
        let document = apply_changes(shop(), &[("/graphs/3/nodes", nodes), ("/graphs/3/edges", json!(all))]);
        codes(&document).into_iter().any(|(code, _)| code == "G010")
    };
    let back = || edge("z", "m", "a", None);
    for (name, is_endless, edges) in [
        ("a condition", true, vec![edge("x", "a", "end", Some("session.price > 5")), edge("y", "a", "m", None), back()]),
        ("always out", false, vec![edge("x", "a", "end", Some("true")), edge("y", "a", "m", None), back()]),
        ("never in", false, vec![edge("x", "a", "m", Some("1 == 2")), edge("y", "a", "end", None), back()]),
        ("behind the default", false, vec![edge("y", "a", "end", None), edge("x", "a", "m", None), back()]),
        (
            "excluded by another one",
            false,
            vec![
                edge("x", "a", "b", Some("session.price > 5")),
                edge("v", "a", "end", None),
                edge("y", "b", "a", Some("session.price < 3")),
                edge("w", "b", "end", None),
            ],
        ),
        (
            "the same condition leads out",
            false,
            vec![
                edge("x", "a", "b", Some("session.price > 5")),
                edge("v", "a", "end", None),
                edge("y", "b", "end", Some("session.price > 3")),
                edge("w", "b", "a", None),
            ],
        ),
        (
            "both may hold",
            true,
            vec![
                edge("x", "a", "b", Some("session.price > 5")),
                edge("v", "a", "end", None),
                edge("y", "b", "a", Some("session.price < 9")),
                edge("w", "b", "end", None),
            ],
        ),
    ] {
        assert_eq!(found(edges), is_endless, "{name}");
    }
}

#[test]
fn what_pages_and_string_tables_give_is_written() {
    let text = "{{ strings.hello }} {{ strings.only }} {{ given }} {{ named.part }}";
    let document = apply_changes(
        shop(),
        &[
            ("/graphs/0/nodes/1/data/final_message", json!(text)),
            ("/strings", json!({"de": {"hello": "Hallo"}, "only": "Only"})),
            ("/inputs", json!(["named"])),
            ("/variables/-", json!({"name": "given", "type": "string", "input": true})),
            ("/variables/-", json!({"name": "named", "type": "object"})),
        ],
    );
    assert_eq!(codes(&document), []);
    let missing = apply_changes(document, &[("/strings", json!({"de": {"only": "Nur"}})), ("/inputs", json!([]))]);
    let found: Vec<String> = issues_of(&missing).into_iter().map(|it| format!("{} {}", it.code, it.message)).collect();
    assert_eq!(found, ["T003 'named.part' is read but never written", "T003 'strings.hello' is neither in 'strings' nor a variable"]);
}

#[test]
fn names_with_a_hyphen_are_to_be_put_in_brackets() {
    let fix = |text: &str| {
        let document =
            apply_changes(shop(), &[("/graphs/0/nodes/1/data/exit", json!("out")), ("/graphs/1/edges/5/condition/expr", json!(text))]);
        issues_of(&document).into_iter().filter(|issue| issue.code == "E004").filter_map(|issue| issue.fix).collect::<Vec<_>>()
    };
    let expected = "write session.order['ship-to'] for a name with '-', or put spaces around the minus";
    assert!(fix("session.order.ship-to == 'Bern'").iter().all(|it| it == expected));
    assert_eq!(fix("session.order.ship-to == 'Bern'").len(), 2);
    assert_eq!(fix("session.price - unknown > 1"), ["write it first, or correct its name"]);
}

#[test]
fn variables_of_other_graphs_may_have_values() {
    let read = apply_changes(
        shop(),
        &[("/graphs/0/nodes/1/data/final_message", json!("{{ session.colour }} {{ _last_intent.id }} {{ response_body }}"))],
    );
    assert_eq!(codes(&read), []);
    let reserved = apply_changes(shop(), &[("/graphs/0/nodes/1/data/final_message", json!("{{ session._error.code }} {{ user.name }}"))]);
    assert_eq!(codes(&reserved), []);
}

#[test]
fn yes_and_no_ports_need_no_default() {
    let document =
        apply_changes(shop(), &[("/graphs/1/edges/5/source_port", json!("yes")), ("/graphs/1/edges/6/source_port", json!("no"))]);
    assert_eq!(codes(&document), []);
}

#[test]
fn secrets_are_not_checked_without_known_secrets() {
    let document = apply_changes(shop(), &[("/tools/1/signing_secret", json!("NONE"))]);
    assert_eq!(check_document(&document, &PublishTarget::empty()), []);
}

#[test]
fn allowed_targets_may_be_called() {
    let document = apply_changes(shop(), &[("/tools/1/request/url", json!("http://localhost:9090/orders"))]);
    assert_eq!(codes(&document), [("V003", "/tools/1/request/url".to_owned())]);
    let allowed = ["localhost:9090".to_owned()];
    assert_eq!(check_document(&document, &PublishTarget { allowed_targets: &allowed, ..PublishTarget::empty() }), []);
}

#[test]
fn the_fake_service_of_a_pack_may_be_called_where_there_is_one() {
    let document = apply_changes(shop(), &[("/tools/1/request/url", json!("${STUB}/orders"))]);
    assert_eq!(codes(&document), [("V003", "/tools/1/request/url".to_owned())]);
    assert_eq!(check_document(&document, &PublishTarget { has_stub: true, ..PublishTarget::empty() }), []);
}

#[test]
fn credentials_are_not_quoted() {
    let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let document = apply_changes(shop(), &[("/events/welcome/message", json!(secret))]);
    let issues = issues_of(&document);
    assert!(issues.iter().any(|it| it.code == "S001") && !format!("{issues:?}").contains(secret));
}

#[test]
fn disabled_nodes_are_skipped() {
    let node = json!({"id": "agent", "type": "python", "name": "Off", "disabled": true, "data": {"code": "x = f(1)", "outputs": []}});
    let document = apply_changes(shop(), &[("/graphs/3/nodes/1", node), ("/graphs/3/edges/1/source_port", json!("out"))]);
    assert_eq!(codes(&document), []);
}

#[test]
fn a_fallback_handles_ports_without_edges() {
    let bare = [("/graphs/2/edges/2", json!("-")), ("/graphs/2/nodes/4", json!("-")), ("/graphs/1/edges/10", json!("-"))];
    let document = apply_changes(shop(), &bare);
    let found: Vec<&str> = codes(&document).into_iter().map(|it| it.0).collect();
    // The callers have a fallback; the exit without an end node is still declared.
    assert_eq!(found, ["C005"]);
    let fallback = json!({"id": "root_sorry", "type": "fallback", "name": "Sorry", "data": {}});
    let edge = json!({"id": "r2", "source": "root_sorry", "target": "idle"});
    let alone = apply_changes(shop(), &[("/graphs/3/edges/2", json!("-"))]);
    assert_eq!(codes(&alone), [("G009", "/graphs/3/nodes/1".to_owned())]);
    assert_eq!(codes(&apply_changes(alone, &[("/graphs/0/nodes/-", fallback), ("/graphs/0/edges/-", edge)])), []);
}

#[test]
fn a_slot_whose_failure_nobody_handles_is_reported_once() {
    let slot = json!({"id": "agent", "type": "entity", "name": "Mail",
        "data": {"variable": "mail", "entity": "@email", "prompt": "Your address?", "reprompt": ["Such as ann@example.org?"]}});
    let changes = [("/graphs/3/nodes/1", slot), ("/graphs/3/edges/1/source_port", json!("out")), ("/graphs/3/edges/2", json!("-"))];
    assert_eq!(codes(&apply_changes(shop(), &changes)), [("N007", "/graphs/3/nodes/1".to_owned())]);
}

#[test]
fn path_lengths_include_called_graphs() {
    let send = |count: usize| {
        let mut nodes: Vec<Value> = (0..count).map(|number| message(&format!("m{number}"))).collect();
        let mut edges: Vec<Value> = (0..count)
            .map(|number| json!({"id": format!("m{number}"), "source": format!("m{number}"), "target": format!("m{}", number + 1)}))
            .collect();
        nodes.push(json!({"id": format!("m{count}"), "type": "end", "name": "Good", "data": {}}));
        nodes.push(json!({"id": "begin", "type": "start", "name": "Begin", "data": {}}));
        edges.push(json!({"id": "s", "source": "begin", "target": "m0"}));
        let call = json!({"id": "agent", "type": "subflow", "name": "Call", "data": {"graph": "send", "inputs": {"what": 1}}});
        let changes = [
            ("/graphs/2/nodes", json!(nodes)),
            ("/graphs/2/edges", json!(edges)),
            ("/graphs/2/exits", json!([])),
            ("/graphs/1/edges/10", json!("-")),
            ("/graphs/3/nodes/1", call),
            ("/graphs/3/edges/1/source_port", json!("out")),
        ];
        codes(&apply_changes(shop(), &changes))
            .into_iter()
            .filter(|(code, path)| code.starts_with("G01") && !path.starts_with("/graphs/1"))
            .collect::<Vec<_>>()
    };
    assert_eq!(send(40), []);
    // A start, 44 messages and an end; the caller adds an intent, a call and an end.
    assert_eq!(send(44), [("G014", "/graphs/3".to_owned())]);
    assert_eq!(send(60), [("G014", "/graphs/2".to_owned()), ("G015", "/graphs/3".to_owned())]);
}

/// Collects JSON Pointers to all values within one.
fn collect_pointers(value: &Value, path: &str, found: &mut Vec<String>) {
    found.push(path.to_owned());
    match value {
        Value::Array(items) => items.iter().enumerate().for_each(|(at, item)| collect_pointers(item, &format!("{path}/{at}"), found)),
        Value::Object(members) => members.iter().for_each(|(name, member)| collect_pointers(member, &format!("{path}/{name}"), found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn issues_of_mutated_documents_have_a_location_and_are_deterministic() {
    let mut places = Vec::new();
    collect_pointers(&shop(), "", &mut places);
    let odd = [json!("-"), json!("{{ x | y }}"), json!(7), json!(["a", {"b": "start"}])];
    for (at, pointer) in places.iter().enumerate().skip(1).filter(|it| it.0 % 3 == 0) {
        let (Some(odd), Some((parent, key))) = (odd.get(at / 3 % odd.len()), pointer.rsplit_once('/')) else { continue };
        let mut document = shop();
        match document.pointer_mut(parent) {
            Some(Value::Object(members)) if *odd == json!("-") => drop(members.shift_remove(key)),
            Some(Value::Object(members)) => drop(members.insert(key.to_owned(), odd.clone())),
            Some(Value::Array(items)) => items[key.parse::<usize>().unwrap()] = odd.clone(),
            other => panic!("{other:?}"),
        }
        let issues = issues_of(&document);
        assert_eq!(issues, issues_of(&document), "{pointer}");
        let known = |issue: &DocumentIssue| {
            let inner = issue.path.rsplit_once('/').map_or("", |(inner, _)| inner);
            document.pointer(&issue.path).is_some() || document.pointer(inner).is_some()
        };
        assert!(issues.iter().all(known), "{pointer}: {issues:#?}");
    }
}
