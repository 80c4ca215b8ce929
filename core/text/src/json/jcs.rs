//! The JSON Canonicalization Scheme (RFC 8785), for hashes that other systems compute as well.
//!
//! Unlike [`canonical`](super::canonical), it formats numbers as ECMAScript does and sorts keys by their UTF-16 code units.

use std::cmp::Ordering;

use serde_json::Value;

use super::is_plain;

/// Appends a value in canonical form.
pub fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        // Numbers of `serde_json` are always finite.
        Value::Number(number) => write_number(number.as_f64().unwrap_or_default(), out),
        Value::String(text) => write_text(text, out),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_unstable_by(|a, b| compare_utf16(a.0, b.0));
            out.push('{');
            for (at, (key, member)) in members.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_text(key, out);
                out.push(':');
                write(member, out);
            }
            out.push('}');
        }
    }
}

/// Returns the canonical form of a value.
pub fn to_text(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn compare_utf16(a: &str, b: &str) -> Ordering {
    // ASCII keys, the common case, have the same order in bytes.
    if a.is_ascii() && b.is_ascii() { a.cmp(b) } else { a.encode_utf16().cmp(b.encode_utf16()) }
}

fn write_text(text: &str, out: &mut String) {
    if is_plain(text) {
        out.push('"');
        out.push_str(text);
        out.push('"');
        return;
    }
    // `serde_json` escapes as RFC 8785 requires; serialising a string cannot fail.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

/// Appends a number as `Number.prototype.toString` does: the fewest digits that parse to the same double.
fn write_number(number: f64, out: &mut String) {
    if number == 0.0 {
        out.push('0');
        return;
    }
    let shortest = format!("{:e}", number.abs());
    let (digits, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let digits = round_half_even(digits.replace('.', ""), number.abs());
    let point = exponent.parse::<i32>().unwrap_or_default() + 1;
    if number < 0.0 {
        out.push('-');
    }
    let split = usize::try_from(point).unwrap_or_default();
    match point {
        1..=21 if digits.len() <= split => {
            out.push_str(&digits);
            out.extend(std::iter::repeat_n('0', split - digits.len()));
        }
        1..=21 => {
            let (whole, rest) = digits.split_at(split);
            out.push_str(whole);
            out.push('.');
            out.push_str(rest);
        }
        -5..=0 => {
            out.push_str("0.");
            out.extend((point..0).map(|_| '0'));
            out.push_str(&digits);
        }
        _ => {
            let (first, rest) = digits.split_at(1);
            out.push_str(first);
            if !rest.is_empty() {
                out.push('.');
                out.push_str(rest);
            }
            out.push_str(if point > 0 { "e+" } else { "e-" });
            out.push_str(&(point - 1).abs().to_string());
        }
    }
}

/// Breaks ties: of two equally near shortest numbers, RFC 8785 takes the even one, while the standard library may take either.
fn round_half_even(digits: String, number: f64) -> String {
    let last = digits.bytes().next_back().unwrap_or_default();
    // With fewer digits, the nearest number is unique.
    if digits.len() < 16 || last.is_multiple_of(2) {
        return digits;
    }
    let exact = format!("{number:.800e}");
    let exact = exact.split('e').next().unwrap_or_default().replace('.', "");
    let exact = exact.trim_end_matches('0');
    let (shown, rest) = exact.split_at_checked(digits.len()).unwrap_or((exact, ""));
    if rest != "5" {
        return digits;
    }
    let last = if shown == digits { last + 1 } else { last - 1 };
    let mut digits = digits;
    digits.pop();
    digits.push(char::from(last));
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(source: &str) -> String {
        to_text(&serde_json::from_str(source).unwrap())
    }

    #[test]
    fn numbers_match_appendix_b() {
        for (bits, expected) in [
            (0x0000_0000_0000_0000, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0xc340_0000_0000_0000, "-9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0x41b3_de43_5555_5554, "333333333.33333325"),
            (0x41b3_de43_5555_5555, "333333333.3333333"),
            (0x41b3_de43_5555_5556, "333333333.3333334"),
            (0x41b3_de43_5555_5557, "333333333.33333343"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ] {
            assert_eq!(to_text(&Value::from(f64::from_bits(bits))), expected, "{bits:x}");
        }
    }

    #[test]
    fn integers_are_formatted_as_doubles() {
        for (source, expected) in [
            ("1.0", "1"),
            ("1e21", "1e+21"),
            ("1e-7", "1e-7"),
            ("-0", "0"),
            ("100", "100"),
            ("-12.50", "-12.5"),
            ("9007199254740993", "9007199254740992"),
            ("18446744073709551615", "18446744073709552000"),
            ("-9223372036854775808", "-9223372036854776000"),
        ] {
            assert_eq!(canonical(source), expected, "{source}");
        }
    }

    #[test]
    fn objects_and_strings_follow_the_standard() {
        // Section 3.2.2 to 3.2.4, and the keys of 3.2.3.
        let sample = r#"{
            "numbers": [333333333.3333333, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
            "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
            "literals": [null, true, false]
        }"#;
        let expected =
            r#"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}"#;
        assert_eq!(canonical(sample), expected);
        let keys = r#"{"\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One",
            "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control", "\u00f6": "Latin Small Letter O With Diaeresis"}"#;
        let expected = "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\
            \"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\
            \"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}";
        assert_eq!(canonical(keys), expected);
        assert_eq!(canonical(r#""\b\t\n\f\r\u0000\u001f\u007f\u2028""#), "\"\\b\\t\\n\\f\\r\\u0000\\u001f\u{7f}\u{2028}\"");
    }
}
