//! Tests of scrubbing and of references.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::json;

use super::*;

#[test]
fn a_secret_is_scrubbed_in_every_encoding() {
    let mut secrets = Secrets::default();
    secrets.add("crm", "a\"b/c+de");
    secrets.add("longer", "a\"b/c+de-and-more");
    let echoed = format!("{} {} {} {}", "a\"b/c+de", "a\\\"b/c+de", "a%22b%2Fc%2Bde", STANDARD.encode("a\"b/c+de"));
    assert_eq!(secrets.scrub(&echoed), "[secret:crm] [secret:crm] [secret:crm] [secret:crm]");
    assert_eq!(secrets.scrub("x a\"b/c+de-and-more"), "x [secret:longer]");
    assert!(matches!(secrets.scrub("nothing"), Cow::Borrowed("nothing")));
    assert_eq!(format!("{secrets:?}"), r#"{"crm", "longer"}"#);
}

#[test]
fn a_secret_is_scrubbed_however_it_is_escaped() {
    const VALUE: &str = "Kq+w/e&r<t>\"y'u=12 34==";
    let mut secrets = Secrets::default();
    secrets.add("crm", VALUE);
    let once = Value::from(VALUE).to_string();
    let every: String = VALUE.chars().map(|character| format!("\\u{:04X}", u32::from(character))).collect();
    for echoed in [
        r"Kq+w/e\u0026r\u003ct\u003e\u0022y\u0027u\u003d12 34\u003d\u003d".to_owned(),
        r"Kq\u002Bw/e\u0026r\u003Ct\u003E\u0022y\u0027u=12 34==".to_owned(),
        every,
        "Kq+w\\/e&r<t>\\\"y'u=12 34==".to_owned(),
        // JSON within JSON.
        json!({"body": once}).to_string(),
        json!([json!({"body": once}).to_string()]).to_string(),
        "Kq%2Bw%2Fe%26r%3Ct%3E%22y%27u%3D12+34%3D%3D".to_owned(),
        "Kq%2bw%2fe%26r%3ct%3e%22y%27u%3d12%2034%3d%3d".to_owned(),
        "Kq+w/e&amp;r&lt;t&gt;&quot;y&#39;u=12 34==".to_owned(),
        STANDARD.encode(format!("Bearer {VALUE}")),
        STANDARD.encode(format!("user:{VALUE}, and more")),
        URL_SAFE_NO_PAD.encode(format!("{VALUE}!")),
    ] {
        let text = format!("\\\"{echoed}\\n");
        let scrubbed = secrets.scrub(&text);
        assert!(scrubbed.contains("[secret:crm]"), "{text}: {scrubbed}");
        assert!(!scrubbed.contains("12 34") && !scrubbed.contains("u003d") && !scrubbed.contains("MTIgMzQ"), "{text}: {scrubbed}");
    }
    let harmless = r#"{"a": "C:\\temp\u0021", "b": "\ud83d\ude00 \x", "c": "\u00"}"#;
    assert!(matches!(secrets.scrub(harmless), Cow::Borrowed(_)));
    // The surrounding text is unchanged.
    assert_eq!(
        secrets.scrub("{\"n\": 1.50, \"k\": \"\\u004bq+w/e&r<t>\\\"y'u=12 34==\\u00e9\"}"),
        "{\"n\": 1.50, \"k\": \"[secret:crm]\\u00e9\"}"
    );
}

#[test]
fn a_secret_is_scrubbed_however_a_text_is_split() {
    let mut secrets = Secrets::default();
    assert_eq!(secrets.settled_len("all of it"), 9);
    secrets.add("key", "sk-12345");
    assert_eq!(
        [secrets.settled_len("a task"), secrets.settled_len("a risk-2"), secrets.settled_len("sk-1"), secrets.settled_len("sk-12345")],
        [4, 8, 0, 8]
    );
    secrets.replace_stored(BTreeMap::from([("short".to_owned(), "ab12".to_owned())]));
    secrets.add("long", "ab12\u{e9}34cd");
    let text = "xab12\u{e9}34cdab1ab12\u{e9}\u{e9}ab12\u{e9}34cab12y";
    let expected = secrets.scrub(text).into_owned();
    for size in 1..=text.chars().count() {
        let (mut shown, mut held) = (String::new(), String::new());
        let letters: Vec<char> = text.chars().collect();
        for piece in letters.chunks(size) {
            held.extend(piece);
            let rest = held.split_off(secrets.settled_len(&held));
            shown.push_str(&secrets.scrub(&held));
            held = rest;
        }
        shown.push_str(&secrets.scrub(&held));
        assert_eq!(shown, expected, "{size}");
    }
}

#[test]
fn a_value_in_the_settings_is_refused_without_being_printed() {
    let mut problems = Vec::new();
    let tree = json!({"secrets": {"crm": "hunter2hunter2", "gone": "env:CONVENGINE_NO_SUCH_SECRET"}});
    assert_eq!(Secrets::read(&tree, &mut problems).get("crm"), None);
    assert_eq!(problems.len(), 2);
    assert!(problems.iter().all(|it| !it.contains("hunter2")), "{problems:?}");
}

#[test]
fn a_short_value_is_refused_in_the_settings_and_a_short_placeholder_is_not_scrubbed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("short");
    for (value, fine) in [("1234567", false), ("12345678", true), ("\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}", false)] {
        std::fs::write(&path, value).expect("a file");
        let mut problems = Vec::new();
        let tree = json!({"secrets": {"crm": format!("file:{}", path.display())}});
        assert_eq!(Secrets::read(&tree, &mut problems).get("crm").is_some(), fine, "{value}");
        assert!(
            problems.iter().all(|line| line.contains("at least 8") && !line.contains(value)) && problems.is_empty() == fine,
            "{problems:?}"
        );
    }
    let mut secrets = Secrets::default();
    secrets.add("model", "none");
    assert_eq!((secrets.scrub("none of it"), secrets.get("model").as_deref()), (Cow::Borrowed("none of it"), Some("none")));
}

