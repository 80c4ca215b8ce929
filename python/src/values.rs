//! Converts between JSON and Python values.

use monty_types::{MontyObject, ObjectRef};
use num_bigint::BigInt;
use serde_json::{Map, Number, Value};

/// The deepest nesting of a value that a script may return; parsers of JSON commonly accept 128.
const MAX_DEPTH: usize = 100;

/// Converts JSON to a Python value.
pub fn to_python(value: &Value) -> MontyObject {
    match value {
        Value::Null => MontyObject::none(),
        Value::Bool(value) => MontyObject::bool(*value),
        Value::Number(number) => number_to_python(number),
        Value::String(text) => MontyObject::string(text.as_str()),
        Value::Array(items) => MontyObject::list(items.iter().map(to_python)),
        Value::Object(members) => object_to_python(members),
    }
}

/// Converts a JSON object to a dictionary.
pub fn object_to_python(members: &Map<String, Value>) -> MontyObject {
    MontyObject::dict(members.iter().map(|(name, value)| (MontyObject::string(name.as_str()), to_python(value))))
}

fn number_to_python(number: &Number) -> MontyObject {
    match (number.as_i64(), number.as_u64()) {
        (Some(integer), _) => MontyObject::int(integer),
        (None, Some(integer)) => MontyObject::bigint(BigInt::from(integer)),
        (None, None) => MontyObject::float(number.as_f64().unwrap_or_default()),
    }
}

/// Converts Python values to JSON, up to a total size.
#[derive(Debug)]
pub struct JsonWriter {
    /// The bytes that remain.
    budget: usize,
}

impl JsonWriter {
    /// Creates a converter for values of so many bytes in total.
    pub fn new(budget: usize) -> JsonWriter {
        JsonWriter { budget }
    }

    /// Converts a value; `path` names it in errors.
    ///
    /// # Errors
    /// Why the value is not JSON, or too large.
    pub fn convert(&mut self, value: ObjectRef<'_>, path: &str) -> Result<Value, String> {
        self.convert_at(value, path, 0)
    }

    /// Takes the bytes of a name or another part of the output.
    ///
    /// # Errors
    /// If the output is too large.
    pub fn take(&mut self, bytes: usize) -> Result<(), String> {
        self.budget = self.budget.checked_sub(bytes).ok_or("the output is too large")?;
        Ok(())
    }

    fn convert_at(&mut self, value: ObjectRef<'_>, path: &str, depth: usize) -> Result<Value, String> {
        if depth > MAX_DEPTH {
            return Err(format!("{path} is nested more than {MAX_DEPTH} levels deep"));
        }
        match value.type_name() {
            "NoneType" => self.leaf(Value::Null, 4),
            "bool" => self.leaf(value.as_bool().unwrap_or_default().into(), 5),
            "int" => self.convert_integer(value, path),
            "float" => self.convert_float(value, path),
            "str" => {
                let text = value.as_str().ok_or_else(|| unsupported(path, "str"))?;
                self.leaf(text.into(), text.len().saturating_add(2))
            }
            "list" | "tuple" | "namedtuple" => self.convert_items(value, path, depth),
            "dict" => self.convert_dict(value, path, depth),
            "cycle" => Err(format!("{path} contains itself")),
            other => Err(unsupported(path, other)),
        }
    }

    fn leaf(&mut self, value: Value, bytes: usize) -> Result<Value, String> {
        self.take(bytes.saturating_add(1))?;
        Ok(value)
    }

    fn convert_integer(&mut self, value: ObjectRef<'_>, path: &str) -> Result<Value, String> {
        let number = value.as_int().map(Number::from).or_else(|| Some(value.as_float()?).filter(|it| *it < 2e19).and(parse_u64(value)));
        let number = number.ok_or_else(|| format!("{path} is an integer of more than 64 bits"))?;
        let bytes = number.to_string().len();
        self.leaf(number.into(), bytes)
    }

    fn convert_float(&mut self, value: ObjectRef<'_>, path: &str) -> Result<Value, String> {
        let number = value.as_float().and_then(Number::from_f64).ok_or_else(|| format!("{path} is not a finite number"))?;
        let bytes = number.to_string().len();
        self.leaf(number.into(), bytes)
    }

    fn convert_items(&mut self, value: ObjectRef<'_>, path: &str, depth: usize) -> Result<Value, String> {
        // A class of the script may have the name of a builtin one.
        let items = value.items().ok_or_else(|| unsupported(path, value.type_name()))?;
        self.take(2)?;
        items.into_iter().map(|it| self.convert_at(it, path, depth + 1)).collect::<Result<Vec<_>, _>>().map(Value::Array)
    }

    fn convert_dict(&mut self, value: ObjectRef<'_>, path: &str, depth: usize) -> Result<Value, String> {
        let pairs = value.pairs().ok_or_else(|| unsupported(path, value.type_name()))?;
        self.take(2)?;
        let mut members = Map::new();
        for (key, value) in pairs {
            let name = key.as_str().ok_or_else(|| format!("{path} has a key of type {}, but keys of JSON are text", key.type_name()))?;
            self.take(name.len().saturating_add(3))?;
            members.insert(name.to_owned(), self.convert_at(value, path, depth + 1)?);
        }
        Ok(Value::Object(members))
    }
}

fn unsupported(path: &str, type_name: &str) -> String {
    format!("{path} is of type {type_name}, which JSON lacks")
}

fn parse_u64(value: ObjectRef<'_>) -> Option<Number> {
    value.py_repr().parse::<u64>().ok().map(Number::from)
}
