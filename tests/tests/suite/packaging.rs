//! The packaging beside the binary: a systemd unit, a container file and a page for operators, which must stay in step with the program.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use convengine_host_base::metric_names::METRICS;
use convengine_test_macros::test;
use convengine_tests::root;
use serde_json::{Value, json};

use crate::harness::{TestEnv, orders_pack};
use crate::openness::assert_all_closed;

fn read(name: &str) -> String {
    fs::read_to_string(root().join("packaging").join(name)).unwrap()
}

fn unit_value<'u>(unit: &'u str, key: &str) -> &'u str {
    unit.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('=')).unwrap_or_else(|| panic!("the unit has no {key}"))
}

/// It stores nothing; only the folder or the command of an environment is used.
#[test]
#[on(sqlite)]
fn the_unit_is_valid_for_systemd() {
    let unit = read("convengine.service");
    // Ten seconds of graceful shutdown, and some for the rest.
    assert!(unit_value(&unit, "TimeoutStopSec").parse::<u32>().unwrap() > 10);
    let expected = [
        ("KillSignal", "SIGTERM"),
        ("Restart", "on-failure"),
        ("DynamicUser", "yes"),
        ("NoNewPrivileges", "yes"),
        ("StateDirectory", "convengine"),
    ];
    expected.into_iter().for_each(|(key, value)| assert_eq!(unit_value(&unit, key), value, "{key}"));
    let env = TestEnv::new();
    // Systemd checks that the program exists.
    let text = unit.replace("/usr/local/bin/convengine", "/bin/true").replace("network-online.target", "network.target");
    let file = env.write("convengine.service", &text);
    match Command::new("systemd-analyze").args(["verify", "--man=no", &file]).output() {
        Ok(output) => {
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            let findings: Vec<&str> = stderr.lines().filter(|it| it.contains("convengine.service")).collect();
            assert!(findings.is_empty(), "{findings:#?}");
        }
        Err(_) => println!("systemd is not installed, the unit was not verified by it"),
    }
}

/// It stores nothing; only the folder or the command of an environment is used.
#[test]
#[on(sqlite)]
fn workers_are_confined_like_servers_and_share_a_name() {
    let (server, worker) = (read("convengine.service"), read("restate/convengine-worker@.service"));
    let confinement = |unit: &str| {
        unit.split_once("# A user of its own").unwrap().1.lines().filter(|it| it.contains('=')).map(str::to_owned).collect::<BTreeSet<_>>()
    };
    let differing: BTreeSet<String> = confinement(&server).symmetric_difference(&confinement(&worker)).cloned().collect();
    assert!(differing.iter().all(|it| it.starts_with("TimeoutStopSec=")), "{differing:?}");
    // Thirty seconds for turns that run.
    assert!(unit_value(&worker, "TimeoutStopSec").parse::<u32>().unwrap() > 30);
    let command = unit_value(&worker, "ExecStart");
    assert!(command.ends_with("convengine worker --set convengine.restate.listen=0.0.0.0:%i"), "{command}");
    let compose: Value = serde_saphyr::from_str(&read("restate/compose.yaml")).unwrap();
    let services = compose["services"].as_object().unwrap();
    let services_of =
        |kind: &str| services.iter().filter(|pair| pair.0.starts_with(kind)).map(|pair| pair.1.clone()).collect::<Vec<Value>>();
    assert_eq!([services_of("api-").len(), services_of("worker-").len(), services_of("restate-").len()], [3, 3, 3]);
    assert!(services_of("worker-").iter().all(|service| service["networks"]["default"]["aliases"] == json!(["worker"])));
    assert!(services["register"]["command"].to_string().contains("http://worker:9080"));
    // What Compose passes to servers and workers are settings that they know.
    let settings = services["worker-1"]["environment"]["CONVENGINE_SET"].as_str().unwrap().replace("${RESTATE_KEY:?}", "publickeyv1_x");
    let env = TestEnv::new();
    let output = env.run_command(env.command(&["export"]).env("CONVENGINE_SET", settings).env("SECRETS_KEY", "x"));
    assert!(!output.stderr.contains("unknown setting"), "{output:?}");
}

