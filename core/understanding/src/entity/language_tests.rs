//! Values in the languages whose words are known.

use serde_json::{Value, json};

use super::{Entity, Extraction, ExtractionContext};

/// Wednesday, 2026-01-28, at noon.
const NOW: i64 = 1_769_601_600_000;

fn system(name: &str) -> Entity {
    Entity::from_system_name(name).unwrap()
}

fn extract(name: &str, text: &str, locale: &str) -> Value {
    match system(name).extract(text, ExtractionContext { locale, now: NOW, time_zone: "UTC", parses: None }) {
        Extraction::Value(value) => value,
        Extraction::NotFound | Extraction::Ambiguous(_) => Value::Null,
    }
}

#[test]
fn days_are_found_in_every_language() {
    for (text, locale, expected) in [
        ("in zwei Wochen", "de", "2026-02-11"),
        ("in einundzwanzig Tagen", "de", "2026-02-18"),
        ("dentro de un mes", "es", "2026-02-28"),
        ("en tres días", "es", "2026-01-31"),
        ("dans deux mois", "fr", "2026-03-28"),
        ("3 दिन में", "hi-IN", "2026-01-31"),
        ("दो हफ़्ते बाद", "hi-IN", "2026-02-11"),
        ("एक महीने के बाद", "hi-IN", "2026-02-28"),
        ("आज", "hi-IN", "2026-01-28"),
        ("कल", "hi-IN", "2026-01-29"),
        ("बीते कल", "hi-IN", "2026-01-27"),
        ("परसों", "hi-IN", "2026-01-30"),
        ("शुक्रवार को", "hi-IN", "2026-01-30"),
        ("5 मार्च 2027", "hi-IN", "2027-03-05"),
        ("5 फ़रवरी", "hi-IN", "2026-02-05"),
        ("पिछले शुक्रवार", "hi", "2026-01-23"),
        ("letzten Montag", "de", "2026-01-19"),
    ] {
        assert_eq!(extract("@date", text, locale), json!(expected), "{text} {locale}");
    }
    for (text, locale) in [("3 दिन", "hi"), ("3 Tage", "de"), ("nicht letzten Montag", "de")] {
        assert_eq!(extract("@date", text, locale), Value::Null, "{text} {locale}");
    }
}

#[test]
fn the_digits_of_devanagari_are_read() {
    let hindi = ExtractionContext { locale: "hi-IN", now: NOW, time_zone: "UTC", parses: None };
    for (name, text, expected) in [
        ("@number", " १२ लोग, ३ कमरे, 7", "१२=12|३=3|7=7"),
        ("@date", "५ मार्च से ३/४ तक", "५ मार्च=\"2026-03-05\"|३/४=\"2026-04-03\""),
        ("@currency", "₹१,००,०००", "₹१,००,०००={\"amount\":\"100000\",\"currency\":\"INR\"}"),
        ("@phone", "०९८ ७६५ ४३२ १०", "०९८ ७६५ ४३२ १०=\"+919876543210\""),
        ("@duration", "३ दिन", "३ दिन=\"P3D\""),
    ] {
        let found = system(name).find_all(text, hindi);
        let shown: Vec<String> =
            found.iter().map(|entity| format!("{}={}", &text[entity.range.clone()], entity.value.clone().unwrap())).collect();
        assert_eq!(shown.join("|"), expected, "{text}");
    }
    assert_eq!(system("@string").extract("फ्लैट १२", hindi), Extraction::Value(json!("फ्लैट १२")));
    assert_eq!(system("@currency").extract("पांच सौ रुपये", hindi), Extraction::Value(json!({"amount": "500", "currency": "INR"})));
    assert_eq!(extract("@boolean", "१", "hi"), json!(true));
}

#[test]
fn numbers_in_digits_are_read_as_each_locale_writes_them() {
    for (text, locale, expected) in [
        ("1,5", "sv-SE", json!(1.5)),
        ("1 234,5", "sv-SE", json!(1234.5)),
        ("1,234", "pl-PL", json!(1.234)),
        ("1 234", "ru-RU", json!(1234)),
        ("1.234,5", "tr-TR", json!(1234.5)),
        ("1,234", "ja-JP", json!(1234)),
        // A point groups and divides.
        ("1.234", "sv-SE", Value::Null),
        ("1,5", "ja-JP", Value::Null),
    ] {
        assert_eq!(extract("@number", text, locale), expected, "{text} {locale}");
    }
    assert_eq!(extract("@currency", "12,50 kr", "sv-SE"), json!({"amount": "12.50", "currency": "SEK"}));
}
