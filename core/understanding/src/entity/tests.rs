use convengine_text::phrase::{Phrase, fold_text};
use serde_json::json;

use super::*;

/// Wednesday, 2026-01-28, at noon.
const CONTEXT: ExtractionContext<'_> = ExtractionContext { locale: "en-US", now: 1_769_601_600_000, time_zone: "UTC", parses: None };

const SYSTEM_NAMES: [&str; 12] = [
    "@string",
    "@number",
    "@email",
    "@phone",
    "@url",
    "@boolean",
    "@date",
    "@currency",
    "@duration",
    "@list",
    "@number_range",
    "@currency_range",
];

fn system(name: &str) -> Entity {
    Entity::from_system_name(name).unwrap()
}

fn sizes() -> Entity {
    Entity::from_entries(
        &[("Small".to_owned(), vec!["little".to_owned()]), ("Large".to_owned(), vec!["big".to_owned(), "1".to_owned()])],
        1,
        "en-US",
    )
}

fn orders() -> Entity {
    Entity::from_patterns(&[r"order (\d+)".to_owned()], None, false).unwrap()
}

#[test]
fn entities_have_a_kind() {
    assert!(SYSTEM_NAMES.iter().all(|name| system(name).kind() == *name));
    assert!(["number", "@Number", "@x", ""].iter().all(|name| Entity::from_system_name(name).is_none()));
    assert_eq!((sizes().kind(), orders().kind()), ("list", "regex"));
}

#[test]
fn values_are_extracted_from_text() {
    for (name, text, expected) in [
        ("@string", "  hello  there ", json!("hello  there")),
        ("@number", " about 3 ", json!(3)),
        ("@email", "it is Bob@Example.COM.", json!("Bob@example.com")),
        ("@phone", "(555) 123-4567", json!("+15551234567")),
        ("@url", "example.com", json!("https://example.com")),
        ("@boolean", "yes please", json!(true)),
        ("@date", "on Friday", json!("2026-01-30")),
        ("@currency", "for $5", json!({"amount": "5", "currency": "USD"})),
        ("@duration", "90 minutes", json!("PT90M")),
        ("@list", "a, b and c", json!(["a", "b", "c"])),
        ("@number_range", "5 to 10 of them", json!({"from": 5, "to": 10})),
        ("@currency_range", "up to $5", json!({"to": {"amount": "5", "currency": "USD"}})),
    ] {
        assert_eq!(system(name).extract(text, CONTEXT), Extraction::Value(expected.clone()), "{name}");
        assert_eq!(system(name).extract(" \t", CONTEXT), Extraction::NotFound, "{name}");
        assert_eq!(system(name).accept(&expected, CONTEXT), Some(expected), "{name} as it is stored");
    }
    assert_eq!(sizes().extract("a big one", CONTEXT), Extraction::Value(json!("Large")));
    assert_eq!(orders().extract("my order 12.", CONTEXT), Extraction::Value(json!("12")));
    let clash = Entity::from_entries(&[("A".to_owned(), vec!["x".to_owned()]), ("B".to_owned(), vec!["X".to_owned()])], 0, "en");
    assert_eq!(clash.extract("x", CONTEXT), Extraction::Ambiguous(vec!["A".to_owned(), "B".to_owned()]));
    assert_eq!(clash.synonym_clashes(), [("x".to_owned(), vec!["A".to_owned(), "B".to_owned()])]);
    assert_eq!((sizes().synonym_clashes(), orders().pattern_without_group()), (vec![], None));
}