fn stored(all: &[(&str, &str)]) -> BTreeMap<String, String> {
    all.iter().map(|secret| (secret.0.to_owned(), secret.1.to_owned())).collect()
}

#[test]
fn stored_secrets_are_replaceable() {
    let mut secrets = Secrets::default();
    secrets.add("CRM", "of-the-settings");
    secrets.replace_stored(stored(&[("CRM", "of-the-database"), ("ERP", "first-value")]));
    assert_eq!((secrets.get("CRM").as_deref(), secrets.get("ERP").as_deref()), (Some("of-the-settings"), Some("first-value")));
    assert_eq!(secrets.scrub("of-the-settings of-the-database first-value"), "[secret:CRM] [secret:CRM] [secret:ERP]");
    secrets.replace_stored(BTreeMap::new());
    assert_eq!((secrets.get("ERP"), secrets.names().into_iter().collect::<Vec<_>>()), (None, vec!["CRM".to_owned()]));
    assert_eq!(format!("{secrets:?}"), r#"{"CRM"}"#);
    secrets.replace_stored(stored(&[("ERP", &"long".repeat(2_000))]));
    assert_eq!(secrets.scrub(&"long".repeat(2_000)), "[secret:ERP]");
}

#[test]
fn a_former_value_is_scrubbed_while_a_turn_runs_that_may_have_used_it() {
    let secrets = Arc::new(Secrets::default());
    secrets.replace_stored(stored(&[("ERP", "first-value")]));
    let early = secrets.begin_use();
    secrets.replace_stored(stored(&[("ERP", "second-value")]));
    let late = secrets.begin_use();
    assert_eq!(secrets.scrub("first-value second-value"), "[secret:ERP] [secret:ERP]");
    assert_eq!(secrets.settled_len("a second-va"), 2);
    secrets.replace_stored(BTreeMap::new());
    assert_eq!(secrets.scrub("first-value second-value"), "[secret:ERP] [secret:ERP]");
    drop(early);
    assert_eq!(secrets.scrub("first-value second-value"), "first-value [secret:ERP]", "the later turn never saw the first value");
    drop(late);
    assert_eq!(secrets.scrub("first-value second-value"), "first-value second-value");
    secrets.replace_stored(stored(&[("ERP", "third-value")]));
    secrets.replace_stored(BTreeMap::new());
    assert_eq!(secrets.scrub("third-value"), "third-value", "nothing runs");
    let _running = secrets.begin_use();
    for round in 0..=MAX_FORMER + 1 {
        secrets.replace_stored(stored(&[("ERP", &format!("value-{round}-of-many"))]));
    }
    assert_eq!(secrets.scrub("value-0-of-many value-1-of-many"), "value-0-of-many [secret:ERP]", "the newest ones are kept");
}
