//! Loading of settings: names, spellings, sources and problems.

use convengine_core::config::settings::{HOST_KEYS, Settings as CoreSettings};
use serde_json::json;

use super::*;

/// Loads settings from `--set` and a settings file of a name.
fn load(set: &[&str], file: Option<(&str, &str)>) -> Result<Settings, Failure> {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = file.map(|(name, text)| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path
    });
    Settings::load(&Options { set: set.iter().map(|it| (*it).to_owned()).collect(), settings, ..Options::default() })
}

fn problems(set: &[&str], file: Option<(&str, &str)>) -> Vec<String> {
    let Err(failure) = load(set, file) else { return Vec::new() };
    assert_eq!(failure.code, 2);
    failure.lines
}

#[test]
fn every_problem_is_reported_on_its_own_line() {
    let set = [
        "x=1",
        "security.moed=keys",
        "convengine.database.synchronous=sometimes",
        "convengine.",
        "convengine.turn.lease=soon",
        "convengine.turn.journal=some",
        "convengine.security.moed=keys",
        "convengine.retention=30",
        "convengine.llm.spend-cap.amount=-1",
        "convengine.llm.spend-cap.per=week",
        "convengine.flow.memory.summarizer=NOBODY",
        "convengine.notify.email.token=t",
        "convengine.network.allow-private=*,a b",
    ];
    let lines = problems(&set, None);
    for words in [
        "--set x: invalid setting",
        "--set security.moed: invalid setting; use convengine.KEY=VALUE; did you mean convengine.security.mode?",
        "--set convengine.: invalid setting",
        "convengine.database.synchronous: unknown value 'sometimes'; use normal or full",
        "convengine.turn.lease: 'soon' is not a duration",
        "convengine.turn.journal: unknown value 'some'; use normal or strict or off",
        "convengine.security.moed: unknown setting in --set; did you mean convengine.security.mode?",
        "convengine.retention: a single value instead of a group of settings; set convengine.retention.conversations or ",
        "convengine.llm.spend-cap.amount: '-1' is not an amount",
        "convengine.llm.spend-cap.per: unknown value 'week'; use day or month",
        "convengine.flow.memory.summarizer: \"NOBODY\" is not one of",
        "convengine.notify.email.url: missing",
        "convengine.network.allow-private: invalid entry '*'",
        "convengine.network.allow-private: invalid entry 'a b'",
    ] {
        assert_eq!(lines.iter().filter(|it| it.contains(words)).count(), 1, "{words} in {lines:#?}");
    }
    assert_eq!(lines.len(), 14, "{lines:#?}");
}

/// A mistyped setting and the name that is meant.
const TYPOS: [(&str, &str); 9] = [
    ("securty.mode", "security.mode"),
    ("security.moed", "security.mode"),
    ("llm.spendcap.amount", "llm.spend-cap.amount"),
    ("turns.lease", "turn.lease"),
    ("audit.persistence.mod", "audit.persistence.mode"),
    ("flow.dialogue-act.llm-treshold", "flow.dialogue-act.llm-threshold"),
    ("input.max-char", "input.max-chars"),
    ("mcp.db.preflight.sql-auto-repair-enable", "mcp.db.preflight.sql-auto-repair-enabled"),
    ("file.roots.docs", "files.roots.docs"),
];

#[test]
fn a_mistyped_setting_of_each_source_is_refused_with_the_nearest_name() {
    for (typo, meant) in TYPOS {
        let (group, key) = typo.rsplit_once('.').expect("a group");
        let toml = format!("[convengine.{group}]\n{key} = \"1\"\n");
        let yaml = format!("spring: {{name: x}}\nlogging.level: info\nconvengine.{typo}: 1\n");
        for (source, lines) in [
            ("--set", problems(&[&format!("convengine.{typo}=1")], None)),
            ("settings.toml", problems(&[], Some(("settings.toml", &toml)))),
            ("application.yml", problems(&[], Some(("application.yml", &yaml)))),
        ] {
            assert_eq!(lines.len(), 1, "{typo}: {lines:#?}");
            assert!(lines[0].starts_with(&format!("convengine.{typo}: unknown setting in ")), "{lines:#?}");
            assert!(lines[0].contains(source) && lines[0].ends_with(&format!("; did you mean convengine.{meant}?")), "{lines:#?}");
        }
    }
    assert_eq!(
        problems(&["convengine.xyz=hunter2"], None),
        ["convengine.xyz: unknown setting in --set; correct its name or remove it"],
        "nothing is similar, and the value is not shown"
    );
    assert_eq!(problems(&["convengine.flow=5"], None).len(), 1);
    assert!(problems(&["convengine.flow=5"], None)[0].contains("convengine.flow.memory.enabled"));
}

