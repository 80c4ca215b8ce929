//! A table of the configuration, declared once: its columns with their kinds, words, defaults and descriptions. From that come the
//! canonical form of rows, what errors say, the schema of packs, the reference, and what lint looks at.
//! (docs/decisions/0060-rows-are-described-by-their-tables.md)

use convengine_text::json::into_members;
use serde_json::{Map, Value, json};

use super::flow::shape::{Keyword, Meaning, MemberShape, NO_MAX, NO_MIN, STRING, Shape, Target, TextUse};
use super::flow::{member_schema, without_links};

/// A table of the configuration. A column is described as a member of a document is; it is read by name from a
/// [`TableRow`](super::row::TableRow), because databases store kinds differently and the issues of a row name its columns.
#[derive(Debug)]
pub struct TableShape {
    /// Its name.
    pub name: &'static str,
    /// What its rows are; links begin at `docs/reference`.
    pub help: &'static str,
    /// Its columns; the first is the key.
    pub columns: &'static [MemberShape],
}

pub(crate) const ENABLED: MemberShape = flag("enabled", "false: the row is ignored").with_default("true");
pub(crate) const CREATED_AT: MemberShape = text("created_at", "when the row was created; no effect");
pub(crate) const DESCRIPTION: MemberShape = text("description", "for authors; no effect");
pub(crate) const PRIORITY: MemberShape = integer("priority", "lower first");
pub(crate) const INTENT_CODE: MemberShape = text("intent_code", "scope: intent, or `ANY`").with_meaning(Meaning::Names(Target::Intent));
pub(crate) const STATE_CODE: MemberShape = text("state_code", "scope: state, or `ANY`").with_meaning(Meaning::Names(Target::State));

pub(crate) const fn text(name: &'static str, help: &'static str) -> MemberShape {
    MemberShape { help, ..MemberShape::new(name, STRING) }
}

/// One of several words, in any case.
pub(crate) const fn word(name: &'static str, words: &'static [&'static str], help: &'static str) -> MemberShape {
    MemberShape { help, ..MemberShape::new(name, Shape::Enum(words)) }
}

/// The same with the words of an enum.
pub(crate) const fn keyword<K: Keyword>(name: &'static str, help: &'static str) -> MemberShape {
    MemberShape { help, ..MemberShape::new(name, K::SHAPE) }
}

pub(crate) const fn integer(name: &'static str, help: &'static str) -> MemberShape {
    MemberShape { help, ..MemberShape::new(name, Shape::Integer(NO_MIN, NO_MAX)) }
}

pub(crate) const fn number(name: &'static str, help: &'static str) -> MemberShape {
    MemberShape { help, ..MemberShape::new(name, Shape::Number(NO_MIN, NO_MAX)) }
}

pub(crate) const fn flag(name: &'static str, help: &'static str) -> MemberShape {
    MemberShape { help, ..MemberShape::new(name, Shape::Bool) }
}

/// JSON, which databases store as text, or a text beside which JSON is allowed.
pub(crate) const fn json(name: &'static str, help: &'static str) -> MemberShape {
    MemberShape { help, ..MemberShape::new(name, Shape::Any) }
}

pub(crate) const fn template(name: &'static str, help: &'static str) -> MemberShape {
    text(name, help).with_meaning(Meaning::Template(TextUse::Text))
}

/// A template that sees the names of prompts.
pub(crate) const fn prompt(name: &'static str, help: &'static str) -> MemberShape {
    text(name, help).with_meaning(Meaning::Template(TextUse::Prompt))
}

/// A pattern, whose kind is in the first column before it.
pub(crate) const fn pattern(name: &'static str, help: &'static str) -> MemberShape {
    text(name, help).with_meaning(Meaning::Pattern)
}

impl MemberShape {
    /// The same with another name.
    pub(crate) const fn with_name(self, name: &'static str) -> MemberShape {
        MemberShape { name, ..self }
    }

    /// The same with another description.
    pub(crate) const fn with_help(self, help: &'static str) -> MemberShape {
        MemberShape { help, ..self }
    }

    /// The same with a default as JSON, which the canonical form of a row has.
    pub(crate) const fn with_default(self, default: &'static str) -> MemberShape {
        MemberShape { default, ..self }
    }

    /// The same with an example as JSON.
    pub(crate) const fn with_example(self, example: &'static str) -> MemberShape {
        MemberShape { example, ..self }
    }

    /// Its words, if it is one of several.
    pub fn words(&self) -> &'static [&'static str] {
        if let Shape::Enum(words) = self.shape { words } else { &[] }
    }

    /// Its description, or the list of its words if it has none.
    pub fn description(&self) -> String {
        let words: Vec<String> = self.words().iter().map(|it| format!("`{it}`")).collect();
        if self.help.is_empty() { list_words(&words) } else { self.help.to_owned() }
    }

    /// The same with another meaning.
    pub(crate) const fn with_meaning(self, meaning: Meaning) -> MemberShape {
        MemberShape { meaning: Some(meaning), ..self }
    }
}

