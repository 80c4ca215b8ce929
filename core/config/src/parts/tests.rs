//! A configuration that shares with an earlier one is the one that is compiled alone.

use std::sync::Arc;

use convengine_turn::Rng;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Config, Reuse, Tables};

const PACKS: [&str; 5] = [
    include_str!("../../../../tests/packs/tools/loan_with_confirmation.json"),
    include_str!("../../../../tests/packs/tools/order_diagnostics.json"),
    include_str!("../../../../tests/packs/tools/http_calls.json"),
    include_str!("../../../../tests/packs/demo/help_desk.json"),
    include_str!("../../../../tests/packs/v1/nothing_of_absent_steps.json"),
];

/// What a configuration is compiled from.
#[derive(Deserialize)]
struct Pack {
    tables: Tables,
    #[serde(default)]
    settings: Value,
}

fn pack(text: &str) -> Pack {
    serde_json::from_str(text).unwrap()
}

fn below(rng: &mut Rng, limit: usize) -> usize {
    usize::try_from(rng.next_u64()).unwrap_or_default() % limit.max(1)
}

/// A value that a column may be set to; most are wrong in most columns.
fn value(rng: &mut Rng) -> Value {
    let values = [
        json!("ANY"),
        json!("UNKNOWN"),
        json!("NEW_CODE"),
        json!(""),
        Value::Null,
        json!(1),
        json!(0),
        json!(false),
        json!("REGEX"),
        json!("SET_STATE"),
        json!("("),
        json!(r"\bnew\b"),
        json!("{{broken"),
        json!("$.a[?(@.b)]"),
        json!({"http": {"url": "https://a.example"}}),
        json!("2026-01-02 03:04:05"),
    ];
    values[below(rng, values.len())].clone()
}

/// Changes one row, a table or the settings.
fn mutate(rng: &mut Rng, tables: &mut Tables, settings: &mut Value) {
    let names: Vec<String> = tables.0.keys().cloned().collect();
    let rows = tables.0.get_mut(&names[below(rng, names.len())]).unwrap();
    let at = below(rng, rows.len());
    match below(rng, 12) {
        _ if rows.is_empty() => {}
        0 => drop(rows.remove(at)),
        1 => {
            let mut row = rows[at].clone();
            let first = row.keys().next().cloned().unwrap_or_default();
            row.insert(first, json!(900 + below(rng, 100)));
            rows.push(row);
        }
        2 => drop(rows[at].insert("enabled".to_owned(), json!(false))),
        3 => drop(rows[at].insert("priority".to_owned(), json!(below(rng, 50)))),
        4 => {
            let other = below(rng, rows.len());
            rows.swap(at, other);
        }
        5 => {
            let row = json!({"config_id": below(rng, 9) + 900, "config_type": "IntentResolutionStep", "config_key": "EXAMPLE_LOCALE", "config_value": "de"});
            tables.0.entry("ce_config".to_owned()).or_default().push(row.as_object().unwrap().clone());
        }
        6 => {
            let profile = if below(rng, 2) == 0 { "v1" } else { "v2" };
            *settings = json!({"pipeline": {"profile": profile}, "mcp": {"http": {"timeoutMs": below(rng, 9)}}});
        }
        _ => {
            let columns: Vec<String> = rows[at].keys().cloned().collect();
            let column = columns[below(rng, columns.len())].clone();
            let other = rows[below(rng, rows.len())].get(&column).cloned();
            let new = if below(rng, 3) == 0 { other.unwrap_or_default() } else { value(rng) };
            rows[at].insert(column, new);
        }
    }
}