#[test]
fn a_mistyped_setting_of_a_tenant_is_refused() {
    let database = "convengine.tenants.acme.database=sqlite:acme.db";
    let lines = problems(&[database, "convengine.tenants.acme.llm.maxAttempt=2", "convengine.tenants.acme.turn.lease=soon"], None);
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert_eq!(lines[0], "tenant acme: convengine.llm.max-attempt: unknown setting in --set; did you mean convengine.llm.max-attempts?");
    let prices = problems(&["convengine.llm.prices.gpt-5.outptu=1"], None);
    assert!(prices.iter().all(|it| !it.contains("did you mean convengine.llm.prices.gpt-5.outptu")) && !prices.is_empty(), "{prices:?}");
    for empty in ["convengine.securty={}", "convengine.securty=null", "convengine.securty.mode=null"] {
        let lines = problems(&[empty], None);
        assert!(lines.len() == 1 && lines[0].contains("did you mean convengine.security"), "{empty}: {lines:?}");
    }
    for root in ["convengin: {input: {max-chars: 1}}", "ConvEngine.input.max-chars: 1", "conv_engine: {}"] {
        let lines = problems(&[], Some(("application.yml", root)));
        assert!(lines.len() == 1 && lines[0].contains("did you mean convengine?"), "{root}: {lines:?}");
    }
    let lines = problems(&[database, "convengine.turn.leese=1s"], None);
    assert_eq!(lines.len(), 1, "what a tenant inherits is reported once: {lines:#?}");
}

#[test]
fn both_spellings_are_known_and_other_trees_of_an_application_yml_are_allowed() {
    let yaml = "spring: {jpa: {show-sql: true}}\nserver: {port: 1}\nlogging: {level: {root: info}}\nmanagement.x: 1\nconvengine:\n  turn: {maxDuration: 5s}\n  \
                audit: {persistMeta: yes}\n  secrets: {}\n  llm.prices: {gpt-5.1: {input: 1, output: 2}}\n";
    let settings = load(&["convengine.chains.lease=7s"], Some(("application.yml", yaml))).expect("valid settings");
    assert_eq!((settings.turns.max_duration.as_secs(), settings.chains.lease.as_secs(), settings.turns.audit_meta), (5, 7, true));
    assert_eq!(settings.llm.prices.keys().collect::<Vec<_>>(), ["gpt-5.1"]);
}

/// Every setting of ConvEngine's own configuration classes and of its sample application.
const ORIGINAL: &str = include_str!("tests/original.txt");

#[test]
fn every_setting_of_convengine_is_accepted() {
    for line in ORIGINAL.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        assert_eq!(problems(&[&format!("convengine.{line}")], None), [""; 0], "{line}");
    }
}

#[test]
fn the_names_come_from_the_types() {
    let names = names::host_names();
    for name in ["security.jwt.jwks-url", "stream", "notify.email.url", "llm.spend-cap.amount", "files.roots", "secrets", "turn.lease"] {
        assert!(names.iter().any(|it| it == name), "{name} in {names:?}");
    }
    // A type that does not deny unknown members would look like one setting, here with a member that is none.
    for name in &names {
        let nested = name.split('.').rev().fold(json!({"no-such-member": true}), |inner, it| json!({it: inner}));
        let is_open = names::MAPS.contains(&name.as_str()) || ["admin-token", "privacy.redact", "secrets-key"].contains(&name.as_str());
        let (_, problems) = tree::read_test_tree(&nested);
        assert!(is_open || !problems.is_empty(), "{name} accepts unknown members");
    }
}

/// The core warns of unknown settings in packs by its own list of what its hosts read.
#[test]
fn the_core_knows_what_the_server_reads() {
    let within = |name: &str, key: &str| name == key || name.starts_with(&format!("{key}."));
    let names: Vec<String> = names::host_names();
    for name in names.iter().filter(|it| *it != "admin-token") {
        assert!(HOST_KEYS.iter().any(|it| within(name, it)), "HOST_KEYS of the core lacks {name}");
    }
    for key in HOST_KEYS {
        assert!(names.iter().any(|it| within(it, key)), "{key} of HOST_KEYS is read by nobody");
    }
    for key in CoreSettings::known_keys() {
        assert!(!names.iter().any(|name| within(name, key.name) || within(key.name, name)), "{} has two readers", key.name);
    }
}
