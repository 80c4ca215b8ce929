//! Reads the pages of a list of tools. A tool that cannot be used is named, and the others stay.

use std::collections::BTreeSet;

use rmcp::model::Tool;
use serde_json::Value;

use super::definition::pick_definition;
use super::failure::excerpt;

/// Maximum bytes of a definition.
const MAX_DEFINITION_BYTES: usize = 256 * 1024;

/// The pages of a list so far.
#[derive(Debug, Default)]
pub struct ToolPages {
    /// The definitions of the tools, in the order of the server.
    pub tools: Vec<Value>,
    /// What is wrong with the list, each problem with the name of its tool.
    pub problems: Vec<String>,
    /// The cursors that were followed.
    cursors: BTreeSet<String>,
}

impl ToolPages {
    /// Adds a page; returns the cursor of the next one. A cursor that comes again ends the list.
    pub fn add(&mut self, page: &Value) -> Option<String> {
        let next = page.get("nextCursor").and_then(Value::as_str).filter(|it| !it.is_empty());
        let repeats = next.is_some_and(|it| self.cursors.contains(it));
        for tool in page.get("tools").and_then(Value::as_array).into_iter().flatten() {
            match read_definition(tool) {
                // A server that knows no cursors sends its first page again.
                Ok(definition) if repeats && self.tools.contains(&definition) => {}
                Ok(definition) => self.tools.push(definition),
                Err(reason) => self.problems.push(format!("{} {reason}", self.name_of(tool))),
            }
        }
        if repeats {
            self.problems.push("the list repeats a cursor: it ends there".to_owned());
            return None;
        }
        self.cursors.extend(next.map(str::to_owned));
        next.map(str::to_owned)
    }

    fn name_of(&self, tool: &Value) -> String {
        let name = tool.get("name").and_then(Value::as_str).filter(|it| !it.is_empty());
        name.map_or_else(|| format!("the tool {} has no name and", self.tools.len() + self.problems.len() + 1), subject)
    }
}

/// How a problem of a tool begins.
pub fn subject(tool: &str) -> String {
    format!("the tool '{}'", excerpt(tool))
}

/// Reads a definition.
///
/// # Errors
/// Why the tool cannot be used, after its name.
fn read_definition(tool: &Value) -> Result<Value, String> {
    match tool.get("inputSchema") {
        None | Some(Value::Null) => return Err("has no inputSchema; a tool without arguments has {\"type\": \"object\"}".to_owned()),
        Some(schema) if !schema.is_object() => return Err("has an inputSchema that is not an object".to_owned()),
        Some(_) => {}
    }
    let tool: Result<Tool, _> = serde_json::from_value(tool.clone());
    let tool = tool.and_then(serde_json::to_value).map_err(|error| format!("does not match the protocol: {error}"))?;
    let definition = pick_definition(&tool);
    if definition.to_string().len() > MAX_DEFINITION_BYTES {
        return Err(format!("has a definition of more than {MAX_DEFINITION_BYTES} bytes"));
    }
    Ok(definition)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Reads pages; returns the names of the tools, the problems, and how many pages were asked for.
    fn read(pages: &[Value]) -> (Vec<String>, Vec<String>, usize) {
        let mut list = ToolPages::default();
        let asked = pages.iter().take_while(|page| list.add(page).is_some()).count() + 1;
        let name = |tool: &Value| tool["name"].as_str().expect("a name").to_owned();
        (list.tools.iter().map(name).collect(), list.problems, asked)
    }

    fn tool(name: &str) -> Value {
        json!({"name": name, "inputSchema": {"type": "object"}})
    }

    #[test]
    fn a_tool_that_cannot_be_used_is_named_and_the_others_stay() {
        for (wrong, problem) in [
            (json!({"name": "b"}), "the tool 'b' has no inputSchema"),
            (json!({"name": "b", "inputSchema": null}), "the tool 'b' has no inputSchema"),
            (json!({"name": "b", "inputSchema": ["x"]}), "the tool 'b' has an inputSchema that is not an object"),
            (json!({"name": "b", "inputSchema": {}, "description": 7}), "the tool 'b' does not match the protocol: invalid type"),
            (json!({"name": "b", "inputSchema": {}, "outputSchema": 7}), "the tool 'b' does not match the protocol: invalid type"),
            (json!({"inputSchema": {}}), "the tool 2 has no name and does not match the protocol"),
            (json!("b"), "the tool 2 has no name and has no inputSchema"),
            (json!({"name": "b", "inputSchema": {"description": "x".repeat(300_000)}}), "the tool 'b' has a definition of more than"),
        ] {
            let (names, problems, _) = read(&[json!({"tools": [tool("a"), wrong, tool("c")]})]);
            assert_eq!(names, ["a", "c"], "{problem}");
            assert!(problems.len() == 1 && problems[0].starts_with(problem), "{problems:?}");
        }
    }

    #[test]
    fn a_cursor_that_comes_again_ends_the_list() {
        let page = |name: &str, next: &str| json!({"tools": [tool(name)], "nextCursor": next});
        let repeats = vec!["the list repeats a cursor: it ends there".to_owned()];
        assert_eq!(read(&[page("a", "1"), page("b", "1"), page("c", "2")]), (vec!["a".into(), "b".into()], repeats.clone(), 2));
        assert_eq!(read(&[page("a", "1"), page("a", "1")]), (vec!["a".into()], repeats, 2));
        assert_eq!(read(&[page("a", "1"), page("b", "")]), (vec!["a".into(), "b".into()], vec![], 2));
    }
}