#[test]
fn given_values_must_be_valid_for_the_type() {
    let rows = [
        ("@string", json!("x"), json!("x")),
        ("@string", json!(5), json!("5")),
        ("@string", json!(" "), Value::Null),
        ("@number", json!("1,000"), json!(1000)),
        ("@number", json!(1.5), json!(1.5)),
        ("@number", json!(5.0), json!(5)),
        ("@number", json!(u64::MAX), json!(u64::MAX)),
        ("@number", json!(1e19), Value::Null),
        ("@number", json!("5 apples"), Value::Null),
        ("@number", json!(true), Value::Null),
        ("@email", json!("a@b.de"), json!("a@b.de")),
        ("@email", json!("mail a@b.de"), Value::Null),
        ("@phone", json!(5_551_234), json!("5551234")),
        ("@url", json!("see x.org"), Value::Null),
        ("@boolean", json!(false), json!(false)),
        ("@boolean", json!(1), json!(true)),
        ("@boolean", json!("no"), json!(false)),
        ("@boolean", json!(2), Value::Null),
        ("@date", json!("tomorrow"), json!("2026-01-29")),
        ("@date", json!("2026-02-30"), Value::Null),
        ("@date", json!(20_260_101), Value::Null),
        ("@currency", json!("5 EUR"), json!({"amount": "5", "currency": "EUR"})),
        ("@currency", json!({"amount": 5, "currency": "eur"}), json!({"amount": "5", "currency": "EUR"})),
        ("@currency", json!(5), Value::Null),
        ("@duration", json!("2 days"), json!("P2D")),
        ("@duration", json!({}), Value::Null),
        ("@list", json!("a, b"), json!(["a", "b"])),
        ("@number_range", json!("5 to 10"), json!({"from": 5, "to": 10})),
        ("@number_range", json!({"from": 5, "to": "ten"}), json!({"from": 5, "to": 10})),
        ("@number_range", json!({"from": 5.0, "to": null}), json!({"from": 5})),
        ("@number_range", json!({"from": 10, "to": 5}), Value::Null),
        ("@number_range", json!({"from": 5, "step": 2}), Value::Null),
        ("@number_range", json!({"from": true}), Value::Null),
        ("@number_range", json!({"from": {"amount": "5", "currency": "EUR"}}), Value::Null),
        ("@number_range", json!({}), Value::Null),
        ("@number_range", json!(5), Value::Null),
        (
            "@currency_range",
            json!({"from": {"amount": 5, "currency": "eur"}, "to": "10 EUR"}),
            json!({"from": {"amount": "5", "currency": "EUR"}, "to": {"amount": "10", "currency": "EUR"}}),
        ),
        ("@currency_range", json!({"to": "$5"}), json!({"to": {"amount": "5", "currency": "USD"}})),
        ("@currency_range", json!({"from": "$5", "to": "10 EUR"}), Value::Null),
        ("@currency_range", json!({"from": "$10", "to": "$5"}), Value::Null),
        ("@currency_range", json!({"from": 5}), Value::Null),
        ("@date_range", json!({"from": 20_260_101}), Value::Null),
        ("@date_range", json!({"from": {}}), Value::Null),
        ("@list", json!([1]), Value::Null),
    ];
    for (name, value, expected) in rows {
        assert_eq!(system(name).accept(&value, CONTEXT).unwrap_or_default(), expected, "{name} {value}");
    }
    assert!(SYSTEM_NAMES.iter().all(|name| system(name).accept(&Value::Null, CONTEXT).is_none()));
    assert_eq!(sizes().accept(&json!("LITTLE"), CONTEXT), Some(json!("Small")));
    assert_eq!(sizes().accept(&json!(1), CONTEXT), Some(json!("Large")));
    assert_eq!(sizes().accept(&json!("a little"), CONTEXT), None);
    assert_eq!(sizes().accept(&json!(["Small"]), CONTEXT), None);
    assert_eq!(orders().accept(&json!(12), CONTEXT), Some(json!("12")));
}

#[test]
fn all_values_are_found_with_their_places() {
    let sizes = sizes();
    let orders = orders();
    for (entity, text, expected) in [
        (&system("@number"), " 2 adults and three children, 10%", "2=2|three=3|10%=0.1"),
        (&system("@number"), "99999999999999999999999 or 5", ""),
        (&system("@email"), "a@b.de, c@D.org", "a@b.de=\"a@b.de\"|c@D.org=\"c@d.org\""),
        (&system("@phone"), "(555) 123-4567 or +49 30 1234567", "(555) 123-4567=\"+15551234567\"|+49 30 1234567=\"+49301234567\""),
        (&system("@url"), "x.org and y.org", "x.org=\"https://x.org\"|y.org=\"https://y.org\""),
        (&system("@date"), "from Friday to Monday", "Friday=\"2026-01-30\"|Monday=\"2026-02-02\""),
        (&system("@currency"), "$5 and 7 EUR", "$5={\"amount\":\"5\",\"currency\":\"USD\"}|7 EUR={\"amount\":\"7\",\"currency\":\"EUR\"}"),
        (&system("@duration"), "2 hours, then 3 days", "2 hours=\"PT2H\"|3 days=\"P3D\""),
        (&system("@string"), "a", ""),
        (&system("@list"), "a, b", ""),
        (&system("@boolean"), "yes", ""),
        (&sizes, "BIG or líttle, lagre", "BIG=\"Large\"|líttle=\"Small\"|lagre=\"Large\""),
        (&orders, "order 12, order 34", "12=\"12\"|34=\"34\""),
    ] {
        let found = entity.find_all(text, CONTEXT);
        let shown: Vec<String> =
            found.iter().map(|entity| format!("{}={}", &text[entity.range.clone()], entity.value.clone().unwrap())).collect();
        assert_eq!(shown.join("|"), expected, "{text}");
    }
    let clash = Entity::from_entries(&[("A".to_owned(), vec!["x".to_owned()]), ("B".to_owned(), vec!["x".to_owned()])], 0, "en");
    assert_eq!(clash.find_all("an x", CONTEXT), [EntityMatch { range: 3..4, value: None }]);
    let cards = Entity::from_entries(&[("Card".to_owned(), vec![]), ("Credit".to_owned(), vec!["credit card".to_owned()])], 0, "en");
    let values: Vec<Option<Value>> = cards.find_all("a credit card, a card", CONTEXT).into_iter().map(|it| it.value).collect();
    assert_eq!(values, [Some(json!("Credit")), Some(json!("Card"))]);
}

