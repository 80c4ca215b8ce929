//! What the dialects make of the same values, side by side.

use serde_json::{Value, json};

use super::*;

/// The dialects in the order of the columns.
const DIALECTS: [(&str, Dialect); 6] = [
    ("EXPRESSION", EXPRESSION),
    ("TEMPLATE", TEMPLATE),
    ("ROW_PATH", ROW_PATH),
    ("PROGRESS", PROGRESS),
    ("QUERY", QUERY),
    ("SCHEMA", SCHEMA),
];

/// Returns one character a dialect, which `of` gives.
fn columns(of: impl Fn(&Dialect) -> char) -> String {
    DIALECTS.iter().map(|it| of(&it.1)).collect()
}

fn yes_or_no(is_true: bool) -> char {
    if is_true { 'y' } else { '-' }
}

#[test]
fn dialects_differ_in_truth_only_where_the_table_says() {
    for (value, expected) in [
        (None, "------"),
        (Some(json!(null)), "--y-yy"),
        (Some(json!(false)), "--y-yy"),
        (Some(json!(true)), "yyyyyy"),
        (Some(json!(0)), "--yyyy"),
        (Some(json!(0.0)), "--yyyy"),
        (Some(json!(-1)), "yyyyyy"),
        (Some(json!("")), "-yy-yy"),
        (Some(json!("  ")), "-yy-yy"),
        (Some(json!("0")), "-yyyyy"),
        (Some(json!("False")), "--y-yy"),
        (Some(json!(" no ")), "--yyyy"),
        (Some(json!("off")), "y-yyyy"),
        (Some(json!("x")), "yyyyyy"),
        (Some(json!([])), "-yy-yy"),
        (Some(json!([0])), "yyyyyy"),
        (Some(json!({})), "-yy-yy"),
        (Some(json!({"a": null})), "yyyyyy"),
    ] {
        assert_eq!(columns(|dialect| yes_or_no(dialect.is_true(value.as_ref()))), expected, "{value:?}");
    }
}

#[test]
fn dialects_differ_in_equality_only_where_the_table_says() {
    for (left, right, expected) in [
        (None, None, "yyyyyy"),
        (None, Some(json!(null)), "yyyy--"),
        (None, Some(json!(false)), "------"),
        (Some(json!(null)), Some(json!("")), "------"),
        (Some(json!(1)), Some(json!(1.0)), "yyyyyy"),
        (Some(json!([1, {"a": 2.0}])), Some(json!([1.0, {"a": 2}])), "yyyyyy"),
        (Some(json!({"a": 1, "b": 2})), Some(json!({"b": 2, "a": 1})), "yyyyyy"),
        (Some(json!({"a": null})), Some(json!({"b": null})), "------"),
        (Some(json!(9_007_199_254_740_993_u64)), Some(json!(9_007_199_254_740_992_u64)), "------"),
        (Some(json!(u64::MAX)), Some(json!(-1)), "------"),
        (Some(json!(10)), Some(json!("10")), "y-yy--"),
        (Some(json!("+1.50")), Some(json!(1.5)), "y-yy--"),
        (Some(json!("1e3")), Some(json!(1000)), "--yy--"),
        (Some(json!("NaN")), Some(json!(0)), "------"),
        (Some(json!("1.0")), Some(json!("1")), "y-----"),
        (Some(json!(["1"])), Some(json!([1])), "y-yy--"),
        (Some(json!(true)), Some(json!("YES")), "y-----"),
        (Some(json!(true)), Some(json!(1)), "------"),
        (Some(json!("A")), Some(json!("a")), "------"),
        (Some(json!([1])), Some(json!(1)), "------"),
    ] {
        let (left, right) = (left.as_ref(), right.as_ref());
        let found = columns(|dialect| yes_or_no(dialect.is_equal(left, right)));
        assert_eq!(found, expected, "{left:?} == {right:?}");
        assert_eq!(columns(|dialect| yes_or_no(dialect.is_equal(right, left))), found, "{right:?} == {left:?}");
    }
    assert!(WORDS.are_equal(&json!("New York"), &json!("new york")));
}

