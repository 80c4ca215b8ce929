//! Collected values in the arguments of a call that a model has planned. (docs/decisions/0056-nothing-is-written-before-consent.md)

use serde_json::{Map, Value};

use super::has_content;

/// Puts a collected value into arguments. Each argument with its name, in any spelling of it, is that value; while nothing is collected, it is
/// left out. One that is missing is added when the properties of the call's schema name it. A name that stands once within an object of
/// the arguments counts as well.
pub fn insert_collected(args: &mut Map<String, Value>, properties: Option<&Map<String, Value>>, name: &str, collected: Option<&Value>) {
    let mut keys: Vec<String> = args.keys().filter(|it| is_same_name(it, name)).cloned().collect();
    if keys.is_empty() {
        keys.extend(argument_of(args, properties, name));
    }
    if keys.is_empty() {
        insert_within(args, properties, name, collected);
    }
    for key in keys {
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
}

/// Puts a collected value into the only object of the arguments that has its name; of several, nobody knows which is meant.
fn insert_within(args: &mut Map<String, Value>, properties: Option<&Map<String, Value>>, name: &str, collected: Option<&Value>) {
    let inner_properties = |key: &str| properties?.get(key)?.get("properties")?.as_object();
    let has_name = |key: &str, value: &Value| {
        let inner = value.as_object();
        inner.is_some_and(|members| {
            argument_of(members, inner_properties(key), name).is_some() || members.values().any(|it| mentions(it, name))
        })
    };
    let mut with_name = args.iter().filter(|it| has_name(it.0, it.1)).map(|it| it.0.clone());
    let (Some(key), None) = (with_name.next(), with_name.next()) else { return };
    let inner = inner_properties(&key);
    if let Some(object) = args.get_mut(&key).and_then(Value::as_object_mut) {
        insert_collected(object, inner, name, collected);
    }
}

/// Whether an object has a name, or an object within it has.
fn mentions(value: &Value, name: &str) -> bool {
    value.as_object().is_some_and(|members| members.iter().any(|(key, value)| is_same_name(key, name) || mentions(value, name)))
}

/// The argument with the name of a collected value: a given one, else one that the properties of the call's schema name.
pub fn argument_of(args: &Map<String, Value>, properties: Option<&Map<String, Value>>, name: &str) -> Option<String> {
    let is_it = |key: &&String| is_same_name(key, name);
    args.keys().find(is_it).or_else(|| properties?.keys().find(is_it)).cloned()
}

/// Whether two names differ in case and separators only: `phoneNumber` and `phone_number`.
fn is_same_name(one: &str, other: &str) -> bool {
    let letters = |name: &str| name.chars().filter(|it| it.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>();
    one == other || letters(one) == letters(other)
}

/// Whether an argument says what was collected: the same text, for a tool may want 7 as `"7"`, or a part of it, such as the amount of money.
pub fn says_same(argument: &Value, collected: &Value) -> bool {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), |text| text.trim().to_owned());
    text(argument) == text(collected)
        || collected.as_object().is_some_and(|members| !argument.is_null() && members.values().any(|part| text(part) == text(argument)))
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
        let two_spellings = json!({"phone-number": "5", "PhoneNumber": "6"});
        assert_eq!(inserted(two_spellings, "phone_number", json!("0171")), json!({"phone-number": "0171", "PhoneNumber": "0171"}));
    }

    #[test]
    fn a_name_within_an_object_counts_where_it_stands_once() {
        assert_eq!(inserted(json!({"order": {"rx": "9"}}), "rx", json!("RX-1")), json!({"order": {"rx": "RX-1"}}));
        assert_eq!(inserted(json!({"a": {"b": {"rx": "9"}}}), "rx", json!("RX-1")), json!({"a": {"b": {"rx": "RX-1"}}}));
        let two = json!({"from": {"name": "x"}, "to": {"name": "y"}});
        assert_eq!(inserted(two.clone(), "name", json!("z")), two);
    }

    #[test]
    fn another_form_of_the_same_value_stays() {
        assert_eq!(inserted(json!({"amount": "7"}), "amount", json!(7)), json!({"amount": "7"}));
        let money = json!({"amount": 30, "currency": "EUR"});
        assert_eq!(inserted(json!({"amount": 30}), "amount", money.clone()), json!({"amount": 30}));
        assert_eq!(inserted(json!({"amount": 31}), "amount", money.clone()), json!({"amount": money}));
    }
}