/// Generates a text of typical fragments and random characters.
fn garbage(state: &mut u64) -> String {
    const PIECES: [&str; 48] = [
        "1",
        "20",
        "300",
        "4,000",
        "0",
        ".",
        ",",
        ":",
        "-",
        "/",
        "+",
        "%",
        "$",
        "€",
        "@",
        "a",
        "and",
        "half",
        "hour",
        "minutes",
        "h",
        "P",
        "T",
        "in",
        "days",
        "March",
        "today",
        "friday",
        "two",
        "hundred",
        "thousand",
        "million",
        "x.com",
        "https://",
        "yes",
        "no",
        "(",
        ")",
        "'",
        "\u{301}",
        "ß",
        "İ",
        "\u{a0}",
        "大",
        "USD",
        "kr",
        "ﬁ",
        "99999999999999999999",
    ];
    let mut next = || {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) as usize
    };
    let mut text = String::new();
    for _ in 0..next() % 12 {
        match next() % 8 {
            0 => text.push(char::from_u32((next() % 0x3000) as u32).unwrap_or('?')),
            1 => text.push(char::from((next() % 128) as u8)),
            _ => text.push_str(PIECES[next() % PIECES.len()]),
        }
        if next() % 2 == 0 {
            text.push(' ');
        }
    }
    text
}

#[test]
fn days_are_as_precise_as_a_slot_wants_them() {
    let with_grains = |min_grain, max_grain| system("@date").with_day_options(DayOptions { min_grain, max_grain, ..DayOptions::default() });
    let (to_month, months, to_year) =
        (with_grains(Grain::Day, Grain::Month), with_grains(Grain::Month, Grain::Month), with_grains(Grain::Day, Grain::Year));
    for (entity, text, expected) in [
        (&to_month, "5 March 2027", json!("2027-03-05")),
        (&to_month, "March 2027, please", json!("2027-03")),
        (&to_month, "May", json!("2026-05")),
        (&to_month, "2027-03", json!("2027-03")),
        (&to_month, "in 2027", Value::Null),
        (&to_month, "not in May", Value::Null),
        (&to_month, "from March to May 2027", Value::Null),
        (&to_month, "I may be late", Value::Null),
        (&to_month, "2027-13", Value::Null),
        (&months, "5 March 2027", json!("2027-03")),
        (&months, "next month", json!("2026-02")),
        (&months, "next week", Value::Null),
        (&to_year, "1987", json!("1987")),
        (&to_year, "in May 1987", json!("1987-05")),
        (&to_year, "May 5, 1987", json!("1987-05-05")),
        (&to_year, "room 1987", Value::Null),
        (&system("@date"), "March 2027", Value::Null),
        (&system("@date"), "2027-03", Value::Null),
    ] {
        let found = match entity.extract(text, CONTEXT) {
            Extraction::Value(value) => value,
            Extraction::NotFound | Extraction::Ambiguous(_) => Value::Null,
        };
        assert_eq!(found, expected, "{text}");
        if !found.is_null() {
            assert_eq!(entity.accept(&found, CONTEXT), Some(found), "{text}");
        }
    }
}