#[test]
fn sharing_changes_nothing() {
    let mut rng = Rng::new(5);
    let (mut shared, mut with_issues) = (Reuse::default(), 0);
    for text in PACKS {
        let pack = pack(text);
        for _ in 0..8 {
            let (mut tables, mut settings) = (pack.tables.clone(), pack.settings.clone());
            let mut earlier = Config::compile(&tables, &settings).0;
            for _ in 0..6 {
                (0..=below(&mut rng, 2)).for_each(|_| mutate(&mut rng, &mut tables, &mut settings));
                let (full, issues) = Config::compile(&tables, &settings);
                let (config, own_issues, reuse) = Config::recompile(tables.clone(), &settings, Some(&earlier));
                assert_eq!(config.hash_source(), full.hash_source());
                assert_eq!(own_issues, issues, "{tables:?}");
                assert!(format!("{config:?}") == format!("{full:?}"), "{tables:?}");
                shared.rows_reused += reuse.rows_reused;
                shared.patterns_reused += reuse.patterns_reused;
                with_issues += usize::from(!issues.is_empty());
                earlier = config;
            }
        }
    }
    assert!(shared.rows_reused > 1_000 && shared.patterns_reused > 10 && with_issues > 50, "{shared:?}, {with_issues} with issues");
}

#[test]
fn only_the_changed_rows_are_compiled() {
    let policy = |id: usize| json!({"policy_id": id, "rule_type": "REGEX", "pattern": format!("word {}", id % 40), "response_text": "No."});
    let mut tables: Tables = serde_json::from_value(json!({
        "ce_intent": [{"intent_code": "A"}],
        "ce_policy": (1..=50).map(policy).collect::<Vec<_>>(),
        "ce_response": [{"response_id": 1, "intent_code": "A", "state_code": "ANY", "output_format": "TEXT", "response_type": "EXACT", "exact_text": "Hi."}],
        "ce_rule": [{"rule_id": 1, "intent_code": "A", "state_code": "ANY", "rule_type": "REGEX", "match_pattern": "x", "action": "SET_STATE", "action_value": "S"}],
    }))
    .unwrap();
    let settings = json!({});
    let compile = |tables: &Tables, earlier: Option<&Config>| {
        let (config, issues, reuse) = Config::recompile(tables.clone(), &settings, earlier);
        assert_eq!(issues, []);
        (config, reuse)
    };
    let (first, reuse) = compile(&tables, None);
    // Equal patterns are compiled once.
    assert_eq!(reuse, Reuse { rows_reused: 0, rows_compiled: 53, patterns_reused: 0, patterns_compiled: 41 });

    let (same, reuse) = compile(&tables, Some(&first));
    assert_eq!(reuse, Reuse { rows_reused: 53, rows_compiled: 0, patterns_reused: 0, patterns_compiled: 0 });
    assert!(Arc::ptr_eq(&same.policies, &first.policies));

    tables.0.get_mut("ce_policy").unwrap()[7].insert("pattern".to_owned(), json!("another word"));
    let (changed, reuse) = compile(&tables, Some(&first));
    assert_eq!(reuse, Reuse { rows_reused: 3, rows_compiled: 50, patterns_reused: 40, patterns_compiled: 1 });
    assert!(!Arc::ptr_eq(&changed.policies, &first.policies) && Arc::ptr_eq(&changed.responses, &first.responses));

    // Another state affects only rows that name none of the known ones.
    tables.0.get_mut("ce_rule").unwrap()[0].insert("action_value".to_owned(), json!("S2"));
    let (_, reuse) = compile(&tables, Some(&changed));
    assert_eq!((reuse.rows_compiled, reuse.patterns_compiled), (53, 0));
    let rule = json!({"rule_id": 2, "intent_code": "A", "state_code": "S", "rule_type": "EXACT", "match_pattern": "x", "action": "SET_STATE", "action_value": "S3"});
    tables.0.get_mut("ce_rule").unwrap()[0].insert("action_value".to_owned(), json!("S"));
    tables.0.get_mut("ce_rule").unwrap().push(rule.as_object().unwrap().clone());
    let (_, reuse) = compile(&tables, Some(&changed));
    assert_eq!((reuse.rows_reused, reuse.rows_compiled, reuse.patterns_compiled), (52, 2, 0));

    // Other settings, everything.
    let (_, _, reuse) = Config::recompile(tables, &json!({"flow": {"queryRewrite": {"enabled": false}}}), Some(&changed));
    assert_eq!((reuse.rows_reused, reuse.patterns_reused), (0, 0));
}