#[test]
#[on(no_database)]
fn the_page_lists_exactly_the_existing_metrics() {
    let page = read("OPERATIONS.md");
    let missing: Vec<&str> = METRICS.iter().map(|it| it.name).filter(|metric| !page.contains(&format!("`{metric}`"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let known: BTreeSet<&str> = METRICS.iter().map(|it| it.name).collect();
    let mentioned = page.split('`').filter(|word| word.starts_with("convengine_") && word.len() > 11);
    let unknown: Vec<&str> = mentioned.filter(|it| !known.contains(it)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    for symptom in [
        "database down",
        "model provider down",
        "turns hanging",
        "lost turns",
        "disk full",
        "memory",
        "snapshot lost",
        "broken policy row",
        "streams falling behind",
        "key leaked",
    ] {
        assert!(page.contains(&format!("\n| {symptom} |")), "the table has no row '{symptom}'");
    }
}

/// The names in a text that begin like ours: metrics, and with colons the results of recording rules.
fn convengine_names(text: &str) -> BTreeSet<String> {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_' || character == ':';
    let words = text.split(|it: char| !is_part(it)).filter(|word| word.starts_with("convengine_") || word.starts_with("convengine:"));
    words.map(str::to_owned).collect()
}

/// All strings of a document, the values of `member` alone.
fn member_texts<'v>(node: &'v Value, member: &str, found: &mut Vec<&'v str>) {
    match node {
        Value::Object(members) => {
            found.extend(members.get(member).and_then(Value::as_str));
            members.values().for_each(|it| member_texts(it, member, found));
        }
        Value::Array(items) => items.iter().for_each(|it| member_texts(it, member, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn texts_of<'v>(node: &'v Value, member: &str) -> Vec<&'v str> {
    let mut found = Vec::new();
    member_texts(node, member, &mut found);
    found
}

/// The anchors of the headings of a page.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = page.lines().filter_map(|line| line.strip_prefix("## ").or_else(|| line.strip_prefix("### ")));
    headings.map(|heading| heading.to_lowercase().replace(' ', "-")).collect()
}

#[test]
#[on(no_database)]
fn alerts_figures_and_the_dashboard_name_existing_metrics() {
    let yaml = |name: &str| -> Value { serde_saphyr::from_str(&read(name)).unwrap_or_else(|error| panic!("{name}: {error}")) };
    let (recording, alerts) = (yaml("prometheus/recording.yml"), yaml("prometheus/alerts.yml"));
    let dashboard: Value = serde_json::from_str(&read("grafana/convengine.json")).unwrap();
    let figures: BTreeSet<&str> = texts_of(&recording, "record").into_iter().collect();
    let is_histogram = |name: &str| METRICS.iter().any(|metric| metric.name == name && metric.kind.prometheus_type() == "histogram");
    let is_metric = |name: &str| METRICS.iter().any(|metric| metric.name == name && metric.kind.prometheus_type() != "histogram");
    let of_histogram = |name: &str| ["_bucket", "_count", "_sum"].iter().any(|ending| name.strip_suffix(*ending).is_some_and(is_histogram));
    for (file, document, least) in [("recording.yml", &recording, 8), ("alerts.yml", &alerts, 20), ("convengine.json", &dashboard, 25)] {
        let expressions = texts_of(document, "expr");
        assert!(expressions.len() >= least, "{file}: {} expressions", expressions.len());
        let names: BTreeSet<String> = expressions.iter().flat_map(|it| convengine_names(it)).collect();
        let unknown: Vec<&String> =
            names.iter().filter(|name| !figures.contains(name.as_str()) && !is_metric(name) && !of_histogram(name)).collect();
        assert!(unknown.is_empty(), "{file} names metrics that do not exist: {unknown:?}");
    }
    // Each alert says what is wrong, how urgent it is, and where to read on.
    let headings = anchors(&read("OPERATIONS.md"));
    let rules = alerts["groups"].as_array().unwrap().iter().flat_map(|group| group["rules"].as_array().unwrap());
    for rule in rules {
        let (name, severity) = (&rule["alert"], &rule["labels"]["severity"]);
        assert!(severity == "page" || severity == "ticket", "{name}: {severity}");
        assert!(rule["annotations"]["summary"].as_str().is_some_and(|it| !it.is_empty()), "{name}");
        let anchor = rule["annotations"]["runbook"].as_str().and_then(|it| it.strip_prefix("packaging/OPERATIONS.md#"));
        assert!(anchor.is_some_and(|it| headings.contains(it)), "{name}: the page has no heading {anchor:?} among {headings:?}");
        assert!(read("OPERATIONS.md").contains(&format!("`{}`", name.as_str().unwrap())), "the page does not name {name}");
    }
    assert_eq!(convengine_names("sum(convengine_a_total{x=\"convengine\"}) / convengine:b:c").len(), 2);
}

/// The metrics that an expression reads, itself or by recording rules, without the ends of parts of histograms.
fn metrics_of(expression: &str, recording: &Value) -> BTreeSet<&'static str> {
    let rules = || recording["groups"].as_array().unwrap().iter().flat_map(|group| group["rules"].as_array().unwrap());
    let metrics_of_name = |name: String| -> BTreeSet<&'static str> {
        match rules().find(|rule| rule["record"] == json!(name)) {
            Some(rule) => metrics_of(rule["expr"].as_str().unwrap(), recording),
            None => {
                METRICS.iter().map(|metric| metric.name).filter(|metric| name.strip_prefix(metric).is_some_and(is_end_of_metric)).collect()
            }
        }
    };
    convengine_names(expression).into_iter().flat_map(metrics_of_name).collect()
}

fn is_end_of_metric(rest: &str) -> bool {
    ["", "_bucket", "_count", "_sum"].contains(&rest)
}

/// The cells of the rows of a table whose first row begins with `head`.
fn table<'p>(page: &'p str, head: &str) -> Vec<Vec<&'p str>> {
    let rows = page.lines().skip_while(|it| !it.starts_with(head)).skip(2).take_while(|it| it.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split(" | ").map(str::trim).collect()).collect()
}