#[test]
fn any_text_is_safe_and_extracted_values_are_accepted_again() {
    let mut state = 7;
    let (list, orders) = (sizes(), orders());
    for round in 0..400 {
        let text = garbage(&mut state);
        for locale in ["en-US", "de-DE", "es-MX", "fr-FR", "it", "pt-BR", "nl", "sv-SE", "en-IN", "hi", ""] {
            let context = ExtractionContext { locale, ..CONTEXT };
            for name in SYSTEM_NAMES {
                let entity = system(name);
                if let Extraction::Value(value) = entity.extract(&text, context)
                    && !["@number", "@list"].contains(&name)
                {
                    assert_eq!(entity.accept(&value, context), Some(value), "{round} {name} {locale} {text:?}");
                }
                let _ = entity.accept(&text.as_str().into(), context);
                let all = entity.find_all(&text, context);
                assert!(
                    all.iter().all(|entity| text.get(entity.range.clone()).is_some()) && all.is_sorted_by_key(|it| it.range.end),
                    "{text:?}"
                );
                if let (Extraction::Value(value), Some(first)) = (entity.extract(&text, context), all.first()) {
                    assert_eq!(first.value, Some(value), "{round} {name} {locale} {text:?}");
                }
            }
            assert!(Phrase::new(&text, locale).tokens().iter().all(|it| !it.is_empty()));
        }
        let _ = (list.extract(&text, CONTEXT), orders.extract(&text, CONTEXT));
        assert!(list.find_all(&text, CONTEXT).iter().all(|entity| text.get(entity.range.clone()).is_some()), "{text:?}");
        assert_eq!(fold_text(&fold_text(&text)), fold_text(&text), "{text:?}");
    }
}

fn fruits(max_edits: u8, locale: &str) -> Entity {
    let entry = |value: &str, synonyms: &[&str]| (value.to_owned(), synonyms.iter().map(|synonym| (*synonym).to_owned()).collect());
    let entries = [entry("Orange", &["clementine"]), entry("Apple", &[]), entry("Peach", &["juice bar"]), entry("Café", &["café noir"])];
    let phrases = ["orange juice", "Apple-Pie", "big apple", "cafe crème", "apples"].map(str::to_owned);
    Entity::from_entries(&entries, max_edits, locale).with_negative_phrases(&phrases)
}

fn found_values(entity: &Entity, text: &str) -> String {
    let found = entity.find_all(text, CONTEXT).into_iter();
    found
        .map(|entity| format!("{}={}", &text[entity.range], entity.value.map_or("?".into(), |value| value.as_str().unwrap().to_owned())))
        .collect::<Vec<_>>()
        .join("|")
}

#[test]
fn a_value_within_a_negative_phrase_is_none() {
    for (text, expected) in [
        ("an orange juice, please", ""),
        ("Orange-Juice!", ""),
        ("orangejuice", ""),
        ("ORANGE  JUICE", ""),
        ("apple pie and an orange", "orange=Orange"),
        ("an orange, then orange juice", "orange=Orange"),
        ("orange juice or an apple", "apple=Apple"),
        ("the Big Apple", ""),
        ("a big apple pie", ""),
        ("a cafe-creme", ""),
        ("a café noir", "café noir=Café"),
        ("apples", ""),
        // The phrase is another one, or the value reaches beyond it.
        ("juice of an orange", "orange=Orange"),
        ("orange, juice", ""),
        ("blood orange", "orange=Orange"),
        ("oranges juice", "oranges=Orange"),
        ("orange juice bar", "juice bar=Peach"),
    ] {
        let fruits = fruits(0, "en-US");
        assert_eq!(found_values(&fruits, text), expected, "{text}");
        let first = expected.split('|').next().and_then(|it| it.split_once('=')).map(|it| json!(it.1));
        assert_eq!(fruits.extract(text, CONTEXT), first.clone().map_or(Extraction::NotFound, Extraction::Value), "{text}");
        let list = first.map_or(Extraction::NotFound, |value| Extraction::Value(json!([value])));
        assert_eq!(fruits.several().extract(text, CONTEXT), list, "{text}");
    }
    assert_eq!(found_values(&fruits(1, "en-US"), "orage, orange juice, peaach"), "orage=Orange|peaach=Peach", "typing errors elsewhere");
    assert_eq!(found_values(&fruits(1, "en-US"), "aple pie"), "", "too short for a typing error");
    let planet = Entity::from_entries(&[("Planet".to_owned(), Vec::new())], 1, "en").with_negative_phrases(&["planer shop".to_owned()]);
    assert_eq!((found_values(&planet, "planer shop"), found_values(&planet, "planer")), (String::new(), "planer=Planet".to_owned()));
    let either = fruits(0, "en-US").extract("orange juice, an orange or an apple", CONTEXT);
    assert_eq!(either, Extraction::Ambiguous(vec!["Orange".to_owned(), "Apple".to_owned()]));
}