#[test]
fn dialects_differ_in_order_only_where_the_table_says() {
    for (left, right, expected) in [
        (json!(2), json!(10), "<<<<<<"),
        (json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992_u64), ">>>>>>"),
        (json!(u64::MAX), json!(-1), ">>>>>>"),
        (json!(1), json!(1.0), "======"),
        (json!("9"), json!("10"), "<>??>?"),
        (json!("9"), json!(10), "<?????"),
        (json!("apple"), json!("banana"), "<<??<?"),
        (json!("Z"), json!("a"), "<<??<?"),
        (json!("a"), json!(1), "??????"),
        (json!(false), json!(true), "?<????"),
        (json!(null), json!(1), "?<????"),
        (json!(1), json!(null), "?>????"),
        (json!(null), json!(null), "?=????"),
        (json!([1]), json!([2]), "??????"),
    ] {
        let sign = |order: Option<std::cmp::Ordering>| match order {
            None => '?',
            Some(std::cmp::Ordering::Less) => '<',
            Some(std::cmp::Ordering::Equal) => '=',
            Some(std::cmp::Ordering::Greater) => '>',
        };
        assert_eq!(columns(|dialect| sign(dialect.compare(Some(&left), Some(&right)))), expected, "{left} with {right}");
    }
    assert_eq!(TEMPLATE.compare(None, Some(&json!(1))), Some(std::cmp::Ordering::Less));
    assert_eq!(EXPRESSION.satisfies(Comparison::LessOrEqual, Some(&json!("2")), Some(&json!(2))), Some(true));
    assert_eq!(EXPRESSION.satisfies(Comparison::NotEqual, None, Some(&json!(2))), Some(true));
}

#[test]
fn calculations_differ_in_the_form_of_their_result() {
    let all = |operator: Arithmetic, left: Value, right: Value| {
        let of = |dialect: Dialect| dialect.calculate(operator, &left, &right).map_or_else(|it| it, |it| it.to_string());
        [of(EXPRESSION), of(FORMULA), of(TEMPLATE)].join(" | ")
    };
    for (operator, left, right, expected) in [
        (Arithmetic::Add, json!(1), json!(2), "3 | 3.0 | 3"),
        (Arithmetic::Add, json!(0.1), json!(0.2), "0.3 | 0.3 | 0.30000000000000004"),
        (Arithmetic::Multiply, json!(19.99), json!(3), "59.97 | 59.97 | 59.97"),
        (Arithmetic::Subtract, json!(0.3), json!(0.1), "0.2 | 0.2 | 0.19999999999999998"),
        (Arithmetic::Divide, json!(7), json!(2), "3.5 | 3.5 | 3"),
        (Arithmetic::Divide, json!(8), json!(2), "4 | 4.0 | 4"),
        (Arithmetic::Remainder, json!(-7), json!(3), "-1 | -1.0 | -1"),
        (Arithmetic::Remainder, json!(5.5), json!(2), "1.5 | 1.5 | 1.5"),
        (Arithmetic::Remainder, json!(0.3), json!(0.1), "0 | 0.0 | 0.09999999999999998"),
        (Arithmetic::Subtract, json!(100.1), json!(100), "0.1 | 0.1 | 0.09999999999999432"),
        (Arithmetic::Add, json!(9_007_199_254_740_993_i64), json!(1), "9007199254740994 | 9007199254740994 | 9007199254740994"),
        (Arithmetic::Add, json!(2.5), json!(2.5), "5 | 5.0 | 5.0"),
    ] {
        assert_eq!(all(operator, left.clone(), right.clone()), expected, "{left} {operator:?} {right}");
    }
    let divided = "a number is divided by zero";
    let too_large = "the result is too large, or not a number";
    assert_eq!(all(Arithmetic::Divide, json!(1), json!(0)), [divided; 3].join(" | "));
    assert_eq!(all(Arithmetic::Remainder, json!(1.5), json!(0)), [divided, divided, too_large].join(" | "));
    assert_eq!(all(Arithmetic::Multiply, json!(1e300), json!(1e300)), [too_large; 3].join(" | "));
    assert_eq!(EXPRESSION.calculate(Arithmetic::Add, &json!("1.5"), &json!(1)).map(Value::Number), Ok(json!(2.5)));
    let error = TEMPLATE.calculate(Arithmetic::Add, &json!("1"), &json!(null)).unwrap_err();
    assert_eq!(error, "cannot calculate with a string and null");
}

#[test]
fn texts_differ_in_the_form_of_doubles() {
    for (value, shortest, java) in [
        (json!(null), "", ""),
        (json!(true), "true", "true"),
        (json!("it's"), "it's", "it's"),
        (json!(3), "3", "3"),
        (json!(u64::MAX), "18446744073709551615", "18446744073709551615"),
        (json!(2.0), "2", "2.0"),
        (json!(3.25), "3.25", "3.25"),
        (json!(0.001), "0.001", "0.001"),
        (json!(0.0001), "0.0001", "1.0E-4"),
        (json!(9_999_999.5), "9999999.5", "9999999.5"),
        (json!(1e7), "10000000", "1.0E7"),
        (json!(12_345_678.9), "12345678.9", "1.23456789E7"),
        (json!(-1.5e-9), "-1.5e-9", "-1.5E-9"),
        (json!([1, "a"]), "[1,\"a\"]", "[1,\"a\"]"),
    ] {
        assert_eq!([EXPRESSION.print(&value), TEMPLATE.print(&value)], [shortest, java], "{value}");
    }
}
