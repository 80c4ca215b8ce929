//! Amounts of money as values: an object with `amount` and `currency`.

use convengine_values::is_currency_code;
use serde_json::{Map, Value};

/// Normalizes an object with `amount` and `currency`.
pub(super) fn accept(value: &Value) -> Option<Value> {
    let amount = match value.get("amount")? {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    let digits = amount.strip_prefix('-').unwrap_or(&amount);
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_decimal = [whole, decimals].iter().all(|part| !part.is_empty() && part.bytes().all(|digit| digit.is_ascii_digit()));
    let currency = value.get("currency")?.as_str()?.trim().to_ascii_uppercase();
    (is_decimal && is_currency_code(&currency)).then(|| stored_amount(amount, currency))
}

fn stored_amount(amount: String, currency: String) -> Value {
    let members = [("amount".to_owned(), amount.into()), ("currency".to_owned(), currency.into())];
    Value::Object(Map::from_iter(members))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn objects_are_accepted() {
        let accepted = |value: Value| accept(&value);
        assert_eq!(accepted(json!({"currency": "usd", "amount": "1234.50"})), Some(json!({"amount": "1234.50", "currency": "USD"})));
        assert_eq!(accepted(json!({"amount": -5, "currency": "EUR"})), Some(json!({"amount": "-5", "currency": "EUR"})));
        for value in [
            json!({"amount": "1,5", "currency": "EUR"}),
            json!({"amount": "", "currency": "EUR"}),
            json!({"amount": "5.", "currency": "EUR"}),
            json!({"amount": "5", "currency": "XYZ"}),
            json!({"amount": "5", "currency": "D E"}),
            json!({"amount": "5"}),
            json!({"amount": true, "currency": "EUR"}),
            json!([]),
        ] {
            assert_eq!(accepted(value.clone()), None, "{value}");
        }
    }
}
