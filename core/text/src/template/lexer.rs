//! Names, words, strings and numbers as template expressions write them.

use serde_json::{Number, Value};

use crate::scanner::CharScanner;

/// Consumes a name, which may start with a digit.
pub(super) fn take_name<'s>(scan: &mut CharScanner<'s>) -> &'s str {
    scan.take_while(is_name_character)
}

/// Consumes a whole word, ignoring case.
pub(super) fn eat_word(scan: &mut CharScanner<'_>, word: &str) -> bool {
    let mut ahead = *scan;
    let found = take_name(&mut ahead).eq_ignore_ascii_case(word);
    if found {
        *scan = ahead;
    }
    found
}

/// Consumes a string in quotes, in which a doubled quote stands for one; `None` when it does not end.
pub(super) fn take_quoted(scan: &mut CharScanner<'_>, quote: &str) -> Option<String> {
    let mut text = String::new();
    scan.eat(quote);
    loop {
        text.push_str(scan.take_until(quote)?);
        if !scan.eat(quote) {
            return Some(text);
        }
        text.push_str(quote);
    }
}

/// Consumes a number: an integer, or a double when it has a fraction or an exponent.
pub(super) fn take_number(scan: &mut CharScanner<'_>) -> Result<Value, String> {
    let text = scan.take_number_text();
    let is_double = text.contains(['.', 'e', 'E']);
    let number = if is_double { text.parse().ok().and_then(Number::from_f64) } else { text.parse::<i64>().ok().map(Number::from) };
    number.map(Value::Number).ok_or_else(|| "has a number that is too large".to_owned())
}

pub(super) fn is_name_character(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}
