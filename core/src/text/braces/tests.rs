use serde_json::{Value, json};

use super::{Braces, Place, Tree};
use crate::text::names::{Fixed, garbage};

fn names() -> Fixed {
    Fixed::new(json!({
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
    Braces::parse(source).unwrap().text(&names()).said
}

fn code(source: &str) -> &'static str {
    Braces::parse(source).map_or_else(|it| it.code, |_| "")
}

#[test]
fn holes_print_values() {
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
    for (hole, expected) in [
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
        let source = format!("{{{{ {hole} }}}}");
        assert_eq!(text(&source), expected, "{source}");
    }
    for (locale, expected) in
        [("de-DE", "1.234.567,90"), ("pt_BR", "1.234.567,90"), ("fr", "1\u{202F}234\u{202F}567,90"), ("ja", "1,234,567.90")]
    {
        let names = Fixed { locale, ..names() };
        let rendered = Braces::parse("{{ sum | number('#,##0.00') }}").unwrap().text(&names);
        assert_eq!(rendered.said, expected, "{locale}");
    }
}

#[test]
fn what_is_not_defined_is_said() {
    let template = Braces::parse("{{ a.b }}{{ name }}{{ c[0] | upper }}{{ a.b }}{{ d | default('') }}{{ nothing }}{{ secret.X }}").unwrap();
    assert_eq!(template.text(&names()).undefined, ["a.b", "c[0]"]);
    assert_eq!(template.reads().iter().map(ToString::to_string).collect::<Vec<_>>(), ["a.b", "c[0]", "d", "name", "nothing"]);
    assert_eq!(template.secrets(), ["X"]);
    assert_eq!(template.literal(), None);
    assert_eq!(Braces::parse("\\{{ x").unwrap().literal(), Some("{{ x"));
    assert!(!template.uses_raw() && Braces::parse("{{ a | raw | upper }}").unwrap().uses_raw());
}

#[test]
fn a_lone_hole_keeps_its_type() {
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
        assert_eq!(Braces::parse(source).unwrap().value(&names()).said, expected, "{source}");
    }
}

#[test]
fn secrets_are_noted_where_they_go_and_values_fit_their_place() {
    let sealed = |source: &str, place| Braces::parse(source).unwrap().sealed(&names(), place).said;
    let rendered = sealed("ü {{ evil }} {{ secret.KEY }}{{ secret:KEY }}", Place::Text);
    assert_eq!(rendered.text, "ü {{ name }} \\{{ [secret:KEY] [secret:KEY][secret:KEY]");
    assert_eq!(rendered.secrets, [(31, "KEY".to_owned()), (43, "KEY".to_owned())]);
    assert!(rendered.secrets.iter().all(|it| rendered.text[it.0..].starts_with("[secret:KEY]")));
    for (source, expected) in [
        ("https://x/{{ address }}?q={{ age }}", "https://x/a%20b%2F%C3%BC%3F%26%3D%23?q=36"),
        ("{{ address | raw }}", "a b/ü?&=#"),
        ("{{ address | urlencode }}", "a%20b%2F%C3%BC%3F%26%3D%23"),
        ("{{ secret.K }}", "[secret:K]"),
    ] {
        assert_eq!(sealed(source, Place::Url).text, expected, "{source}");
    }
    assert_eq!(sealed("{{ lines }}", Place::Header).text, "a  b c");
}

#[test]
fn trees_are_filled_leaf_by_leaf() {
    let source = json!({"{{ key }}": "{{ age }}", "a/b": ["{{ quote }}!", 1, null, true, "\\{{"], "m": "{{ missing }}", "l": "{{ tags }}"});
    let tree = Tree::parse(&source).unwrap();
    let rendered = tree.value(&names());
    let expected = json!({"{{ key }}": 36, "a/b": ["\"\\\n!", 1, null, true, "{{"], "m": null, "l": ["a", 2, null]});
    assert_eq!(rendered.said, expected);
    assert_eq!(rendered.undefined, ["missing"]);
    assert_eq!(tree.templates().len(), 4);
    let text = tree.sealed(&names());
    assert_eq!((text.said.text, text.undefined), (expected.to_string(), vec!["missing".to_owned()]));

    let tree = Tree::parse(&json!({"k": "é\"{{ evil }}\n{{ secret.A }}\"{{ secret.B }}", "n": ["{{ secret.A }}"]})).unwrap();
    let rendered = tree.sealed(&names()).said;
    let value: Value = serde_json::from_str(&rendered.text).unwrap();
    assert_eq!(value, tree.value(&names()).said);
    assert_eq!(rendered.secrets.iter().map(|it| it.1.as_str()).collect::<Vec<_>>(), ["A", "B", "A"]);
    for (at, name) in &rendered.secrets {
        assert!(rendered.text[*at..].starts_with(&format!("[secret:{name}]")));
    }
    let (pointer, error) = Tree::parse(&json!({"a/b~": [1, "{{ x | nope }}"]})).unwrap_err();
    assert_eq!((pointer.as_str(), error.code), ("/a~1b~0/1", "T002"));
}

#[test]
fn bad_templates_say_what_is_wrong() {
    for (source, message) in [
        ("é {{ name", "unterminated '{{' at character 3"),
        ("{{ }}", "'' is not a valid path; use names separated by dots, such as 'account.kind' or 'items[0].title' at character 4"),
        ("{{ name + 1 }}", "unexpected '+ 1 }}' at character 9; expected '}}' or '|' and a filter"),
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
        let error = Braces::parse(source).unwrap_err();
        assert_eq!(error.code, "T001", "{source}");
        assert!(error.message.contains(message), "{source}: {}", error.message);
    }
    let unknown = Braces::parse("{{ name | shout }}").unwrap_err();
    assert_eq!(unknown.code, "T002");
    assert!(unknown.message.starts_with("unknown filter 'shout' at character 11; use one of default, upper"));
    assert_eq!(code(&format!("{{{{ name {} }}}}", "| raw ".repeat(17))), "T001");
    assert_eq!(code(&"x".repeat(32 * 1024)), "");
    assert_eq!(code(&"x".repeat(32 * 1024 + 1)), "T006");
    assert_eq!(code(&format!("{{{{ secret.{} }}}}", "A".repeat(64))), "");
    assert_eq!(code(&format!("{{{{ secret.{} }}}}", "A".repeat(65))), "T001");
}

#[test]
fn filters_never_make_a_text_endless() {
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
    garbage(30_000, &pieces, |source| {
        if let Ok(template) = Braces::parse(source) {
            for place in [Place::Text, Place::Url, Place::Header] {
                let sealed = template.sealed(&names(), place).said;
                assert!(sealed.secrets.iter().all(|it| sealed.text[it.0..].starts_with("[secret:")));
            }
            assert_eq!(template.source(), source);
            template.value(&names());
            template.reads();
        }
    });
}
