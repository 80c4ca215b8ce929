//! Collected values in the arguments of a call that a model has planned. (docs/decisions/0056-nothing-is-written-before-consent.md)

use serde_json::{Map, Value};

use super::has_content;

/// Puts a collected value into arguments. An argument with its name, in any spelling of it, is that value; while nothing is collected, the
/// argument is left out. One that is missing is added when the properties of the call's schema name it.
pub fn insert_collected(args: &mut Map<String, Value>, properties: Option<&Map<String, Value>>, name: &str, collected: Option<&Value>) {
    let Some(key) = argument_of(args, properties, name) else { return };
    match collected.filter(|it| has_content(it)) {
        Some(value) if args.get(&key).is_some_and(|it| says_same(it, value)) => {}
        Some(value) => {
            args.insert(key, value.clone());
        }
        None => {
            args.shift_remove(&key);
        }
    }
}

/// The argument with the name of a collected value: a given one, else one that the properties of the call's schema name.
pub fn argument_of(args: &Map<String, Value>, properties: Option<&Map<String, Value>>, name: &str) -> Option<String> {
    let is_it = |key: &&String| is_same_name(key, name);
    args.keys().find(is_it).or_else(|| properties?.keys().find(is_it)).cloned()
}

/// Whether two names differ in case and separators only: `phoneNumber` and `phone_number`.
fn is_same_name(one: &str, other: &str) -> bool {
    let letters = |it: &str| it.chars().filter(|it| it.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>();
    one == other || letters(one) == letters(other)
}

/// Whether an argument says what was collected: the same text, for a tool may want 7 as `"7"`, or a part of it, such as the amount of money.
pub fn says_same(argument: &Value, collected: &Value) -> bool {
    let text = |it: &Value| it.as_str().map_or_else(|| it.to_string(), |it| it.trim().to_owned());
    text(argument) == text(collected)
        || collected.as_object().is_some_and(|it| !argument.is_null() && it.values().any(|part| text(part) == text(argument)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn inserted(args: Value, name: &str, collected: Value) -> Value {
        let properties = json!({"phone_number": {}, "amount": {}});
        let mut args = args.as_object().cloned().unwrap();
        insert_collected(&mut args, properties.as_object(), name, Some(&collected));
        Value::Object(args)
    }

    #[test]
    fn what_was_collected_wins_over_what_a_model_makes_up() {
        assert_eq!(inserted(json!({"phoneNumber": "555"}), "phone_number", json!("0171")), json!({"phoneNumber": "0171"}));
        assert_eq!(inserted(json!({}), "phoneNumber", json!("0171")), json!({"phone_number": "0171"}));
        assert_eq!(inserted(json!({"phone_number": "555", "x": 1}), "phone_number", json!(null)), json!({"x": 1}));
        assert_eq!(inserted(json!({"x": 1}), "other", json!("y")), json!({"x": 1}));
    }

    #[test]
    fn another_form_of_the_same_value_stays() {
        assert_eq!(inserted(json!({"amount": "7"}), "amount", json!(7)), json!({"amount": "7"}));
        let money = json!({"amount": 30, "currency": "EUR"});
        assert_eq!(inserted(json!({"amount": 30}), "amount", money.clone()), json!({"amount": 30}));
        assert_eq!(inserted(json!({"amount": 31}), "amount", money.clone()), json!({"amount": money}));
    }
}
