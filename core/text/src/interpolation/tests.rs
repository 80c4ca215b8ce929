use serde_json::{Value, json};

use super::{Interpolation, JsonTemplate, OutputContext};
use crate::names::{FixedNames, check_random_texts};

fn names() -> FixedNames {
    FixedNames::new(json!({
        "session": {
            "name": "ada Lovelace", "empty": "", "nothing": null, "age": 36, "whole": 3.0, "sum": 1234567.895, "small": 0.1,
            "yes": true, "tags": ["a", 2, null], "none": [], "account": {"kind": "gold", "ids": [{"n": 1}, {"n": 2}]},
            "evil": "{{ name }} \\{{ [secret:KEY]", "address": "a b/ü?&=#", "lines": "a\r\nb\0c", "when": "2026-01-31T09:05:07Z",
            "day": "2026-02-01", "millis": 1_767_258_061_999_i64, "digits": "12.345", "quote": "\"\\\n",
        },
        "event": {"text": "hello"},
        "strings": {"greeting": {"morning": "Guten Morgen"}},
    }))
}

fn text(source: &str) -> String {
    Interpolation::parse(source).unwrap().render_text(&names()).output
}

fn code(source: &str) -> &'static str {
    Interpolation::parse(source).map_or_else(|it| it.code, |_| "")
}

#[test]
fn placeholders_print_values() {
    for (source, expected) in [
        ("", ""),
        ("plain } text { with }} braces", "plain } text { with }} braces"),
        ("Hi {{ session.name }}!", "Hi ada Lovelace!"),
        ("{{name}}{{event.text}}", "ada Lovelacehello"),
        ("{{ age }} {{ whole }} {{ small }} {{ yes }}", "36 3 0.1 true"),
        ("[{{ nothing }}{{ missing }}{{ account.missing.deep }}{{ tags[9] }}]", "[]"),
        ("{{ tags }} {{ account.ids }}", "[\"a\",2,null] [{\"n\":1},{\"n\":2}]"),
        ("{{ tags[0] }}{{ account.ids[-1].n }}{{ account.ids[0].n }}", "a21"),
        ("\\{{ name }} \\\\{{ x }}", "{{ name }} \\{{ x }}"),
        ("{{ evil }}", "{{ name }} \\{{ [secret:KEY]"),
        ("{\"a\":{{age}}}", "{\"a\":36}"),
        ("{{ secret.API_KEY }}-{{secret:B2}}", "[secret:API_KEY]-[secret:B2]"),
        ("{{ name | default('}}') }}", "ada Lovelace"),
    ] {
        assert_eq!(text(source), expected, "{source}");
    }
}

