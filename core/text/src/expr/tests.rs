use serde_json::{Value, json};

use super::{ConditionForm, EvalError, Expr, is_plain_words};
use crate::names::{FixedNames, check_random_texts};

fn names() -> FixedNames {
    FixedNames::new(json!({
        "session": {
            "n": 5, "m": 2, "half": 0.5, "text": "Hello World", "digits": "42", "yes": true, "no": false, "word": "No", "empty": "",
            "nothing": null, "list": [1, "two", null, {"a": 1}], "none": [], "object": {"key": 1}, "bare": {}, "zip": 10115,
            "big": 9_007_199_254_740_993_i64, "most": i64::MAX, "huge": 1e308, "long": "12345678901234567890", "city": "San José",
            "when": "2026-01-31T23:30:00-05:00", "millis": 1_767_258_061_999_i64, "truths": [true, 1, "yes"], "pattern": "^[A-Z]",
            "in_stock": true, "many": vec![1; 9_990],
        },
        "event": {"text": "I want my REFUND now"},
        "item": {"title": "x"},
    }))
}

fn value(source: &str) -> Result<Option<Value>, EvalError> {
    Expr::parse_value(source).unwrap_or_else(|it| panic!("{source}: {}", it.message)).evaluate(&names())
}

fn condition(source: &str) -> Expr {
    Expr::parse(source).unwrap_or_else(|it| panic!("{source}: {}", it.message))
}

fn is_true(source: &str) -> bool {
    condition(source).is_true(&names()).unwrap_or_else(|it| panic!("{source}: {}", it.0))
}

