//! What is shown of a session to those who look at it: not what is to stay out of logs. (`convoship-http.md` 4)

use serde_json::{Value, json};

use crate::config::flow::Flow;
use crate::text::path::Path;
use crate::turn::Map;

/// Characters that a value has at least before it is looked for within other texts.
const LONG: usize = 4;

/// Puts `[name]` in the place of each redacted variable of a state, and of its value wherever else it stands.
pub fn mask(flow: &Flow, state: &mut Value) {
    let mut values = Vec::new();
    for path in flow.redacted() {
        let name = format!("[{path}]");
        let vars = state.get_mut("vars").into_iter();
        let places = vars.filter_map(Value::as_object_mut);
        places.for_each(|it| masked(path, &name, it, &mut values));
        let frames = state.get_mut("stack").and_then(Value::as_array_mut).into_iter().flatten();
        let locals = frames.filter_map(|it| it.get_mut("locals")?.as_object_mut());
        locals.for_each(|it| masked(path, &name, it, &mut values));
    }
    everywhere(state, &values);
}

fn masked(path: &Path, name: &str, vars: &mut Map, values: &mut Vec<(String, String)>) {
    let Some(value) = path.find(vars).filter(|it| !it.is_null()).cloned() else { return };
    let text = crate::text::plain_text(&value);
    if !text.is_empty() {
        values.push((text, name.to_owned()));
    }
    // What was found can be replaced.
    let _ = path.put(vars, json!(name));
}

fn everywhere(value: &mut Value, values: &[(String, String)]) {
    match value {
        Value::String(text) => {
            for (found, name) in values {
                if text == found {
                    text.clone_from(name);
                } else if found.chars().count() >= LONG && text.contains(found.as_str()) {
                    *text = text.replace(found.as_str(), name);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|it| everywhere(it, values)),
        Value::Object(members) => members.values_mut().for_each(|it| everywhere(it, values)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