#[test]
fn filters_change_values() {
    for (placeholder, expected) in [
        ("missing | default('you')", "you"),
        ("nothing | default('it\\'s')", "it's"),
        ("empty | default(\"x\\n\")", "x\n"),
        ("empty | default(0)", "0"),
        ("age | default(1)", "36"),
        ("yes|default ( false )", "true"),
        ("name | upper", "ADA LOVELACE"),
        ("name | lower", "ada lovelace"),
        ("name | capitalize", "Ada Lovelace"),
        ("empty | capitalize", ""),
        ("name | truncate(5)", "ada …"),
        ("name | truncate(12)", "ada Lovelace"),
        ("name | truncate(0)", ""),
        ("name | replace('a', 'A') | replace('', '-')", "AdA LovelAce"),
        ("age | upper", "36"),
        ("tags | lower", "[\"a\",2,null]"),
        ("sum | number('0')", "1234568"),
        ("sum | number('0.00')", "1234567.90"),
        ("sum | number('#,##0.00')", "1,234,567.90"),
        ("sum | number('#,##0')", "1,234,568"),
        ("small | number('0%')", "10%"),
        ("small | number('0.0%')", "10.0%"),
        ("small | number('0.00##')", "0.10"),
        ("digits | number('0.00')", "12.35"),
        ("name | number('0.00')", "ada Lovelace"),
        ("when | date('DD.MM.YYYY HH:mm:ss')", "31.01.2026 09:05:07"),
        ("day | date('YYYY/MM/DD')", "2026/02/01"),
        ("millis | date('YYYY-MM-DD')", "2026-01-01"),
        ("name | date('YYYY')", "ada Lovelace"),
        ("name | json", "\"ada Lovelace\""),
        ("account | json", "{\"kind\":\"gold\",\"ids\":[{\"n\":1},{\"n\":2}]}"),
        ("nothing | json", "null"),
        ("address | urlencode", "a%20b%2F%C3%BC%3F%26%3D%23"),
        ("address | raw", "a b/ü?&=#"),
        ("tags | join(', ')", "a, 2, "),
        ("tags | first", "a"),
        ("tags | last", ""),
        ("none | first", ""),
        ("name | first", "ada Lovelace"),
        ("name | length", "12"),
        ("tags | length", "3"),
        ("account | length", "2"),
        ("age | length", "36"),
        ("name | mask(4)", "********lace"),
        ("age | mask(1)", "*6"),
        ("age | mask(2)", "**"),
        ("nothing | mask(2)", ""),
        ("missing | t('greeting.morning')", "Guten Morgen"),
        ("name | t('greeting.evening') | upper", "ADA LOVELACE"),
        ("missing | upper | default('a') | upper", "A"),
        ("\tname\n|  trim  ", "ada Lovelace"),
    ] {
        let source = format!("{{{{ {placeholder} }}}}");
        assert_eq!(text(&source), expected, "{source}");
    }
    for (locale, expected) in
        [("de-DE", "1.234.567,90"), ("pt_BR", "1.234.567,90"), ("fr", "1\u{202F}234\u{202F}567,90"), ("ja", "1,234,567.90")]
    {
        let names = FixedNames { locale, ..names() };
        let rendered = Interpolation::parse("{{ sum | number('#,##0.00') }}").unwrap().render_text(&names);
        assert_eq!(rendered.output, expected, "{locale}");
    }
}

#[test]
fn times_are_those_of_the_time_zone() {
    let document = json!({"session": {
        "utc": "2026-03-29T01:00:00.000Z", "before": "2026-03-29T00:59:59Z", "millis": 1_774_746_000_000_i64,
        "day": "2026-03-29", "local": "2026-03-29T01:00:00", "offset": "2026-03-29T01:00:00+09:00",
    }});
    for (name, time_zone, expected) in [
        ("utc", "UTC", "29 01:00:00"),
        ("utc", "Europe/Berlin", "29 03:00:00"),
        ("before", "Europe/Berlin", "29 01:59:59"),
        ("millis", "America/New_York", "28 21:00:00"),
        ("utc", "Asia/Kolkata", "29 06:30:00"),
        ("day", "Asia/Kolkata", "29 00:00:00"),
        ("local", "Asia/Kolkata", "29 01:00:00"),
        ("offset", "Asia/Kolkata", "29 01:00:00"),
    ] {
        let names = FixedNames { time_zone, ..FixedNames::new(document.clone()) };
        let template = Interpolation::parse(&format!("{{{{ {name} | date('DD HH:mm:ss') }}}}")).unwrap();
        assert_eq!(template.render_text(&names).output, expected, "{name} {time_zone}");
    }
}

#[test]
fn undefined_paths_are_reported() {
    let template =
        Interpolation::parse("{{ a.b }}{{ name }}{{ c[0] | upper }}{{ a.b }}{{ d | default('') }}{{ nothing }}{{ secret.X }}").unwrap();
    assert_eq!(template.render_text(&names()).undefined, ["a.b", "c[0]"]);
    assert_eq!(template.paths().iter().map(ToString::to_string).collect::<Vec<_>>(), ["a.b", "c[0]", "d", "name", "nothing"]);
    assert_eq!(template.secret_names(), ["X"]);
    assert_eq!(template.literal(), None);
    assert_eq!(Interpolation::parse("\\{{ x").unwrap().literal(), Some("{{ x"));
    assert!(!template.has_raw_filter() && Interpolation::parse("{{ a | raw | upper }}").unwrap().has_raw_filter());
}