#[test]
fn values_are_computed() {
    for (source, expected) in [
        ("n", json!(5)),
        ("session.n", json!(5)),
        ("list[-1].a", json!(1)),
        ("'it'", json!("it")),
        (r#""a\u00e9\"" + 'b\'c'"#, json!("aé\"b'c")),
        ("[1, 'a', null, [n]]", json!([1, "a", null, [5]])),
        ("[missing]", json!([null])),
        ("1 + 2 * 3 - 4 / 2", json!(5)),
        ("(1 + 2) * 3", json!(9)),
        ("7 / 2", json!(3.5)),
        ("6 / 3", json!(2)),
        ("-7 % 4", json!(-3)),
        ("7.5 % 2", json!(1.5)),
        ("0.3 % 0.1", json!(0)),
        ("-0.7 % '0.2'", json!(-0.1)),
        ("100.1 - 100", json!(0.1)),
        ("19.99 * 3 - 59.97", json!(0)),
        ("0.1 + 0.2", json!(0.3)),
        ("half + half", json!(1)),
        ("3.0", json!(3)),
        ("2 - -1", json!(3)),
        ("2-1", json!(1)),
        ("-n", json!(-5)),
        ("- (n)", json!(-5)),
        ("big + 1", json!(9_007_199_254_740_994_i64)),
        ("most + 1", json!(9.223_372_036_854_78e18)),
        ("digits + 1", json!(43)),
        ("digits * 2", json!(84)),
        ("digits + '1'", json!("421")),
        ("text + ' ' + n + yes + nothing + missing", json!("Hello World 5true")),
        ("none + [1] + list", json!([1, 1, "two", null, {"a": 1}])),
        ("n > 3 ? 'big' : 'small'", json!("big")),
        ("n > 9 ? 1 : n > 4 ? 2 : 3", json!(2)),
        ("missing ? 1 / 0 : 2", json!(2)),
        ("len(text) + len(list) + len(object) + len(missing) + len('é')", json!(17)),
        ("lower(text) + upper(text) + trim(' a ') + lower(n)", json!("hello worldHELLO WORLDa5")),
        ("number('-1.50')", json!(-1.5)),
        ("number(yes) + number(no)", json!(1)),
        ("string(3.0) + string(list) + string(missing)", json!("3[1,\"two\",null,{\"a\":1}]")),
        ("[bool('YES'), bool('0'), bool(2), bool(missing), bool('')]", json!([true, false, true, false, false])),
        ("date()", json!("2026-01-01")),
        ("date(when)", json!("2026-01-31")),
        ("date(millis)", json!("2026-01-01")),
        ("days_between('2024-02-28', '2024-03-01')", json!(2)),
        ("days_between(when, date())", json!(-30)),
        ("coalesce(missing, nothing, '', 1)", json!("")),
        ("coalesce(n, 1 / 0)", json!(5)),
        ("min(3, n, '1')", json!("1")),
        ("max([3, 1, 2])", json!(3)),
        ("max('a', 'b')", json!("b")),
        ("[round(2.5), round(-2.5), round(1.005, 2), round('2.4'), round(7, 2)]", json!([3, -3, 1.01, 2, 7])),
        ("[round(1.005, '2'), round(1.25, 1.0)]", json!([1.01, 1.3])),
        ("[abs(-5), abs('-1.5'), abs(-0.0)]", json!([5, 1.5, 0])),
        ("[count(list), count(list, 1), count(missing), count([1, '1', 2], 1)]", json!([3, 1, 0, 2])),
        ("[any(list), any(none), any(list, 'two'), any([0, ''])]", json!([true, false, true, false])),
        ("[all(truths), all(list), all(none), all([2, '2'], 2)]", json!([true, false, true, true])),
    ] {
        assert_eq!(value(source), Ok(Some(expected)), "{source}");
    }
    for source in ["missing", "list[9]", "coalesce(missing, nothing)", "min([])", "lower(missing)", "n.x"] {
        assert_eq!(value(source), Ok(None), "{source}");
    }
    assert_eq!(value("nothing"), Ok(Some(Value::Null)));
}

#[test]
fn conditions_are_evaluated() {
    for source in [
        "n == 5",
        "n == '5.0'",
        "'007' == 7",
        "'1.0' == '1'",
        "n != 4",
        "yes == 'TRUE'",
        "no == ' no '",
        "word == false",
        "text == 'Hello World'",
        "text != 'hello world'",
        "missing == null",
        "missing == nothing",
        "nothing != 0",
        "list[3] == object ? false : true",
        "[1, ['2']] == ['1', [2]]",
        "object == session.object",
        "object != bare",
        "yes != 1",
        "list != 'two'",
        "long != '12345678901234567891'",
        "n < 6 && n <= 5 && n > 4 && n >= 5",
        "digits > 5",
        "'9' < '10'",
        "'b' > 'a'",
        "'2026-01-31' < '2026-02-01'",
        "big > 9007199254740992",
        "n == 5 and not n == 4 or 1 / 0",
        "! missing",
        "not missing && !no",
        "!n == 4",
        "yes == !no",
        "missing || yes",
        "!(missing && 1 / 0)",
        "'two' in list",
        "'1' in list",
        "null in list",
        "3 not in list",
        "n in[5]",
        "'WORLD' in text",
        "text contains 'world'",
        "text not contains 'moon'",
        "list contains 'two'",
        "list not contains 'Two'",
        "object contains 'key'",
        "object not contains 'Key'",
        "zip contains '01'",
        "!(missing contains 'a')",
        "!(text contains missing)",
        "text starts_with 'Hello'",
        "!(text starts_with 'hello')",
        "text ends_with 'World'",
        "text not ends_with 'x'",
        "text matches '^Hel+o'",
        "text matches pattern",
        "text not matches '^hello'",
        "text matches '(?i)^hello'",
        "missing not matches '.'",
        "n is set",
        "missing is not set",
        "nothing is not set",
        "empty is set",
        "empty is empty",
        "none is empty && bare is empty && missing is empty && nothing is empty",
        "n is not empty and text is not empty",
        "no is not empty",
        "!none && !bare && !empty && !no && !word && !'0' && !0",
        "list && object && text && n",
        "has(list, 1) && has(text, 'WORLD') && has(object, 'key') && !has(missing, 1)",
        "in_stock == true",
        "session.in_stock",
        "event.text contains 'refund'",
        "item.title == \"x\"",
        "true",
        "TRUE",
        "*",
        " Else ",
        "default",
        "contains: Refund ",
        "Contains:want MY",
        "var.n == 5",
        "var.text == hello world",
        "var.text == 'HELLO WORLD'",
        "var.city == SAN JOSÉ",
        "var.word == no",
        "var.yes == yes",
        "len(text) == 11",
        "(n)==(5)",
        "n>4&&n<6",
        "(n == 5) == true",
    ] {
        assert!(is_true(source), "{source}");
    }
    for source in
        ["false", "n == 5 && n == 6", "contains:invoice", "var.text == open", "var.missing == open", "!yes", "text == 'hello World'"]
    {
        assert!(!is_true(source), "{source}");
    }
}

#[test]
fn failed_evaluations_return_errors() {
    for (source, reason) in [
        ("1 / 0", "a number is divided by zero"),
        ("n % 0.0", "a number is divided by zero"),
        ("n / '0'", "a number is divided by zero"),
        ("n < 'abc'", "cannot compare a number with a string"),
        ("missing < 5", "cannot compare null with a number"),
        ("yes > no", "cannot compare a boolean with a boolean"),
        ("list >= 1", "cannot compare a list with a number"),
        ("!(list >= 1)", "cannot compare a list with a number"),
        ("missing + 1", "cannot calculate with null and a number"),
        ("yes - 1", "cannot calculate with a boolean and a number"),
        ("text * 2", "cannot calculate with a string and a number"),
        ("text + list", "expected a string, found a list"),
        ("-text", "cannot calculate with a number and a string"),
        ("huge * 10", "the result is too large, or not a number"),
        ("text contains list", "expected a string, found a list"),
        ("list starts_with 'a'", "expected a string, found a list"),
        ("text matches n", "the pattern of 'matches' is not a string"),
        ("text matches (text + '(')", "Parsing error"),
        ("len(5)", "'len' needs a string, a list or an object"),
        ("number('abc')", "expected a number, found a string"),
        ("number('1e3')", "expected a number, found a string"),
        ("number(missing)", "expected a number, found null"),
        ("bool('maybe')", "a string is neither true nor false"),
        ("bool(list)", "a list is neither true nor false"),
        ("date('31.01.2026')", "expected a date such as '2026-01-31', found a string"),
        ("date(missing)", "expected a date"),
        ("min(1, 'a')", "cannot compare a string with a number"),
        ("max(list)", "cannot compare a string with a number"),
        ("max(yes)", "expected a list, found a boolean"),
        ("round(1, 13)", "'round' needs a whole number of digits from 0 to 12"),
        ("round(1, null)", "'round' needs a whole number of digits from 0 to 12"),
        ("round(1, missing)", "'round' needs a whole number of digits from 0 to 12"),
        ("round(1, 0.5)", "'round' needs a whole number of digits from 0 to 12"),
        ("round(missing, 1)", "expected a number, found null"),
        ("count(text)", "expected a list, found a string"),
        ("count(many) + count(many)", "the expression takes more than 10000 steps"),
        ("1 in many && 2 in many", "the expression takes more than 10000 steps"),
    ] {
        let found = value(source).unwrap_err().0;
        assert!(found.contains(reason), "{source}: {found}");
    }
    let patterns = ["!(text matches (pattern + 'x'))"; 10].join(" && ");
    assert_eq!(condition(&patterns).is_true(&names()), Err(EvalError("the expression takes more than 10000 steps".to_owned())));
    let terms = vec!["1"; 10_001].join("+");
    assert!(value(&terms).unwrap_err().0.contains("10000 steps"));
    assert_eq!(value(&vec!["1"; 9_999].join("+")), Ok(Some(json!(9_999))));
}

#[test]
fn copied_bytes_are_limited() {
    let whole = FixedNames::new(json!({"session": {"big": "x".repeat(1 << 20), "list": ["x".repeat(1 << 20)], "n": 1, "pattern": "y"}}));
    for (term, operator) in [
        ("len(upper(big))", " + "),
        ("len([big])", " + "),
        ("len(list + list)", " + "),
        ("len(string(list))", " + "),
        ("(big == big + '')", " && "),
        ("(list != [1])", " && "),
        ("!(big contains 'y')", " && "),
        ("!('y' in list)", " && "),
        ("!(big starts_with 'y')", " && "),
        ("!(big matches 'y')", " && "),
        ("(max(list) > 'a')", " && "),
        ("(count(list, 'y') == 0)", " && "),
        ("len(session)", " + "),
    ] {
        let source = vec![term; 60].join(operator);
        let found = Expr::parse_value(&source).unwrap().evaluate(&whole);
        assert_eq!(found, Err(EvalError("the expression copies more than 16 MiB".to_owned())), "{term}");
        assert!(Expr::parse_value(term).unwrap().evaluate(&whole).is_ok(), "{term}");
    }
    let free = vec!["big is set and list[0] is not empty and n == 1"; 500].join(" and ");
    assert_eq!(Expr::parse(&free).unwrap().is_true(&whole), Ok(true));
}

#[test]
fn invalid_expressions_return_a_message() {
    for (source, code, message) in [
        ("", "E001", "unexpected end at character 1; expected a value"),
        ("   ", "E001", "unexpected end at character 4"),
        ("billing", "E001", "'billing' at character 1 is a bare word; write 'billing is set'"),
        ("(billing)", "E001", "a bare word"),
        ("talk to a human", "E001", "unexpected 'to a human' at character 6; expected an operator such as '==' or '&&', or the end"),
        ("contains:  ", "E001", "missing text after 'contains:'"),
        ("  n = 5", "E001", "at character 5"),
        (" billing ", "E001", "'billing' at character 2 is a bare word"),
        ("secret.KEY == 'x'", "E002", "secret at character 1 can be used in requests only"),
        ("n = 5", "E001", "unexpected '= 5' at character 3; expected '==' to compare"),
        ("n ==", "E001", "unexpected end at character 5"),
        ("n == 5 == 6", "E001", "'== 6' at character 8"),
        ("é", "E001", "'é' at character 1"),
        ("'é' == é", "E001", "'é' at character 8"),
        ("n == 'x", "E001", "unterminated string at character 6"),
        ("n == '\\x'", "E001", "at character 7"),
        ("n is big", "E001", "unexpected 'big' at character 6; expected 'set' or 'empty' after 'is', or '==' to compare"),
        ("n not 5", "E001", "unexpected '5' at character 7; expected 'in', 'contains' or 'matches' after 'not'"),
        ("n == and", "E001", "'and' at character 6"),
        ("n && ", "E001", "unexpected end at character 6"),
        ("(n", "E001", "unexpected end at character 3; expected ')'"),
        ("[1 2]", "E001", "unexpected '2]' at character 4; expected ',' or ']'"),
        ("n ? 1", "E001", "expected ':'"),
        ("a..b == 1", "E001", "'a..b' is not a valid path"),
        ("a[x] == 1", "E001", "'a[x]' is not a valid path"),
        ("5x == 1", "E001", "'5x == 1' at character 1"),
        ("len() > 1", "E001", "'len' at character 1 takes one argument"),
        ("n == len(1, 2)", "E001", "'len' at character 6 takes one argument"),
        ("date(1, 2)", "E001", "takes at most one argument"),
        ("round(1, 2, 3)", "E001", "takes one or two arguments"),
        ("has(n)", "E001", "takes two arguments"),
        ("coalesce()", "E001", "takes at least one argument"),
        ("n == sqrt(4)", "E002", "unknown function 'sqrt' at character 6; use one of len, lower, upper"),
        ("text.size() > 1", "E002", "unknown function 'text.size' at character 1"),
        ("text matches '('", "E003", "invalid pattern at character 14: "),
        ("text matches '(?=a)'", "E003", "look-around"),
        ("text matches '(a)\\\\1'", "E003", "back-references"),
        (&"x".repeat(32 * 1024 + 1), "E001", "longer than 32 KiB"),
        (&("(".repeat(65) + "1" + &")".repeat(65)), "E001", "the expression nests too deeply at character 66; split it"),
        (&("!".repeat(5_000) + "n"), "E001", "nests too deeply"),
        (&"n ? 1 : ".repeat(2_000), "E001", "nests too deeply"),
        (&"- ".repeat(5_000), "E001", "nests too deeply"),
        (&"len([".repeat(5_000), "E001", "nests too deeply"),
    ] {
        let error = Expr::parse(source).unwrap_err();
        assert_eq!(error.code, code, "{source}");
        assert!(error.message.contains(message), "{source}: {}", error.message);
    }
    let deep = "(".repeat(64) + "n == 5" + &")".repeat(64);
    assert!(is_true(&deep));
    assert!(is_true(&vec!["n == 5"; 2_000].join(" && ")));
}

#[test]
fn condition_forms_are_distinguished() {
    for (source, default, legacy) in [
        ("default", true, false),
        ("ELSE", true, false),
        ("true", false, false),
        ("*", false, false),
        ("contains:x", false, true),
        ("var.x == a b", false, true),
        ("var.x == a", false, true),
        ("var.x == n && y", false, false),
        ("var.x == y and z", false, false),
        ("var.x == session.y", false, false),
        ("var.x == y != z", false, true),
        ("n == 5", false, false),
    ] {
        if let Ok(expr) = Expr::parse(source) {
            let is_legacy = matches!(expr.0, ConditionForm::MessageContains(_) | ConditionForm::EqualsWords(..));
            assert_eq!((expr.is_default(), is_legacy), (default, legacy), "{source}");
        } else {
            assert_eq!(source, "var.x == y != z");
        }
    }
    for (source, words) in [("refund", true), ("my e-mail", true), ("it is", false), ("5 6", false), ("a.b c", false), (" ", false)] {
        assert_eq!(is_plain_words(source), words, "{source}");
    }
    let workflow = |source: &str| Expr::parse_workflow(source).map(|expr| expr.is_true(&names()));
    assert_eq!(workflow("my refund"), Ok(Ok(true)));
    assert_eq!(workflow("invoice"), Ok(Ok(false)));
    assert_eq!(workflow("n == 5"), Ok(Ok(true)));
    assert!(workflow(" ").is_err());
}

#[test]
fn garbage_never_breaks_the_engine() {
    let pieces = [
        "n",
        "text",
        "list",
        "session.",
        " ",
        " ",
        "==",
        "<",
        "&&",
        "||",
        "!",
        "not ",
        "and ",
        "(",
        ")",
        "[",
        "]",
        "'",
        "\"a\"",
        "5",
        "0.5",
        "-",
        "+",
        "*",
        "/",
        "%",
        "?",
        ":",
        "len(",
        "min(",
        "round(",
        ",",
        " in ",
        " contains ",
        " matches ",
        " is ",
        "set",
        "empty",
        "var.",
        "contains:",
        "missing",
        "date()",
        "9223372036854775807",
        "1e308",
    ];
    let names = names();
    let mut parsed = 0;
    check_random_texts(60_000, &pieces, |source| {
        for expr in [Expr::parse(source), Expr::parse_value(source)].into_iter().flatten() {
            parsed += 1;
            let first = expr.evaluate(&names);
            assert_eq!(first, expr.evaluate(&names));
            let _ = (expr.paths(), expr.constant_value(), expr.comparisons(), expr.implies(&expr));
            assert!(expr.is_true(&names).is_ok() == first.is_ok());
        }
    });
    assert!(parsed > 1_000, "{parsed}");
}

#[test]
fn days_are_those_of_the_time_zone() {
    let names = FixedNames { time_zone: "Pacific/Pago_Pago", ..names() };
    let days = Expr::parse_value("[date(), date(millis), date(when), date('2026-03-28T10:00:00Z')]").unwrap();
    assert_eq!(days.evaluate(&names).unwrap(), Some(json!(["2025-12-31", "2025-12-31", "2026-01-31", "2026-03-27"])));
}