impl TableShape {
    /// The name of the key column, which is unique within the table and orders its rows.
    pub fn key(&self) -> &'static str {
        self.columns.first().map_or("", |it| it.name)
    }

    /// Returns a column.
    pub fn column(&self, name: &str) -> Option<&'static MemberShape> {
        self.columns.iter().find(|it| it.name == name)
    }

    /// Whether a column is a boolean; databases store it as a number. Every row may be disabled, also where no column says it.
    pub(crate) fn holds_flag(&self, name: &str) -> bool {
        name == ENABLED.name || self.column(name).is_some_and(|it| matches!(it.shape, Shape::Bool))
    }

    /// Returns the words that a column may hold; none for a column of another kind.
    pub fn words(&self, name: &str) -> &'static [&'static str] {
        self.column(name).map_or(&[], MemberShape::words)
    }

    /// Whether a column may hold JSON, which databases store as text.
    pub fn holds_json(&self, name: &str) -> bool {
        self.column(name).is_some_and(|it| matches!(it.shape, Shape::Any))
    }

    /// Returns the columns whose strings are something that `matches`.
    pub fn columns_of(&self, matches: fn(Meaning) -> bool) -> impl Iterator<Item = &'static MemberShape> {
        self.columns.iter().filter(move |it| it.meaning.is_some_and(matches))
    }

    /// Returns the columns with a default in the canonical form of a row.
    pub fn defaults(&self) -> Vec<(&'static str, Value)> {
        let declared = self.columns.iter().filter(|it| it.name != ENABLED.name);
        let default = |column: &MemberShape| Some((column.name, serde_json::from_str(column.default).ok()?));
        [&ENABLED].into_iter().chain(declared).filter_map(default).collect()
    }

    /// Returns the JSON Schema of its rows: what an editor shows and offers. It accepts every value, because an invalid row is skipped.
    pub fn json_schema(&self) -> Value {
        let columns: Map<String, Value> = self.columns.iter().map(|column| (column.name.to_owned(), column_schema(column))).collect();
        without_links(json!({"type": "array", "description": self.help, "items": {"type": "object", "properties": columns}}))
    }
}

/// The schema of a column, with the values that it should have beside any other.
fn column_schema(column: &MemberShape) -> Value {
    let (values, texts): (Map<_, _>, Map<_, _>) = into_members(member_schema(column, &mut Map::new()))
        .into_iter()
        .partition(|(name, _)| ["type", "enum", "minimum", "maximum"].contains(&name.as_str()));
    let title = column.name.replace('_', " ");
    let mut schema = Map::from_iter([("title".to_owned(), json!(title)), ("description".to_owned(), json!(column.description()))]);
    schema.extend(texts);
    if !values.is_empty() {
        schema.insert("anyOf".to_owned(), json!([values, true]));
    }
    Value::Object(schema)
}