/// The texts between backticks.
fn codes(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
#[on(no_database)]
fn the_tables_of_alerts_and_metrics_agree_with_the_rules() {
    let yaml = |name: &str| -> Value { serde_saphyr::from_str(&read(name)).unwrap_or_else(|error| panic!("{name}: {error}")) };
    let (recording, alerts, page) = (yaml("prometheus/recording.yml"), yaml("prometheus/alerts.yml"), read("OPERATIONS.md"));
    let rules: Vec<&Value> = alerts["groups"].as_array().unwrap().iter().flat_map(|group| group["rules"].as_array().unwrap()).collect();
    let watched: Vec<(&str, BTreeSet<&str>)> =
        rules.iter().map(|rule| (rule["alert"].as_str().unwrap(), metrics_of(rule["expr"].as_str().unwrap(), &recording))).collect();
    let rows = table(&page, "| alert | fires when |");
    let names: Vec<&str> = rows.iter().map(|it| it[0].trim_matches('`')).collect();
    assert_eq!(names, watched.iter().map(|it| it.0).collect::<Vec<_>>(), "one row for each alert, in the order of the file");
    for ((row, rule), (name, metrics)) in rows.iter().zip(&rules).zip(&watched) {
        let known = |code: &str| METRICS.iter().map(|metric| metric.name).find(|metric| metric.strip_prefix("convengine_") == Some(code));
        let described: BTreeSet<&str> = codes(row[1]).filter_map(known).collect();
        assert_eq!(described, *metrics, "{name}: what it watches");
        let duration = rule["for"].as_str().map(|duration| format!(", for {} min", duration.trim_end_matches('m')));
        assert_eq!(row[1].contains(", for "), duration.is_some(), "{name}: {}", row[1]);
        assert!(duration.is_none_or(|it| row[1].ends_with(&it)), "{name}: {}", row[1]);
    }
    for row in table(&page, "| metric | meaning |") {
        let metrics: BTreeSet<&str> = codes(row[0]).collect();
        let expected: Vec<&str> = watched.iter().filter(|it| !it.1.is_disjoint(&metrics)).map(|it| it.0).collect();
        assert_eq!(codes(row[2]).collect::<Vec<_>>(), expected, "{}: its alerts", row[0]);
    }
}

#[test]
#[on(no_database)]
fn the_container_runs_without_root_and_checks_its_health() {
    let file = read("Containerfile");
    let last = file.rsplit("\nFROM ").next().unwrap();
    let after_user = last.split("\nUSER ").nth(1).expect("a user");
    assert!(after_user.starts_with("10001") && after_user.contains("HEALTHCHECK") && after_user.contains("/healthz"), "{after_user}");
    let images: Vec<&str> = file.lines().filter_map(|it| it.strip_prefix("FROM ")).collect();
    assert!(images.len() == 3 && images.iter().all(|it| it.starts_with("${")), "images are arguments: {images:?}");
}

#[test]
fn the_first_start_of_the_page_gives_a_closed_server() {
    let page = read("OPERATIONS.md");
    let start = page.split("\n## First start\n").nth(1).and_then(|rest| rest.split("```").nth(1)).expect("a block of commands");
    let env = TestEnv::new();
    let pack = env.write_pack("pack.json", &orders_pack());
    let (mut key, mut server) = (String::new(), None);
    for line in start.lines().filter_map(|it| it.strip_prefix("$ ")) {
        let command = line.split(" #").next().unwrap_or_default().trim().replace("pack.json", &pack);
        let arguments: Vec<&str> = command.split_whitespace().skip(1).collect();
        match arguments.first() {
            Some(&"serve") => server = Some(env.serve(&[])),
            Some(_) if command.starts_with("convengine ") => {
                let output = env.run(&arguments);
                assert_eq!(output.code, 0, "{command}: {output:?}");
                if output.stdout.starts_with("ce_") {
                    key = output.stdout.trim().to_owned();
                }
            }
            _ => assert!(command.starts_with("curl "), "{command}"),
        }
    }
    let server = server.expect("the page starts the server");
    assert_all_closed(&server);
    assert_eq!(server.request("GET", "/v1/agents", &[("X-API-Key", &key)], "").status, 200);
}
