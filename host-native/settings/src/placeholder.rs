//! Resolves `${NAME:default}` placeholders in the strings of a settings file.

use serde_json::Value;

/// Looks up an environment variable.
pub(super) type VariableLookup<'v> = &'v dyn Fn(&str) -> Option<String>;

/// Resolves all placeholders of a tree; adds one line per placeholder without a value.
pub(super) fn resolve_placeholders(tree: Value, path: &str, variable: VariableLookup<'_>, problems: &mut Vec<String>) -> Value {
    match tree {
        Value::String(text) if text.contains("${") => match fill(&text, variable) {
            Ok(filled) => parse_scalar(filled),
            Err(reason) => {
                problems.push(format!("{path}: {reason}"));
                Value::Null
            }
        },
        Value::Array(items) => items
            .into_iter()
            .enumerate()
            .map(|(index, item)| resolve_placeholders(item, &format!("{path}[{index}]"), variable, problems))
            .collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(key, member)| {
                let member = resolve_placeholders(member, &format!("{path}.{key}"), variable, problems);
                (key, member)
            })
            .collect(),
        other => other,
    }
}

/// Converts a resolved string to a number or Boolean if it reads as one, as in the file itself.
fn parse_scalar(text: String) -> Value {
    match serde_json::from_str(&text) {
        Ok(value @ (Value::Bool(_) | Value::Number(_))) => value,
        _ => Value::String(text),
    }
}

fn fill(text: &str, variable: VariableLookup<'_>) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        filled.push_str(before);
        let end = find_end(after).ok_or_else(|| format!("unterminated placeholder in '{text}'; close it with }}"))?;
        filled.push_str(&resolve_value(&after[..end], variable)?);
        rest = &after[end + 1..];
    }
    filled.push_str(rest);
    Ok(filled)
}

/// Finds the end of the open placeholder; its default may contain nested placeholders.
fn find_end(text: &str) -> Option<usize> {
    let mut open = 1;
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'{' if index > 0 && text.as_bytes()[index - 1] == b'$' => open += 1,
            b'}' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return Some(index);
        }
    }
    None
}

fn resolve_value(inside: &str, variable: VariableLookup<'_>) -> Result<String, String> {
    let (name, default) = inside.split_once(':').map_or((inside, None), |(name, default)| (name, Some(default)));
    // `a.b-c` is the variable A_BC.
    let relaxed = name.trim().replace('.', "_").replace('-', "").to_uppercase();
    match (variable(name.trim()).or_else(|| variable(&relaxed)), default) {
        (Some(value), _) => Ok(value),
        (None, Some(default)) => fill(default, variable),
        (None, None) => Err(format!("environment variable {} is not set; set it or use ${{{}:DEFAULT}}", name.trim(), name.trim())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn resolve_with_env(tree: Value) -> (Value, Vec<String>) {
        let variable = |name: &str| match name {
            "HOST" => Some("example".to_owned()),
            "SHOP_MAXTURNS" => Some("5".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let mut problems = Vec::new();
        (resolve_placeholders(tree, "convengine", &variable, &mut problems), problems)
    }

    #[test]
    fn placeholders_take_the_environment_or_their_default() {
        let tree = json!({"a": "http://${HOST}:${PORT:80}/", "b": ["${X:${Y:z}}", "${EMPTY}", "$HOST"], "c": "${shop.max-turns}", "d": "${X:true}",
            "e": "${X:}", "f": 1, "g": "${X:http://{id}}"});
        let expected = json!({"a": "http://example:80/", "b": ["z", "", "$HOST"], "c": 5, "d": true, "e": "", "f": 1, "g": "http://{id}"});
        let (tree, problems) = resolve_with_env(tree);
        assert_eq!((tree["a"].clone(), problems.len()), (expected["a"].clone(), 0));
        for key in ["b", "c", "d", "e", "f", "g"] {
            assert_eq!(tree[key], expected[key], "{key}");
        }
    }

    #[test]
    fn placeholders_without_value_or_end_are_reported() {
        let (tree, problems) = resolve_with_env(json!({"a": {"b": ["x", "${NOWHERE}"]}, "c": "${HOST", "d": "kept"}));
        assert_eq!(tree["d"], "kept");
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].starts_with("convengine.a.b[1]: environment variable NOWHERE is not set"), "{problems:?}");
        assert!(problems[1].starts_with("convengine.c: unterminated placeholder in '${HOST'"), "{problems:?}");
    }
}
