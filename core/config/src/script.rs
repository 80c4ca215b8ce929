//! Scripts: tasks described by rows, with templates and formulas instead of code.

use convengine_text::template::{Formula, Template};
use convengine_turn::Map;
use serde_json::Value;

/// The members of a task result, which a script may set.
pub const MEMBERS: [&str; 7] = ["result", "set_params", "set_context", "intent", "state", "payload", "publish"];

/// A task result whose strings are templates; a string that starts with `=` is a formula and keeps the type of its value.
#[derive(Debug, Clone)]
pub struct Script(Vec<(String, Part)>);

#[derive(Debug, Clone)]
enum Part {
    Literal(Value),
    Text(Template),
    Formula(String, Formula),
    List(Vec<Part>),
    Object(Vec<(String, Part)>),
}

impl Script {
    /// Compiles a script.
    ///
    /// # Errors
    /// The unknown member, or the invalid template or formula.
    pub fn compile(script: &Value) -> Result<Script, String> {
        let members = script.as_object().ok_or("is not an object")?;
        if let Some(name) = members.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
            return Err(format!("has a script with the unknown member '{name}'; use {}", MEMBERS.join(", ")));
        }
        compile_members(members).map(Script)
    }

    /// Returns the result, with templates rendered by `fill` and formulas evaluated by `calculate`.
    ///
    /// # Errors
    /// The formula that cannot be evaluated, and why.
    pub fn run(&self, fill: &dyn Fn(&Template) -> String, calculate: &dyn Fn(&Formula) -> Result<Value, String>) -> Result<Map, String> {
        evaluate_members(&self.0, fill, calculate)
    }
}

fn compile_members(members: &Map) -> Result<Vec<(String, Part)>, String> {
    members
        .iter()
        .map(|(name, value)| Ok((name.clone(), compile_part(value).map_err(|error| format!("has '{name}', which {error}"))?)))
        .collect()
}

fn compile_part(value: &Value) -> Result<Part, String> {
    match value {
        Value::String(text) => match text.strip_prefix('=') {
            Some(formula) => Formula::compile(formula.trim()).map(|formula| Part::Formula(text.clone(), formula)),
            None => Template::compile(text).map(Part::Text),
        },
        Value::Array(items) => items.iter().map(compile_part).collect::<Result<_, _>>().map(Part::List),
        Value::Object(members) => compile_members(members).map(Part::Object),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(Part::Literal(value.clone())),
    }
}

type Fill<'f> = &'f dyn Fn(&Template) -> String;
type Calculate<'f> = &'f dyn Fn(&Formula) -> Result<Value, String>;

fn evaluate_members(parts: &[(String, Part)], fill: Fill<'_>, calculate: Calculate<'_>) -> Result<Map, String> {
    parts.iter().map(|(name, part)| Ok((name.clone(), part.evaluate(fill, calculate)?))).collect()
}

impl Part {
    fn evaluate(&self, fill: Fill<'_>, calculate: Calculate<'_>) -> Result<Value, String> {
        match self {
            Part::Literal(value) => Ok(value.clone()),
            Part::Text(template) => Ok(Value::String(fill(template))),
            Part::Formula(source, formula) => calculate(formula).map_err(|it| format!("the formula '{source}' has no value: {it}")),
            Part::List(items) => items.iter().map(|it| it.evaluate(fill, calculate)).collect::<Result<_, _>>().map(Value::Array),
            Part::Object(parts) => evaluate_members(parts, fill, calculate).map(Value::Object),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run(script: &Value) -> Result<Map, String> {
        let document = json!({"amount": 200, "name": "Ada"});
        let lookup = |name: &str| document.get(name);
        Script::compile(script)?.run(&|it| it.render(lookup).text, &|it| it.evaluate(&lookup))
    }

    #[test]
    fn texts_are_filled_and_formulas_keep_their_type() {
        let script = json!({"set_params": {"fee": "= amount * 0.015", "note": "for {{name}}", "n": 1}, "result": ["=amount", null]});
        let expected = json!({"set_params": {"fee": 3.0, "note": "for Ada", "n": 1}, "result": [200, null]});
        assert_eq!(run(&script).map(Value::Object), Ok(expected));
    }

    #[test]
    fn errors_name_the_member_or_formula() {
        for (script, expected) in [
            (json!({"set_param": {}}), "'set_param'"),
            (json!({"result": "= 1 +"}), "has 'result', which"),
            (json!({"result": {"a": "{{b"}}), "has 'result', which has 'a'"),
            (json!({"result": "= amount / 0"}), "'= amount / 0' has no value: a number is divided by zero"),
        ] {
            let error = run(&script).unwrap_err();
            assert!(error.contains(expected), "{script}: {error}");
        }
    }
}