#[test]
fn a_single_placeholder_keeps_its_type() {
    for (source, expected) in [
        ("{{ age }}", json!(36)),
        ("{{ tags }}", json!(["a", 2, null])),
        ("{{ missing }}", json!(null)),
        ("{{ age }} ", json!("36 ")),
        ("{{ tags | length }}", json!(3)),
        ("{{ missing | default(2) }}", json!(2)),
        ("{{ secret.KEY }}", json!("[secret:KEY]")),
        ("", json!("")),
    ] {
        assert_eq!(Interpolation::parse(source).unwrap().render_value(&names()).output, expected, "{source}");
    }
}

#[test]
fn secrets_are_marked_and_values_are_encoded_for_their_context() {
    let sealed = |source: &str, place| Interpolation::parse(source).unwrap().render_with_secrets(&names(), place).output;
    let rendered = sealed("ü {{ evil }} {{ secret.KEY }}{{ secret:KEY }}", OutputContext::Text);
    assert_eq!(rendered.text, "ü {{ name }} \\{{ [secret:KEY] [secret:KEY][secret:KEY]");
    assert_eq!(rendered.secrets, [(31, "KEY".to_owned()), (43, "KEY".to_owned())]);
    assert!(rendered.secrets.iter().all(|secret| rendered.text[secret.0..].starts_with("[secret:KEY]")));
    for (source, expected) in [
        ("https://x/{{ address }}?q={{ age }}", "https://x/a%20b%2F%C3%BC%3F%26%3D%23?q=36"),
        ("{{ address | raw }}", "a b/ü?&=#"),
        ("{{ address | urlencode }}", "a%20b%2F%C3%BC%3F%26%3D%23"),
        ("{{ secret.K }}", "[secret:K]"),
    ] {
        assert_eq!(sealed(source, OutputContext::Url).text, expected, "{source}");
    }
    assert_eq!(sealed("{{ lines }}", OutputContext::Header).text, "a  b c");
}

#[test]
fn json_templates_are_rendered_leaf_by_leaf() {
    let source = json!({"{{ key }}": "{{ age }}", "a/b": ["{{ quote }}!", 1, null, true, "\\{{"], "m": "{{ missing }}", "l": "{{ tags }}"});
    let tree = JsonTemplate::parse(&source).unwrap();
    let rendered = tree.render(&names());
    let expected = json!({"{{ key }}": 36, "a/b": ["\"\\\n!", 1, null, true, "{{"], "m": null, "l": ["a", 2, null]});
    assert_eq!(rendered.output, expected);
    assert_eq!(rendered.undefined, ["missing"]);
    assert_eq!(tree.interpolations().len(), 4);
    let text = tree.render_with_secrets(&names());
    assert_eq!((text.output.text, text.undefined), (expected.to_string(), vec!["missing".to_owned()]));

    let tree = JsonTemplate::parse(&json!({"k": "é\"{{ evil }}\n{{ secret.A }}\"{{ secret.B }}", "n": ["{{ secret.A }}"]})).unwrap();
    let rendered = tree.render_with_secrets(&names()).output;
    let value: Value = serde_json::from_str(&rendered.text).unwrap();
    assert_eq!(value, tree.render(&names()).output);
    assert_eq!(rendered.secrets.iter().map(|it| it.1.as_str()).collect::<Vec<_>>(), ["A", "B", "A"]);
    for (at, name) in &rendered.secrets {
        assert!(rendered.text[*at..].starts_with(&format!("[secret:{name}]")));
    }
    let (pointer, error) = JsonTemplate::parse(&json!({"a/b~": [1, "{{ x | nope }}"]})).unwrap_err();
    assert_eq!((pointer.as_str(), error.code), ("/a~1b~0/1", "T002"));
}