/// Words as people list them: `A, B or C`.
pub(crate) fn list_words(words: &[impl AsRef<str>]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        words => words.concat(),
    }
}

#[cfg(test)]
mod tests {
    use convengine_text::json::schema::JsonSchema;

    use super::*;
    use crate::{Config, TABLES};

    /// Columns whose other words are only reported by lint, or mean nothing.
    const OPEN: [&str; 5] = [
        "ce_prompt_template.output_format",
        "ce_prompt_template.interaction_mode",
        "ce_task.stage",
        "ce_mcp_server.transport",
        "ce_mcp_server.protocol_mode",
    ];

    /// A row in which every column has a value.
    fn row(table: &TableShape, id: u32, column: &str, word: &str) -> Value {
        let value = |member: &MemberShape| match member.name {
            name if name == column => json!(word),
            "stage" => json!(if id == 1 { "BEFORE" } else { "LLM" }),
            "intent_code" | "state_code" => json!("ANY"),
            "task" => json!("a:b"),
            "tool_code" => json!(format!("mcp.a.b{id}")),
            name if table.holds_json(name) => json!("{}"),
            name if table.holds_flag(name) => json!(true),
            _ if matches!(member.shape, Shape::Integer(..)) => json!(id),
            _ => json!(member.words().first().unwrap_or(&"a")),
        };
        table.columns.iter().map(|it| (it.name, value(it))).collect()
    }

    #[test]
    fn a_column_reads_the_words_that_it_declares_and_no_others() {
        for table in TABLES {
            for column in table.columns.iter().filter(|column| !column.words().is_empty()) {
                let rejected = |word: &str| {
                    let rows = json!({table.name: [row(table, 1, column.name, word), row(table, 2, column.name, word)]});
                    let (_, issues) = Config::compile(&serde_json::from_value(rows).unwrap(), &json!({}));
                    issues.iter().filter(|issue| issue.path.ends_with(&format!("].{}", column.name))).count()
                };
                let is_open = OPEN.contains(&format!("{}.{}", table.name, column.name).as_str());
                column.words().iter().for_each(|word| assert!(rejected(word) < 2, "{}.{} {word}", table.name, column.name));
                assert_eq!(rejected("nothing") == 2, !is_open, "{}.{}", table.name, column.name);
            }
        }
    }

    #[test]
    fn the_schema_of_a_table_shows_everything_and_demands_nothing() {
        let schema = crate::policy::POLICY.json_schema();
        let columns = &schema["items"]["properties"];
        let words = json!(["REGEX", "EXACT", "CONTAINS", "STARTS_WITH", "LLM"]);
        assert_eq!(columns["rule_type"]["anyOf"], json!([{"enum": words}, true]));
        assert_eq!(columns["rule_type"]["description"], "`REGEX`, `EXACT`, `CONTAINS`, `STARTS_WITH` or `LLM`");
        assert_eq!((&columns["priority"]["default"], &columns["pattern"]["x-meaning"]), (&json!(10), &json!("pattern")));
        assert!(!crate::response::RESPONSE.json_schema().to_string().contains(".md"), "links are for the reference");
        for table in TABLES {
            let schema = JsonSchema::compile(&table.json_schema()).unwrap();
            assert_eq!(schema.find_violation(&json!([{"enabled": "yes", "rule_type": 1, "nothing": {}}])), None);
            assert!(schema.find_violation(&json!({})).is_some());
            for column in table.columns {
                let values = JsonSchema::compile(&column_schema(column)["anyOf"][0]).unwrap_or_default();
                for example in [column.default, column.example].iter().filter(|it| !it.is_empty()) {
                    let example: Value = serde_json::from_str(example).unwrap();
                    assert_eq!(values.find_violation(&example), None, "{}.{}", table.name, column.name);
                }
            }
        }
    }
}