#[test]
fn negative_phrases_are_in_any_language() {
    for (locale, value, phrase, text, expected) in [
        ("de-DE", "Birne", "Glühbirne kaputt", "die Gluhbirne kaputt", ""),
        ("de-DE", "Karte", "Karte von Berlin", "eine Karte von Berlin und meine Karte", "Karte=Karte"),
        ("fr-FR", "Citron", "citron vert", "un citron vert", ""),
        ("fr-FR", "Citron", "citron vert", "un citron", "citron=Citron"),
        ("hi-IN", "सेब", "सेब का रस", "मुझे सेब का रस चाहिए", ""),
        ("hi-IN", "सेब", "सेब का रस", "मुझे सेब चाहिए", "सेब=सेब"),
        ("zh-CN", "大杯", "大杯子", "一个大杯子", ""),
        ("zh-CN", "大杯", "大杯子", "我要大杯咖啡", "大杯=大杯"),
        ("ru-RU", "карта", "карта мира", "карта мира", ""),
    ] {
        let entity = Entity::from_entries(&[(value.to_owned(), Vec::new())], 0, locale).with_negative_phrases(&[phrase.to_owned()]);
        assert_eq!(found_values(&entity, text), expected, "{text}");
    }
}

#[test]
fn a_match_within_a_negative_phrase_is_none() {
    let phrases = ["12 monkeys", "T-1000", "order 66", "agent 7"].map(str::to_owned);
    let patterns = [r"order (\d+)".to_owned(), r"\b(T-\d+|\d+)\b".to_owned()];
    let entity = Entity::from_patterns(&patterns, None, true).unwrap().with_negative_phrases(&phrases);
    for (text, expected) in [
        ("12 Monkeys", ""),
        ("I saw 12-monkeys 3 times", "3=3"),
        ("3 times 12 monkeys", "3=3"),
        ("twelve monkeys 12", "12=12"),
        ("a T-1000, a T-2", "T-2=T-2"),
        ("t1000", ""),
        ("Order 66 and order 67", "67=67"),
        ("order 66", ""),
        ("order 667", "667=667"),
        ("agent 77", "77=77"),
    ] {
        assert_eq!(found_values(&entity, text), expected, "{text}");
        let first = expected.split_once('=').map_or(Extraction::NotFound, |(_, value)| Extraction::Value(json!(value)));
        assert_eq!(entity.extract(text, CONTEXT), first, "{text}");
    }
}

#[test]
fn given_values_have_no_negative_phrases() {
    let fruits = fruits(0, "en-US");
    for (value, expected) in [("Orange", Some("Orange")), ("apples", Some("Apple")), ("orange juice", None)] {
        assert_eq!(fruits.accept(&json!(value), CONTEXT), expected.map(|it| json!(it)), "{value}");
        let several = fruits.clone().several();
        assert_eq!(several.accept(&json!(value), CONTEXT), expected.map(|it| json!([it])), "{value}");
        assert_eq!(several.accept(&json!([value]), CONTEXT), expected.map(|it| json!([it])), "{value}");
    }
    let code = Entity::from_patterns(&[r"[A-Z]\d[A-Z]".to_owned()], None, false).unwrap().with_negative_phrases(&["w3c".to_owned()]);
    assert_eq!((code.extract("W3C", CONTEXT), code.accept(&json!("W3C"), CONTEXT)), (Extraction::NotFound, Some(json!("W3C"))));
    assert_eq!(
        (code.is_negative_phrase(" W3C!"), code.is_negative_phrase("the W3C"), orders().is_negative_phrase("")),
        (true, false, false)
    );
}

#[test]
fn texts_that_may_have_a_value_are_known() {
    let (fruits, near) = (fruits(0, "en-US"), fruits(1, "en-US"));
    for (text, expected) in [("orange juice", true), ("Oranges", true), ("juice", false), ("", false), ("aple", false)] {
        assert_eq!((fruits.may_have_value(text), fruits.clone().several().may_have_value(text)), (expected, expected), "{text}");
    }
    assert_eq!((fruits.may_have_value("orrange"), near.may_have_value("orrange")), (false, true));
    let orders = Entity::from_patterns(&[r"order (\d+)".to_owned(), r"[A-Z]-\d".to_owned()], None, false).unwrap();
    for (text, expected) in [("order 66", true), ("66 monkeys", true), ("t 1", true), ("T", false), ("monkeys", false)] {
        assert_eq!(orders.may_have_value(text), expected, "{text}");
    }
}