#[test]
fn invalid_templates_return_a_message() {
    for (source, message) in [
        ("é {{ name", "unterminated '{{' at character 3"),
        (
            "{{ }}",
            "'' is not a valid path; use names separated by dots, such as 'account.kind', 'items[0].title' or steps['my-step'] at character 4",
        ),
        ("{{ name + 1 }}", "unexpected '+ 1 }}' at character 9; expected '}}' or '|' and a filter"),
        ("{{ steps.charge-card.output | json }}", "a name with '-' needs brackets at character 16; write steps['charge-card'].output"),
        ("{{ name | }}", "unexpected '}}' at character 11; expected a filter name"),
        ("{{ name | upper('x') }}", "invalid arguments for filter 'upper' at character 11; expected no arguments"),
        ("{{ name | truncate }}", "; expected a whole number"),
        ("{{ name | truncate(-1) }}", "; expected a whole number"),
        ("{{ name | truncate('1') }}", "; expected a whole number"),
        ("{{ name | replace('a') }}", "; expected a string and a string"),
        ("{{ name | number('1.2') }}", "; expected a pattern such as '0', '0.00', '#,##0.00' or '0%'"),
        ("{{ name | number('0.') }}", "; expected a pattern"),
        ("{{ name | t('a b') }}", "; expected a string-table key"),
        ("{{ name | default(other) }}", "; expected a quoted string, a number, true, false or null"),
        ("{{ name | default('x' }}", "; expected ',' or ')'"),
        ("{{ name | default('x) }}", "unterminated string"),
        ("{{ secret.key }}", "; expected the name of a secret in capital letters"),
        ("{{ secret.KEY.a }}", "a secret has neither members nor filters"),
        ("{{ secret.KEY | upper }}", "a secret has neither members nor filters"),
        ("{{ a.b[x] }}", "'a.b[x]' is not a valid path"),
    ] {
        let error = Interpolation::parse(source).unwrap_err();
        assert_eq!(error.code, "T001", "{source}");
        assert!(error.message.contains(message), "{source}: {}", error.message);
    }
    let unknown = Interpolation::parse("{{ name | shout }}").unwrap_err();
    assert_eq!(unknown.code, "T002");
    assert!(unknown.message.starts_with("unknown filter 'shout' at character 11; use one of default, upper"));
    assert_eq!(code(&format!("{{{{ name {} }}}}", "| raw ".repeat(17))), "T001");
    assert_eq!(code(&"x".repeat(32 * 1024)), "");
    assert_eq!(code(&"x".repeat(32 * 1024 + 1)), "T006");
    assert_eq!(code(&format!("{{{{ secret.{} }}}}", "A".repeat(64))), "");
    assert_eq!(code(&format!("{{{{ secret.{} }}}}", "A".repeat(65))), "T001");
}

#[test]
fn filter_output_is_bounded() {
    let grown = format!("{{{{ name {} }}}}", "| replace('a', 'aaaaaaaaaa')".repeat(16));
    assert!(text(&grown).len() < 1 << 21);
    assert!(text(&format!("{{{{ name {} }}}}", "| json ".repeat(16))).len() < 1 << 21);
    assert!(text(&format!("{{{{ name {} }}}}", "| urlencode ".repeat(16))).len() < 1 << 21);
}

#[test]
fn garbage_never_breaks_the_engine() {
    let pieces = [
        "{{",
        "}}",
        " ",
        "|",
        "(",
        ")",
        "'",
        "\"",
        "\\",
        "name",
        ".",
        "[",
        "-1",
        "]",
        "secret.",
        "KEY",
        "default",
        "number",
        "0.00",
        "#,##0",
        "date",
        "mask",
        "age",
        "t",
        ",",
        "join",
        "sum",
        "1e9",
        "{{ sum | number('0.0",
        "{{ name | mask(",
    ];
    check_random_texts(30_000, &pieces, |source| {
        if let Ok(template) = Interpolation::parse(source) {
            for place in [OutputContext::Text, OutputContext::Url, OutputContext::Header] {
                let sealed = template.render_with_secrets(&names(), place).output;
                assert!(sealed.secrets.iter().all(|secret| sealed.text[secret.0..].starts_with("[secret:")));
            }
            assert_eq!(template.source(), source);
            template.render_value(&names());
            template.paths();
        }
    });
}
